"""`torch.no_grad` and its kin: context managers, decorators, and functions that switch for good."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.autograd.tensor import SWITCHED_OFF
from gradpath.interpreter.classes import Context
from gradpath.interpreter.endings import Raised
from gradpath.interpreter.entered import Entered
from gradpath.interpreter.events import Switched
from gradpath.interpreter.idle import trains
from gradpath.interpreter.iteration import Iteration
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import UNDEFINED, Arguments, Class, Function, Instance, NativeFunction, Object, Value
from gradpath.overlays.namespace import Names
from gradpath.overlays.presumed.places import place_of
from gradpath.source.index import inside
from gradpath.source.nodes import nodes, noted


class GradMode(Context):
    """An instance of `no_grad`, `enable_grad`, `set_grad_enabled` or `inference_mode`; also a decorator."""

    __slots__ = ("before", "grad", "inference")

    def __init__(self, grad: bool | None, inference: bool | None = None) -> None:
        self.grad = grad
        self.inference = inference
        self.before: list[tuple[bool, bool]] = []

    def enter(self, machine: Machine) -> Value:
        autograd = machine.autograd
        self.before.append((autograd.grad_enabled, autograd.inference))
        self.switch(machine)
        return self

    def switch(self, machine: Machine) -> None:
        """Set the mode. Inside inference mode nothing turns gradients on (rg/inference_enable_grad_inside)."""
        autograd = machine.autograd
        autograd.kept_off = None
        if self.inference is not None:
            autograd.inference = self.inference
            autograd.grad_enabled = not self.inference
        elif self.grad is not None:
            autograd.grad_enabled = self.grad and not autograd.inference

    def leave(self, machine: Machine, raised: Raised | None) -> bool:
        if self.before:
            machine.autograd.kept_off = None
            machine.autograd.grad_enabled, machine.autograd.inference = self.before.pop()
        return False

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        return Guarded(arguments.get(0, "func", None), self.grad, self.inference)


class Guarded(Object):
    """A function whose calls run in a grad mode; a class keeps being a class, its `__init__` is guarded."""

    __slots__ = ("function", "grad", "inference")
    kind_name = "function"

    binds = True

    def __init__(self, function: Value, grad: bool | None, inference: bool | None) -> None:
        self.function = function
        self.grad = grad
        self.inference = inference

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        mode = GradMode(self.grad, self.inference)
        mode.enter(machine)
        try:
            result = machine.call(self.function, arguments)
        finally:
            mode.leave(machine, None)
        if isinstance(result, Iteration):
            return Iteration(self._stepwise(machine, result), endless=result.endless)
        return result

    def _stepwise(self, machine: Machine, iteration: Iteration) -> Iterator[Value]:
        """A decorated generator function runs each of its steps in the mode, and its consumer outside."""
        while True:
            mode = GradMode(self.grad, self.inference)
            mode.enter(machine)
            try:
                item = next(iteration.host, UNDEFINED)
            finally:
                mode.leave(machine, None)
            if item is UNDEFINED:
                return
            yield item

    def attribute(self, machine: Machine, name: str) -> Value:
        return machine.attribute(self.function, name)


def is_entered_without_gradients(machine: Machine, entered: Entered) -> bool:
    """True if a function without a caller is one that its class, or its file, calls only where gradients are off.

    Not one that goes backward: those callers have shown what becomes of that, and ask for none if it has not run.
    """
    receiver, name = entered.receiver, entered.function.name
    if isinstance(entered.function.node, ast.FunctionDef) and trains(entered.function.node.body):
        return False
    if isinstance(receiver, Instance):
        classes = [cls.node for cls in receiver.cls.mro if cls.node is not None]
        return _is_called_without(classes, f"self.{name}", name)
    if entered.function.owner is not None or name not in _callers(entered.tree):
        return False
    machine.surveyed.add(entered.tree)
    return _is_called_without([entered.tree], name, name)


def _is_called_without(blocks: Sequence[ast.ClassDef | ast.Module], place: str, name: str) -> bool:
    """True if others than itself call a function, and by their text all do so where gradients are off."""
    calls = [off for block in blocks for caller, off in _callers(block).get(place, ()) if caller != name]
    return bool(calls) and all(calls)


@noted
def _callers(block: ast.ClassDef | ast.Module) -> dict[str, list[tuple[str, bool]]]:
    """By the places of what is called, the functions that call it, "" outside of all, and whether gradients are off."""
    found: dict[str, list[tuple[str, bool]]] = {}
    for body in block.body:
        for place, off in _calls(body).items():
            found.setdefault(place, []).append((body.name if isinstance(body, ast.FunctionDef) else "", off))
    return found


@noted
def _calls(body: ast.stmt) -> dict[str, bool]:
    """The places of what a statement calls, and whether it does so only while gradients are off."""
    off = set(_without_gradients(body)) if isinstance(body, ast.FunctionDef) else set()
    found: dict[str, bool] = {}
    for call in inside(body, ast.Call):
        place = place_of(call.func)
        found[place] = call in off and found.get(place, True)
    return found


def _without_gradients(method: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function that run while gradients are off."""
    if any(map(_is_off, method.decorator_list)):
        yield from nodes(method)
    for block in inside(method, ast.With):
        if any(_is_off(item.context_expr) for item in block.items):
            yield from nodes(block)
    off = False
    for statement in method.body:
        if off:
            yield from nodes(statement)
        off = off or _switches_off(statement)


