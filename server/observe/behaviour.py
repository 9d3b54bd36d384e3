"""One call of an operation, watched: what it returns, what it saves for whom, and whether its graph can be used twice.

Everything is learnt by behaviour. To see whether a tensor was saved its version is bumped after the call: does backward
raise? To see whether something is freed, backward is called twice. Inputs are never leaves but clones of leaves, so that
they have a valid graph edge and may be written in place.
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

Relation: TypeAlias = frozenset[tuple[str, str]]
"""Pairs (what is saved, for whose edge)."""

TWICE = "backward through the graph a second time"
MODIFIED = ("modified by an inplace operation", "has been modified inplace")
NO_DERIVATIVE = ("not implemented", "is not differentiable", "does not support automatic differentiation")


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
        return [value for value in tree_flatten((self.args, dict(self.kwargs)))[0] if isinstance(value, Tensor)]


@dataclass(frozen=True)
class OutputSeen:
    """A returned tensor as one call showed it; `shapes` and `dtypes` are the table's words that were true of it."""

    alias: str
    grad: frozenset[str]
    shapes: frozenset[str]
    dtypes: frozenset[str]


@dataclass(frozen=True)
class Seen:
    """What one call showed. `edges` are the parameters that can have an edge, `keys` all that could have been saved."""

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


@dataclass
class _Run:
    """A call that was made: its inputs by slot, its outputs, and what flows on from the outputs."""

    inputs: list[tuple[str, Tensor]]
    written: frozenset[str]
    value: object
    outputs: list[Tensor]

    def flow_on(self) -> list[Tensor]:
        """Consumers of the outputs that save nothing, built now, before any version is bumped."""
        return [output.clone() for output in self.outputs if output.requires_grad]


def can_have_edge(tensor: Tensor) -> bool:
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


