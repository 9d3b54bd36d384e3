"""A second run of the engine through nodes that an earlier one freed: the two calls and where their graphs meet."""

from __future__ import annotations

import ast

from gradpath.autograd.tensor import UNSEEN, BackwardCall, Node
from gradpath.findings.crossing import Crossing, continuing, readings
from gradpath.findings.graphs import entrances, leaves, nodes_of, reach
from gradpath.findings.report import Source
from gradpath.findings.stories import lifted, since
from gradpath.findings.syntax import function_of
from gradpath.findings.trained import trains_nothing
from gradpath.interpreter.events import Failed, Lent, Mutated, Replaced, Site, Stepped
from gradpath.interpreter.trace import Trace
from gradpath.source.nodes import last_name
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """A second call: the two calls and the node where their graphs meet."""

    trace: Trace
    source: Source
    failure: Failed
    call: BackwardCall | None
    earlier: BackwardCall
    before: Site
    shared: Node

    @property
    def again(self) -> Site:
        """The call that raises."""
        return self.failure.site

    @property
    def raising(self) -> Site:
        """The call of the engine that raises; `again` may be in the `backward` of a custom Function."""
        return self.again if isinstance(self.again.node, ast.Call) else lifted(self.again, self.before)

    @property
    def same_root(self) -> bool:
        """True if both calls start from the same tensors."""
        return self.call is not None and self.call.roots == self.earlier.roots

    @property
    def same_place(self) -> bool:
        """True if it is one call of the program that runs twice."""
        return self.before.node is self.again.node

    @property
    def is_updated(self) -> bool:
        """True if the parameters that the later call trains may have changed: by a step, or by a write as in SAM."""
        if any(isinstance(each.node, ast.Call) and last_name(each.node.func) == "step" for each in self.again.frames()):
            return True  # In a closure that an optimizer calls, and calls again.
        known = leaves(self.call.roots) if self.call is not None else []
        upstream, unseen = {leaf.storage for leaf in known}, any(leaf.operation == UNSEEN for leaf in known)
        for event in since(self.trace, self.earlier):
            match event:
                case Stepped():
                    return True
                case Lent(name=name) if name.endswith("step"):
                    return True
                case Mutated(tensor=tensor) | Replaced(tensor=tensor):
                    cut = tensor.cut if tensor.cut is not None and tensor.cut.how == "data" else None
                    whole = tensor if cut is None or cut.source is None else cut.source
                    if whole.storage in upstream or (unseen and whole.is_parameter):
                        return True
        return False

    @property
    def crossing(self) -> Crossing:
        """How the later call enters what the earlier one has spent."""
        edges: list[tuple[Node, Node]] = []
        if self.call is not None:
            found = entrances(nodes_of(self.call.roots), nodes_of(self.earlier.roots))
            edges = [(node, edge) for node, edge in found if any(map(self.is_spent, reach([edge])))]
        return Crossing(self.trace, self.source, tuple(edges), self.again, self.failure.kept)

    @property
    def way_of_earlier(self) -> Crossing:
        """How the graph of the earlier call enters what the later one needs as well: `D(fake)`, for instance."""
        roots = self.call.roots if self.call is not None else ()
        edges = entrances(nodes_of(self.earlier.roots), nodes_of(roots))
        return Crossing(self.trace, self.source, tuple(edges), self.before, ())

    def is_spent(self, node: Node) -> bool:
        """True if an earlier call has freed what the node saved."""
        return node.holds and node.freed_by is not None and node.freed_by is not self.call


def apart(case: Case) -> tuple[Site, Site] | None:
    """The two calls; where both are one place, the calls of one body that lead there. None where there are none."""
    if not case.same_place:
        return case.before, case.again
    ways = zip(reversed(case.before.frames()), reversed(case.again.frames()), strict=False)
    pair = next((each for each in ways if each[0].node is not each[1].node), None)
    return pair if pair is not None and pair[0].caller is pair[1].caller else None


def taken_alone(case: Case) -> tuple[Site, ast.expr] | None:
    """The call by which the first loss alone takes the shared value, and the argument that is the value.

    None unless the value belongs to parameters that the steps in between leave alone, as the generator's do in a GAN.
    """
    if case.same_root or not trains_nothing(case.trace, case.shared, case.earlier):
        return None
    found = readings(case.way_of_earlier)
    return found[0] if len(found) == 1 else None


def state_of(case: Case) -> tuple[str, Site] | None:
    """The state that a body leaves in an attribute and continues from when it runs again, and where it does."""
    if case.same_root:
        return None
    found = continuing(case.crossing)
    bodies = {function_of(case.trace, each.node) for use, _, bound in found for each in (use, bound.site)}
    names = {name for _, name, _ in found}
    return (found[0][1], found[0][0]) if len(names) == len(bodies) == 1 and "." in found[0][1] else None
