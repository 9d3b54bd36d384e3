"""gradpath claims no error of a program whose models, helpers and data it does not see, unless all of them raise."""

from __future__ import annotations

import pytest

from .compare import Tally, analyser, compare
from .generate import generate

PROGRAMS = 200
SEED = 7303


@pytest.fixture(scope="module")
def tally() -> Tally:
    """The outcomes of the fixed series of programs of which a part is hidden."""
    analyse = analyser()
    out = Tally()
    for index in range(PROGRAMS):
        out.add(compare(generate(SEED, index, "hidden"), analyse))
    return out


def test_no_error_is_claimed_that_another_hidden_part_disproves(tally: Tally) -> None:
    """No hidden model, helper, loader, tensor or optimizer lets a program run clean of which an error is reported."""
    assert not tally.false_errors, [(o.program.seed, o.world, o.false_errors) for o in tally.false_errors]


def test_faults_are_told_though_a_part_is_hidden(tally: Tally) -> None:
    """Of the programs that raise, most have a report, of which a part is an error: what is seen raises for itself."""
    said = {level: sum(n for kind, n in tally.told.items() if kind.endswith(level)) for level in ("error", "silent")}
    assert said["error"] >= 0.4 * sum(tally.told.values())
    assert said["silent"] <= 0.4 * sum(tally.told.values())
