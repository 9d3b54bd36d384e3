"""Which exceptions of the program are certain, and what becomes of the others.

An exception is certain where all that decided it is observed: Python raises on every run that comes there. One that
depends on something else ends nothing: an expression gives an unknown value in its place, and a `raise` is passed over,
as if its condition had not held. Either is counted as an unknown of the cause `CAUSE`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradpath.interpreter.values import Class, Instance, Object, Value
from gradpath.source.index import inside

if TYPE_CHECKING:
    from gradpath.autograd.provenance import Presumption
    from gradpath.interpreter.endings import Raised
    from gradpath.interpreter.machine import Machine
    from gradpath.interpreter.scope import Frame

CAUSE = "exception that is not certain"

_SIGNALS = frozenset({"StopIteration", "StopAsyncIteration", "GeneratorExit"})
"""Exceptions by which parts of a program talk to each other."""

_GUARDS = frozenset({"AssertionError", "SystemExit"})
"""Exceptions that Python raises where the program says so, as by a `raise`."""

_UNBOUND = frozenset({"NameError", "UnboundLocalError"})
_NUMBERS = (bool, int, float, complex)
_MISUSES = frozenset({"TypeError", "AttributeError"})


def is_certain(machine: Machine, cls: Class, subject: Value) -> bool:
    """True if Python certainly raises an exception at the current place; `subject` is the misused value.

    That is certain for numbers, for `...`, and for the gradient of a tensor that is seen, in other files as well if
    everything was followed. Any other value may be wrong because of the way that a branch went, because code of another
    file was run in part, or because the function has no caller that is seen.
    """
    if cls.name in _GUARDS:
        return is_certain_raise(machine, cls)
    if _is_signal(machine, cls) or is_awaited(machine, cls) or machine.library.is_observed(subject):
        return True
    if _is_elsewhere(machine):
        return not machine.strayed and absence_in(machine, machine.node) is not None
    if cls.name in _UNBOUND:
        return machine.path.unlikely > 0
    if isinstance(subject, _NUMBERS) or absence_in(machine, machine.node) is not None:
        return True
    if cls.name in _MISUSES and any(each is ... for each in (subject if isinstance(subject, tuple) else (subject,))):
        return True
    decided = bool(machine.path.outcomes) or not isinstance(machine.trace.entry, ast.Module)
    return not (decided or getattr(subject, "shared", False))


def is_certain_raise(machine: Machine, cls: Class | None) -> bool:
    """True if the program certainly reaches the current `raise`, whose class may be unknown."""
    if cls is not None and (cls.name in _SIGNALS or is_awaited(machine, cls)):
        return True
    in_function = not isinstance(machine.trace.entry, ast.Module)
    if cls is not None and cls.name == "NotImplementedError" and in_function:
        return False  # A subclass that is not seen overrides the method.
    frame = machine.frame
    while True:
        if frame.ways:
            return not frame.ways[-1]
        if frame.doubtful:
            return False
        if frame.parent is None:
            return not _is_elsewhere(machine)
        frame = frame.parent


def _is_signal(machine: Machine, cls: Class) -> bool:
    """True if an exception may be a signal to a caller, as StopIteration is to a caller of `__next__`."""
    if cls.name != "StopIteration":
        return cls.name in _SIGNALS
    frame: Frame | None = machine.frame
    while frame is not None:
        if frame.function is not None and getattr(frame.function.node, "name", "") == "__next__":
            return True
        frame = frame.parent
    return False


Absence = tuple["Presumption", ...]
"""The presumptions under which a tensor has no gradient; none for one that is seen."""


def absence_in(machine: Machine, expression: ast.AST) -> Absence | None:
    """On what it depends that a value in an expression is the None that a tensor returned for its gradient."""
    known = machine.absences
    return next((known[node] for node in ast.walk(expression) if node in known), None) if known else None


def _is_elsewhere(machine: Machine) -> bool:
    """True if the program is in code of another file than the checked one, of which only a part is run."""
    return machine.frame.path != machine.file


def is_awaited(machine: Machine, cls: Class) -> bool:
    """True if a handler around waits for exceptions of the class, and not just for any."""
    frame = machine.frame
    while True:
        if any(waits(cls) for waits in frame.catchers):
            return True
        if frame.parent is None:
            return False
        frame = frame.parent


def may_leave_gradients_off(machine: Machine) -> bool:
    """True if gradients are off where an exception may be raised, and a handler further out may go on after it."""
    frame = None if machine.autograd.grad_enabled else machine.frame
    while frame is not None:
        if frame.catchers:
            return True
        frame = frame.parent
    return False


def survive(machine: Machine, raised: Raised, node: ast.expr | None = None) -> Value:
    """Return the unknown with which the path goes on after an exception; raise the exception again if it is certain.

    What stands in place of an expression may be computed from every local variable that the expression names. That of
    an attribute keeps its name: what a call of it may do is told by that.
    """
    if raised.certain:
        raise raised
    machine.strayed += _is_elsewhere(machine)
    machine.trace.survived.add(machine.node)
    local = machine.frame.scope.variables
    for each in () if node is None else inside(node, ast.Attribute):
        owner = local.get(each.value.id) if isinstance(each.value, ast.Name) else None
        if isinstance(owner, Instance) and owner.attributes.get(each.attr, owner) is None:
            machine.trace.set_elsewhere = True
    named = () if node is None else [local[each.id] for each in inside(node, ast.Name) if each.id in local]
    made = machine.unknown(CAUSE, None, tuple(each for each in named if isinstance(each, Object)))
    if isinstance(node, ast.Attribute) and isinstance(made, Object):
        return made.attribute(machine, node.attr)
    return made
