"""The events of a trace in words, and the presumptions that they depend on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradpath.autograd.provenance import Presumption
from gradpath.autograd.tensor import Node, Tensor
from gradpath.features.life import kind_of
from gradpath.interpreter import events as happened
from gradpath.interpreter.events import Bound, ReadOut
from gradpath.interpreter.ownership import Attached, FlagMissed, Given, Overlooked, Wrapped

_NAMES = 4
"""The most names of one kind that are listed."""


def words(event: happened.Event) -> str:
    """An event as a line of text, without its place."""
    match event:
        case happened.Built(node=node):
            return f"{_name(node)}{_saved(node)}"
        case happened.BackwardRan(call=call, executed=executed):
            freed = "kept" if call.retain else "freed"
            return f"{len(executed)} nodes executed, the graph is {freed}: {_listed(map(_name, executed))}"
        case happened.CutOff(cut=cut):
            return f"by {cut.how}"
        case happened.Mutated(tensor=tensor, write=write):
            return f"{write.operation}, version {write.version}, of {kind_of(tensor)}"
        case happened.Failed(exception=name, message=message, caught=caught):
            return f"{name}: {message}{' (caught)' if caught else ''}"
        case Given() | happened.Stepped() | happened.Cleared() | happened.Clipped() | Attached() | Wrapped():
            return _of_parameters(event)
        case Bound(name=name):
            return f"{name}{_bound(event)}"
    return _others(event)


def _others(event: happened.Event) -> str:
    """Words for events that a name or a tensor describes."""
    match event:
        case happened.Flagged(value=value) | happened.Switched(grad=value):
            return str(value)
        case happened.Named(name=name) | happened.Lent(name=name) | happened.Applied(name=name):
            return name
        case happened.Scaled(tensor=tensor):
            return "gradients again" if tensor is None else "a loss"
        case happened.OptionSet(name=name):
            return name
        case happened.Mixed(operator=operator):
            return operator
        case FlagMissed(tensors=tensors):
            return f"{len(tensors)} parameters stay as they are"
        case happened.Handed(tensors=tensors):
            return f"{len(tensors)} tensors on the graph"
        case Overlooked(kind=kind, tensors=tensors):
            return f"{len(tensors)} parameters in a {kind}"
        case _:
            tensor = getattr(event, "tensor", None)
            return kind_of(tensor) if isinstance(tensor, Tensor) else ""


def _of_parameters(event: Given | happened.Stepped | happened.Cleared | happened.Clipped | Attached | Wrapped) -> str:
    match event:
        case happened.Stepped(updated=updated, parameters=parameters, known=known):
            return f"{len(updated)} of {len(parameters)}{'' if known else '+'} parameters updated"
        case Given(parameters=parameters, known=known):
            return f"{len(parameters)}{'' if known else '+'} parameters"
        case happened.Cleared(tensors=tensors, known=known) | happened.Clipped(tensors=tensors, known=known):
            return f"{len(tensors)}{'' if known else '+'} parameters"
    return f"{len(event.tensors)} parameters"


def _bound(event: Bound) -> str:
    if event.tensor is not None:
        return f": {kind_of(event.tensor)}"
    return f": {type(event.value).__name__}"


def _saved(node: Node) -> str:
    roles = _listed(each.role for each in node.saved)
    return f", saves {roles}" if roles else ""


def _name(node: Node) -> str:
    return node.name.rpartition(".")[2]


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    more = f" and {len(found) - _NAMES} more" if len(found) > _NAMES else ""
    return ", ".join(found[:_NAMES]) + more


def presumptions(event: happened.Event) -> Iterator[Presumption]:
    """The presumptions under which an event is as described."""
    match event:
        case happened.Built(node=node):
            grounds = [node.provenance, node.onward, node.saves, *(each.presumed for each in node.saved)]
        case happened.BackwardRan(call=call):
            grounds = [call.presumed]
        case happened.CutOff(cut=cut):
            grounds = [cut.presumed]
        case happened.Failed(error=error):
            grounds = [] if error is None else [*error.presumed]
        case Bound(value=ReadOut(presumed=presumed)) | happened.Mixed(read=ReadOut(presumed=presumed)):
            grounds = [*presumed]
        case _:
            tensor = getattr(event, "tensor", None)
            grounds = [tensor.provenance] if isinstance(tensor, Tensor) else []
    return (each for each in grounds if isinstance(each, Presumption))
