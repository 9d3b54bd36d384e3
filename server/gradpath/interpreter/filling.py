"""The attributes that one method fills for another: an agent acts by one and learns by the other.

They are those of `self`, of an object of the file that it keeps, such as a `buffer` (`self.buffer.log_probs`), or of an
argument that both methods call the same, such as a `memory` (`memory.log_probs`).
"""

from __future__ import annotations

import ast
import contextlib
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from gradpath.autograd.errors import AutogradError
from gradpath.interpreter.endings import Raised
from gradpath.interpreter.idle import trains
from gradpath.interpreter.iteration import Container
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, Class, Instance, Value
from gradpath.source.nodes import Definition, nodes, noted
from gradpath.support.fast_dataclasses import dataclass, replace
from gradpath.support.traversal import reachable

_OWN = "self."
"""What the name of an attribute of a part of `self` begins with."""

_NO_PARTS: Mapping[str, Class] = MappingProxyType({})

MOST_BRANCHES = 2
"""Branches in a method that fills attributes: what it does must be plain to see."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """The attributes that a method reads and fills, and the methods of `self` that it calls.

    An attribute of an argument has the name of the argument and a dot before its own, one of a part of `self` also has
    `self` there. `asks` are the methods of parts that it calls, by the names of both.

    It is `plain` if it trains nothing, and hardly decides.
    """

    reads: frozenset[str]
    fills: frozenset[str]
    calls: frozenset[str]
    asks: frozenset[tuple[str, str]]
    plain: bool


def filling_of(instance: Instance, function: ast.AST) -> dict[str, frozenset[str]]:
    """The methods by name, each with the attributes that it alone fills for `function`, and that are empty at first."""
    found = fillers(instance.cls, function, _parts_of(instance))
    return {name: filled for name, filled in found.items() if any(_is_empty(instance, each) for each in filled)}


def _is_empty(instance: Instance, name: str) -> bool:
    owner, _, of_part = name.removeprefix(_OWN).rpartition(".")
    if owner and not name.startswith(_OWN):
        return True  # No code is seen to have filled an argument before.
    holder = instance.attributes.get(owner) if owner else instance
    value = holder.attributes.get(of_part) if isinstance(holder, Instance) else None
    replaced = bool(owner) and isinstance(value, Instance)  # A layer of a model, for which there comes another one.
    return value is None or replaced or (isinstance(value, Container) and not list(value.parts()))


def _parts_of(instance: Instance) -> dict[str, Class]:
    """The attributes that are objects of the program's classes, with those."""
    attributes = instance.attributes.items()
    return {name: each.cls for name, each in attributes if isinstance(each, Instance) and each.cls.node is not None}


def fillers(cls: Class, function: ast.AST, parts: Mapping[str, Class] = _NO_PARTS) -> dict[str, frozenset[str]]:
    """The methods by name, each with the attributes that it alone fills for `function`; `parts` are those of `self`."""
    methods = methods_of(cls)
    inner = {part: {name: spoken_of(each) for name, each in methods_of(of).items()} for part, of in parts.items()}
    spoken = {name: _with_parts(spoken_of(method), inner) for name, method in methods.items()}
    own = next((name for name, method in methods.items() if method is function), None)
    if own is None:
        return {}
    inside = _called(own, spoken)
    reads = frozenset[str]().union(*(spoken[name].reads for name in inside))
    networks = frozenset[str]().union(*(spoken[name].calls for name in inside)) - methods.keys()
    later = run_later(cls) - inside  # What the constructor alone leads to has run already.
    others = {name: each for name, each in spoken.items() if name in later and not name.startswith("__")}
    reads |= {each for one in others.values() for each in one.fills if _part_of(each) in networks}
    owners = Counter(attribute for each in others.values() for attribute in each.fills & reads)
    found = {
        name: frozenset(attribute for attribute in each.fills & reads if owners[attribute] == 1)
        for name, each in others.items()
        if each.plain
    }
    return {name: filled for name, filled in found.items() if filled}


def run_later(cls: Class) -> set[str]:
    """The names of all methods but `__init__` and those that it alone leads to: they are parts of it."""
    calls: dict[str, set[str]] = {}
    for each in (one for base in cls.mro if base.node is not None for one in base.node.body):
        if isinstance(each, Definition):
            calls.setdefault(each.name, set()).update(own_calls(each))
    led = set(reachable(["__init__"], lambda name: calls.get(name, set()) & calls.keys()))
    later = calls.keys() - led
    while more := led & set().union(*(calls[each] for each in later)):
        led -= more
        later |= more
    return later


@noted
def own_calls(method: ast.AST) -> frozenset[str]:
    """The methods of `self` that a method calls, or names."""
    return frozenset(
        each.attr
        for each in nodes(method)
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == "self"
    )


def _part_of(name: str) -> str:
    """The attribute of `self` of which an attribute is one, if it is: a network that is called reads all of its own."""
    return name.removeprefix(_OWN).partition(".")[0] if name.startswith(_OWN) else ""


