"""Fixes on trial: what is offered has been tried, and the trials of a document are bounded."""

from __future__ import annotations

from typing import Any

import pytest

import gradpath.analysis.check
from gradpath.analysis.check import check
from gradpath.analysis.fix_validation import mended
from gradpath.analysis.inspection import Inspected
from gradpath.source.document import Document

FAULT = """
def step_{}(w):
    loss = w.exp().sum()
    loss.backward()
    loss.backward()
"""
MANY = "import torch\n" + "".join(map(FAULT.format, range(60)))


EMPTIED = """
import torch


def train(loader):
    w = torch.ones(3, requires_grad=True)
    for x in loader:
        {items} = {made}
        y = {item} * w
        {items}.clear()
        with torch.no_grad():
            w.mul_(0.5)
        y.sum().backward()
"""


def offered(text: str) -> list[bool]:
    """Whether each report of a text has a fix, in order."""
    return [bool(each.fixes) for each in mended(check(Document("many.py", text))).diagnostics]


def test_a_fix_that_was_not_tried_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradpath.analysis.trials.TRIALS", 4)
    found = offered(MANY)
    assert (len(found), found[0], found[-1]) == (60, True, False)


def test_the_more_reports_a_document_has_the_fewer_trials_it_is_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradpath.analysis.trials.REPORTS", 240)
    assert sum(offered(MANY)) < 6
    assert all(offered("import torch\n" + "".join(map(FAULT.format, range(3)))))


def test_a_trial_looks_again_only_at_what_runs_near_the_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    right = "".join(FAULT.replace("    loss.backward()\n", "", 1).format(f"right_{number}") for number in range(30))
    analysis = check(Document("many.py", f"import torch\n{right}{FAULT.format('wrong')}"))
    looked: list[object] = []
    inspect = gradpath.analysis.check.inspect

    def counted(*given: Any, **named: Any) -> Inspected:
        looked.append(given)
        return inspect(*given, **named)

    monkeypatch.setattr("gradpath.analysis.check.inspect", counted)
    [fault] = mended(analysis).diagnostics
    assert fault.fixes
    assert len(looked) <= 1 + sum(len(each.fixes) for each in analysis.diagnostics)


@pytest.mark.parametrize(
    "names",
    [
        {"items": "items", "made": "[w.exp()]", "item": "items[0]"},
        {"items": "kept", "made": "{'scale': w.exp()}", "item": "kept['scale']"},
    ],
)
def test_no_fix_runs_a_statement_where_what_it_reads_is_gone(names: dict[str, str]) -> None:
    [fault] = mended(check(Document("emptied.py", EMPTIED.format(**names)))).diagnostics
    assert [each.title for each in fault.fixes] == ["Move line 12 after the last backward: `w.mul_(0.5)`"]
