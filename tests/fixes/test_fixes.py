"""The fixes hold: on the whole programs of the project, and on random ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixes.__main__ import Row, faulty_blocks, row_of
from tests.fixes.fuzz import run
from tests.fixes.trial import End

PARTS = 4
UNBOUND = ("NameError", "AttributeError")
SHARE = 3
"""One of so many of the whole programs that are faulty is tried."""


@pytest.mark.parametrize("part", range(PARTS))
def test_fixes_of_whole_programs_hold(part: int, records: Path | None) -> None:
    """Most faulty programs run after a fix, and most that raise after a preferred one; safe ones keep the numbers.

    All of that is asked in one test of a part: in tests of their own each process would try the same fixes again.
    """
    blocks = [*faulty_blocks("tests/cases/corpus/"), *faulty_blocks("samples/faulty/")][::SHARE]
    rows = [row_of(block, records) for block in blocks[part::PARTS]]
    assert _broken(rows) == []
    assert _changed(rows) == []
    helped = [row for row in rows if any(trial.helps for trial in row.trials)]
    assert len(helped) >= 0.87 * len(rows), [row.block.name for row in rows if row not in helped]
    raising = [row for row in rows if row.raises]
    preferred = [row for row in raising if any(trial.helps and trial.fix.preferred for trial in row.trials)]
    assert len(preferred) >= 0.8 * len(raising), [row.block.name for row in raising if row not in preferred]


def _broken(rows: list[Row]) -> list[tuple[str, str, str]]:
    """The fixes after which a program raises what it did not."""
    return [
        (row.block.name, trial.fix.title, trial.detail)
        for row in rows
        for trial in row.trials
        if trial.end in (End.BROKEN, End.OTHER_FAULT)
        or (trial.end is End.RAISES and (not row.raises or any(each in trial.detail for each in UNBOUND)))
    ]


def _changed(rows: list[Row]) -> list[tuple[str, str, str]]:
    """The safe fixes after which a program computes other numbers."""
    return [
        (row.block.name, trial.fix.title, trial.changed)
        for row in rows
        for trial in row.trials
        if trial.changed and trial.end is End.RUNS
    ]


def test_fixes_of_random_programs_hold() -> None:
    found, seen = run(seed=2026, first=0, count=45, seconds=60.0)
    assert [(each.seed, each.title, each.reason) for each in found] == []
    assert seen["fixes"] > 0
