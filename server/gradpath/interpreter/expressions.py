"""Evaluating expressions."""

from __future__ import annotations

import ast
import operator as operators
from collections.abc import Callable
from typing import Any

from gradpath.interpreter import comprehensions
from gradpath.interpreter.bounds import ITEMS, LONGEST, TOO_MUCH
from gradpath.interpreter.containers import List, Slice
from gradpath.interpreter.doubt import survive
from gradpath.interpreter.endings import Raised
from gradpath.interpreter.iteration import sample
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict, Set, plain_content, update
from gradpath.interpreter.operators import binary, compare, get_item, negation, text_of
from gradpath.interpreter.origins import Made
from gradpath.interpreter.texts import spelled
from gradpath.interpreter.unbound import undefined
from gradpath.interpreter.values import UNDEFINED, Arguments, Function, Object, Value


def evaluate(machine: Machine, node: ast.expr) -> Value:
    """The value of an expression."""
    if type(node) is ast.Constant:
        return node.value
    handler = _HANDLERS.get(type(node))
    if handler is None:
        return machine.unknown(f"expression {type(node).__name__}")
    machine.budget.spend()
    try:
        return handler(machine, node)
    except Raised as raised:
        return survive(machine, raised, node)


def settled(machine: Machine, node: ast.expr) -> Value:
    """The value of an expression in the head of a statement; unknown where working it out is too much."""
    budget, frame = machine.budget, machine.frame
    scope = frame.scope
    before = budget.begin()
    try:
        return evaluate(machine, node)
    except TOO_MUCH:
        machine.frame, machine.node, frame.scope = frame, node, scope
        machine.give_up(node)
        return machine.unknown("expression that takes too much")
    finally:
        budget.end(before)


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
        if len(items) > ITEMS:
            return items[:ITEMS], True
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
        if len(result.entries) > ITEMS:
            result.open = True
            break
        if key is None:
            update(machine, result, Arguments([evaluate(machine, value)]))
        else:
            result.store(evaluate(machine, key), evaluate(machine, value))
    return result


def _binary(machine: Machine, node: ast.BinOp) -> Value:
    left = evaluate(machine, node.left)
    right = evaluate(machine, node.right)
    machine.node = node
    return binary(machine, type(node.op), left, right)


def _unary(machine: Machine, node: ast.UnaryOp) -> Value:
    value = evaluate(machine, node.operand)
    machine.node = node
    if isinstance(node.op, ast.Not):
        settled = machine.truth(value)
        return negation(machine, value) if settled is None else not settled
    name = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}[type(node.op)]
    if isinstance(value, Object):
        result = value.unary(machine, name)
        return (
            machine.unknown("arithmetic", None, (value,), made=Made.ARITHMETIC) if result is NotImplemented else result
        )
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


def _compare(machine: Machine, node: ast.Compare) -> Value:
    left = evaluate(machine, node.left)
    result: Value = True
    for index, (operator, right_node) in enumerate(zip(node.ops, node.comparators, strict=True)):
        right = evaluate(machine, right_node)
        machine.node = node
        if type(left) is int or (type(right) is int and not isinstance(right_node, ast.Constant)):
            machine.depends_on(left, right)
        result = compare(machine, operator, left, right)
        if index < len(node.ops) - 1 and machine.truth(result) is False:
            return False
        left = right
    return result


def _call(machine: Machine, node: ast.Call) -> Value:
    if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
        machine.node = node
        return machine.call(evaluate(machine, node.func), Arguments())
    function = evaluate(machine, node.func)
    arguments = Arguments()
    for each in node.args:
        if len(arguments.positional) > ITEMS:
            arguments.open = True
            break
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


def _slice(machine: Machine, node: ast.Slice) -> Value:
    bounds = [None if part is None else evaluate(machine, part) for part in (node.lower, node.upper, node.step)]
    if all(bound is None or isinstance(bound, int) for bound in bounds):
        return slice(*bounds)
    return Slice(bounds[1] if bounds[0] in (None, 0) and bounds[2] is None else UNDEFINED)


def _conditional(machine: Machine, node: ast.IfExp) -> Value:
    test = evaluate(machine, node.test)
    arms = node.body, node.orelse
    texts = all(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in arms)
    live, other = (
        (machine.library.is_live(evaluate(machine, each)) for each in arms) if _is_extreme(node) else (True, True)
    )
    hinge = live is not other  # `a if a > b else b`, as `max(a, b)`: a program is written for where it is open.
    first = machine.decide(test, node.test, likely=live or not hinge, idle=texts or hinge)
    return evaluate(machine, machine.taken(node.body if first else node.orelse))


def _is_extreme(node: ast.IfExp) -> bool:
    """True if a choice between two variables depends on which of them is larger."""
    match node:
        case ast.IfExp(
            body=ast.Name(id=one),
            orelse=ast.Name(id=other),
            test=ast.Compare(left=ast.Name(id=left), comparators=[ast.Name(id=right)]),
        ):
            return {left, right} == {one, other}
    return False


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
        plain = isinstance(part, ast.FormattedValue) and part.conversion == -1
        spec = _spec(part)
        if plain and not spec and isinstance(value, (str, int)):
            text: str | None = text_of(machine, value)
        else:
            text = spelled(value, spec) if plain else None
        if text is None:
            known = False
        else:
            texts.append(text)
    if not known or sum(map(len, texts)) > LONGEST:
        return machine.unknown("text", data=True)
    return "".join(texts)


def _spec(part: ast.expr) -> str:
    """The format of a replacement field; one that is made of other values is none that is computed."""
    match getattr(part, "format_spec", None):
        case None:
            return ""
        case ast.JoinedStr(values=[ast.Constant(value=str() as spec)]):
            return spec
    return "?"


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
    """The value of a `yield` expression: the statement was suspended already and left the value in the frame."""
    return machine.frame.sent.pop(node, None)


def _starred(machine: Machine, node: ast.Starred) -> Value:
    items, open = sample(machine, evaluate(machine, node.value))
    return List(items, open=True) if open else tuple(items)


_HANDLERS: dict[type[ast.expr], Callable[[Machine, Any], Value]] = {
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
