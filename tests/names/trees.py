"""Projects for the tests: files by their paths."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent


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
