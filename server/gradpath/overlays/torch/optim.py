"""`torch.optim`: which parameters an optimizer has, what `step()` writes, what `zero_grad()` clears."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gradpath.autograd.errors import AutogradError, FaultKind
from gradpath.autograd.provenance import PROVED, Presumption
from gradpath.autograd.sizes.given import product
from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.containers import List
from gradpath.interpreter.events import Clipped, OptionSet, Stepped
from gradpath.interpreter.iteration import sample
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.origins import Computed, Copy
from gradpath.interpreter.ownership import Drained, Given
from gradpath.interpreter.values import UNDEFINED, Arguments, Class, Instance, NativeFunction, Object, Unknown, Value
from gradpath.overlays.frameworks import engines
from gradpath.overlays.namespace import Names
from gradpath.overlays.presumed import model_parts, weights
from gradpath.overlays.presumed.presumed_tensors import is_made_leaf
from gradpath.overlays.torch.module_methods import clear_gradients
from gradpath.overlays.torch.nn import note_optimizer
from gradpath.overlays.torch.tensor_value import TensorValue, wrap
from gradpath.overlays.torch.used_up import go_through, made_at
from gradpath.support.fast_dataclasses import replace
from gradpath.support.words import words

CLASSES = words(
    """SGD Adam AdamW Adamax NAdam RAdam RMSprop Rprop Adagrad Adadelta ASGD SparseAdam Adafactor Muon LBFGS"""
)


class OptimizerInstance(Instance):
    """An optimizer; `open` says that it has parameters that are not seen, which came from `sources`.

    `put_in` counts the modules that had been made parts of unknown models by then. `spared` are the weights of such
    models that were frozen when the program took those that require grad.
    """

    __slots__ = ("groups", "open", "put_in", "silent", "sources", "spared")

    def __init__(self, cls: Class) -> None:
        super().__init__(cls)
        self.groups = List([])
        self.open = False
        self.silent = False
        self.sources: list[Value] = []
        self.put_in = 0
        self.spared: set[Tensor] = set()
        self.attributes["param_groups"] = self.groups
        self.attributes["state"] = Dict(open=True)

    def parameters(self) -> list[Tensor]:
        """The tensors that `step()` updates."""
        found: list[Tensor] = []
        for group in self.groups.items:
            parameters = group.look_up("params") if isinstance(group, Dict) else None
            for value in parameters.items if isinstance(parameters, List) else ():
                if isinstance(value, TensorValue):
                    found.append(value.tensor)
        return found

    def native_attribute(self, machine: Machine, name: str) -> Value:
        method = _METHODS.get(name)
        if method is not None:
            return NativeFunction(f"Optimizer.{name}", lambda m, a: method(m, self, a))
        return UNDEFINED


class Options(Dict):
    """A parameter group: the options of an optimizer for some of its parameters."""

    __slots__ = ()

    def set_item(self, machine: Machine, key: Value, value: Value) -> None:
        super().set_item(machine, key, value)
        self.note(machine, key, value)

    def note(self, machine: Machine, key: Value, value: Value) -> None:
        """Tell the trace of an option that is a tensor."""
        if isinstance(key, str) and key != "params" and isinstance(value, TensorValue):
            machine.emit(OptionSet(key, value, value.tensor.node, machine.site()))


class OptimizerClass(Class):
    """`torch.optim.Optimizer` and the built-in optimizers."""

    __slots__ = ()

    instances = OptimizerInstance

    def native_member(self, name: str) -> Value:
        if name == "__init__":
            return NativeFunction(f"{self.name}.__init__", _initialise)
        method = _METHODS.get(name) if self.name != "Optimizer" or name != "step" else None
        if method is None:
            return UNDEFINED
        return NativeFunction(
            f"{self.name}.{name}",
            lambda m, a: (
                method(m, a.positional[0], Arguments(a.positional[1:], a.keywords))
                if a.positional and isinstance(a.positional[0], OptimizerInstance)
                else None
            ),
        )


def _initialise(machine: Machine, arguments: Arguments) -> Value:
    optimizer, *rest = arguments.positional
    if not isinstance(optimizer, OptimizerInstance):
        return None
    named = Arguments(rest, arguments.keywords)
    parameters = named.get(0, "params", UNDEFINED)
    if parameters is UNDEFINED:
        optimizer.open = True
        return None
    if isinstance(parameters, TensorValue):
        raise machine.error("TypeError", "params argument given to the optimizer should be an iterable of Tensors")
    defaults = named.get(1, "defaults") if optimizer.cls.find("step") is not UNDEFINED else UNDEFINED
    settings = dict(arguments.keywords)
    if isinstance(defaults, Dict):
        settings.update({key: value for key, value in defaults.entries.values() if isinstance(key, str)})
    elif rest[1:]:
        settings.setdefault("lr", rest[1])
    settings.pop("params", None)
    optimizer.silent = settings.get("fused") is True
    collect(machine, optimizer, parameters, settings)
    if not optimizer.groups.items:
        raise AutogradError(FaultKind.OPTIMIZER_EMPTY)
    note_given(machine, optimizer)
    return None


def note_given(machine: Machine, optimizer: OptimizerInstance, owner: Object | None = None) -> Given:
    """Tell the trace which parameters an optimizer, or its unseen `owner`, has by now."""
    note_optimizer(machine)
    wholes = [model_parts.whole_of(source) for source in optimizer.sources]
    unseen = [each for each in wholes if isinstance(each, Unknown) and not isinstance(each.origin, Computed)]
    models = [model_parts.models_of_parameter(source) for source in unseen]
    parameters = (*optimizer.parameters(), *_of_models(machine, optimizer))
    of_models = tuple(dict.fromkeys(model for each in models for model in each))
    known = all(models) and not any(map(_is_cut_short, wholes)) and (not optimizer.open or bool(optimizer.sources))
    stored = machine.remembered.items() if of_models else ()
    put_in = {id(value) for key, value in stored if isinstance(key, tuple) and key[0] == "attr"}
    copied = bool(of_models) and all(isinstance(each.origin, Copy) and id(each) not in put_in for each in of_models)
    groups = len(optimizer.groups.items)
    twice = groups == 1 and _has_any_twice(machine, optimizer)
    given = Given(owner or optimizer, parameters, of_models, known, machine.site(), copied, groups, twice)
    machine.emit(given)
    return given


def note_renewed(machine: Machine, optimizer: OptimizerInstance) -> None:
    """Tell the trace that an optimizer may have been made again by now, with any parameters."""
    given = next((each for each in reversed(machine.trace.of(Given)) if each.optimizer is optimizer), None)
    if given is not None:
        machine.emit(replace(given, known=False))


def _is_cut_short(whole: Value) -> bool:
    """True if there is more in a list of parameters than is seen, and no unseen model that it is of."""
    items = whole.items if isinstance(whole, List) else []
    return any(isinstance(each, TensorValue) for each in items) and not any(map(model_parts.models_of_parameter, items))


def _has_any_twice(machine: Machine, optimizer: OptimizerInstance) -> bool:
    """True if an optimizer was given a parameter two times, also one of a model that is not seen."""
    given = [*map(id, optimizer.parameters()), *map(id, optimizer.sources)]
    picked = any(weights.is_filtered(machine, each) for each in optimizer.sources)
    return len(set(given)) < len(given) and not picked


def _of_models(machine: Machine, optimizer: OptimizerInstance) -> list[Tensor]:
    found = weights.made_from(machine, optimizer.sources, optimizer.put_in)
    return [each for each in found if each not in optimizer.spared]


def collect(
    machine: Machine,
    optimizer: OptimizerInstance,
    parameters: Value,
    settings: dict[str, Value],
    *,
    is_group: bool = False,
) -> None:
    """Take parameters, or groups of them; a group may be empty, the whole may not."""
    before, made = go_through(machine, parameters), made_at(parameters)
    if before is not None:
        certain = not isinstance(parameters, Unknown)
        if made is not None:
            machine.emit(Drained(optimizer, made, before, machine.site(), certain))
        parameters = List([]) if certain else parameters
    if isinstance(parameters, Unknown):
        optimizer.open = True
        _take(machine, optimizer, parameters)
        _group(machine, optimizer, [], settings, open=True)
        return
    items, more = sample(machine, parameters)
    if more:
        optimizer.open = True
        _take(machine, optimizer, parameters)
    plain: list[Value] = []
    for item in items:
        if isinstance(item, Dict):
            own = {key: value for key, value in item.entries.values() if isinstance(key, str)}
            group = own.pop("params", List([]))
            if isinstance(group, TensorValue):
                group = List([group])
            collect(machine, optimizer, group, {**settings, **own}, is_group=True)
        elif isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], TensorValue):
            plain.append(item[1])
        elif isinstance(item, Unknown) and is_made_leaf(item):
            plain.append(item.tensor)
        elif isinstance(item, Unknown):
            optimizer.open = True
            _take(machine, optimizer, item)
        else:
            plain.append(item)
    if plain or more or is_group or (optimizer.open and not optimizer.groups.items):
        _group(machine, optimizer, plain, settings, open=more)


def _take(machine: Machine, optimizer: OptimizerInstance, unknown: Value) -> None:
    """Parameters that are not seen."""
    optimizer.sources.append(unknown)
    if weights.is_filtered(machine, unknown):
        weights.leave_out(machine, unknown, optimizer.spared)
    else:
        optimizer.spared.difference_update(weights.stepped(machine, [unknown]))
    optimizer.put_in = weights.count_put_in(machine)
    weights.note_trained(machine, unknown)


def _group(
    machine: Machine, optimizer: OptimizerInstance, items: list[Value], settings: dict[str, Value], *, open: bool
) -> None:
    for item in items:
        if not isinstance(item, TensorValue) or item.tensor.aliasing_unsure or item.tensor.retains_grad:
            continue
        if item.tensor.is_open or machine.autograd.is_leaf(item.tensor):
            continue
        if not isinstance(item.tensor.provenance, Presumption) and item.tensor.is_result:
            handed = item.tensor.left is not None  # What was handed to something unseen may be detached in place.
            raise AutogradError(FaultKind.OPTIMIZER_NON_LEAF, tensor=None if handed else item.tensor)
        item.tensor.node, item.tensor.flag, item.tensor.provenance = None, True, PROVED  # Who gives it knows a leaf.
    group = Options()
    group.store("params", List(items, open=open))
    group.store("lr", 0.001)
    for name, value in settings.items():
        group.store(name, value)
        group.note(machine, name, value)
    group.open = True
    optimizer.groups.items.append(group)


Method = Callable[[Machine, OptimizerInstance, Arguments], Value]


def step(machine: Machine, optimizer: OptimizerInstance, arguments: Arguments) -> Value:
    """`step(closure=None)`: writes every parameter that has a gradient; LBFGS asks the closure again and again."""
    closure = arguments.get(0, "closure", None)
    result: Value = None
    if optimizer.cls.is_subclass(_LBFGS):
        if closure is None:
            raise machine.error("TypeError", "LBFGS.step() missing 1 required positional argument: 'closure'")
        for _ in range(2):
            result = _evaluate(machine, closure)
            write_parameters(machine, optimizer)
        return result
    if closure is not None:
        result = _evaluate(machine, closure)
    write_parameters(machine, optimizer)
    return result


def _evaluate(machine: Machine, closure: Value) -> Value:
    with machine.autograd.mode(grad=True):
        return machine.call(closure, Arguments())


def write_parameters(machine: Machine, optimizer: OptimizerInstance) -> None:
    """Count a write to each parameter that has a gradient; fused optimizers write unseen."""
    updated = [tensor for tensor in optimizer.parameters() if tensor.grad is not None]
    if not optimizer.silent:
        for tensor in dict.fromkeys(updated):
            machine.autograd.bump(tensor, "step")
    updated += weights.write(machine, _of_models(machine, optimizer))
    parameters = tuple(optimizer.parameters())
    models = () if parameters else models_of(optimizer)
    unseen = tuple(each for each in weights.stepped(machine, optimizer.sources) if each not in optimizer.spared)
    known = not optimizer.open
    machine.emit(Stepped(optimizer, tuple(updated), machine.site(), parameters, known, models, unseen))


def models_of(optimizer: OptimizerInstance) -> tuple[Unknown, ...]:
    """The unseen models that all its unseen parameters are of; none where some may be of others."""
    found = [_models_of_source(source) for source in optimizer.sources]
    return tuple(dict.fromkeys(model for models in found for model in models)) if all(found) else ()


def _models_of_source(source: Value) -> list[Unknown]:
    """The unseen models of a parameter, or of all that are seen of a list: `list(model.parameters())`."""
    if not isinstance(source, List):
        return model_parts.models_of_parameter(source)
    found = [model_parts.models_of_parameter(item) for item in source.items]
    return [model for models in found for model in models] if all(found) else []


def _zero_grad(machine: Machine, optimizer: OptimizerInstance, arguments: Arguments) -> Value:
    parameters = (*optimizer.parameters(), *_of_models(machine, optimizer))
    if optimizer.open and len(parameters) == len(optimizer.parameters()):
        weights.clear(machine)
    known = not optimizer.open or bool(models_of(optimizer))
    clear_gradients(machine, parameters, arguments.get(0, "set_to_none", True), optimizer, known)
    return None


def _add_param_group(machine: Machine, optimizer: OptimizerInstance, arguments: Arguments) -> Value:
    group = arguments.get(0, "param_group", None)
    if isinstance(group, Dict):
        settings = {key: value for key, value in group.entries.values() if isinstance(key, str)}
        parameters = settings.pop("params", List([]))
        collect(machine, optimizer, List([parameters]) if isinstance(parameters, TensorValue) else parameters, settings)
        note_given(machine, optimizer)
    return None


_METHODS: dict[str, Method] = {
    "step": step,
    "zero_grad": _zero_grad,
    "add_param_group": _add_param_group,
    "state_dict": lambda m, o, a: m.unknown("optimizer state"),
    "load_state_dict": lambda m, o, a: None,
    "train": lambda m, o, a: None,
    "eval": lambda m, o, a: None,
}

_OPTIMIZER = OptimizerClass("Optimizer")
TORCH_OPTIM = {name: OptimizerClass(name, [_OPTIMIZER]) for name in CLASSES}
"""The optimizers of `torch.optim`, by name."""
_LBFGS = TORCH_OPTIM["LBFGS"]


def gradients_of(machine: Machine, parameters: Value) -> list[Tensor]:
    """The tensors of a `parameters` argument: one tensor or an iterable of them; none if not all are seen."""
    items, more = _items(machine, parameters)
    return [] if more else [item.tensor for item in items if isinstance(item, TensorValue)]


def _items(machine: Machine, parameters: Value) -> tuple[Sequence[Value], bool]:
    """The parameters one by one, as far as they are seen, and whether there are more."""
    if isinstance(parameters, TensorValue | Unknown):
        return [parameters], False
    return ([], False) if parameters is None else sample(machine, parameters)


def clip(machine: Machine, arguments: Arguments) -> Value:
    """`clip_grad_norm_`, `clip_grad_value_`: write the gradients, not the parameters."""
    parameters = arguments.get(0, "parameters", None)
    used_up = go_through(machine, parameters)
    items, more = _items(machine, parameters) if used_up is None else ((), False)
    unseen = weights.note_clipped(machine, items)
    tensors = [] if more else [item.tensor for item in items if isinstance(item, TensorValue)]
    for tensor in tensors:
        if tensor.grad is not None:
            machine.autograd.bump(tensor.grad, "clip")
    known = not isinstance(parameters, Unknown) if used_up else bool(tensors) and not getattr(parameters, "open", False)
    if arguments.get(1, "max_norm", None) != math.inf:  # That one only measures.
        machine.emit(Clipped(tuple(tensors), known, machine.site(), used_up, tuple(unseen)))
    return wrap(machine.autograd.tensor(shape=()))


def clip_module(machine: Machine, arguments: Arguments) -> Value:
    """A clip of all parameters of a module: `clip_gradients(module, ...)`, `wrapper.clip_grad_norm_(...)`."""
    module = arguments.get(0, "module", None)
    return clip(machine, Arguments([machine.call(machine.attribute(module, "parameters"), Arguments())]))


def _parameters_to_vector(machine: Machine, arguments: Arguments) -> Value:
    parameters = arguments.get(0, "parameters", None)
    cat = machine.library.module(machine, "torch.cat")
    views: list[Value] = []
    for tensor in gradients_of(machine, parameters):
        view = machine.autograd.view(tensor, "torch.Tensor.view")
        view.shape = (None if tensor.shape is None else product(tensor.shape),)
        views.append(wrap(view))
    made = machine.call(cat, Arguments([List(views)]))
    if getattr(parameters, "open", False) and isinstance(made, TensorValue):
        made.tensor.shape = (None,)
    return made


NAMES: Names = {
    "torch.optim.Optimizer": _OPTIMIZER,
    "torch.optim.optimizer.Optimizer": _OPTIMIZER,
    **{f"torch.optim.{name}": cls for name, cls in TORCH_OPTIM.items()},
    **{f"torch.optim.{name.lower()}.{name}": cls for name, cls in TORCH_OPTIM.items() if name != "SparseAdam"},
    "torch.optim.sparse_adam.SparseAdam": TORCH_OPTIM["SparseAdam"],
    "torch.nn.utils.clip_grad_norm": clip,
    "torch.nn.utils.clip_grad_norm_": clip,
    "torch.nn.utils.clip_grad_value_": clip,
    "torch.nn.utils.clip_grad.clip_grad_norm": clip,
    "torch.nn.utils.clip_grad.clip_grad_norm_": clip,
    "torch.nn.utils.parameters_to_vector": _parameters_to_vector,
    "torch.nn.utils.vector_to_parameters": engines.nothing,
}
