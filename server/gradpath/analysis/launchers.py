"""Uncalled functions that call training functions of other files, and show what those are passed."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from gradpath.analysis.entry_points import Entry, runs_backward
from gradpath.analysis.mentions import is_telling, mentions, parts_of
from gradpath.interpreter.modules import bound_by
from gradpath.names.files import Files
from gradpath.overlays.registry import is_overlaid
from gradpath.source.imports import aliases
from gradpath.source.index import inside
from gradpath.source.nodes import Definition

_Origin = tuple[str, str]
"""Where an imported name comes from: the module as the import writes it, and the name there."""

MOST = 3
"""Functions of a file that are entered for what they call elsewhere."""


def launchers(files: Files) -> Iterator[Entry]:
    """The functions and methods of the checked file that nothing in it calls, and that call what trains elsewhere."""
    tree = files.checked.tree
    imported = {name: origin for name, origin in _origins(tree.body) if not is_overlaid(origin[0])}
    if not imported:
        return
    spoken = [mentions(part) for statement in tree.body for part in parts_of(statement)]
    called = frozenset[str]().union(*(each.called for each in spoken), *(each.methods for each in spoken))
    elsewhere = {name for name in called & imported.keys() if _trains(files, imported[name], called)}
    leading = (each for each in _uncalled(tree, called) if mentions(each.function).names & elsewhere)
    if elsewhere:
        yield from islice(leading, MOST)


def _uncalled(tree: ast.Module, called: Collection[str]) -> Iterator[Entry]:
    for statement in tree.body:
        if isinstance(statement, Definition) and statement.name not in called:
            yield Entry(statement, None)
        elif isinstance(statement, ast.ClassDef):
            for each in statement.body:
                if isinstance(each, Definition) and each.name not in called and not each.name.startswith("__"):
                    yield Entry(each, statement.name)


def _trains(files: Files, origin: _Origin, called: Collection[str]) -> bool:
    """True if an import brings a function that trains, or a class with such a method which is `called`."""
    module, name = origin
    path = files.locate(module, files.checked.document.path)
    if path is None or not runs_backward(files.text(path)):
        return False
    parsed = files.parsed(path)
    if parsed is None:
        return False
    for each in _open(parsed.tree.body):
        if name not in bound_by(each):
            continue
        methods = each.body if isinstance(each, ast.ClassDef) else ()
        trains = [method for method in methods if isinstance(method, Definition) and method.name in called]
        if any(map(is_telling, (each, *trains) if isinstance(each, Definition) else trains)):
            return True
    return False


def _origins(body: Sequence[ast.stmt]) -> Iterator[tuple[str, _Origin]]:
    """The names that some statements import from modules, each with where it comes from."""
    for statement in body:
        if isinstance(statement, (ast.ImportFrom, ast.If, ast.Try)):
            for each in inside(statement, ast.ImportFrom):
                yield from ((name, (module, member)) for name, module, member in aliases(each) if name != "*")


def _open(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, (ast.If, ast.Try, ast.With)):
            handlers = [each for handler in getattr(statement, "handlers", ()) for each in handler.body]
            yield from _open([*statement.body, *getattr(statement, "orelse", ()), *handlers])
        else:
            yield statement
