"""The surroundings of a node: the statement around it, the block, the `with`s and the function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import takewhile
from operator import is_not
from typing import cast

from gradpath.interpreter.events import Site
from gradpath.interpreter.trace import Trace, once
from gradpath.source.index import head_of, index_of, lines_of, names_in, names_of, outermost, stored_names, variables
from gradpath.source.nodes import Definition as Definition

With = ast.With | ast.AsyncWith
LOOPS = (ast.For, ast.While)
Compound = ast.For | ast.AsyncFor | ast.While | ast.If | ast.With | ast.AsyncWith | ast.Try | ast.ClassDef | Definition


def ancestry(trace: Trace, node: ast.AST) -> tuple[ast.AST, ...]:
    """The nodes from an outermost statement that ran down to `node`, both included; empty where it is not found."""
    first, _ = lines_of(node)
    for root, start, end in _roots(trace).get(first // _STRETCH, ()):
        found = index_of(root).way_to(node) if start <= first <= end else ()
        if found:
            return found
    return ()


@once
def _roots(trace: Trace) -> dict[int, list[tuple[ast.stmt, int, int]]]:
    """The outermost statements that ran, with their lines, by stretches of lines: other files have the same lines."""
    found: dict[int, list[tuple[ast.stmt, int, int]]] = {}
    for each in outermost(trace.visits):
        start, end = lines_of(each)
        for stretch in range(start // _STRETCH, end // _STRETCH + 1):
            found.setdefault(stretch, []).append((each, start, end))
    return found


_STRETCH = 32
"""Lines that are looked up together."""


def statement_of(trace: Trace, node: ast.AST) -> ast.stmt:
    """The innermost statement that holds `node`; what is in none that ran counts as a statement of its own."""
    for each in (*reversed(ancestry(trace, node)), node):
        if isinstance(each, ast.stmt):
            return each
    return ast.copy_location(ast.Expr(cast("ast.expr", node)), node)


def function_of(trace: Trace, node: ast.AST) -> Definition | None:
    """The innermost `def` around `node`."""
    for each in reversed(ancestry(trace, node)[:-1]):
        if isinstance(each, Definition):
            return each
    return None


def class_of(trace: Trace, node: ast.AST) -> ast.ClassDef | None:
    """The outermost class around a node."""
    return next((each for each in ancestry(trace, node) if isinstance(each, ast.ClassDef)), None)


def method_of(trace: Trace, node: ast.AST) -> tuple[ast.ClassDef | None, str]:
    """The class and the name of the method that a node is in, in the body itself; None and "" where it is in none."""
    match [each for each in ancestry(trace, node) if isinstance(each, ast.FunctionDef | ast.ClassDef)]:
        case [*_, ast.ClassDef() as owner, ast.FunctionDef(name=name)]:
            return owner, name
    return None, ""


def has_method(owner: ast.ClassDef, name: str) -> bool:
    """True if a class defines a method of that name itself."""
    return any(isinstance(each, ast.FunctionDef) and each.name == name for each in owner.body)


def withs_around(trace: Trace, node: ast.AST) -> Iterator[With]:
    """The `with` statements around `node` in its own function, innermost first."""
    for each in reversed(ancestry(trace, node)[:-1]):
        if isinstance(each, (Definition, ast.Lambda, ast.ClassDef)):
            return
        if isinstance(each, With):
            yield each


def block_of(trace: Trace, statement: ast.stmt) -> list[ast.stmt]:
    """The list of statements that `statement` is one of; it alone where that is not known."""
    around = ancestry(trace, statement)
    parents = [*([trace.entry] if isinstance(trace.entry, ast.Module) else []), *around[:-1]]
    for parent in reversed(parents):
        for field in ("body", "orelse", "finalbody", "handlers"):
            block = getattr(parent, field, None)
            if isinstance(block, list) and statement in block:
                return block
    return [statement]


def call_of(trace: Trace, node: ast.AST) -> ast.Call | None:
    """The call that `node` is, or whose function it is (`loss.backward` of `loss.backward()`)."""
    if isinstance(node, ast.Expr):
        node = node.value
    if isinstance(node, ast.Call):
        return node
    around = ancestry(trace, node)
    parent = around[-2] if len(around) > 1 else None
    return parent if isinstance(parent, ast.Call) and parent.func is node else None


def assigned_to(statement: ast.AST | None) -> str:
    """The only variable or attribute that a statement assigns to, as written; empty where there is none."""
    match statement:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]):
            return ast.unparse(target)
    return ""


def joins(call: ast.AST, container: ast.expr) -> bool:
    """True if a call makes one tensor of those in a container, and of nothing else: `sum(losses)`."""
    match call:
        case ast.Call(func=ast.Name(id="sum") | ast.Attribute(attr="cat" | "stack"), args=[given, *_]):
            return given is container
    return False


def is_alone(statement: ast.stmt, call: ast.AST) -> bool:
    """True if a call is a whole statement, its result thrown away."""
    return isinstance(statement, ast.Expr) and statement.value is call


def is_read_first(body: Sequence[ast.stmt], name: str) -> bool:
    """True if a run of these statements may read a variable before it binds it."""
    return _fate(body, name) is True


def binds_first(body: Sequence[ast.stmt], name: str) -> bool:
    """True if a run of these statements certainly binds a variable before it reads it."""
    return _fate(body, name) is False


def arguments_of(function: Definition) -> set[str]:
    """The names of a function's parameters."""
    spec = function.args
    return {each.arg for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg) if each}


