"""Loop-carried graphs: the value, the variable that keeps it, and where the next iteration uses it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.autograd.errors import AutogradError
from gradpath.autograd.tensor import BackwardCall, Node, Tensor
from gradpath.findings.crossing import Crossing
from gradpath.findings.graphs import certainly_leads, is_from_outside, leads_to, meeting, nodes_of, reach
from gradpath.findings.report import Source
from gradpath.findings.stories import bindings, lifted, same_activation, target_of
from gradpath.findings.syntax import (
    Compound,
    Definition,
    ancestry,
    arguments_of,
    binds_first,
    function_of,
    statement_of,
)
from gradpath.interpreter.events import Bound, Built, Failed, Held, Kept, Site, iterations_between
from gradpath.interpreter.trace import Trace
from gradpath.source.index import contents, methods_called, names_of, variables
from gradpath.source.nodes import last_name
from gradpath.support.fast_dataclasses import dataclass

_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.FunctionDef, ast.AsyncFunctionDef)
"""Repeated code: loops, and functions that a framework calls for each batch."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A value that takes its graph from one iteration into the next.

    `node` made it, `bound` gave it the name that keeps it (None where it has none), `use` is where the next iteration
    uses it, lifted to where the name is known from the `place` of the operation itself, and `reads` are the expressions
    in `use` that read that name. `old` says that the variable has a new value by
    now, so that the old one lives on in a container only; `cached` that the iteration which made it used it too.
    """

    node: Node
    use: Site
    place: Site
    name: str
    bound: Bound | None
    reads: tuple[ast.expr, ...]
    old: bool
    cached: bool

    @property
    def held(self) -> Held | None:
        """The container that the variable holds, None where it holds the tensor itself."""
        value = self.bound.value if self.bound is not None else None
        return value if isinstance(value, Held) else None


@dataclass(frozen=True, slots=True)
class Case:
    """A second call in a later iteration of `loop`: `before` freed what `again` needs, which is carried over."""

    trace: Trace
    source: Source
    roots: tuple[Tensor, ...]
    node: Node
    earlier: BackwardCall
    before: Site
    again: Site
    loop: ast.For | ast.AsyncFor | ast.While | ast.FunctionDef | ast.AsyncFunctionDef
    number: int
    carried: tuple[Carried, ...]
    kept: tuple[Kept, ...]

    @property
    def first(self) -> Node:
        """The node by which the old graph is entered."""
        return self.carried[0].node

    @property
    def name(self) -> str:
        """The variable that carries the graph; empty where none is known."""
        return self.carried[0].name

    @property
    def made(self) -> Site:
        """Where the old graph was built, in the function that named its result if there is one."""
        site = self.first.site
        bound = self.carried[0].bound
        return lifted(site, bound.site if bound is not None else self.again)

    @property
    def turn(self) -> Site:
        """The place in the loop's own body that leads to the failing call."""
        return [frame for frame in self.again.frames() if self.number in dict(frame.loops)][-1]

    @property
    def crossing(self) -> Crossing:
        """How the new graph enters the old one."""
        entered = {each.node for each in self.carried}
        old = reach(entered)
        new = (node for node in reach(self.roots) if node not in old)
        edges = tuple((node, edge) for node in new for edge in node.edges if edge in entered)
        return Crossing(self.trace, self.source, edges, self.again, self.kept, self.loop, self.number)

    @property
    def from_outside(self) -> bool:
        """True if the graph was built before the loop, once for all iterations."""
        return is_from_outside(self.first, self.again, self.number)

    @property
    def all_from_outside(self) -> bool:
        """True if even the tensors that backward starts from were made before the loop."""
        nodes = nodes_of(self.roots)
        return bool(nodes) and all(is_from_outside(node, self.again, self.number) for node in nodes)

    @property
    def container(self) -> tuple[Site, ast.expr] | None:
        """The list that keeps the old graph alive: what the using statement reads and the program appends to.

        A loop over that list in the using function may give its items a name.
        """
        if self.carried[0].reads:
            return None
        appended = set(appended_to(self.trace))
        for frame in self.carried[0].place.frames():
            if isinstance(frame.node, Definition):
                continue  # The frame of the entered function, which has no caller.
            statement = statement_of(self.trace, frame.node)
            around = frame.node if isinstance(statement, Compound) else statement
            for each in variables(around):
                name = last_name(each)
                if name in appended and not self.is_fresh(frame, each):
                    return frame, each
        return self._gone_through(appended)

    def _gone_through(self, appended: set[str]) -> tuple[Site, ast.expr] | None:
        """The attribute that a loop around the use iterates over."""
        carried = self.carried[0]
        for loop in reversed(ancestry(self.trace, carried.use.node)):
            if not isinstance(loop, ast.For) or loop is self.loop or not same_activation(carried.use, self.again):
                continue
            if carried.name in names_of(loop.target):
                for each in contents(loop.iter).attributes:
                    if each.attr in appended:
                        return carried.use, each
        return None

    def is_fresh(self, frame: Site, variable: ast.expr) -> bool:
        """True if each iteration has a variable of its own: it is bound there before it is read."""
        if not isinstance(variable, ast.Name):
            return False
        function = function_of(self.trace, frame.node)
        outside = frame.caller is None or self.number not in dict(frame.caller.loops)
        body = self.loop.body if outside or function is None else function.body
        passed = function is not None and body is function.body and variable.id in arguments_of(function)
        return not passed and binds_first(body, variable.id)


