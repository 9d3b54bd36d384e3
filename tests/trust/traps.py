"""A workspace full of traps: code that leaves a mark as soon as anybody executes it."""

from __future__ import annotations

import os
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.names.trees import write

PROGRAM = """\
import compiled
import mylib
import torch

w = torch.randn(3, requires_grad=True)
loss = w.exp().sum()
loss.backward()
loss.backward()
"""
TRACEBACK = """\
Traceback (most recent call last):
  File "/elsewhere/train.py", line 8, in <module>
    loss.backward()
RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they have \
already been freed).
"""

LOOKED_FOR = (
    "sitecustomize",
    "usercustomize",
    "conftest",
    "setup",
    "exceptiongroup",
    "tomli",
    "orjson",
    "gi",
    "pydantic",
)
"""Modules that Python, pytest, pip and libraries look for, installed or not."""

_KNOWN = {*sys.stdlib_module_names, *packages_distributions(), *LOOKED_FOR}
SHADOWS = sorted(name for name in _KNOWN - {"torch", "gradpath", "__main__"} if name.isidentifier())
"""Every name that gradpath or a library of its own might import; PyTorch it does not, and the program uses it."""


def trap(marks: Path, name: str) -> str:
    """Python that leaves a mark of some name."""
    return f"open({str(marks / name)!r}, 'w').close()\n"


def shell_trap(marks: Path, name: str) -> str:
    """A program that leaves a mark of some name."""
    return f"#!/bin/sh\n: > '{marks / name}'\n"


def workspace(root: Path, marks: Path, *, with_package: bool = True) -> Path:
    """Write the traps below `root`; without the package, nothing there is called `gradpath`."""
    marks.mkdir(exist_ok=True)
    site = f".venv/lib/python3.{sys.version_info.minor}/site-packages"
    hooks = ("hooked", "sitecustomize", "json", "mylib_hook")
    package = ("__init__", "__main__", "cli/__init__", "names/jedi_worker", "isolation")
    write(
        root,
        {
            "train.py": PROGRAM,
            "traceback.txt": TRACEBACK,
            "pyproject.toml": '[tool.gradpath]\npython = ".venv/bin/python"\n',
            "inner/gradpath.toml": 'python = "../evil/bin/python"\n',
            "inner/train.py": PROGRAM,
            ".jedi/project.json": '[1, {"environment_path": "evil", "load_unsafe_extensions": true}]',
            "traps.pth": "import hooked\n",
            **{f"{name}.py": trap(marks, name) for name in SHADOWS},
            **({f"gradpath/{name}.py": trap(marks, "gradpath") for name in package} if with_package else {}),
            **{f"{site}/{name}.py": trap(marks, f"installed {name}") for name in hooks},
            f"{site}/traps.pth": "import hooked\n",
            ".venv/pyvenv.cfg": "home = ../evil/bin\ninclude-system-site-packages = true\n",
            **{f".venv/bin/{name}": shell_trap(marks, "environment") for name in ("python", "python3", "gradpath")},
            **{f"evil/bin/{name}": shell_trap(marks, "configured") for name in ("python", "python3")},
        },
    )
    for program in (*root.glob(".venv/bin/*"), *root.glob("evil/bin/*")):
        program.chmod(0o755)
    return root


def fired(marks: Path) -> set[str]:
    """The names of the marks that have been left."""
    return set(os.listdir(marks))
