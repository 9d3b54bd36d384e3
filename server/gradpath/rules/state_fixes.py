"""State that a body leaves in an attribute and goes on from when it runs again, with a backward in between."""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.tensor import Node, Tensor
from gradpath.diagnostic import Fix, Safety
from gradpath.interpreter.trace import Bound, Held, Site, Trace
from gradpath.repairs import Repair, Way
from gradpath.rules import edits
from gradpath.rules.entrance_fixes import inputs_of
from gradpath.rules.graphs import entrances, nodes_of, reach
from gradpath.rules.keeping_fixes import value_alone
from gradpath.rules.second_calls import Case
from gradpath.rules.stories import bindings, target_of
from gradpath.rules.syntax import function_of, reads_of, statement_of
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class State:
    """What the attribute `name` carries over: `bound` gave it the value, and the expression `use` goes on from it."""

    name: str
    bound: Bound
    use: Site


def crossings(case: Case) -> list[tuple[Node, Node]]:
    """The edges by which the later call enters what the earlier one has spent."""
    if case.call is None:
        return []
    earlier, later = nodes_of(case.earlier.roots), nodes_of(case.call.roots)
    return [(node, edge) for node, edge in entrances(later, earlier) if any(map(case.is_spent, reach([edge])))]


def state_of(case: Case) -> State | None:
    """The state by which the later call enters the spent graph; None where it enters otherwise, or by several."""
    found: dict[str, State] = {}
    for node, edge in crossings(case):
        state = _carrying(case, node, edge)
        if state is None:
            return None
        found.setdefault(state.name, state)
    return next(iter(found.values())) if len(found) == 1 else None


def _carrying(case: Case, node: Node, edge: Node) -> State | None:
    if not isinstance(node.site, Site):
        return None
    for tensor in (each for each in inputs_of(case.trace, node) if each.node is edge):
        for bound in reversed(bindings(case.trace, tensor)):
            name = target_of(case.source, bound)
            body = function_of(case.trace, bound.site.node)
            for use in node.site.frames() if "." in name and body is not None else ():
                again = use.caller is not bound.site.caller and function_of(case.trace, use.node) is body
                if again and any(case.source.text(use, each) == name for each in reads_of(use.node)):
                    return State(name, bound, use)
    return None


def let_go(case: Case, state: State) -> Iterator[Fix]:
    """`self.hidden = tuple(state.detach() for state in self.hidden)` before the statement that goes on from it."""
    statement = statement_of(case.trace, state.use.node)
    held = state.bound.value if isinstance(state.bound.value, Held) else None
    line = value_alone(state.name, held)
    if statement is None or line is None:
        return
    document = case.source.document(state.use)
    lines = [line]
    if not _starts_as_tensor(case.trace, state, statement.lineno):
        lines = [f"if {state.name} is not None:", f"{edits.indent_unit(document)}{line}"]
    edit = edits.insert_before(document, statement, *lines)
    if edit is not None:
        repair = Repair(Way.DETACH_BEFORE, (state.name,), (statement.lineno,), line)
        yield Fix.by(repair, Safety.SAFE, (edit,), preferred=True)


def _starts_as_tensor(trace: Trace, state: State, line: int) -> bool:
    """Whether something else than the statement on that line gave the attribute its first tensors."""
    first = next(
        each
        for each in trace.of(Bound)
        if each.name == state.bound.name and (isinstance(each.value, Held) or isinstance(each.tensor, Tensor))
    )
    return first.site.line != line
