"""One call of an operation, watched: what it returns, what it saves for whom, and whether its graph can be used twice.

Everything is learnt by behaviour. To see whether a tensor was saved its version is bumped after the call: does
backward raise? To see whether something is freed, backward is called twice. Inputs are never leaves but clones of
leaves, so that they have a valid graph edge and may be written in place. They are of the default dtype, float32, on the
CPU: in float64 some operations take other ways (`LSTM` then does not save its result).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from .call import Call, Run, Unobservable, can_have_edge, run, structure
from .second import MODIFIED, dependencies, saved_again
from .words import dtypes

Relation: TypeAlias = frozenset[tuple[str, str]]
"""Pairs (what is saved, for whose edge), or (for whom a gradient is, on whose edge it hangs)."""

TWICE = "backward through the graph a second time"
NO_DERIVATIVE = ("not implemented", "is not differentiable", "does not support automatic differentiation")


@dataclass(frozen=True)
class OutputSeen:
    """A returned tensor as one call showed it; `dtypes` are the table's words that were true of it."""

    alias: str
    grad: frozenset[str]
    dtypes: frozenset[str]


@dataclass(frozen=True)
class Seen:
    """What one call showed. `edges` are the parameters that can have an edge, `keys` all that could have been saved.

    Where `tells_views` is false, a view of a tensor that nobody else has counts as a fresh tensor in conditions; what
    is in `second` counts only with `tells_second`.
    """

    kinds: Mapping[str, object]
    edges: frozenset[str]
    keys: frozenset[str]
    outputs: tuple[OutputSeen, ...]
    returns: object
    fields: tuple[str, ...]
    saves: Relation
    holds: frozenset[str]
    inplace: str | None
    differentiable: bool
    unsure: Relation = frozenset()
    unsure_holds: frozenset[str] = frozenset()
    pairwise: frozenset[str] = frozenset()
    second: Relation = frozenset()
    unsure_second: Relation = frozenset()
    second_saves: Relation = frozenset()
    tells_views: bool = True
    tells_second: bool = False


def observe(call: Call) -> Seen:
    """Watch a call; raises Unobservable where nothing can be said."""
    tensors = call.tensors()
    if any(tensor.layout != torch.strided or tensor.numel() == 0 for tensor in tensors):
        raise Unobservable("empty or not strided")
    edges = sorted({slot for slot, tensor in zip(call.slots, tensors, strict=True) if can_have_edge(tensor)})
    edges += sorted(name for name, tensor in call.module.items() if can_have_edge(tensor))
    edges = list(dict.fromkeys("*" if name.startswith("*") else name for name in edges))
    edges = [edge for edge in edges if _takes_edge(call, edge)]
    full = run(call, edges)
    if not full.outputs or any(output.layout != torch.strided for output in full.outputs):
        raise Unobservable("no tensor comes back")
    inplace = _written(call, full)
    aliases = [_alias(call, full, index) for index in range(len(full.outputs))]
    grads: list[set[str]] = [set() for _ in full.outputs]
    alone: dict[str, tuple[set[str], bool]] = {}
    differentiable = True
    for edge in edges:
        made = run(call, [edge])
        for index, output in enumerate(made.outputs):
            if output.requires_grad:
                grads[index].add(edge)
        if not any(output.requires_grad for output in made.outputs):
            alone[edge] = (set(), False)
            continue
        result = _saved_and_held(call, [edge], inplace, aliases)
        if result is None:
            differentiable = False
        else:
            alone[edge] = result
    saves = {(key, edge) for edge, (keys, _) in alone.items() for key in keys}
    holds = {edge for edge, (_, held) in alone.items() if held}
    unsure, unsure_holds = _check_or_rule(
        call, [edge for edge in edges if edge in alone], saves, holds, inplace, aliases
    )
    second, unsure_second = dependencies(call, [edge for edge in edges if edge in alone])
    second_saves = saved_again(call, [edge for edge in edges if edge in alone], inplace, aliases) if alone else ()
    slots = {"*" if slot.startswith("*") else slot for slot in (*call.slots, *call.module, *call.buffers)}
    return Seen(
        kinds=call.kinds,
        edges=frozenset(alone),
        keys=frozenset(slots | {f"out{index}" for index in range(len(full.outputs))}),
        outputs=tuple(
            OutputSeen(alias, frozenset(grad), words)
            for alias, grad, words in zip(aliases, grads, dtypes(call), strict=True)
        ),
        returns=structure(full.value)[0],
        fields=_fields(full.value),
        saves=frozenset(saves),
        holds=frozenset(holds),
        inplace=inplace,
        differentiable=differentiable,
        unsure=frozenset(unsure),
        unsure_holds=frozenset(unsure_holds),
        pairwise=frozenset(name for name in call.lists if (name, name) in saves and _only_for_others(call, name)),
        second=second,
        unsure_second=unsure_second,
        second_saves=frozenset(second_saves),
    )


def _takes_edge(call: Call, edge: str) -> bool:
    """Some arguments must not require grad (the class weights of a loss): the call itself then raises."""
    try:
        run(call, [edge])
    except RuntimeError as error:
        if "is not differentiable with respect to" in str(error):
            return False
        raise
    return True


def _written(call: Call, made: Run) -> str | None:
    """The parameter that the call writes; buffers such as `running_mean` that come along do not count."""
    for output in made.outputs:
        for slot, tensor in made.inputs:
            if output is tensor and slot in made.written:
                return slot
    return next(iter(sorted(made.written - call.buffers.keys())), None)


