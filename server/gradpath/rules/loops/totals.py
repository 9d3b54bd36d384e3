"""Ways to add to a variable: `total += loss`, `total = total + loss`, and through a helper."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from gradpath.findings.syntax import function_of, statement_of
from gradpath.interpreter.events import Built
from gradpath.interpreter.trace import Trace
from gradpath.source.index import contents, inside

JOINS = frozenset({"torch.cat", "torch.hstack", "torch.vstack"})
"""The operations of `history = torch.cat([history, loss])`."""


def is_addition(trace: Trace, node: ast.AST) -> bool:
    """True if a node adds to a variable what it holds, as `total += x` and `total = total + x` do.

    In a function the variable may have another name, or none: `new_mean = mean + x` or `return mean + x`, where the
    caller hands in the old result.
    """
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, ast.Add)
    if not isinstance(node, ast.Call) and not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)):
        return False
    match statement_of(trace, node):
        case ast.Assign(targets=[target], value=value):
            variable = _target_of(target, value, node)
            return variable is not None and (
                reads_total(node, variable, value) or (value is node and _takes_parameter(trace, node))
            )
        case ast.Return(value=ast.ListComp() | ast.DictComp() as value):
            names = [ast.Name(name, ast.Load()) for name in _passed(trace, node)]
            return any(_target_of(name, value, node) and reads_total(node, name, value) for name in names)
        case ast.Return(value=value):
            return value is node and _takes_parameter(trace, node)
    return False


def _takes_parameter(trace: Trace, node: ast.Call | ast.BinOp) -> bool:
    """True if an operand of a sum, or a multiple of it that is one, was handed to the function that the sum is in."""
    passed = _passed(trace, node)
    operands = (node.left, node.right) if isinstance(node, ast.BinOp) else ()
    return any(
        isinstance(each, ast.Name) and each.id in passed
        for operand in operands
        for each in ((operand.left, operand.right) if _is_multiple(operand) else (operand,))
    )


def _passed(trace: Trace, node: ast.AST) -> set[str]:
    """The parameters of the function that a node is in."""
    function = function_of(trace, node)
    return {each.arg for each in function.args.args} if function is not None else set()


def _is_multiple(node: ast.expr) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


def _target_of(target: ast.expr, value: ast.expr, node: ast.AST) -> ast.expr | None:
    """The variable that gets what an addition in `value` gives: divided, as one of several, or in a comprehension."""
    if value is node:
        return target
    match value:
        case ast.BinOp(op=ast.Mult() | ast.Div(), left=left):
            return _target_of(target, left, node)
        case ast.IfExp(body=body, orelse=orelse):
            return _target_of(target, body, node) or _target_of(target, orelse, node)
        case ast.Tuple(elts=values) if isinstance(target, ast.Tuple) and len(target.elts) == len(values):
            pairs = zip(target.elts, values, strict=True)
            return next((found for one, other in pairs if (found := _target_of(one, other, node))), None)
        case ast.ListComp(elt=inner) | ast.DictComp(value=inner):
            return _target_of(target, inner, node)
    return None


def reads_total(node: ast.AST, target: ast.expr, value: ast.expr) -> bool:
    """True if an expression in `value` reads the variable that gets that: by `total[k]` or an item of it as well."""
    names = {_spelled(target)}
    if isinstance(target, ast.Subscript):
        names.add(_spelled(ast.Call(ast.Attribute(target.value, "get", ast.Load()), [target.slice], [])))
    for loop in value.generators if isinstance(value, (ast.ListComp, ast.DictComp)) else ():
        names |= {_spelled(each) for each in _items_of(loop.target, loop.iter, _spelled(target))}
        names -= {_spelled(loop.target)} if isinstance(value, ast.DictComp) else set()  # It is a key.
    read: list[ast.expr] = [*inside(node, ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.Call)]
    read += [_first_given(each) for each in contents(node).calls]
    return any(_spelled(each) in names for each in read)


def _first_given(call: ast.Call) -> ast.Call:
    """A call with its first argument alone: `totals.get(key)` for `totals.get(key, 0)`."""
    return ast.Call(call.func, call.args[:1], [])


def _items_of(variable: ast.expr, iterated: ast.expr, total: str) -> Iterator[ast.expr]:
    """The variables of a comprehension that hold items of the container spelled `total`."""
    if _spelled(iterated) == total:
        yield variable
    match variable, iterated:
        case ast.Tuple(elts=[_, item]), ast.Call(func=ast.Attribute(value=owner, attr="items")):
            if _spelled(owner) == total:
                yield item
        case ast.Tuple(elts=items), ast.Call(func=ast.Name(id="zip"), args=given):
            yield from (item for item, each in zip(items, given, strict=False) if _spelled(each) == total)


def is_join(trace: Trace, node: ast.AST) -> bool:
    """True if a node joins tensors to a longer one."""
    return any(each.node.name in JOINS for each in trace.of(Built) if each.site.node is node)


def _spelled(node: ast.AST) -> str:
    return ast.dump(node).replace("Store()", "Load()")
