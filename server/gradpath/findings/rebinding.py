"""Leaves that lost their place to a tensor computed from them: `w = w - lr * w.grad`."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Mapping

from gradpath.autograd.aliases import memory_of
from gradpath.autograd.provenance import OBSERVED
from gradpath.autograd.tensor import SWITCHED_OFF, Node, Tensor
from gradpath.findings.report import Source
from gradpath.findings.stories import bindings, target_of
from gradpath.findings.syntax import ancestry, function_of, statement_of
from gradpath.interpreter.events import BackwardRan, Bound, GradientAbsent, Held, Site
from gradpath.interpreter.ownership import Given, Taken
from gradpath.interpreter.trace import Trace
from gradpath.source.index import contents, inside, names_of

_COMPUTING = frozenset(
    {"add", "addcdiv", "addcmul", "clamp", "clip", "clone", "div", "full_like", "lerp", "mul", "nan_to_num", "normal"}
    | {"ones_like", "rand_like", "randn_like", "sub", "where", "zeros_like"}
)
"""Methods and functions that make a new tensor."""

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


def rebound_upstream(trace: Trace, source: Source, root: Tensor) -> tuple[Bound, Tensor] | None:
    """Why `root` has no graph, where a leaf was rebound: the assignment, and what it put in the leaf's place."""
    for tensor in root.lineage():
        found = rebinding_of(trace, source, tensor, scoped=True) if tensor.node is None else None
        if found is not None:
            return found[0], tensor
    return None


def rebinding_of(trace: Trace, source: Source, tensor: Tensor, *, scoped: bool = False) -> tuple[Bound, Tensor] | None:
    """The assignment that put `tensor` in the place of a leaf that it was computed from, and that leaf.

    `scoped` asks for a variable that had the leaf itself: that of a caller still has it.
    """
    if not tensor.maker or not bindings(trace, tensor):
        return None
    leaves: dict[tuple[str, Site | None, int], Tensor] = {}
    for event in trace.of(Bound):
        name = target_of(source, event)
        scope = event.site.caller if scoped and name.isidentifier() else None
        values = event.value.tensors if isinstance(event.value, Held) else (event.tensor,)
        for place, value in enumerate(values):
            if not isinstance(value, Tensor):
                continue
            leaf = leaves.get((name, scope, place))
            is_leaf = value.flag and value.node is None
            cut = value.cut is not None and value.cut.how not in SWITCHED_OFF
            replaces = leaf is not None and leaf in value.ancestors()
            if leaf is not None and value is tensor and replaces and not is_leaf and not cut:
                return event, leaf
            if is_leaf and value.cut is None and value.base is None:
                leaves[name, scope, place] = value
    return None


def gradients_of_results(trace: Trace) -> Iterator[GradientAbsent]:
    """Gradients that are asked for of results, after a backward through them, where nothing has the leaf any more.

    Whoever compares one with None knows that it may be.
    """
    executed: set[Node] = set()
    for event in trace.events:
        if isinstance(event, BackwardRan):
            executed.update(event.executed)
        elif isinstance(event, GradientAbsent) and _is_meant_for_leaf(trace, event, executed):
            yield event


def _is_meant_for_leaf(trace: Trace, absent: GradientAbsent, executed: Container[Node]) -> bool:
    leaf = tensor = absent.tensor
    while leaf.node is not None and leaf.cut is None:
        tracked = [each for each in leaf.maker if each.requires_grad]
        if len(tracked) != 1:
            return False
        (leaf,) = tracked
    if tensor.node not in executed or leaf.is_weight or leaf.provenance is not OBSERVED or leaf.is_open:
        return False
    way = ancestry(trace, absent.site.node)
    if any(isinstance(each, ast.Compare | ast.BoolOp) or _tests(each, way) for each in way):
        return False
    return not any(leaf in each.parameters for each in trace.of(Given)) and not _is_kept(trace, leaf, absent)


def _tests(node: ast.AST, way: Container[ast.AST]) -> bool:
    """True if a node asks whether an expression on the `way` to the gradient is true."""
    return isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert) and node.test in way


