"""Neovim, as people use it: a faulty file is opened, marked, mended by its fix, saved, and runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.editors.documented import configurations, install
from tests.lsp.harness import ENVIRONMENT, REAL, SCRIPTED

HERE = Path(__file__).parent
PATIENCE = 60
"""Seconds for a whole visit of the editor."""


NEWER, OLDER = configurations("Neovim")
"""For 0.11 and newer, which has configurations of its own for servers, and for those before it."""


def mend(file: Path, command: tuple[str, ...], configuration: str = NEWER) -> dict[str, Any]:
    """Open a file, by its name alone, in a Neovim configured as the page says and have it mended; what Neovim saw."""
    neovim = shutil.which("nvim", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if neovim is None:
        pytest.skip("Neovim is not installed")
    places = {f"XDG_{name}_HOME": str(file.parent / ".nvim" / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    (init := file.parent / "init.lua").write_text(configuration)
    visit = subprocess.run(
        [neovim, "--clean", "--headless", "-l", str(HERE / "mend.lua"), file.name, str(init)],
        cwd=file.parent,
        env={**ENVIRONMENT, **places, "PATH": os.pathsep.join([install(file.parent, command), os.environ["PATH"]])},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert visit.returncode == 0, visit.stderr
    seen: dict[str, Any] = json.loads(visit.stdout)
    log = Path(seen["log"])
    assert not log.exists() or "stderr" not in log.read_text(), "the server wrote on standard error"
    return seen


def run(file: Path) -> subprocess.CompletedProcess[str]:
    """Run a script under PyTorch."""
    return subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=PATIENCE)


def test_a_fix_lies_right_behind_an_emoji(tmp_path: Path) -> None:
    file = tmp_path / "träin 1.py"
    file.write_bytes("CAUSE = 1\r\nx = '😀'; BAD\r\n".encode())
    seen = mend(file, SCRIPTED)
    assert seen["encoding"] == "utf-8"
    assert seen["underlined"] == ["BAD"]
    assert [(one["line"], one["code"], one["source"], one["related"]) for one in seen["seen"]] == [
        (2, "made-up", "gradpath", 2)
    ]
    assert file.read_bytes().decode() == "CAUSE = 1\r\nx = '😀'; GOOD\r\n"


TWO_FAULTS = """\
import torch
from torch import nn

cell, head = nn.GRUCell(4, 8), nn.Linear(8, 1)
loader = [(torch.rand(2, 4), torch.rand(2, 1)) for _ in range(5)]
state = torch.zeros(2, 8)
for inputs, targets in loader:
    state = cell(inputs, state)
    loss = ((head(state) - targets) ** 2).mean()
    loss.backward()
loss.backward()
"""


def test_a_fault_that_the_first_one_hides_takes_no_fix_away(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    file = tmp_path / "train.py"
    file.write_text(TWO_FAULTS)
    assert 'train.py", line 10' in run(file).stderr
    seen = mend(file, REAL)
    assert seen["seen"][0]["line"] == 10
    assert "Detach `state`" in seen["offered"][0]
    # What is offered, since it ends the error, is not called no way out; and that is no alternative either.
    kept = any("retain_graph=True" in title for title in seen["offered"])
    assert kept != ("not a way out: retain" in seen["hover"].replace("\\", ""))
    assert "or: not a way out" not in seen["hover"]
    assert "state = state.detach()" in file.read_text()
    assert 'train.py", line 12' in run(file).stderr  # The other fault, which is now the first.


@pytest.mark.parametrize("configuration", [NEWER, OLDER], ids=["newer", "older"])
def test_a_repeated_backward_is_mended(tmp_path: Path, configuration: str) -> None:
    pytest.importorskip("torch")
    file = tmp_path / "train.py"
    file.write_text(
        "import torch\nw = torch.randn(3, requires_grad=True)\nloss = (w * w).sum()\nloss.backward()\nloss.backward()\n"
    )
    (tmp_path / "pyproject.toml").touch()
    assert "backward through the graph a second time" in run(file).stderr
    seen = mend(file, REAL, configuration)
    assert seen["root"] == str(tmp_path)
    assert "PyTorch: RuntimeError: Trying to backward through the graph a second time" in seen["hover"]
    assert seen["underlined"] == ["loss.backward()"]
    assert [(one["line"], one["code"]) for one in seen["seen"]] == [(5, "double-backward")]
    mended = run(file)
    assert mended.returncode == 0, mended.stderr
