"""`assume` in the configuration: what is taken for granted of calls whose code is not seen."""

from __future__ import annotations

import pytest

from gradpath.analysis.check import check
from gradpath.config import Config
from gradpath.source.document import Document

BACKWARD = """\
import torch
from engines import optimise

w = torch.rand(3, requires_grad=True)
loss = w.exp().sum()
optimise(loss)
optimise(loss)
"""

DIFFERENTIABLE = """\
import torch
import kernels

w = torch.rand(3, requires_grad=True)
warped = kernels.warp(w.exp())
loss = warped.detach().sum()
loss.backward()
"""

PURE = """\
import torch
import shots
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in [torch.rand(2, 3) for _ in range(10)]:
    loss = model(batch).pow(2).mean()
    loss.backward()
    optimizer.step()
    shots.take(model)
"""


def rules(text: str, **assume: tuple[str, ...]) -> list[tuple[str, int]]:
    found = check(Document("train.py", text), Config(assume=assume)).diagnostics
    return [(each.rule, each.range.start.line) for each in found]


@pytest.mark.parametrize("name", ["optimise", "engines.optimise"])
def test_a_call_that_is_a_backward_frees_the_graph(name: str) -> None:
    assert rules(BACKWARD, backward=(name,)) == [("double-backward", 7)]
    assert rules(BACKWARD) == []


def test_a_differentiable_call_hands_the_graph_on() -> None:
    assert rules(DIFFERENTIABLE, differentiable=("kernels.warp",)) == [("detached-loss", 7)]


def test_a_pure_call_clears_no_gradients() -> None:
    assert rules(PURE, pure=("shots.take",)) == [("missing-zero-grad", 9)]
    assert rules(PURE) == []


def test_a_name_is_matched_by_whole_parts() -> None:
    assert rules(BACKWARD, backward=("mise",)) == []
