"""A framework is known by its overlay: nothing else has to name it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gradpath.analysis.check import check
from gradpath.overlays.registry import overlays
from gradpath.overlays.relevance import speaks_of_tensors
from gradpath.source.document import Document

PACKAGE = Path(__file__).parents[2] / "server" / "gradpath"

OVERLAY = """
from gradpath.interpreter.classes import OpenClass
from gradpath.interpreter.values import Arguments
from gradpath.overlays.frameworks import engines
from gradpath.overlays.registry import Caller


class LearnerClass(OpenClass, Caller):
    __slots__ = ()

    calls = frozenset({"loss_of"})

    def enter(self, machine, entered):
        loss = machine.call(entered.made, entered.arguments())
        engines.at_result(machine, entered.function, lambda: engines.back_propagate(machine, loss, Arguments()))


NAMES = {"madeup.Learner": LearnerClass(None)}
"""

PROGRAM = """\
from madeup import Learner


class Own(Learner):
    def loss_of(self, model, inputs):
        return model(**inputs).loss.detach()
"""


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the product, and with one more overlay in it."""
    folder = tmp_path_factory.mktemp("extended")
    shutil.copytree(PACKAGE, folder / "gradpath")
    (folder / "gradpath" / "overlays" / "frameworks" / "madeup.py").write_text(OVERLAY)
    return folder


def rules_found(folder: Path, text: str) -> str:
    """The rules that a copy of the product reports in a program."""
    code = (
        "from gradpath.analysis.check import check\n"
        "from gradpath.source.document import Document\n"
        f"print(*[each.rule for each in check(Document('own.py', {text!r})).diagnostics])\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=folder, timeout=120
    )
    assert result.stderr == ""
    return result.stdout.strip()


def test_a_file_of_a_framework_is_analysed_once_an_overlay_lies_there(extended: Path) -> None:
    assert rules_found(extended, PROGRAM) == "detached-loss"
    assert rules_found(PACKAGE.parent, PROGRAM) == ""


def test_a_method_that_a_framework_calls_is_entered_though_the_file_imports_no_library(
    extended: Path, tmp_path: Path
) -> None:
    (extended / "bases.py").write_text("from madeup import Learner\n\n\nclass Base(Learner):\n    pass\n")
    program = PROGRAM.replace("madeup import Learner", "bases import Base").replace("(Learner)", "(Base)")
    assert rules_found(extended, program) == "detached-loss"


def test_a_trainer_of_transformers_is_analysed_without_a_word_of_torch() -> None:
    text = (
        "from transformers import Trainer\n"
        "class T(Trainer):\n"
        "    def compute_loss(self, model, inputs, return_outputs=False):\n"
        "        outputs = model(**inputs)\n"
        "        return outputs.loss.detach()\n"
    )
    assert [each.rule for each in check(Document("t.py", text)).diagnostics] == ["detached-loss"]


@pytest.mark.parametrize(
    "text",
    [
        "from transformers import AutoModel\n",
        "    import ignite.engine as engines\n",
        "import numpy, deepspeed\n",
        "def fit(model, loader):\n    model(loader).backward()\n",
        "class Own(Base):\n    def training_step(self, batch):\n        return batch\n",
        "# Needs torch.\n",
        "class Net(nn.Module):\n    pass\n",
        "m = nn.Conv2d(1, 1, 2)\nm.weight[0] = 1\n",
        "model.encoder.layer[layer].dense.weight[:, at] -= change\n",
        "for each in model.layers:\n    each.requires_grad = False\n",
    ],
)
def test_a_text_that_uses_a_framework_is_worth_an_analysis(text: str) -> None:
    assert speaks_of_tensors(text)


@pytest.mark.parametrize(
    "text",
    [
        "import os, sys, functools, contextlib\n",
        "import numpy as np\nfrom tqdm import tqdm\nimport pytest\n",
        "from sklearn.pipeline import Pipeline\n\n# A pipeline of transformers that ignite nothing.\n",
        "def accelerate(car):\n    transformers = car.lightning\n",
        "import graphs\n\nmodel = graphs.read()\nmodel.edges[0].weight = 1\n",
    ],
)
def test_a_text_that_only_has_the_words_is_not(text: str) -> None:
    assert not speaks_of_tensors(text)


def test_a_name_has_one_meaning() -> None:
    names = [name for overlay in overlays() for name in getattr(overlay, "NAMES", {})]
    assert sorted(names) == sorted(set(names))
