"""`gradpath rule`: the page of a rule in the terminal, or the table of all rules."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator

from gradpath.cli.status import CLEAN, UsageError
from gradpath.cli.terminal import style_for
from gradpath.diagnostic import Level
from gradpath.features.pages import readable_page
from gradpath.findings.report import Rule
from gradpath.render.style import BOLD, CYAN, LEVEL_COLOURS, Style
from gradpath.render.width import wrapped
from gradpath.rules import RULES
from gradpath.support.lazy_regex import regex
from gradpath.support.renamed_rules import RENAMED, now
from gradpath.support.suggestions import did_you_mean

_INLINE_CODE = regex(r"`([^`\n]+)`")
_STRONG = regex(r"\*\*([^*\n]+)\*\*")
_WHOLE = regex(r"^(?:#|\||$)|^ {4}")
"""A line of a page that is no part of a paragraph."""
_ITEM = regex(r"^ *(?:[-*]|\d+\.) ")
_LEAST = 30
"""The columns that a summary needs beside the name of its rule."""
_BELOW = " " * 6
_NO_BREAK = "\ue000"
"""In the place of a space within code, where no line is broken."""


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
                yield from _row(f"  {rule.id:<{width}}  {word}  ", width + 13, rule.summary, style.width)


def _row(head: str, taken: int, summary: str, width: int | None) -> Iterator[str]:
    """A row whose head takes so many columns; on a narrow terminal the summary goes below it."""
    if width is not None and width - taken < _LEAST:
        yield head.rstrip()
        yield from wrapped(_BELOW + summary, width, _BELOW)
        return
    first, *more = wrapped(summary, None if width is None else width - taken)
    yield head + first
    yield from (" " * taken + line for line in more)


def rendered_page(page: str, style: Style) -> str:
    """A Markdown page for a terminal, with a little colour and paragraphs that fit; else it stays as it is."""
    if style.width is not None:
        page = "\n".join(_fitting(page.splitlines(), style.width)) + "\n"
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


def _fitting(page: Iterable[str], width: int) -> Iterator[str]:
    """The lines of a page with its paragraphs wrapped to the width; code is never wrapped."""
    paragraph: list[str] = []
    in_code = False
    for line in (*page, ""):
        fence = line.lstrip().startswith("```")
        whole = in_code or fence or _WHOLE.match(line) is not None
        if paragraph and (whole or _ITEM.match(line)):
            yield from _broken(" ".join(paragraph), width)
            paragraph = []
        in_code ^= fence
        if whole:
            yield line
        else:
            paragraph.append(line.strip() if paragraph else line)


def _broken(paragraph: str, width: int) -> Iterator[str]:
    item = _ITEM.match(paragraph)
    kept = _INLINE_CODE.sub(lambda code: code[0].replace(" ", _NO_BREAK), paragraph)
    for line in wrapped(kept, width, " " * len(item[0]) if item else ""):
        yield line.replace(_NO_BREAK, " ")


def _fields(rule: Rule) -> dict[str, str | None]:
    return {
        "id": rule.id,
        "family": rule.family,
        "level": Level(rule.level).value,
        "summary": rule.summary,
        "pytorch": rule.pytorch,
        "page": rule.page,
    }
