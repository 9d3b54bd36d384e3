"""Modules as values of the program: parameters, submodules and buffers. Their methods are in `module_methods`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import ClassVar

from gradpath.autograd.errors import AutogradError, FaultKind
from gradpath.autograd.ops import ModuleSpec
from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.classes import STORE_ATTRIBUTE
from gradpath.interpreter.containers import List, is_slender
from gradpath.interpreter.events import Site
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.mappings import Namespace as Attributes
from gradpath.interpreter.origins import Call, Computed, Made
from gradpath.interpreter.ownership import Attached, Overlooked, Supplanted
from gradpath.interpreter.readings import parts_of
from gradpath.interpreter.values import UNDEFINED, Arguments, Class, Function, Instance, NativeFunction, Unknown, Value
from gradpath.overlays.namespace import Names
from gradpath.overlays.presumed import conditions, missed_flags
from gradpath.overlays.presumed.roles import role_of
from gradpath.overlays.torch.abstract_modules import is_abstract
from gradpath.overlays.torch.module_hooks import REGISTER, Hooks, run
from gradpath.overlays.torch.tensor_value import TensorValue
from gradpath.source.nodes import nodes, noted

Method = Callable[[Machine, "ModuleInstance", Arguments], Value]


class ModuleInstance(Instance):
    """A module.

    `settings` are the constructor arguments of a built-in one, `buffers` the names of its buffers, `tensors` those of
    what was put into `_parameters` by hand, `computed` the attributes that a parametrization computes at each access.
    `filled` says where plain containers became attributes, by the container. One that is `borrowed` was given to an
    object that is presumed: something else may have it as well.
    """

    __slots__ = (
        "borrowed",
        "buffers",
        "computed",
        "filled",
        "hooks",
        "made",
        "settings",
        "spec",
        "tensors",
        "training",
    )

    methods: ClassVar[dict[str, Method]]

    def __init__(self, cls: Class) -> None:
        super().__init__(cls)
        self.training: bool | Unknown = True
        self.borrowed = False
        self.made: Site | None = None
        self.spec: ModuleSpec | None = None
        self.settings: dict[str, Value] = {}
        self.buffers: set[str] = set()
        self.tensors: set[str] = set()
        self.computed: dict[str, Callable[[Machine, ModuleInstance], Value]] = {}
        self.filled: dict[str, tuple[List | tuple[Value, ...] | Dict, Site]] = {}
        self.hooks = Hooks()

    def attribute(self, machine: Machine, name: str) -> Value:
        compute = self.computed.get(name)
        return super().attribute(machine, name) if compute is None else compute(machine, self)

    def native_attribute(self, machine: Machine, name: str) -> Value:
        if name == "training":
            return self.training
        method = self.methods.get(name)
        if method is not None:
            return NativeFunction(f"Module.{name}", lambda m, a: method(m, self, a))
        register = REGISTER.get(name)
        if register is not None:
            return NativeFunction(f"Module.{name}", lambda m, a: register(self.hooks, a))
        if name == "__getattr__":  # None of `methods`: what is missing would be asked of it.
            return NativeFunction(f"Module.{name}", self._part)
        return self._table(name)

    def _part(self, machine: Machine, arguments: Arguments) -> Value:
        """`module.__getattr__(name)`: one of its parts."""
        name = arguments.get(0, "name", None)
        part = self.attributes.get(name, UNDEFINED) if isinstance(name, str) else UNDEFINED
        return machine.unknown("part of a module", None, (self, name)) if part is UNDEFINED else part

    def set_mode(self, training: Value) -> None:
        """Put this module alone into training mode, or out of it; an unknown is decided where it is asked for."""
        self.training = training if isinstance(training, Unknown) else bool(training)

    def _table(self, name: str) -> Value:
        """`_parameters`, `_buffers` or `_modules`: what is stored or deleted there is an attribute."""
        match name:
            case "_parameters":
                return _Parameters(self)
            case "_buffers":
                names = self.buffers
            case "_modules":
                names = {n for n, v in self.attributes.items() if isinstance(v, ModuleInstance)}
            case _:
                return UNDEFINED
        table = Attributes(self.attributes, open=self.cls.open)
        table.entries = {key: entry for key, entry in table.entries.items() if entry[0] in names}
        return table

    def set_attribute(self, machine: Machine, name: str, value: Value) -> None:
        before = self.attributes.get(name)
        replaced = isinstance(before, TensorValue) and before.tensor.is_parameter
        if replaced and isinstance(value, TensorValue) and not value.tensor.is_parameter:
            raise AutogradError(FaultKind.PARAMETER_ASSIGNMENT, tensor=value.tensor)
        if name == "training":
            self.set_mode(value)
            return
        if isinstance(value, (List, Dict, tuple)):
            self.filled[name] = value, machine.site()
        else:
            note_attached(machine, self, value)
        if name == missed_flags.FLAG:
            missed_flags.tell(machine, value, tensors_of(self.parameters()))
        _note_supplanted(machine, before, value)
        super().set_attribute(machine, name, value)

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        own = self.cls.find("__call__")
        if isinstance(own, Function):
            return machine.call(own, arguments.shifted(self))
        forward = machine.attribute(self, "forward")
        made = run(machine, self, self.hooks, arguments, lambda given: machine.call(forward, given))
        match made:
            case Unknown(origin=Computed(made=Made.LONG)):
                return _given_up(machine, self, arguments, made)
        return made

    def children(self) -> Iterator[tuple[str, ModuleInstance]]:
        """The direct submodules by attribute name."""
        for name, value in self.attributes.items():
            if isinstance(value, ModuleInstance):
                yield name, value

    def modules(self) -> Iterator[tuple[str, ModuleInstance]]:
        """This module and all below it, each once."""
        todo: list[tuple[str, ModuleInstance]] = [("", self)]
        seen: set[int] = set()
        while todo:
            prefix, module = todo.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            yield prefix, module
            inside = [(f"{prefix}.{name}" if prefix else name, child) for name, child in module.children()]
            todo += reversed(inside)

    def own_parameters(self) -> Iterator[tuple[str, TensorValue]]:
        """The content of `_parameters`: parameters, and tensors that the program put there."""
        for name, value in self.attributes.items():
            if isinstance(value, TensorValue) and (value.tensor.is_parameter or name in self.tensors):
                yield name, value

    def parameters(self, *, recurse: bool = True) -> list[tuple[str, TensorValue]]:
        """All parameters by qualified name, each once; those of its submodules only if it is to `recurse`."""
        found: dict[int, tuple[str, TensorValue]] = {}
        for prefix, module in self.modules() if recurse else [("", self)]:
            for name, value in module.own_parameters():
                found.setdefault(id(value.tensor), (f"{prefix}.{name}" if prefix else name, value))
        return list(found.values())

    def unregistered(self) -> Iterator[tuple[List | tuple[Value, ...] | Dict, Site]]:
        """The plain containers in attributes of this module and of all below it, and where they were put there."""
        for _, module in self.modules():
            for name, (container, site) in module.filled.items():
                if module.attributes.get(name) is container:
                    yield container, site

    def named_buffers(self, *, recurse: bool = True) -> list[tuple[str, Value]]:
        return [
            (f"{prefix}.{name}" if prefix else name, module.attributes[name])
            for prefix, module in (self.modules() if recurse else [("", self)])
            for name in sorted(module.buffers)
            if name in module.attributes
        ]

    @property
    def has_unknown_parts(self) -> bool:
        """True if it may have parameters that are not seen: an unknown submodule or base class."""
        return bool(self.unknown_parts()) or self.has_unknown_bases

    @property
    def has_unknown_bases(self) -> bool:
        """True if a class of the module, or of a submodule, has a base or a subclass that is not seen."""
        return any(module.cls.open or is_abstract(module.cls) for _, module in self.modules())

    def unknown_parts(self) -> list[Unknown]:
        """The unknown attributes of this module and its submodules that may be modules."""
        return [
            value
            for _, module in self.modules()
            for name, value in module.attributes.items()
            if isinstance(value, Unknown)
            and not value.is_data
            and name not in module.settings
            and (isinstance(value.origin, Call) or value.name or value.role == "model")
            and not _is_computed_with(module.cls, name)
            and (role_of(value) == "model" or isinstance(value.origin, Call) or _is_handled(module.cls, name))
        ]


def _given_up(machine: Machine, module: ModuleInstance, arguments: Arguments, made: Unknown) -> Value:
    """What a module presumably gives that took too much to be followed: as one that is not seen, of its weights."""
    trained = [value for _, value in module.parameters() if value.tensor.requires_grad]
    if not trained:
        return made
    result = machine.unknown("module that takes long", None, (*arguments.all(), *trained), made=Made.LONG)
    if isinstance(result, Unknown):
        name = module.cls.name
        on = machine.autograd.grad_enabled
        result.kind = Kind.LIVE if on else Kind.CUT
        result.provenance = (conditions.RESULT if on else conditions.GRADIENTS_OFF).of(name)
    return result


def _is_computed_with(cls: Class, name: str) -> bool:
    """True if the code of a class adds an attribute of its instances, multiplies or compares it: it is no module."""
    own = (member for each in cls.mro for member in each.members.values() if isinstance(member, Function))
    return any(name in _operands(each.node) for each in own)


def _is_handled(cls: Class, name: str) -> bool:
    """True if the code of a class calls, passes on or reads an attribute of its instances: it may be a module."""
    own = (member for each in cls.mro for member in each.members.values() if isinstance(member, Function))
    return any(name in _handled(each.node) for each in own)


@noted
def _handled(node: ast.AST) -> frozenset[str]:
    """The attributes of its first parameter that a method does more with than to compute, compare and print them."""
    found: set[str] = set()
    for each in nodes(node):
        match each:
            case ast.Call(func=callee, args=args, keywords=keywords):
                handled = [callee, *args, *(keyword.value for keyword in keywords)]
            case ast.Attribute(value=of) | ast.Subscript(value=of) | ast.Starred(value=of):
                handled = [of]
            case ast.For(iter=over) | ast.comprehension(iter=over):
                handled = [over]
            case ast.Return(value=ast.expr() as value) | ast.Assign(value=value):
                handled = [value]
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
                handled = parts
            case ast.IfExp(body=body, orelse=orelse):
                handled = [body, orelse]
            case _:
                handled = []
        found.update(each.attr for each in handled if isinstance(each, ast.Attribute) and _is_own(node, each.value))
    return frozenset(found)


@noted
def _operands(node: ast.AST) -> frozenset[str]:
    """The attributes of its first parameter that a method computes with."""
    found: set[str] = set()
    for each in nodes(node):
        match each:
            case ast.BinOp(left=left, right=right):
                operands = [left, right]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                operands = [operand]
            case ast.Compare(left=left, ops=ops, comparators=others):
                operands = [left, *others] if isinstance(ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE) else []
            case _:
                operands = []
        found.update(each.attr for each in operands if isinstance(each, ast.Attribute) and _is_own(node, each.value))
    return frozenset(found)


def _is_own(method: ast.AST, owner: ast.expr) -> bool:
    """True if an expression is the first parameter of a method."""
    given = method.args.args if isinstance(method, ast.FunctionDef) else []
    return bool(given) and isinstance(owner, ast.Name) and owner.id == given[0].arg


class _Parameters(Attributes):
    """The `_parameters` of a module, in which any tensor may be stored."""

    __slots__ = ("tensors",)

    def __init__(self, module: ModuleInstance) -> None:
        super().__init__(dict(module.own_parameters()), open=module.cls.open)
        self.attributes = module.attributes
        self.tensors = module.tensors

    def store(self, key: Value, value: Value) -> None:
        super().store(key, value)
        if isinstance(key, str):
            self.tensors.add(key)

    def delete_item(self, machine: Machine, key: Value) -> None:
        super().delete_item(machine, key)
        if isinstance(key, str):
            self.tensors.discard(key)


class ModuleClass(Class):
    """`torch.nn.Module` and the built-in classes below it."""

    __slots__ = ()

    instances = ModuleInstance

    def native_member(self, name: str) -> Value:
        if name == "__init__":
            return NativeFunction("Module.__init__", lambda m, a: None)
        if name == "__setattr__":
            return STORE_ATTRIBUTE
        method = ModuleInstance.methods.get(name)
        if method is None or self.name != "Module":
            return UNDEFINED
        return NativeFunction(
            f"Module.{name}",
            lambda m, a: (
                method(m, a.positional[0], Arguments(a.positional[1:], a.keywords))
                if a.positional and isinstance(a.positional[0], ModuleInstance)
                else None
            ),
        )


class LossBase(ModuleClass):
    """`_Loss` and `_WeightedLoss`, of which PyTorch's criteria are made: modules with a `reduction`."""

    __slots__ = ()

    def native_member(self, name: str) -> Value:
        return NativeFunction(f"{self.name}.__init__", self._initialise) if name == "__init__" else UNDEFINED

    def _initialise(self, machine: Machine, arguments: Arguments) -> Value:
        module, *given = arguments.positional
        if isinstance(module, ModuleInstance):
            names = ("weight", *_OF_LOSSES) if self.name == "_WeightedLoss" else _OF_LOSSES
            known = {"reduction": "mean", **dict(zip(names, given, strict=False)), **arguments.keywords}
            if arguments.open or any(known.get(name) is not None for name in _OF_LOSSES[:2]):
                known["reduction"] = machine.unknown("reduction", made=Made.NUMBER)
            for name in ("reduction", *names[:-3]):
                module.set_attribute(machine, name, known.get(name))
        return None


