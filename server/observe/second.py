"""Second order: on which inputs the gradient for an input hangs, so that `create_graph` gives it a graph of its own.

And what this graph saves.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import torch

from .call import Call, run

GRADIENT = "gradient"
"""Stands for the gradient that comes in, where it has a graph itself."""

MODIFIED = ("modified by an inplace operation", "has been modified inplace")


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
        reached = {(slot, other) for (other, _), each in zip(sources, deeper, strict=True) if each is not None}
        found |= reached
        if not reached:
            unsure.add((slot, slot))  # A graph that leads nowhere is a graph, too.
    return frozenset(found), frozenset(unsure)


def saved_again(
    call: Call, edges: Sequence[str], inplace: str | None, aliases: Sequence[str]
) -> frozenset[tuple[str, str]]:
    """What the graph of a gradient saves: pairs ("x:y", for whom), `y` being saved in the graph of that for `x`.

    That is so where the one for whom it is has an edge: a parameter, or `GRADIENT`. Nothing is told of lists, nor where
    several outputs hand gradients on.
    """
    if len(run(call, edges).flow_on()) != 1:
        return frozenset()
    single = [edge for edge in edges if edge not in call.lists and edge != "*"]
    keys = [slot for slot, _ in run(call, edges).inputs if slot not in call.lists and slot not in ("*", inplace)]
    shared = [bool(re.match(r"(same|view|multiview|alias):", alias)) for alias in aliases]
    keys += [f"out{index}" for index, is_shared in enumerate(shared) if not is_shared]
    found: set[tuple[str, str]] = set()
    with torch.random.fork_rng(devices=[]):
        for edge, reason in itertools.product(single, (GRADIENT, *single)):
            alone = [each for each in edges if each in (edge, reason)]
            if _is_missed(call, edge, reason, alone, keys):
                found |= {
                    (f"{edge}:{key}", reason)
                    for key in dict.fromkeys(keys)
                    if _is_missed(call, edge, reason, alone, [key]) and _is_missed(call, edge, reason, edges, [key])
                }
    return frozenset(found)


def _is_missed(call: Call, edge: str, reason: str, edges: Sequence[str], written: Sequence[str]) -> bool:
    """Whether the gradient for `edge` is not differentiable by `reason` where what is `written` got a new version."""
    made = run(call, edges)
    flow = made.flow_on()
    leaves = {slot: leaf for (slot, _), leaf in zip(made.inputs, made.leaves, strict=True) if leaf is not None}
    if len(flow) != 1:
        return False
    seed = torch.ones_like(flow[0], requires_grad=reason == GRADIENT or len(edges) > 2)
    source = seed if reason == GRADIENT else leaves.get(reason)
    if edge not in leaves or source is None:
        return False
    try:
        (gradient,) = torch.autograd.grad(flow, leaves[edge], seed.clone(), create_graph=True, allow_unused=True)
    except (RuntimeError, NotImplementedError):
        return False
    if gradient is None or not gradient.requires_grad:
        return False
    result = gradient.clone()
    outputs = {f"out{index}": output for index, output in enumerate(made.outputs)}
    for name, tensor in (*made.inputs, *outputs.items()):
        if name in written:
            torch.autograd.graph.increment_version(tensor)
    try:
        torch.autograd.grad(result, source, torch.ones_like(result), allow_unused=True)
    except (RuntimeError, NotImplementedError) as error:
        return any(text in str(error) for text in MODIFIED)
    return False
