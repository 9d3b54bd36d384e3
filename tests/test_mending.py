"""Fixes on trial: what is offered has been tried, and the trials of a document are bounded."""

from __future__ import annotations

import pytest

from gradpath.check import check
from gradpath.mending import mended
from gradpath.source.document import Document

FAULT = """
def step_{}(w):
    loss = w.exp().sum()
    loss.backward()
    loss.backward()
"""
MANY = "import torch\n" + "".join(map(FAULT.format, range(60)))


def offered(text: str) -> list[bool]:
    """Whether each report of a text has a fix, in order."""
    return [bool(each.fixes) for each in mended(check(Document("many.py", text))).diagnostics]


def test_a_fix_that_was_not_tried_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradpath.mending.TRIALS", 4)
    found = offered(MANY)
    assert (len(found), found[0], found[-1]) == (60, True, False)


def test_the_more_reports_a_document_has_the_fewer_trials_it_is_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradpath.mending.REPORTS", 240)
    assert sum(offered(MANY)) < 6
    assert all(offered("import torch\n" + "".join(map(FAULT.format, range(3)))))
