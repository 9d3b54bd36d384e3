"""What is made where an argument is left out: `optimizer or Adam(...)`, `if optimizer is None: ...`."""

from __future__ import annotations

import ast

from gradpath.findings.syntax import ancestry, function_of
from gradpath.interpreter.trace import Trace
from gradpath.source.index import holds


def argument_left_out(trace: Trace, node: ast.AST) -> str:
    """The optional argument, None by default, in the place of which a node makes something; "" where there is none.

    Who hands something over has other code, which says nothing of what is made here.
    """
    function = function_of(trace, node)
    optional = _optional(function.args) if function is not None else set()
    for each in reversed(ancestry(trace, node) if optional else ()):
        match each:
            case ast.BoolOp(op=ast.Or(), values=[ast.Name(id=name), *others]) if name in optional:
                if any(holds(other, node) for other in others):
                    return name
            case ast.IfExp(test=test, body=body, orelse=orelse):
                name = _asked(test, holds(body, node), holds(orelse, node))
                if name in optional:
                    return name
            case ast.If(test=test, body=statements, orelse=others):
                here, there = (any(holds(one, node) for one in block) for block in (statements, others))
                name = _asked(test, here, there)
                if name in optional:
                    return name
    return ""


def _asked(test: ast.expr, met: bool, missed: bool) -> str:
    """The variable that is None, or nothing, where a test is met, or missed."""
    match test:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Is()], comparators=[ast.Constant(value=None)]) if met:
            return name
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)) if met:
            return name
        case ast.Compare(left=ast.Name(id=name), ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]) if missed:
            return name
        case ast.Name(id=name) if missed:
            return name
    return ""


def _optional(arguments: ast.arguments) -> set[str]:
    """The arguments of a function that are None by default."""
    last = [*arguments.posonlyargs, *arguments.args][::-1]
    pairs = [*zip(last, arguments.defaults[::-1], strict=False)]
    pairs += [(each, given) for each, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if given]
    return {each.arg for each, given in pairs if isinstance(given, ast.Constant) and given.value is None}
