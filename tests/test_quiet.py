"""Documents whose module body is not run: nothing that a rule could speak of may stand there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gradpath.analysis.check import check
from gradpath.analysis.toplevel_effects import only_defines
from gradpath.names.files import Files
from gradpath.rules import RULES
from gradpath.source.document import Document
from gradpath.source.parse import parse
from tests.documents.pages import Block, documents, read_document

ROOT = Path(__file__).parents[1]


def is_quiet(folder: Path, text: str, **others: str) -> bool:
    for name, other in others.items():
        (folder / f"{name}.py").write_text(other)
    (folder / "gradpath.toml").touch()
    return only_defines(Files(parse(Document(str(folder / "program.py"), text))))


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nfrom torch import nn\n\nclass Net(nn.Module):\n    def forward(self, x):\n        x += 1\n",
        "import logging\nimport torch\n\nlogger = logging.getLogger(__name__)\n__all__ = ['f']\n__all__ += ['g']\n",
        "import torch\n\ntry:\n    import apex\nexcept OSError:\n    apex = 0\n\n@torch.jit.script\ndef f(x): ...\n",
    ],
)
def test_a_library_only_defines(tmp_path: Path, text: str) -> None:
    assert is_quiet(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "import torch\n\nw = torch.ones(3, requires_grad=True)\nw += 1\n",
        "import torch\n\ndef main():\n    w = torch.ones(3, requires_grad=True)\n    w += 1\n\nmain()\n",
        "import torch\n\ndef double(x):\n    x *= 2\n\ntable = double(torch.ones(3, requires_grad=True))\n",
        "import torch\n\nfor _ in range(3):\n    pass\n",
        "import torch\nfrom torch import *\n",
    ],
)
def test_a_program_does_more(tmp_path: Path, text: str) -> None:
    assert not is_quiet(tmp_path, text)


def test_a_call_into_another_file_counts_as_what_stands_there(tmp_path: Path) -> None:
    text = "import torch\nfrom other import make\n\nvalue = make(3)\n"
    assert is_quiet(tmp_path, text, other="def make(n):\n    return [n] * 2\n")
    (tmp_path / "again").mkdir()
    assert not is_quiet(tmp_path / "again", text, other="import torch\n\ndef make(n):\n    return torch.ones(n)\n")


def test_a_class_may_be_handed_to_a_function_that_only_makes_one(tmp_path: Path) -> None:
    text = "from nets import Net\nfrom other import renamed\n\n__getattr__ = renamed({'Old': (Net, '2.0')})\n"
    nets = "import torch\n\nclass Net(torch.nn.Module):\n    pass\n"
    other = "def renamed(names):\n    def get(name):\n        return names[name][0]\n\n    {}\n    return get\n"
    assert is_quiet(tmp_path, text, nets=nets, other=other.format("known = names.keys()"))
    (tmp_path / "again").mkdir()
    assert not is_quiet(tmp_path / "again", text, nets=nets, other=other.format("made = names['Old'][0]()"))


def test_a_class_may_have_records_of_another_file_as_its_attributes(tmp_path: Path) -> None:
    text = "import torch\nfrom other import Spec\n\nclass Config:\n    part = Spec(torch.nn.Linear)\n"
    keeps = "from models import Net\n\nclass Spec:\n    def __init__(self, of):\n        self.of = of\n"
    makes = "\n    def make(self):\n        return Net(self.of)\n"
    net = "import torch\n\nclass Net(torch.nn.Module): ...\n"
    assert is_quiet(tmp_path, text, other=keeps + makes, models=net)
    (tmp_path / "again").mkdir()
    assert not is_quiet(tmp_path / "again", text, other=keeps + "        Net(of)\n" + makes, models=net)


def test_what_a_package_reexports_with_a_star_is_found(tmp_path: Path) -> None:
    text = "import torch\nfrom other import SIZE, area\n\nvalue = area(SIZE)\n"
    more = "SIZE = 3\n\ndef area(n):\n    return n * n\n"
    assert is_quiet(tmp_path, text, other="from more import *\n", more=more)


PIPELINE = """\
import inspect
import torch


class Pipeline:
    def __init__(self, net, scheduler):
        self.net, self.scheduler = net, scheduler

    def accepted(self):
        return inspect.signature(self.scheduler.step).parameters

    {decorator}
    def __call__(self, latents):
        for t in self.scheduler.timesteps:
            noise = self.net(latents, t)
            latents = self.scheduler.step(noise, t, latents)
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
                if only_defines(Files(parsed)):
                    lines = {line for each in parsed.tree.body for line in inside(each)}
                    reported = {each.place.line for each in block.reports} & set(source.lines)
                    assert {source.lines.index(line) + 1 for line in reported} <= lines


def inside(statement: ast.stmt) -> range:
    """The lines of a definition."""
    body = getattr(statement, "body", None)
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1) if body else range(0)
