"""The built-in modules of `torch.nn`: their effects are in the op table, containers are implemented here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache

from gradpath.autograd import ops
from gradpath.autograd.ops import Certainty, ModuleSpec, find_module
from gradpath.autograd.sizes import evaluated
from gradpath.autograd.tensor import Shape, Tensor
from gradpath.interpreter.containers import List, Slice
from gradpath.interpreter.events import Applied
from gradpath.interpreter.iteration import sample
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict, Holder
from gradpath.interpreter.values import UNDEFINED, Arguments, Class, NativeFunction, Unknown, Value, identity
from gradpath.overlays.namespace import Names
from gradpath.overlays.presumed import records, targets
from gradpath.overlays.torch.nn import MODULE, ModuleClass, ModuleInstance, as_part, note_attached
from gradpath.overlays.torch.operations import (
    FOLDING,
    NO_TENSORS,
    bind,
    kind_of,
    missing_from,
    not_a_tensor,
    note_facts,
    run_behaviour,
    tensors_in,
)
from gradpath.overlays.torch.packing import Packed, repacked
from gradpath.overlays.torch.pretrained import FROM_PRETRAINED
from gradpath.overlays.torch.tensor_value import TensorValue, wrap

_TAKES_ANYTHING = "torch.nn.Identity"
_MOST_LAYERS = 16  # of a recurrent network whose parameters are distinguished


class LayerClass(ModuleClass):
    """A built-in module class of the op table."""

    __slots__ = ("spec",)

    def __init__(self, spec: ModuleSpec) -> None:
        super().__init__(spec.name.rpartition(".")[2], [MODULE])
        self.spec = spec

    def native_member(self, name: str) -> Value:
        if name == "__init__":
            return NativeFunction(f"{self.name}.__init__", lambda m, a: _initialise(m, self.spec, a))
        if name == "forward":
            return NativeFunction(f"{self.name}.forward", lambda m, a: _forward(m, self.spec, a))
        if name == "flatten_parameters":
            return NativeFunction(name, lambda m, a: None)
        if name == "reset_parameters":
            return NativeFunction(name, _reset)
        if name == "from_pretrained" and self.name in ("Embedding", "EmbeddingBag"):
            return FROM_PRETRAINED
        return UNDEFINED


@cache
def layer_class(name: str) -> LayerClass | None:
    """The class of that full name, None where the op table has none."""
    spec = find_module(name)
    return None if spec is None else LayerClass(spec)


def _initialise(machine: Machine, spec: ModuleSpec, arguments: Arguments) -> Value:
    module = arguments.positional[0]
    if not isinstance(module, ModuleInstance):
        return None
    settings = bind(spec.init, Arguments(arguments.positional[1:], arguments.keywords, arguments.open))
    module.spec = spec
    module.made = machine.site()
    module.settings = settings
    kinds = {name: kind_of(value) for name, value in settings.items()}
    for name, certainty in spec.parameters(kinds).items():
        if certainty is Certainty.NO:
            module.attributes[name] = None
            continue
        for each in _recurrent_names({**spec.defaults, **settings}) if name == "*" else (name,):
            made = _parameter(machine, _parameter_shape(spec, each, settings))
            made.device = "cpu" if settings.get("device") is None and not arguments.open else None
            module.attributes[each] = wrap(made)
    for name, certainty in spec.buffers(kinds).items():
        if certainty is not Certainty.NO:
            module.attributes[name] = wrap(machine.autograd.tensor(dtype=None))
            module.buffers.add(name)
    for name, value in settings.items():
        module.attributes.setdefault(name, None if name == "bias" else value)  # Without one, `bias` is None.
    return None


def _recurrent_names(settings: Mapping[str, object]) -> Iterator[str]:
    """The names of the parameters of a recurrent network with these settings, in order."""
    layers = settings.get("num_layers") if "bidirectional" in settings else 1
    directions = ("", "_reverse") if settings.get("bidirectional") is True else ("",)
    kinds = ["weight_ih", "weight_hh"]
    if settings.get("bias") is not False:
        kinds += ["bias_ih", "bias_hh"]
    if isinstance(projected := settings.get("proj_size"), int) and projected > 0:
        kinds.append("weight_hr")
    for layer in range(min(layers, _MOST_LAYERS) if isinstance(layers, int) else 1):
        for direction in directions:
            yield from (f"{kind}_l{layer}{direction}" for kind in kinds)


def _parameter(machine: Machine, shape: Shape | None) -> Tensor:
    made = machine.autograd.tensor(requires_grad=True, shape=shape)
    made.is_parameter = True
    made.operation = "parameter"
    return made


def _parameter_shape(spec: ModuleSpec, name: str, settings: Mapping[str, Value]) -> Shape | None:
    words = spec.parameter_sizes.get(name)
    if words is None:
        return None

    def argument(setting: str) -> object:
        value = settings.get(setting, spec.defaults.get(setting))
        if isinstance(value, Unknown):
            value.is_data = True  # PyTorch takes nothing but a number for a size.
        return value.items if isinstance(value, List) else value

    if isinstance(words[0], str) and words[0].startswith("*"):
        whole = argument(words[0][1:])
        sizes = whole if isinstance(whole, (tuple, list)) else (whole,) if isinstance(whole, int) else None
        return None if sizes is None else tuple(size if isinstance(size, int) else None for size in sizes)
    return tuple(evaluated(word, argument) for word in words)


def _reset(machine: Machine, arguments: Arguments) -> Value:
    module = arguments.get(0, "self", None)
    if isinstance(module, ModuleInstance):
        for _, value in module.parameters():
            machine.autograd.bump(value.tensor, "reset_parameters")
    return None


def _forward(machine: Machine, spec: ModuleSpec, arguments: Arguments) -> Value:
    module = arguments.positional[0]
    values = Arguments(arguments.positional[1:], arguments.keywords, arguments.open)
    if not isinstance(module, ModuleInstance):
        return machine.unknown("forward of unknown", None, tuple(values.all()))
    first = values.get(0, "input")
    if isinstance(first, Packed):
        unpacked = Arguments([module, first.data, *values.positional[1:]], values.keywords)
        return repacked(_forward(machine, spec, unpacked))
    bound = bind(spec.forward, values)
    if missing := missing_from(bound, spec.forward):
        return _incomplete(machine, module, values, missing[0])
    for each in spec.forward:
        given = bound.get(each.name)
        if each.default is ops.REQUIRED and isinstance(given, NO_TENSORS) and spec.name != _TAKES_ANYTHING:
            raise not_a_tensor(machine, spec.name, each.name, given)
    targets.presume(machine, spec.name, bound)
    records.note(machine, first)
    kinds: dict[str, object] = {name: kind_of(value) for name, value in module.settings.items()}
    inputs: dict[str, list[Tensor]] = {}
    for name, value in bound.items():
        kinds[name] = kind_of(value)
        note_facts(kinds, name, value, folded=spec.name in FOLDING)
        tensors = tensors_in(machine, value, presume=True)
        if tensors:
            inputs[name] = tensors
            if kinds[name] is ops.UNKNOWN:
                kinds[name] = ops.TENSOR
    for name in spec.parameters(kinds):
        if name == "*":
            inputs["*"] = [value.tensor for _, value in module.parameters()]
            continue
        own = name in module.attributes or name in module.computed or module.cls.find(name) is not UNDEFINED
        parameter = machine.attribute(module, name) if own else None
        if isinstance(parameter, TensorValue):
            inputs[name] = [parameter.tensor]
        elif isinstance(parameter, Unknown):  # A property of the program's class computes it.
            return machine.unknown("layer of which a parameter is computed", None, (parameter, *values.all()))
    mode = module.training if isinstance(module.training, bool) else None
    behaviour = spec.behaviour(mode, kinds)
    if behaviour.inplace is not None:
        machine.emit(Applied(spec.name, module.made, machine.site()))
    return run_behaviour(machine, spec.name, spec, behaviour, inputs, {**module.settings, **bound})


def _incomplete(machine: Machine, module: ModuleInstance, arguments: Arguments, missing: str) -> Value:
    """Refuse a call without a required argument, unless an unseen argument may be it."""
    name = module.cls.name
    if arguments.open:
        return machine.unknown(f"call of {name} with arguments that are not seen", None, tuple(arguments.all()))
    raise machine.error("TypeError", f"{name}.forward() missing 1 required positional argument: '{missing}'")


# Containers


class ContainerInstance(ModuleInstance):
    """A container module; its items are the attributes named by `keys`, in order, of which some stand for `unseen`."""

    __slots__ = ("keys", "open", "unseen")

    def __init__(self, cls: Class) -> None:
        super().__init__(cls)
        self.keys: list[str] = []
        self.open = False
        self.unseen: dict[str, Value] = {}

    @property
    def items(self) -> list[Value]:
        return [self.attributes.get(key) for key in self.keys]

    @property
    def names(self) -> list[Value]:
        """The keys, as the program has them."""
        return [self.unseen.get(key, key) for key in self.keys]

    @property
    def has_unknown_parts(self) -> bool:
        return self.open or super().has_unknown_parts

    def put(self, machine: Machine, key: str, value: Value) -> None:
        """Add a part; PyTorch refuses a list of modules as one."""
        if isinstance(value, List | Dict | tuple) and not self.cls.name.startswith("Parameter"):
            kind = {List: "list", Dict: "dict"}.get(type(value), "tuple")
            raise machine.error("TypeError", f"{kind} is not a Module subclass")
        if key not in self.keys:
            self.keys.append(key)
        self.attributes[key] = (_as_parameter if self.cls.name.startswith("Parameter") else as_part)(value)

    def iterate(self, machine: Machine) -> Iterator[Value] | None:
        if self.open:
            return None
        return iter(self.names) if self.cls.name.endswith("Dict") else iter(self.items)

    @property
    def shown_items(self) -> list[Value]:
        """The items with which an iteration begins where there may be more."""
        return [] if self.cls.name.endswith("Dict") else self.items

    def fresh_item(self, machine: Machine) -> Value:
        """One more item where there may be more: the last one stands for those that are not seen."""
        return self.shown_items[-1] if self.shown_items else machine.unknown("item of an iterable")

    def length(self, machine: Machine) -> int | None:
        return None if self.open else len(self.keys)

    def truth(self, machine: Machine) -> bool | None:
        return None if self.open else bool(self.keys)

    def item(self, machine: Machine, key: Value) -> Value:
        if isinstance(key, str) and key in self.keys:
            return self.attributes[key]
        if isinstance(key, int) and -len(self.keys) <= key < len(self.keys):
            return self.attributes[self.keys[key]]
        if isinstance(key, slice | Slice):  # Of one whose bounds are not known, any part may be in it.
            made = ContainerInstance(self.cls)
            made.open = self.open or isinstance(key, Slice)
            for each in self.keys[key] if isinstance(key, slice) else self.keys:
                made.put(machine, str(len(made.keys)), self.attributes[each])
            return made
        items = self.items
        if len(items) == 1:
            return items[0]
        if isinstance(key, Unknown) and items and self.unseen:
            same = (name for name, unseen in self.unseen.items() if identity(unseen) == identity(key))
            name = next(same, self.keys[-1] if self.cls.name.startswith("Parameter") else None)
            return machine.unknown("item of a container", None, (self,)) if name is None else self.attributes[name]
        return items[0] if items and not self.open else machine.unknown("item of a container", None, (self,))

    def set_item(self, machine: Machine, key: Value, value: Value) -> None:
        note_attached(machine, self, value)
        if isinstance(key, int) and -len(self.keys) <= key < len(self.keys):
            self.attributes[self.keys[key]] = value
        elif isinstance(key, str):
            self.put(machine, key, value)
        else:
            self.open = True

    def contains(self, machine: Machine, item: Value) -> Value:
        return (
            item in self.keys if isinstance(item, str) and not self.open else machine.unknown("membership", data=True)
        )

    def native_attribute(self, machine: Machine, name: str) -> Value:
        method = _CONTAINER_METHODS.get(name)
        if method is not None:
            return NativeFunction(name, lambda m, a: method(m, self, a))
        return super().native_attribute(machine, name)


class ContainerClass(ModuleClass):
    """`Sequential`, `ModuleList`, `ModuleDict`, `ParameterList`, `ParameterDict`: submodules by number or name."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(name, [MODULE])

    instances = ContainerInstance

    def native_member(self, name: str) -> Value:
        if name == "__init__":
            return NativeFunction(f"{self.name}.__init__", _fill)
        if name == "forward" and self.name == "Sequential":
            return NativeFunction("Sequential.forward", _chain)
        return UNDEFINED


