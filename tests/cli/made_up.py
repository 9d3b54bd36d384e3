"""An analysis that a test can predict: it reports marked calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import gradpath.analysis.check
from gradpath.analysis.gaps import unreadable
from gradpath.config import Config
from gradpath.diagnostic import Diagnostic, Edit, Fix, Gap, GapKind, Label, Level, Position, Range, Safety
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document
from gradpath.source.parse import parse

ERROR = "broken()"
WARNING = "doubtful()"
HINT = "odd()"
_MARK = re.compile(r"\b(broken|doubtful|odd|unparsable|twice)\(\)")
_RULES = {
    "broken": ("double-backward", "graph", Level.ERROR),
    "doubtful": ("live-accumulator", "graph", Level.WARNING),
    "odd": ("detached-loss", "detach", Level.HINT),
    "unparsable": ("double-backward", "graph", Level.ERROR),
    "twice": ("double-backward", "graph", Level.ERROR),
}
_FIXES = {
    "broken": ("mended()", Safety.SAFE),
    "doubtful": ("trusted()", Safety.UNSAFE),
    "unparsable": ("mended((", Safety.SAFE),
    "twice": ("broken()\nmended()", Safety.SAFE),  # Its fix makes something new to fix.
}


def check(
    document: Document,
    config: Config | None = None,
    *,
    last: object = None,
    cancelled: Callable[[], bool] | None = None,
    project: object = None,
    stack: object = (),
    memory: object = None,
    depth: object = None,
) -> gradpath.analysis.check.Analysis:
    """Report each marked call; `crash()` stands for a bug in gradpath, `endless()` for what is too much for it."""
    if "crash()" in document.text:
        raise AssertionError("the tower\nfell down")
    found = []
    for number in range(1, document.line_count + 1):
        for match in _MARK.finditer(document.line(number)):
            diagnostic = _diagnostic(document.path, number, match)
            if config is None or (
                (not config.select or {diagnostic.rule, diagnostic.family} & set(config.select))
                and not {diagnostic.rule, diagnostic.family} & set(config.ignore)
            ):
                found.append(diagnostic)
    parsed = parse(document)
    incomplete = (*unreadable(parsed), *_endless(document))
    unknowns = {"a call of an unknown function": 2}
    return gradpath.analysis.check.Analysis(document, parsed, tuple(found), unknowns, incomplete=incomplete)


def _endless(document: Document) -> Iterator[Gap]:
    for number in range(1, document.line_count + 1):
        if "endless()" in document.line(number):
            yield Gap(document.path, GapKind.BUDGET, Range(Position(number, 1), Position(number, 2)), "fit")


def _diagnostic(path: str, number: int, match: re.Match[str]) -> Diagnostic:
    word = match[1]
    place = Range(Position(number, match.start() + 1), Position(number, match.end() + 1))
    start = Range(Position(1, 1), Position(1, 2))
    rule, family, level = _RULES[word]
    fixes: tuple[Fix, ...] = (Fix("read the manual", Safety.UNSAFE),)
    if word in _FIXES:
        new_text, safety = _FIXES[word]
        repairs = (Repair(Way.NEW_TENSOR, text=new_text),)
        edits = (Edit(path, place, new_text),)
        fixes = (Fix(f"write {new_text}", safety, edits, preferred=True, eligible=True, repairs=repairs), *fixes)
    return Diagnostic(
        path,
        place,
        rule,
        family,
        level,
        f"`{match[0]}` is {word}",
        labels=(Label(path, start, "it begins"), Label(path, place, "it fails", primary=True)),
        pytorch="RuntimeError: no",
        help="mend it",
        fixes=fixes,
    )