def _backward(tensors: Iterable[Tensor]) -> None:
    roots = list(tensors)
    torch.autograd.backward(roots, [torch.ones_like(root) for root in roots])


def _saved_and_held(
    call: Call,
    edges: Sequence[str],
    inplace: str | None,
    aliases: Sequence[str],
    within: Mapping[str, frozenset[int]] | None = None,
) -> tuple[set[str], bool] | None:
    """Which keys raise when bumped, and whether a second backward raises; None where there is no derivative."""
    flow = run(call, edges, within).flow_on()
    try:
        _backward(flow)
    except (RuntimeError, NotImplementedError) as error:
        if any(text in str(error) for text in NO_DERIVATIVE):
            return None
        raise Unobservable(f"backward raises: {_first_line(error)}") from error
    held = _raises(flow, (TWICE,))
    saved: set[str] = set()
    everything = run(call, edges, within)
    flow = everything.flow_on()
    for _, tensor in everything.inputs:
        _bump(tensor)
    for output in everything.outputs:
        _bump(output)
    if not _raises(flow, MODIFIED):
        return saved, held
    for position, (slot, _) in enumerate(everything.inputs):
        if slot in saved:
            continue
        made = run(call, edges, within)
        flow = made.flow_on()
        _bump(made.inputs[position][1])
        if _raises(flow, MODIFIED):
            saved.add("out0" if slot == inplace else slot)
    for index in range(len(everything.outputs)):
        shared = re.match(r"(same|view|multiview|alias):(.*)", aliases[index])
        if shared:
            continue  # It has its argument's version counter: seen above.
        made = run(call, edges, within)
        flow = made.flow_on()
        _bump(made.outputs[index])
        if _raises(flow, MODIFIED):
            saved.add(f"out{index}")
    return saved, held


def _bump(tensor: Tensor) -> None:
    torch.autograd.graph.increment_version(tensor)


def _raises(flow: Sequence[Tensor], texts: Sequence[str]) -> bool:
    try:
        _backward(flow)
    except RuntimeError as error:
        if any(text in str(error) for text in texts):
            return True
        raise Unobservable(f"backward raises: {_first_line(error)}") from error
    return False


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:80]


def _check_or_rule(
    call: Call,
    edges: Sequence[str],
    saves: set[tuple[str, str]],
    holds: set[str],
    inplace: str | None,
    aliases: Sequence[str],
) -> tuple[set[tuple[str, str]], set[str]]:
    """Several edges at once must do what each does alone; what breaks that rule comes back.

    An edge that also took part where the rule was obeyed is not to blame: a learnt attention mask alone makes PyTorch
    choose another kernel.
    """
    unsure: list[tuple[str, frozenset[str]]] = []
    unsure_holds: set[str] = set()
    obeyed: set[str] = set()
    if len(edges) < 2:
        return set(), unsure_holds
    masks = {tuple(edges)} | {tuple(edge for edge in edges if edge != left) for left in edges[:4] if len(edges) > 2}
    for mask in sorted(masks):
        result = _saved_and_held(call, mask, inplace, aliases)
        if result is None:
            continue
        keys, held = result
        broken = keys ^ {key for key, edge in saves if edge in mask}
        unsure += [(key, frozenset(mask)) for key in broken]
        if not broken:
            obeyed |= set(mask)
        if held != any(edge in holds for edge in mask):
            unsure_holds |= set(mask)
    return {(key, edge) for key, mask in unsure for edge in mask - obeyed or mask}, unsure_holds


def _only_for_others(call: Call, name: str) -> bool:
    """Whether an item of the list is saved only where another item has an edge."""
    positions = [index for index, slot in enumerate(call.slots) if slot == name]
    if len(positions) < 2:
        return False
    for item, position in enumerate(positions):
        made = run(call, [name], {name: frozenset({item})})
        flow = made.flow_on()
        _bump(made.inputs[position][1])
        if flow and _raises(flow, MODIFIED):
            return False
    return True


def _alias(call: Call, made: Run, index: int) -> str:
    output = made.outputs[index]
    for slot, tensor in made.inputs:
        if output is tensor:
            return f"same:{slot}"
    for slot, tensor in made.inputs:
        if _memory(output) and _memory(output) == _memory(tensor):
            if output._is_view():
                return f"{'multiview' if _of_many(call, index) else 'view'}:{slot}"
            before = output._version
            _bump(tensor)
            return f"{'alias' if output._version != before else 'storage'}:{slot}"
    return "ownview" if output._is_view() else "fresh"


def _of_many(call: Call, index: int) -> bool:
    """Whether PyTorch refuses to write this output because it is one of several views."""
    edges = sorted({slot for slot, tensor in zip(call.slots, call.tensors(), strict=True) if can_have_edge(tensor)})
    try:
        run(call, edges).outputs[index].mul_(1)
    except RuntimeError as error:
        return "multiple views" in str(error)
    return False


def _memory(tensor: Tensor) -> int:
    return int(tensor.untyped_storage().data_ptr())


def _fields(value: object) -> tuple[str, ...]:
    """The names of a named tuple's fields; the structseq types of `torch.return_types` have no `_fields`."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return tuple(value._fields)
    if isinstance(value, tuple) and hasattr(type(value), "n_sequence_fields"):
        return tuple(re.findall(r"^(\w+)=", repr(value), re.MULTILINE))
    return ()