def _as_parameter(value: Value) -> Value:
    if isinstance(value, TensorValue) and not value.tensor.is_parameter and value.tensor.node is None:
        value.tensor.is_parameter = True
        value.tensor.flag = True
    return value


def _fill(machine: Machine, arguments: Arguments) -> Value:
    container, *values = arguments.positional
    if not isinstance(container, ContainerInstance):
        return None
    if container.cls.find("__init__") is UNDEFINED:
        return None
    named = _as_dict(values[0]) if len(values) == 1 else None
    if named is not None:
        _put_dict(machine, container, named)
        return None
    sequential = any(base.name == "Sequential" for base in container.cls.mro)
    if not sequential and values:
        items, container.open = sample(machine, values[0])
        values = items
    container.open = container.open or arguments.open
    for value in values:
        pair = isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)
        key, part = (value[0], value[1]) if pair else (str(len(container.keys)), value)  # type: ignore[index]
        container.put(machine, str(key), part)
    return None


def _as_dict(value: Value) -> Dict | None:
    """A dict, or what the program's own kind of dict holds."""
    content = value.content if isinstance(value, Holder) else value
    return content if isinstance(content, Dict) else None


def _put_dict(machine: Machine, container: ContainerInstance, values: Dict) -> None:
    container.open = container.open or values.open
    for key, value in values.entries.values():
        one = container.cls.name.startswith("Parameter")  # Of parameters with unseen names one stands for all.
        name = key if isinstance(key, str) else f"[{0 if one else len(container.keys)}]"
        if name is not key:
            container.unseen[name] = key
        container.put(machine, name, value)


