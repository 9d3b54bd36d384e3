"""Takes the pictures of `client-vscode/media` from the packaged extension: `python -m tests.editors.vscode.pictures`.

With a folder as its argument they go there, to be looked at first; a second one names a theme of colours, such as
"Default Dark Modern". Needs what the tests beside it need.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tests.editors.vscode.test_vscode import CARRIED, CLIENT, SETTINGS, VSIX, VSCode, install, serving


def main() -> None:
    """Show a faulty script and the same as a notebook to a fresh VS Code."""
    shots = Path(sys.argv[1] if len(sys.argv) > 1 else CLIENT / "media").absolute()
    bare = {
        "editor.minimap.enabled": False,
        "editor.scrollbar.horizontal": "hidden",
        "editor.scrollbar.vertical": "hidden",
    }
    settings = {**SETTINGS, **bare, "editor.hover.above": False}
    if len(sys.argv) > 2:
        settings["workbench.colorTheme"] = sys.argv[2]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workspace = folder / "workspace"
        workspace.mkdir()
        (workspace / "train.py").write_text(CARRIED)
        cells = [
            {"cell_type": "code", "metadata": {}, "outputs": [], "source": part} for part in CARRIED.split("\n\n", 2)
        ]
        (workspace / "train.ipynb").write_text(
            json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}})
        )
        (folder / "user" / "User").mkdir(parents=True)
        (folder / "user" / "User" / "settings.json").write_text(json.dumps(settings))
        install(VSIX, folder)
        with serving(folder, "--disable-workspace-trust") as address:
            VSCode(address, workspace, shots).visit("pictures.mjs")


if __name__ == "__main__":
    main()