_OF_LOSSES = ("size_average", "reduce", "reduction")


def parameters_in(value: Value, depth: int = 3) -> list[Tensor]:
    """The parameters, and other leaves, that require grad, of a module or in a container."""
    match value:
        case ModuleInstance():
            return [each for each in tensors_of(value.parameters()) if each.flag]
        case TensorValue():
            return [value.tensor] if value.tensor.node is None and value.tensor.flag else []
        case tuple() | List() | Dict() if depth and is_slender(value):
            parts = parts_of(value)
            return [tensor for part in parts for tensor in parameters_in(part, depth - 1)]
    return []


def note_optimizer(machine: Machine) -> None:
    """There is an optimizer: what becomes a part of a module from here on, it may not know."""
    machine.remembered[_OPTIMIZER] = True


def has_optimizer(machine: Machine) -> bool:
    """True if an optimizer has been made."""
    return _OPTIMIZER in machine.remembered


_OPTIMIZER = "an optimizer was made"


def note_attached(machine: Machine, module: ModuleInstance, value: Value) -> None:
    """Something is about to become a part of a module, which it was not, under any name."""
    is_part = isinstance(value, ModuleInstance) or (isinstance(value, TensorValue) and value.tensor.is_parameter)
    if has_optimizer(machine) and is_part:
        beside = tensors_of(module.parameters())
        own = set(beside)
        tensors = [each for each in parameters_in(value) if each not in own]
        if tensors:
            machine.emit(Attached(tuple(tensors), beside, tuple(module.unknown_parts()), machine.site()))


