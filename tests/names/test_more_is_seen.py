"""Whoever sees more finds no less: a program whose classes are hidden, in files beside it, or in a library."""

from __future__ import annotations

import ast
import builtins
from pathlib import Path

import pytest

from gradpath.analysis.check import check
from gradpath.source.document import Document

CASES = Path(__file__).parents[1] / "cases" / "corpus"
FAULTY = sorted(CASES.glob("*_faulty.py"))[::4]


def parted(text: str) -> tuple[str, str]:
    """A program without the classes that need nothing else of it, line by line, and a module with them."""
    tree = ast.parse(text)
    lines = text.splitlines()
    imports = [each for each in tree.body if isinstance(each, (ast.Import, ast.ImportFrom))]
    known = {(alias.asname or alias.name).partition(".")[0] for each in imports for alias in each.names}
    known |= set(dir(builtins))
    parts = [ast.get_source_segment(text, each) or "" for each in imports]
    for each in tree.body:
        if isinstance(each, ast.ClassDef) and not each.decorator_list and _free(each) <= known:
            known.add(each.name)
            parts.append("\n".join(lines[each.lineno - 1 : each.end_lineno]))
            lines[each.lineno - 1] = f"from parts import {each.name}"
            lines[each.lineno : each.end_lineno] = [""] * ((each.end_lineno or 0) - each.lineno)
    return "\n".join(lines) + "\n", "\n".join(parts) + "\n"


def _free(node: ast.ClassDef) -> set[str]:
    names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
    bound = {each.id for each in names if not isinstance(each.ctx, ast.Load)}
    bound |= {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    return {each.id for each in names} - bound - {node.name}


def found(path: Path, text: str) -> set[tuple[str, str]]:
    """The rules that report something of a program and of its parts, each with the text of its line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    files = [each for each in (path, path.with_name("parts.py")) if each.exists()]
    reported = [each for file in files for each in check(Document(str(file), file.read_text())).diagnostics]
    return {
        (each.rule, Path(each.path).read_text().splitlines()[each.range.start.line - 1].strip()) for each in reported
    }


@pytest.mark.parametrize("program", FAULTY, ids=lambda path: path.stem)
def test_classes_in_another_file_hide_nothing(program: Path, tmp_path: Path) -> None:
    whole = found(tmp_path / "whole" / "train.py", program.read_text())
    text, parts = parted(program.read_text())
    for folder in ("beside", "package"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "parts.py").write_text(parts)
    (tmp_path / "package" / "__init__.py").write_text("from .parts import *\n")
    assert whole <= found(tmp_path / "beside" / "train.py", text)
    assert whole <= found(tmp_path / "package" / "train.py", text.replace("from parts", "from .parts"))


@pytest.mark.parametrize("program", FAULTY[::3], ids=lambda path: path.stem)
def test_a_library_that_is_installed_takes_nothing_away(program: Path, tmp_path: Path) -> None:
    text, parts = parted(program.read_text())
    unseen = found(tmp_path / "unseen" / "train.py", text)
    site = tmp_path / "app" / ".venv" / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (site / "parts.py").write_text(parts)
    (site.parents[2] / "pyvenv.cfg").touch()
    (tmp_path / "app" / "pyproject.toml").touch()
    assert unseen <= found(tmp_path / "app" / "train.py", text)
