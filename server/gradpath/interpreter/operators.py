"""Python's operators on values: dispatch, arithmetic of constants within bounds, comparisons, membership, items."""

from __future__ import annotations

import ast
import operator as operators
from collections.abc import Callable
from typing import Any

from gradpath.interpreter.bounds import ITEMS, is_affordable, is_light, is_member, is_small
from gradpath.interpreter.containers import List
from gradpath.interpreter.iteration import Container
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Made
from gradpath.interpreter.texts import inserted
from gradpath.interpreter.values import CONSTANTS, UNDEFINED, Object, Unknown, Value, identity

_BINARY: dict[type[ast.operator], tuple[str, Callable[[object, object], object]]] = {
    ast.Add: ("add", operators.add),
    ast.Sub: ("sub", operators.sub),
    ast.Mult: ("mul", operators.mul),
    ast.Div: ("truediv", operators.truediv),
    ast.FloorDiv: ("floordiv", operators.floordiv),
    ast.Mod: ("mod", operators.mod),
    ast.Pow: ("pow", operators.pow),
    ast.MatMult: ("matmul", operators.matmul),
    ast.BitAnd: ("and", operators.and_),
    ast.BitOr: ("or", operators.or_),
    ast.BitXor: ("xor", operators.xor),
    ast.LShift: ("lshift", operators.lshift),
    ast.RShift: ("rshift", operators.rshift),
}


def binary(machine: Machine, operator: type[ast.operator], left: Value, right: Value) -> Value:
    """`left operator right`, as Python dispatches it: Unknown absorbs, unless the other operand is a tensor."""
    name, function = _BINARY[operator]
    if isinstance(left, Object) and not isinstance(left, Unknown):
        result = left.binary(machine, name, right, False)
        if result is not NotImplemented:
            return result
    if isinstance(right, Object) and not isinstance(right, Unknown):
        result = right.binary(machine, name, left, True)
        if result is not NotImplemented:
            return result
    if isinstance(left, Unknown):
        return left.binary(machine, name, right, False)
    if isinstance(right, Unknown):
        if name == "mod" and type(left) is int:
            machine.depends_on(left)
        return right.binary(machine, name, left, True)
    if isinstance(left, Object) or isinstance(right, Object):
        if name == "mod" and isinstance(left, str):
            return machine.unknown("text", None, (right,), data=True)
        return machine.unknown("arithmetic of objects", None, (left, right), made=Made.ARITHMETIC)
    return _constants(machine, name, function, left, right)


_COARSE = frozenset({"mod", "floordiv", "rshift", "and"})
"""Operators that give the same for different counters."""


def _constants(
    machine: Machine, name: str, function: Callable[[object, object], object], left: Value, right: Value
) -> Value:
    if name == "mod" and isinstance(left, (str, bytes)) and not isinstance(right, CONSTANTS):
        text = inserted(left, right) if isinstance(left, str) and isinstance(right, tuple) else None
        return machine.unknown("text", None, (right,), data=True) if text is None else text
    if not is_affordable(name, left, right):
        return too_large(machine, (left, right))
    if name in _COARSE and type(left) is int:
        machine.depends_on(left, right)
    try:
        return bounded(machine, function(left, right))
    except ZeroDivisionError:
        return machine.unknown("arithmetic that fails", data=True)
    except (OverflowError, TypeError, ValueError) as error:
        raise machine.error(type(error).__name__, str(error), (left, right)) from None


def bounded(machine: Machine, value: Value) -> Value:
    """A constant or tuple that the host has computed; unknown, but for its kind, where it is too large."""
    return value if is_small(value) else too_large(machine, (value,))


def too_large(machine: Machine, sources: tuple[Value, ...]) -> Value:
    """The stand-in for a number, text or tuple that is too large to compute."""
    if any(isinstance(each, (str, bytes)) for each in sources):
        return machine.unknown("text", data=True)
    if any(isinstance(each, tuple) for each in sources):
        parts = [part for each in sources if isinstance(each, tuple) for part in each]
        return List(parts[:ITEMS], open=True)
    return machine.unknown("large number", made=Made.NUMBER)


