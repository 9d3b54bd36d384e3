"""Starts the language server: the bundled one, or the one of the environment where `--from-environment` asks for it."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

LIBS = str(Path(__file__).parent / "libs")


def main() -> None:
    """Run `gradpath server` with the arguments that are left."""
    arguments = sys.argv[1:]
    wanted = "--from-environment" in arguments
    if not wanted or importlib.util.find_spec("gradpath") is None:
        sys.path.insert(0, LIBS)
        # The server starts processes of its own, which need the same packages.
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [LIBS, os.environ.get("PYTHONPATH", "")]))
    from gradpath.cli import main as gradpath

    sys.argv = ["gradpath", "server", *(each for each in arguments if each != "--from-environment")]
    sys.exit(gradpath())


if __name__ == "__main__":
    main()
