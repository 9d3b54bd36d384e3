"""Comprehensions and generator expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from gradpath.interpreter.containers import Iteration, List, iterate, sample
from gradpath.interpreter.machine import Exhausted, Machine
from gradpath.interpreter.mappings import Dict, Set
from gradpath.interpreter.scope import Scope
from gradpath.interpreter.values import Value

_BARREN = 8
"""Items in a row of an endless iterable that a generator expression may pass over before it is taken to be empty."""

_MOST = 256
"""Items that a comprehension goes through; of a longer table the rest is not known."""


def list_comprehension(machine: Machine, node: ast.ListComp) -> Value:
    """The value of `[... for ...]`; open where the number of the items is not known."""
    items: list[Value] = []
    open = _comprehend(machine, node.generators, lambda: items.append(machine.evaluate(node.elt)))
    return List(items, open=open)


def set_comprehension(machine: Machine, node: ast.SetComp) -> Value:
    """The value of `{... for ...}`."""
    items: list[Value] = []
    open = _comprehend(machine, node.generators, lambda: items.append(machine.evaluate(node.elt)))
    return Set(items, open=open)


def dict_comprehension(machine: Machine, node: ast.DictComp) -> Value:
    """The value of `{...: ... for ...}`."""
    result = Dict()
    result.open = _comprehend(
        machine,
        node.generators,
        lambda: result.store(machine.evaluate(node.key), machine.evaluate(node.value)),
    )
    return result


def _comprehend(machine: Machine, generators: list[ast.comprehension], produce: Callable[[], None]) -> bool:
    """Run `produce` for each combination; whether there may be more of them."""
    before = machine.frame.scope
    machine.frame.scope = Scope(before)
    try:
        return _generate(machine, generators, produce)
    finally:
        machine.frame.scope = before


def _generate(machine: Machine, generators: list[ast.comprehension], produce: Callable[[], None]) -> bool:
    first, rest = generators[0], generators[1:]
    items, open = sample(machine, machine.evaluate(first.iter), _MOST)
    for item in items:
        machine.steps -= 1
        machine.assign(first.target, item)
        if all(machine.decide(machine.evaluate(test), test) for test in first.ifs):
            if rest:
                open = _generate(machine, rest, produce) or open
            else:
                produce()
    return open


def generator_expression(machine: Machine, node: ast.GeneratorExp) -> Value:
    """The value of `(... for ...)`: only its first iterable is evaluated now."""
    host, endless = iterate(machine, machine.evaluate(node.generators[0].iter))
    scope = Scope(machine.frame.scope)
    return Iteration(_lazily(machine, node, host, scope, endless), endless=endless)


def _lazily(
    machine: Machine, node: ast.GeneratorExp, host: Iterator[Value], scope: Scope, endless: bool
) -> Iterator[Value]:
    first, rest = node.generators[0], node.generators[1:]
    ready: list[Value] = []
    barren = 0
    for item in host:
        machine.steps -= 1
        if machine.steps <= 0:
            raise Exhausted
        before, machine.frame.scope = machine.frame.scope, scope
        try:
            machine.assign(first.target, item)
            if all(machine.decide(machine.evaluate(test), test) for test in first.ifs):
                if rest:
                    _generate(machine, rest, lambda: ready.append(machine.evaluate(node.elt)))
                else:
                    ready.append(machine.evaluate(node.elt))
        finally:
            machine.frame.scope = before
        barren = 0 if ready else barren + 1
        if endless and barren > _BARREN:
            return  # Nothing in the endless supply may ever pass the tests.
        yield from ready
        ready.clear()
