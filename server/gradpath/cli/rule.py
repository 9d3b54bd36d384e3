"""`gradpath rule`: the page of a rule in the terminal, or the table of all rules."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator

from gradpath.cli.status import CLEAN, UsageError
from gradpath.cli.terminal import style_for
from gradpath.diagnostic import Level
from gradpath.features.pages import readable_page
from gradpath.findings.report import Rule
from gradpath.render.style import BOLD, CYAN, LEVEL_COLOURS, Style
from gradpath.rules import RULES
from gradpath.support.lazy_regex import regex
from gradpath.support.renamed_rules import RENAMED, now
from gradpath.support.suggestions import did_you_mean

_INLINE_CODE = regex(r"`([^`\n]+)`")
_STRONG = regex(r"\*\*([^*\n]+)\*\*")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gradpath rule`."""
    parser.add_argument("id", nargs="?", metavar="ID", help="a rule, such as double-backward (default: the table)")
    parser.add_argument(
        "--output-format", choices=("full", "json"), default="full", help="text or JSON (default: full)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Show one rule, or all."""
    ids = list(RULES) if arguments.id is None else now(arguments.id)
    if RENAMED.get(arguments.id) == ():
        raise UsageError(f"there is no rule `{arguments.id}` any more")
    if any(each not in RULES for each in ids):
        raise UsageError(f"unknown rule `{arguments.id}`{did_you_mean(arguments.id, RULES)}")
    rules = [RULES[each] for each in ids]
    style = style_for(sys.stdout)
    if arguments.output_format == "json":
        print(json.dumps({"version": 1, "rules": [_fields(rule) for rule in rules]}, indent=1))
    elif arguments.id:
        if arguments.id in RENAMED:
            print(f"gradpath: `{arguments.id}` is now {' and '.join(f'`{each}`' for each in ids)}", file=sys.stderr)
        print("\n".join(rendered_page(readable_page(rule), style) for rule in rules), end="")
    else:
        for line in table(rules, style):
            print(line)
    return CLEAN


def table(rules: list[Rule], style: Style) -> Iterator[str]:
    """One line a rule, by family, with its level and what it reports."""
    width = max((len(rule.id) for rule in rules), default=0)
    for family in dict.fromkeys(rule.family for rule in rules):
        yield style.paint(family, BOLD)
        for rule in rules:
            if rule.family == family:
                level = Level(rule.level)
                word = style.paint(f"{level.value:<7}", LEVEL_COLOURS[level])
                yield f"  {rule.id:<{width}}  {word}  {rule.summary}"


def rendered_page(page: str, style: Style) -> str:
    """A Markdown page with a little colour for a terminal; without colour it stays as it is."""
    if not style.colour:
        return page
    lines = []
    in_code = False
    for line in page.splitlines():
        if line.lstrip().startswith("```"):
            in_code = not in_code
            lines.append("")
        elif in_code:
            lines.append(style.paint("    " + line, CYAN))
        elif line.startswith("#"):
            lines.append(style.paint(line.lstrip("# "), BOLD))
        else:
            line = _INLINE_CODE.sub(lambda match: style.paint(match[1], CYAN), line)
            lines.append(_STRONG.sub(lambda match: style.paint(match[1], BOLD), line))
    return "\n".join(lines) + "\n"


def _fields(rule: Rule) -> dict[str, str | None]:
    return {
        "id": rule.id,
        "family": rule.family,
        "level": Level(rule.level).value,
        "summary": rule.summary,
        "pytorch": rule.pytorch,
        "page": rule.page,
    }
