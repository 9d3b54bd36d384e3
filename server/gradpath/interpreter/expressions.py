"""Evaluating expressions."""

from __future__ import annotations

import ast
import operator as operators
from collections.abc import Callable
from typing import Any

from gradpath.interpreter import comprehensions, kinds
from gradpath.interpreter.containers import List, sample
from gradpath.interpreter.doubt import survive
from gradpath.interpreter.machine import Machine, Raised
from gradpath.interpreter.mappings import Dict, Set, plain_content, update
from gradpath.interpreter.unbound import undefined
from gradpath.interpreter.values import (
    CONSTANTS,
    UNDEFINED,
    Arguments,
    Function,
    Object,
    Unknown,
    Value,
    identity,
)
from gradpath.patterns import regex


class Slice(Object):
    """A slice of which some bound is not known."""

    __slots__ = ()

    def type_name(self) -> str:
        return "slice"


def evaluate(machine: Machine, node: ast.expr) -> Value:
    """The value of an expression."""
    handler = _HANDLERS.get(type(node))
    if handler is None:
        return machine.unknown(f"expression {type(node).__name__}")
    try:
        return handler(machine, node)
    except Raised as raised:
        return survive(machine, raised)


def _constant(machine: Machine, node: ast.Constant) -> Value:
    return node.value


def _name(machine: Machine, node: ast.Name) -> Value:
    name = node.id
    value = machine.frame.scope.get(name)
    if value is UNDEFINED:
        value = machine.builtins.get(name, UNDEFINED)
        if value is UNDEFINED:
            return undefined(machine, name)
    return value


def _tuple(machine: Machine, node: ast.Tuple) -> Value:
    items, open = _items(machine, node.elts)
    return List(items, open=True) if open else tuple(items)


def _list(machine: Machine, node: ast.List) -> Value:
    if not node.elts and machine.late_loops:
        return List([], filled=machine.loops())
    items, open = _items(machine, node.elts)
    return List(items, open=open)


def _set(machine: Machine, node: ast.Set) -> Value:
    items, open = _items(machine, node.elts)
    return Set(items, open=open)


def _items(machine: Machine, nodes: list[ast.expr]) -> tuple[list[Value], bool]:
    items: list[Value] = []
    open = False
    for each in nodes:
        if isinstance(each, ast.Starred):
            found, more = sample(machine, evaluate(machine, each.value))
            items.extend(found)
            open = open or more
        else:
            items.append(evaluate(machine, each))
    return items, open


def _dict(machine: Machine, node: ast.Dict) -> Value:
    result = Dict()
    result.shared = machine.frame.function is None and machine.frame.path != machine.file
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            update(machine, result, Arguments([evaluate(machine, value)]))
        else:
            result.store(evaluate(machine, key), evaluate(machine, value))
    return result


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


def _binary(machine: Machine, node: ast.BinOp) -> Value:
    left = evaluate(machine, node.left)
    right = evaluate(machine, node.right)
    machine.node = node
    return binary(machine, type(node.op), left, right)


def binary(machine: Machine, operator: type[ast.operator], left: Value, right: Value) -> Value:
    """`left operator right`, as Python dispatches it: Unknown absorbs, but a tensor on the other side goes first."""
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
        machine.unsteady += name == "mod" and type(left) is int
        return right.binary(machine, name, left, True)
    if isinstance(left, Object) or isinstance(right, Object):
        if name == "mod" and isinstance(left, str):
            return machine.unknown("text", None, (right,))
        return machine.unknown("arithmetic of objects", None, (left, right))
    return _constants(machine, name, function, left, right)


_WIDE = regex(r"%[^a-zA-Z%]*\d{5}")
"""A format that makes text too long to be worth having."""


def _constants(
    machine: Machine, name: str, function: Callable[[object, object], object], left: Value, right: Value
) -> Value:
    if name == "pow" and isinstance(right, int) and abs(right) > 256:
        return machine.unknown("large number")
    if name == "lshift" and isinstance(right, int) and right > 256:
        return machine.unknown("large number")
    if name == "mul" and not (isinstance(left, (int, float)) and isinstance(right, (int, float))):
        size = next((n for n in (left, right) if isinstance(n, int)), 0)
        if size > 4096:
            return machine.unknown("large sequence", None, (left, right))
    if name == "mod" and isinstance(left, (str, bytes)):
        wide = _WIDE.search(left if isinstance(left, str) else left.decode("latin-1"))
        if wide is not None or not isinstance(right, CONSTANTS):
            return machine.unknown("text", None, (right,))
    try:
        return function(left, right)
    except (ZeroDivisionError, OverflowError, ValueError, MemoryError):
        return machine.unknown("arithmetic that fails")
    except TypeError as error:
        raise machine.error("TypeError", str(error), (left, right)) from None


