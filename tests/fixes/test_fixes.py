"""The fixes hold: on the whole programs of the project, and on random ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixes.__main__ import Row, faulty_blocks, row_of
from tests.fixes.fuzz import run
from tests.fixes.trial import End


@pytest.fixture(scope="module")
def rows(request: pytest.FixtureRequest) -> list[Row]:
    """Every third of the whole programs that are faulty, with the trials of their fixes."""
    cache = getattr(request.config, "cache", None)
    records = None if cache is None else Path(cache.mkdir("documents"))
    blocks = [*faulty_blocks("tests/cases/corpus/"), *faulty_blocks("samples/faulty/")]
    return [row_of(block, records) for block in blocks[::3]]


def test_most_faulty_programs_have_a_fix_that_makes_them_run(rows: list[Row]) -> None:
    helped = [row for row in rows if any(trial.helps for trial in row.trials)]
    assert len(helped) >= 0.87 * len(rows), [row.block.name for row in rows if row not in helped]


def test_most_programs_that_raise_have_a_preferred_fix_that_makes_them_run(rows: list[Row]) -> None:
    raising = [row for row in rows if row.raises]
    helped = [row for row in raising if any(trial.helps and trial.fix.preferred for trial in row.trials)]
    assert len(helped) >= 0.8 * len(raising), [row.block.name for row in raising if row not in helped]


def test_safe_fixes_keep_the_numbers(rows: list[Row]) -> None:
    changed = [
        (row.block.name, trial.fix.title, trial.changed)
        for row in rows
        for trial in row.trials
        if trial.changed and trial.end is End.RUNS
    ]
    assert changed == []


def test_no_fix_breaks_a_program(rows: list[Row]) -> None:
    broken = [
        (row.block.name, trial.fix.title, trial.detail)
        for row in rows
        for trial in row.trials
        if trial.end in (End.BROKEN, End.OTHER_FAULT) or (trial.end is End.RAISES and not row.raises)
    ]
    assert broken == []


def test_fixes_of_random_programs_hold() -> None:
    found, seen = run(seed=2026, first=0, count=90, seconds=60.0)
    assert [(each.seed, each.title, each.reason) for each in found] == []
    assert seen["fixes"] > 0