def _fate(body: Sequence[ast.stmt], name: str) -> bool | None:
    """True if the statements may read a name first, False if they certainly bind it, None if they do neither."""
    for statement in body:
        found = _fate_in(statement, name)
        if found is not None:
            return found
    return None


def _fate_in(statement: ast.stmt, name: str) -> bool | None:
    blocks = [block for field in ("body", "orelse", "finalbody") if (block := getattr(statement, field, None))]
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False if statement.name == name else None
    if not blocks:
        if name in names_in(statement) or (isinstance(statement, ast.AugAssign) and name in names_of(statement.target)):
            return True
        return False if name in stored_names(statement) else None
    head = head_of(statement)
    if any(name in names_in(each) for each in head):
        return True
    fates = [_fate(block, name) for block in blocks]
    if True in fates:
        return True
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        return False if any(name in stored_names(each) for each in head) or fates == [False] else None
    return False if isinstance(statement, ast.If) and fates == [False, False] else None


def reads_of(node: ast.AST) -> Iterator[ast.expr]:
    """The variables that an expression takes a value from, the function of a call left aside.

    What is written into is no such: a write into its detached alias would leave what is written without a graph.
    """
    roots: list[ast.AST] = [node]
    if isinstance(node, ast.Call):
        roots = [*node.args, *(each.value for each in node.keywords)]
        if isinstance(node.func, ast.Attribute) and not node.func.attr.endswith("_"):
            roots.append(node.func.value)
    elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        roots = [node.slice]
    elif isinstance(node, ast.AugAssign):
        roots = [node.value]
    for root in roots:
        yield from (each for each in variables(root) if isinstance(each.ctx, ast.Load))


@once
def tests_of(trace: Trace, site: Site) -> list[ast.expr]:
    """The conditions on which an iteration comes to a site: those around it, and those before it that leave early."""
    tests: list[ast.expr] = []
    for frame in site.frames():
        around = ancestry(trace, frame.node)
        first = next((i for i in reversed(range(len(around) - 1)) if isinstance(around[i], (*LOOPS, Definition))), 0)
        tests += [each.test for each in around[first:] if isinstance(each, ast.If)]
        for statement in (each for each in around[first + 1 :] if isinstance(each, ast.stmt)):
            before = takewhile(partial(is_not, statement), block_of(trace, statement))
            leaving = (each for each in before if each.__class__ is ast.If)
            tests += [each.test for each in leaving if isinstance(each.body[-1], ast.Continue | ast.Return)]
        if around and isinstance(around[first], LOOPS):
            break
    return tests