def _unary(machine: Machine, node: ast.UnaryOp) -> Value:
    value = evaluate(machine, node.operand)
    machine.node = node
    if isinstance(node.op, ast.Not):
        settled = machine.truth(value)
        return negation(machine, value) if settled is None else not settled
    name = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}[type(node.op)]
    if isinstance(value, Object):
        result = value.unary(machine, name)
        return machine.unknown("arithmetic", None, (value,)) if result is NotImplemented else result
    try:
        function = {"neg": operators.neg, "pos": operators.pos, "invert": operators.invert}[name]
        return function(value)  # type: ignore[operator]
    except TypeError as error:
        raise machine.error("TypeError", str(error), value) from None


def _boolean(machine: Machine, node: ast.BoolOp) -> Value:
    stops = isinstance(node.op, ast.Or)
    value: Value = None
    for index, each in enumerate(node.values):
        value = evaluate(machine, each)
        if index == len(node.values) - 1:
            return value
        if machine.decide(value, each) == stops:
            machine.taken(each)
            return value
    return value


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


def _compare(machine: Machine, node: ast.Compare) -> Value:
    left = evaluate(machine, node.left)
    result: Value = True
    for index, (operator, right_node) in enumerate(zip(node.ops, node.comparators, strict=True)):
        right = evaluate(machine, right_node)
        machine.node = node
        machine.unsteady += type(left) is int or (type(right) is int and not isinstance(right_node, ast.Constant))
        result = _compare_once(machine, operator, left, right)
        if index < len(node.ops) - 1 and machine.truth(result) is False:
            return False
        left = right
    return result


def _compare_once(machine: Machine, operator: ast.cmpop, left: Value, right: Value) -> Value:
    match operator:
        case ast.Is() | ast.IsNot():
            same = is_same(machine, left, right)
            if isinstance(same, bool):
                return same is isinstance(operator, ast.Is)
            return same if isinstance(operator, ast.Is) else negation(machine, same)
        case ast.In() | ast.NotIn():
            found = _membership(machine, left, right)
            if isinstance(operator, ast.In):
                return found
            return not found if isinstance(found, bool) else negation(machine, found)
    name, mirrored, function = _COMPARE[type(operator)]
    if name == "ne" and (isinstance(left, Unknown) or isinstance(right, Unknown)):
        return negation(machine, _compare_once(machine, ast.Eq(), left, right))
    for value, other, how, reflected in ((left, right, name, False), (right, left, mirrored, True)):
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
    if isinstance(left, tuple) and isinstance(right, tuple) and any(isinstance(v, Object) for v in left + right):
        if name in ("eq", "ne") and _differ(left, right):
            return name == "ne"
        return machine.unknown(
            "comparison of tuples", ("compare", name, identity(left), identity(right)), (left, right)
        )
    try:
        return bool(function(left, right))
    except TypeError as error:
        raise machine.error("TypeError", str(error), (left, right)) from None


def equal(machine: Machine, left: Value, right: Value) -> Value:
    """`left == right`."""
    return _compare_once(machine, ast.Eq(), left, right)


def _differ(left: tuple[Value, ...], right: tuple[Value, ...]) -> bool:
    """Whether two tuples are not equal, whatever the objects in them are."""
    pairs = zip(left, right, strict=False)
    return len(left) != len(right) or any(
        isinstance(one, CONSTANTS) and isinstance(other, CONSTANTS) and one != other for one, other in pairs
    )


def negation(machine: Machine, value: Value) -> Value:
    """`not value`, of a value whose truth is not settled: asked again, it is decided as `value` is."""
    if isinstance(value, bool):
        return not value
    negated = machine.unknown("negation", ("not", identity(value)), (value,))
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
            if value.kind is kinds.Kind.LIVE and other is None:
                return False  # It stands for tensors.
            if isinstance(other, bool):
                return negation(machine, negation(machine, value) if other else value)
            hinted = value.hint is not UNDEFINED and other is None
            found = machine.unknown("identity", ("is", value.number, identity(other)), (value,))
            if isinstance(found, Unknown) and other is None:
                found.hint = value.hint is None if hinted else False
            return found
    if isinstance(left, Object) and isinstance(right, Object):
        same = getattr(left, "is_same", None)
        return bool(same(right)) if same is not None else False
    if isinstance(left, Object) or isinstance(right, Object):
        return False
    return type(left) is type(right) and left == right


def _membership(machine: Machine, item: Value, container: Value) -> Value:
    if isinstance(container, Object):
        found = container.contains(machine, item)
        return found if not isinstance(found, Object) or isinstance(found, Unknown) else machine.decide(found)
    if isinstance(container, tuple):
        if any(identity(part) == identity(item) for part in container):
            return True
        if isinstance(item, CONSTANTS) and all(isinstance(part, CONSTANTS) for part in container):
            return item in container
        return machine.unknown("membership", ("in", identity(item), identity(container)), (item,))
    if isinstance(item, CONSTANTS) and isinstance(container, (str, bytes, range)):
        try:
            return item in container
        except TypeError:
            return False
    return machine.unknown("membership", ("in", identity(item), identity(container)), (item,))


