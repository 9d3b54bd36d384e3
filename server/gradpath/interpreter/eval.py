"""`eval` and `exec`: a known text is parsed and evaluated at the call."""

from __future__ import annotations

import ast

from gradpath.interpreter.expressions import evaluate
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.values import Arguments, Value
from gradpath.source.nodes import Noted, nodes


def eval_text(machine: Machine, arguments: Arguments) -> Value:
    """`eval(source)`; with namespaces of its own, or of an unknown text, the result is not known."""
    text = arguments.get(0, "source", None)
    if not isinstance(text, str) or len(arguments.positional) > 1 or arguments.keywords:
        return machine.unknown("eval", None, (text,))
    try:
        body = _read(text.strip(), machine.node)
    except (SyntaxError, ValueError):
        raise machine.error("SyntaxError", "invalid syntax", text) from None
    return evaluate(machine, body)


_known: Noted[dict[str, ast.expr]] = Noted("_eval_known")


def _read(text: str, place: ast.AST) -> ast.expr:
    """Parse a text to an expression with the location of the call; cached."""
    known = _known.get(place)
    if known is None:
        known = _known[place] = {}
    if text not in known:
        body = ast.parse(text, mode="eval").body
        for part in nodes(body):
            if isinstance(part, ast.expr):
                ast.copy_location(part, place)
        known[text] = body
    return known[text]


def exec_text(machine: Machine, arguments: Arguments) -> Value:
    """`exec(source, globals, locals)`: whatever it may have put into the namespaces that it is given."""
    for namespace in arguments.positional[1:]:
        if isinstance(namespace, Dict):
            namespace.open = True
    return None
