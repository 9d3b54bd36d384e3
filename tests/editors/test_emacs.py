"""Emacs with eglot and with lsp-mode: a faulty script is marked, mended by the preferred fix, saved, and runs."""

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

CLIENTS = dict(zip(("eglot", "lsp_mode"), configurations("Emacs"), strict=True))

PROGRAM = """\
import torch
w = torch.randn(3, requires_grad=True)
loss = (w * w).sum()
loss.backward()
loss.backward()
"""


@pytest.mark.parametrize("client", CLIENTS)
def test_a_repeated_backward_is_mended(tmp_path: Path, client: str) -> None:
    if shutil.which("emacs") is None:
        pytest.skip("Emacs is not installed")
    pytest.importorskip("torch")
    file, configuration = tmp_path / "train.py", tmp_path / "init.el"
    file.write_text(PROGRAM)
    configuration.write_text(CLIENTS[client])
    path = os.pathsep.join([install(tmp_path, REAL), os.environ["PATH"]])
    visit = subprocess.run(
        ["emacs", "--batch", "-l", str(HERE / f"mend_{client}.el"), str(file), str(configuration)],
        env={**ENVIRONMENT, "HOME": str(tmp_path), "PATH": path},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    if "Cannot open load file" in visit.stderr:
        pytest.skip(f"Emacs has no {client}")
    assert visit.returncode == 0, visit.stderr
    seen = json.loads(visit.stdout)
    assert (seen["underlined"], seen["line"]) == ("loss.backward()", 5)
    assert "freed" in seen["text"]
    mended = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=PATIENCE)
    assert mended.returncode == 0, mended.stderr
