"""Starts the language server: the bundled one, or the one of the environment where `--from-environment` asks for it."""

from __future__ import annotations

import importlib.util
import os
import sys

LIBS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libs")


def main() -> None:
    """Run `gradpath server` with the arguments that are left."""
    arguments = sys.argv[1:]
    wanted = "--from-environment" in arguments
    if not wanted or importlib.util.find_spec("gradpath") is None:
        sys.path.insert(0, LIBS)
    from gradpath.__main__ import program

    sys.argv = ["gradpath", "server", *(each for each in arguments if each != "--from-environment")]
    program()


if __name__ == "__main__":
    main()
