"""Terms that are added to a loss after it was back-propagated, so that nothing learns from them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.findings.gradient_flow import place_in
from gradpath.findings.graphs import executed_nodes, uses_of
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import bindings, lifted, short_operation
from gradpath.findings.syntax import statement_of
from gradpath.interpreter.trace import BackwardRan, Site, Trace
from gradpath.rules.terms.left_out_losses import is_passed_on
from gradpath.source.index import names_of
from gradpath.support.fast_dataclasses import dataclass

_ADDING = frozenset({"add", "sub", "add_", "sub_"})


@dataclass(frozen=True, slots=True, eq=False)
class LateTerm:
    """A sum at `site` of a loss that was back-propagated by `ran` and of another one."""

    site: Site
    ran: BackwardRan

    def report(self, trace: Trace, source: Source) -> Report:
        at = lifted(self.site, self.ran.site)
        text = source.short(at, statement_of(trace, at.node), limit=44)
        return Report(
            at,
            f"nothing learns from what `{text}` adds: the loss was back-propagated before",
            (
                Step(self.ran.site, "goes back through the loss as it was"),
                Step(at, "adds a term that no backward goes through"),
            ),
            help="add the term before the backward",
        )


def late_terms(trace: Trace, ran: BackwardRan) -> Iterator[LateTerm]:
    """The sums under the name of the loss, in the iteration of its backward, that no backward goes through."""
    executed = executed_nodes(trace)
    roots = set(map(id, ran.call.roots))
    names = {bound.name for root in ran.call.roots for bound in bindings(trace, root)}
    uses = {id(event): event for key in roots for event in uses_of(trace).get(key, ())}
    for event in uses.values():
        rest = [each for each in event.operands if id(each) not in roots]
        if (
            0 < len(rest) < len(event.operands)
            and event.site.loops == ran.site.loops
            and short_operation(event.node.name) in _ADDING
            and event.node not in executed
            and all(each.surely_requires_grad and each.node not in executed for each in rest)
            and _variable_of(statement_of(trace, event.site.node)) in names
            and not any(is_passed_on(trace, each) for each in event.node.outputs)
            and place_in(trace.events, event) > place_in(trace.events, ran)
        ):
            yield LateTerm(event.site, ran)


def _variable_of(statement: ast.stmt) -> str:
    """The variable that gets what is computed of itself: `loss = loss + term`; "" where none does."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=name)):
            return name
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in names_of(value):
            return name
    return ""
