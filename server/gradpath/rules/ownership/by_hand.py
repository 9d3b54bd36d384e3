"""Leaves that get gradients, and that a program which moves its leaves by hand leaves out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.tensor import UNSEEN, Tensor
from gradpath.findings.gradient_flow import is_harmless, is_whole, updated_by_hand
from gradpath.findings.graphs import leaves_with_gradient, reached_leaves
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import target_of
from gradpath.findings.syntax import function_of
from gradpath.interpreter.events import BackwardRan, Bound, Lent, Mutated, Replaced, Stepped
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Trace
from gradpath.rules.ownership.lacking import touched
from gradpath.source.index import contents


def left_by_hand(trace: Trace, source: Source) -> Iterator[Report]:
    """The leaves that were made beside those which the program moves, and of whose gradients nothing speaks."""
    moved: dict[int, tuple[Tensor, Mutated | Replaced]] = {}
    for event in trace.among(Mutated, Replaced):
        assert isinstance(event, Mutated | Replaced)
        tensor = updated_by_hand(trace, event)
        if tensor is not None and (
            event.site.loops or not isinstance(trace.entry, ast.Module)
        ):  # No mere step to show.
            moved.setdefault(id(tensor), (tensor, event))
    if not moved or trace.among(Given, Stepped) or not is_whole(trace) or not all(map(is_harmless, trace.of(Lent))):
        return
    ran = next((run for run in trace.of(BackwardRan) if run.call.accumulates), None)
    if ran is None:  # What the program has put into `grad` itself may be anything.
        return
    names = {id(event.tensor): event for event in reversed(trace.of(Bound)) if event.tensor is not None}
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
