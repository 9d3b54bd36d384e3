"""Modules that are kept by their names in something unknown, of which other code takes one and calls it.

That all of its items are modules shows where one is asked under a name that is not fixed, as in
`self.nets[name].parameters()`, or where a loop asks each: `for net in nets.values(): net.eval()`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Item, Parameter
from gradpath.interpreter.values import Unknown
from gradpath.overlays.presumed.places import place_of
from gradpath.source.index import contents, inside
from gradpath.source.nodes import noted

_HELD = "holds modules"


def note_holder(machine: Machine, value: Unknown, place: str, asked: Collection[str]) -> None:
    """Something unknown is bound to a place; `asked` are the methods that only modules have."""
    function = machine.frame.function
    owner = None if function is None else function.owner or machine.frame.owner
    bodies = [machine.body]
    if owner is not None and place.startswith("self."):
        bodies = [each.node for each in owner.mro if isinstance(each.node, ast.ClassDef)]
    if any(not _methods_of_items(each).get(place, frozenset()).isdisjoint(asked) for each in bodies):
        machine.remembered[_HELD, value.number] = True


def is_held(machine: Machine, value: Unknown, asked: Collection[str]) -> bool:
    """True if something was taken from what holds nothing but modules."""
    holder = value.origin.of if isinstance(value.origin, Item) else None
    if not isinstance(holder, Unknown):
        return False
    if isinstance(holder.origin, Parameter):
        note_holder(machine, holder, holder.origin.name, asked)
    return (_HELD, holder.number) in machine.remembered


@noted
def _methods_of_items(body: ast.AST) -> dict[str, set[str]]:
    """The methods that are called of any item of each place, whichever it is."""
    found: dict[str, set[str]] = {}
    looped: dict[str, str] = {}
    loops: list[ast.For | ast.comprehension] = [*inside(body, ast.For), *inside(body, ast.comprehension)]
    for each in loops:
        match each.iter, each.target:
            case ast.Call(func=ast.Attribute(value=holder, attr="values"), args=[]), ast.Name(id=name):
                looped[name] = place_of(holder)
            case (
                ast.Call(func=ast.Attribute(value=holder, attr="items"), args=[]),
                ast.Tuple(elts=[_, ast.Name(id=name)]),
            ):
                looped[name] = place_of(holder)
    for call in contents(body).calls:
        match call.func:
            case ast.Attribute(value=ast.Name(id=name), attr=method) if name in looped:
                found.setdefault(looped[name], set()).add(method)
            case ast.Attribute(value=ast.Subscript(value=holder, slice=ast.Name()), attr=method):
                found.setdefault(place_of(holder), set()).add(method)
    return found
