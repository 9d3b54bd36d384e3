"""Writes in place that raise nothing: a skip that carries the activated value, and a factor that no gradient knows."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.tensor import Tensor
from gradpath.findings.stories import lifted, same_activation, short_operation
from gradpath.interpreter.events import BackwardRan, Bound, Built, Mutated, Site
from gradpath.interpreter.trace import Trace
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.words import words

_ACTIVATIONS = words(
    """relu relu_ relu6 leaky_relu leaky_relu_ elu elu_ hardtanh hardtanh_ silu mish celu celu_ selu selu_ hardswish
    rrelu rrelu_ threshold_ gelu"""
)

_NEVER_NEGATIVE = words("relu relu_ relu6 sigmoid softmax softplus exp abs square norm")

_KEEPING_SIGNS = words(
    """dropout dropout2d maxpool1d maxpool2d maxpool3d max_pool1d max_pool2d avgpool2d avg_pool2d adaptiveavgpool2d
    adaptive_avg_pool2d flatten view reshape permute transpose contiguous upsample interpolate clone getitem
    unsqueeze squeeze expand to"""
)

_TOGETHER = frozenset({"add", "cat", "stack", "mul"})

_FACTORS = frozenset({"mul", "mul_", "div", "div_"})

MOST_TENSORS = 50
"""Tensors that are looked at to find out whether a value may be negative."""


@dataclass(frozen=True, slots=True, eq=False)
class Skip:
    """A value that an activation `written` in place has changed when it is `added` under its older `name`."""

    name: str
    tensor: Tensor
    written: Site
    added: Site


@dataclass(frozen=True, slots=True, eq=False)
class Uncounted:
    """A factor that was `written` into a value with a graph while gradients were off, and the backward through it."""

    tensor: Tensor
    written: Site
    ran: BackwardRan


def skips(trace: Trace) -> Iterator[Skip]:
    """Sums in which a name from before an in-place activation refers to the activated value.

    One of a value that is never negative changes nothing, and that is unknown for unseen values.
    """
    if not trace.of(BackwardRan) or not any(map(_is_activation, trace.of(Mutated))):
        return
    written: dict[int, Mutated] = {}
    renamed: dict[int, list[Bound]] = {}
    for event in trace.among(Mutated, Bound, Built):
        match event:
            case Mutated(tensor=tensor):
                written.pop(id(tensor), None)
                if _is_activation(event) and _may_be_negative(tensor):
                    written[id(tensor)] = event
                    renamed[id(tensor)] = []
            case Bound() if event.tensor is not None and id(event.tensor) in written:
                renamed[id(event.tensor)].append(event)
            case Built(node=node, site=site) if short_operation(node.name) in ("add", "add_"):
                for tensor, other, name in _operands(event):
                    before = written.get(id(tensor))
                    if before is None or tensor not in other.ancestors():
                        continue
                    if _is_older(before, site, renamed[id(tensor)], name):
                        yield Skip(name, tensor, before.site, site)


def _is_activation(written: Mutated) -> bool:
    return short_operation(written.write.operation).lower() in _ACTIVATIONS


def _operands(built: Built) -> Iterator[tuple[Tensor, Tensor, str]]:
    """The operands of a sum that are names, each with the other one and its name."""
    match built.site.node, list(built.inputs.values()):
        case ast.BinOp(left=left, right=right), [(one,), (two,)]:
            pairs = [(one, two, left), (two, one, right)]
        case ast.AugAssign(value=value), [(one,), (two,)]:
            pairs = [(two, one, value)]
        case _:
            return
    for tensor, other, operand in pairs:
        if isinstance(operand, ast.Name):
            yield tensor, other, operand.id


def _is_older(written: Mutated, added: Site, renamed: list[Bound], name: str) -> bool:
    """True if a name in the function of a sum was not given to the activated value."""
    near = lifted(written.site, added)
    again = (each for each in renamed if each.name == name)
    return same_activation(near, added) and not any(same_activation(lifted(each.site, added), added) for each in again)


def _may_be_negative(tensor: Tensor) -> bool:
    """True if a value is seen to come from something that gives negative numbers, too, before any activation."""
    todo, seen = [tensor], 0
    while todo and seen < MOST_TENSORS:
        each, seen = todo.pop(), seen + 1
        name = short_operation(each.operation).lower()
        before = each.storage.writes if each is not tensor else each.storage.writes[:-1]
        if name in _NEVER_NEGATIVE or any(short_operation(one.operation).lower() in _NEVER_NEGATIVE for one in before):
            continue
        if name in _KEEPING_SIGNS:
            todo += each.maker[:1]
        elif name in _TOGETHER:
            todo += each.maker
        elif name in _SIGNED:
            return True
    return False


_SIGNED = words(
    """linear conv1d conv2d conv3d convtranspose2d batchnorm1d batchnorm2d batchnorm3d layernorm groupnorm
    instancenorm2d batch_norm layer_norm group_norm matmul addmm bmm randn"""
)


def uncounted(trace: Trace) -> Iterator[Uncounted]:
    """The factors that a value is multiplied by in place, outside of its graph, before a backward runs through it."""
    written = [event for event in trace.of(Mutated) if short_operation(event.write.operation) in _FACTORS]
    recorded = {_time(event.site) for event in trace.of(Built)} if written else set()
    constant = set(map(id, _before_their_graphs(trace))) if written else set()
    for event in written:
        node = event.tensor.node
        if node is None or node.is_open or id(event) in constant:
            continue
        if event.tensor.is_open or _time(event.site) in recorded or not _is_used_after(trace, event):
            continue
        ran = next((each for each in trace.of(BackwardRan) if node in each.executed), None)
        if ran is not None:
            yield Uncounted(event.tensor, event.site, ran)


def _before_their_graphs(trace: Trace) -> Iterator[Mutated]:
    """The writes into what had no graph then: it came by one in a later write, such as `loss += model(x).sum()`."""
    graphed: set[int] = set()
    early: list[Mutated] = []
    for event in trace.among(Mutated, Built):
        if isinstance(event, Built):
            graphed.update(map(id, event.node.outputs))
        elif isinstance(event, Mutated) and id(event.tensor) not in graphed:
            early.append(event)
    return (event for event in early if id(event.tensor) in graphed)


def _time(site: Site) -> tuple[int, int, tuple[tuple[int, int], ...]]:
    return id(site.node), id(site.caller), site.loops


def _is_used_after(trace: Trace, written: Mutated) -> bool:
    """True if something is computed from a value after a write, before a backward.

    A Function whose own `forward` writes says itself what its gradient is.
    """
    after, around = False, [each.node for each in written.site.frames()]
    for event in trace.among(Mutated, Built, BackwardRan):
        if event is written:
            after = True
        elif after and isinstance(event, BackwardRan):
            return False
        elif after and isinstance(event, Built) and event.site.node not in around and _takes(event, written.tensor):
            return True
    return False


def _takes(event: Built, tensor: Tensor) -> bool:
    return any(each is tensor for each in event.operands)
