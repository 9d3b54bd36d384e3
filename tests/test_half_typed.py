"""While a statement is typed, key by key, nothing wrong is said about the program around it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from gradpath.check import check
from gradpath.diagnostic import Level
from gradpath.source.document import Document

PROGRAM = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 4))
        self.bias = nn.Linear(3, 4)
        self.cache = None

    def offset(self, x):
        if self.training:
            return self.bias(x)
        if self.cache is None:
            self.cache = self.bias(x)
        return self.cache

    def forward(self, x):
        return self.body(x) + self.offset(x)


def project(x, w):
    return torch.matmul(x, w)


w = torch.randn(4, 2, requires_grad=True)
model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD([*model.parameters(), w], lr=0.1)
total = 0.0
for step in range(10):
    logits = project(model(torch.randn(5, 3)), w)
    loss = criterion(logits, torch.randint(0, 2, (5,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
"""

TYPED = [
    "return self.bias(x)",
    "return self.body(x) + self.offset(x)",
    "return torch.matmul(x, w)",
    "if self.training:",
    "if self.cache is None:",
    "model = Net()",
    "criterion = nn.CrossEntropyLoss()",
    "logits = project(model(torch.randn(5, 3)), w)",
    "loss = criterion(logits, torch.randint(0, 2, (5,)))",
]


def states(statement: str) -> Iterator[str]:
    """The program while a statement is typed, as long as it does not parse."""
    before, after = PROGRAM.split(statement + "\n")
    for count in range(1, len(statement)):
        text = f"{before}{statement[:count]}\n{after}"
        try:
            ast.parse(text)
        except SyntaxError:
            yield text


@pytest.mark.parametrize("statement", TYPED)
def test_what_cannot_be_read_yet_is_no_reason_for_a_report(statement: str) -> None:
    assert check(Document("train.py", PROGRAM)).diagnostics == ()
    analysis = check(Document("train.py", PROGRAM))
    for text in states(statement):
        analysis = check(Document("train.py", text), last=analysis.parsed, memory=analysis.memory)
        told = [each.message for each in analysis.diagnostics if each.level is not Level.HINT]
        assert told == [], text
