"""Faults that the check of one file finds in another: each is reported once, under the file that contains it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from gradpath.cli.run import Checked
from gradpath.diagnostic import Diagnostic
from gradpath.source.document import UnreadableSource
from gradpath.source.notebook import read_source
from gradpath.source.suppress import UNUSED
from gradpath.support.fast_dataclasses import replace


def gathered(outcomes: Sequence[Checked], walked: Iterable[str], others: Iterable[str] = ()) -> list[Checked]:
    """The outcomes with each diagnostic moved to that of its file, the graver of two that say the same.

    A fault in a file that was not checked stays where it was found; in one of the `walked` folders it is dropped,
    because files there are left out on purpose, unless it is one of the `others`. One that has an effect on another
    file's faults is not unused.
    """
    if not any(checked.dependencies for checked in outcomes):
        return list(outcomes)
    homes = {os.path.realpath(checked.path): checked.path for checked in outcomes}
    elsewhere = {os.path.realpath(path) for path in others}
    folders = tuple(os.path.join(os.path.realpath(folder), "") for folder in walked)
    used = {(os.path.realpath(path), UNUSED, place) for checked in outcomes for path, place in checked.used}
    found: dict[str, dict[object, Diagnostic]] = {checked.path: {} for checked in outcomes}
    for checked in outcomes:
        for diagnostic in checked.diagnostics:
            own = diagnostic.path == checked.path
            real = os.path.realpath(diagnostic.path)
            home = checked.path if own else homes.get(real, "")
            key = real, diagnostic.rule, diagnostic.range
            if key in used or (not home and real not in elsewhere and real.startswith(folders)):
                continue
            there = found[home or checked.path]
            if key not in there or diagnostic.level.gravity > there[key].level.gravity:
                there[key] = replace(diagnostic, path=home) if home else diagnostic
    return [_with(checked, found[checked.path].values()) for checked in outcomes]


def _with(checked: Checked, diagnostics: Iterable[Diagnostic]) -> Checked:
    """The same outcome with other diagnostics, those in the file itself first."""
    path = checked.path
    found = sorted(diagnostics, key=lambda each: (each.path != path, each.path, each.range, each.rule))
    if found == list(checked.diagnostics):
        return checked
    document = checked.document
    if document is None:
        with suppress(UnreadableSource):  # It is shown without its source, then.
            document = read_source(Path(path), path)
    return replace(checked, document=document, diagnostics=tuple(found))
