"""The analysis process answers about fixes only what it has tried."""

from __future__ import annotations

import pytest

from gradpath.analysis import fix_validation
from gradpath.analysis.check import never
from gradpath.analyst.allowance import Allowance
from gradpath.analyst.desk import Desk
from gradpath.analyst.messages import Actions, AskActions, Check, Opened, Outcome, Prove
from gradpath.diagnostic import Diagnostic, Position, Range

PROGRAM = """import torch
w = torch.rand(3, requires_grad=True)
loss = w.exp().sum()
loss.backward()
loss.backward()
"""


def checked(desk: Desk) -> tuple[Diagnostic, ...]:
    desk.open(Opened("x", "x.py", PROGRAM, None))
    outcome = desk.answer(Check("x", "x.py"), Allowance(60.0, never))
    assert isinstance(outcome, Outcome)
    return outcome.diagnostics


def test_a_check_while_somebody_types_proposes_nothing() -> None:
    [found] = checked(Desk(lambda _: None))
    assert found.rule == "double-backward"
    assert (found.fixes, found.help, found.alternatives, found.advice) == ((), "", (), ())


def test_what_is_proved_has_fixes_and_help() -> None:
    desk = Desk(lambda _: None)
    found = checked(desk)
    proved = desk.answer(Prove("x", "x.py", found, "1"), Allowance(60.0, never))
    assert isinstance(proved, tuple)
    [after] = proved
    assert [fix.title for fix in after.fixes if fix.preferred] == ["Delete the second call"]
    assert after.help.startswith("delete the second call")


def test_a_failure_in_a_trial_leaves_the_report_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*_given: object, **_named: object) -> None:
        raise RuntimeError("made up")

    monkeypatch.setattr(fix_validation, "mended", failing)
    desk = Desk(lambda _: None)
    found = checked(desk)
    assert desk.answer(Prove("x", "x.py", found, "1"), Allowance(60.0, never)) == found
    line = Range(Position(5, 1), Position(5, 2))
    actions = desk.answer(AskActions("x", "x.py", line, found, "1"), Allowance(60.0, never))
    assert isinstance(actions, Actions)
    assert [each.title for each in actions.actions if each.edits] == ["Ignore double-backward on this line"]
    assert "made up" in caplog.text
