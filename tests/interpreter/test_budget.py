"""What a check may cost: other files less than the program itself, and nothing is looked for twice."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

from gradpath.analysis.check import check
from gradpath.overlays.presumed import uses
from gradpath.source.document import Document, read_document

FRAMEWORK = """\
import torch

def spread(plugins, names):
    x = torch.zeros(3, requires_grad=True)
    for first in names:
        for second in names:
            x = x + 1
            for third in names:
                plugins[third] = len(third)
    return x
"""

TRAINING = """\
import torch
from framework import spread

plugins = {}
for _ in range(6):
    spread(plugins, ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o"])
x = torch.ones(3, requires_grad=True)
loss = (x * x).sum()
loss.backward()
loss.backward()
"""

OWN = FRAMEWORK + TRAINING.replace("from framework import spread\n", "")


def _steps(text: str, path: Path) -> int:
    path.write_text(text, encoding="utf-8")
    analysis = check(read_document(path, str(path)))
    assert [(each.rule, each.level.value) for each in analysis.diagnostics] == [("double-backward", "error")]
    return analysis.traces[0].steps


def test_a_framework_that_goes_round_costs_a_part_of_what_the_program_itself_may(tmp_path: Path) -> None:
    (tmp_path / "framework.py").write_text(FRAMEWORK, encoding="utf-8")
    elsewhere, own = _steps(TRAINING, tmp_path / "train.py"), _steps(OWN, tmp_path / "alone.py")
    assert elsewhere < 8_000
    assert own > 2 * elsewhere


DECORATED = """\
import torch
from somewhere import logged

class Net(torch.nn.Module):
    @logged
    def mixed(self, x):
        return x * self.scale

    def forward(self, x, stem, head):
        x = stem(x)
        y = self.mixed(x)
        z = head(y)
        return z.detach_()

net = Net()
net(torch.ones(3), unseen, unseen).sum().backward()
"""


def test_a_decorator_makes_nobody_look_at_a_function_again() -> None:
    def looks(text: str) -> int:
        with mock.patch.object(uses, "_worked_out", wraps=uses._worked_out) as worked_out:
            check(Document("net.py", text))
        return worked_out.call_count

    assert looks(DECORATED) == looks(DECORATED.replace("@logged", "@torch.no_grad()"))
