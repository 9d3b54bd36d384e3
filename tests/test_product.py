"""What the installed program loads: never PyTorch, and for a check no editor machinery."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from gradpath.support import toml

SERVER = Path(__file__).parents[1] / "server"
TRAINING = """
import torch

model = torch.nn.Linear(2, 1)
loss = model(torch.randn(3, 2)).sum()
loss.backward()
"""


def run_python(code: str, *path: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*path, SERVER])), "PYTHONUTF8": "1"}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=folder, timeout=120
    )


@pytest.fixture
def poisoned(tmp_path: Path) -> Path:
    """A folder whose `torch` and `numpy` end the process that imports them."""
    folder = tmp_path / "poison"
    for name in ("torch", "numpy"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("import os\nos._exit(66)\n")
    return folder


def test_a_document_without_an_import_of_torch_is_analysed(tmp_path: Path) -> None:
    twice = "def train(model, x):\n    loss = model(x)\n    loss.backward()\n    loss.backward()\n"
    code = (
        "from gradpath.analysis.check import check\n"
        "from gradpath.source.document import Document\n"
        f"print([each.rule for each in check(Document('train.py', {twice!r})).diagnostics])\n"
    )
    assert "double-backward" in run_python(code, folder=tmp_path).stdout


def test_a_document_of_comments_alone_is_analysed(tmp_path: Path) -> None:
    code = (
        "from gradpath.analysis.check import check\n"
        "from gradpath.source.document import Document\n"
        "print(check(Document('train.py', '# import torch\\n')).diagnostics)\n"
    )
    assert run_python(code, folder=tmp_path).stdout == "()\n"


def test_the_poison_works(poisoned: Path, tmp_path: Path) -> None:
    assert run_python("import torch", poisoned, folder=tmp_path).returncode == 66


def test_no_module_of_gradpath_imports_torch(poisoned: Path, tmp_path: Path) -> None:
    code = (
        "import importlib, pkgutil, gradpath\n"
        "for module in pkgutil.walk_packages(gradpath.__path__, 'gradpath.'):\n"
        "    if module.name != 'gradpath.__main__':\n"
        "        importlib.import_module(module.name)\n"
        "print('all imported')\n"
    )
    result = run_python(code, poisoned, folder=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "all imported\n", "")


def test_a_check_runs_without_torch(poisoned: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    code = "import sys; from gradpath.cli import main; sys.exit(main(['check', 'train.py']))"
    result = run_python(code, poisoned, folder=tmp_path)
    assert result.returncode in (0, 1), result.stderr
    assert result.stderr == ""


LATE = (
    *("jedi", "parso", "pygls", "lsprotocol", "websockets", "tomli"),
    *("asyncio", "bz2", "configparser", "dataclasses", "datetime", "difflib", "hashlib", "importlib.resources"),
    *("inspect", "logging", "lzma", "multiprocessing", "pkgutil", "random", "shutil", "socket", "subprocess"),
    *("tempfile", "threading", "tokenize", "tomllib", "traceback", "zipfile"),
    *("gradpath.cli.baseline", "gradpath.cli.cache", "gradpath.cli.fix", "gradpath.cli.notebooks", "gradpath.features"),
    *(
        "gradpath.lsp",
        "gradpath.analysis.fix_validation",
        "gradpath.analysis.trials",
        "gradpath.names.finder",
        "gradpath.render.json",
        "gradpath.render.sarif",
    ),
)
"""What the check of files does without, because loading it takes longer than the check of a short one."""


def test_a_check_loads_little(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    (tmp_path / "faulty.py").write_text(f"{TRAINING}\nloss.backward()\n")
    code = (
        # What these need of the standard library differs from one Python to the next.
        "import argparse, ast, contextlib, enum, functools, json, pathlib, re, sys, typing\n"
        "argparse.ArgumentParser().add_argument('option')\n"
        "before = set(sys.modules)\n"
        "from gradpath.cli import main\n"
        "main(['check', '--quiet', 'train.py', 'faulty.py'])\n"
        f"print('loaded:', sorted(set({LATE}) & (set(sys.modules) - before)))\n"
    )
    result = run_python(code, folder=tmp_path)
    assert result.stdout.splitlines()[-1] == "loaded: []"


def test_a_check_without_options_loads_no_parser_of_them(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    code = "import sys\nfrom gradpath.cli import main\nmain(['check', 'train.py'])\nprint('argparse' in sys.modules)\n"
    assert run_python(code, folder=tmp_path).stdout.splitlines()[-1] == "False"


def test_a_server_loads_the_protocol_alone(tmp_path: Path) -> None:
    """The analysis has a process of its own: whatever happens there, the server goes on."""
    code = (
        "import sys\n"
        "import gradpath.lsp.handlers, gradpath.lsp.commands, gradpath.lsp.server, gradpath.lsp.transport\n"
        "print(sorted({'.'.join(each.split('.')[:2]) for each in sys.modules if each.startswith('gradpath.')}))\n"
    )
    loaded = set(json.loads(run_python(code, folder=tmp_path).stdout.replace("'", '"')))
    light = ("analyst", "diagnostic", "features", "lsp", "render", "repairs", "support")
    assert loaded == {f"gradpath.{part}" for part in light}


def test_everything_that_is_installed_with_it_may_be_passed_on_in_an_mit_package() -> None:
    project = toml.loads((SERVER.parent / "pyproject.toml").read_text())["project"]
    waiting = [re.match(r"[\w.-]+", each)[0] for each in project["dependencies"] if "python_version" not in each]  # type: ignore[index]
    licences: dict[str, str] = {}
    while waiting:
        name = waiting.pop()
        if name in licences:
            continue
        found = metadata.metadata(name)
        classifiers = [each for each in found.get_all("Classifier", []) if each.startswith("License ::")]
        licences[name] = found.get("License-Expression") or " ".join([found.get("License") or "", *classifiers])
        needed = metadata.requires(name) or []
        waiting += [re.match(r"[\w.-]+", each)[0] for each in needed if ";" not in each]  # type: ignore[index]
    assert {"pygls", "jedi", "cattrs"} <= set(licences)
    free = re.compile(r"\b(?:MIT|BSD|Apache|PSF|ISC)\b")
    assert {name: text for name, text in licences.items() if not free.search(text) or "GPL" in text} == {}
