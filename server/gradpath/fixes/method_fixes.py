"""An attribute that one method computes once, as code of the method that reads it: each use then has its own graph."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

from gradpath.autograd.tensor import Node
from gradpath.diagnostic import Fix, Safety
from gradpath.findings.report import Source
from gradpath.findings.syntax import Definition, ancestry, arguments_of, function_of, statement_of
from gradpath.fixes import edits
from gradpath.fixes.moving import first_line, removed
from gradpath.interpreter.trace import Site, Stepped, Trace
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document
from gradpath.source.index import names_in, stored_names


def computed_where_read(trace: Trace, source: Source, node: Node) -> Iterator[Fix]:
    """`self.table = make(self.weight)` moves to the only method that reads `self.table`.

    From `__init__` it moves to the start of that method, or else to where the method reads it, in a loop for instance.
    `node` is what is needed a second time.
    """
    for frame in node.site.frames():
        statement, function = statement_of(trace, frame.node), function_of(trace, frame.node)
        match statement:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=own), attr=name)]) if function is not None:
                yield from _moved(trace, source, frame, statement, function, own, name)
                return


def _moved(
    trace: Trace, source: Source, frame: Site, statement: ast.Assign, function: Definition, own: str, name: str
) -> Iterator[Fix]:
    owner = next((each for each in reversed(ancestry(trace, function)[:-1]) if isinstance(each, ast.ClassDef)), None)
    moving = _with_parts(function, statement)
    needed = set[str]().union(*(names_in(each) - stored_names(each) for each in moving))
    bound = set[str]().union(*(stored_names(each) for each in moving))
    if owner is None or needed - bound - {own} - _globals(trace, owner):
        return
    readers = [
        method
        for method in owner.body
        if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) and _reads(method, name)
    ]
    document = source.document(frame)
    if len(readers) != 1 or _is_used_outside(document, owner, name):
        return
    reader = readers[0]
    if bound & (arguments_of(reader) | names_in(reader) | stored_names(reader)):
        return
    begin, reading = first_line(reader.body), _reading_in_loop(reader, name)
    gone = [removed(trace, document, each) for each in moving]
    written = [edits.lines_to_move(document, each) for each in moving]
    lines = [line for each in written if each is not None for line in each]
    if None in written:
        return
    places = [begin] if function.name == "__init__" else []
    for place in [*places, *(each for each in [reading] if each is not None and each is not begin)]:
        new = edits.insert_before(document, place, *lines)
        near = None if place is begin else place.lineno
        way = Way.MOVE_TO_READER if near is None else Way.MOVE_TO_READING
        repair = Repair(way, (f"{own}.{name}",), tuple(each.lineno for each in moving), reader.name, near)
        # Several steps have used what was computed once: they would now use what the parameters have become.
        safety = Safety.UNSAFE if len(trace.of(Stepped)) > 1 else Safety.SAFE
        yield from Fix.of(repair, safety, *gone, new, rewrite=True)


def _with_parts(function: Definition, statement: ast.stmt) -> list[ast.stmt]:
    """A statement, and those before it in a body that compute in local variables what it alone reads, in order."""
    moving = [statement]
    for each in reversed(function.body[: function.body.index(statement)] if statement in function.body else []):
        match each:
            case ast.Assign(targets=[ast.Name(id=name)]):
                others = [other for other in function.body if other not in moving and other is not each]
                read = [other for other in others if name in names_in(other)]
                if any(name in names_in(other) for other in moving) and not read:
                    moving.insert(0, each)
    return moving


def _is_used_outside(document: Document, owner: ast.ClassDef, name: str) -> bool:
    """True if code outside of a class uses an attribute of that name, be it in a branch that the path did not take."""
    start, end = document.offset_of_line(owner.lineno), document.offset_of_line((owner.end_lineno or owner.lineno) + 1)
    used = re.compile(rf"\.\s*{re.escape(name)}\b")
    return used.search(document.text[:start]) is not None or used.search(document.text, end) is not None


def _reading_in_loop(method: Definition, name: str) -> ast.stmt | None:
    """The first simple statement of a method that reads an attribute, where it does so in a loop."""
    if not any(
        isinstance(each, (ast.For, ast.AsyncFor, ast.While)) and _reads(each, name) for each in ast.walk(method)
    ):
        return None
    simple = (each for each in ast.walk(method) if isinstance(each, ast.stmt) and not hasattr(each, "body"))
    return min((each for each in simple if _reads(each, name)), key=lambda each: each.lineno, default=None)


def _reads(code: ast.AST, name: str) -> bool:
    return any(
        isinstance(each, ast.Attribute) and each.attr == name and isinstance(each.ctx, ast.Load)
        for each in ast.walk(code)
    )


def _globals(trace: Trace, owner: ast.ClassDef) -> set[str]:
    """What the module of a class defines, and what Python does: names that mean the same in all of its methods."""
    found = set(dir(builtins))
    for each in trace.visits:
        match each:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found |= {alias.asname or alias.name.partition(".")[0] for alias in names}
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
    return found - {owner.name}
