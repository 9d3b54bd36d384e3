"""Emacs with eglot: a faulty script is marked, mended by the preferred fix, saved, and runs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lsp.harness import ENVIRONMENT, REAL

HERE = Path(__file__).parent
PATIENCE = 90
"""Seconds for a whole visit of the editor."""

PROGRAM = """\
import torch
w = torch.randn(3, requires_grad=True)
loss = (w * w).sum()
loss.backward()
loss.backward()
"""


def test_a_repeated_backward_is_mended(tmp_path: Path) -> None:
    if shutil.which("emacs") is None:
        pytest.skip("Emacs is not installed")
    pytest.importorskip("torch")
    file = tmp_path / "train.py"
    file.write_text(PROGRAM)
    visit = subprocess.run(
        ["emacs", "--batch", "-l", str(HERE / "mend.el"), str(file), *REAL],
        env={**ENVIRONMENT, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    if "Cannot open load file" in visit.stderr:
        pytest.skip("Emacs has no eglot")
    assert visit.returncode == 0, visit.stderr
    seen = json.loads(visit.stdout)
    assert (seen["underlined"], seen["line"]) == ("loss.backward()", 5)
    assert "double-backward" in seen["text"] or "freed" in seen["text"]
    mended = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=PATIENCE)
    assert mended.returncode == 0, mended.stderr