def appended_to(trace: Trace) -> Iterator[str]:
    """The names (the last part of dotted ones) of what the program appends to."""
    for statement in trace.visits:
        for owner, method, _ in methods_called(statement):
            if method in ("append", "extend", "appendleft") and isinstance(owner, (ast.Name, ast.Attribute)):
                yield owner.id if isinstance(owner, ast.Name) else owner.attr


def loop_between(trace: Trace, earlier: Site, later: Site) -> int | None:
    """The activation of the loop that two places share in different iterations; a comprehension counts as none.

    It has no body in which a state could be detached: what fails there is reported like straight-line code.
    """
    number = iterations_between(earlier.loops, later.loops)
    return number if number is not None and isinstance(trace.loops[number], _LOOPS) else None


def case_of(trace: Trace, source: Source, failure: Failed, error: AutogradError) -> Case | None:
    """The case of a failure; None where both calls belong to the same iteration."""
    earlier, node, call = error.earlier, error.node, error.call
    if earlier is None or node is None or call is None:
        return None
    number = loop_between(trace, earlier.site, failure.site)
    loop = trace.loops[number] if number is not None else None
    if number is None or not isinstance(loop, _LOOPS):
        return None
    roots = call.roots
    if not certainly_leads(nodes_of(roots), node):
        return None
    outside = [root.node for root in roots if root.node is not None and not _iteration(root.node.site, number)]
    if outside and len(outside) == len(roots):
        shared = meeting(nodes_of(earlier.roots), outside, node)
        carried = _carried(trace, source, None, shared, failure.site, number, 0)
    else:
        last = _iteration(earlier.site, number)
        carried = _crossing(trace, source, roots, node, failure.site, number, last)
    return Case(
        trace, source, roots, node, earlier, earlier.site, failure.site, loop, number, tuple(carried), failure.kept
    )


def case_over(trace: Trace, source: Source, failure: Failed, error: AutogradError, needed: Node) -> Case | None:
    """The case where a graph of an earlier iteration is entered that nothing has freed, on the way to `needed`."""
    call = error.call
    if call is None:
        return None
    number = iterations_between(needed.site.loops, failure.site.loops)
    loop = trace.loops[number] if number is not None else None
    if number is None or not isinstance(loop, _LOOPS):
        return None
    last = _iteration(failure.site, number) - 1
    carried = _crossing(trace, source, call.roots, needed, failure.site, number, last)
    return Case(
        trace, source, call.roots, needed, call, failure.site, failure.site, loop, number, tuple(carried), failure.kept
    )