def _switches_off(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=func, args=[ast.Constant(value=False)])):
            return place_of(func).rpartition(".")[2] == "set_grad_enabled"
    return False


def _is_off(mode: ast.expr) -> bool:
    callee = mode.func if isinstance(mode, ast.Call) else mode
    return place_of(callee).rpartition(".")[2] in SWITCHED_OFF


def _maker(grad: bool) -> NativeFunction:
    def make(machine: Machine, arguments: Arguments) -> Value:
        first = arguments.get(0, "orig_func")
        if isinstance(first, (Function, NativeFunction, Class)):
            return Guarded(first, grad, None)
        return GradMode(grad)

    return NativeFunction("grad mode", make)


def _inference_mode(machine: Machine, arguments: Arguments) -> Value:
    first = arguments.get(0, "mode", True)
    if isinstance(first, (Function, NativeFunction)):
        return Guarded(first, None, True)
    return GradMode(None, machine.decide(first))


def _set_grad_enabled(machine: Machine, arguments: Arguments) -> Value:
    """Switches at once; as a context manager it restores what was before the call."""
    mode = GradMode(machine.decide(arguments.get(0, "mode", True)))
    before = (machine.autograd.grad_enabled, machine.autograd.inference)
    mode.switch(machine)
    machine.emit(Switched(mode.grad is True, machine.site(), asked=_asked(machine)))
    return _Switched(mode.grad, before)


def _asked(machine: Machine) -> str:
    """The text of the variable that a switch compares with something."""
    match machine.node:
        case ast.Call(args=[ast.Compare(left=ast.Name(id=name))]):
            value = machine.frame.scope.get(name)
            return value if isinstance(value, str) else ""
    return ""


class _Switched(GradMode):
    __slots__ = ("saved",)

    def __init__(self, grad: bool | None, saved: tuple[bool, bool]) -> None:
        super().__init__(grad)
        self.saved = saved

    def enter(self, machine: Machine) -> Value:
        self.before.append(self.saved)
        self.switch(machine)
        return self

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        machine.autograd.grad_enabled, machine.autograd.inference = self.saved
        return Guarded(arguments.get(0, "func", None), self.grad, None)


def _is_grad_enabled(machine: Machine, arguments: Arguments) -> Value:
    return machine.autograd.grad_enabled


NAMES: Names = {
    "torch.no_grad": _maker(False),
    "torch.enable_grad": _maker(True),
    "torch.autograd.no_grad": _maker(False),
    "torch.optim.optimizer._use_grad_for_differentiable": _maker(False),  # As long as it is not asked for.
    "torch.autograd.enable_grad": _maker(True),
    "torch.set_grad_enabled": _set_grad_enabled,
    "torch.autograd.set_grad_enabled": _set_grad_enabled,
    "torch.inference_mode": _inference_mode,
    "torch.is_grad_enabled": _is_grad_enabled,
    "torch.is_inference_mode_enabled": lambda machine, arguments: machine.autograd.inference,
}
