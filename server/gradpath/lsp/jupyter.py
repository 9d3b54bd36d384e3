"""What JupyterLab needs to start the server: the entry point of the group `jupyter_lsp_spec_v1`."""

from __future__ import annotations

import sys
from typing import Any


def specification(_manager: object) -> dict[str, dict[str, Any]]:
    """The server as jupyter-lsp describes servers (version 2 of its specification), under its name."""
    return {
        "gradpath": {
            "version": 2,
            "argv": [sys.executable, "-m", "gradpath", "server"],
            "languages": ["python"],
            "mime_types": ["text/x-python", "text/python", "text/x-ipython"],
            "display_name": "gradpath",
        }
    }
