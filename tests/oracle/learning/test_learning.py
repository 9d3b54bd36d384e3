"""gradpath and PyTorch agree on what learns in random training programs."""

from __future__ import annotations

import pytest

from .compare import Tally
from .series import judge

PROGRAMS = 60
SEED = 4409


@pytest.fixture(scope="module")
def tally() -> Tally:
    """The outcomes of the fixed series of programs."""
    out = Tally()
    for outcome in judge((SEED, 0, PROGRAMS)):
        out.add(outcome)
    return out


def test_gradients_steps_and_parameters_agree_with_pytorch(tally: Tally) -> None:
    """Who gets a gradient from each backward, and what each step has and uses, is as PyTorch shows it."""
    assert not tally.differing, tally.seeds("differs")


def test_little_is_unknown(tally: Tally) -> None:
    """At most one program in twenty has something of which gradpath does not know."""
    assert tally.agreement >= 0.95, tally.seeds("unknown")


def test_no_report_is_disproved(tally: Tally) -> None:
    """No report says of a parameter, a step or a loss what the run shows to be otherwise."""
    assert not tally.disproved, tally.seeds("disproved")