def _note_supplanted(machine: Machine, before: Value, value: Value) -> None:
    """An attribute of a module is about to lose what it has."""
    old, new = parameters_in(before, 0), parameters_in(value, 0)
    if old and new and before is not value:
        made = before.made if isinstance(before, ModuleInstance) else None
        machine.emit(Supplanted(tuple(old), tuple(new), made, machine.site()))


def note_unseen(machine: Machine, value: Unknown, weights: Callable[[], Tensor]) -> None:
    """What is not seen is a module: if the program keeps it in a plain container, these weights are left out."""
    known = (_UNSEEN, value.number) in machine.remembered
    machine.remembered[_UNSEEN, value.number] = weights
    asked = machine.remembered.get(_ASKED)
    for module in asked if isinstance(asked, list) and not known else ():
        note_overlooked(machine, module)


_UNSEEN = "a module that is not seen"
_ASKED = "the modules whose parameters were asked for"


def _unseen_in(machine: Machine, container: List | tuple[Value, ...] | Dict) -> Iterator[Tensor]:
    """What represents the parameters of the modules in a container that are not seen, but known for such."""
    for part in parts_of(container) if is_slender(container) else ():
        weights = machine.remembered.get((_UNSEEN, part.number)) if isinstance(part, Unknown) else None
        made = weights() if callable(weights) else None
        if isinstance(made, Tensor) and made.flag:
            yield made


