"""Containers that hold themselves, or one another many times over, cost no more than what they hold."""

from __future__ import annotations

import sys
import time
from types import FrameType

import pytest

from gradpath.analysis.check import check
from gradpath.source.document import Document

MOST_CALLS = 300_000
"""Calls of functions that a check of such a program may take; one that walks along all ways takes millions."""

MOST_SECONDS = 10.0
"""Of the processor, for what is walked along without a call, as the hash of a tuple is."""

START = """\
import copy
import torch
from torch import nn
from lib import run, thing

def train(model, optimizer, loader, criterion, other):
    net = nn.Linear(3, 3)
    kept = []
    for x, y in loader:
        loss = criterion(model(x), y)
        own = net(x).sum()
"""

END = """\
        optimizer.zero_grad()
        loss.backward()
        own.backward()
        optimizer.step()
    return kept
"""

MADE = {
    "a list in itself": ["v = [model, loss, own]", "v.append(v)"],
    "a dict in itself": ["v = {'a': loss, 'b': own}", "v['v'] = v"],
    "an object in a list that it keeps": ["v = [loss]", "thing.v = v", "v.append(thing)", "v.append((v, v))"],
    "lists of eight times the same": ["v = [loss, own, x]", *["v = [v, v, v, v, v, v, v, v]"] * 10],
    "tuples of eight times the same": ["v = (loss, own, x)", *["v = (v, v, v, v, v, v, v, v)"] * 10],
    "dicts of four times the same": ["v = {'a': loss}", *["v = {'a': v, 'b': v, 'c': v, 'd': v}"] * 14],
}

USED = (
    "run(v, optimizer)",
    "run(*v)",
    "other(v)",
    "model(v)",
    "kept.append(v)",
    "thing.v = v",
    "model.v = v",
    "w = copy.deepcopy(v)",
    "w = torch.stack(v)",
    "w = sum(v)",
    "w = thing.run(v)",
    "w = nn.ModuleList(v)",
    "torch.autograd.backward(v)",
    "w = torch.optim.SGD(v, 0.1)",
    "w = v == v",
    "w = f'{v}'",
    "v = thing.load(v)",
    "return v",
)


class _TooMany(Exception):
    pass


@pytest.mark.parametrize("used", USED)
@pytest.mark.parametrize("made", MADE)
def test_a_check_ends(made: str, used: str) -> None:
    lines = "".join(f"        {line}\n" for line in (*MADE[made], used))
    document = Document("nested.py", START + lines + END)
    count = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"
        if count > MOST_CALLS:
            raise _TooMany

    before, began = sys.getprofile(), time.process_time()
    sys.setprofile(note)
    try:
        check(document)
    finally:
        sys.setprofile(before)
    assert count <= MOST_CALLS
    assert time.process_time() - began < MOST_SECONDS
