"""The specification with which JupyterLab starts the server: the entry point of the group `jupyter_lsp_spec_v1`."""

from __future__ import annotations

import os
import sys
from typing import Any

from gradpath.support.isolation import PACKAGES


def specification(_manager: object) -> dict[str, dict[str, Any]]:
    """The server as jupyter-lsp describes servers (version 2 of its specification), under its name."""
    return {
        "gradpath": {
            "version": 2,
            # By its path: JupyterLab starts it in the folder of the notebooks, which may have a `gradpath` of its own.
            "argv": [sys.executable, os.path.join(PACKAGES, "gradpath", "__main__.py"), "server"],
            "languages": ["python"],
            "mime_types": ["text/x-python", "text/python", "text/x-ipython"],
            "display_name": "gradpath",
        }
    }
