"""Loops in another form: each that is offered runs under PyTorch and does what its title says; the others are not."""

from __future__ import annotations

from collections import Counter

import pytest
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook

from gradpath.analysis.check import check
from gradpath.config import Config
from gradpath.diagnostic import Fix, Position, Range, Safety
from gradpath.refactoring.proof import rewritten
from gradpath.source.document import Document
from gradpath.source.edits import apply_edits
from tests.fixes.learners import learners_of

BATCHES = """
import torch
from torch import nn

model, criterion = nn.Linear(4, 2), nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(batches):
    for x, y in batches:
        # from nothing
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


train([(torch.rand(3, 4), torch.randint(2, (3,))) for _ in range(6)])
"""
COUNTED = """
import torch

w = torch.rand(4, requires_grad=True)
optimizer, x = torch.optim.SGD([w], lr=0.1), torch.rand(6, 4)
for i in range(6):
    loss = (x[i] * w).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
SEQUENCE = """
import torch
from torch import nn

cell, head = nn.LSTMCell(4, 8), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
pairs = [(torch.rand(2, 4), torch.rand(2, 1)) for _ in range(6)]
state = (torch.zeros(2, 8), torch.zeros(2, 8))
total = 0
for x, y in pairs:
    state = cell(x, state)
    total = total + (head(state[0]) - y).pow(2).mean()
optimizer.zero_grad()
total.backward()
optimizer.step()
"""
CARRIED = """
import torch
from torch import nn

cell, head = nn.GRUCell(4, 8), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
h = None
for _ in range(6):
    h = cell(torch.rand(2, 4), h)
    loss = head(h).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
"""
HEADS = """
import torch
from torch import nn

body, a, b = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*body.parameters(), *a.parameters(), *b.parameters()], lr=0.1)
for x in torch.rand(6, 3, 4):
    h = body(x).relu()
    one, two = a(h).mean(), b(h).mean()
    optimizer.zero_grad()
    one.backward(retain_graph=True)
    two.backward()
    optimizer.step()
"""
ADVERSARIES = """
import torch
from torch import nn

G, D, bce = nn.Linear(4, 8), nn.Linear(8, 1), nn.BCEWithLogitsLoss()
for_g, for_d = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
for real in torch.rand(6, 6, 8):
    fake = G(torch.rand(6, 4))
    # both losses first
    d_loss = bce(D(real), torch.ones(6, 1)) + bce(D(fake), torch.zeros(6, 1))
    g_loss = bce(D(fake), torch.ones(6, 1))
    for_d.zero_grad()
    for_g.zero_grad()
    d_loss.backward(retain_graph=True)
    for_d.step()
    g_loss.backward()
    for_g.step()
"""
EVERY_FOURTH = "number % 4 == 0 or number == len("
FORMS = {
    "a step after every few batches": (BATCHES, "loss = c", "Accumulate gradients over 4 micro-batches", 2),
    "a loop that counts itself": (COUNTED, "loss = (", "Accumulate gradients over 4 micro-batches", 2),
    "a long sequence": (
        SEQUENCE,
        "state = cell",
        "Truncate back-propagation through time: go back and detach `state` every 4 steps",
        2,
    ),
    "a state from the step before": (
        CARRIED,
        "h = cell",
        "Truncate back-propagation through time: detach `h` at the start of each step",
        6,
    ),
    "one backward": (HEADS, "one.b", "Sum the losses, and call backward once: `(one + two).backward()`", 6),
    "one optimizer after the other": (
        ADVERSARIES,
        "fake = G",
        "Train one after the other: clear, go back and step with `for_d` and `for_g` in this order",
        12,
    ),
}


def offered(program: str, at: str) -> dict[str, Fix]:
    """The forms of the loops around a place of a program, by their titles."""
    document = Document("train.py", program)
    line = program[: program.index(at)].count("\n") + 1
    place = Range(Position(line, 1), Position(line, 1))
    return {each.title: each for each in rewritten(check(document), place, Config())}


def after(program: str, fix: Fix) -> str:
    """The program in another form."""
    return apply_edits(Document("train.py", program), fix.edits)


def steps_of(program: str) -> tuple[str, set[tuple[int, int]], int]:
    """How a program ends under PyTorch, which parameters are taught, and how many steps are made."""
    steps = Counter[int]()

    def count(optimizer: Optimizer, _arguments: object, _keywords: object) -> None:
        steps[id(optimizer)] += 1

    handle = register_optimizer_step_pre_hook(count)
    try:
        found = learners_of({"train.py": program})
    finally:
        handle.remove()
    return found.end, found.taught, sum(steps.values())


@pytest.mark.parametrize(("program", "at", "title", "steps"), FORMS.values(), ids=FORMS)
def test_another_form_runs_and_teaches_the_same_parameters(program: str, at: str, title: str, steps: int) -> None:
    fix = offered(program, at)[title]
    assert (fix.safety, fix.rewrite) == (Safety.UNSAFE, True)
    end, taught, made = steps_of(after(program, fix))
    assert (end, made) == ("", steps)
    assert taught >= steps_of(program)[1]
    assert taught


def test_comments_and_layout_stay() -> None:
    [fix] = offered(BATCHES, "loss = c").values()
    written = after(BATCHES, fix)
    assert "    optimizer.zero_grad()\n    for number, (x, y) in enumerate(batches, 1):\n        loss = c" in written
    assert f"        if {EVERY_FOURTH}batches):\n            nn.utils.clip" in written
    assert "            # from nothing\n            optimizer.zero_grad()\n" in written


def test_what_two_losses_share_is_computed_for_each() -> None:
    several = HEADS.replace("one, two = a(h).mean(), b(h).mean()", "one = a(h).mean()\n    two = b(h).mean()")
    fix = offered(several, "one.b")["Compute line 8 for each loss"]
    written = after(several, fix)
    assert "one.backward()\n    h = body(x).relu()\n    two = b(h).mean()\n    two.backward()" in written
    assert steps_of(written)[:2] == ("", steps_of(several)[1])


def test_the_discriminator_does_not_teach_the_generator() -> None:
    [fix] = offered(ADVERSARIES, "fake = G").values()
    written = after(ADVERSARIES, fix)
    assert "D(fake.detach())" in written
    assert written.index("for_d.step()") < written.index("for_g.zero_grad()") < written.index("g_loss = ")


UNPROVED = {
    "nothing says how long the loop is": BATCHES.replace("in batches", "in iter(batches)"),
    "a batch may be left out": BATCHES.replace(
        "        # from nothing\n", "        if y.sum() == 0:\n            continue\n"
    ),
    "the loss is not of the batch": BATCHES.replace("model(x), y", "model(first), second").replace(
        "train([", "first, second = torch.rand(3, 4), torch.randint(2, (3,))\ntrain(["
    ),
    "there is no loop": "import torch\nloss = torch.rand(1)\n",
    "nothing is trained": BATCHES.replace("        loss.backward()\n", ""),
}


@pytest.mark.parametrize("program", UNPROVED.values(), ids=UNPROVED)
def test_a_form_that_is_not_proved_is_not_offered(program: str) -> None:
    assert offered(program, "loss = ") == {}


def test_the_sum_of_a_long_sequence_that_is_read_later_stays_whole() -> None:
    assert offered(f"{SEQUENCE}print(total)\n", "state = cell") == {}


def test_losses_of_which_the_first_is_stepped_on_are_not_summed() -> None:
    stepped = HEADS.replace("two.backward()", "optimizer.step()\n    two.backward()")
    assert not any(title.startswith("Sum") for title in offered(stepped, "one.b"))
