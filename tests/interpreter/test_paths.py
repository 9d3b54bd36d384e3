"""Which paths of an entry point are run: what trains is entered even where each path is long."""

from __future__ import annotations

import pytest

from gradpath.analysis.check import check
from gradpath.source.document import Document

PROGRAM = """\
import torch


def train(net, critic, optimizer, other, loader):
    for batch in loader:
        out = net(batch.x)
{work}
        loss = out.mean()
        if batch.is_odd:
            other.zero_grad()
            loss.detach().backward()
            other.step()
            continue
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize("statements", [3, 400, 1_500])
def test_each_arm_that_trains_is_entered_however_long_the_path_is(statements: int) -> None:
    work = "\n".join(f"        out = out * {each}.5" for each in range(statements))
    found = check(Document("train.py", PROGRAM.format(work=work))).diagnostics
    assert [each.rule for each in found] == ["detached-loss"]