def observe(call: Call) -> Seen:
    """Watch a call; raises Unobservable where nothing can be said."""
    tensors = call.tensors()
    if any(tensor.layout != torch.strided or tensor.numel() == 0 for tensor in tensors):
        raise Unobservable("empty or not strided")
    edges = sorted({slot for slot, tensor in zip(call.slots, tensors, strict=True) if can_have_edge(tensor)})
    edges += sorted(name for name, tensor in call.module.items() if can_have_edge(tensor))
    edges = list(dict.fromkeys("*" if name.startswith("*") else name for name in edges))
    edges = [edge for edge in edges if _takes_edge(call, edge)]
    full = _run(call, edges)
    if not full.outputs or any(output.layout != torch.strided for output in full.outputs):
        raise Unobservable("no tensor comes back")
    inplace = _written(call, full)
    aliases = [_alias(call, full, index, inplace) for index in range(len(full.outputs))]
    grads: list[set[str]] = [set() for _ in full.outputs]
    alone: dict[str, tuple[set[str], bool]] = {}
    differentiable = True
    for edge in edges:
        run = _run(call, [edge])
        for index, output in enumerate(run.outputs):
            if output.requires_grad:
                grads[index].add(edge)
        if not any(output.requires_grad for output in run.outputs):
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
    slots = {"*" if slot.startswith("*") else slot for slot in (*call.slots, *call.module, *call.buffers)}
    return Seen(
        kinds=call.kinds,
        edges=frozenset(alone),
        keys=frozenset(slots | {f"out{index}" for index in range(len(full.outputs))}),
        outputs=tuple(
            OutputSeen(alias, frozenset(grad), *facts)
            for alias, grad, facts in zip(aliases, grads, _facts(call), strict=True)
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
    )


def _run(call: Call, edges: Sequence[str], within: Mapping[str, frozenset[int]] | None = None) -> _Run:
    """Make the call; tensors of the parameters `edges` get an edge (of a list only the items in `within`)."""
    leaves, spec = tree_flatten((call.args, dict(call.kwargs)))
    inputs: list[tuple[str, Tensor]] = []
    counts: dict[str, int] = {}
    slots = iter(call.slots)
    for position, value in enumerate(leaves):
        if not isinstance(value, Tensor):
            continue
        slot = next(slots)
        item = counts[slot] = counts.get(slot, -1) + 1
        fresh = value.detach().clone()
        if slot in edges and can_have_edge(fresh) and (within is None or slot not in within or item in within[slot]):
            fresh = fresh.requires_grad_(True).clone()
        leaves[position] = fresh
        inputs.append((slot, fresh))
    for name, parameter in call.module.items():
        slot = "*" if name.startswith("*") else name
        parameter.requires_grad_(slot in edges and can_have_edge(parameter))
        parameter.grad = None
        inputs.append((slot, parameter))
    inputs += call.buffers.items()
    args, kwargs = tree_unflatten(leaves, spec)
    versions = [tensor._version for _, tensor in inputs]
    torch.manual_seed(0)
    value = call.run(*args, **kwargs)
    written = frozenset(
        slot for (slot, tensor), version in zip(inputs, versions, strict=True) if tensor._version != version
    )
    return _Run(inputs, written, value, structure(value)[1])


def _takes_edge(call: Call, edge: str) -> bool:
    """Some arguments must not require grad (the class weights of a loss): the call itself then raises."""
    try:
        _run(call, [edge])
    except RuntimeError as error:
        if "is not differentiable with respect to" in str(error):
            return False
        raise
    return True


def _written(call: Call, run: _Run) -> str | None:
    """The parameter that the call writes; buffers such as `running_mean` that come along do not count."""
    for output in run.outputs:
        for slot, tensor in run.inputs:
            if output is tensor and slot in run.written:
                return slot
    return next(iter(sorted(run.written - call.buffers.keys())), None)


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
    flow = _run(call, edges, within).flow_on()
    try:
        _backward(flow)
    except (RuntimeError, NotImplementedError) as error:
        if any(text in str(error) for text in NO_DERIVATIVE):
            return None
        raise Unobservable(f"backward raises: {_first_line(error)}") from error
    held = _raises(flow, (TWICE,))
    saved: set[str] = set()
    everything = _run(call, edges, within)
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
        run = _run(call, edges, within)
        flow = run.flow_on()
        _bump(run.inputs[position][1])
        if _raises(flow, MODIFIED):
            saved.add("out0" if slot == inplace else slot)
    for index in range(len(everything.outputs)):
        shared = re.match(r"(same|view|multiview|alias):(.*)", aliases[index])
        if shared:
            continue  # It has its argument's version counter: seen above.
        run = _run(call, edges, within)
        flow = run.flow_on()
        _bump(run.outputs[index])
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
    """Is an item of the list saved only where another item has an edge?"""
    positions = [index for index, slot in enumerate(call.slots) if slot == name]
    if len(positions) < 2:
        return False
    for item, position in enumerate(positions):
        run = _run(call, [name], {name: frozenset({item})})
        flow = run.flow_on()
        _bump(run.inputs[position][1])
        if flow and _raises(flow, MODIFIED):
            return False
    return True


def _alias(call: Call, run: _Run, index: int, inplace: str | None) -> str:
    output = run.outputs[index]
    for slot, tensor in run.inputs:
        if output is tensor:
            return f"same:{slot}"
    for slot, tensor in run.inputs:
        if _memory(output) and _memory(output) == _memory(tensor):
            if output._is_view():
                return f"{'multiview' if _of_many(call, index) else 'view'}:{slot}"
            before = output._version
            _bump(tensor)
            return f"{'alias' if output._version != before else 'storage'}:{slot}"
    return "fresh"


def _of_many(call: Call, index: int) -> bool:
    """Does PyTorch refuse to write this output because it is one of several views?"""
    edges = sorted({slot for slot, tensor in zip(call.slots, call.tensors(), strict=True) if can_have_edge(tensor)})
    try:
        _run(call, edges).outputs[index].mul_(1)
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


def _facts(call: Call) -> list[tuple[frozenset[str], frozenset[str]]]:
    """For each output the words on shape and dtype that are true of this call, also with other dtypes put in."""
    found: list[tuple[frozenset[str], frozenset[str]]] = []
    for index, variant in enumerate(_variants(call)):
        try:
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                run = _run(variant, [])
        except Exception:
            if index == 0:
                raise
            continue  # This operation does not take these dtypes.
        facts = [_facts_of(variant, output) for output in run.outputs]
        if not found:
            found = facts
        elif len(facts) == len(found):
            found = [(old[0] & new[0], old[1] & new[1]) for old, new in zip(found, facts, strict=True)]
    return found


def _variants(call: Call) -> Iterable[Call]:
    yield call
    if call.module:
        return
    floats = [position for position, tensor in enumerate(call.tensors()) if tensor.dtype == torch.float64]
    wanted: list[Mapping[int, torch.dtype]] = [dict.fromkeys(floats, dtype) for dtype in (torch.float32, torch.int64)]
    wanted += [{position: torch.float32} for position in floats[:2] if len(floats) > 1]
    for dtypes in wanted:
        leaves, spec = tree_flatten((call.args, dict(call.kwargs)))
        count = itertools.count()
        for position, value in enumerate(leaves):
            if isinstance(value, Tensor) and (number := next(count)) in dtypes:
                leaves[position] = value.to(dtypes[number])
        args, kwargs = tree_unflatten(leaves, spec)
        yield Call(call.run, args, kwargs, call.slots, call.kinds, call.lists)


_OPERANDS = {"input", "self", "other", "exponent", "min", "max", "value"}


def _facts_of(call: Call, output: Tensor) -> tuple[frozenset[str], frozenset[str]]:
    tensors = call.tensors()
    shapes, dtypes = set(), set()
    if tensors:
        first = tensors[0]
        if output.shape == first.shape:
            shapes.add("input")
        try:
            if output.shape == torch.broadcast_shapes(*(tensor.shape for tensor in tensors)):
                shapes.add("broadcast")
        except RuntimeError:
            pass  # They cannot be broadcast.
        if len(tensors) > 1 and output.shape == _matmul_shape(first.shape, tensors[1].shape):
            shapes.add("matmul")
        if output.dtype == first.dtype:
            dtypes.add("input")
        if output.dtype == _promoted(call, tensors):
            dtypes.add("promote")
    if output.dim() == 0:
        shapes.add("scalar")
    if output.dim() == 0 or call.kinds.get("dim") is not None:
        shapes.add("reduce")
    dtypes |= {str(dtype).removeprefix("torch.") for dtype in (torch.bool, torch.int64) if output.dtype == dtype}
    return frozenset(shapes), frozenset(dtypes)


def _promoted(call: Call, tensors: Sequence[Tensor]) -> torch.dtype | None:
    numbers = [value for name, value in call.kinds.items() if name in _OPERANDS and type(value) in (int, float)]
    operands: list[Any] = [*tensors, *numbers]
    dtype = tensors[0].dtype
    for one, other in itertools.combinations(operands, 2):
        if isinstance(one, Tensor) or isinstance(other, Tensor):
            dtype = torch.promote_types(dtype, torch.result_type(one, other))
    return dtype


def _matmul_shape(one: torch.Size, other: torch.Size) -> tuple[int, ...] | None:
    if len(one) < 2 or len(other) < 2 or one[-1] != other[-2]:
        return None
    return (*torch.broadcast_shapes(one[:-2], other[:-2]), one[-2], other[-1])
