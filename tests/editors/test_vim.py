"""Vim with ALE, which sends neither `source` nor `data` back: marked, mended, saved, and the script runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.editors.documented import configurations, install
from tests.lsp.harness import ENVIRONMENT, REAL

HERE = Path(__file__).parent
PATIENCE = 90
"""Seconds for a whole visit of the editor."""

PROGRAM = """\
import torch
from torch import nn

cell = nn.GRUCell(4, 8)
state = torch.zeros(2, 8)
for _ in range(3):
    state = cell(torch.rand(2, 4), state)
    state.sum().backward()
"""


def test_a_carried_state_is_mended(tmp_path: Path) -> None:
    if shutil.which("vim") is None or not has_ale():
        pytest.skip("Vim with ALE is not installed")
    pytest.importorskip("torch")
    file, report = tmp_path / "train.py", tmp_path / "seen.json"
    file.write_text(PROGRAM)
    (configuration := tmp_path / "init.vim").write_text(*configurations("Vim with ALE"))
    environment = {
        **ENVIRONMENT,
        "PATH": os.pathsep.join([install(tmp_path, REAL), os.environ["PATH"]]),
        "FILE": str(file),
        "CONFIGURATION": str(configuration),
        "SEEN": str(report),
    }
    visit = subprocess.run(
        ["vim", "-Nu", str(HERE / "mend.vim"), "-es"],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert visit.returncode == 0, visit.stdout + visit.stderr
    seen = json.loads(report.read_text())
    assert (seen["line"], seen["code"]) == (8, "carried-graph")
    assert file.read_text() != PROGRAM
    mended = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=PATIENCE)
    assert mended.returncode == 0, mended.stderr


def has_ale() -> bool:
    """Whether Vim finds ALE among its packages."""
    asked = ["vim", "-Nu", "NONE", "-es", "-c", "packadd ale", "-c", "runtime plugin/ale.vim", "-c", "qall"]
    places = subprocess.run([*asked, "-V1"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    return "E919" not in places.stderr + places.stdout
