"""Modules that a class keeps in plain containers, or makes in its `forward`, where no optimizer of it is seen."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.findings.parameters import ways_of
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.syntax import class_of, function_of, has_method, statement_of
from gradpath.fixes.moving import hoisted
from gradpath.fixes.requirement import registered
from gradpath.interpreter.events import BackwardRan, Bound, Built, Named, Stepped
from gradpath.interpreter.ownership import Given, Overlooked
from gradpath.interpreter.trace import Trace
from gradpath.rules.ownership.lacking import is_drawn, is_of_layer, touched
from gradpath.rules.ownership.parts import place_of
from gradpath.source.index import contents, inside, methods_called
from gradpath.source.nodes import last_name
from gradpath.support.traversal import reachable
from gradpath.support.words import words

_COLLECTING = words("add_module named_parameters parameters register_buffer register_module register_parameter setattr")
"""What a class calls, or defines, that registers its modules by itself, or exposes them."""


def hidden(trace: Trace, source: Source) -> Iterator[Report]:
    """The modules that `parameters()` leaves out, where the optimizer is not seen.

    A `forward` without a caller computes with them, or a loss, or an object has them whose class has no `forward`, and
    no heir in its file. No code outside of the class may use the attribute, and the class may not handle its modules
    itself. A file that runs a backward beside such a `forward` may not make an object of the class, unless as a part of
    another: what it trains is judged there.
    """
    steps = trace.of(Stepped)
    computes = not trace.of(Given) and (_is_stepped_unseen(trace, steps) if steps else _is_alone(trace))
    shows = not trace.among(Given, Stepped, BackwardRan) and trace.is_whole
    used = {id(tensor) for event in trace.of(Built) for tensor in event.operands}
    used |= {id(maker) for event in trace.of(Built) for made in event.node.outputs for maker in made.maker}
    for event in trace.of(Overlooked) if computes or shows else ():
        owner, place = class_of(trace, event.site.node), event.site.node
        if owner is None or not isinstance(place, ast.Attribute) or _is_reference(trace, event):
            continue
        tree = source.tree(event.site.path)
        computed = computes and not used.isdisjoint(map(id, event.tensors))
        if computed or (shows and _has_neither_forward_nor_heir(tree, owner)):
            trains = computed and not steps and any(method == "backward" for _, method, _ in methods_called(tree))
            exposed = _collects(owner) or _is_handed_out(owner, place.attr)
            if not exposed and not _is_used_outside(tree, owner, place.attr, trains):
                yield _overlooked(trace, source, event)


def _is_reference(trace: Trace, event: Overlooked) -> bool:
    """True for `self.owner = (owner,)`, by which a class keeps a module of others from being one of its own."""
    match getattr(statement_of(trace, event.site.node), "value", None):
        case ast.Tuple(elts=[ast.Name()]):
            return True
    return False


def _has_neither_forward_nor_heir(tree: ast.Module, owner: ast.ClassDef) -> bool:
    """True if a class has no `forward`, and no class of its file inherits one for it."""
    bases = (last_name(base) for each in tree.body if isinstance(each, ast.ClassDef) for base in each.bases)
    return not has_method(owner, "forward") and owner.name not in bases


def _overlooked(trace: Trace, source: Source, event: Overlooked) -> Report:
    """The report for a class that is not seen to be trained: the headline names the presumption."""
    place, name = place_of(trace, event), source.short(event.site, limit=30)
    return Report(
        place,
        f"`{name}` is never trained if the optimizer is given `parameters()`: it is a plain {event.kind}",
        (Step(place, f"a plain {event.kind}: `parameters()` finds nothing in it"),),
        help="hold them in an `nn.ModuleList` or the like",
        fixes=source.proposed(registered(trace, source, event)),
    )


def made_in_forward(trace: Trace, source: Source) -> Iterator[Report]:
    """The layers and parameters that a `forward` makes and forgets, where nothing sets their values.

    Nothing calls it, or a function whose optimizer is not seen. Alone it may make a parameter to ask for a gradient.
    """
    steps = trace.of(Stepped)
    alone = _is_alone(trace) and not trace.of(BackwardRan)
    if trace.of(Given) or not (_is_stepped_unseen(trace, steps) if steps else alone):
        return
    attributes = [event for event in trace.of(Named) if isinstance(event.site.node, ast.Attribute)]
    kept = touched(trace).union(*(ways_of(trace, event) for event in attributes))
    kept |= {id(event.tensor) for event in trace.of(Bound) if isinstance(event.site.node, ast.Attribute)}
    for event in trace.of(Built):
        for tensor in event.operands:
            made = tensor.origin
            if not (is_of_layer(tensor) or is_drawn(tensor)) or id(tensor) in kept:
                continue
            function, owner = function_of(trace, made.node), class_of(trace, made.node)
            if function is None or owner is None or function.name != "forward":
                continue
            if not _collects(owner):
                yield Report(
                    made,
                    f"`{source.short(made)}` is never trained: each forward makes another one",
                    (Step(made, "new parameters"), Step(event.site, "computes with them")),
                    help="make it once, in `__init__`, as an attribute of the module",
                    fixes=source.proposed(hoisted(trace, source, made)),
                )


def _collects(owner: ast.ClassDef) -> bool:
    """True if a class registers its modules by itself, or exposes them."""
    calls = contents(owner).calls
    listed = (each.args[0] for each in calls if last_name(each.func) in ("ModuleDict", "ModuleList") and each.args)
    named = {last_name(each.func) for each in calls} | {each.name for each in inside(owner, ast.FunctionDef)}
    return not _COLLECTING.isdisjoint(named) or any(isinstance(each, ast.Attribute) for each in listed)


def _is_handed_out(owner: ast.ClassDef, attribute: str) -> bool:
    """True if a method gives the attribute itself: `return self._arch_parameters`, for an optimizer of its own."""
    given = (each.value for each in inside(owner, ast.Return))
    return any(isinstance(each, ast.Attribute) and each.attr == attribute for each in given)


def _is_stepped_unseen(trace: Trace, steps: Sequence[Stepped]) -> bool:
    """True if a function without a caller trains with optimizers that it was given."""
    return isinstance(trace.entry, ast.FunctionDef) and trace.is_whole and not any(step.known for step in steps)


def _is_alone(trace: Trace) -> bool:
    """True if a `forward` was entered that nothing calls, and ran to its end."""
    return isinstance(trace.entry, ast.FunctionDef) and trace.entry.name == "forward" and trace.is_whole


def _is_used_outside(tree: ast.Module, owner: ast.ClassDef, attribute: str, trains: bool) -> bool:
    """True if code outside of a class reads the attribute anywhere, or makes an object of it and `trains`.

    What another class, which is neither a base nor an heir, calls the same of its own `self` is another attribute.
    """
    family = _family(tree, owner)
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef) and statement.name == owner.name:
            continue
        apart = isinstance(statement, ast.ClassDef) and statement.name not in family
        read = (each for each in contents(statement).attributes if each.attr == attribute)
        if any(not (apart and isinstance(each.value, ast.Name) and each.value.id == "self") for each in read):
            return True
        made = (each.func.id for each in contents(statement).calls if isinstance(each.func, ast.Name))
        if trains and owner.name in made and not isinstance(statement, ast.ClassDef):
            return True
    return False


def _family(tree: ast.Module, owner: ast.ClassDef) -> set[str]:
    """The names of a class, of its bases, and of the classes of the file that have it among theirs."""
    bases = {each.name: set(map(last_name, each.bases)) for each in tree.body if isinstance(each, ast.ClassDef)}
    lines = {name: set(reachable([name], lambda each: bases.get(each, ()))) for name in bases}
    return lines.get(owner.name, set()) | {name for name, line in lines.items() if owner.name in line}
