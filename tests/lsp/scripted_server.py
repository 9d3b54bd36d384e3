"""The real server with a made-up analysis: see `scripted_analysis`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import gradpath.cli
import gradpath.lsp.server

ANALYSIS = (sys.executable, str(Path(__file__).with_name("scripted_analysis.py")))

if __name__ == "__main__":
    gradpath.lsp.server.main = partial(gradpath.lsp.server.main, analysis=ANALYSIS)  # type: ignore[assignment]
    sys.exit(gradpath.cli.main(["server", *sys.argv[1:]]))
