"""`state_dict()` and `load_state_dict()` of modules: what is loaded may be the memory that it is loaded into."""

from __future__ import annotations

from gradpath.autograd.aliases import memory_of
from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.origins import Call, Copy, Made
from gradpath.interpreter.ownership import Loaded, Overwritten, Taken
from gradpath.interpreter.values import Arguments, Unknown, Value
from gradpath.overlays.presumed import weights
from gradpath.overlays.torch.nn import ModuleInstance
from gradpath.overlays.torch.tensor_value import TensorValue

_TAKEN = "state taken"
"""With the number of an unknown, the key under which a path remembers whose state it is."""

READING = frozenset({"copy", "get", "items", "keys", "values"})
"""Methods of a dict that leave it as it is."""


def state_dict(machine: Machine, module: ModuleInstance, arguments: Arguments) -> Value:
    """`module.state_dict()`: aliases of parameters and buffers, or these themselves with `keep_vars`."""
    kept = arguments.keywords.get("keep_vars", False)
    if not isinstance(kept, bool):
        return machine.unknown("state_dict", None, (module,))
    result = Dict(open=module.has_unknown_parts)
    for name, value in [*module.parameters(), *module.named_buffers()]:
        if isinstance(value, TensorValue):
            result.store(name, value if kept else entry(machine, value.tensor))
    machine.emit(Taken(module, machine.site()))
    return result


def entry(machine: Machine, tensor: Tensor) -> TensorValue:
    """The entry of a state that is the memory of a parameter or a buffer."""
    alias = machine.autograd.alias(tensor, "state_dict", shares_version=True)
    alias.cut = None
    alias.handle = made = TensorValue(alias)
    return made


def load_state_dict(machine: Machine, module: ModuleInstance, arguments: Arguments) -> Value:
    """`module.load_state_dict(state)`: every parameter is written in place."""
    loaded = arguments.get(0, "state_dict", None)
    own = module.parameters()
    given = [loaded.look_up(name) for name, _ in own] if isinstance(loaded, Dict) else []
    aliases = [each.tensor for each in given if isinstance(each, TensorValue)]
    if own and len(aliases) == len(own):
        tensors = tuple(value.tensor for _, value in own)
        same = all(memory_of(alias) is tensor for alias, tensor in zip(aliases, tensors, strict=True))
        site = aliases[0].origin
        taken = next((each for each in machine.trace.of(Taken) if each.site is site or each.site == site), None)
        if same and taken is not None:
            machine.emit(Loaded(module, tensors, taken, machine.site()))
        elif taken is not None and isinstance(taken.owner, ModuleInstance):
            machine.remembered[_FOLLOWS, id(module)] = module, taken.owner
            machine.emit(Overwritten(tensors[0], memory_of(aliases[0]), machine.site()))
    parts = (tensor for part in module.unknown_parts() for tensor in weights.of(machine, part))
    for tensor in (*(value.tensor for _, value in own), *parts):
        machine.autograd.bump(tensor, "load_state_dict")
    machine.era += 1
    return machine.unknown("load_state_dict")


def presumed_state_dict(machine: Machine, receiver: Unknown, arguments: Arguments) -> Value:
    """`model.state_dict()` of something unseen: values without their graphs, by names; an optimizer has one too."""
    if "keep_vars" in arguments.keywords:
        return NotImplemented
    made = machine.unknown("state_dict", None, (receiver,), fresh=True, made=Made.DETACHED)
    if isinstance(made, Unknown):
        made.kind = Kind.PLAIN
        taken = Taken(receiver, machine.site(), made)
        machine.emit(taken)
        machine.remembered[_TAKEN, made.number] = taken
    return made


def note_loaded(
    machine: Machine, receiver: Unknown, arguments: Arguments, tensors: tuple[Tensor, ...]
) -> Unknown | None:
    """`model.load_state_dict(state)` of something unseen whose parameters `tensors` represent: the other model."""
    loaded = arguments.get(0, "state_dict", None)
    match loaded:
        case Unknown(origin=Call(name="copy", of=Unknown(owner=Unknown() as state), arguments=())):
            loaded = state  # Another dict of the same tensors.
    taken = machine.remembered.get((_TAKEN, loaded.number)) if isinstance(loaded, Unknown) else None
    if isinstance(taken, Taken) and taken.owner is receiver:
        machine.emit(Loaded(receiver, tensors, taken, machine.site()))
    elif isinstance(taken, Taken) and isinstance(taken.owner, Unknown):
        machine.remembered[_FOLLOWS, id(receiver)] = receiver, taken.owner
        return taken.owner
    return None


_FOLLOWS = "follows another model"
"""With the identity of a model, the key under which a path remembers whose state it has loaded."""


def is_copy(machine: Machine, model: Value, of: Value) -> bool:
    """True if a model is a deep copy of another one, or has loaded its state."""
    if isinstance(model, Unknown) and isinstance(model.origin, Copy) and model.origin.of is of:
        return True
    if isinstance(model, ModuleInstance) and isinstance(of, ModuleInstance):
        own = {id(value.tensor) for _, value in of.parameters()}
        if any(id(value.tensor.copied) in own for _, value in model.parameters()):
            return True
    match machine.remembered.get((_FOLLOWS, id(model))):
        case (known, followed):
            return known is model and followed is of
    return False


def owner_of(machine: Machine, state: Unknown) -> Unknown | None:
    """The model that is not seen whose state a value is."""
    taken = machine.remembered.get((_TAKEN, state.number))
    return taken.owner if isinstance(taken, Taken) and isinstance(taken.owner, Unknown) else None


def note_changed(machine: Machine, *values: Value) -> None:
    """Unseen code has got at values, or they were written: what was the state of a model may no longer be it."""
    for each in values:
        if isinstance(each, Unknown):
            machine.remembered.pop((_TAKEN, each.number), None)
