"""Documents whose module body is not run: nothing that a rule could speak of may stand there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gradpath.analysis.check import check
from gradpath.analysis.entry_points import only_defines
from gradpath.rules import RULES
from gradpath.source.document import Document
from gradpath.source.parse import parse
from tests.documents.pages import Block, documents, read_document

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nfrom torch import nn\n\nclass Net(nn.Module):\n    def forward(self, x):\n        x += 1\n",
        "import logging\nimport torch\n\n__all__ = ['f']\n",
        "import torch\n\ntry:\n    import apex\nexcept OSError:\n    apex = 0\n\n@torch.jit.script\ndef f(x): ...\n",
    ],
)
def test_a_library_only_defines(text: str) -> None:
    assert only_defines(ast.parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "import torch\n\nw = torch.ones(3, requires_grad=True)\nw += 1\n",
        "import torch\n\ndef main():\n    w = torch.ones(3, requires_grad=True)\n    w += 1\n\nmain()\n",
        "import torch\n\ndef double(x):\n    x *= 2\n\ntable = double(torch.ones(3, requires_grad=True))\n",
        "import torch\n\nfor _ in range(3):\n    pass\n",
    ],
)
def test_a_program_does_more(text: str) -> None:
    assert not only_defines(ast.parse(text))


PIPELINE = """\
import inspect
import torch


class Pipeline:
    def __init__(self, net, sampler):
        self.net, self.sampler = net, sampler

    def accepted(self):
        return inspect.signature(self.sampler.step).parameters

    {decorator}
    def __call__(self, latents):
        for t in self.sampler.timesteps:
            noise = self.net(latents, t)
            latents = self.sampler.step(noise, t, latents)
        return latents
"""


@pytest.mark.parametrize(
    ("decorator", "is_run"), [("", True), ("@torch.no_grad()", False), ("@torch.inference_mode()", False)]
)
def test_a_step_without_gradients_is_no_training(decorator: str, is_run: bool) -> None:
    """Nor is one that is only looked at, as `accepted` does: neither they nor what leads there are entered."""
    analysis = check(Document("pipeline.py", PIPELINE.format(decorator=decorator)))
    assert analysis.memory is not None
    assert {record.name for record in analysis.memory.records.values()} == ({"Pipeline.__call__"} if is_run else set())


@pytest.mark.parametrize("page", [each for each in documents(ROOT) if each.suffix == ".md"], ids=lambda page: page.stem)
def test_no_program_with_a_report_at_its_top_level_is_quiet(page: Path) -> None:
    """What the cases of a rule report is found in functions, or their top level is run."""
    for block in read_document(page, ROOT):
        if isinstance(block, Block) and any(report.rule in RULES for report in block.reports):
            for source in block.sources:
                parsed = parse(Document(source.name, source.text))
                if only_defines(parsed.tree):
                    lines = {line for each in parsed.tree.body for line in inside(each)}
                    reported = {each.place.line for each in block.reports} & set(source.lines)
                    assert {source.lines.index(line) + 1 for line in reported} <= lines


def inside(statement: ast.stmt) -> range:
    """The lines of a definition."""
    body = getattr(statement, "body", None)
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1) if body else range(0)
