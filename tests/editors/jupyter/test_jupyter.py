"""JupyterLab with jupyterlab-lsp: gradpath registers itself, marks a cell, and takes the mark away when it is mended.

Needs the folder that `tests/editors/setup.sh` fills, named by `GRADPATH_EDITORS`.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editors.waiting import wait_for

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
EDITORS = Path(os.environ.get("GRADPATH_EDITORS", ""))
JUPYTER = EDITORS / "jupyter" / "bin"
PATIENCE = 240
"""Seconds for a whole visit."""

pytestmark = pytest.mark.skipif(
    not os.environ.get("GRADPATH_EDITORS") or not JUPYTER.is_dir(), reason="JupyterLab is not installed for the tests"
)

SETUP = "%matplotlib inline\nimport torch\nfrom torch import nn\ncell = nn.GRUCell(4, 8)\nstate = torch.zeros(2, 8)"
TRAINING = "for _ in range(3):\n    state = cell(torch.rand(2, 4), state)\n    state.sum().backward()"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Where a JupyterLab shows a faulty notebook."""
    subprocess.run([JUPYTER / "pip", "install", "--quiet", "--force-reinstall", "--no-deps", ROOT], check=True)
    cells = [
        {"cell_type": "code", "execution_count": None, "id": name, "metadata": {}, "outputs": [], "source": source}
        for name, source in (("setup", SETUP), ("training", TRAINING))
    ]
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    language = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"}
    metadata = {"kernelspec": kernel, "language_info": language}
    made = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "train.ipynb").write_text(json.dumps(made))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [
        f"--ServerApp.port={port}",
        "--ServerApp.token=",
        "--ServerApp.password=",
        "--no-browser",
        "--allow-root",
    ]
    homes = {name: str(tmp_path / name) for name in ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTERLAB_SETTINGS_DIR")}
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(
            [JUPYTER / "jupyter", "lab", *options], cwd=tmp_path, env={**os.environ, **homes}, stdout=log, stderr=log
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/api")
        yield f"http://127.0.0.1:{port}/lab/tree/train.ipynb?reset"
    finally:
        server.terminate()
        server.wait()


def test_a_cell_is_marked_until_it_is_mended(address: str, tmp_path: Path) -> None:
    shots = Path(os.environ.get("GRADPATH_SHOTS", tmp_path))
    environment = {
        **os.environ,
        "PATH": f"{EDITORS / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "EDITORS": str(EDITORS),
    }
    visit = subprocess.run(
        ["node", str(HERE / "notebook.mjs"), address, str(shots)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert visit.returncode == 0, f"{visit.stderr}\n(screenshots: {shots})"
    seen = json.loads(visit.stdout)
    assert seen["marked"] == "state.sum().backward()"
    assert "`state` carries the graph of the previous iteration" in seen["tip"]
    # No number, which would be that of a line in the one text that JupyterLab makes of the cells.
    assert "after the line `state.sum().backward()`" in seen["tip"]
    assert "gradpath: carried-graph" in seen["tip"]
