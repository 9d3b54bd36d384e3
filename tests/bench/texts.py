"""Training code of any length, made of the samples: each becomes a function, so that one file holds many."""

from __future__ import annotations

from pathlib import Path

SAMPLES = Path(__file__).parents[2] / "samples" / "right"

_LOOP = """\


def train_{number}(model, loader, optimizer, criterion, epochs=3):
    total = 0.0
    for epoch in range(epochs):
        for step, (inputs, targets) in enumerate(loader):
            optimizer.zero_grad()
            outputs = model(inputs)
            loss = criterion(outputs, targets)
            loss.backward()  # the gradients
            optimizer.step()
            total += loss.item()
    return total


class Net{number}(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, 64)
        self.second = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.first(x))
        return self.second(x)


def fit_{number}(loader):
    model = Net{number}(32)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for inputs, targets in loader:
        hidden = torch.zeros(1, 32)
        for part in inputs:
            hidden = torch.tanh(part + hidden.detach())
        loss = F.cross_entropy(model(hidden), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model
"""

_HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"


def functions(lines: int) -> str:
    """A module of about so many lines: models and training functions, which take what they need as parameters."""
    text = _HEAD
    number = 0
    while text.count("\n") < lines:
        text += _LOOP.format(number=number)
        number += 1
    return text


def script(lines: int) -> str:
    """The samples one after the other, about so many lines: everything runs at the top level."""
    text = ""
    for sample in sorted(SAMPLES.glob("*.py")):
        if text.count("\n") < lines:
            text += sample.read_text(encoding="utf-8")
    return text
