"""What a check does grows with a training, and not with its square: the calls of n and of 2n statements are counted.

Calls, of functions and of what is built in, are the same on each machine and each time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from gradpath.analysis.check import LEAN, check
from gradpath.source.document import Document

FEW = 20

MOST = 2.25
"""Times the calls that n more statements take that 2n more take, where they take no more for each: 2, and 4 where the
number of calls is that of pairs."""

IMPORTS = "import torch\nimport torch.nn as nn\nx = torch.randn(4, 4)\n"
START = f"""\
{IMPORTS}net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
y = h = net(x)
loss = y.mean()
losses, log, total = [], {{}}, 0.0
"""
END = "opt.zero_grad()\nloss.backward()\nopt.step()\n"


def _lines(start: str, each: str, end: str = "") -> Callable[[int], str]:
    """A program with a part that is there n times, its number in the place of `#`."""
    return lambda count: START + start + "".join(each.replace("#", str(n)) for n in range(count)) + end


def _model(layer: str, use: str, rest: str) -> Callable[[int], str]:
    """A program with a model of n parts."""

    def program(count: int) -> str:
        layers = "".join(f"        {layer}\n".replace("#", str(n)) for n in range(count))
        uses = "".join(f"        {use}\n".replace("#", str(n)) for n in range(count))
        begun = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        return f"{IMPORTS}{begun}{layers}    def forward(self, x):\n{uses}        return x.sum()\nnet = Net()\n{rest}"

    return program


_TRAINED = """\
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(9):
    opt.zero_grad()
    net(x).backward()
    opt.step()
"""
_MADE = "net# = nn.Linear(4, 4)\nopt# = torch.optim.SGD(net#.parameters(), lr=0.1)\n"

PROGRAMS = {
    "operations": _lines("", "h = torch.tanh(h) * 2\n", "loss = h.sum()\n" + END),
    "terms": _lines("", "loss = loss + (y - #).pow(2).mean()\n", END),
    "detached terms": _lines("", "loss = loss + (y - #).pow(2).mean().detach()\n", END),
    "numbers": _lines("", "total += (y - #).pow(2).mean().item()\n", END),
    "stored terms": _lines("", "losses.append((y - #).pow(2).mean())\n", "loss = torch.stack(losses).sum()\n" + END),
    "writes": _lines("", "y[#] *= 2\n", "loss = y.sum()\n" + END),
    "steps": _lines("", f"loss = (net(x) - #).pow(2).mean()\n{END}log['#'] = loss.item()\n"),
    "backwards": _lines("", "(net(x) - #).pow(2).mean().backward()\n", "opt.step()\n"),
    "backwards of one graph": _lines("", "(y - #).pow(2).mean().backward(retain_graph=True)\n", "opt.step()\n"),
    "failures": _lines("", "z = y.sum()\ntry:\n    z.backward()\n    z.backward()\nexcept RuntimeError:\n    pass\n"),
    "states": _lines("", f"h = net(x + h).detach()\nloss = net(h).sum()\n{END}"),
    "kept states": _lines("", f"h = net(x + h).detach()\nloss = net(h).sum()\n{END}losses.append(h * 2)\n"),
    "targets": _lines(
        "target = nn.Linear(4, 4)\n",
        "with torch.no_grad():\n    t = target(x)\n"
        f"loss = (net(x) - t).pow(2).mean()\n{END}target.load_state_dict(net.state_dict())\n",
    ),
    "optimizers": _lines("", f"{_MADE}opt#.zero_grad()\nnet#(x).sum().backward()\nopt#.step()\n"),
    "optimizers of one loss": _lines("", f"{_MADE}h = net#(h)\nopt#.zero_grad()\n", "h.sum().backward()\nopt.step()\n"),
    "forgotten layers": _lines("", "net# = nn.Linear(4, 4)\nh = net#(h)\n", "loss = h.sum()\n" + END),
    "functions": _lines(
        "",
        f"def train#(loss):\n{''.join(f'    {each}' for each in END.splitlines(keepends=True))}train#(net(x).sum())\n",
    ),
    "parameters": _model("self.w# = nn.Parameter(torch.randn(4))", "x = x * self.w#", _TRAINED),
    "layers": _model("self.l# = nn.Linear(4, 4)", "x = torch.relu(self.l#(x))", _TRAINED),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_work_grows_with_the_program(name: str) -> None:
    program = PROGRAMS[name]
    _calls(program(2))  # Which loads what a first check loads.
    one, two, four = (_calls(program(count)) for count in (FEW, 2 * FEW, 4 * FEW))
    assert four - two <= MOST * (two - one), (one, two, four)


def _calls(text: str) -> int:
    """The calls that a check of a text makes."""
    count = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        check(Document("train.py", text), depth=LEAN)
    finally:
        sys.setprofile(None)
    return count
