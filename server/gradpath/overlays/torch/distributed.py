"""`DistributedDataParallel`: a module around a module that waits for gradients of all parameters.

As seen in PyTorch 2.13 with a group of one process: what requires grad when the module is wrapped has to get a gradient
between two forwards. Where some got one and others none, the later forward raises, unless `find_unused_parameters` or
`static_graph` is set, gradients are off, or it runs under `no_sync()`. The backward after such a forward counts for
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradpath.autograd.errors import AutogradError, FaultKind
from gradpath.autograd.tensor import CHECKPOINT, PRESUMED, BackwardCall, Node, Tensor
from gradpath.interpreter.classes import Context
from gradpath.interpreter.endings import Raised
from gradpath.interpreter.events import BackwardRan, Event
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.ownership import Wrapped
from gradpath.interpreter.values import Arguments, Class, NativeFunction, Unknown, Value
from gradpath.overlays.namespace import Names
from gradpath.overlays.presumed import conditions, weights
from gradpath.overlays.presumed.absences import is_hidden
from gradpath.overlays.torch.nn import MODULE, ModuleInstance
from gradpath.overlays.torch.parallel import Wrapper, call_wrapped

_TRACKING = ("find_unused_parameters", "static_graph", "delay_all_reduce_named_params")
"""Options with which not all parameters are waited for, or others than here."""

_POSITIONAL = 4
"""Positional arguments after which one may be such an option."""


class DistributedInstance(ModuleInstance):
    """A wrapped module: which parameters it waits for, and which of them have a gradient since its last forward.

    It waits for none where not all is known of it. `synchronises` is false under `no_sync()`. `shown_by` is the unseen
    part of the module whose weights alone are known to have got a gradient.
    """

    __slots__ = ("awaited", "last", "ready", "shown_by", "synchronises", "watches")

    def __init__(self, cls: Class) -> None:
        super().__init__(cls)
        self.awaited: tuple[Tensor, ...] = ()
        self.ready: set[int] = set()
        self.last: BackwardCall | None = None
        self.shown_by: Unknown | None = None
        self.synchronises = True
        self.watches = False

    def native_attribute(self, machine: Machine, name: str) -> Value:
        match name:
            case "no_sync":
                return NativeFunction(name, lambda m, a: _NoSync(self))
            case "_set_static_graph":
                return NativeFunction(name, lambda m, a: self.give_up())
        return super().native_attribute(machine, name)

    def give_up(self) -> None:
        """Wait for nothing any more."""
        self.awaited = ()

    def note(self, machine: Machine, event: Event) -> None:
        """See which parameters a backward gives a gradient to."""
        if not isinstance(event, BackwardRan) or not event.call.accumulates or not self.awaited or not self.watches:
            return
        module = self.attributes["module"]
        parts = module.unknown_parts() if isinstance(module, ModuleInstance) else []
        if not _is_seen(event.executed, through_presumed=bool(parts)):
            self.give_up()
            return
        leaves = {id(edge.accumulates) for node in event.executed for edge in node.edges if edge.accumulates}
        found = [tensor for tensor in self.awaited if id(tensor) in leaves]
        self.shown_by = next((each for each in parts if leaves & set(map(id, weights.of(machine, each)))), None)
        if found or self.shown_by is not None:
            self.ready.update(map(id, found))
            self.last = event.call

    def begin(self, machine: Machine) -> None:
        """A forward begins: what the backward before it has left open is an error now."""
        self.watches = self.synchronises and machine.autograd.grad_enabled
        missing = [tensor for tensor in self.awaited if id(tensor) not in self.ready]
        if self.shown_by is not None:  # What it was handed may take part in what it gives.
            missing = [tensor for tensor in missing if is_hidden(machine, tensor)]
        if self.watches and missing and (self.ready or self.shown_by is not None):
            error = AutogradError(FaultKind.REDUCTION, tensor=missing[0], earlier=self.last, inputs=missing)
            if self.shown_by is not None:
                error.presumed = (conditions.RESULT.of(conditions.name_of(self.shown_by)),)
            raise error
        if self.watches:
            self.ready.clear()
            self.shown_by = None


def _is_seen(executed: Sequence[Node], *, through_presumed: bool) -> bool:
    """True if a backward went through nothing that may have reached more than is seen."""
    return not any(
        node.is_open
        or (node.name == PRESUMED and not through_presumed)
        or any(saved.role == CHECKPOINT for saved in node.saved)
        for node in executed
    )


class _NoSync(Context):
    """`no_sync()`: gradients add up in this process alone."""

    __slots__ = ("before", "wrapper")

    def __init__(self, wrapper: DistributedInstance) -> None:
        self.wrapper = wrapper
        self.before = True

    def enter(self, machine: Machine) -> Value:
        self.before, self.wrapper.synchronises = self.wrapper.synchronises, False
        return None

    def leave(self, machine: Machine, raised: Raised | None) -> bool:
        self.wrapper.synchronises = self.before
        return False


class DistributedClass(Wrapper):
    """`torch.nn.parallel.DistributedDataParallel`."""

    __slots__ = ()

    instances = DistributedInstance

    def native_member(self, name: str) -> Value:
        match name:
            case "__init__":
                return NativeFunction(f"{self.name}.__init__", _initialise)
            case "forward":
                return NativeFunction(f"{self.name}.forward", _forward)
            case "no_sync":
                return super(Wrapper, self).native_member(name)
        return super().native_member(name)


def _initialise(machine: Machine, arguments: Arguments) -> Value:
    wrapper, module = arguments.get(0, "self", None), arguments.get(1, "module", None)
    if not isinstance(wrapper, DistributedInstance):
        return None
    wrapper.attributes["module"] = module
    options = [arguments.keywords.get(name, False) for name in _TRACKING]
    plain = not arguments.open and len(arguments.positional) <= _POSITIONAL and not any(options)
    if plain and isinstance(module, ModuleInstance) and not module.has_unknown_bases:
        named = [(name, value.tensor) for name, value in module.parameters() if value.tensor.flag]
        wrapper.awaited = tuple(tensor for _, tensor in named)
        machine.listeners.append(lambda event: wrapper.note(machine, event))
        machine.emit(Wrapped(wrapper.awaited, tuple(name for name, _ in named), machine.site()))
    return None


def _forward(machine: Machine, arguments: Arguments) -> Value:
    wrapper = arguments.positional[0]
    if isinstance(wrapper, DistributedInstance):
        wrapper.begin(machine)
    return call_wrapped(machine, arguments)


_CLASS = DistributedClass("DistributedDataParallel", [MODULE])

NAMES: Names = {
    "torch.nn.parallel.DistributedDataParallel": _CLASS,
    "torch.nn.parallel.distributed.DistributedDataParallel": _CLASS,
}
