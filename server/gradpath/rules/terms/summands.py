"""What a loss is a sum of: terms with a graph, and constants."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradpath.autograd.tensor import Tensor
from gradpath.findings.graphs import built_of, is_sum, terms_of, uses_of, without_graph
from gradpath.findings.stories import short_operation
from gradpath.findings.syntax import class_of
from gradpath.interpreter.events import BackwardRan, Built, Site
from gradpath.interpreter.trace import Trace
from gradpath.source.index import contents, inside
from gradpath.source.nodes import noted
from gradpath.support.traversal import reachable

SCALING = ("mul", "div")

_SHIFTING = ("add", "sub", "rsub")


def terms(trace: Trace, ran: BackwardRan) -> Iterator[tuple[Tensor, Site]]:
    """The terms with a graph that the loss is a sum of, and where each was computed."""
    zone, built = terms_of(ran.call.starts), built_of(trace)
    nodes = (node for node in sorted(zone, key=lambda each: each.number) if node in built)
    for tensor in (each for node in nodes for each in built[node].operands):
        if tensor.node is not None and tensor.node not in zone:
            yield tensor, tensor.node.site


def on_the_way(value: Tensor, starts: Iterable[Tensor]) -> Iterator[Tensor]:
    """What was computed of some tensors on the way to a value, the value included."""
    used: dict[Tensor, list[Tensor]] = {}
    for each in value.lineage():
        for source in each.maker:
            used.setdefault(source, []).append(each)
    return reachable((user for each in starts for user in used.get(each, ())), lambda each: used.get(each, ()))


def constants(trace: Trace, ran: BackwardRan) -> Iterator[tuple[Tensor, Built, bool]]:
    """The terms of a loss without a graph, where each is added, and whether it is subtracted, as a baseline is."""
    built = built_of(trace)
    for node in terms_of(ran.call.starts):
        event = built.get(node)
        if event is None or not is_sum(node):
            continue
        subtracted = event.inputs.get("other", ()) if "sub" in short_operation(node.name) else ()
        for operand in event.operands:
            term = _without_factor(trace, operand)
            if (not term.requires_grad or is_shown(trace, term)) and not _is_nothing(term):
                yield term, event, any(operand is each for each in subtracted)


def is_shown(trace: Trace, term: Tensor) -> bool:
    """True if a value could have a graph, and repeated backwards through it have shown that it has none."""
    if not term.requires_grad or term.node is None:
        return False
    absent = without_graph(trace)
    ends = (node for node in reachable([term.node], lambda node: node.edges) if not node.edges)
    return bool(absent) and all(node in absent for node in ends)


def unscaled(term: Tensor) -> Tensor:
    """A term before a setting scaled it, of which nothing is known, not even that it is one number."""
    return list(scalings(term))[-1]


def scalings(term: Tensor) -> Iterator[Tensor]:
    """A term, and what it was before each setting that scaled it, the last one first."""
    yield term
    while term.one_element is None and short_operation(term.operation) in SCALING:
        computed = [each for each in term.maker if each.operation]
        if len(computed) != 1:
            break
        term = computed[0]
        yield term


def _without_factor(trace: Trace, term: Tensor) -> Tensor:
    """A term before something scaled it of which nothing is known, and which does nothing but scale: a setting."""
    while term.requires_grad and term.node is not None:
        if short_operation(term.node.name) in SCALING:
            rest = [each for each in term.maker if not _is_setting(trace, each)]
            if len(rest) != 1 or len(term.maker) != 2:
                break
        elif len(rest := [*term.maker]) != 1 or not (term.node.is_open and _is_by_option(trace, term.origin)):
            break
        term = rest[0]
    return term


def _is_by_option(trace: Trace, made: object) -> bool:
    """True for `self.weight * x` where nothing but the constructor of the class sets that, to what it is given."""
    match made:
        case Site(node=ast.BinOp(left=left, op=ast.Mult(), right=right) as product):
            owner = class_of(trace, product)
            sides = (getattr(_factor(each), "attr", "") for each in (left, right))
            return owner is not None and any(side in _options(owner) for side in sides)
    return False


@noted
def _options(owner: ast.ClassDef) -> frozenset[str]:
    """The attributes of `self` that a constructor sets to what it is given, and that only scale something then."""
    found = set[str]()
    for node in inside(owner, ast.FunctionDef):
        if node.name == "__init__":
            given = {each.arg for each in (*node.args.args, *node.args.kwonlyargs)}
            found |= {
                target.attr
                for each in inside(node, ast.Assign)
                if isinstance(each.value, ast.Name) and each.value.id in given
                for target in each.targets
                if isinstance(target, ast.Attribute)
            }
    products = (node for node in inside(owner, ast.BinOp) if isinstance(node.op, ast.Mult | ast.Div))
    scaled = [_factor(each) for node in products for each in (node.left, node.right)]
    uses = [each.attr for each in contents(owner).attributes]
    factors = [each.attr for each in scaled if isinstance(each, ast.Attribute)]
    return frozenset(each for each in found if uses.count(each) == factors.count(each) + 1)


def _factor(factor: ast.expr) -> ast.expr:
    """The setting in `1 - self.alpha` and in `self.temperature ** 2`."""
    match factor:
        case ast.BinOp(left=ast.Constant(), op=ast.Add() | ast.Sub(), right=inner):
            return inner
        case ast.BinOp(left=inner, op=ast.Pow(), right=ast.Constant()):
            return inner
    return factor


def _is_nothing(term: Tensor) -> bool:
    """True if a term is written as zero times something: nothing of it was meant to be learnt."""
    match term.origin:
        case Site(node=ast.BinOp(op=ast.Mult(), left=left, right=right)):
            return any(isinstance(each, ast.Constant) and each.value == 0 for each in (left, right))
    return False


def _is_setting(trace: Trace, factor: Tensor) -> bool:
    """True if nothing is known of a factor that only scales: an unknown value, data, or `1 - alpha` of a parameter."""
    if not (factor.requires_grad or factor.operation or factor.cut):
        return True
    if not (factor.is_open and _scales(trace, factor)):
        return False
    shifted = short_operation(factor.operation) in _SHIFTING or _is_shift(factor.origin.node)
    return all(shifted and isinstance(each.origin.node, ast.FunctionDef) for each in factor.maker)


def _scales(trace: Trace, factor: Tensor) -> bool:
    """True if all that a path does with a tensor is to multiply by it, or by what a constant makes of it."""
    return all(
        short_operation(each.node.name) in SCALING
        or (each.node.is_open and any(_is_shift(made.origin.node) for made in each.node.outputs))
        for each in uses_of(trace).get(id(factor), ())
    )


def _is_shift(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub))
