"""Gradients that are not finite, for which a step is skipped, and with it the clearing: each backward adds to them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.findings.definitions import defining_expressions
from gradpath.findings.gradient_flow import Effect, Entry, flow_of
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.syntax import block_of, statement_of
from gradpath.interpreter.events import BackwardRan, Decision, Event, Site, Stepped, iterations_between
from gradpath.interpreter.trace import Trace
from gradpath.source.index import contents, holds, names_in, stored_names
from gradpath.source.nodes import last_name
from gradpath.support.fast_dataclasses import dataclass

_ASKING = frozenset({"isfinite", "isnan", "isinf"})


@dataclass(frozen=True, slots=True, eq=False)
class _Turn:
    """What becomes of the gradients of `ran` after a question: the entries up to the next backward, `again`."""

    asked: Decision
    ran: BackwardRan
    after: Sequence[Entry]
    again: Event

    @property
    def used(self) -> Stepped | None:
        """The step that uses them, where they are cleared after that, in the same iteration."""
        own = [each for each in self.after if _is_in(each.event.site, self.asked.site)]
        steps = [place for place, each in enumerate(own) if isinstance(each.event, Stepped)]
        if steps and any(each.effect is Effect.CLEARED for each in own[steps[0] :]):
            step = own[steps[0]].event
            return step if isinstance(step, Stepped) else None
        return None

    @property
    def is_kept(self) -> bool:
        """True if the next iteration of the same loop adds to them."""
        loops = self.asked.site.loops
        return not self.after and iterations_between(loops, self.again.site.loops) == loops[-1][0]


def kept_gradients(trace: Trace, source: Source) -> Iterator[Report]:
    """The questions whether something is finite on which both a step and the clearing after it depend.

    Where the arm without a step does anything, the path has to go through both arms.
    """
    flow = flow_of(trace) if any(each.effect is Effect.CLEARED for each in flow_of(trace)) else []
    asked: dict[ast.If, list[Decision]] = {}
    for decision in trace.decisions if flow else ():
        branch = _branch(trace, decision.node) if decision.site.loops else None
        if branch is not None:
            asked.setdefault(branch, []).append(decision)
    for branch, decisions in asked.items():
        turns = [turn for each in decisions if (turn := _turn(flow, each)) is not None]
        used = next((each for each in turns if each.used is not None), None)
        skipped = None if used is None else _skipped(branch, used)
        if used is None or used.used is None or skipped is None:
            continue
        rest = [each for each in turns if each.used is None]
        kept = trace.visits.get(skipped[0], 0) > 0 and any(each.is_kept for each in rest) if skipped else True
        if kept and not any(each.after for each in rest) and _asks_for_finite(trace, source, used, branch.test):
            yield _report(source, used, used.used, branch, skipped)


def _branch(trace: Trace, node: ast.AST) -> ast.If | None:
    """The branch that a decision is about: around it, or behind the variable that it decides."""
    statement = statement_of(trace, node)
    if isinstance(statement, ast.If):
        return statement if holds(statement.test, node) else None
    names = stored_names(statement) if isinstance(statement, ast.Assign) else set[str]()
    later = (each for each in block_of(trace, statement) if isinstance(each, ast.If) and each.lineno > statement.lineno)
    return next((each for each in later if not names.isdisjoint(names_in(each.test))), None) if names else None


def _report(source: Source, turn: _Turn, step: Stepped, branch: ast.If, skipped: Sequence[ast.stmt]) -> Report:
    site = turn.asked.site
    at, *arm = (Site(site.path, each, site.caller, site.loops) for each in (branch.test, *skipped[:1]))
    return Report(
        at,
        f"skipping `{source.short(step.site, limit=32)}` keeps the gradients that are not finite: nothing clears them",
        (
            Step(turn.ran.site, "computes the gradients, and adds to old ones"),
            Step(at, "skips the step, and with it the clearing"),
            Step(step.site, "is all that uses and clears them"),
        ),
        help="clear the gradients there as well, or in each iteration before the backward",
        through=tuple(arm),
    )


def _turn(flow: Sequence[Entry], asked: Decision) -> _Turn | None:
    """What follows a question, where a backward ran before it in the same iteration, and another one comes later."""
    runs = [place for place, each in enumerate(flow) if isinstance(each.event, BackwardRan)]
    own = [place for place in runs if _is_in(flow[place].event.site, asked.site)]
    if not own or own[-1] == runs[-1]:
        return None
    end, ran = runs[runs.index(own[-1]) + 1], flow[own[-1]].event
    assert isinstance(ran, BackwardRan)
    return _Turn(asked, ran, flow[own[-1] + 1 : end], flow[end].event)


def _is_in(site: Site, asked: Site) -> bool:
    """True if something happens in the iteration of a question."""
    return site.loops[: len(asked.loops)] == asked.loops


def _skipped(branch: ast.If, turn: _Turn) -> list[ast.stmt] | None:
    """The arm without the step; None where neither arm has it all, and the other leaves nothing out."""
    own = [{frame.node for frame in each.event.site.frames()} for each in turn.after]
    for arm, other in ((branch.body, branch.orelse), (branch.orelse, branch.body)):
        if own and all(any(holds(each, node) for each in arm for node in nodes) for nodes in own):
            return other
    return branch.body if isinstance(branch.body[-1], ast.Continue | ast.Return) else None


def _asks_for_finite(trace: Trace, source: Source, turn: _Turn, test: ast.expr) -> bool:
    expressions = defining_expressions(trace, source.document(turn.asked.site), test)
    return any(last_name(call.func) in _ASKING for each in expressions for call in contents(each).calls)
