"""While a statement is typed, key by key, nothing wrong is said about the program around it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradpath.analysis.check import Analysis, check
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

BY_HAND = """\
import torch
from torch import nn


class Curve(nn.Module):
    def __init__(self):
        super().__init__()
        self.decay = nn.Parameter(torch.tensor(0.3))
        self.state = torch.zeros(3)

    def forward(self, t):
        self.state = self.state.detach() + self.decay
        return torch.exp(-self.decay * t) + self.state


def samples(w, count):
    x = torch.randn(count, 3)
    return x, x @ w


def squared(prediction, y):
    return (prediction - y.reshape(prediction.shape)) ** 2 / 2


def train(x, y, rate, rounds):
    w = torch.zeros(3, requires_grad=True)
    for _ in range(rounds):
        errors = []
        for part in range(4):
            errors.append(squared(x[part] @ w, y[part]).mean())
        torch.stack(errors).mean().backward()
        with torch.no_grad():
            w -= rate * w.grad
            w.grad.zero_()
    return w


x, y = samples(torch.randn(3), 4)
train(x, y, 0.1, 10)
curve = Curve()
optimizer = torch.optim.LBFGS(curve.parameters())
hidden = torch.zeros(3, requires_grad=True)


def closure():
    optimizer.zero_grad()
    loss = (curve(torch.ones(3)) - hidden).pow(2).sum()
    loss.backward(retain_graph=False)
    return loss


for _ in range(5):
    optimizer.step(closure)
    hidden = hidden.exp()
    hidden.detach_()
"""

COLD = 12
"""After one key of so many the text is also checked from cold: what is reused is no reason for a difference."""

TYPED = [
    (PROGRAM, "return self.bias(x)"),
    (PROGRAM, "return self.body(x) + self.offset(x)"),
    (PROGRAM, "return torch.matmul(x, w)"),
    (PROGRAM, "if self.training:"),
    (PROGRAM, "if self.cache is None:"),
    (PROGRAM, "def project(x, w):"),
    (PROGRAM, "model = Net()"),
    (PROGRAM, "criterion = nn.CrossEntropyLoss()"),
    (PROGRAM, "for step in range(10):"),
    (PROGRAM, "logits = project(model(torch.randn(5, 3)), w)"),
    (PROGRAM, "loss = criterion(logits, torch.randint(0, 2, (5,)))"),
    (PROGRAM, "optimizer.zero_grad()"),
    (PROGRAM, "loss.backward()"),
    (PROGRAM, "total += loss.item()"),
    (BY_HAND, "self.decay = nn.Parameter(torch.tensor(0.3))"),
    (BY_HAND, "self.state = self.state.detach() + self.decay"),
    (BY_HAND, "def samples(w, count):"),
    (BY_HAND, "x = torch.randn(count, 3)"),
    (BY_HAND, "return (prediction - y.reshape(prediction.shape)) ** 2 / 2"),
    (BY_HAND, "def train(x, y, rate, rounds):"),
    (BY_HAND, "w = torch.zeros(3, requires_grad=True)"),
    (BY_HAND, "errors = []"),
    (BY_HAND, "errors.append(squared(x[part] @ w, y[part]).mean())"),
    (BY_HAND, "with torch.no_grad():"),
    (BY_HAND, "w -= rate * w.grad"),
    (BY_HAND, "w.grad.zero_()"),
    (BY_HAND, "loss.backward(retain_graph=False)"),
    (BY_HAND, "optimizer.step(closure)"),
    (BY_HAND, "hidden.detach_()"),
]


def states(program: str, statement: str) -> Iterator[str]:
    """The program while a statement is typed, as long as it does not parse."""
    before, after = program.split(statement + "\n")
    for count in range(1, len(statement)):
        text = f"{before}{statement[:count]}\n{after}"
        try:
            ast.parse(text)
        except SyntaxError:
            yield text


@pytest.mark.parametrize(("program", "statement"), TYPED)
def test_what_cannot_be_read_yet_is_no_reason_for_a_report(program: str, statement: str) -> None:
    first = analysis = check(Document("train.py", program))
    assert graver(first) == []
    for number, text in enumerate(states(program, statement)):
        analysis = check(Document("train.py", text), last=analysis.parsed, memory=analysis.memory)
        assert graver(analysis) == [], text
        if number % COLD == 0:
            assert graver(check(Document("train.py", text))) == [], text


def test_a_method_half_named_is_no_reason_for_a_report() -> None:
    for typed in ("l", "lo", "loss.", "loss.b", "loss.backwar"):
        text = PROGRAM.replace("loss.backward()", typed)
        assert graver(check(Document("train.py", text))) == [], typed
    [report] = graver(check(Document("train.py", PROGRAM.replace("loss.backward()", "loss.backward"))))
    assert "no backward" in report


def test_a_block_half_typed_in_another_file_is_no_reason_for_a_report(tmp_path: Path) -> None:
    (tmp_path / "gradpath.toml").touch()
    text = "import torch\n\n\ndef descend(w):\n    {}\n        w -= 0.1 * w.grad\n"
    user = "import torch\nfrom lib import descend\n\nw = torch.ones(3, requires_grad=True)\n"
    document = Document(str(tmp_path / "train.py"), user + "w.exp().sum().backward()\ndescend(w)\n")
    for header, reports in (("with torch.no_grad():", 0), ("with torch.no_gr", 0), ("wit", 0), ("if w.grad:", 1)):
        (tmp_path / "lib.py").write_text(text.format(header))
        assert len(graver(check(document))) == reports, header


def test_a_fault_elsewhere_stays_while_a_line_is_half_typed() -> None:
    text = PROGRAM + "w.exp_()\n"
    for typed in ("print(loss", "value = ", "x = foo(1, ", "import", "with ", "for", "if total"):
        found = check(Document("train.py", f"{text}{typed}\n"), last=check(Document("train.py", text)).parsed)
        assert len(graver(found)) == 1, typed


def graver(analysis: Analysis) -> list[str]:
    """What an editor underlines, hints left out."""
    return [each.message for each in analysis.diagnostics if each.level is not Level.HINT]
