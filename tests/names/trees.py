"""Projects for the tests: files by their paths."""

from __future__ import annotations

import os
import shutil
import subprocess
import venv
from collections.abc import Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from textwrap import dedent

import pytest

from gradpath.names.environment import environment_of

NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.h = torch.zeros(4)

    def forward(self, x):
        self.h = torch.tanh(self.inner(x) + self.h)
        return self.h
"""
HOOK = """\
import importlib.util, sys

open(__file__ + ".ran", "w").close()

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "mylib":
            return importlib.util.spec_from_file_location(name, {file!r}, submodule_search_locations=[{folder!r}])

sys.meta_path.insert(0, Finder())
"""


def write(root: Path, files: Mapping[str, str]) -> Path:
    """Write files below `root`, and give `root` back."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
    return root


def touch(root: Path, *names: str) -> Path:
    """Write empty files below `root`, and give `root` back."""
    return write(root, dict.fromkeys(names, ""))


def with_hooked_environment(folder: Path, program: str) -> Path:
    """A program whose environment finds the package `mylib`, which has the class `Net`, by an import hook alone."""
    library = write(folder / "elsewhere", {"mylib/__init__.py": "", "mylib/net.py": NET}) / "mylib"
    app = write(folder / "app", {"train.py": program})
    venv.create(app / ".venv", with_pip=False, symlinks=True)
    [site] = environment_of(app, None).sites
    hook = HOOK.format(file=str(library / "__init__.py"), folder=str(library))
    write(site, {"hook.pth": "import my_hook\n", "my_hook.py": hook})
    return app / "train.py"


def ran(program: Path) -> bool:
    """Whether that environment's hook has been executed since."""
    return any((program.parent / ".venv").rglob("*.ran"))


_MARKING = """\
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void loaded(void) {{ close(open({mark}, O_CREAT | O_WRONLY, 0600)); }}
"""


def compiled_module(folder: Path, name: str, mark: Path) -> Path:
    """A compiled module that makes the file `mark` as soon as it is loaded; skips the test without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None or os.name == "nt":
        pytest.skip("there is no C compiler")
    source = mark.with_suffix(".c")
    source.write_text(_MARKING.format(mark='"' + str(mark) + '"'))
    module = folder / f"{name}{EXTENSION_SUFFIXES[0]}"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", module, source], check=True)
    return module
