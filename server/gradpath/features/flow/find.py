"""The gradient flow of the entry points of an analysis: all their paths taken together."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gradpath.analysis.check import Analysis, Walk
from gradpath.autograd.tensor import UNSEEN
from gradpath.features.flow import Arrival, Call, Cell, Flow, Parameter, Reason, Why
from gradpath.features.flow.observed import Key, Observed, best, observe
from gradpath.findings.gradient_flow import optimizer_name
from gradpath.findings.report import Source
from gradpath.interpreter.events import Decision, Site, Stepped
from gradpath.interpreter.trace import Trace
from gradpath.interpreter.values import Unknown
from gradpath.support.fast_dataclasses import replace

Calls = Mapping[Key, Site]

LONGEST = 56
"""Characters of the text of a call."""

_MISSING = frozenset({Arrival.CUT, Arrival.FROZEN, Arrival.NONE})


def flows_of(analysis: Analysis, line: int | None = None) -> tuple[Flow, ...]:
    """The flow of each entry point in which a backward or a step runs; the analysis is to be explored.

    For a line (from 1), what the backwards and steps there do, also those in a call there; where there are none, all of
    the entry points that reach it.
    """
    source = Source(dict(analysis.documents))
    found = [(walk, *_flow(walk, source)) for walk in analysis.walks]
    found = [each for each in found if each[1].backwards or each[1].steps or each[1].stops]
    if line is None:
        return tuple(flow for _, flow, _ in found)
    path = analysis.document.path
    there = [(flow, {key for key, site in sites.items() if _is_on(site, path, line)}) for _, flow, sites in found]
    narrow = tuple(_narrowed(flow, numbers) for flow, numbers in there if numbers)
    return narrow or tuple(flow for walk, flow, _ in found if _comes_by(walk, path, line, source))


def _is_on(site: Site, path: str, line: int) -> bool:
    return any(each.path == path and _covers(each.node, line) for each in site.frames())


def _covers(node: ast.AST, line: int) -> bool:
    first = int(getattr(node, "lineno", 0))
    return first <= line <= int(getattr(node, "end_lineno", None) or first)


def _comes_by(walk: Walk, path: str, line: int, source: Source) -> bool:
    """True if a statement on a line runs; those of other files may have the same number."""
    document = source.documents.get(path)
    own = {id(event.site.node) for trace in walk.traces for event in trace.events if event.site.path != path}
    return document is not None and any(
        _covers(node, line) and id(node) not in own and not hasattr(node, "body")
        for trace in walk.traces
        for node in trace.visits
    )


def _narrowed(flow: Flow, numbers: set[int]) -> Flow:
    """The flow with some of its calls alone, and what keeps those from parameters."""
    backwards = [index for index, each in enumerate(flow.backwards) if each.number in numbers]
    steps = [index for index, each in enumerate(flow.steps) if each.number in numbers]
    parameters = (
        replace(
            each,
            arrivals=tuple(each.arrivals[index] for index in backwards),
            uses=tuple(each.uses[index] for index in steps),
            reasons=tuple(_kept(each.reasons, numbers)),
        )
        for each in flow.parameters
    )
    return replace(
        flow,
        backwards=tuple(flow.backwards[index] for index in backwards),
        steps=tuple(flow.steps[index] for index in steps),
        parameters=tuple(parameters),
    )


def _kept(reasons: Sequence[Reason], numbers: set[int]) -> Iterator[Reason]:
    for each in reasons:
        left = tuple(number for number in each.backwards if number in numbers)
        if left or not each.backwards:
            yield replace(each, backwards=left)


def _flow(walk: Walk, source: Source) -> tuple[Flow, dict[int, Site]]:
    """The flow of an entry point, and where its calls are by their numbers."""
    seen = [observe(trace, source) for trace in walk.traces]
    backwards, steps = _united(each.backwards for each in seen), _united(each.steps for each in seen)
    first = walk.traces[0]
    names = _optimizers(walk.traces, source)
    told = _calls(source, backwards, 1, {})
    stepped = _calls(source, steps, len(told) + 1, names)
    likeliest = {holder for holder, _ in seen[0].known}  # What a module has there is what it has.
    others = (key for each in seen for key in each.known if key[0] not in likeliest)
    keys = dict.fromkeys((*seen[0].known, *others))
    parameters = tuple(_parameter(key, seen, backwards, steps) for key in keys)
    unseen, conditions = _unseen(walk.traces, names), dict.fromkeys(text for each in seen for text in each.conditions)
    flow = Flow(
        walk.name, told, stepped, parameters, _stop(first, source), unseen, tuple(conditions), _taken(walk, source)
    )
    sites = dict(enumerate((*backwards.values(), *steps.values()), 1))
    return flow, sites


def _united(calls: Iterable[Calls]) -> dict[Key, Site]:
    """The calls of all paths in the order of the first that has them."""
    found: dict[Key, Site] = {}
    for each in calls:
        for key, site in each.items():
            found.setdefault(key, site)
    return found


def _parameter(key: tuple[str, str], seen: Sequence[Observed], backwards: Calls, steps: Calls) -> Parameter:
    known = [each.known[key] for each in seen if key in each.known]
    tensors = [each.tensor for same in known for each in same]
    arrivals = tuple(_cell(key, call, seen) for call in backwards)
    uses = tuple(_cell(key, call, seen) for call in steps)
    numbers = {call: number for number, call in enumerate(backwards, 1)}
    reasons: dict[Reason, set[int]] = {}
    for each in seen:
        for reason, calls in each.reasons.get(key, {}).items():
            reasons.setdefault(reason, set()).update(numbers[call] for call in calls)
    return Parameter(
        *key,
        arrivals,
        uses,
        tuple(_still_true(reasons, arrivals)),
        tuple(dict.fromkeys(name for same in known for each in same for name in each.names)),
        all(each.whole for same in known for each in same),
        any(tensor.operation == UNSEEN for tensor in tensors),
        any(tensor.is_parameter for tensor in tensors),
    )


def _cell(key: tuple[str, str], call: Key, seen: Sequence[Observed]) -> Cell | None:
    cells = [cell for each in seen for cell in each.cells.get((key, call), ())]
    return best(cells) if cells else None


def _still_true(reasons: Mapping[Reason, set[int]], arrivals: Sequence[Cell | None]) -> list[Reason]:
    """The reasons that no backward and no path speaks against; and that nothing uses it, where that is all."""
    states = {cell.state for cell in arrivals if cell is not None}
    missing = {number for number, cell in enumerate(arrivals, 1) if cell is not None and cell.state in _MISSING}
    found = []
    for each, calls in reasons.items():
        if calls:
            left = calls & missing
            if left:
                found.append(replace(each, backwards=tuple(sorted(left))))
        elif Arrival.GRADIENT in states or Arrival.ZEROS in states:
            found.append(each)
    if states == {Arrival.NONE} and not found:
        found.append(Reason(Why.UNUSED, "no loss that is back-propagated depends on it"))
    return found


def _calls(source: Source, calls: Calls, first: int, names: Mapping[Key, str]) -> tuple[Call, ...]:
    """The calls with their descriptions: where several share a line, the calls of the function distinguish them."""
    found = []
    for number, (key, site) in enumerate(calls.items(), first):
        alike = [other for other in calls if other[0] is key[0] and other is not key]
        shown = site
        for depth, frame in enumerate(site.frames()):
            if all(depth >= len(other) or other[depth] is not frame.node for other in alike):
                shown = frame
                break
        found.append(Call(number, _text(source, shown), shown.path, shown.line, names.get(key, "")))
    return tuple(found)


def _text(source: Source, site: Site) -> str:
    """The source of a call; what calls a function of the program is called a trainer where it is not seen."""
    if isinstance(site.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return f"the trainer, after `{site.node.name}`"
    return source.short(site, limit=LONGEST)


def _optimizers(traces: Sequence[Trace], source: Source) -> dict[Key, str]:
    """The program's name for the optimizer of each step."""
    found: dict[Key, str] = {}
    for trace in traces:
        for event in trace.of(Stepped):
            key = tuple(frame.node for frame in event.site.frames())
            if key not in found:
                found[key] = optimizer_name(trace, source, event.site, event.site) or ""
    return found


