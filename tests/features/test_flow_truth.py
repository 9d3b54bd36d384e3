"""What the table of a flow says, compared with PyTorch: each cell, at each backward and each step that runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradpath.analysis.check import EXPLORED, check
from gradpath.features.flow import Arrival, Cell, Use
from gradpath.features.flow.find import flows_of
from gradpath.source.document import Document
from tests.features.recorder import Record, record

ROOT = Path(__file__).parents[2]

SCRIPTS = [  # Each with the number of cells that there are to compare.
    ("samples/right/gan.py", 50),
    ("samples/right/actor_critic.py", 60),
    ("samples/right/contrastive.py", 10),
    ("samples/right/distillation.py", 20),
    ("samples/right/gradient_accumulation.py", 10),
    ("samples/right/language_model.py", 20),
    ("samples/right/lbfgs_fit.py", 8),
    ("samples/right/mixed_precision.py", 30),
    ("samples/right/multitask.py", 15),
    ("samples/right/vae.py", 20),
    ("tests/cases/corpus/adversarial_autoencoder_reuse_right.py", 20),
    ("tests/cases/corpus/cyclegan_step_order_right.py", 80),
    ("tests/cases/corpus/encoder_optimizer_cut_off_faulty.py", 8),
    ("tests/cases/corpus/freeze_after_epoch_n_right.py", 8),
    ("tests/cases/corpus/frozen_head_right.py", 8),
    ("tests/cases/corpus/sine_gan_retained_right.py", 16),
]

PROGRAMS = {
    "a frozen backbone": """\
import torch
from torch import nn
backbone = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8))
head = nn.Linear(8, 2)
for parameter in backbone.parameters():
    parameter.requires_grad_(False)
