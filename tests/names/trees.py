"""Projects for the tests: files by their paths."""

from __future__ import annotations

import venv
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

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
