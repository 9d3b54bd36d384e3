"""Parts of a model that its optimizer cannot get: they come later, or `parameters()` does not know them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from functools import partial

from gradpath.autograd.tensor import Tensor
from gradpath.findings.gradient_flow import looks_at_gradients
from gradpath.findings.graphs import leaves_with_gradient
from gradpath.findings.report import Source, Step
from gradpath.findings.syntax import class_of, has_method, method_of, statement_of
from gradpath.fixes.moving import hoisted
from gradpath.fixes.requirement import given_too, registered
from gradpath.interpreter.events import Bound, Site, Stepped
from gradpath.interpreter.ownership import Attached, Given, Overlooked
from gradpath.interpreter.trace import Trace
from gradpath.rules.ownership.lacking import Lacking, Words, is_drawn, is_of_layer, strangers, touched
from gradpath.source.index import has_several
from gradpath.support.fast_dataclasses import replace


def attached(trace: Trace, held: Set[int]) -> Iterator[Lacking]:
    """The parts that a model got after an optimizer had been made for it."""
    made: list[Given] = []
    for event in trace.among(Given, Attached):
        if isinstance(event, Given):
            made.append(event)
        elif isinstance(event, Attached):
            missing = tuple(each for each in event.tensors if id(each) not in held)
            owners = [given for given in made if _is_for(given, event)]
            yield Lacking(missing, place_of(trace, event), owners[:1], partial(_comes_later, trace, event))


def _comes_later(trace: Trace, event: Attached, source: Source, given: Given) -> Words:
    place, statement = place_of(trace, event), statement_of(trace, event.site.node)
    part = source.text(place, statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    is_leaf = len(event.tensors) == 1 and not is_of_layer(event.tensors[0])
    return Words(
        f"{_never(source, event.site)}: its optimizer was made before it",
        (_takes(given), Step(place, "new parameters, which the optimizer does not know")),
        "make the optimizer when the model is complete",
        given_too(trace, source, given, place, part, is_leaf=is_leaf),
    )


def _never(source: Source, site: Site) -> str:
    return f"`{source.short(site, limit=40)}` is never trained"


def _takes(given: Given) -> Step:
    return Step(given.site, "takes the parameters that the model has now")


def place_of(trace: Trace, event: Attached | Overlooked) -> Site:
    """The statement that put something into a module."""
    statement = statement_of(trace, event.site.node)
    simple = isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr))
    return replace(event.site, node=statement) if simple else event.site


def _is_for(given: Given, event: Attached) -> bool:
    """True if an optimizer was made for the model, or the part of it, that has got new parameters."""
    if any(model is holder for model in given.models for holder in event.holders):
        return True
    own = set(map(id, event.beside))
    return bool(own & set(map(id, given.parameters)))


def in_plain_containers(trace: Trace, held: Set[int]) -> Iterator[Lacking]:
    """The parameters that `parameters()` left out, with the optimizers that got its result, or nothing known.

    Copies of what is trained itself are kept as they were.
    """
    taught = held & leaves_with_gradient(trace).keys()
    for event in trace.of(Overlooked):
        if not _is_hidden(trace, event):
            own = set(map(id, event.found))
            makers = trace.of(Given)
            owners = [given for given in makers if not own or own & set(map(id, given.parameters))]
            owners = owners or [given for given in makers if not given.parameters]
            others = (each for each in event.tensors if id(each.copied) not in taught)
            missing = tuple(each for each in others if id(each) not in held)
            yield Lacking(missing, place_of(trace, event), owners[:1], partial(_is_in_container, trace, event))


def _is_in_container(trace: Trace, event: Overlooked, source: Source, given: Given) -> Words:
    plain = f"a plain {event.kind}: `parameters()` finds nothing in it"
    return Words(
        f"{_never(source, event.site)}: `parameters()` does not look into a plain {event.kind}",
        (Step(place_of(trace, event), plain), Step(given.site, "takes what `parameters()` returns")),
        "hold them in an `nn.ModuleList` or the like",
        registered(trace, source, event),
    )


def _is_hidden(trace: Trace, event: Overlooked) -> bool:
    """True if a module is the only item of a container, `self.teacher = [teacher]`, to hide it from `parameters()`.

    Not if the class adds others to the container, or iterates over it.
    """
    match statement_of(trace, event.site.node):
        case ast.Assign(
            targets=[ast.Attribute(attr=name)],
            value=ast.List(elts=[one]) | ast.Tuple(elts=[one]) | ast.Dict(values=[one]),
        ):
            owner = class_of(trace, event.site.node)
            return not isinstance(one, ast.Starred) and not (owner is not None and has_several(owner, name))
    return False


def unregistered(trace: Trace, source: Source, held: Set[int]) -> Iterator[Lacking]:
    """The tensors that a module keeps as attributes: `self.scale = torch.ones(1, requires_grad=True)`."""
    kept = held | touched(trace)
    names = {id(event.tensor): event for event in trace.of(Bound) if event.tensor is not None}
    for number, leaf in leaves_with_gradient(trace).items():
        made = set() if number in kept or is_of_layer(leaf) else _constructed(trace, leaf)
        if not made:
            continue
        own = None if leaf.is_parameter else names.get(number)
        bound = own or next((names[each] for each in names if _is_moved(names[each], leaf)), None)
        if bound is None or bound.site.caller is not leaf.origin.caller:
            continue
        for given in trace.of(Given):
            if any(not made.isdisjoint(_constructed(trace, each)) for each in given.parameters):
                yield Lacking((leaf,), bound.site, [given], partial(_is_plain_tensor, bound))
                break


def _is_plain_tensor(bound: Bound, source: Source, given: Given) -> Words:
    name = source.short(bound.site, limit=30)
    tensor = Step(bound.site, "a tensor, which the module does not register")
    return Words(
        f"`{bound.name}` is never trained: `parameters()` returns `nn.Parameter`s only",
        (tensor, Step(given.site, "takes what `parameters()` returns")),
        f"make it an `nn.Parameter`, as the last thing that is done to it: `{name} = nn.Parameter(...)`",
        arrives="gives it gradients",
    )


def _is_moved(bound: Bound, leaf: Tensor) -> bool:
    """True if a variable was bound to what a leaf became on another device, or in another type."""
    moved = bound.tensor
    if moved is None or (moved.aliasing_unsure and leaf.device is None):
        return False  # It may have been made where it is moved to.
    return len(moved.maker) == 1 and moved.maker[0] is leaf


def _constructed(trace: Trace, tensor: Tensor) -> set[int]:
    """The calls of the classes whose `__init__` has made a tensor, or the layer that it is of: all have a `forward`."""
    found: set[int] = set()
    for frame in tensor.origin.frames():
        owner, method = method_of(trace, frame.node)
        if owner is not None and method == "__init__":
            if not has_method(owner, "forward"):
                break
            found.add(id(frame.caller))
    return found


def remade(trace: Trace, source: Source, held: Set[int]) -> Iterator[Lacking]:
    """The built-in layers, and the parameters alone, that are made in a `forward` and get gradients there.

    So are the parameters that a function makes again each time that a loop calls it, where nothing reads gradients.
    """
    found: dict[ast.AST, tuple[Site, list[Tensor]]] = {}
    again: dict[ast.AST, tuple[Site, list[Tensor]]] = {}
    for tensor in strangers(trace, held):
        site = tensor.origin
        if is_of_layer(tensor) or is_drawn(tensor):
            frames = (each for each in site.frames() if each.node is not trace.entry)  # It has made the object.
            inside = next((frame for frame in frames if method_of(trace, frame.node)[1] == "forward"), None)
            if inside is not None:
                found.setdefault(inside.node, (inside, []))[1].append(tensor)
            elif not is_of_layer(tensor) and _is_made_between_steps(trace, site) and not looks_at_gradients(trace):
                again.setdefault(site.node, (site, []))[1].append(tensor)
    found |= {node: made for node, made in again.items() if len(made[1]) > 1}
    for site, tensors in found.values():
        each = "call" if site.node in again else "forward"
        yield Lacking(tuple(tensors), site, trace.of(Given), partial(_is_made_again, trace, site, each))


def _is_made_between_steps(trace: Trace, site: Site) -> bool:
    """True if a function runs within the innermost loop around a step, and not where a loop makes its networks."""
    around = {number for number, _ in site.loops}
    loops = ([number for number, _ in step.site.loops] for step in trace.of(Stepped))
    return site.caller is not None and any(numbers and numbers[-1] in around for numbers in loops)


def _is_made_again(trace: Trace, site: Site, each: str, source: Source, given: Given) -> Words:
    return Words(
        f"{_never(source, site)}: each {each} makes another one",
        (_takes(given), Step(site, "new parameters")),
        "make it once, in the `__init__` of a module whose parameters the optimizer is given",
        hoisted(trace, source, site),
    )