def add(machine: Machine, left: Value, right: Value) -> Value:
    """`left + right`, for `sum`."""
    return binary(machine, ast.Add, left, right)


_COMPARE: dict[type[ast.cmpop], tuple[str, str, Callable[[Any, Any], object]]] = {
    ast.Eq: ("eq", "eq", operators.eq),
    ast.NotEq: ("ne", "ne", operators.ne),
    ast.Lt: ("lt", "gt", operators.lt),
    ast.LtE: ("le", "ge", operators.le),
    ast.Gt: ("gt", "lt", operators.gt),
    ast.GtE: ("ge", "le", operators.ge),
}


def compare(machine: Machine, operator: ast.cmpop, left: Value, right: Value) -> Value:
    """`left operator right`, of one of Python's comparisons."""
    match operator:
        case ast.Is() | ast.IsNot():
            same = is_same(machine, left, right)
            if isinstance(same, bool):
                return same is isinstance(operator, ast.Is)
            return same if isinstance(operator, ast.Is) else negation(machine, same)
        case ast.In() | ast.NotIn():
            found = _is_in(machine, left, right)
            if isinstance(operator, ast.In):
                return found
            return not found if isinstance(found, bool) else negation(machine, found)
    name, mirrored, function = _COMPARE[type(operator)]
    if name == "ne" and _is_told_by_negation(left, right):
        return negation(machine, compare(machine, ast.Eq(), left, right))
    for value, other, how, reflected in ((left, right, name, False), (right, left, mirrored, True)):
        if other is None and isinstance(value, Container) and name in ("eq", "ne"):
            return name == "ne"
        if isinstance(value, Object) and not isinstance(value, Unknown):
            result = value.compare(machine, how, other, reflected)
            if result is not NotImplemented:
                return result
    if isinstance(left, Unknown):
        return left.compare(machine, name, right, False)
    if isinstance(right, Unknown):
        return right.compare(machine, mirrored, left, True)
    if isinstance(left, Object) or isinstance(right, Object):
        if name in ("eq", "ne"):
            return (left is right) is (name == "eq")
        return machine.unknown("comparison of objects", None, (left, right))
    return _compare_constants(machine, name, function, left, right)


def _compare_constants(
    machine: Machine, name: str, function: Callable[[Value, Value], object], left: Value, right: Value
) -> Value:
    """The same of constants, and of tuples that may hold anything."""
    if isinstance(left, tuple) and isinstance(right, tuple) and any(isinstance(v, Object) for v in left + right):
        if name in ("eq", "ne") and _differ(left, right):
            return name == "ne"
        key = ("compare", name, identity(left), identity(right))
        return machine.unknown("comparison of tuples", key, (left, right), data=True)
    if _is_heavy(left) or _is_heavy(right):
        return machine.unknown("comparison of tuples", None, (left, right), data=True)
    try:
        return bool(function(left, right))
    except TypeError as error:
        raise machine.error("TypeError", str(error), (left, right)) from None


def _is_heavy(value: Value) -> bool:
    return isinstance(value, tuple) and not is_light(value)


def equal(machine: Machine, left: Value, right: Value) -> Value:
    """`left == right`."""
    return compare(machine, ast.Eq(), left, right)


def _differ(left: tuple[Value, ...], right: tuple[Value, ...]) -> bool:
    """True if two tuples are not equal, whatever the objects in them are."""
    pairs = zip(left, right, strict=False)
    return len(left) != len(right) or any(
        isinstance(one, CONSTANTS) and isinstance(other, CONSTANTS) and one != other for one, other in pairs
    )


def _is_told_by_negation(left: Value, right: Value) -> bool:
    """True if `left != right` is one answer, and the opposite of `left == right`: a tensor has one for each element."""
    if not isinstance(left, Unknown) and not isinstance(right, Unknown):
        return False
    return not any(isinstance(each, Object) and each.compares_parts for each in (left, right))


