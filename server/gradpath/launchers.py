"""Functions that nobody calls and that call training functions of other files: they show what those are given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.entries import Definition, Entry, is_telling, runs_backward
from gradpath.names.files import Files
from gradpath.quiet import Origin, definitions, origins
from gradpath.source.nodes import nodes

MOST = 3
"""Functions of a file that are entered for what they call elsewhere."""


def launchers(files: Files) -> Iterator[Entry]:
    """The functions and methods of the checked file that nothing in it calls, and that call what trains elsewhere."""
    tree = files.checked.tree
    imported = {name: origin for name, origin in origins(tree.body) if name != "*"}
    if not imported:
        return
    calls = {each.func for each in nodes(tree) if isinstance(each, ast.Call)}
    called = {each.id if isinstance(each, ast.Name) else getattr(each, "attr", "") for each in calls}
    elsewhere = {name for name in called & imported.keys() if _trains(files, imported[name], called)}
    found = 0
    for entry in _uncalled(tree, called) if elsewhere else ():
        names = {each.id for each in nodes(entry.function) if isinstance(each, ast.Name)}
        if names & elsewhere:
            yield entry
            found += 1
        if found == MOST:
            return


def _uncalled(tree: ast.Module, called: set[str]) -> Iterator[Entry]:
    for statement in tree.body:
        if isinstance(statement, Definition) and statement.name not in called:
            yield Entry(statement, None)
        elif isinstance(statement, ast.ClassDef):
            for each in statement.body:
                if isinstance(each, Definition) and each.name not in called and not each.name.startswith("__"):
                    yield Entry(each, statement.name)


def _trains(files: Files, origin: Origin, called: set[str]) -> bool:
    """Whether an import brings a function that trains, or a class with such a method which is `called`."""
    module, name = origin
    path = files.locate(module, files.checked.document.path) if name else None
    if path is None or not runs_backward(files.text(path)):
        return False
    parsed = files.parsed(path)
    if parsed is None:
        return False
    for each in definitions(parsed.tree).get(name, ()):
        methods = each.body if isinstance(each, ast.ClassDef) else ()
        trains = [method for method in methods if isinstance(method, Definition) and method.name in called]
        if any(map(is_telling, (each, *trains) if isinstance(each, Definition) else trains)):
            return True
    return False
