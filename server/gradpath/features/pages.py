"""The page of a rule for readers: what its programs claim, which tests prove, in words instead of in their grammar."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from gradpath.diagnostic import Level
from gradpath.findings.report import Rule
from gradpath.rules import RULES
from gradpath.support.lazy_regex import regex

_STRING = r'"(?:[^"\\]|\\.)*"'
_CLAIM = regex(
    rf"\#\s*(?:(?P<level>error|warning|hint):\s*\[(?P<rule>[a-z0-9-]+)\](?:\s+{_STRING})?(?:\s+at\s+{_STRING})?"
    rf"|raises:\s*(?P<kind>[A-Za-z_][\w.]*)(?:\s+(?P<said>{_STRING}))?"
    rf"|note:\s*(?P<note>{_STRING})"
    r"|torch:\s*(?P<fact>.+?))\s*(?=\#|$)"
)
_FENCE = regex(r"^```py\b.*$")
_OTHER_RULE = regex(r"(?<![\w`\]])\[([a-z]+(?:-[a-z]+)+)\](?!\()")


def readable_page(rule: Rule, link: Callable[[str], str] = "`{}`".format) -> str:
    """The page as Markdown, with the level and the family under its title; `link` is what names another rule there."""
    title, _, rest = rule.page.partition("\n")
    level = Level(rule.level).value
    lines = [title, "", f"*Level: {level}. Family: {rule.family}.*"]
    in_code = False
    for line in rest.splitlines():
        if line.startswith("```"):
            in_code = not in_code
            lines.append(_FENCE.sub("```python", line))
        elif in_code:
            lines.append(_in_words(line))
        else:
            lines.append(_OTHER_RULE.sub(lambda found: link(found[1]) if found[1] in RULES else found[0], line))
    return "\n".join(lines) + "\n"


def _in_words(line: str) -> str:
    """A line of a program whose comment says in words what it claims."""
    found = list(_CLAIM.finditer(line))
    if not found:
        return line
    return f"{line[: found[0].start()]}# {'; '.join(map(_words, found))}"


def _words(claim: re.Match[str]) -> str:
    if claim["level"]:
        return f"{claim['level']}: {claim['rule']}"
    if claim["kind"]:
        said = f": … {ast.literal_eval(claim['said'])} …" if claim["said"] else ""
        return f"PyTorch raises {claim['kind']}{said}"
    return str(ast.literal_eval(claim["note"])) if claim["note"] else f"afterwards: {claim['fact']}"
