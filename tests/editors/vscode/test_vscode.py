"""VS Code, as people use it: the packaged extension alone, in a real workbench, with no other extension installed.

Needs the folder that `tests/editors/setup.sh` fills, named by `GRADPATH_EDITORS`, and `client-vscode/gradpath.vsix`,
which `npm run package` makes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.editors.test_pythons import PYTHONS
from tests.editors.waiting import wait_for

HERE = Path(__file__).parent
CLIENT = HERE.parents[2] / "client-vscode"
SERVER = str(HERE.parents[2] / "server")
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
    "security.workspace.trust.startupPrompt": "never",
    "telemetry.telemetryLevel": "off",
    "terminal.integrated.gpuAcceleration": "off",
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

CODE_SERVER = str(EDITORS / "vscode" / "node_modules" / ".bin" / "code-server")
PLACES = ["--user-data-dir", "user", "--extensions-dir", "extensions", "--config", "config.yaml"]

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
    install(VSIX, folder)
    with serving(folder, "--disable-workspace-trust") as address:
        yield address, folder


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[str]:
    """The address of a code-server that has its settings and its extensions in a folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    quiet = ["--auth", "none", "--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"]
    with (folder / "log").open("wb") as log:
        command = [CODE_SERVER, *PLACES, *quiet, *options, "--bind-addr", f"127.0.0.1:{port}"]
        server = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=log, stderr=log)
    try:
        wait_for(f"http://127.0.0.1:{port}/healthz")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def install(extension: Path, folder: Path) -> None:
    """Install an extension into the folder of a code-server."""
    command = [CODE_SERVER, *PLACES, "--install-extension", str(extension)]
    subprocess.run(command, cwd=folder, env=ENVIRONMENT, check=True, capture_output=True)


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
    assert seen["fixes"][0] == "gradpath: Detach `state` after line 13: `state = state.detach()`"
    assert all("gradpath" in title for title in seen["fixes"])
    assert file.read_text() == CARRIED.replace("backward()\n", "backward()\n    state = state.detach()\n")
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
    assert seen["broken"] == 0  # The step that comes later overwrites what this backward has used.
    assert "Linear head · line 11" in seen["boxes"]
    assert seen["readable"] >= 0.75
    assert seen["whole"] < seen["larger"]
    assert seen["legend"] == "loss, or backwardparameteroperation"  # Nothing here is freed, overwritten or cut.
    assert seen["dragged"]
    assert seen["narrow"] == [0.75, True]
    assert seen["again"] == "Graph of loss"


def test_the_page_of_a_rule_is_rendered_and_a_story_is_nothing_to_save(vscode: VSCode) -> None:
    file = vscode.workspace / "train.py"
    file.write_text(CARRIED)
    (vscode.workspace / "error.txt").write_text(run(file).stderr)
    (vscode.workspace / "nothing.txt").write_text("ValueError: of something else\n")
    seen = vscode.visit("reading.mjs")
    assert "Level: error. Family: graph." in seen["rule"]
    assert "# raises:" not in seen["rule"]
    assert [name for name in seen["tabs"] if "explanation" in name] == ["explanation.txt"]
    assert not any("dirty" in name for name in seen["tabs"])
    assert "carries" in seen["told"]
    assert seen["links"] >= 2
    assert "there is no traceback of an autograd error here" in seen["none"]
    assert seen["more"] == []


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


def test_the_pictures_on_the_page_of_the_extension_are_there(vscode: VSCode) -> None:
    (vscode.workspace / "train.py").write_text(CARRIED)
    widths = vscode.visit("listing.mjs")["widths"]
    assert len(widths) == (CLIENT / "README.md").read_text().count("](media/")
    assert min(widths) > 300


def test_a_misspelt_rule_in_the_configuration_switches_nothing_off(vscode: VSCode) -> None:
    (vscode.workspace / "pyproject.toml").write_text('[tool.gradpath]\nselect = ["carried-graphs"]\n')
    (vscode.workspace / "train.py").write_text(CARRIED)
    assert "did you mean `carried-graph`" in vscode.visit("misspelt.mjs")["told"]


TOO_OLD = "#!/bin/sh\necho 3 9 18\n"
BROKEN = """\
#!/bin/sh
if [ "$1" = -c ]; then echo 3 11 4; else echo "ModuleNotFoundError: No module named 'absent'" >&2; exit 1; fi
"""


@pytest.mark.parametrize(
    ("program", "reason"), [(TOO_OLD, "Python 3.9.18 is older than 3.10"), (BROKEN, "No module named 'absent'")]
)
def test_a_python_that_cannot_run_the_server_is_named_with_the_reason(
    vscode: VSCode, program: str, reason: str
) -> None:
    """One message, and no others: a server that cannot start is not started again."""
    python = vscode.workspace / "my-python"
    python.write_text(program)
    python.chmod(0o755)
    (vscode.workspace / ".vscode").mkdir()
    (vscode.workspace / ".vscode" / "settings.json").write_text(json.dumps({"gradpath.interpreter": [str(python)]}))
    (vscode.workspace / "train.py").write_text(CARRIED)
    (told,) = vscode.visit("unfit.mjs")["told"]
    assert f"{python} (from the setting gradpath.interpreter)" in told
    assert reason in told


