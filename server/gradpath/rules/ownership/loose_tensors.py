"""Tensors that the `__init__` of a module keeps as they are, where it means them to be learned."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from gradpath.autograd.tensor import UNSEEN, Tensor
from gradpath.findings.graphs import leaves
from gradpath.findings.parameters import in_modules
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import elsewhere, short_operation
from gradpath.findings.syntax import has_method, method_of
from gradpath.fixes.substitution import applied_last
from gradpath.interpreter.events import Bound, Built, Mutated
from gradpath.interpreter.trace import Trace, once
from gradpath.repairs import Way
from gradpath.source.index import contents, inside, lines_of, methods_called
from gradpath.support.fast_dataclasses import replace

_INITIALISING = "torch.nn.init."
_RANDOM = frozenset({"normal", "rand", "rand_like", "randn", "randn_like"})
_ZEROS = frozenset({"zeros", "zeros_like"})
_PRODUCTS = frozenset({"Linear", "addmm", "baddbmm", "bmm", "cdist", "einsum", "linear", "matmul", "mm"})


def loose(trace: Trace, source: Source) -> Iterator[Report]:
    """Attributes that are computed from a parameter nothing keeps, or are weights without a gradient.

    Such a weight is a tensor that an initializer has filled, or one of random numbers with which what the layers of the
    module have computed is multiplied, or one of zeros with which anything is: the product would stay zero. Positions,
    frequencies and projections of inputs are constants.
    """
    for event in trace.of(Bound):
        tensor = event.tensor
        owner = None if tensor is None or tensor.is_parameter else _class_of(trace, event)
        if tensor is None or owner is None:
            continue
        sources = leaves([tensor])
        kept = in_modules(trace) | _bound(trace)
        if sources and all(each.operation.endswith("Parameter") and id(each) not in kept for each in sources):
            if tensor.aliasing_unsure and any(each.device is None for each in sources):
                continue  # It may have been made where it is moved to.
            why = "what is computed from a parameter is none"
            place = f" if {elsewhere(source, tensor)}" if tensor.aliasing_unsure else ""
            yield replace(
                _report(source, event, f"{place}: {why}", "computed from a parameter"),
                fixes=source.proposed(applied_last(trace, source, event.site, "Parameter", Way.PARAMETER_OF_RESULT)),
            )
        elif (
            not sources
            and not tensor.flag
            and has_method(owner, "forward")
            and _is_weight(trace, event, tensor)
            and not _is_set_again(source, owner, event)
        ):
            yield _report(source, event, ": it is a plain tensor", "a tensor without a gradient")


@once
def _bound(trace: Trace) -> frozenset[int]:
    """The tensors, by identity, that have a name."""
    return frozenset(id(event.tensor) for event in trace.of(Bound) if event.tensor is not None)


def _class_of(trace: Trace, event: Bound) -> ast.ClassDef | None:
    """The class with a `forward`, or with a base, whose `__init__` binds an attribute of `self`."""
    match event.site.node:
        case ast.Attribute(value=ast.Name(id="self")):
            pass
        case _:
            return None
    owner, method = method_of(trace, event.site.node)
    if owner is None or method != "__init__":
        return None
    return owner if owner.bases or has_method(owner, "forward") else None


def _is_weight(trace: Trace, bound: Bound, tensor: Tensor) -> bool:
    filled = any(
        event.tensor is tensor and event.write.operation.startswith(_INITIALISING) for event in trace.of(Mutated)
    )
    zero = _is_made_by(tensor, _ZEROS)
    return (filled or zero or _is_made_by(tensor, _RANDOM)) and any(
        (zero or _is_of_layers(event, bound)) and (filled or short_operation(event.node.name) in _PRODUCTS)
        for event in trace.of(Built)
        for each in event.operands
        if _before_views(each) is tensor
    )


def _is_made_by(tensor: Tensor, functions: Set[str]) -> bool:
    """True if a tensor, or what it is a multiple of, was made by one of some functions."""
    while tensor.maker and short_operation(tensor.operation) in ("mul", "div"):
        tensor = tensor.maker[0]
    made = tensor.origin.node
    return isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr in functions


def _is_of_layers(event: Built, bound: Bound) -> bool:
    """True if an operation works on what layers have computed that the same `__init__` has made, and that learn."""
    layers = (each for each in leaves([event.node]) if each.operation in ("parameter", UNSEEN))
    return any(frame.caller is bound.site.caller for each in layers for frame in each.origin.frames())


def _before_views(tensor: Tensor) -> Tensor:
    while len(tensor.maker) == 1 and short_operation(tensor.operation) not in ("mul", "div"):
        tensor = tensor.maker[0]
    return tensor


def _is_set_again(source: Source, owner: ast.ClassDef, event: Bound) -> bool:
    """True if other code of the file sets an attribute, writes into it, or uses it from outside of its class."""
    tree = source.tree(event.site.path)
    places = [each for each in contents(tree).attributes if each.attr == event.name]
    first, last = lines_of(owner)
    stored = [each for each in places if isinstance(each.ctx, ast.Store)]
    written = [of for of, method, _ in methods_called(tree) if method.endswith("_")]
    written += [each.value for each in inside(tree, ast.Subscript) if isinstance(each.ctx, ast.Store)]
    return (
        len(stored) > 1
        or any(not first <= each.lineno <= last for each in places)
        or any(isinstance(each, ast.Attribute) and each.attr == event.name for each in written)
    )


def _report(source: Source, event: Bound, why: str, what: str) -> Report:
    name = source.short(event.site, limit=30)
    return Report(
        event.site,
        f"`{event.name}` is never trained{why}",
        (Step(event.site, f"{what}, which the module does not register"),),
        help=f"make it an `nn.Parameter`, as the last thing that is done to it: `{name} = nn.Parameter(...)`",
    )
