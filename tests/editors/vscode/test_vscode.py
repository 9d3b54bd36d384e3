"""VS Code, as people use it: the packaged extension alone, in a real workbench, with no other extension installed.

Needs the folder that `tests/editors/setup.sh` fills, named by `GRADPATH_EDITORS`, and `client-vscode/gradpath.vsix`,
which `npm run package` makes.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.editors.waiting import wait_for

HERE = Path(__file__).parent
CLIENT = HERE.parents[2] / "client-vscode"
EDITORS = Path(os.environ.get("GRADPATH_EDITORS", ""))
VSIX = CLIENT / "gradpath.vsix"
PATIENCE = 180
"""Seconds for a whole visit."""

pytestmark = [
    pytest.mark.skipif(
        not os.environ.get("GRADPATH_EDITORS"), reason="GRADPATH_EDITORS does not name VS Code's folder"
    ),
    pytest.mark.skipif(not VSIX.is_file(), reason="the extension is not packaged"),
    pytest.mark.xdist_group("vscode"),
]

SETTINGS = {
    "chat.disableAIFeatures": True,
    "extensions.autoCheckUpdates": False,
    "extensions.autoUpdate": False,
    "extensions.ignoreRecommendations": True,
    "files.autoSave": "off",
    "git.enabled": False,
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "workbench.enableExperiments": False,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
}
NOWHERE = "http://127.0.0.1:9/none"
GALLERY = {"serviceUrl": NOWHERE, "itemUrl": NOWHERE, "resourceUrlTemplate": NOWHERE}
ENVIRONMENT = {
    **os.environ,
    "PATH": f"{EDITORS / 'bin'}{os.pathsep}{os.environ['PATH']}",
    "EDITORS": str(EDITORS),
    "EXTENSIONS_GALLERY": json.dumps(GALLERY),
}

CARRIED = """\
import torch
from torch import nn

cell = nn.GRUCell(4, 8)
head = nn.Linear(8, 1)
loader = [(torch.rand(2, 4), torch.rand(2, 1)) for _ in range(5)]

state = torch.zeros(2, 8)
for inputs, targets in loader:
    state = cell(inputs, state)
    loss = ((head(state) - targets) ** 2).mean()

    loss.backward()
"""


@dataclass(frozen=True)
class VSCode:
    """A running VS Code: where it listens, the folder that it shows, and where screenshots go."""

    address: str
    workspace: Path
    shots: Path

    def visit(self, script: str) -> Any:
        """What a script of this folder saw."""
        command = ["node", str(HERE / script), self.address, str(self.workspace), str(self.shots)]
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, f"{done.stderr}\n(screenshots: {self.shots})"
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a code-server that has the extension and nothing else, and its folder."""
    folder = tmp_path_factory.mktemp("vscode")
    (folder / "user" / "User").mkdir(parents=True)
    (folder / "user" / "User" / "settings.json").write_text(json.dumps(SETTINGS))
    program = str(EDITORS / "vscode" / "node_modules" / ".bin" / "code-server")
    places = ["--user-data-dir", "user", "--extensions-dir", "extensions", "--config", "config.yaml"]
    subprocess.run(
        [program, *places, "--install-extension", str(VSIX)],
        cwd=folder,
        env=ENVIRONMENT,
        check=True,
        capture_output=True,
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    quiet = ["--auth", "none", "--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"]
    with (folder / "log").open("wb") as log:
        command = [program, *places, *quiet, "--disable-workspace-trust", "--bind-addr", f"127.0.0.1:{port}"]
        server = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=log, stderr=log)
    try:
        wait_for(f"http://127.0.0.1:{port}/healthz")
        yield f"http://127.0.0.1:{port}", folder
    finally:
        server.terminate()
        server.wait()


@pytest.fixture
def vscode(installed: tuple[str, Path], tmp_path: Path) -> VSCode:
    address, _ = installed
    workspace, shots = tmp_path / "workspace", Path(os.environ.get("GRADPATH_SHOTS", tmp_path / "shots"))
    workspace.mkdir()
    shots.mkdir(exist_ok=True)
    return VSCode(address, workspace, shots)


def run(file: Path) -> subprocess.CompletedProcess[str]:
    """Run a script under PyTorch."""
    return subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=120)


def test_a_script_is_marked_and_mended_by_the_keyboard(vscode: VSCode) -> None:
    file = vscode.workspace / "train.py"
    file.write_text(CARRIED)
    assert "backward through the graph a second time" in run(file).stderr
    seen = vscode.visit("file.mjs")
    assert "`state` carries the graph of the previous iteration" in seen["problems"][1]
    assert any("frees its graph" in row for row in seen["problems"])
    assert "carries the graph of the previous iteration" in seen["hover"]
    assert "PyTorch: RuntimeError: Trying to backward through the graph a second time" in seen["hover"]
    assert "help: start each iteration from the value alone" in seen["hover"]
    assert seen["fixes"][0] == "Detach `state` before line 10: `state = state.detach()`"
    assert file.read_text() == CARRIED.replace("    state = cell", "    state = state.detach()\n    state = cell")
    mended = run(file)
    assert mended.returncode == 0, mended.stderr


def test_the_panel_shows_the_graph_of_the_loss_and_a_click_leads_to_its_line(vscode: VSCode) -> None:
    (vscode.workspace / "train.py").write_text(CARRIED)
    seen = vscode.visit("graph.mjs")
    assert seen["boxes"][0].startswith("loss")
    (freed,) = [box for box in seen["boxes"] if "freed by the backward on line 13" in box]
    assert "an earlier iteration" in freed