optimizer = torch.optim.SGD([*backbone.parameters(), *head.parameters()], lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = head(backbone(torch.randn(5, 4))).pow(2).mean()
    loss.backward()
    optimizer.step()
""",
    "a cut encoder and a plain list of layers": """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 4)
        self.layers = [nn.Linear(4, 4), nn.Linear(4, 4)]
        self.head = nn.Linear(4, 1)
    def forward(self, x):
        z = self.encoder(x).detach()
        for layer in self.layers:
            z = layer(z)
        return self.head(z)
    def fit(self):
        optimizer = torch.optim.Adam(self.parameters())
        for _ in range(3):
            loss = self(torch.randn(2, 4)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
model = Net()
model.fit()
""",
    "two optimizers, one of which never has a gradient": """\
import torch
from torch import nn
encoder, decoder = nn.Linear(4, 3), nn.Linear(3, 4)
one = torch.optim.SGD(encoder.parameters(), lr=0.1)
two = torch.optim.SGD(decoder.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(5, 4)
    with torch.no_grad():
        code = encoder(x)
    loss = (decoder(code) - x).pow(2).mean()
    one.zero_grad()
    two.zero_grad()
    loss.backward()
    one.step()
    two.step()
""",
    "an average of the weights": """\
import copy
import torch
from torch import nn
student = nn.Linear(4, 2)
teacher = copy.deepcopy(student)
teacher.requires_grad_(False)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(5, 4)
    loss = (student(x) - teacher(x + 1)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for old, new in zip(teacher.parameters(), student.parameters()):
            old.mul_(0.9).add_(0.1 * new)
""",
    "truncated back-propagation": """\
import torch
from torch import nn
rnn, head = nn.GRU(3, 4), nn.Linear(4, 1)
start = nn.Parameter(torch.randn(1, 2, 4))
optimizer = torch.optim.SGD([*rnn.parameters(), *head.parameters(), start], lr=0.1)
hidden = start
for step in range(3):
    out, hidden = rnn(torch.randn(5, 2, 3), hidden)
    loss = head(out).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    hidden = hidden.detach()
""",
    "zeros behind a step function": """\
import torch
from torch import nn
coder, decoder = nn.Linear(4, 3), nn.Linear(3, 4)
optimizer = torch.optim.SGD([*coder.parameters(), *decoder.parameters()], lr=0.1)
for _ in range(2):
    x = torch.randn(5, 4)
    loss = (decoder(torch.round(coder(x))) - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "one helper for two losses": """\
import torch
from torch import nn
left, right = nn.Linear(2, 1), nn.Linear(2, 1)
opt_left, opt_right = (torch.optim.SGD(each.parameters(), lr=0.1) for each in (left, right))
def improve(loss, optimizer):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
for _ in range(2):
    improve(left(torch.randn(3, 2)).pow(2).mean(), opt_left)
    improve(right(torch.randn(3, 2)).pow(2).mean(), opt_right)
""",
    "a warm-up without the body": """\
import torch
from torch import nn
body, head = nn.Linear(4, 4), nn.Linear(4, 1)
body.requires_grad_(False)
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
for epoch in range(3):
    if epoch == 2:
        body.requires_grad_(True)
    loss = head(body(torch.randn(5, 4))).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "gradients that are given by hand": """\
import torch
from torch import nn
worker, shared = nn.Linear(4, 1), nn.Linear(4, 1)
optimizer = torch.optim.SGD(shared.parameters(), lr=0.1)
for _ in range(3):
    worker.zero_grad()
    worker(torch.randn(5, 4)).pow(2).mean().backward()
    for mine, theirs in zip(worker.parameters(), shared.parameters()):
        theirs.grad = mine.grad
    optimizer.step()
""",
    "a backward for some": """\
import torch
from torch import nn
netG, netD = nn.Linear(2, 2), nn.Linear(2, 1)
optimizer = torch.optim.SGD([*netG.parameters(), *netD.parameters()], lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    netD(netG(torch.randn(3, 2))).mean().backward(inputs=list(netG.parameters()))
    optimizer.step()
""",
}

HIDDEN = {  # What gradpath sees, and how PyTorch runs it.
    "a model that is a parameter": (
        """\
def train(model, loader, optimizer, criterion):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
""",
        """
import torch
net = torch.nn.Linear(3, 2)
data = [(torch.randn(4, 3), torch.randn(4, 2)) for _ in range(2)]
train(net, data, torch.optim.SGD(net.parameters(), lr=0.1), torch.nn.MSELoss())
""",
    ),
    "two models that are parameters": (
        """\
def train(netD, netG, optD, optG, loader, criterion, ones, zeros):
    for real, noise in loader:
        optD.zero_grad()
        fake = netG(noise)
        lossD = criterion(netD(real), ones) + criterion(netD(fake.detach()), zeros)
        lossD.backward()
        optD.step()
        optG.zero_grad()
        lossG = criterion(netD(fake), ones)
        lossG.backward()
        optG.step()
""",
        """
import torch
D, G = torch.nn.Linear(3, 1), torch.nn.Linear(2, 3)
data = [(torch.randn(4, 3), torch.randn(4, 2)) for _ in range(2)]
ones, zeros = torch.ones(4, 1), torch.zeros(4, 1)
train(D, G, *(torch.optim.SGD(net.parameters(), lr=0.1) for net in (D, G)), data, torch.nn.MSELoss(), ones, zeros)
""",
    ),
}


def disagreements(seen: str, text: str) -> tuple[list[str], int, int]:
    """Where the table of `seen` is not what PyTorch shows of `text`; how many cells agree, and how many are open."""
    flows = flows_of(check(Document("program.py", seen), depth=EXPLORED))
    assert flows
    names = dict.fromkeys((each.holder, each.way) for flow in flows for each in flow.parameters)
    shown = record(text, list(names))
    assert shown.raised == ""
    wrong, right, unknown = [], 0, 0
    for flow in flows:
        for each in flow.parameters:
            cells = (*zip(flow.backwards, each.arrivals, strict=True), *zip(flow.steps, each.uses, strict=True))
            for call, cell in cells:
                if cell is None or cell.state in (Arrival.UNKNOWN, Use.UNKNOWN):
                    unknown += 1
                    continue
                fault = disagreement(cell, shown, (each.holder, each.way, call.line))
                if fault is None:
                    unknown += 1
                elif fault:
                    wrong.append(f"{each.name}, line {call.line}: {fault}")
                else:
                    right += 1
    return wrong, right, unknown


def disagreement(cell: Cell, shown: Record, key: tuple[str, str, int]) -> str | None:
    """What is wrong with a cell; None where PyTorch did not come by, or the name means nothing there."""
    if isinstance(cell.state, Use):
        changed = shown.changed.get(key)
        expected = None if changed is None else {True} if cell.state is Use.UPDATED else {False}
        found = set(changed or ())
    else:
        arrived = shown.arrived.get(key)
        states = {Arrival.GRADIENT: True, Arrival.ZEROS: False}
        expected = None if arrived is None else {states.get(cell.state)}
        found = set(arrived or ())
    if expected is None:
        return None
    holds = found == expected if cell.always and cell.state is not Use.UPDATED else expected <= found
    return "" if holds else f"{cell.state.value}{'' if cell.always else ' at times'}, but PyTorch shows {found}"


@pytest.mark.parametrize(("script", "least"), SCRIPTS, ids=[Path(script).stem for script, _ in SCRIPTS])
def test_the_table_of_a_script_is_what_pytorch_shows(script: str, least: int) -> None:
    text = (ROOT / script).read_text(encoding="utf-8")
    wrong, right, _ = disagreements(text, text)
    assert wrong == []
    assert right >= least


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_the_table_of_a_program_is_what_pytorch_shows(program: str) -> None:
    wrong, right, unknown = disagreements(program, program)
    assert wrong == []
    assert unknown == 0
    assert right >= 8


@pytest.mark.parametrize(("seen", "rest"), HIDDEN.values(), ids=HIDDEN.keys())
def test_what_is_presumed_of_a_model_holds_where_it_is_run(seen: str, rest: str) -> None:
    wrong, right, _ = disagreements(seen, seen + rest)
    assert wrong == []
    assert right >= 2
