"""An attribute that `__init__` computes once, as code of the method that reads it: each call then has its own graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.tensor import Node
from gradpath.diagnostic import Fix, Safety
from gradpath.interpreter.trace import Site, Trace
from gradpath.rules import edits
from gradpath.rules.moving import first_line, removed
from gradpath.rules.report import Source
from gradpath.rules.syntax import Definition, ancestry, function_of, names_in, statement_of


def computed_where_read(trace: Trace, source: Source, node: Node) -> Iterator[Fix]:
    """`self.table = make(self.weight)` moves from `__init__` to the start of the only method that reads `self.table`.

    `node` is what is needed a second time.
    """
    for frame in node.site.frames() if isinstance(node.site, Site) else ():
        statement, function = statement_of(trace, frame.node), function_of(trace, frame.node)
        match statement:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=own), attr=name)]) if (
                function is not None and function.name == "__init__"
            ):
                yield from _moved(trace, source, frame, statement, function, own, name)
                return


def _moved(
    trace: Trace,
    source: Source,
    frame: Site,
    statement: ast.Assign,
    function: Definition,
    own: str,
    name: str,
) -> Iterator[Fix]:
    owner = next((each for each in reversed(ancestry(trace, function)[:-1]) if isinstance(each, ast.ClassDef)), None)
    if owner is None or names_in(statement.value) - {own} - _globals(trace, owner):
        return
    readers = [
        method
        for method in owner.body
        if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) and _reads(method, name)
    ]
    if len(readers) != 1 or readers[0] is function or not readers[0].args.args:
        return
    reader = readers[0]
    document = source.document(frame)
    begin = first_line(reader.body)
    gone, lines = removed(trace, document, statement), edits.lines_to_move(document, statement)
    if gone is None or lines is None or reader.args.args[0].arg != own or begin.lineno == reader.lineno:
        return
    new = edits.insert_before(document, begin, *lines)
    if new is not None:
        title = f"Compute `{own}.{name}` in `{reader.name}`: move line {statement.lineno} there"
        yield Fix(title, Safety.SAFE, (gone, new), preferred=True, rewrite=True)


def _reads(method: ast.AST, name: str) -> bool:
    return any(
        isinstance(each, ast.Attribute) and each.attr == name and isinstance(each.ctx, ast.Load)
        for each in ast.walk(method)
    )


def _globals(trace: Trace, owner: ast.ClassDef) -> set[str]:
    """What the module of a class defines: names that mean the same in all of its methods."""
    found: set[str] = set()
    for each in trace.visits:
        match each:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found |= {alias.asname or alias.name.partition(".")[0] for alias in names}
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
    return found - {owner.name}
