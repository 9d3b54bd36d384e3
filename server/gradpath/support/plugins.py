"""Packages in which a module takes part by lying there: rules, and what the names of libraries mean."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from types import ModuleType


def modules_of(package: str, folder: str) -> Iterator[ModuleType]:
    """Import the modules of a package, whose folder is given, in the order of their names."""
    # Not by `pkgutil`, which loads `inspect` to find that out.
    names = sorted({file.partition(".")[0] for file in os.listdir(folder) if file.endswith((".py", ".pyc"))})
    for name in names:
        if name != "__init__":
            yield importlib.import_module(f"{package}.{name}")
