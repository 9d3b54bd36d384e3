"""Leaves that get gradients, and that a program which moves its leaves by hand leaves out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from gradpath.autograd.tensor import UNSEEN, Tensor
from gradpath.findings.gradient_flow import gradient_read, is_harmless, updated_by_hand
from gradpath.findings.graphs import leaves, leaves_with_gradient, reached_leaves
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import target_of
from gradpath.findings.syntax import function_of
from gradpath.interpreter.events import BackwardRan, Bound, GradientAbsent, Lent, Mutated, Replaced, Stepped
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Trace
from gradpath.rules.ownership.lacking import touched
from gradpath.source.index import contents


def left_by_hand(trace: Trace, source: Source) -> Iterator[Report]:
    """The leaves that were made beside those which the program moves, and of whose gradients nothing speaks.

    So is what was computed from a leaf before, where the program asks for its gradient as for those of the others.
    """
    moved = _moved(trace)
    if not moved or trace.among(Given, Stepped) or not trace.is_whole or not all(map(is_harmless, trace.of(Lent))):
        return
    ran = next((run for run in trace.of(BackwardRan) if run.call.accumulates), None)
    if ran is None:  # What the program has put into `grad` itself may be anything.
        return
    names = {id(event.tensor): event for event in reversed(trace.of(Bound)) if event.tensor is not None}
    yield from _results(trace, source, names, moved)
    changed = touched(trace)
    for number, leaf in leaves_with_gradient(trace).items():
        bound = names.get(number)
        if bound is None or number in moved or number in changed or leaf.operation in (UNSEEN, "parameter"):
            continue
        beside = next((each for each in moved.values() if _are_together(trace, leaf, each[0])), None)
        if beside is not None and not _is_asked(source, bound):
            name = target_of(source, bound)
            yield Report(
                bound.site,
                f"`{name}` is never trained: no update by hand changes it",
                (
                    Step(bound.site, "a leaf that requires a gradient"),
                    Step(ran.site, "gives it a gradient"),
                    Step(beside[1].site, "moves others, and leaves it as it is"),
                ),
                help=f"update `{name}` as well, and clear its gradient",
                about=(bound.name,),
            )


def _moved(trace: Trace) -> dict[int, tuple[Tensor, Mutated | Replaced]]:
    """The leaves that the program moves by hand, each with the first write."""
    moved: dict[int, tuple[Tensor, Mutated | Replaced]] = {}
    for event in trace.among(Mutated, Replaced):
        assert isinstance(event, Mutated | Replaced)
        tensor = updated_by_hand(trace, event)
        if tensor is not None and (
            event.site.loops or not isinstance(trace.entry, ast.Module)
        ):  # No mere step to show.
            moved.setdefault(id(tensor), (tensor, event))
    return moved


def _results(
    trace: Trace, source: Source, names: Mapping[int, Bound], moved: Mapping[int, tuple[Tensor, Mutated | Replaced]]
) -> Iterator[Report]:
    """What keeps no gradient, as it is no leaf, where an update by hand passes over what has none."""
    updates = {_asked(trace, gradient_read(trace, event)): event for _, event in moved.values()}
    for absent in trace.of(GradientAbsent):
        tensor, event = absent.tensor, updates.get(_asked(trace, absent.site.node))
        bound = names.get(id(tensor))
        if event is None or bound is None or tensor.node is None:
            continue
        own = leaves([tensor.node])
        ran = next((run for run in trace.of(BackwardRan) if {*own} <= {*reached_leaves(run)}), None)
        if ran is None or not own or any(id(leaf) in names or id(leaf) in moved for leaf in own):
            continue
        within = {loop for loop, _ in bound.site.loops}
        if all(loop in within for loop, _ in ran.site.loops):
            continue  # It is computed again in each iteration.
        name = target_of(source, bound)
        yield Report(
            bound.site,
            f"`{name}` is never trained: it is no leaf, and its `grad` stays None",
            (
                Step(bound.site, "computed from a leaf, which nothing else has"),
                Step(ran.site, "leaves a gradient in that leaf alone"),
                Step(event.site, "moves others, and leaves it as it is"),
            ),
            help=f"compute `{name}` first, and make it a leaf then: `.detach().requires_grad_()`",
            about=(bound.name,),
        )


def _asked(trace: Trace, node: ast.AST | None) -> tuple[object, str] | None:
    """The function in which a gradient is asked for, and the variable of which."""
    match node:
        case ast.Attribute(value=ast.Name(id=name)):
            return function_of(trace, node), name
    return None


def _are_together(trace: Trace, leaf: Tensor, other: Tensor) -> bool:
    """True if one call of a function has made two leaves, outside of its loops, and one backward reaches both."""
    one, two = leaf.origin, other.origin
    same = one.caller is two.caller and function_of(trace, one.node) is function_of(trace, two.node)
    made = same and other.operation not in (UNSEEN, "parameter") and not (one.loops or two.loops)
    return made and any({leaf, other} <= {*reached_leaves(run)} for run in trace.of(BackwardRan))


def _is_asked(source: Source, bound: Bound) -> bool:
    """True if the file asks for the gradient of what has the name of a leaf somewhere."""
    asked = (each.value for each in contents(source.tree(bound.site.path)).attributes if each.attr == "grad")
    return any(bound.name in (getattr(each, "id", ""), getattr(each, "attr", "")) for each in asked)
