"""A silent fault is reported where no branch has to do with it, however many there are, and on no guess."""

from __future__ import annotations

import pytest

from gradpath.analysis import standing
from gradpath.analysis.check import check
from gradpath.interpreter import paths
from gradpath.source.document import Document

PROGRAM = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.rest = [nn.Linear(2, 2), nn.Linear(2, 2)]

    def forward(self, x):
        return self.rest[1](self.rest[0](self.first(x)))


def train(rows, options):
    net = Net()
    spare = [weight for layer in net.rest for weight in layer.parameters()]
    chosen, first = [], False
    for row in rows:
        {branches}
        chosen.append(row)
    given = list(net.parameters()) + (spare if {condition} else [])
    optimizer = torch.optim.SGD(given, lr=0.1)
    for row in {over}:
        loss = net(row.x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""

SORTED = "\n        ".join(f"if row.is_{kind}:\n            row.note = {kind}" for kind in range(8))
SKIPPED = "\n        ".join(f"if row.lacks_{kind}:\n            continue" for kind in range(8))
FIRST = "if row.is_first:\n            first = True"
RARELY = "if row.is_last:\n            row.note = 1\n        else:\n            first = True"


def rules(branches: str, condition: str = "False", over: str = "chosen") -> list[str]:
    program = PROGRAM.format(branches=branches, condition=condition, over=over)
    return [each.rule for each in check(Document("train.py", program)).diagnostics]


@pytest.mark.parametrize("branches", [SORTED, SKIPPED])
def test_many_branches_that_do_not_matter_cost_few_paths(branches: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rules(branches) == ["untrained-parameter"]
    monkeypatch.setattr(paths, "REMEMBERED", 1_600)
    assert rules(branches) == ["untrained-parameter"]


@pytest.mark.parametrize("place", ["before", "amid", "after"])
def test_one_of_many_branches_that_gives_the_optimizer_all_parameters_is_heard(place: str) -> None:
    before, after = SORTED[: SORTED.index("if row.is_4")], SORTED[SORTED.index("if row.is_4") :]
    branches = {
        "before": f"{FIRST}\n        {SORTED}",
        "amid": f"{before}{FIRST}\n        {after}",
        "after": f"{SORTED}\n        {FIRST}",
    }[place]
    assert rules(branches, "first") == []


@pytest.mark.parametrize("over", ["chosen", "rows"])
def test_one_branch_is_heard_that_another_one_hides(over: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing, "ALONE", 0)  # As in a long program, of which one path alone is affordable.
    monkeypatch.setattr("gradpath.analysis.check.PATHS", 1)
    branches = f"if row.is_1:\n            continue\n        {RARELY}"
    assert rules(branches, "first", over) == []
    assert rules(branches, "False", over) == ["untrained-parameter"]