def _stop(trace: Trace, source: Source) -> str:
    """Where the likeliest path raises, in words."""
    failure = next(iter(trace.failures()), None)
    if failure is None:
        return ""
    own = failure.site
    return (
        f"`{source.short(own)}` on line {own.line} raises {failure.exception}" if own.path in source.documents else ""
    )


def _taken(walk: Walk, source: Source) -> tuple[str, ...]:
    """The branches that all paths took one way, though the other one has to do with gradients: each as a condition."""
    ways: dict[ast.AST, set[bool]] = {}
    first: dict[ast.AST, Decision] = {}
    for trace in walk.traces:
        for each in trace.decisions:
            ways.setdefault(each.node, set()).add(each.outcome)
            if each.speaking and not each.idle and isinstance(each.node, ast.expr):
                first.setdefault(each.node, each)
    return tuple(
        f"`{source.short(each.site, node)}` on line {each.site.line} "
        f"{'holds' if each.outcome is not each.negated else 'does not hold'}"
        for node, each in first.items()
        if len(ways[node]) == 1
    )


def _unseen(traces: Sequence[Trace], names: Mapping[Key, str]) -> tuple[str, ...]:
    """The models and optimizers that come from outside."""
    found: dict[str, None] = {}
    for trace in traces:
        for event in trace.of(Stepped):
            for each in (*event.updated, *event.unseen):
                if each.operation == UNSEEN:
                    found[each.label] = None
            if isinstance(event.optimizer, Unknown):
                found[names.get(tuple(frame.node for frame in event.site.frames()), "")] = None
    return tuple(name for name in found if name)
