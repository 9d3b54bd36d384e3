"""A `generator` that is no network but one of Python's: loops go over what it gives."""

from __future__ import annotations

import ast

from gradpath.interpreter.machine import Machine
from gradpath.overlays.presumed.back_propagated import gone_through
from gradpath.overlays.presumed.places import place_of
from gradpath.source.index import contents
from gradpath.source.nodes import last_name, nodes, noted


def gives_batches(machine: Machine) -> bool:
    """True if what is called like a generator is called for a loop: `for batch in rollouts.generator(4)`.

    A network gives one image, or several at once: no program needs a loop to get them.
    """
    call = machine.node
    if not isinstance(call, ast.Call) or not last_name(call.func).lower().endswith("generator"):
        return False
    return call in _called_for_loops(machine.body)


@noted
def _called_for_loops(body: ast.AST) -> frozenset[ast.Call]:
    """The calls whose results the loops of a body go over."""
    loops = [each.iter for each in nodes(body) if isinstance(each, ast.For | ast.AsyncFor | ast.comprehension)]
    places = {place for over in loops for place in gone_through(over)}
    found = {call for over in loops for call in contents(over).calls}
    for each in nodes(body):
        match each:
            case ast.Assign(targets=[target], value=ast.Call() as call) if place_of(target) in places:
                found.add(call)
    return frozenset(found)
