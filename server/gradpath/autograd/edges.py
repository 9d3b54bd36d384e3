"""The edges that an operation's inputs give to its node."""

from __future__ import annotations

from gradpath.autograd.behaviour import Behaviour
from gradpath.autograd.provenance import OBSERVED, OPEN
from gradpath.autograd.tensor import Node, Site
from gradpath.support.fast_dataclasses import dataclass


@dataclass(slots=True)
class Edges:
    """The edges of an operation's inputs, the parameter of each, and the inputs that certainly or possibly have one."""

    nodes: list[Node]
    names: list[str]
    certain: set[str]
    possible: set[str]

    def trigger(self, parameters: frozenset[str]) -> bool:
        """True if `parameters` certainly have an edge: a certain one, or all possible edges are theirs."""
        if self.certain:
            return not self.certain.isdisjoint(parameters)
        return bool(self.possible) and self.possible <= parameters

    def meet(self, name: str, behaviour: Behaviour, site: Site) -> Node:
        provenance = OBSERVED if self.certain else OPEN
        node = Node(name, tuple(self.nodes), site, holds=self.trigger(behaviour.holds), provenance=provenance)
        node.behaviour = behaviour
        node.parameters = tuple(self.names)
        return node


def leads_on(behaviour: Behaviour, parameter: str) -> bool:
    """True if an output may require grad because of a parameter."""
    outputs = behaviour.outputs
    if len(outputs) == 1:
        return parameter in outputs[0].grad or parameter in outputs[0].maybe_grad
    return any(parameter in output.grad or parameter in output.maybe_grad for output in outputs)
