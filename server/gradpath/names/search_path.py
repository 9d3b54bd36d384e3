"""Folders that a program itself adds to `sys.path`, where its text says which."""

from __future__ import annotations

import ast
import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path

from gradpath.names.layout import upwards
from gradpath.source.document import Document
from gradpath.source.nodes import last_name, nodes
from gradpath.source.parse import Parsed

_ADDS = frozenset({"append", "insert", "extend", "addsitedir"})
_SAME = frozenset({"abspath", "realpath", "normpath", "expanduser", "resolve", "absolute", "as_posix"})


_SAYING = ("sys.path", "addsitedir")
"""The text on the line of every such addition."""


def added_folders(parsed: Parsed, file: Path, root: Path) -> tuple[Path, ...]:
    """The folders that the file's code adds, in order; `file` is its absolute path.

    A relative folder counts from that of the file, since scripts with such lines are run from there as a rule; then
    from each above it up to `root`, as the file may belong to a script there.
    """
    names = {
        statement.targets[0].id: statement.value
        for statement in parsed.tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    }
    lines = sorted(set(_saying(parsed.document)))
    added = [
        each for statement in _around(parsed.tree.body, lines) for node in nodes(statement) for each in _added(node)
    ]
    found: dict[Path, None] = {}
    for folder in upwards(file.parent, root) if added else ():
        for each in added:
            path = _Reader(file, folder, names).path(each)
            place = None if path is None else Path(os.path.normpath(folder / path))
            if place is not None and (folder == file.parent or place.is_relative_to(root)):
                found[place] = None
    return tuple(found)


def _saying(document: Document) -> Iterator[int]:
    """The lines on which something may be added."""
    text, starts = document.text, document.line_starts
    for each in _SAYING:
        at = text.find(each)
        while at >= 0:
            yield bisect_right(starts, at)
            at = text.find(each, at + 1)


def _around(body: Sequence[ast.stmt], lines: Sequence[int]) -> Iterator[ast.stmt]:
    """The statements that contain one of some lines; of definitions those inside."""
    for statement in body:
        if not any(statement.lineno <= line <= (statement.end_lineno or statement.lineno) for line in lines):
            continue
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from _around(statement.body, lines)
        else:
            yield statement


def _added(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions for what a node adds to the search path."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=[*_, last]) if name in _ADDS:
            if _is_search_path(owner) or name == "addsitedir":
                yield from last.elts if isinstance(last, (ast.List, ast.Tuple)) else [last]
        case ast.AugAssign(target=target, value=ast.List(elts=parts)) if _is_search_path(target):
            yield from parts
        case ast.Assign(targets=[target], value=ast.BinOp(left=left, right=right)) if _is_search_path(target):
            for side in (left, right):
                yield from side.elts if isinstance(side, ast.List) else ()


def _is_search_path(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "path" and _is_name(node.value, "sys")


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


class _Reader:
    """Works out expressions for paths: texts, `__file__`, `os.path` and `pathlib`, and variables of the top level.

    `current` is the folder in which the program runs.
    """

    def __init__(self, file: Path, current: Path, names: dict[str, ast.expr]) -> None:
        self._file = file
        self._current = current
        self._names = names
        self._steps = 50

    def path(self, node: ast.expr) -> str | None:
        """The path that an expression evaluates to; None where that is unknown."""
        self._steps -= 1
        if self._steps < 0:
            return None
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name(id="__file__"):
                return str(self._file)
            case ast.Name(id=name):
                value = self._names.get(name)
                return None if value is None else self.path(value)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._joined([left, right])
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                one, other = self.path(left), self.path(right)
                return None if one is None or other is None else one + other
            case ast.Attribute(value=value, attr="parent"):
                return self._parent(self.path(value), 1)
            case ast.Attribute(value=ast.Name(id="os"), attr="pardir" | "curdir" as name):
                return ".." if name == "pardir" else "."
            case ast.Subscript(value=ast.Attribute(value=value, attr="parents"), slice=ast.Constant(value=int(count))):
                return self._parent(self.path(value), count + 1)
            case ast.Call(func=function, args=arguments):
                return self._call(function, arguments)
        return None

    def _call(self, function: ast.expr, arguments: list[ast.expr]) -> str | None:
        name = last_name(function)
        match name, arguments:
            case "join" | "Path" | "PurePath", [_, *_]:
                return self._joined(arguments)
            case "joinpath", _ if isinstance(function, ast.Attribute):
                return self._joined([function.value, *arguments])
            case "dirname", [only]:
                return self._parent(self.path(only), 1)
            case "str" | "fspath", [only]:
                return self.path(only)
            case "getcwd" | "cwd", []:
                return str(self._current)
            case _, [only] if name in _SAME:
                return self._absolute(self.path(only))
            case _, [] if name in _SAME and isinstance(function, ast.Attribute):
                return self._absolute(self.path(function.value))
        return None

    def _joined(self, parts: list[ast.expr]) -> str | None:
        texts = [self.path(part) for part in parts]
        known = [text for text in texts if text is not None]
        return os.path.join(*known) if known and len(known) == len(texts) else None

    def _absolute(self, path: str | None) -> str | None:
        return None if path is None else os.path.normpath(self._current / os.path.expanduser(path))

    def _parent(self, path: str | None, count: int) -> str | None:
        for _ in range(count):
            path = None if path is None else os.path.dirname(path)
        return path
