"""A second run of the engine through nodes that an earlier one freed: the two calls and where their graphs meet."""

from __future__ import annotations

import ast

from gradpath.autograd.tensor import BackwardCall, Node
from gradpath.interpreter.trace import Failed, Held, Lent, Mutated, Replaced, Site, Stepped, Trace
from gradpath.rules.graphs import entrances, leaves, nodes_of
from gradpath.rules.report import Source
from gradpath.rules.stories import bindings, lifted, name_of, since, trains_nothing
from gradpath.rules.syntax import joins
from gradpath.source.index import contents, variables
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
        behind = {leaf.storage for leaf in leaves(nodes_of(self.call.roots))} if self.call is not None else set()
        for event in since(self.trace, self.earlier):
            match event:
                case Stepped():
                    return True
                case Lent(name=name) if name.endswith("step"):
                    return True
                case Mutated(tensor=tensor) | Replaced(tensor=tensor):
                    cut = tensor.cut if tensor.cut is not None and tensor.cut.how == "data" else None
                    whole = tensor if cut is None or cut.source is None else cut.source
                    if whole.storage in behind:
                        return True
        return False

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
    if case.same_root or not case.shared.outputs:
        return None
    if not trains_nothing(case.trace, case.shared, case.earlier):
        return None
    later = nodes_of(case.call.roots) if case.call is not None else []
    for node, edge in entrances(nodes_of(case.earlier.roots), later):
        if edge is not case.shared or not isinstance(node.site, Site):
            continue
        # The call nearest to the two backwards first: a function further in may be called for the later loss, too.
        callers = {id(frame.caller) for frame in case.again.frames()}
        frames = node.site.frames()
        last = next((index for index, frame in enumerate(frames) if id(frame.caller) in callers), len(frames) - 1)
        for frame in reversed(frames[: last + 1]):
            reads = _reads(case, frame)
            if reads:
                return (frame, reads[0]) if len(reads) == 1 else None
        return None
    return None


def _reads(case: Case, frame: Site) -> list[ast.expr]:
    """Where the expression of a frame reads the shared value: its name there, or `sum(fakes)` of a list with it."""
    tensor = case.shared.outputs[0]
    name = name_of(case.trace, case.source, tensor, frame)
    reads: list[ast.expr] = [each for each in variables(frame.node) if case.source.text(frame, each) == name]
    if any(isinstance(bound.value, Held) and bound.name == name for bound in bindings(case.trace, tensor)):
        return [call for call in contents(frame.node).calls if any(joins(call, read) for read in reads)]
    return reads
