"""Annotations for inlay hints: where graphs are freed, kept or cut, and what backwards and steps train."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Mark, MarkKind, Range
from gradpath.findings.graphs import moved_leaves, reached_leaves
from gradpath.findings.learning import learners
from gradpath.findings.parameters import Group, groups_of
from gradpath.findings.report import Source
from gradpath.findings.unreached import key_of
from gradpath.interpreter.events import BackwardRan, CutOff, Site, Stepped
from gradpath.interpreter.trace import Trace, once
from gradpath.source.document import Document
from gradpath.support.fast_dataclasses import dataclass

FREED = "freed here"
KEPT = "graph kept"
DETACHED = "detached"

_SWITCHED_OFF = ("no_grad", "inference_mode", "like")
"""Ways to cut a graph that every line of a block shares; a mark at each would only repeat the block's head."""

_NAMED = 3
"""The most modules and tensors that one mark names."""


def marks_of(traces: Sequence[Trace], document: Document, source: Source) -> tuple[Mark, ...]:
    """The marks of the paths of an entry point, the likeliest first, in a document.

    Words are as of the first time that the likeliest path comes by, lines of all times on the first path that does.
    """
    found: dict[tuple[MarkKind, ast.AST], Mark] = {}
    for event in traces[0].among(BackwardRan, CutOff):
        assert isinstance(event, (BackwardRan, CutOff))
        node = event.site.node
        word = None if (MarkKind.HINT, node) in found else _word(event)
        place = None if word is None else _place(document, event.site)
        if word is not None and place is not None:
            found[MarkKind.HINT, node] = Mark(MarkKind.HINT, place, word)
    for trace in traces:
        for kind, calls in ((MarkKind.BACKWARD, _backwards(trace)), (MarkKind.STEP, _steps(trace))):
            for node, events in calls.items():
                place = None if (kind, node) in found else _place(document, events[0].site)
                text = "" if place is None else _learnt(trace, traces, source, events)
                if place is not None and text:
                    found[kind, node] = Mark(kind, place, text)
    return tuple(found.values())


def _word(event: BackwardRan | CutOff) -> str | None:
    if isinstance(event, CutOff):
        return None if event.cut.how.startswith(_SWITCHED_OFF) else DETACHED
    if not any(node.holds or node.saved for node in event.executed):
        return None
    return KEPT if event.call.retain else FREED


def _backwards(trace: Trace) -> dict[ast.AST, list[BackwardRan]]:
    """The runs of each backward; `autograd.grad` is not one, as it only reaches its inputs."""
    found: dict[ast.AST, list[BackwardRan]] = {}
    for event in trace.of(BackwardRan):
        if event.call.accumulates:
            found.setdefault(event.site.node, []).append(event)
    return found


def _steps(trace: Trace) -> dict[ast.AST, list[Stepped]]:
    found: dict[ast.AST, list[Stepped]] = {}
    for event in trace.of(Stepped):
        found.setdefault(event.site.node, []).append(event)
    return found


def _learnt(trace: Trace, traces: Sequence[Trace], source: Source, events: Sequence[BackwardRan | Stepped]) -> str:
    """What learns from a call, over all its runs; empty where nothing is known."""
    steps = [event for event in events if isinstance(event, Stepped)]
    if steps:
        return _updated(trace, traces, source, steps)
    leaves = _once(leaf for run in events if isinstance(run, BackwardRan) for leaf in moved_leaves(run))
    return f"gradients for {_groups(trace, source, leaves).text}" if leaves else "gradients for nothing known"


def _updated(trace: Trace, traces: Sequence[Trace], source: Source, steps: Sequence[Stepped]) -> str:
    """The parameters that the steps at a place update, and those of theirs that never get a gradient."""
    ledger = learners(trace)
    used = _once(tensor for step in steps for tensor in step.updated)
    empty = {id(tensor) for tensor in used if not ledger[id(tensor)].given}
    if empty:  # What no backward has reached was given a gradient by hand.
        empty &= {id(leaf) for run in trace.of(BackwardRan) for leaf in reached_leaves(run)}
    moved = [tensor for tensor in used if id(tensor) not in empty]
    left = _once(tensor for step in steps for tensor in step.held)
    trained = set(map(id, moved))
    still = [tensor for tensor in left if not ledger[id(tensor)].given and id(tensor) not in trained]
    frozen = [tensor for tensor in still if not tensor.flag]
    idle = [tensor for tensor in still if tensor.flag] if trace.is_whole else []
    if idle and len(traces) > 1:
        given = {key_of(each.tensor) for path in traces for each in learners(path).values() if each.given}
        idle = [tensor for tensor in idle if key_of(tensor) not in given]
    if not moved and not frozen and not idle:
        return ""
    parts = [f"updates {_groups(trace, source, moved).text}" if moved else "updates nothing"]
    for tensors, one, several in ((idle, "gets no gradient", "get no gradient"), (frozen, "is frozen", "are frozen")):
        if tensors:
            groups = _groups(trace, source, tensors)
            parts.append(f"{groups.text} {several if groups.count > 1 else one}")
    return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class _Groups:
    """Some parameters in words, and how many modules and tensors those are."""

    text: str
    count: int


def _groups(trace: Trace, source: Source, tensors: Sequence[Tensor]) -> _Groups:
    """The words for some parameters; cached, since a backward mostly fills those that a step updates."""
    known = _known_groups(trace)
    key = tuple(sorted(map(id, tensors)))
    if key not in known:
        groups = groups_of(trace, source, tensors)
        known[key] = _Groups(_listed(groups), len(groups))
    return known[key]


@once
def _known_groups(trace: Trace) -> dict[tuple[int, ...], _Groups]:
    return {}


def _once(tensors: Iterable[Tensor]) -> list[Tensor]:
    return list({id(each): each for each in tensors}.values())


def _listed(groups: Sequence[Group]) -> str:
    """Modules with the number of their parameters, and tensors; only the first where there are many."""
    counts: dict[str, int] = {}
    for group in groups:
        counts[group.name] = counts.get(group.name, 0) + sum(each.is_parameter for each in group.tensors)
    names = [f"`{name}` ({count})" if count > 1 else f"`{name}`" for name, count in counts.items() if name]
    if len(names) > _NAMED:
        return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1} more"
    return ", ".join(names) or "tensors without a name"


def _place(document: Document, site: Site) -> Range | None:
    """Where something happened, if that is in the document."""
    if site.path != document.path or getattr(site.node, "lineno", None) is None:
        return None
    return document.range_of(site.node)
