"""Branches that are not worth a path of their own, since no graph could notice which way they go."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Sequence

from gradpath.source.nodes import BLOCKS, Noted, last_name, nodes, noted
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.lazy_regex import regex
from gradpath.support.words import words


def leaves(statements: Sequence[ast.stmt]) -> bool:
    """True if a block ends by leaving the iteration, the function or the program."""
    if not statements:
        return False
    match statements[-1]:
        case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
            return True
        case ast.With(body=body) | ast.AsyncWith(body=body):
            return leaves(body)
        case ast.If(body=body, orelse=orelse):
            return leaves(body) and leaves(orelse)
        case ast.Expr(value=ast.Call(func=function)):
            return last_name(function) in ("exit", "_exit", "quit")
    return False


@dataclass(frozen=True, slots=True)
class Arms:
    """What the arms of a condition are to a graph.

    It is more `likely` true or not; the less likely way is `idle` if it needs no path of its own. Where both arms do
    nothing else than to print, the condition only `tells`.
    """

    likely: bool
    idle: bool
    tells: bool


def arms_of(node: ast.If, scope: ast.AST | None) -> Arms:
    """What the arms of a condition are to a graph.

    An arm that leaves is the less likely one, and so is one that makes room in a buffer that may be full, that runs no
    backward where the other arm does, or that is there for numbers that are none (`isnan`) or for a batch of another
    size than the one before; an arm that only raises or prints does nothing else. `scope` is the function or module
    around, None where it is not at hand.
    """
    ways = None if scope is None else _known.get(scope)
    if ways is None:
        ways = {}
        if scope is not None:
            _known[scope] = ways
    known = ways.get(node)
    if known is None:
        unlikely = leaves(node.body) or _makes_room(node.body) or (trains(node.orelse) and not trains(node.body))
        unlikely = unlikely or _asks_for_nan(node.test) or _asks_for_another_size(node.test)
        likely = leaves(node.orelse) or not unlikely
        body, orelse = _is_idle(node.body, scope), _is_idle(node.orelse, scope)
        idle = (orelse if likely else body) and (bool(node.orelse) or body)
        tells = body and orelse and not (leaves(node.body) or leaves(node.orelse))
        known = ways[node] = Arms(likely, idle, tells)
    return known


def trains(statements: Sequence[ast.stmt], methods: Collection[str] = ("backward",)) -> bool:
    """True if a block calls such a method itself."""
    return any(
        isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr in methods
        for statement in statements
        for each in nodes(statement)
    )


def _makes_room(statements: Sequence[ast.stmt]) -> bool:
    """True if a block does nothing but drop the oldest item of a buffer: `memory.pop(0)`."""
    match statements:
        case [ast.Expr(value=ast.Call(func=ast.Attribute(attr="popleft"), args=[]))]:
            return True
        case [ast.Expr(value=ast.Call(func=ast.Attribute(attr="pop"), args=[ast.Constant(value=0)]))]:
            return True
        case [ast.Delete(targets=[ast.Subscript(slice=ast.Constant(value=0))])]:
            return True
    return False


def _asks_for_nan(test: ast.expr) -> bool:
    """True if a condition asks whether there are numbers that are none, or infinite: `torch.isnan(x).any()`."""
    negated = any(isinstance(each, ast.Not) for each in nodes(test))
    return not negated and any(
        isinstance(each, ast.Call) and last_name(each.func) in ("isinf", "isnan") for each in nodes(test)
    )


def _asks_for_another_size(test: ast.expr) -> bool:
    """True if a condition asks whether what an object has kept is of another size: `self.state.shape != x.shape`."""
    match test:
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(map(_asks_for_another_size, values))
        case ast.Compare(left=left, ops=[ast.NotEq()], comparators=[right]):
            measured = [_measured(left), _measured(right)]
            return all(measured) and any(isinstance(each, ast.Attribute) for each in measured)
    return False


def _measured(size: ast.expr) -> ast.expr | None:
    """What `x.shape`, `x.size()`, `x.shape[0]` and `x.size(0)` are the sizes of."""
    match size:
        case ast.Subscript(value=whole):
            return _measured(whole)
        case ast.Attribute(value=measured, attr="shape") | ast.Call(func=ast.Attribute(value=measured, attr="size")):
            return measured
    return None


def decides_training(node: ast.If) -> bool:
    """True if an arm of a condition goes back, steps or clears gradients itself."""
    known = _training.get(node)
    if known is None:
        known = _training[node] = trains((*node.body, *node.orelse), ("backward", "step", "zero_grad"))
    return known


def speaks_of_gradients(node: ast.If, *, making: bool) -> bool:
    """True if an arm of a condition looks like the life of a graph; `making` says that an `__init__` is around it.

    Other conditions are turned around last, and not at all in a file that is not the checked one: that is done where it
    is checked itself.
    """
    known = _speaking.get(node)
    if known is None:
        arms = (each for statement in (*node.body, *node.orelse) for each in nodes(statement))
        known = _speaking[node] = any(is_about_gradients(each, making=making) for each in arms)
    return known


def leaves_gradients_out(bodies: Collection[ast.AST], visited: Collection[ast.AST]) -> bool:
    """True if simple statements of some bodies that were not visited speak of what happens to gradients."""
    for body in bodies:
        inner = [body, *(each for each in nodes(body) if isinstance(each, ast.stmt) and each not in visited)]
        simple = (each for each in inner if not any(isinstance(getattr(each, block, None), list) for block in BLOCKS))
        if any(is_about_gradients(node, making=True) for each in simple for node in nodes(each)):
            return True
    return False


def is_about_gradients(node: ast.AST, *, making: bool) -> bool:
    """True if a node speaks of what happens to gradients; `making` says that an `__init__` is around it."""
    match node:
        case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()) if not making:
            return True
        case ast.Attribute(attr=name):
            return name in _READING_OUT or name.endswith("_") or _GRADIENTS.search(name) is not None
        case ast.Name(id=name) | ast.keyword(arg=str() as name):
            return _GRADIENTS.search(name) is not None
        case ast.AugAssign(value=value):
            return not isinstance(value, ast.Constant)
    return False


_READING_OUT = frozenset({"data", "item", "numpy", "tolist"})
_GRADIENTS = regex(r"backward|clip|clone|detach|freez|grad|loss|optim|step|train|update")
_speaking: Noted[bool] = Noted("_idle_speaking")
_training: Noted[bool] = Noted("_idle_training")
_known: Noted[dict[ast.If, Arms]] = Noted("_idle_known")
"""The answers for the conditions in a scope: a newer tree of the module may have the same ones, and other readers."""


def _is_idle(statements: Sequence[ast.stmt], scope: ast.AST | None) -> bool:
    """True if a block does nothing that a graph could notice: it raises, passes, or computes what it prints."""
    if not statements:
        return True
    if isinstance(statements[-1], ast.Raise) and len(statements) <= 2:
        return True
    computed: set[str] = set()
    for statement in statements:
        match statement:
            case ast.Pass() | ast.Import() | ast.ImportFrom():
                continue
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.Expr(value=ast.Call(func=function)) if last_name(function) in _PRINTING:
                continue
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _only_reads(value):
                computed.add(name)
                continue
        return False
    return not computed or (scope is not None and _stays_inside(computed, statements, scope))


def _only_reads(value: ast.expr) -> bool:
    """True if an expression reads and computes, and changes nothing."""
    return all(
        isinstance(each, _READING) or (isinstance(each, ast.Call) and last_name(each.func) in _TELLING)
        for each in nodes(value)
    )


_READING = (
    *(ast.Name, ast.Constant, ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple),
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.JoinedStr, ast.FormattedValue),
)
_TELLING = frozenset({"float", "format", "int", "item", "len", "perf_counter", "round", "str", "time"})
"""Functions and methods that only read their arguments."""


def _stays_inside(names: set[str], statements: Sequence[ast.stmt], scope: ast.AST) -> bool:
    """True if nothing outside a block reads what it assigns, nor the block itself what it assigned the last time."""
    done: set[str] = set()
    for statement in statements:
        if not names.isdisjoint(_read([statement]).keys() - done):
            return False
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            done.add(statement.targets[0].id)
    around = _read_in(scope)
    inside = _read(statements)
    return all(around[name] == inside[name] for name in names)


@noted
def _read_in(scope: ast.AST) -> Counter[str]:
    return _read([scope])


def _read(parts: Sequence[ast.AST]) -> Counter[str]:
    """Count how often each name is read, or declared global or nonlocal."""
    found: Counter[str] = Counter()
    for part in parts:
        for node in nodes(part):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
                found[node.id] += 1
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                found[node.target.id] += 1
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                found.update(node.names)
    return found


_PRINTING = words(
    """print info debug warning warn error log add_scalar add_scalars add_image add_histogram set_description
    set_postfix write flush save makedirs mkdir exit add_argument savefig plot close show"""
)
