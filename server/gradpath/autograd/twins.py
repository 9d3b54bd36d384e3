"""Twin estimates: two parts of one result that are compared with the same target, and that are presumed to be apart."""

from __future__ import annotations

from gradpath.autograd.tensor import BackwardCall, Node


def are_twins(node: Node, one: BackwardCall, other: BackwardCall) -> bool:
    """True if both calls go back from the distances of parts of a result to the same target.

    That target is itself computed from networks, as those of twin critics are: `Q1, Q2 = critic(state, action)` gives
    what two networks compute. What is compared with labels is as a rule two heads of one network.
    """
    upstream = {id(each) for output in node.outputs for each in output.lineage()}
    targets = _targets(one, upstream)
    return bool(targets) and targets == _targets(other, upstream)


def _targets(call: BackwardCall, upstream: set[int]) -> set[int]:
    """What a loss compares with, by identity: without a graph, and computed from the parameters of a network."""
    found = (each for root in call.roots for each in root.lineage() if each.node is None and id(each) not in upstream)
    return {id(each) for each in found if not each.is_parameter and any(one.is_weight for one in each.ancestors())}
