"""What stands at the top of a training program that uses it: imports, functions, and classes."""

from __future__ import annotations

import re

IMPORTS = ("import torch", "import torch.nn as nn", "import torch.nn.functional as F")
EXTRA = ("copy", "functools", "itertools", "torch.utils.checkpoint")
ALIASES = {"np.": "import numpy as np", "OrderedDict(": "from collections import OrderedDict"}

_TEXT = """
checkpoint(
from torch.utils.checkpoint import checkpoint

criterion(
criterion = nn.MSELoss()

frozen(
def frozen(net, x):
    with torch.no_grad():
        return net(x)

distance(
def distance(a, b):
    return (a - b).pow(2).mean()

split(
def split(h):
    return h, h.mean(dim=0)

evaluate(
@torch.no_grad()
def evaluate(net, x):
    return net(x)

mix(
def mix(a, b):
    gate = torch.sigmoid(a)
    return gate * a + (1 - gate) * b

bound(
def bound(p):
    p.grad.clamp_(-1, 1)

update(
def update(opt, loss):
    opt.zero_grad()
    loss.backward()
    opt.step()

learn(
def learn(net, opt, x, y):
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()

freeze(
def freeze(*nets, on=True):
    for net in nets:
        for p in net.parameters():
            p.requires_grad = not on

trainable(
def trainable(*nets):
    return [p for net in nets for p in net.parameters() if p.requires_grad]

follow(
@torch.no_grad()
def follow(slow, fast):
    for a, b in zip(slow.parameters(), fast.parameters()):
        a.data.mul_(0.9).add_(b.data, alpha=0.1)

Wrapper(
class Wrapper(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x) + x

LowRank(
class LowRank(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(3, 2))
        self.up = nn.Parameter(torch.zeros(2, 3))

    def forward(self, x):
        return self.base(x) + x @ self.down @ self.up

Pair(
class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = nn.Linear(3, 3)
        self.right = nn.Linear(3, 3)

    def forward(self, x):
        return self.left(x), self.right(x)

Named(
class Named(nn.Module):
    def __init__(self):
        super().__init__()
        for index in range(2):
            setattr(self, f"layer{index}", nn.Linear(3, 3))
        self.gains = nn.ParameterList([nn.Parameter(torch.ones(3)) for _ in range(2)])

    def forward(self, x):
        for index, gain in enumerate(self.gains):
            x = getattr(self, f"layer{index}")(x) * gain
        return x

Codes(
class Codes(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(3, 3)

    def forward(self, x):
        nearest = torch.cdist(x, self.table.weight).argmin(dim=1)
        codes = self.table(nearest)
        return x + (codes - x).detach()

Reverse.
class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -grad

Stop.
class Stop(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return None

Blend.
class Blend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a)
        return a * b

    @staticmethod
    def backward(ctx, grad):
        (a,) = ctx.saved_tensors
        return None, grad * a
"""

HELPERS = {text.partition("\n")[0]: text.partition("\n")[2] for text in re.split(r"\n\n(?=\S+\n)", _TEXT.strip("\n"))}
"""The definition behind each call."""


def top_of(body: str) -> str:
    """The lines above a program: what it imports, a seed, and the helpers that it uses."""
    lines = [f"import {name}" for name in EXTRA if re.search(rf"\b{re.escape(name)}\.", body)]
    lines += [line for word, line in ALIASES.items() if word in body]
    lines += [*IMPORTS, "", "torch.manual_seed(0)"]
    lines += [text for word, text in HELPERS.items() if re.search(rf"(?<![\w.]){re.escape(word)}", body)]
    return "\n".join(lines) + "\n"
