"""The table of presumptions is data: each row decides something, and its case shows what."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradpath.check import check
from gradpath.overlays import conditions, presumptions
from gradpath.overlays.presumptions import Effect, Row
from gradpath.source.document import Document

CASES = Path(__file__).parent / "cases"


def case_of(row: Row | Effect) -> str:
    """The function that the case of a row is about, as it stands on its page."""
    page, _, heading = row.case.partition("#")
    title = heading.replace("-", " ")
    text = (CASES / page).read_text(encoding="utf-8")
    found = re.search(rf"^## {title}\n+```py file=engine.py\n(.*?)^```", text, re.MULTILINE | re.DOTALL | re.IGNORECASE)
    assert found is not None, f"no heading of {row.case}"
    return found[1]


def reports(text: str) -> list[str]:
    return [f"{each.rule} {each.level} {each.message}" for each in check(Document("engine.py", text)).diagnostics]


@pytest.mark.parametrize("row", presumptions.ROWS, ids=lambda row: row.id)
def test_a_row_decides_what_is_said_of_its_case(row: Row | Effect, monkeypatch: pytest.MonkeyPatch) -> None:
    text = case_of(row)
    said = reports(text)
    for table in ("CALLS", "ITEMS", "ATTRIBUTES", "EFFECTS"):
        rows = getattr(presumptions, table)
        monkeypatch.setattr(presumptions, table, tuple(each for each in rows if each is not row))
    assert reports(text) != said


def test_rows_have_ids_of_their_own() -> None:
    assert len({row.id for row in presumptions.ROWS}) == len(presumptions.ROWS)


def test_a_condition_is_said_in_the_words_of_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    row = next(row for row in presumptions.CALLS if row.condition is conditions.GRADIENTS_OFF)
    changed = conditions.Condition("off", "{name} sleeps", "{name} sleeps", 1)
    other = Row(row.id, row.match, row.kind, changed, row.because, row.case)
    monkeypatch.setattr(presumptions, "CALLS", tuple(other if each is row else each for each in presumptions.CALLS))
    assert any("if `model` sleeps" in each for each in reports(case_of(row)))
