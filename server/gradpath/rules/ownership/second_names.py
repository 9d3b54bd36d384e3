"""Networks by a second name: one that was to follow, or to stay as it was, is the one that is trained."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from gradpath.autograd.tensor import SWITCHED_OFF
from gradpath.diagnostic import Edit, Fix, Position, Range, Safety
from gradpath.findings.graphs import moved_leaves
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import lifted
from gradpath.findings.syntax import assigned_to, class_of, statement_of, tests_of
from gradpath.findings.ways import ways_in
from gradpath.fixes import edits
from gradpath.interpreter.events import BackwardRan, Bound, Named, Site
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import pairs_of, variables
from gradpath.source.nodes import last_name
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Two names that were given to one network, and where a loss compares it, by the second, with itself."""

    first: Named | Bound
    second: Named | Bound
    site: Site


def references(trace: Trace, source: Source) -> Iterator[Reference]:
    """The networks that a loss is computed with by one name, and without gradients by another one.

    Only what is given nothing else anywhere was to be another network for good.
    """
    found = list(_pairs(trace))
    seconds = {id(second): second for _, second in found}
    lasting = {key for key, second in seconds.items() if _is_lasting(trace, source, second)}
    pairs = [(first, second) for first, second in found if id(second) in lasting]
    for ran in trace.of(BackwardRan) if pairs else ():
        live = {name for node in ran.executed for name in _names_at(node.site)}
        compared = [(first, second) for first, second in pairs if first.name in live and second.name not in live]
        if not compared:
            continue
        ways = ways_in(trace, ran)
        known = [way for leaf in moved_leaves(ran) if (way := ways(leaf)) is not None]
        for cut in (each for way in known for each in way.cuts if each.cause.how in SWITCHED_OFF):
            blind = _names_at(cut.site)
            for first, second in compared:
                if first.name not in blind and second.name in blind:
                    yield Reference(first, second, lifted(cut.site, ran.site))


def _names_at(site: Site) -> Set[str]:
    """The variables and attributes that are read in the calls that lead to a place."""
    calls = (frame.node for frame in site.frames() if isinstance(frame.node, ast.Call))
    return {last_name(each) for call in calls for each in variables(call)}


def _pairs(trace: Trace) -> Iterator[tuple[Named | Bound, Named | Bound]]:
    """The names that one network got side by side: as variables of one body, or as attributes of one object."""
    networks: dict[int, list[Named | Bound]] = {}
    every: list[Named | Bound] = [*trace.of(Named), *trace.of(Bound)]
    for event in every:
        networks.setdefault(id(event.module if isinstance(event, Named) else event.value), []).append(event)
    for events in networks.values():
        if len({each.name for each in events}) > 1:
            yield from _side_by_side(trace, events)


def _side_by_side(trace: Trace, events: list[Named | Bound]) -> Iterator[tuple[Named | Bound, Named | Bound]]:
    """The pairs of different names, among those of one network, with the same owner."""
    networks = (each for each in events if isinstance(each, Named) or each.tensor is None)
    named = [each for each in networks if isinstance(statement_of(trace, each.site.node), ast.Assign)]
    owned = [(each, _owner_of(each)) for each in named]
    for second, owner in owned:
        for first, other in owned:
            if first.name != second.name and other == owner:
                yield first, second


def _owner_of(event: Named | Bound) -> object:
    """The object whose attribute was bound, as it is written, or the running body of a variable."""
    node = event.site.node
    if isinstance(node, ast.Assign):
        node = node.targets[0]
    return ast.dump(node.value) if isinstance(node, ast.Attribute) else id(event.site.caller)


def _is_lasting(trace: Trace, source: Source, event: Named | Bound) -> bool:
    """True if a name is a mere second name, on every way through the program, and never becomes another one."""
    match statement_of(trace, event.site.node):
        case ast.Assign(value=ast.Name() | ast.Attribute()):
            around = class_of(trace, event.site.node) or source.tree(event.site.path)
            stored = (each for each in variables(around) if isinstance(each.ctx, ast.Store))
            return [*map(last_name, stored)].count(event.name) == 1 and not tests_of(trace, event.site)
    return False


def of_twins(trace: Trace, source: Source, first: Named | Bound, second: Named | Bound, last: Step) -> Report:
    """The report of two names for one network, one of which is told to follow the other."""
    old, new = (_text_of(source, each) for each in (first, second))
    return Report(
        second.site,
        f"`{new}` is no copy of `{old}`: both are one network",
        (
            Step(first.site, "gives a network its name"),
            Step(second.site, "gives the same network another name"),
            last,
        ),
        help=f"give `{new}` a network of its own, such as a `copy.deepcopy()` of it",
        fixes=source.proposed(_network_copied(trace, source, second)),
    )


def _text_of(source: Source, named: Named | Bound) -> str:
    return assigned_to(named.site.node) or source.short(named.site, limit=30)


def _network_copied(trace: Trace, source: Source, named: Named | Bound) -> Iterator[Fix]:
    """`copy.deepcopy(model)` where a second name is bound to a network."""
    document = source.document(named.site)
    for target, value in pairs_of(statement_of(trace, named.site.node)):
        if last_name(target) == named.name:
            known = source.called("copy", document.path)
            copied = f"{known or 'copy'}.deepcopy({edits.flat(document, value)})"
            top = Range(Position(1, 1), Position(1, 1))
            imported = () if known else (Edit(document.path, top, f"import copy{edits.newline(document)}"),)
            changes = (*imported, edits.replace(document, value, copied))
            yield Fix.by(Repair(Way.USE_COPY, text=copied), Safety.UNSAFE, changes)
