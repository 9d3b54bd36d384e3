"""The attributes that one method fills for another: an agent acts by one and learns by the other.

They are those of `self`, or of an argument that both methods call the same, such as a `memory`: `memory.log_probs`.
"""

from __future__ import annotations

import ast
import contextlib
from collections import Counter
from collections.abc import Mapping

from gradpath.autograd.errors import AutogradError
from gradpath.interpreter.endings import Raised
from gradpath.interpreter.idle import trains
from gradpath.interpreter.iteration import Container
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, Class, Instance, Value
from gradpath.source.nodes import Definition, nodes, noted
from gradpath.support.fast_dataclasses import dataclass

MOST_BRANCHES = 2
"""Branches in a method that fills attributes: what it does must be plain to see."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """The attributes that a method reads and fills, and the methods of `self` that it calls.

    An attribute of an argument has the name of the argument and a dot before its own.

    It is `plain` if it neither repeats nor trains anything, and hardly decides.
    """

    reads: frozenset[str]
    fills: frozenset[str]
    calls: frozenset[str]
    plain: bool


def filling_of(instance: Instance, function: ast.AST) -> dict[str, frozenset[str]]:
    """The methods by name, each with the attributes that it alone fills for `function`, and that are empty at first."""
    found = fillers(instance.cls, function)
    return {name: filled for name, filled in found.items() if any(_is_empty(instance, each) for each in filled)}


def _is_empty(instance: Instance, name: str) -> bool:
    if "." in name:
        return True  # Nobody is seen to have filled an argument before.
    value = instance.attributes.get(name)
    return value is None or (isinstance(value, Container) and not list(value.parts()))


def fillers(cls: Class, function: ast.AST) -> dict[str, frozenset[str]]:
    """The methods by name, each with the attributes that it alone fills for `function`."""
    methods: dict[str, Definition] = {}
    for each in reversed(cls.mro):
        body = each.node.body if each.node is not None else ()
        methods |= {one.name: one for one in body if isinstance(one, Definition)}
    spoken = {name: spoken_of(method) for name, method in methods.items()}
    own = next((name for name, method in methods.items() if method is function), None)
    if own is None:
        return {}
    inside = _called(own, spoken)
    reads = frozenset[str]().union(*(spoken[name].reads for name in inside))
    others = {name: each for name, each in spoken.items() if name not in inside and not name.startswith("__")}
    owners = Counter(attribute for each in others.values() for attribute in each.fills & reads)
    found = {
        name: frozenset(attribute for attribute in each.fills & reads if owners[attribute] == 1)
        for name, each in others.items()
        if each.plain
    }
    return {name: filled for name, filled in found.items() if filled}


def shared(filling: Mapping[str, frozenset[str]]) -> set[str]:
    """The arguments whose attributes are filled."""
    return {name.partition(".")[0] for filled in filling.values() for name in filled if "." in name}


def fill(
    machine: Machine, instance: Instance, filling: Mapping[str, frozenset[str]], given: Mapping[str, Value]
) -> None:
    """Call the methods once, with what is `given` to both; what one of them raises is not the fault of this path."""
    for name, filled in filling.items():
        keywords = {argument: given[argument] for argument in shared({name: filled}) if argument in given}
        with contextlib.suppress(Raised, AutogradError):
            machine.call(machine.instance_attribute(instance, name), Arguments([], keywords, open=True))


def _called(name: str, spoken: Mapping[str, Spoken]) -> set[str]:
    """A method and those that it calls on `self`, maybe through others."""
    found, todo = {name}, [name]
    for each in todo:
        more = {one for one in spoken[each].calls if one in spoken} - found
        found |= more
        todo += more
    return found


@noted
def spoken_of(method: Definition) -> Spoken:
    """The attributes that a method reads and fills, and so on."""
    reads, fills, calls = set[str](), set[str](), set[str]()
    arguments = {each.arg for each in method.args.args}
    branches = 0
    plain = True
    for node in nodes(method):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Load()):
                reads.add(name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                fills.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
                calls.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr=name), attr=how)):
                fills.update([name] if how in _FILLING else [])
            case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id=of), attr=name), attr=how)) if (
                of in arguments and how in _FILLING
            ):
                fills.add(f"{of}.{name}")
            case ast.Attribute(value=ast.Name(id=of), attr=name, ctx=ast.Load()) if of in arguments:
                reads.add(f"{of}.{name}")
            case ast.For() | ast.While() | ast.Try() | ast.Yield() | ast.YieldFrom() | ast.Await():
                plain = False
            case ast.If() | ast.IfExp():
                branches += 1
    return Spoken(
        frozenset(reads),
        frozenset(fills),
        frozenset(calls),
        plain and branches <= MOST_BRANCHES and not trains([method]),
    )


_FILLING = frozenset({"append", "appendleft", "extend"})
