"""Isolation: the folder that gradpath is started in is kept out of what Python imports, since its code is not trusted.

Python looks for modules in the current folder after `python -m` and `python -c`, and wherever `PYTHONPATH` has an
empty or a relative entry. Nothing is imported here that Python has not loaded by itself before.
"""

import os
import sys

PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
"""The folder that holds this package."""


def leave_current_folder() -> None:
    """Take the current folder, and relative folders of `PYTHONPATH`, off `sys.path`, unless this package is there."""
    if sys.path and _absolute(sys.path[0]) == _absolute(os.curdir):
        del sys.path[0]
    listed = os.environ.get("PYTHONPATH", "")
    relative = {each for each in listed.split(os.pathsep) if not os.path.isabs(each)} if listed else set()
    gone = {"", *relative, *map(_absolute, relative)}
    sys.path[:] = [each for each in sys.path if each not in gone or each == PACKAGES]
    if PACKAGES not in sys.path:
        sys.path.insert(0, PACKAGES)


def isolated(script: str) -> tuple[str, ...]:
    """The command of a process that runs a script of this package and imports from where this process does.

    That process takes nothing from the environment, executes no `.pth` file, and looks into no folder but those of the
    standard library and those that follow the script as arguments: the script has to add them to its `sys.path`.
    """
    folders = [each for each in sys.path if os.path.isabs(each)]
    return (sys.executable, "-I", "-S", script, *dict.fromkeys([PACKAGES, *folders]))


def _absolute(folder: str) -> str:
    try:
        return os.path.abspath(folder)
    except OSError:  # The current folder has been removed.
        return folder
