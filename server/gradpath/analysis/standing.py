"""Whether a silent fault stands: nothing raises where it is, so one path without it is reason enough for silence."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

from gradpath.analysis.arrivals import comes_the_same_way
from gradpath.analysis.found import Found, breaks_off, statement_of
from gradpath.findings.gradient_flow import trains_nobody
from gradpath.findings.report import Source
from gradpath.findings.syntax import ancestry
from gradpath.interpreter.events import Decision
from gradpath.interpreter.idle import leaves
from gradpath.interpreter.paths import Going, Paths, turned
from gradpath.interpreter.trace import Trace
from gradpath.source.index import holds, stored_names
from gradpath.support.fast_enums import Enum

TURNS = 10
"""How many branches that are decided repeatedly are turned around to learn whether a silent fault depends on one."""

ALONE = 18_000
"""Statements that paths may execute together before no branch is turned around the first time alone any more."""


class Answer(Enum):
    """What a path on which branches go the other way says of a silent fault."""

    DENIES = "denies"
    """It comes to the places of the fault, and the fault is not there."""
    CONFIRMS = "confirms"
    """The fault is there as well."""
    NOTHING = "nothing"
    """It ends early, or does not come to the places."""


def agreed(found: Found, paths: Collection[int], traces: Sequence[Trace]) -> bool:
    """True if a silent fault is found on every path that runs to its end and reaches the places that it is about.

    `paths` are the identities of the traces on which it was found. A path that leaves a loop before the fault can be,
    where that takes two iterations, says nothing about it.
    """
    visits = _visits(found)
    denied, lasting = found.rule.denied, found.rule.lasting
    for trace in traces:
        if breaks_off(found, trace):
            continue
        if denied is not None and denied(trace, found.report):
            return False
        if lasting:
            continue
        if trace.is_whole and id(trace) not in paths and _reaches(found, trace, visits):
            return False
    return True


def stands(found: Found, paths: Paths, source: Source) -> bool:
    """True if a silent fault is found as well when a branch goes the other way each time that it is reached.

    Other paths reverse one decision each, while a branch in a loop is decided again in each iteration. False if that
    takes too long. As far as little was run, a branch is turned around the first time alone as well.
    """
    visits, steps = _visits(found), found.trace.steps
    repeated = _repeated(found.trace.decisions)[:TURNS]
    if not _stands_turned(found, repeated, visits, paths, source):
        return False
    for index in repeated:
        if paths.executed + steps > ALONE:
            break
        if _answer(found, paths.trace(turned(found.trace, index)), visits, source) is Answer.DENIES:
            return False
    return True


def _stands_turned(
    found: Found, indices: Sequence[int], visits: Mapping[ast.stmt, int], paths: Paths, source: Source
) -> bool:
    """True if no branch denies a silent fault that goes the other way each time that it is reached.

    Most branches have nothing to do with it. So many are turned around on one path: where that finds the fault, none of
    those that were reached denies it, and where it does not, each half is asked, first that near the fault. What two
    branches deny together only is no reason for silence.
    """
    decisions = found.trace.decisions
    open_groups = [[index for index in indices if not _picks_one(found.trace, decisions[index])]]
    while open_groups:
        group = open_groups.pop()
        if not group:
            continue
        if not paths.affords(found.trace.steps):
            return False
        going = {decisions[index].node: not decisions[index].outcome for index in group}
        other = paths.trace(turned(found.trace, group[0]), going)
        answer = _answer(found, other, visits, source)
        if len(group) == 1:
            if answer is Answer.DENIES:
                return False
        elif answer is Answer.CONFIRMS and len(hidden := _hidden(group, found, other, going)) < len(group):
            open_groups.append(hidden)
        else:
            half = len(group) // 2
            open_groups += [group[:half], group[half:]]
    return True


def _hidden(group: Sequence[int], found: Found, other: Trace, going: Going) -> list[int]:
    """Those of some branches that a path did not come to, because others of them were turned around.

    Where one leaves an iteration, what follows in the loop is skipped as a whole, and the fault is there with and
    without it. So a branch that follows need not be turned around for itself if it can but skip a part of that.
    """
    decisions = found.trace.decisions
    reached = {each.node for each in other.decisions if each.outcome is going.get(each.node)}
    loops = {decisions[index].site.loops[-1:] for index in group if decisions[index].node in reached} - {()}
    hidden = (index for index in group if decisions[index].node not in reached)
    return [
        index
        for index in hidden
        if decisions[index].site.loops[-1:] not in loops or not _skips(found.trace, decisions[index])
    ]


def _skips(trace: Trace, decision: Decision) -> bool:
    """True if the other way of a branch does nothing but leave a block: `if row.is_empty: continue`."""
    branch = next((each for each in reversed(ancestry(trace, decision.node)) if isinstance(each, ast.If)), None)
    if branch is None or branch.orelse or len(branch.body) > 1:
        return False
    return decision.outcome is decision.negated and leaves(branch.body)


def _answer(found: Found, other: Trace, visits: Mapping[ast.stmt, int], source: Source) -> Answer:
    """What a path on which branches are turned around says of a silent fault."""
    denied = found.rule.denied
    if breaks_off(found, other):
        return Answer.NOTHING
    if denied is not None and denied(other, found.report):
        return Answer.DENIES
    if not other.is_whole or trains_nobody(other) or not _reaches(found, other, visits):
        return Answer.NOTHING
    lasts = found.rule.lasting and denied is not None
    return Answer.CONFIRMS if lasts or finds(found, other, source) else Answer.DENIES


def finds(found: Found, other: Trace, source: Source) -> bool:
    """True if the rule of a fault finds it on another path as well."""
    return any(report.at.node is found.report.at.node for report in found.rule.find(other, source))


def _visits(found: Found) -> dict[ast.stmt, int]:
    """The statements at which the story of a fault happens, and how often a path comes to each that has the story.

    What happens in the second iteration says nothing of a path that leaves the loop in the first.
    """
    visits: dict[ast.stmt, int] = {}
    for site in (*found.sites, *found.report.through):
        statement = statement_of(found.trace, site)
        if statement is not None:
            iteration = max((each for _, each in site.loops), default=1)
            needed = min(iteration, found.trace.visits.get(statement, 1))
            visits[statement] = max(needed, visits.get(statement, 1))
    return visits


def _reaches(found: Found, trace: Trace, visits: Mapping[ast.stmt, int]) -> bool:
    """True if a path comes to the places of a story as often as the story does, and by the same calls.

    One that would presumably have ended there, as by a step of an optimizer that is None, does not.
    """
    if _leaves_in_the_first(found, trace) or any(trace.visits.get(each, 0) < times for each, times in visits.items()):
        return False
    survived = (holds(each, node) for node in trace.survived for each in visits if not hasattr(each, "body"))
    return not any(survived) and comes_the_same_way(found.sites, trace)


def _leaves_in_the_first(found: Found, trace: Trace) -> bool:
    """True if a loop of whose later iterations a story tells has but one on a path, however often it is entered."""
    again = {found.trace.loops[loop] for site in found.sites for loop, count in site.loops if count > 1}
    return any(isinstance(loop, ast.For | ast.While) and trace.laps.get(loop, 0) < 2 for loop in again)


def _repeated(decisions: Sequence[Decision]) -> list[int]:
    """The first decision at each branch that is decided repeatedly and may matter to a graph."""
    first: dict[ast.AST, int] = {}
    again: set[ast.AST] = set()
    for index, each in enumerate(decisions):
        if not each.idle and (first.setdefault(each.node, index) != index or each.site.loops):
            again.add(each.node)
    return [index for node, index in first.items() if node in again]


def _picks_one(trace: Trace, decision: Decision) -> bool:
    """True if a loop was asked whether it has come to a certain thing, or to one of some, and it had: `j == i`.

    One of its iterations comes to that, or the program would not ask.
    """
    loop = trace.loops.get(decision.site.loops[-1][0]) if decision.site.loops else None
    match decision.node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() | ast.In() | ast.NotIn() as asks], comparators=[right]):
            own = stored_names(loop.target) if isinstance(loop, ast.For) else set[str]()
            met = decision.outcome is isinstance(asks, ast.Eq | ast.In)
            return met and any(isinstance(each, ast.Name) and each.id in own for each in (left, right))
    return False