def negation(machine: Machine, value: Value) -> Value:
    """`not value`, of a value whose truth is not settled: asked again, it is decided as `value` is."""
    if isinstance(value, bool):
        return not value
    negated = machine.unknown("negation", ("not", identity(value)), (value,), data=True)
    if isinstance(negated, Unknown) and isinstance(value, Unknown):
        negated.negates = value
        if isinstance(value.hint, CONSTANTS):
            negated.hint = not value.hint
    return negated


def is_same(machine: Machine, left: Value, right: Value) -> Value:
    """`left is right`: True, False, or an unknown."""
    if left is right:
        return True
    for value, other in ((left, right), (right, left)):
        if isinstance(value, Unknown):
            if (value.kind is Kind.LIVE or value.is_object) and other is None:
                return False  # It is used as a tensor, or was asked for an attribute.
            if isinstance(other, bool):
                return negation(machine, negation(machine, value) if other else value)
            hinted = value.hint is not UNDEFINED and other is None
            found = machine.unknown("identity", ("is", value.number, identity(other)), (value,), data=True)
            if isinstance(found, Unknown) and other is None:
                found.hint = value.hint is None if hinted else False
            return found
    if isinstance(left, Object) and isinstance(right, Object):
        same = getattr(left, "is_same", None)
        return bool(same(right)) if same is not None else False
    if isinstance(left, Object) or isinstance(right, Object):
        return False
    return type(left) is type(right) and not _is_heavy(left) and left == right


def _is_in(machine: Machine, item: Value, container: Value) -> Value:
    if isinstance(container, Object):
        found = container.contains(machine, item)
        return found if not isinstance(found, Object) or isinstance(found, Unknown) else machine.decide(found)
    if isinstance(container, tuple):
        if any(identity(part) == identity(item) for part in container):
            return True
        if isinstance(item, CONSTANTS) and all(isinstance(part, CONSTANTS) for part in container):
            return item in container
        return machine.unknown("membership", ("in", identity(item), identity(container)), (item,), data=True)
    if isinstance(container, range) and isinstance(item, CONSTANTS):
        return is_member(item, container)
    if container is None or isinstance(container, int | float):
        raise machine.error("TypeError", f"argument of type '{type(container).__name__}' is not iterable", container)
    if isinstance(item, CONSTANTS) and isinstance(container, (str, bytes)):
        try:
            return item in container  # type: ignore[operator]
        except TypeError:
            return False
    return machine.unknown("membership", ("in", identity(item), identity(container)), (item,), data=True)


def get_item(machine: Machine, value: Value, key: Value) -> Value:
    """`value[key]`."""
    if isinstance(key, slice) and key.step == 0:
        refuse_step(machine, value)
    if isinstance(value, Object):
        return value.item(machine, key)
    if isinstance(value, tuple):
        if isinstance(key, (int, slice)):
            try:
                return value[key]
            except IndexError:
                raise machine.error("IndexError", "tuple index out of range") from None
        return machine.unknown("item of a tuple", ("item", identity(value), identity(key)), (value, key))
    if isinstance(value, (str, bytes, range)):
        if isinstance(key, (int, slice)):
            try:
                return value[key]
            except IndexError:
                raise machine.error("IndexError", "index out of range") from None
        return machine.unknown("item of a text", None, (value,), data=True)
    raise machine.error("TypeError", f"'{type(value).__name__}' object is not subscriptable", value)


def refuse_step(machine: Machine, value: Value) -> None:
    """Raise what Python's sequences raise for `value[::0]`; classes of the program have their own way."""
    if isinstance(value, (List, tuple, str, bytes, range)):
        raise machine.error("ValueError", "slice step cannot be zero", value)


def text_of(machine: Machine, value: str | float) -> str:
    """`str(value)`, which Python refuses for numbers of very many digits."""
    try:
        return str(value)
    except ValueError as error:
        raise machine.error("ValueError", str(error), value) from None