def _chain(machine: Machine, arguments: Arguments) -> Value:
    container, value = arguments.positional[0], arguments.get(1, "input")
    if not isinstance(container, ContainerInstance):
        return machine.unknown("forward of unknown", None, tuple(arguments.all()))
    if value is UNDEFINED:
        return _incomplete(machine, container, arguments, "input")
    if container.open and not container.items:
        return machine.unknown("Sequential of unknown parts", None, (value,))
    for item in container.items:  # Of parts whose number is not known some stand for all, as they do in a loop.
        value = machine.call(item, Arguments([value]))
    return value


def _append(machine: Machine, container: ContainerInstance, arguments: Arguments) -> Value:
    module = arguments.get(0, "module", None)
    note_attached(machine, container, module)
    container.put(machine, str(len(container.keys)), module)
    return container


def _extend(machine: Machine, container: ContainerInstance, arguments: Arguments) -> Value:
    items, more = sample(machine, arguments.get(0, "modules", ()))
    container.open = container.open or more
    for item in items:
        container.put(machine, str(len(container.keys)), item)
    return container


def _add_module(machine: Machine, container: ContainerInstance, arguments: Arguments) -> Value:
    name, module = arguments.get(0, "name", None), arguments.get(1, "module", None)
    note_attached(machine, container, module)
    container.put(machine, name if isinstance(name, str) else str(len(container.keys)), module)
    return None


def _update(machine: Machine, container: ContainerInstance, arguments: Arguments) -> Value:
    values = _as_dict(arguments.get(0, "modules", None))
    if values is not None:
        _put_dict(machine, container, values)
    else:
        container.open = True
    return None


_CONTAINER_METHODS: dict[str, Callable[[Machine, ContainerInstance, Arguments], Value]] = {
    "append": _append,
    "extend": _extend,
    "add_module": _add_module,
    "register_module": _add_module,
    "update": _update,
    "keys": lambda m, c, a: List(c.names, open=c.open),
    "values": lambda m, c, a: List(c.items, open=c.open),
    "items": lambda m, c, a: List(list(zip(c.names, c.items, strict=True)), open=c.open),
}


NAMES: Names = {
    f"torch.nn.{name}": ContainerClass(name)
    for name in ("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict")
}
