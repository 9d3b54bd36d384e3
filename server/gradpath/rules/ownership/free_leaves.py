"""Leaves that a program learns beside its modules, such as a coefficient, and gives to no optimizer."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set
from functools import partial

from gradpath.autograd.tensor import PRESUMED, UNSEEN, Tensor
from gradpath.findings.gradient_flow import looks_at_gradients
from gradpath.findings.graphs import leaves_with_gradient
from gradpath.findings.parameters import in_modules
from gradpath.findings.report import Source, Step
from gradpath.findings.stories import target_of
from gradpath.findings.syntax import function_of
from gradpath.fixes.requirement import given_too
from gradpath.interpreter.events import Bound, Built, GradientAbsent, Stepped
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Trace
from gradpath.rules.ownership.lacking import Lacking, Words
from gradpath.source.index import inside


def free(trace: Trace, source: Source, held: Set[int]) -> Iterator[Lacking]:
    """The leaves that outlive the steps, and whose gradients nothing but a backward of a loss has to do with.

    An input of which a gradient is wanted is none: it is asked for, or a layer works on it.
    """
    if looks_at_gradients(trace) or trace.of(GradientAbsent):
        return
    others = held | in_modules(trace)
    for number, leaf in leaves_with_gradient(trace).items():
        if number in others or leaf.copied is not None or not _lasts(trace, leaf):
            continue
        if id(leaf.member_of) in held or _is_handed_in(trace, leaf):
            continue
        if leaf.operation in (UNSEEN, "parameter") or not (
            leaf.is_parameter or (not leaf.maker and not _is_input(trace, leaf))
        ):
            continue
        names = [event for event in trace.of(Bound) if event.tensor is leaf]
        if (
            names
            and not _is_state(trace, names)
            and not any(_is_listed(source.tree(each.site.path), each.name) for each in names)
        ):
            in_module = isinstance(trace.entry, ast.Module)
            yield Lacking(
                (leaf,), names[0].site, trace.of(Given), partial(_is_leaf, trace, names[0]), repeated=in_module
            )


def _is_leaf(trace: Trace, bound: Bound, source: Source, given: Given) -> Words:
    name = target_of(source, bound)
    return Words(
        f"`{name}` is never trained: no optimizer holds it",
        (Step(bound.site, "a leaf that no optimizer is given"), Step(given.site, "takes others")),
        f"give the optimizer `{name}` as well",
        given_too(trace, source, given, bound.site, name, is_leaf=True),
        arrives="gives it a gradient",
        last="leaves it as it is",
    )


def _is_state(trace: Trace, names: Sequence[Bound]) -> bool:
    """True if a variable of a leaf is bound to what is computed later: a state, which starts with the leaf."""
    variables = {(each.name, each.site.path) for each in names}
    bound = (each.tensor for each in trace.of(Bound) if (each.name, each.site.path) in variables)
    again = (each for each in bound if each is not None and not each.is_parameter)
    return any(each.node is not None or each.maker for each in again)


def _lasts(trace: Trace, leaf: Tensor) -> bool:
    """True if a leaf was made before the loops of the steps, or by another function than that of the steps."""
    made = leaf.origin
    return all(
        len(made.loops) < len(step.site.loops)
        if made.caller is step.site.caller
        else all(loop in step.site.loops for loop in made.loops)
        for step in trace.of(Stepped)
    )


def _is_handed_in(trace: Trace, leaf: Tensor) -> bool:
    """True if a leaf is another form of an argument of the function that makes it: it is new with each call."""
    node = leaf.origin.node
    function = None if node is None else function_of(trace, node)
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    if function is None or not isinstance(node, ast.Name):
        return False
    given = function.args
    return any(each.arg == node.id for each in (*given.posonlyargs, *given.args, *given.kwonlyargs))


def _is_input(trace: Trace, leaf: Tensor) -> bool:
    """True if a layer, or a model that is not seen, works on a leaf, or on a part or another form of it."""
    return any(
        any(each is leaf or leaf in _formed_of(each).maker for each in given)
        and (event.node.name == PRESUMED or event.node.is_open or any(each.operation == "parameter" for each in given))
        for event in trace.of(Built)
        for given in [event.operands]
    )


def _formed_of(tensor: Tensor) -> Tensor:
    """What a tensor is another form of, last but one: a view, a cast, a function of it alone."""
    while len(tensor.maker) == 1 and len(tensor.maker[0].maker) > 0:
        tensor = tensor.maker[0]
    return tensor


def _is_listed(tree: ast.Module, name: str) -> bool:
    """True if code of a file puts something of that name into a container, returns it or hands it to what keeps it."""
    return any(map(partial(_keeps, name), inside(tree, *_KEEPING)))


_KEEPING = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Return, ast.Yield, ast.Call)


def _keeps(name: str, node: ast.AST) -> bool:
    match node:
        case ast.List(elts=parts, ctx=ast.Load()) | ast.Tuple(elts=parts, ctx=ast.Load()) | ast.Set(elts=parts):
            found: list[ast.expr] = list(parts)
        case ast.Dict(values=parts):
            found = list(parts)
        case ast.Return(value=ast.expr() as value) | ast.Yield(value=ast.expr() as value):
            found = [value]
        case ast.Call(func=ast.Attribute(attr="append" | "extend" | "add_param_group" | "register_parameter")):
            found = list(node.args)
        case _:
            return False
    return any(_is_named(each, name) for each in found)


def _is_named(node: ast.expr, name: str) -> bool:
    match node:
        case ast.Name(id=own) | ast.Attribute(attr=own):
            return own == name
        case ast.Starred(value=value):
            return _is_named(value, name)
    return False