def methods_of(cls: Class) -> dict[str, Definition]:
    """The methods of a class by name, those that it inherits included."""
    methods: dict[str, Definition] = {}
    for each in reversed(cls.mro):
        body = each.node.body if each.node is not None else ()
        methods |= {one.name: one for one in body if isinstance(one, Definition)}
    return methods


def _with_parts(spoken: Spoken, parts: Mapping[str, Mapping[str, Spoken]]) -> Spoken:
    """A method together with the methods of parts that it calls: `self.buffer.add(log_prob)` fills what that fills."""
    asked = [(part, parts[part][name]) for part, name in spoken.asks if name in parts.get(part, ())]
    if not asked:
        return spoken
    return replace(
        spoken,
        reads=spoken.reads.union(*({f"{_OWN}{part}.{name}" for name in each.reads} for part, each in asked)),
        fills=spoken.fills.union(*({f"{_OWN}{part}.{name}" for name in each.fills} for part, each in asked)),
        plain=spoken.plain and all(each.plain for _, each in asked),
    )


def shared(filling: Mapping[str, frozenset[str]]) -> set[str]:
    """The arguments whose attributes are filled."""
    names = (name for filled in filling.values() for name in filled if not name.startswith(_OWN))
    return {name.partition(".")[0] for name in names if "." in name}


def is_lent(receiver: Value, filling: Mapping[str, frozenset[str]]) -> bool:
    """True if something is filled that a caller has as well, who may empty it: an argument, or a part of `self`.

    A part that is an object of the program's classes is made by the object itself.
    """
    held = receiver.attributes if isinstance(receiver, Instance) else {}
    parts = parts_filled(frozenset[str]().union(*filling.values()))
    return bool(shared(filling)) or not all(isinstance(held.get(part), Instance) for part in parts)


def parts_filled(filled: Iterable[str]) -> dict[str, set[str]]:
    """The parts of `self` with the attributes that are filled in them."""
    found: dict[str, set[str]] = {}
    for name in filled:
        if name.startswith(_OWN):
            part, _, attribute = name.removeprefix(_OWN).partition(".")
            found.setdefault(part, set()).add(attribute)
    return found


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
    return set(reachable([name], lambda each: [one for one in spoken[each].calls if one in spoken]))


def trains_apart(receiver: Value, function: ast.AST) -> bool:
    """True if methods of an object train what one of it computes with, and do without that one: it only samples."""
    methods = methods_of(receiver.cls) if isinstance(receiver, Instance) else {}
    spoken = {name: spoken_of(method) for name, method in methods.items()}
    own = next((name for name, method in methods.items() if method is function), None)
    if own is None:
        return False
    computing = _networks(own, spoken) - methods.keys()
    training = [name for name, method in methods.items() if trains([method])]
    others = (_called(name, spoken) for name in training)
    apart = [led for led in others if not any(own in spoken[each].reads | {each} for each in led)]
    return len(apart) == len(training) and any(computing & _networks(name, spoken) for led in apart for name in led)


def _networks(name: str, spoken: Mapping[str, Spoken]) -> set[str]:
    """The attributes of `self` that a method calls, or calls methods of, maybe through others."""
    return {
        each for led in _called(name, spoken) for each in (*spoken[led].calls, *(one for one, _ in spoken[led].asks))
    }


@noted
def spoken_of(method: Definition) -> Spoken:
    """The attributes that a method reads and fills, and so on."""
    reads, fills, calls = set[str](), set[str](), set[str]()
    asks = set[tuple[str, str]]()
    arguments = {each.arg for each in method.args.args}
    branches = 0
    plain = True
    for node in nodes(method):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Load()):
                reads.add(name)
            case (
                ast.Attribute(value=ast.Name(id="self"), attr=name)
                | ast.Subscript(value=ast.Attribute(value=ast.Name(id="self"), attr=name), ctx=ast.Store())
            ):
                fills.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
                calls.add(name)
            case ast.Call(func=ast.Name(id="self")):
                calls.add("forward")
            case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr=name), attr=how)):
                fills.update([name] if how in _FILLING else [])
                asks.add((name, how))
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Subscript(value=ast.Attribute(value=ast.Name(id="self"), attr=name)), attr=how
                )
            ) if how in _FILLING:
                fills.add(name)
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr=part), attr=name), attr=how
                )
            ):
                fills.update([f"{_OWN}{part}.{name}"] if how in _FILLING else [])
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr=part), attr=name, ctx=mode):
                (reads if isinstance(mode, ast.Load) else fills).add(f"{_OWN}{part}.{name}")
            case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id=of), attr=name), attr=how)) if (
                of in arguments and how in _FILLING
            ):
                fills.add(f"{of}.{name}")
            case ast.Attribute(value=ast.Name(id=of), attr=name, ctx=ast.Load()) if of in arguments:
                reads.add(f"{of}.{name}")
            case ast.Try() | ast.Yield() | ast.YieldFrom() | ast.Await():
                plain = False
            case ast.If() | ast.IfExp():
                branches += 1
    return Spoken(
        frozenset(reads),
        frozenset(fills),
        frozenset(calls),
        frozenset(asks),
        plain and branches <= MOST_BRANCHES and not trains([method]),
    )


_FILLING = frozenset({"append", "appendleft", "extend", "setdefault"})