def _call(machine: Machine, node: ast.Call) -> Value:
    if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
        machine.node = node
        return machine.call(evaluate(machine, node.func), Arguments())
    function = evaluate(machine, node.func)
    arguments = Arguments()
    for each in node.args:
        if isinstance(each, ast.Starred):
            items, more = sample(machine, evaluate(machine, each.value))
            arguments.positional.extend(items)
            arguments.open = arguments.open or more
        else:
            arguments.positional.append(evaluate(machine, each))
    for keyword in node.keywords:
        if keyword.arg is not None:
            arguments.keywords[keyword.arg] = evaluate(machine, keyword.value)
            continue
        value = plain_content(evaluate(machine, keyword.value))
        if isinstance(value, Dict):
            arguments.open = arguments.open or value.open
            for key, entry in value.entries.values():
                if isinstance(key, str):
                    arguments.keywords[key] = entry
        else:
            arguments.open = True
    machine.node = node
    return machine.call(function, arguments)


def _attribute(machine: Machine, node: ast.Attribute) -> Value:
    value = evaluate(machine, node.value)
    machine.node = node
    return machine.attribute(value, node.attr)


def _subscript(machine: Machine, node: ast.Subscript) -> Value:
    value = evaluate(machine, node.value)
    key = evaluate(machine, node.slice)
    machine.node = node
    return get_item(machine, value, key)


def get_item(machine: Machine, value: Value, key: Value) -> Value:
    """`value[key]`."""
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
        return machine.unknown("item of a text", None, (value,))
    raise machine.error("TypeError", f"'{type(value).__name__}' object is not subscriptable", value)


def _slice(machine: Machine, node: ast.Slice) -> Value:
    bounds = [None if part is None else evaluate(machine, part) for part in (node.lower, node.upper, node.step)]
    if all(bound is None or isinstance(bound, int) for bound in bounds):
        return slice(*bounds)
    return Slice()


def _conditional(machine: Machine, node: ast.IfExp) -> Value:
    test = evaluate(machine, node.test)
    return evaluate(machine, machine.taken(node.body if machine.decide(test, node.test) else node.orelse))


def _lambda(machine: Machine, node: ast.Lambda) -> Value:
    return make_function(machine, node)


def make_function(machine: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Function:
    """The function that a `def` or `lambda` makes: its defaults are evaluated now."""
    defaults = [evaluate(machine, each) for each in node.args.defaults]
    keyword_defaults = {
        argument.arg: evaluate(machine, default)
        for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if default is not None
    }
    return Function(node, machine.frame.scope, defaults, keyword_defaults, machine.frame.path)


def _formatted(machine: Machine, node: ast.JoinedStr) -> Value:
    texts: list[str] = []
    known = True
    for part in node.values:
        if isinstance(part, ast.Constant):
            texts.append(str(part.value))
            continue
        value = evaluate(machine, part.value) if isinstance(part, ast.FormattedValue) else None
        plain = isinstance(part, ast.FormattedValue) and part.format_spec is None and part.conversion == -1
        if plain and isinstance(value, (str, int)):
            texts.append(str(value))
        else:
            known = False
    return "".join(texts) if known else machine.unknown("text")


def _walrus(machine: Machine, node: ast.NamedExpr) -> Value:
    value = evaluate(machine, node.value)
    machine.node = node
    scope = machine.frame.scope
    while scope.transparent and scope.outer is not None:
        scope = scope.outer
    scope.set(node.target.id, value)
    return value


def _await(machine: Machine, node: ast.Await) -> Value:
    return evaluate(machine, node.value)


def _yielded(machine: Machine, node: ast.expr) -> Value:
    """What `yield` gave back: the statement has been suspended already, and left the value in the frame."""
    return machine.frame.sent.pop(node, None)


def _starred(machine: Machine, node: ast.Starred) -> Value:
    items, open = sample(machine, evaluate(machine, node.value))
    return List(items, open=True) if open else tuple(items)


_HANDLERS: dict[type[ast.expr], Callable[[Machine, Any], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.Call: _call,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.IfExp: _conditional,
    ast.Lambda: _lambda,
    ast.JoinedStr: _formatted,
    ast.NamedExpr: _walrus,
    ast.ListComp: comprehensions.list_comprehension,
    ast.SetComp: comprehensions.set_comprehension,
    ast.DictComp: comprehensions.dict_comprehension,
    ast.GeneratorExp: comprehensions.generator_expression,
    ast.Await: _await,
    ast.Yield: _yielded,
    ast.YieldFrom: _yielded,
    ast.Starred: _starred,
}
