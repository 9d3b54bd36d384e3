"""Parameters that are frozen, and thawed again before anything has used them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.autograd.provenance import OBSERVED
from gradpath.autograd.tensor import UNSEEN, Tensor
from gradpath.findings.parameters import groups_of, named
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.syntax import tests_of
from gradpath.interpreter.events import Bound, Discarded, Event, Flagged, Site, Stepped, Stored
from gradpath.interpreter.ownership import Given, Named, Taken
from gradpath.interpreter.trace import Trace
from gradpath.source.index import contents
from gradpath.source.nodes import last_name
from gradpath.support.words import words


def undone(trace: Trace, source: Source) -> Iterator[Report]:
    """The places that thaw all that another place froze in vain, and more: who thaws the same again knows of both."""
    last: dict[int, Flagged] = {}
    lost: dict[ast.AST, list[tuple[Flagged, Flagged]]] = {}
    kept: set[ast.AST] = set()
    for event in trace.events:
        if isinstance(event, Flagged):
            before = last.pop(id(event.tensor), None)
            if not event.value:
                kept.update(() if before is None else (before.site.node,))
                last[id(event.tensor)] = event
            elif before is not None and before.site.node is not event.site.node and _is_seen(event.tensor):
                lost.setdefault(before.site.node, []).append((before, event))
        elif last and not _uses_nothing(event):
            kept.update(each.site.node for each in last.values())
            last.clear()
    kept.update(each.site.node for each in last.values())
    for node, pairs in lost.items():
        changed = {id(frozen.tensor) for frozen, _ in pairs}
        step = next((each for each in trace.of(Stepped) if not changed.isdisjoint(map(id, each.updated))), None)
        frozen, thawed = pairs[0]
        there = {id(each.tensor) for each in trace.of(Flagged) if each.value and each.site.node is thawed.site.node}
        chosen, choosing = tests_of(trace, frozen.site), tests_of(trace, thawed.site)
        tensors = [each.tensor for each, _ in pairs]
        if node in kept or step is None or not (there > changed or set(chosen) - set(choosing)):
            continue
        if not (set(choosing) <= set(chosen) or all(each.operation == "parameter" for each in tensors)):
            continue  # Which parts of an unseen module a condition chooses to thaw is not known.
        if _is_run_between(trace, source, tensors, frozen.site, thawed.site):
            continue
        what, more = named(trace, source, tensors, "what is frozen")
        thaws = source.short(thawed.site, limit=34)
        yield Report(
            thawed.site,
            f"{what}{more} learn{'' if more else 's'} all the same: `{thaws}` thaws again",
            (
                Step(frozen.site, "freezes them"),
                Step(thawed.site, "thaws all of them, before anything has used them"),
                Step(step.site, "changes what was to stay the same"),
            ),
            help="freeze after this, or leave out what is frozen",
        )


def _is_run_between(trace: Trace, source: Source, tensors: Sequence[Tensor], frozen: Site, thawed: Site) -> bool:
    """True if what was frozen is called, or passed on, between the two places: that need not leave an event."""
    names = {group.name.partition(".")[0] for group in groups_of(trace, source, tensors)}
    for call in contents(source.tree(frozen.path)).calls:
        if frozen.line < call.lineno < thawed.line and last_name(call.func) not in _TOUCHING:
            given = [each for each in call.args if not isinstance(each, ast.Call)]
            variables = (name.id for each in (call.func, *given) for name in contents(each).names)
            if not names.isdisjoint(variables):
                return True
    return False


_TOUCHING = words("children modules named_children named_modules named_parameters parameters requires_grad_ train")


def _is_seen(tensor: Tensor) -> bool:
    """True if a tensor is one parameter, and does not represent those of an unseen model, of which some are thawed."""
    return tensor.is_parameter and tensor.operation != UNSEEN and tensor.provenance is OBSERVED


def _uses_nothing(event: Event) -> bool:
    """True if nothing can have been computed: a parameter got a name, or a part or an optimizer was made."""
    match event:
        case Bound(tensor=tensor) | Stored(tensor=tensor):
            return tensor is None or tensor.is_parameter
        case Discarded(tensor=None, unseen=""):
            return True
        case Given() | Named() | Taken():
            return True
    return False
