"""`eval` and `exec`: a text that is known is read and evaluated where the call stands."""

from __future__ import annotations

import ast

from gradpath.interpreter.expressions import evaluate
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.values import Arguments, Value


def eval_text(machine: Machine, arguments: Arguments) -> Value:
    """`eval(source)`; with namespaces of its own, or of an unknown text, the result is not known."""
    text = arguments.get(0, "source", None)
    if not isinstance(text, str) or len(arguments.positional) > 1 or arguments.keywords:
        return machine.unknown("eval", None, (text,))
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise machine.error("SyntaxError", "invalid syntax", text) from None
    place = machine.node
    for part in ast.walk(body):
        if isinstance(part, ast.expr):
            ast.copy_location(part, place)
    return evaluate(machine, body)


def exec_text(machine: Machine, arguments: Arguments) -> Value:
    """`exec(source, globals, locals)`: whatever it may have put into the namespaces that it is given."""
    for namespace in arguments.positional[1:]:
        if isinstance(namespace, Dict):
            namespace.open = True
    return None
