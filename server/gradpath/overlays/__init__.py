"""The overlays, which give library names their meaning: one file a library. A new file needs no line elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradpath.autograd.backward import backward
from gradpath.autograd.errors import AutogradError, FaultKind
from gradpath.autograd.ops import find_op
from gradpath.interpreter.containers import List, everything_in, handed_out
from gradpath.interpreter.entered import Entered
from gradpath.interpreter.events import Cleared, Held, Kept, Named
from gradpath.interpreter.iteration import Container, Iteration
from gradpath.interpreter.kinds import OF_TENSORS, Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.origins import Attribute, Call, Library, Made
from gradpath.interpreter.ownership import Rejoined
from gradpath.interpreter.readings import parts_of
from gradpath.interpreter.scope import Frame
from gradpath.interpreter.values import (
    CONSTANTS,
    UNDEFINED,
    Arguments,
    Class,
    Function,
    Instance,
    Unknown,
    Value,
)
from gradpath.overlays import keeping, registry
from gradpath.overlays.frameworks import engines
from gradpath.overlays.libraries import chance
from gradpath.overlays.libraries.collections import Bounded
from gradpath.overlays.libraries.expected_failures import asserted
from gradpath.overlays.namespace import Namespace, as_value
from gradpath.overlays.presumed import (
    chosen_classes,
    conventions,
    criteria,
    frozen,
    model_parts,
    modules_alone,
    plain_data,
    roles,
    successors,
    unknown_stores,
    unknowns,
    uses,
    weights,
)
from gradpath.overlays.presumed.annotated import annotated_parameter
from gradpath.overlays.presumed.assumptions import Assumptions, assumed_call
from gradpath.overlays.project_modules import ProjectModules
from gradpath.overlays.torch import custom_functions, gradmode, state_dicts, tensor_methods, used_up
from gradpath.overlays.torch.layers import ContainerInstance, layer_class
from gradpath.overlays.torch.nn import ModuleInstance, note_overlooked, tensors_of
from gradpath.overlays.torch.operations import operation, tensors_in
from gradpath.overlays.torch.optim import OptimizerInstance, note_renewed
from gradpath.overlays.torch.tensor_value import TensorNumber, TensorValue


class Overlays:
    """The library of the interpreter (`interpreter.machine.Library`), with the modules of a project."""

    def __init__(self, project: ProjectModules | None = None, assume: Assumptions | None = None) -> None:
        self._project = project
        self._assume = assume
        # Tensors learn what they do from one of the overlays, also in a document that imports no library.
        registry.names()

    def module(self, machine: Machine, name: str) -> Value:
        """The meaning of a dotted name: by an overlay, an operation, a built-in module, a namespace, or unknown."""
        own = None if self._project is None or registry.is_overlaid(name) else self._project.find(machine, name)
        if own is not None:
            return own
        if name in machine.modules:
            return machine.modules[name]
        meaning = self._meaning(machine, name)
        machine.modules[name] = meaning
        return meaning

    def _meaning(self, machine: Machine, name: str) -> Value:
        names = registry.names()
        if name in names:
            return as_value(name, names[name])
        if name.startswith("torch."):
            layer = layer_class(name)
            if layer is not None:
                return layer
            op = find_op(name)
            if op is not None:
                return operation(op, name)
        if name in registry.prefixes():
            return Namespace(name)
        top = name.partition(".")[0]
        if top in registry.prefixes() and name.endswith(f".{top}"):
            return self.module(machine, top)  # The files of a library import it: `torch.torch` is `torch`.
        words = name if registry.is_overlaid(name) else f"library {name.partition('.')[0]}"
        return machine.unknown_from(Library(name, words), ("name", name), data=plain_data.is_library(name))

    def parameter(self, machine: Machine, function: Function, argument: ast.arg, default: Value) -> Value:
        tree = self._project.tree if self._project is not None and function.path == machine.file else None
        made = annotated_parameter(machine, function, argument, default, tree)
        if made is not UNDEFINED:
            return made
        role = uses.role_of_parameter(function, argument.arg, default)
        given = unknowns.unknown_parameter(machine, argument, default, role)
        if machine.predictions and function.node is machine.trace.entry:
            criteria.presume(machine, argument, given, default)
        return given

    def known_by_methods(self, defined: frozenset[str]) -> Class | None:
        return registry.known_by_methods(defined)

    def compared(self, machine: Machine, node: ast.Compare) -> None:
        frozen.compared(machine, node)

    def meant_by(self, machine: Machine, name: str) -> Value:
        return conventions.meant_by(machine, name)

    def unknown_attribute(self, machine: Machine, unknown: Unknown, name: str) -> Value:
        meant = conventions.member(machine, unknown, name)
        return unknowns.unknown_attribute(machine, unknown, name) if meant is UNDEFINED else meant

    def unknown_sign(self, machine: Machine, unknown: Unknown, operator: str) -> Value:
        return unknowns.unknown_sign(machine, unknown, operator)

    def unknown_inplace(self, machine: Machine, unknown: Unknown, operator: str, other: Value) -> Value:
        return unknowns.unknown_inplace(machine, unknown, operator, other)

    def unknown_operation(
        self, machine: Machine, unknown: Unknown, operator: str, other: Value, reflected: bool
    ) -> Value:
        return unknowns.unknown_operation(machine, unknown, operator, other, reflected)

    def set_unknown_item(self, machine: Machine, unknown: Unknown, key: Value, value: Value) -> None:
        unknown_stores.set_item(machine, unknown, key, value)

    def set_unknown_attribute(self, machine: Machine, unknown: Unknown, name: str, value: Value) -> None:
        unknown_stores.set_attribute(machine, unknown, name, value)

    def unknown_call(self, machine: Machine, unknown: Unknown, arguments: Arguments) -> Value:
        if self._assume:
            result = assumed_call(machine, self._assume, unknown, arguments)
            if result is not NotImplemented:
                return result
        block = asserted(unknown, arguments)
        return unknowns.unknown_call(machine, unknown, arguments) if block is None else block

    def unknown_item(self, machine: Machine, unknown: Unknown, index: Value, ordinal: int | None = None) -> Value:
        return unknowns.unknown_item(machine, unknown, index, ordinal)

    def use_up(self, machine: Machine, iterable: Unknown) -> None:
        used_up.use_up(machine, iterable)

    def is_used_up(self, machine: Machine, iterable: Value) -> bool:
        """True if an iterable gives nothing any more; a generator of parameters is noted."""
        return used_up.is_used_up(machine, iterable)

    def chosen(self, machine: Machine, items: Sequence[Value], index: Value, default: Value = UNDEFINED) -> Value:
        """The item at an unknown index, which may have a `default`; `UNDEFINED` where nothing determines it."""
        table = model_parts.table_of_parts(items)
        if table is not None:
            return unknowns.unknown_item(machine, table, index)
        if items and all(isinstance(each, ModuleInstance) for each in items):
            return items[0]  # As a `ModuleList` or a `ModuleDict` gives it.
        drawn = chosen_classes.one_of(machine, items, index, default)
        if drawn is not UNDEFINED:
            return drawn
        match index:
            case Unknown() if not index.is_data:
                return UNDEFINED
            case Unknown() if chance.is_index(index.root):
                drawn = chance.at_random(items)
        return chance.any_of_alike(items) if drawn is UNDEFINED else drawn

    def has_attribute(self, value: Value, name: str) -> bool | None:
        """True if a tensor has an attribute; None where that is not known, and for other values."""
        return (isinstance(value, TensorValue) and tensor_methods.has_attribute(value, name)) or None

    def is_instance(self, value: Value, kind: Value) -> bool | None:
        """True if a value is of an unknown class: no tensor, list, tuple or dict is one of NumPy's, or of its like."""
        known = isinstance(value, (TensorValue, List, Dict, tuple))
        return False if known and isinstance(kind, Unknown) and plain_data.is_of_library(kind) else None

    def is_live(self, value: Value) -> bool:
        """True if a value is a tensor that a gradient flows through, or a number that was read out of one."""
        return isinstance(value, TensorValue | TensorNumber) and value.tensor.requires_grad

    def lacks_graph(self, value: Value) -> bool:
        """True if a value is a tensor without a graph for sure, a number read out of one, or data."""
        match value:
            case TensorNumber() | Unknown(kind=Kind.PLAIN, tensor=None):
                return True
            case TensorValue(tensor=tensor) | Unknown(kind=Kind.PLAIN, tensor=TensorValue(tensor=tensor)):
                return not tensor.requires_grad and not tensor.is_open
        return False

    def keeps_graph(self, machine: Machine, receiver: Value, tree: ast.Module) -> bool:
        """True if an object is a module of the file, and a buffer of it keeps a graph for the next call."""
        return isinstance(receiver, ModuleInstance) and modules_alone.keeps_graph(machine, receiver, tree)

    def holds_graph(self, value: Value, *, since: int = 0) -> bool:
        """True if a value is or holds a tensor that was computed on a graph, or is presumed to be one.

        With `since`, only what came up when there were so many unknown values, and was not back-propagated.
        """
        return any(_is_on_graph(each, since) for each in everything_in(value))

    def may_have_cleared(self, machine: Machine) -> None:
        """Something that is not seen may have cleared any gradients."""
        machine.emit(Cleared((), machine.site(), None, known=False))

    def trains(self, decorator: Unknown) -> bool:
        """True if something unknown was made of a model or an optimizer: `@Captured(model=net, optim=optimizer)`."""
        given = decorator.origin.arguments if isinstance(decorator.origin, Call) else ()
        return any(
            isinstance(each, (ModuleInstance, OptimizerInstance)) or roles.role_of(each) in ("model", "optimizer")
            for each in given
        )

    def is_observed(self, value: Value) -> bool:
        """True if a value that was misused is a tensor, or a number that was read out of one."""
        parts = value if isinstance(value, tuple) else (value,)
        return any(isinstance(part, (TensorValue, TensorNumber)) for part in parts)

    def back_propagate(self, machine: Machine, entered: Entered, result: Value) -> None:
        """Run a backward through what a function has returned, of whatever shape, where it returns it.

        The parameters of a module whose `forward` it is are stepped there. What the class calls only where gradients
        are off has no backward.
        """
        if gradmode.is_entered_without_gradients(machine, entered):
            return
        if machine.predictions:
            criteria.back_propagate(machine, entered, result)
            return
        results = tensors_in(machine, handed_out(result))
        roots = [each for each in results if each.node is not None]
        if not roots:
            return
        function = entered.function
        engines.at_result(machine, function, lambda: backward(machine.autograd, roots, seeds=()))
        if isinstance(entered.receiver, ModuleInstance) and function.name == "forward":
            modules_alone.step(machine, function, entered.receiver, result, results)

    def enter(self, machine: Machine, entered: Entered) -> Value:
        """Call a function without a caller; a method of a framework's class runs as that framework runs it.

        If the methods of its class call it only where gradients are off, it runs without them here, too.
        """
        receiver, name, called = entered.receiver, entered.function.name, entered.made
        owner = receiver.cls if isinstance(receiver, Instance) else entered.function.owner
        for base in () if owner is None else owner.mro:
            if isinstance(base, registry.Caller) and name in base.calls:
                return base.enter(machine, entered)
        if gradmode.is_entered_without_gradients(machine, entered) or custom_functions.is_forward(owner, name):
            called = gradmode.Guarded(called, grad=False, inference=None)
        result = machine.call(called, entered.arguments())
        if isinstance(receiver, ModuleInstance) and name == "forward":
            note_overlooked(machine, receiver)
        return result

    def recursion(self, machine: Machine, function: Function, arguments: Arguments) -> Value:
        return machine.unknown("recursion", None, tuple(arguments.all()), made=Made.RECURSION)

    def bound(self, machine: Machine, name: str, value: Value, before: Value = None) -> object:
        """The part of a value for which a binding is recorded: a tensor, or a number read from one."""
        match value:
            case TensorValue():
                value.tensor.label = name
                return value.tensor
            case Unknown():
                uses.note_binding(machine, value, name, before)
                gone_through = _is_target_of_loop(machine.node)
                if not gone_through:
                    self._replace(machine, name, value, before)
                if not (gone_through and value.label) and (
                    roles.role_of_name(name) or not roles.role_of_name(value.label)
                ):
                    value.label = name  # What was called a model once is one under any name.
                if isinstance(value.tensor, TensorValue):
                    value.tensor.tensor.label = name
                return value
            case tuple() | List() | Dict():
                parts = parts_of(value)
                tensors = tuple(part.tensor for part in parts if isinstance(part, TensorValue))
                for tensor in tensors:
                    tensor.label = tensor.label or name
                kind = "tuple" if isinstance(value, tuple) else "list" if isinstance(value, List) else "dict"
                return Held(kind, tensors, value, len(tensors) == len(parts)) if tensors else None
            case TensorNumber():
                return value.read
            case ModuleInstance():
                replaced = before if isinstance(before, ModuleInstance) else None
                machine.emit(Named(name, value, machine.site(), replaced))
                if value.filled and value.cls.find("forward") is UNDEFINED:
                    note_overlooked(machine, value)  # Nothing can call it; whoever made it wants its parameters.
                if not _is_target_of_loop(machine.node) and state_dicts.is_copy(machine, before, value):
                    machine.emit(Rejoined(name, tensors_of(value.parameters()), machine.site()))
                return None
        return None

    def _replace(self, machine: Machine, name: str, value: Unknown, before: Value) -> None:
        """Note that a model takes the place of another one, of which it may be the original."""
        if roles.role_of(value) == "model" and state_dicts.is_copy(machine, before, value):
            machine.emit(Rejoined(name, tuple(weights.of(machine, value)), machine.site()))
        successors.note_successor(machine, value, before)

    def kept(self, frame: Frame) -> tuple[Kept, ...]:
        """The values that the running bodies hold, for fixes that need a path to one."""
        return keeping.kept(frame)

    def is_option(self, machine: Machine, name: str, instance: Instance | None = None) -> bool:
        """True if an attribute of that name, which is not seen to be set, is presumed to be plain data.

        That of an instance is where the methods of its class read it like settings.
        """
        return roles.is_option(name) or (instance is not None and uses.holds_settings(machine, instance.cls, name))

    def forget(self, machine: Machine, instance: Instance, name: str, *, bound: bool = True) -> None:
        """Make an attribute unknown, since unseen code may have set it. A list stays one, with unknown items.

        Tensors and instances are presumed to stay as they are; a container of modules that is empty may be filled, and
        an optimizer that is made again, if the attribute may be `bound` again, may have other parameters by then.
        """
        before = instance.attributes.get(name)
        if isinstance(before, OptimizerInstance) and bound:
            note_renewed(machine, before)
        if isinstance(before, ContainerInstance):
            before.open = before.open or not before.keys
        if not isinstance(before, (Container, Iteration, *CONSTANTS)):
            return
        if type(before) is List or type(before) is Dict:
            instance.attributes[name] = List([], open=True) if type(before) is List else Dict(open=True)
            return
        if isinstance(before, Bounded):
            instance.attributes[name] = Bounded([], before.limit, open=True)
            return
        origin = Attribute(instance, name, "attribute set elsewhere")
        key = None if type(before) in (int, float) else ("attr", id(instance), name)  # A total begins again.
        instance.attributes[name] = machine.unknown_from(origin, key, data=roles.is_option(name))

    def native_exception(self, error: AutogradError) -> str:
        match error.kind:
            case FaultKind.OPTIMIZER_EMPTY | FaultKind.OPTIMIZER_NON_LEAF:
                return "ValueError"
            case FaultKind.PARAMETER_ASSIGNMENT | FaultKind.SAVED_PLAIN:
                return "TypeError"
            case FaultKind.NOT_IMPLEMENTED:
                return "NotImplementedError" if error.node is None else "RuntimeError"
        return "RuntimeError"


def _is_on_graph(value: Value, since: int) -> bool:
    """True if a value is a tensor that was computed on a graph, or is presumed to be one, as `holds_graph` asks."""
    if isinstance(value, Unknown) and isinstance(value.tensor, TensorValue) and since == 0:
        value = value.tensor if value.tensor.tensor.storage.writes else value
    if isinstance(value, Unknown):
        return value.kind in OF_TENSORS and value.number > since  # Not what has a `backward`, and nothing more.
    node = value.tensor.node if isinstance(value, TensorValue) else None
    return node is not None and (since == 0 or node.freed_by is None)


def _is_target_of_loop(node: ast.AST) -> bool:
    """True if a value is bound by a `for`, whose variable is called anything: `for net in (self.G, self.D)`."""
    return isinstance(node, ast.Name | ast.Tuple | ast.List) and isinstance(node.ctx, ast.Store)