def test_a_notebook_is_marked_in_its_cell_and_mended_in_another(vscode: VSCode) -> None:
    setup, training = CARRIED.split("\nstate", 1)
    file = vscode.workspace / "train.ipynb"
    file.write_text(json.dumps(notebook(setup, "state" + training), indent=1))
    seen = vscode.visit("notebook.mjs")
    assert seen["fixes"][0].startswith("gradpath: Detach `state`")
    assert any("cell 1:4" in box for box in seen["boxes"])
    cells = ["".join(cell["source"]) for cell in json.loads(file.read_text())["cells"]]
    assert "    loss.backward()\n    state = state.detach()" in cells[1]
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
    repeated = "import torch\nw = torch.ones(3, requires_grad=True)\nloss = (w * w).sum()\n" + "loss.backward()\n" * 2
    for name in ("faulty.py", "known.py"):
        (vscode.workspace / name).write_text(repeated)
    write = [sys.executable, "-m", "gradpath", "check", "--baseline", "known.json", "--write-baseline", "known.py"]
    subprocess.run(write, cwd=vscode.workspace, env={**os.environ, "PYTHONPATH": SERVER}, check=True)
    command = ["node", str(HERE / "exthost.mjs"), vscode.address, str(vscode.workspace), str(CLIENT)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_a_check_of_the_workspace_found_stays_while_one_looks_at_it(vscode: VSCode) -> None:
    for name in ("one", "two", "three"):
        (vscode.workspace / f"{name}.py").write_text(CARRIED)
    (vscode.workspace / "right.py").write_text(CARRIED.replace("(inputs, state)", "(inputs, state.detach())"))
    seen = vscode.visit("workspace.mjs")
    assert (seen["open"], seen["after"]) == (0, 3)


def test_an_error_in_the_terminal_or_below_a_cell_leads_to_its_story(vscode: VSCode) -> None:
    file = vscode.workspace / "train.py"
    file.write_text(CARRIED)
    told = run(file).stderr
    assert "backward through the graph a second time" in told
    (vscode.workspace / "error.txt").write_text(told)
    raised = notebook(CARRIED)
    message = told.strip().splitlines()[-1].partition(": ")[2]
    output = {"output_type": "error", "ename": "RuntimeError", "evalue": message, "traceback": told.splitlines()}
    raised["cells"][0]["outputs"] = [output]
    (vscode.workspace / "raised.ipynb").write_text(json.dumps(raised))
    vscode.visit("traces.mjs")


def test_the_rules_are_completed_where_a_comment_silences_one(vscode: VSCode) -> None:
    file = vscode.workspace / "train.py"
    file.write_text(CARRIED)
    vscode.visit("completing.mjs")
    assert file.read_text() == CARRIED.rstrip("\n") + "  # gradpath: ignore[carried-graph]\n"


def test_in_a_restricted_workspace_nothing_of_it_runs(installed: tuple[str, Path], tmp_path: Path) -> None:
    """Modules of the workspace that bear the names of modules of Python would run if its folder were on the path."""
    _, shared = installed
    workspace, shots = tmp_path / "workspace", Path(os.environ.get("GRADPATH_SHOTS", tmp_path))
    workspace.mkdir()
    for name in ("json", "random", "types", "asyncio", "gradpath", "sitecustomize"):
        (workspace / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r})\n")
    file = tmp_path / "train.py"
    file.write_text(CARRIED)
    (workspace / "error.txt").write_text(run(file).stderr.replace(str(tmp_path), str(workspace)))
    file.rename(workspace / "train.py")
    settings = shared / "user" / "User" / "settings.json"
    settings.write_text(json.dumps({**SETTINGS, "security.workspace.trust.enabled": True}))
    try:
        with serving(shared) as address:
            VSCode(address, workspace, shots).visit("restricted.mjs")
    finally:
        settings.write_text(json.dumps(SETTINGS))
    assert not (tmp_path / "ran").exists()


MANIFEST = """\
<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
<Metadata><Identity Language="en-US" Id="python" Version="2026.1.0" Publisher="ms-python" />
<DisplayName>Python</DisplayName></Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
<Assets><Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true" /></Assets>
</PackageManifest>
"""
PYTHON_EXTENSION = """\
const { Uri } = require("vscode");
const path = { id: "chosen", path: PROGRAM };
exports.activate = () => ({ environments: {
  getActiveEnvironmentPath: () => path,
  resolveEnvironment: async () => ({ ...path, executable: { uri: Uri.file(PROGRAM) } }),
  onDidChangeActiveEnvironmentPath: () => ({ dispose() {} }),
} });
"""


def test_the_python_that_the_python_extension_has_chosen_runs_the_server(
    installed: tuple[str, Path], tmp_path: Path
) -> None:
    """Microsoft's extension comes from the Marketplace alone: one that answers what it is asked stands for it here.

    The oldest Python that is here was chosen: whichever has built the bundle, it is to run there.
    """
    _, shared = installed
    python = PYTHONS[min(PYTHONS, key=lambda version: int(version.partition(".")[2]))]
    folder, workspace = tmp_path / "vscode", tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "train.py").write_text(CARRIED)
    shutil.copytree(shared, folder, ignore=shutil.ignore_patterns("log", "logs", "*.sock"))
    manifest = {
        "name": "python",
        "publisher": "ms-python",
        "version": "2026.1.0",
        "engines": {"vscode": "^1.91.0"},
        "main": "./main.js",
        "activationEvents": ["onLanguage:python"],
    }
    packed = tmp_path / "python.vsix"
    with zipfile.ZipFile(VSIX) as package, zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("[Content_Types].xml", package.read("[Content_Types].xml"))
        archive.writestr("extension.vsixmanifest", MANIFEST)
        archive.writestr("extension/package.json", json.dumps(manifest))
        archive.writestr("extension/main.js", PYTHON_EXTENSION.replace("PROGRAM", json.dumps(python)))
    install(packed, folder)
    with serving(folder, "--disable-workspace-trust") as address:
        seen = VSCode(address, workspace, tmp_path).visit("chosen.mjs")
    output = "".join(seen["output"].split())  # The panel breaks a long line wherever it ends.
    assert f"server:{python}(fromthePythonextension)" in output
