"""Leaves that lost their place to a tensor computed from them: `w = w - lr * w.grad`."""

from __future__ import annotations

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.trace import Bound, Held, Trace
from gradpath.rules.report import Source
from gradpath.rules.stories import target_of


def rebound_behind(trace: Trace, source: Source, root: Tensor) -> tuple[Bound, Tensor] | None:
    """Why `root` has no graph, where a leaf was rebound: the assignment, and what it put in the leaf's place."""
    for tensor in (root, *root.ancestors()):
        found = rebinding_of(trace, source, tensor) if tensor.node is None else None
        if found is not None:
            return found[0], tensor
    return None


def rebinding_of(trace: Trace, source: Source, tensor: Tensor) -> tuple[Bound, Tensor] | None:
    """The assignment that put `tensor` in the place of a leaf that it was computed from, and that leaf."""
    leaves: dict[tuple[str, int], Tensor] = {}
    for event in trace.events:
        if not isinstance(event, Bound):
            continue
        name = target_of(source, event)
        values = event.value.tensors if isinstance(event.value, Held) else (event.tensor,)
        for place, value in enumerate(values):
            if not isinstance(value, Tensor):
                continue
            leaf = leaves.get((name, place))
            is_leaf = value.flag and value.node is None
            cut = value.cut is not None and value.cut.how not in ("no_grad", "inference_mode")
            replaces = leaf is not None and any(each is leaf for each in value.ancestors())
            if leaf is not None and value is tensor and replaces and not is_leaf and not cut:
                return event, leaf
            if is_leaf and value.cut is None and value.base is None:
                leaves[name, place] = value
    return None
