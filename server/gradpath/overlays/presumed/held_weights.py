"""The weights that an optimizer has which is not seen to be made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Attribute, Copy, Parameter
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.scope import Frame
from gradpath.interpreter.values import Instance, Unknown
from gradpath.overlays.presumed import items, owners, uses, weights
from gradpath.overlays.presumed.model_parts import line, root_of
from gradpath.overlays.presumed.roles import called, part_of_optimizer, role_of
from gradpath.overlays.torch.nn import ModuleInstance, note_overlooked, tensors_of


def owned(machine: Machine, optimizer: Unknown) -> list[Tensor]:
    """The weights that an unknown optimizer certainly has."""
    return _for(machine, optimizer, weights.computed_with(machine))


def meant_for(machine: Machine, optimizer: Unknown) -> list[Tensor]:
    """The weights that an unknown optimizer is for, also of a model that is called without gradients."""
    return _for(machine, optimizer, weights.all_of(machine))


def _for(machine: Machine, optimizer: Unknown, known: Sequence[tuple[Unknown, Tensor]]) -> list[Tensor]:
    """The weights of the model that an optimizer is an attribute of, else of the one that its name speaks of.

    Of the models of several agents it has those of its own, of those in a list those in its place. What a module that
    is seen was made of is one model.
    """
    handed = machine.remembered.get((weights.HANDED, optimizer.number))
    if isinstance(handed, tuple):
        return [tensor for model, tensor in known if any(weights.is_in(model, each) for each in handed)]
    holder = optimizer.origin.of if isinstance(optimizer.origin, Attribute) else None
    if isinstance(holder, Unknown):
        own = [tensor for model, tensor in known if holder.number in line(model)]
        if own and role_of(holder) == "model":
            return own
        known = [each for each in known if holder.number in line(each[0])] or known
    place = items.place_of(machine, optimizer)
    if place is not None:
        known = [each for each in known if items.place_of(machine, each[0]) == place] or known
    models = ((called(model), (model, tensor)) for model, tensor in known)
    found = owners.owned(called(optimizer), models, uses.steppers(machine.body))
    if not found and uses.is_only_optimizer(machine):
        found = [(model, tensor) for model, tensor in known if not isinstance(model.origin, Copy)]
    roots = {root_of(model).number for model, _ in found}
    seen = [(module, roots <= {part.number for part in module.unknown_parts()}) for _, module in _modules(machine)]
    several = not part_of_optimizer(called(optimizer)) and not uses.is_only_optimizer(machine)
    given = {tensor for each in machine.trace.of(Given) for tensor in each.parameters}
    if several and any(not given.issuperset(_trained(module)) for module, is_whole in seen if not is_whole):
        return []  # It may be for a module that is seen, and another optimizer for what is not.
    return [tensor for _, tensor in found] if len(roots) == 1 or any(whole for _, whole in seen) else []


def shared_out(machine: Machine, optimizer: Unknown) -> list[Tensor]:
    """The weights of several models of which the only optimizer around has some: their gradients are there for it."""
    if owned(machine, optimizer) or not uses.is_only_optimizer(machine):
        return []
    known = ((model, tensor) for model, tensor in weights.computed_with(machine) if not isinstance(model.origin, Copy))
    return [tensor for _, tensor in known if tensor.grad is not None]


def of_seen(machine: Machine, optimizer: Unknown) -> list[Tensor]:
    """The parameters that an unknown optimizer has if it is for one of the modules that the running bodies hold."""
    name = called(optimizer)
    if not isinstance(optimizer.origin, (Attribute, Parameter)) and not part_of_optimizer(name):
        return []  # An engine may be made of a model and its optimizer, and clear what it has used.
    modules = list(_modules(machine))
    trained = [(name_of, held) for name_of, module in modules if (held := _trained(module))]
    found = _without_copies(owners.owned(name, trained, uses.steppers(machine.body)))
    several = {tuple(map(id, each)) for each in found}
    parts = {part.number for _, module in modules for part in module.unknown_parts()}
    alone = parts.issuperset(root_of(model).number for model in weights.models(machine))
    return found[0] if len(several) == 1 and (alone or part_of_optimizer(name)) else []


def _without_copies(found: Sequence[list[Tensor]]) -> list[list[Tensor]]:
    """The parameters of several modules, without those of a copy of another one: `target = deepcopy(net)`."""
    there = {id(each) for held in found for each in held}
    return [held for held in found if not all(id(each.copied) in there for each in held)]


def _modules(machine: Machine) -> Iterator[tuple[str, ModuleInstance]]:
    """The modules in the variables of running bodies and in the attributes of objects there, with their names.

    A parameter hides what the module calls the same.
    """
    frame: Frame | None = machine.frame
    hidden: set[str] = set()
    while frame is not None:
        variables = [each for each in frame.scope.variables.items() if each[0] not in hidden]
        hidden.update(frame.scope.variables)
        for name, value in variables:
            if isinstance(value, ModuleInstance):
                yield name, value
            elif isinstance(value, Instance):
                attributes = list(value.attributes.items())
                yield from ((part, held) for part, held in attributes if isinstance(held, ModuleInstance))
        frame = frame.parent


def note_left_out(machine: Machine, held: Sequence[Tensor]) -> None:
    """Tell the trace what `parameters()` leaves out of the modules whose parameters an unknown optimizer has."""
    known = set(map(id, held))
    for _, module in _modules(machine) if known else ():
        unseen = (tensor for part in module.unknown_parts() for tensor in weights.of(machine, part))
        if not known.isdisjoint(map(id, (*_trained(module), *unseen))):
            note_overlooked(machine, module)


def _trained(module: ModuleInstance) -> list[Tensor]:
    return [tensor for tensor in tensors_of(module.parameters()) if tensor.requires_grad]


def cleared_by(machine: Machine, owner: Unknown) -> list[Tensor] | None:
    """The weights that `owner.zero_grad()` clears; None where that may be any."""
    if role_of(owner) == "optimizer":
        return owned(machine, owner) or None
    return weights.of(machine, owner) or None
