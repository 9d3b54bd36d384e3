"""Gradients that are cleared between the backward and the step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from gradpath.diagnostic import Level
from gradpath.findings.gradient_flow import flow_of, has_run_loops
from gradpath.findings.report import Finding, Report, Rule, Source, reports
from gradpath.interpreter.events import Stepped
from gradpath.interpreter.trace import Trace
from gradpath.rules.loops.lost_gradients import lost_before
from gradpath.rules.loops.micro_batches import lost_share
from gradpath.rules.loops.never_stepped import never_stepped


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Steps that lack what was cleared before them, and optimizers that clear and never step."""
    if has_run_loops(trace):
        yield from reports(trace, source, chain(_lost(trace), never_stepped(trace, source)))


def _lost(trace: Trace) -> Iterator[Finding]:
    """The gradients that are lost before a step each time, or but for their last share the first time."""
    flow = flow_of(trace)
    for node in dict.fromkeys(step.site.node for step in trace.of(Stepped)):
        steps = [step for step in trace.of(Stepped) if step.site.node is node]
        lost = [lost_before(trace, flow, step) for step in steps]
        found = lost[0] if None not in lost else lost_share(trace, flow, steps[0])
        if found is not None:
            yield found


RULE = Rule(
    "zero-grad-before-step",
    "loop",
    Level.WARNING,
    "gradients are cleared after `backward()` and before `step()`, so that the step does nothing",
    find,
    idle=True,
)
