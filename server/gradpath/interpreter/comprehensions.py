"""Comprehensions and generator expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from gradpath.interpreter.bounds import TOO_MUCH
from gradpath.interpreter.containers import List
from gradpath.interpreter.iteration import BARREN, Iteration, iterate, sample
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict, Set
from gradpath.interpreter.scope import Loop, Scope
from gradpath.interpreter.values import Value
from gradpath.support.fast_dataclasses import replace

_MOST = 256
"""The most items of an iterable that a comprehension evaluates; the rest of a longer one is unknown."""


def list_comprehension(machine: Machine, node: ast.ListComp) -> Value:
    """The value of `[... for ...]`; open where the number of the items is not known."""
    items: list[Value] = []
    open = _comprehend(machine, node, node.elt, lambda: items.append(machine.evaluate(node.elt)))
    return List(items, open=open)


def set_comprehension(machine: Machine, node: ast.SetComp) -> Value:
    """The value of `{... for ...}`."""
    items: list[Value] = []
    open = _comprehend(machine, node, node.elt, lambda: items.append(machine.evaluate(node.elt)))
    return Set(items, open=open)


def dict_comprehension(machine: Machine, node: ast.DictComp) -> Value:
    """The value of `{...: ... for ...}`."""
    result = Dict()
    result.open = _comprehend(
        machine, node, node.value, lambda: result.store(machine.evaluate(node.key), machine.evaluate(node.value))
    )
    return result


def _comprehend(
    machine: Machine, node: ast.ListComp | ast.SetComp | ast.DictComp, value: ast.expr, produce: Callable[[], None]
) -> bool:
    """Run `produce`, which evaluates `value`, for each combination; whether there may be more of them."""
    before = machine.frame.scope
    machine.frame.scope = Scope(before)
    depth = len(machine.frame.loops)
    loop = machine.enter_loop(node) if isinstance(value, ast.Call) else None  # What is called may train.
    frame, around = machine.frame, machine.budget.begin()
    try:
        return _generate(machine, node.generators, produce, loop)
    except TOO_MUCH:
        machine.frame = frame
        machine.give_up(node)
        return True
    finally:
        machine.budget.end(around)
        frame.scope = before
        del frame.loops[depth:]


def _generate(
    machine: Machine, generators: list[ast.comprehension], produce: Callable[[], None], loop: Loop | None = None
) -> bool:
    first, rest = generators[0], generators[1:]
    items, open = sample(machine, machine.evaluate(first.iter), _MOST)
    for done, item in enumerate(items, 1):
        machine.budget.spend()
        if loop is not None:
            loop.begin(done)
        machine.node = first.target
        machine.assign(first.target, item)
        if _passes(machine, first.ifs, open):
            if rest:
                open = _generate(machine, rest, produce) or open
            else:
                produce()
    return open


def _passes(machine: Machine, tests: list[ast.expr], open: bool) -> bool:
    """True if an item passes the tests; sampled items of an unknown iterable are taken to pass."""
    if open:
        return all(machine.assume(machine.evaluate(test)) for test in tests)
    return all(machine.decide(machine.evaluate(test), test) for test in tests)


def generator_expression(machine: Machine, node: ast.GeneratorExp) -> Value:
    """The value of `(... for ...)`: only its first iterable is evaluated now."""
    source = machine.evaluate(node.generators[0].iter)
    host, endless = iterate(machine, source)
    scope = Scope(machine.frame.scope)
    made = Iteration(_lazily(machine, node, host, scope, endless), endless=endless, over=[source])
    made.made = replace(machine.site(), node=node)
    return made


def _lazily(
    machine: Machine, node: ast.GeneratorExp, host: Iterator[Value], scope: Scope, endless: bool
) -> Iterator[Value]:
    first, rest = node.generators[0], node.generators[1:]
    ready: list[Value] = []
    barren = 0
    loop: Loop | None = None
    for done, item in enumerate(host, 1):
        machine.budget.spend()
        frame, depth = machine.frame, len(machine.frame.loops)
        before, frame.scope = frame.scope, scope
        if loop is not None:
            frame.loops.append(loop)
        elif isinstance(node.elt, ast.Call):
            loop = machine.enter_loop(node)
        if loop is not None:
            loop.begin(done)
        try:
            machine.assign(first.target, item)
            if _passes(machine, first.ifs, endless):
                if rest:
                    _generate(machine, rest, lambda: ready.append(machine.evaluate(node.elt)))
                else:
                    ready.append(machine.evaluate(node.elt))
        finally:
            frame.scope = before
            del frame.loops[depth:]
        barren = 0 if ready else barren + 1
        if endless and barren > BARREN:
            return  # Nothing in the endless supply may ever pass the tests.
        yield from ready
        ready.clear()