def _iteration(site: Site, number: int) -> int:
    """In which iteration of the loop with that number something happened; 0 before it."""
    return dict(site.loops).get(number, 0)


def _crossing(
    trace: Trace, source: Source, roots: Sequence[Tensor], needed: Node, later: Site, number: int, last: int
) -> Iterator[Carried]:
    """The edges from iterations after `last` back to `last` or before, on the way to `needed`; nearest first."""
    for root in roots:
        if root.node is not None and _iteration(root.node.site, number) <= last:
            yield from _carried(trace, source, None, root.node, later, number, last)
    for node in reach(roots):
        if _iteration(node.site, number) <= last:
            continue
        for edge in node.edges:
            if edge.accumulates is None and _iteration(edge.site, number) <= last and leads_to(edge, needed):
                yield from _carried(trace, source, node, edge, later, number, last)


def _carried(
    trace: Trace, source: Source, user: Node | None, node: Node, later: Site, number: int, last: int
) -> Iterator[Carried]:
    site = later if user is None else user.site
    tensors = _passed(trace, user, node)
    cached = any(_is_used_at_once(trace, each, site) for each in tensors)
    candidates = [
        (bound, tensor)
        for tensor in tensors
        for bound in reversed(bindings(trace, tensor))
        if _iteration(bound.site, number) <= last
    ]
    found: dict[int, Carried] = {}
    for bound, tensor in candidates:
        name = target_of(source, bound)
        for use in site.frames():
            if id(tensor) in found or ("." not in name and not same_activation(use, bound.site)):
                continue
            reads = tuple(_reads(source, use, name))
            if reads and not _is_old(trace, bound, tensor):
                found[id(tensor)] = Carried(node, use, site, name, bound, reads, False, cached)
    if found:
        yield from found.values()
        return
    use = lifted(site, later)
    if candidates:
        bound, tensor = candidates[0]
        yield Carried(node, use, site, target_of(source, bound), bound, (), _is_old(trace, bound, tensor), cached)
    else:
        yield Carried(node, use, site, "", None, (), False, cached)


def _passed(trace: Trace, user: Node | None, node: Node) -> list[Tensor]:
    for event in trace.events:
        if isinstance(event, Built) and event.node is user:
            found = [each for each in event.operands if each.node is node]
            if found:
                return found
    return node.outputs


def _is_used_at_once(trace: Trace, tensor: Tensor, use: Site) -> bool:
    """True if the place that uses it now used it in the iteration that made it, too."""
    way = [frame.node for frame in use.frames()]
    return any(
        isinstance(event, Built)
        and event.site.node is use.node
        and iterations_between(event.site.loops, use.loops) is not None
        and [frame.node for frame in event.site.frames()] == way
        and any(each is tensor for each in event.operands)
        for event in trace.events
    )


def _reads(source: Source, use: Site, name: str) -> Iterator[ast.expr]:
    """The places in the using expression that read `name`."""
    for node in variables(use.node):
        reads = isinstance(node.ctx, ast.Load) or (isinstance(use.node, ast.AugAssign) and use.node.target is node)
        if reads and source.text(use, node) == name:
            yield node


def _is_old(trace: Trace, bound: Bound, tensor: Tensor) -> bool:
    """True if the iteration that fails has bound the variable again, not from its own old value."""
    inside = False
    for event in trace.events:
        if inside and isinstance(event, Bound) and event.name == bound.name:
            if event.site.caller is not bound.site.caller:
                continue
            values = event.value.tensors if isinstance(event.value, Held) else (event.tensor,)
            known = [each for each in values if isinstance(each, Tensor)]
            if known and not any(tensor in each.lineage() for each in known):
                return True
        inside = inside or event is bound
    return False