def as_part(value: Value) -> Value:
    """A value that becomes a part of a module: if it is unknown, it is a module, whatever it was taken for."""
    if isinstance(value, Unknown) and not value.role:
        value.role, value.is_data = "model", False
    return value


def note_overlooked(machine: Machine, module: ModuleInstance) -> None:
    """Tell the trace, once, of parameters that are asked for and not found."""
    if module.has_unknown_bases:
        return
    asked = machine.remembered.setdefault(_ASKED, [])
    if isinstance(asked, list) and module not in asked:
        asked.append(module)
    found = tensors_of(module.parameters())
    known = set(map(id, found))
    for container, site in module.unregistered():
        inside = (*parameters_in(container), *_unseen_in(machine, container))
        missed = tuple(each for each in inside if id(each) not in known)
        key = ("overlooked", site, len(missed))
        if missed and key not in machine.remembered:
            machine.remembered[key] = True
            kind = "tuple" if isinstance(container, tuple) else container.type_name()
            parts = parts_of(container)
            bare = any(isinstance(each, TensorValue) for each in parts)
            machine.emit(Overlooked(kind, bare, missed, found, site))


def tensors_of(values: list[tuple[str, TensorValue]]) -> tuple[Tensor, ...]:
    """The tensors of named values."""
    return tuple(value.tensor for _, value in values)


MODULE = ModuleClass("Module")


NAMES: Names = {
    "torch.nn.Module": MODULE,
    "torch.nn.modules.module.Module": MODULE,
    "torch.nn.modules.Module": MODULE,
    "torch.nn.modules.loss._Loss": LossBase("_Loss", [MODULE]),
    "torch.nn.modules.loss._WeightedLoss": LossBase("_WeightedLoss", [MODULE]),
}
