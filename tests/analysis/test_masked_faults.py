"""What is told beyond a fault that ends every path: what stays when that one is mended, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradpath.analysis.check import check
from gradpath.analysis.fix_validation import mended
from gradpath.diagnostic import Diagnostic, Level
from gradpath.source.document import Document
from gradpath.source.edits import apply_edits

CORPUS = Path(__file__).resolve().parents[1] / "cases" / "corpus"

DISTILLED = """
import torch
import torch.nn.functional as F


def distill(student, teacher, loader, optimizer):
    state = torch.zeros(4, 8)
    total = 0
    for x, y in loader:
        state = student.cell(x, state)
        logits = student.head(state)
        with torch.no_grad():
            kd = F.mse_loss(student.head(state), teacher(x))
        loss = F.cross_entropy(logits, y) + kd
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
        total += loss
    print(total)
"""
KEPT = """
import torch
from torch import nn

model, head = nn.LSTM(4, 8, batch_first=True), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()])
hidden = None
losses = []
for step in range(4):
    x, y = torch.randn(2, 5, 4), torch.randn(2, 1)
    out, hidden = model(x, hidden)
    loss = (head(out[:, -1]) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss)
"""
ADVERSARIAL = """
def train(netG, netD, optG, optD, noise, loader):
    running = 0.0
    for real in loader:
        fake = netG(noise())
        lossD = netD(real).mean() - netD(fake).mean()
        optD.zero_grad()
        lossD.backward()
        optD.step()
        lossG = netD(fake).mean()
        optG.zero_grad()
        lossG.backward()
        running += lossG
        optG.step()
    return running
"""
WRITTEN = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(4, 3), nn.Linear(3, 4)

    def forward(self, x):
        h = torch.sigmoid(self.encoder(x))
        h += 1
        return self.decoder(h)


net = Net()
optimizer = torch.optim.Adam(net.parameters())
for step in range(5):
    loss = net(torch.randn(2, 4)).pow(2).mean()
    loss.backward()
    optimizer.step()
best = net.state_dict()
for step in range(5):
    optimizer.zero_grad()
    loss = net(torch.randn(2, 4)).pow(2).mean()
    loss.backward()
    optimizer.step()
net.load_state_dict(best)
"""
ONE_BY_ONE = """
import torch

x = torch.ones(3, requires_grad=True)
x.add_(1)
w = torch.ones(3, requires_grad=True)
y = (w * 2).sum().exp()
y.backward()
y.backward()
"""
TWO_LOSSES = """
import torch
from torch import nn

cell, act, value = nn.GRUCell(4, 8), nn.Linear(8, 2), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*cell.parameters(), *act.parameters(), *value.parameters()])
hidden = torch.zeros(3, 8)
for step in range(4):
    hidden = cell(torch.randn(3, 4), hidden)
    policy_loss = act(hidden).square().mean()
    value_loss = value(hidden).square().mean()
    optimizer.zero_grad()
    policy_loss.backward()
    value_loss.backward()
    optimizer.step()
"""
CASES = {
    "distilled": (DISTILLED, ["detached-term", "zero-grad-before-step", "live-accumulator"]),
    "kept": (KEPT, ["live-accumulator"]),
    "adversarial": (ADVERSARIAL, ["live-accumulator"]),
    "written": (WRITTEN, ["missing-zero-grad", "aliased-copy"]),
    "one by one": (ONE_BY_ONE, ["double-backward"]),
}


def told(text: str) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """What a check tells, and what the trials of fixes add."""
    analysis = check(Document("train.py", text))
    known = [each for each in analysis.diagnostics if each.level is not Level.HINT]
    lines = {(each.rule, each.range) for each in known}
    return known, [each for each in mended(analysis).diagnostics if (each.rule, each.range) not in lines]


@pytest.mark.parametrize("name", CASES)
def test_what_stays_when_the_first_fault_is_mended_is_told_beside_it(name: str) -> None:
    text, wanted = CASES[name]
    first, more = told(text)
    assert len(first) == 1
    assert [each.rule for each in more] == wanted
    assert {each.level for each in more} == {Level.WARNING}


@pytest.mark.parametrize("name", CASES)
def test_the_repaired_program_has_what_was_told(name: str) -> None:
    text, wanted = CASES[name]
    document = Document("train.py", text)
    [fix] = [fix for each in mended(check(document)).diagnostics for fix in each.fixes if fix.preferred]
    after = apply_edits(document, sorted(fix.edits, key=lambda edit: edit.range.start))
    assert [each.rule for each in told(after)[0]] == wanted


def test_nothing_is_told_beside_the_only_fault_of_a_program() -> None:
    programs = sorted(CORPUS.glob("*_faulty.py"))[::24]
    found = {path.stem: told(path.read_text(encoding="utf-8"))[1] for path in programs}
    assert len(found) > 20
    assert {name: [each.message for each in more] for name, more in found.items() if more} == {}


def test_a_check_alone_tells_nothing_beyond_the_first_fault() -> None:
    assert [each.rule for each in check(Document("train.py", KEPT)).diagnostics] == ["carried-graph"]


def test_a_fix_holds_although_another_mistake_of_the_same_value_was_hidden() -> None:
    text = TWO_LOSSES
    for rule, edit in (
        ("double-backward", "Add the losses: `(policy_loss + value_loss).backward()`"),
        ("carried-graph", "Detach `hidden` after line 13: `hidden = hidden.detach()`"),
    ):
        document = Document("train.py", text)
        [fault] = mended(check(document)).diagnostics
        [fix] = [fix for fix in fault.fixes if fix.preferred]
        assert (fault.rule, fix.title) == (rule, edit)
        text = apply_edits(document, sorted(fix.edits, key=lambda edit: edit.range.start))
    assert check(Document("train.py", text)).diagnostics == ()
