"""The table of presumptions is data: each row decides something, and its case shows what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradpath.analysis.check import check
from gradpath.overlays.presumed import conditions, effects, owners, presumptions, roles
from gradpath.overlays.presumed.effects import Effect
from gradpath.overlays.presumed.owners import Owner
from gradpath.overlays.presumed.presumptions import Row
from gradpath.overlays.presumed.roles import Promise
from gradpath.source.document import Document

TABLES = (
    (presumptions, "CALLS"),
    (presumptions, "ITEMS"),
    (presumptions, "ATTRIBUTES"),
    (effects, "EFFECTS"),
    (owners, "OWNERS"),
    (roles, "PROMISES"),
)
ROWS = [row for module, table in TABLES for row in getattr(module, table)]
CASES = Path(__file__).parents[1] / "cases"


def case_of(row: Row | Effect | Owner | Promise) -> str:
    """The function that the case of a row is about, as it stands on its page."""
    page, _, heading = row.case.partition("#")
    title = heading.replace("-", " ")
    text = (CASES / page).read_text(encoding="utf-8")
    found = re.search(rf"^## {title}\n+```py file=engine.py\n(.*?)^```", text, re.MULTILINE | re.DOTALL | re.IGNORECASE)
    assert found is not None, f"no heading of {row.case}"
    return found[1]


def reports(text: str) -> list[str]:
    return [f"{each.rule} {each.level} {each.message}" for each in check(Document("engine.py", text)).diagnostics]


@pytest.fixture(autouse=True)
def other_rows() -> Iterator[None]:
    """What is remembered of names holds for the rows of one test alone."""
    yield
    roles.role_of_name.cache_clear()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{type(row).__name__}-{row.id}")
def test_a_row_decides_what_is_said_of_its_case(
    row: Row | Effect | Owner | Promise, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = case_of(row)
    said = reports(text)
    for module, table in TABLES:
        monkeypatch.setattr(module, table, tuple(each for each in getattr(module, table) if each is not row))
    roles.role_of_name.cache_clear()
    assert reports(text) != said


def test_rows_have_ids_of_their_own() -> None:
    assert len({(type(row), row.id) for row in ROWS}) == len(ROWS)


def test_a_condition_is_said_in_the_words_of_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    row = next(row for row in presumptions.CALLS if row.condition is conditions.GRADIENTS_OFF)
    changed = conditions.Condition("off", "{name} sleeps", "{name} sleeps", 1)
    other = Row(row.id, row.match, row.kind, changed, row.because, row.case)
    monkeypatch.setattr(presumptions, "CALLS", tuple(other if each is row else each for each in presumptions.CALLS))
    assert any("if `model` sleeps" in each for each in reports(case_of(row)))
