"""What a check says of the texts that a fix leads to, and what of that was not there before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from gradpath.analysis.check import Analysis
from gradpath.analysis.path_regression import Endings
from gradpath.autograd.errors import FaultKind
from gradpath.diagnostic import Diagnostic, Level
from gradpath.source.document import Document
from gradpath.support.fast_dataclasses import dataclass

AUTOGRAD = frozenset(kind.value for kind in FaultKind)
"""Failures that the engine raises, whether a rule reports them or not."""

Texts = Mapping[str, str]
"""The texts of the files that a fix changes, by their paths."""

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class State:
    """What a check says of some texts: the reports and failures by key, and how far the program gets.

    `lines` are where the failures are, `progress` counts backwards and graph nodes, `first` the backwards of the
    module's own run, `unread` the places that do not parse, and `undefined` names that are read and have no value.
    """

    texts: Texts
    endings: Endings
    reports: Mapping[Key, tuple[Diagnostic, ...]]
    failures: Counter[Key]
    lines: Mapping[Key, int]
    progress: tuple[int, int]
    first: int
    unread: int
    undefined: frozenset[str]


def text_in(texts: Texts, path: str, source: Callable[[str], str]) -> str:
    """The text of a file: that of `source` where the fix leaves it alone."""
    return texts[path] if path in texts else source(path)


def key_of(diagnostic: Diagnostic, text_of: Callable[[str], str]) -> Key:
    """What tells a report from others wherever its line has moved to: file, rule, and the text under the squiggle."""
    document = Document(diagnostic.path, text_of(diagnostic.path))
    return diagnostic.path, diagnostic.rule, document.slice(diagnostic.range)


def state_of(analysis: Analysis, texts: Texts, source: Callable[[str], str]) -> State:
    """Read the state off an analysis of `texts`; `source` gives the text of any other file."""
    reports: dict[Key, list[Diagnostic]] = {}
    for each in analysis.diagnostics:
        if each.level is not Level.HINT:
            key = key_of(each, lambda path: text_in(texts, path, source))
            reports.setdefault(key, []).append(each)
    endings = [likeliest for likeliest, *_ in analysis.endings.values()]
    failed = [((path, "", kind), line) for ending in endings for path, kind, line in ending.failures]
    failures, lines = Counter(key for key, _ in failed), dict(reversed(failed))
    progress = sum(each.backwards for each in endings), sum(each.built for each in endings)
    first = endings[0].backwards if endings else 0
    grouped = {key: tuple(found) for key, found in reports.items()}
    unread, undefined = len(analysis.parsed.problems), frozenset[str]().union(*(each.undefined for each in endings))
    return State(texts, analysis.endings, grouped, failures, lines, progress, first, unread, undefined)


def new_reports(before: State, after: State, key: Key, touched: set[Key]) -> list[Diagnostic]:
    """The reports of a state that were not there before, and that of `key` if it is still there.

    A report that is `touched` may be there again with another text under its squiggle.
    """
    gone = Counter(
        each[1]
        for each, found in before.reports.items()
        for _ in range(len(found) - len(after.reports.get(each, ())))
        if each != key and each in touched
    )
    new: list[Diagnostic] = []
    for each, found in after.reports.items():
        known = before.reports.get(each, ())
        surplus = len(found) - len(known) + (each == key)
        if known and max(one.level.gravity for one in found) > max(one.level.gravity for one in known):
            surplus = max(surplus, 1)  # What could fail now certainly does.
        for diagnostic in found[: max(surplus, 0)]:
            if each != key and gone[diagnostic.rule]:
                gone[diagnostic.rule] -= 1
            else:
                new.append(diagnostic)
    return sorted(new, key=lambda each: -each.level.gravity)
