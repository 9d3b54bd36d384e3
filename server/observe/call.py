"""A call that can be made again and again with fresh inputs, and one such run of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten


class Unobservable(Exception):
    """This call cannot be watched; the text says why."""


@dataclass(frozen=True)
class Call:
    """A call whose arguments are known by parameter name.

    `slots` gives for each tensor among the flattened arguments the parameter it belongs to; `kinds` describes the
    arguments as the table's conditions see them; `module` and `buffers` hold those of a module, by name.
    """

    run: Callable[..., object]
    args: tuple[object, ...]
    kwargs: Mapping[str, object]
    slots: tuple[str, ...]
    kinds: Mapping[str, object]
    lists: frozenset[str] = frozenset()
    module: Mapping[str, Tensor] = field(default_factory=dict)
    buffers: Mapping[str, Tensor] = field(default_factory=dict)

    def tensors(self) -> list[Tensor]:
        """The tensors among the arguments, in the order of `slots`."""
        return [value for value in tree_flatten((self.args, dict(self.kwargs)))[0] if isinstance(value, Tensor)]


@dataclass
class Run:
    """A call that was made: its inputs by slot, its outputs, and what flows on from the outputs.

    `leaves` are the leaves that the inputs are clones of (a parameter is its own), None for an input without an edge.
    """

    inputs: list[tuple[str, Tensor]]
    leaves: list[Tensor | None]
    written: frozenset[str]
    value: object
    outputs: list[Tensor]

    def flow_on(self) -> list[Tensor]:
        """Consumers of the outputs that save nothing, built now, before any version is bumped."""
        return [output.clone() for output in self.outputs if output.requires_grad]


def can_have_edge(tensor: Tensor) -> bool:
    """Whether a tensor of this dtype can require grad."""
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


def structure(value: object) -> tuple[object, list[Tensor]]:
    """The shape of a returned value, with indices for its tensors, and these."""
    found: list[Tensor] = []

    def walk(item: object) -> object:
        if isinstance(item, Tensor):
            found.append(item)
            return len(found) - 1
        if isinstance(item, (tuple, list)):
            return [walk(part) for part in item]
        return None

    return walk(value), found


def run(call: Call, edges: Sequence[str], within: Mapping[str, frozenset[int]] | None = None) -> Run:
    """Make the call; tensors of the parameters `edges` get an edge (of a list only the items in `within`)."""
    leaves, spec = tree_flatten((call.args, dict(call.kwargs)))
    inputs: list[tuple[str, Tensor]] = []
    sources: list[Tensor | None] = []
    counts: dict[str, int] = {}
    slots = iter(call.slots)
    for position, value in enumerate(leaves):
        if not isinstance(value, Tensor):
            continue
        slot = next(slots)
        item = counts[slot] = counts.get(slot, -1) + 1
        fresh = value.detach().clone()
        source: Tensor | None = None
        if slot in edges and can_have_edge(fresh) and (within is None or slot not in within or item in within[slot]):
            source = fresh.requires_grad_(True)
            fresh = source.clone()
        leaves[position] = fresh
        inputs.append((slot, fresh))
        sources.append(source)
    for name, parameter in call.module.items():
        slot = "*" if name.startswith("*") else name
        parameter.requires_grad_(slot in edges and can_have_edge(parameter))
        parameter.grad = None
        inputs.append((slot, parameter))
        sources.append(parameter if parameter.requires_grad else None)
    inputs += call.buffers.items()
    sources += [None] * len(call.buffers)
    args, kwargs = tree_unflatten(leaves, spec)
    versions = [tensor._version for _, tensor in inputs]
    torch.default_generator.manual_seed(0)  # `torch.manual_seed` also notes the stack for each device that is absent.
    value = call.run(*args, **kwargs)
    written = frozenset(
        slot for (slot, tensor), version in zip(inputs, versions, strict=True) if tensor._version != version
    )
    return Run(inputs, sources, written, value, structure(value)[1])