def _is_kept(trace: Trace, leaf: Tensor, absent: GradientAbsent) -> bool:
    """True if a variable, an attribute or a container has a leaf when the gradient is asked for."""
    last: dict[tuple[str, Site | None], Bound] = {}
    for event in trace.events[: trace.place_of(absent)]:
        if isinstance(event, Bound):
            last[event.name, event.site.caller] = event
    had = bindings(trace, leaf)
    return any(last.get((each.name, each.site.caller)) is each or isinstance(each.value, Held) for each in had)


def lost_updates(trace: Trace) -> Iterator[tuple[Bound, ast.Assign]]:
    """Assignments of another tensor to the variable of the loop that has given a parameter, which nothing reads.

    The parameter stays as it is: `for p in model.parameters(): p = p - lr * p.grad`, or `p = q` to copy another's.
    """
    leaves: dict[tuple[str, Site | None], bool] = {}
    known: dict[ast.AST, ast.Assign | None] = {}
    states = {id(each.state): each for each in trace.of(Taken)}
    for event in trace.of(Bound):
        key = event.name, event.site.caller
        was_leaf, leaves[key] = leaves.get(key, False), event.is_leaf or _is_of_model(event, states)
        if not was_leaf or event.site.node in known:
            continue
        statement = statement_of(trace, event.site.node)
        lost = statement if isinstance(statement, ast.Assign) and _is_lost(trace, statement, event.name) else None
        known[event.site.node] = lost
        if lost is not None:
            yield event, lost


def _is_of_model(event: Bound, states: Mapping[int, Taken]) -> bool:
    """True if a variable got a parameter, which may be frozen, or a value of the state of a model."""
    if isinstance(event.value, Tensor):
        return memory_of(event.value).is_parameter or any(event.value.origin == each.site for each in states.values())
    match event.gotten_from:
        case _, "parameters" | "named_parameters":
            return True
        case state, "values" | "items":
            return id(state) in states
    return False


def _is_lost(trace: Trace, statement: ast.Assign, name: str) -> bool:
    """True if `name = ...` is in a loop over `name`, or that looks it up, and is not read before the next iteration."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name and _gives_another(value, name):
            pass
        case _:
            return False
    around = reversed(ancestry(trace, statement))
    loop = next((each for each in around if isinstance(each, (ast.For, ast.AsyncFor, ast.While))), None)
    if loop is None or not (name in _given_by(loop) or _is_looked_up(loop, statement, name)):
        return False
    last = statement.end_lineno or statement.lineno
    body = function_of(trace, statement) or trace.entry
    loops: list[ast.stmt | ast.expr] = [*inside(body, ast.For, ast.AsyncFor), *inside(body, *_COMPREHENSIONS)]
    others = [each for each in loops if each.lineno > last and name in _given_by(each)]
    elsewhere = {part for other in others for part in contents(other).names}
    reads = (each for each in contents(body).names if each.id == name and isinstance(each.ctx, ast.Load))
    return not any(each.lineno > last and each not in elsewhere for each in reads)


def _is_looked_up(loop: ast.stmt, statement: ast.stmt, name: str) -> bool:
    """True if a loop takes the variable out of a dict or a list before a statement: `p = averages[key]`."""
    return any(
        isinstance(each.value, ast.Subscript) and each.lineno < statement.lineno
        for each in inside(loop, ast.Assign)
        for target in each.targets
        if isinstance(target, ast.Name) and target.id == name
    )


def _gives_another(value: ast.expr, name: str) -> bool:
    """True if an expression gives another tensor than the variable `name` has, and writes into none.

    It is another variable, arithmetic, or what a method or a function makes of a tensor that it leaves as it is.
    """
    match value:
        case ast.Name(id=read):
            return read != name
        case ast.Attribute(value=owner, attr="data"):
            return _gives_another(owner, name)
        case ast.BinOp(left=left, right=right):
            return any(isinstance(each, ast.Name | ast.Attribute | ast.Call | ast.BinOp) for each in (left, right))
        case ast.Call(func=ast.Attribute(attr=method)):
            return method in _COMPUTING
    return False


def _given_by(node: ast.AST) -> set[str]:
    """The variables that a loop or a comprehension binds again for each item."""
    match node:
        case ast.For(target=target) | ast.AsyncFor(target=target):
            targets = [target]
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            targets = [each.target for each in node.generators]
        case _:
            targets = []
    return {name for target in targets for name in names_of(target)}