DEEP = """\
import torch
from torch import nn

blocks = nn.ModuleList([nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1), nn.BatchNorm2d(8), nn.ReLU()) for _ in range(9)])
head = nn.Linear(8, 2)
optimizer = torch.optim.SGD([*blocks.parameters(), *head.parameters()], lr=0.1)
x = torch.rand(2, 8, 6, 6)
for block in blocks:
    x = x + block(x)

loss = head(x.mean((2, 3))).square().mean()

loss.backward()
optimizer.step()
"""


def test_the_graph_of_a_deep_network_can_be_read_moved_and_comes_back(vscode: VSCode) -> None:
    (vscode.workspace / "deep.py").write_text(DEEP)
    assert run(vscode.workspace / "deep.py").returncode == 0
    seen = vscode.visit("panel.mjs")
    assert seen["readable"] >= 0.5
    assert seen["whole"] < seen["larger"]
    assert "freed or overwritten" in seen["legend"]
    assert seen["dragged"]
    assert seen["again"] == "Graph of loss"


def test_the_page_of_a_rule_is_rendered_and_a_story_is_nothing_to_save(vscode: VSCode) -> None:
    file = vscode.workspace / "train.py"
    file.write_text(CARRIED)
    (vscode.workspace / "error.txt").write_text(run(file).stderr)
    seen = vscode.visit("reading.mjs")
    assert "Level: error. Family: graph." in seen["rule"]
    assert "# raises:" not in seen["rule"]
    assert [name for name in seen["tabs"] if "explanation" in name] == ["explanation.txt"]
    assert not any("dirty" in name for name in seen["tabs"])
    assert "carries" in seen["told"]
    assert seen["links"] >= 2


BUILDING = """\
from torch import nn


def network():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
"""
IMPORTING = """\
import torch
from building import network

net = network()
x, y = torch.rand(8, 4), torch.rand(8, 1)
out = net(x)
fit = ((out - y) ** 2).mean()
size = out.abs().mean()
fit.backward()
size.backward()
"""


@pytest.fixture
def in_the_browser(installed: tuple[str, Path]) -> Iterator[None]:
    """Extensions run in a worker of the page, as on a host that has nothing but the page."""
    file = installed[1] / "user" / "User" / "settings.json"
    file.write_text(json.dumps({**SETTINGS, "remote.extensionKind": {"gradpath.gradpath": ["web"]}}))
    yield
    file.write_text(json.dumps(SETTINGS))


@pytest.mark.usefixtures("in_the_browser")
def test_in_a_browser_without_processes_the_server_is_python_in_a_worker(vscode: VSCode) -> None:
    (vscode.workspace / "building.py").write_text(BUILDING)
    file = vscode.workspace / "train.py"
    file.write_text(IMPORTING)
    assert "backward through the graph a second time" in run(file).stderr
    seen = vscode.visit("web.mjs")
    assert any("already freed it" in row for row in seen["problems"])
    assert seen["fixes"]
    mended = run(file)
    assert mended.returncode == 0, mended.stderr


def test_the_package_says_whose_software_is_in_it() -> None:
    with zipfile.ZipFile(VSIX) as package:
        names = package.namelist()
        notices = package.read("extension/ThirdPartyNotices.txt").decode()
    libraries = {
        name.split("/")[3].partition("-")[0]
        for name in names
        if re.match(r"extension/bundled/libs/[^/]+\.dist-info/METADATA", name)
    }
    assert {"jedi", "pygls", "exceptiongroup", "tomli"} <= libraries
    for name in [*(libraries - {"gradpath"}), "vscode-languageclient", "vscode-jsonrpc", "minimatch", "semver"]:
        assert re.search(rf"^{re.escape(name).replace('_', '[-_]')} \d.* \(.+\)$", notices, re.MULTILINE), name
    assert "GNU GENERAL PUBLIC LICENSE" not in notices


def test_a_notebook_is_marked_in_its_cell_and_mended_in_another(vscode: VSCode) -> None:
    setup, training = CARRIED.split("\nstate", 1)
    file = vscode.workspace / "train.ipynb"
    file.write_text(json.dumps(notebook(setup, "state" + training), indent=1))
    seen = vscode.visit("notebook.mjs")
    assert seen["fixes"][0].startswith("Detach `state`")
    assert any("cell 1:4" in box for box in seen["boxes"])
    cells = ["".join(cell["source"]) for cell in json.loads(file.read_text())["cells"]]
    assert "    state = state.detach()\n    state = cell" in cells[1]
    script = vscode.workspace / "cells.py"
    script.write_text("\n".join(cells))
    mended = run(script)
    assert mended.returncode == 0, mended.stderr


def notebook(*sources: str) -> dict[str, Any]:
    """A notebook with a code cell for each source."""
    cells = [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": f"cell-{number}",
            "metadata": {},
            "outputs": [],
            "source": text,
        }
        for number, text in enumerate(sources)
    ]
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def test_the_extension_in_its_host(vscode: VSCode) -> None:
    """Activation, settings, restart and a missing Python; the steps are in `client-vscode/test`."""
    command = ["node", str(HERE / "exthost.mjs"), vscode.address, str(vscode.workspace), str(CLIENT)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
