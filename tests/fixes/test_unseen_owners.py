"""Fixes where an optimizer, or a model, is not seen: what it may have goes on learning."""

from __future__ import annotations

from gradpath.analysis.check import check
from gradpath.analysis.fix_validation import mended
from gradpath.diagnostic import Fix, Safety
from gradpath.repairs import Transformation
from gradpath.source.document import Document


def offered(text: str) -> list[Fix]:
    return [fix for each in mended(check(Document("train.py", text))).diagnostics for fix in each.fixes]


def test_a_trunk_that_an_unseen_optimizer_may_have_goes_on_learning_after_what_is_safe() -> None:
    found = offered("""
def train(model, heads, loader, optimizer, losses):
    for x, ys in loader:
        features = model(x)
        optimizer.zero_grad()
        for head, y, criterion in zip(heads, ys, losses):
            loss = criterion(head(features), y)
            loss.backward()
        optimizer.step()
""")
    assert any(fix.does(Transformation.DETACH) for fix in found)
    assert all(fix.safety is Safety.UNSAFE for fix in found if fix.does(Transformation.DETACH))
    assert any(fix.preferred for fix in found)


def test_what_a_module_of_a_parameter_keeps_is_detached_where_its_cell_goes_on_learning() -> None:
    found = offered("""
import torch
from torch import nn


class Memory(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.cell = nn.GRUCell(3, size)
        self.state = torch.zeros(6, size)

    def read(self, which):
        return self.state[which]

    def update(self, which, seen):
        self.state = self.state.index_copy(0, which, self.cell(seen, self.state[which]))


def train(memory, head, batches, optimizer):
    for which, seen, target in batches:
        loss = (head(memory.read(which)) - target).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        memory.update(which, seen)
""")
    assert [fix.repairs[0].subjects for fix in found if fix.preferred] == [("memory.state",)]
    assert all(fix.preferred or fix.safety is Safety.UNSAFE for fix in found)
