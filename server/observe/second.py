"""Second order: on which inputs the gradient for an input hangs, so that `create_graph` gives it a graph of its own."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .call import Call, run


def dependencies(call: Call, edges: Sequence[str]) -> tuple[frozenset[tuple[str, str]], frozenset[tuple[str, str]]]:
    """Pairs (the input that a gradient is for, one on which this gradient hangs), and pairs of which it is not sure.

    The gradient that comes in is a constant; all inputs that can have an edge have one. Not sure is a gradient that
    has a graph but no derivative.
    """
    made = run(call, edges)
    flow = made.flow_on()
    sources = [(slot, leaf) for (slot, _), leaf in zip(made.inputs, made.leaves, strict=True) if leaf is not None]
    leaves = [leaf for _, leaf in sources]
    if not flow or not leaves:
        return frozenset(), frozenset()
    found: set[tuple[str, str]] = set()
    unsure: set[tuple[str, str]] = set()
    try:
        gradients = torch.autograd.grad(
            flow, leaves, [torch.ones_like(each) for each in flow], create_graph=True, allow_unused=True
        )
    except (RuntimeError, NotImplementedError):
        return frozenset(), frozenset((slot, other) for slot, _ in sources for other, _ in sources)
    for (slot, _), gradient in zip(sources, gradients, strict=True):
        if gradient is None or not gradient.requires_grad:
            continue
        try:
            deeper = torch.autograd.grad(
                gradient, leaves, torch.ones_like(gradient), retain_graph=True, allow_unused=True
            )
        except (RuntimeError, NotImplementedError):
            unsure |= {(slot, other) for other, _ in sources}
            continue
        found |= {(slot, other) for (other, _), each in zip(sources, deeper, strict=True) if each is not None}
    return frozenset(found), frozenset(unsure)
