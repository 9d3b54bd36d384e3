"""Python's builtin functions and classes."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from functools import cache, partial

from gradpath.interpreter import classes, outside
from gradpath.interpreter.bounds import is_whole, length_of
from gradpath.interpreter.builtin_types import MAPPING, SEQUENCE, TypeClass, is_instance, type_question
from gradpath.interpreter.containers import List, Slice, ordered
from gradpath.interpreter.defining import TYPE
from gradpath.interpreter.doubt import is_awaited
from gradpath.interpreter.endings import Raised
from gradpath.interpreter.eval import eval_text, exec_text
from gradpath.interpreter.iteration import BARREN, Iteration, gone_through, iterate, sample
from gradpath.interpreter.lengths import lengths_of
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict, Set, make_dict
from gradpath.interpreter.operators import add, bounded, negation, text_of
from gradpath.interpreter.origins import Made
from gradpath.interpreter.ranges import backwards, make_range, unknown_numbers
from gradpath.interpreter.values import (
    CONSTANTS,
    UNDEFINED,
    Arguments,
    Class,
    Descriptor,
    Function,
    Instance,
    NativeFunction,
    Object,
    Unknown,
    Value,
    identity,
)


def _isinstance(machine: Machine, arguments: Arguments) -> Value:
    value, kind = arguments.get(0, "obj", None), arguments.get(1, "cls", None)
    answer = is_instance(machine, value, kind)
    if answer is None:
        return machine.unknown("isinstance", type_question(value, kind), (value,), data=True)
    return answer


def _issubclass(machine: Machine, arguments: Arguments) -> Value:
    left, right = arguments.get(0, "cls", None), arguments.get(1, "info", None)
    if isinstance(left, Class) and isinstance(right, Class):
        return left.is_subclass(right)
    return machine.unknown("issubclass", None, (), data=True)


def _len(machine: Machine, arguments: Arguments) -> Value:
    value = arguments.get(0, "obj", None)
    if isinstance(value, (str, bytes, tuple, range)):
        try:
            return len(value)
        except OverflowError as error:
            raise machine.error("OverflowError", str(error), value) from None
    if isinstance(value, List) and not value.open and value.is_longer(machine):
        return value.least_length(machine)
    if isinstance(value, Instance) and value.cls.find("__len__") is not UNDEFINED:
        return machine.special(value, "__len__", Arguments())
    if isinstance(value, Object):
        size = value.length(machine)
        if size is not None:
            return size
    return machine.unknown("length", ("len", identity(value)), (value,), made=Made.NUMBER)


def _enumerate(machine: Machine, arguments: Arguments) -> Value:
    source = gone_through(arguments.get(0, "iterable", ()))
    host, endless = iterate(machine, source)
    start = arguments.get(1, "start", 0)
    if not isinstance(start, int):
        return Iteration(zip(unknown_numbers(machine), host, strict=False), endless=endless, over=[source])
    pairs = ((index, item) for index, item in enumerate(host, start))
    made = Iteration(pairs, endless=endless, counted=_counted(source), over=[source])
    made.frame = source.frame if isinstance(source, Iteration) else None
    made.lengths = lengths_of(machine, source) if endless else ()
    return made


def _counted(value: Value) -> int | None:
    value = gone_through(value)
    if isinstance(value, range):
        return length_of(value)
    return value.counted if isinstance(value, Iteration) else None


def _zip(machine: Machine, arguments: Arguments) -> Value:
    sources = arguments.positional
    pairs = [iterate(machine, value) for value in sources]
    counts = [count for count in map(_counted, sources) if count is not None]
    hosts = [host for host, _ in pairs]
    endless = bool(pairs) and all(endless for _, endless in pairs)
    made = Iteration(zip(*hosts, strict=False), endless=endless, counted=min(counts, default=None), over=sources)
    made.made = machine.site()
    return made


def _map(machine: Machine, arguments: Arguments) -> Value:
    function, *rest = arguments.positional or [None]
    pairs = [iterate(machine, value) for value in rest]
    items = (machine.call(function, Arguments(list(each))) for each in zip(*(host for host, _ in pairs), strict=False))
    return Iteration(items, endless=bool(pairs) and all(endless for _, endless in pairs), over=rest)


def _filter(machine: Machine, arguments: Arguments) -> Value:
    test, source = arguments.get(0, "function", None), arguments.get(1, "iterable", ())
    host, endless = iterate(machine, source)

    def kept() -> Iterator[Value]:
        barren = 0
        for item in host:
            answer = item if test is None else machine.call(test, Arguments([item]))
            if machine.assume(answer) if endless else machine.decide(answer, machine.node):
                yield item
                barren = 0
            elif endless and (barren := barren + 1) > BARREN:
                return

    made = Iteration(kept(), endless=endless, over=[source])
    made.made = machine.site()
    return made


def _reversed(machine: Machine, arguments: Arguments) -> Value:
    source = arguments.get(0, "sequence", ())
    if isinstance(source, range):
        items, open = sample(machine, source[::-1])
        return List(items, open=open)
    downwards = backwards(machine, source)
    if downwards is not None:
        return downwards
    items, open = sample(machine, source)
    return List(items[::-1], open=open)


def _sorted(machine: Machine, arguments: Arguments) -> Value:
    items, open = sample(machine, arguments.get(0, "iterable", ()))
    return List(ordered(machine, list(items), arguments), open=open)


def _sum(machine: Machine, arguments: Arguments) -> Value:
    total = arguments.get(1, "start", 0)
    items, open = sample(machine, arguments.get(0, "iterable", ()))
    for item in items:
        total = add(machine, total, item)
        machine.budget.spend()
    if open and isinstance(total, (int, float)):
        return machine.unknown("sum of numbers", made=Made.NUMBER)
    return total


def _extreme(name: str) -> Callable[[Machine, Arguments], Value]:
    function = max if name == "max" else min

    def extreme(machine: Machine, arguments: Arguments) -> Value:
        values = arguments.positional
        if len(values) == 1:
            values, open = sample(machine, values[0])
            if len(values) == 1 and not open:
                return values[0]
            if open or "key" in arguments.keywords:
                return machine.unknown(name, None, tuple(values))
        if values and all(isinstance(value, (int, float)) for value in values):
            machine.depends_on(*values)
            return function(values)  # type: ignore[type-var]
        if values and len(values) == 1:
            return values[0]
        how = "gt" if name == "max" else "lt"
        if len(values) > 1 and not all(isinstance(value, (*CONSTANTS, Unknown)) for value in values):
            best = values[0]
            for other in values[1:]:
                live = machine.library.is_live(other)
                hinge = live is not machine.library.is_live(best)  # A program is written for where it is open.
                better: Value = NotImplemented
                if isinstance(other, Object):
                    better = other.compare(machine, how, best, False)
                elif isinstance(best, Object):
                    better = best.compare(machine, "lt" if how == "gt" else "gt", other, True)
                if better is NotImplemented:
                    return machine.unknown(name, None, tuple(values))
                best = other if machine.decide(better, machine.node, likely=live or not hinge, idle=hinge) else best
            return best
        return machine.unknown(name, (name, *map(identity, values)), tuple(values))

    return extreme


def _settling(name: str, *, settles: bool) -> Callable[[Machine, Arguments], Value]:
    """`any` and `all`: the first item that `settles` it ends the search."""

    def up_to_it(machine: Machine, host: Iterator[Value]) -> Iterator[Value]:
        for item in host:
            yield item
            if machine.truth(item) is settles:
                return

    def search(machine: Machine, arguments: Arguments) -> Value:
        source = arguments.get(0, "iterable", ())
        if isinstance(source, Iteration):
            source = Iteration(up_to_it(machine, source.host), endless=source.endless, over=[source])
        items, open = sample(machine, source)
        answers = [machine.truth(item) for item in items]
        if settles in answers:
            return settles
        if None in answers or open:
            machine.id_of(source)  # The key may hold it: what is asked of items that are not known differs each time.
            return machine.unknown(name, (name, identity(source) if open else None, *map(identity, items)), data=True)
        return not settles

    return search


def _getattr(machine: Machine, arguments: Arguments) -> Value:
    value, name = arguments.get(0, "obj", None), arguments.get(1, "name", None)
    if not isinstance(name, str):
        return machine.unknown("getattr", ("getattr", identity(value), identity(name)), (value,))
    default = arguments.get(2, "default")
    has = has_attribute(machine, value, name)
    if has is False and default is not UNDEFINED:
        return default
    if not has and isinstance(value, Instance):
        missing = machine.error("AttributeError", name, value)
        if isinstance(missing.value, Instance) and is_awaited(machine, missing.value.cls):
            raise missing  # Whoever waits for it makes the attribute then.
    found = machine.attribute(value, name)
    if isinstance(found, Unknown) and isinstance(default, CONSTANTS):
        found.hint = default
    return found


def has_attribute(machine: Machine, value: Value, name: str) -> bool | None:
    """`hasattr(value, name)`; None where that is not known."""
    if isinstance(value, Instance):
        if name in value.attributes or value.cls.find(name) is not UNDEFINED:
            return True
        if value.native_attribute(machine, name) is not UNDEFINED:
            return True
        if value.cls.open:
            return None
        return value.cls.find("__getattr__") is not UNDEFINED and _computes(machine, value, name)
    if isinstance(value, Function):
        return name in value.attributes
    if isinstance(value, Object):
        return machine.library.has_attribute(value, name)
    return hasattr(value, name)


def _computes(machine: Machine, instance: Instance, name: str) -> bool:
    """True if the `__getattr__` of the program gives an attribute; an AttributeError says that it does not."""
    try:
        with machine.frame.catching(lambda cls: cls.name == "AttributeError"):
            machine.attribute(instance, name)
    except Raised as raised:
        if isinstance(raised.value, Instance) and raised.value.cls.name == "AttributeError":
            return False
        raise
    return True


def _hasattr(machine: Machine, arguments: Arguments) -> Value:
    value, name = arguments.get(0, "obj", None), arguments.get(1, "name", None)
    answer = has_attribute(machine, value, name) if isinstance(name, str) else None
    if answer is None:
        return machine.unknown("hasattr", ("hasattr", identity(value), identity(name)), (value,), data=True)
    return answer


def _setattr(machine: Machine, arguments: Arguments) -> Value:
    value, name = arguments.get(0, "obj", None), arguments.get(1, "name", None)
    if isinstance(value, Instance | Unknown):
        name = classes.written(machine, value, name, arguments.get(2, "value", None))
    if isinstance(value, Object) and isinstance(name, str):
        classes.set_attribute(machine, value, name, arguments.get(2, "value", None))
    return None


def _delattr(machine: Machine, arguments: Arguments) -> Value:
    value, name = arguments.get(0, "obj", None), arguments.get(1, "name", None)
    if isinstance(value, Object) and isinstance(name, str):
        value.delete_attribute(machine, name)
    return None


def _iter(machine: Machine, arguments: Arguments) -> Value:
    value = arguments.get(0, "iterable", ())
    if isinstance(value, Iteration):
        return value
    host, endless = iterate(machine, value)
    return Iteration(host, endless=endless, counted=_counted(value), over=[value])


def _next(machine: Machine, arguments: Arguments) -> Value:
    value = arguments.get(0, "iterator", ())
    if isinstance(value, Iteration):
        return value.advance(machine, default=arguments.get(1, "default"))
    if isinstance(value, Instance) and value.cls.find("__next__") is not UNDEFINED:
        return machine.special(value, "__next__", Arguments())
    if isinstance(value, Unknown):
        return machine.library.unknown_item(machine, value, None)
    return machine.unknown("next", None, (value,))


def _type(machine: Machine, arguments: Arguments) -> Value:
    value = arguments.get(0, "object", None)
    if len(arguments.positional) == 3:
        return machine.call(TYPE["__new__"], arguments.shifted(None))
    if isinstance(value, Instance):
        return value.cls
    if not isinstance(value, Object):
        found = machine.builtins.get(type(value).__name__)
        if found is not None:
            return found
    return machine.unknown("type", ("type", identity(value)), (value,), data=True)


def number(name: str) -> Callable[[Machine, Arguments], Value]:
    """The builtin function that makes a number of something."""
    table: dict[str, Callable[..., Value]] = {"int": int, "float": float, "bool": bool, "round": round, "abs": abs}
    function = table[name]
    made = Made.SOMETHING if name in ("abs", "round") else Made.NUMBER

    def convert(machine: Machine, arguments: Arguments) -> Value:
        value = arguments.get(0, "x", 0)
        if isinstance(value, Object):
            special = getattr(value, "to_number", None)
            if special is not None:
                result: Value = special(machine, name)
                return result
            if name == "bool":
                settled = value.truth(machine)
                return negation(machine, negation(machine, value)) if settled is None else settled
            if name == "abs":
                found = value.unary(machine, "abs")
                if found is not NotImplemented:
                    return found
            read = (
                value.unary(machine, name)
                if isinstance(value, Unknown) and name in ("float", "int")
                else NotImplemented
            )
            if read is not NotImplemented:
                return read
            return machine.unknown(name, (name, identity(value)), (value,), made=made)
        given = [each for each in arguments.positional if isinstance(each, CONSTANTS)]
        if name == "round" and not all(map(is_whole, given[1:])):
            return machine.unknown(name, made=made)
        machine.depends_on(*given)
        try:
            return bounded(machine, function(*given))
        except (OverflowError, ValueError) as error:
            raise machine.error(type(error).__name__, str(error), value) from None
        except TypeError:
            return machine.unknown(name, made=made)

    return convert


def _text(machine: Machine, arguments: Arguments) -> Value:
    value = arguments.get(0, "object", "")
    return text_of(machine, value) if isinstance(value, (str, int, bool, float)) else machine.unknown("text", data=True)


def _list(machine: Machine, arguments: Arguments) -> Value:
    if not arguments.positional:
        return List([])
    items, open = sample(machine, arguments.positional[0])
    return List(items, open=open)


def _tuple(machine: Machine, arguments: Arguments) -> Value:
    if not arguments.positional:
        return ()
    items, open = sample(machine, arguments.positional[0])
    return List(items, open=True) if open else tuple(items)


def _set(machine: Machine, arguments: Arguments) -> Value:
    if not arguments.positional:
        return Set([])
    items, open = sample(machine, arguments.positional[0])
    return Set(items, open=open)


def _property(machine: Machine, arguments: Arguments) -> Value:
    return Descriptor("property", arguments.get(0, "fget", None), arguments.get(1, "fset", None))


def _nothing(machine: Machine, arguments: Arguments) -> Value:
    return None


_FUNCTIONS: dict[str, Callable[[Machine, Arguments], Value]] = {
    **outside.FUNCTIONS,
    "isinstance": _isinstance,
    "issubclass": _issubclass,
    "len": _len,
    "enumerate": _enumerate,
    "zip": _zip,
    "map": _map,
    "filter": _filter,
    "reversed": _reversed,
    "sorted": _sorted,
    "sum": _sum,
    "max": _extreme("max"),
    "min": _extreme("min"),
    "all": _settling("all", settles=False),
    "any": _settling("any", settles=True),
    "getattr": _getattr,
    "hasattr": _hasattr,
    "setattr": _setattr,
    "delattr": _delattr,
    "iter": _iter,
    "next": _next,
    "abs": number("abs"),
    "round": number("round"),
    "eval": eval_text,
    "exec": exec_text,
    "print": _nothing,
    "super": classes.make_super,
    "slice": lambda machine, arguments: Slice(),
    "vars": lambda machine, arguments: machine.attribute(
        arguments.get(0, "object", machine.unknown("vars", None, ())), "__dict__"
    ),
}

_TYPES: dict[str, tuple[Callable[[Machine, Arguments], Value], Callable[[Value], bool]]] = {
    "int": (number("int"), lambda value: isinstance(value, int)),
    "float": (number("float"), lambda value: isinstance(value, float)),
    "bool": (number("bool"), lambda value: isinstance(value, bool)),
    "str": (_text, lambda value: isinstance(value, str)),
    "bytes": (_text, lambda value: isinstance(value, bytes)),
    "complex": (_text, lambda value: isinstance(value, complex)),
    "list": (_list, lambda value: isinstance(value, List)),
    "tuple": (_tuple, lambda value: isinstance(value, tuple)),
    "set": (_set, lambda value: isinstance(value, Set)),
    "frozenset": (_set, lambda value: isinstance(value, Set)),
    "dict": (make_dict, lambda value: isinstance(value, Dict)),
    "range": (make_range, lambda value: isinstance(value, range)),
    "type": (_type, lambda value: isinstance(value, Class)),
}

_METHODS = {"dict": MAPPING, "list": SEQUENCE}


@cache
def _shared() -> dict[str, Value]:
    names: dict[str, Value] = {name: NativeFunction(name, function) for name, function in _FUNCTIONS.items()}
    for name, (convert, holds) in _TYPES.items():
        names[name] = made = TypeClass(name, convert, holds, _METHODS.get(name, frozenset()))
        made.members.update(TYPE if name == "type" else {})
    names["object"] = plain = Class("object")
    plain.members.update(__setattr__=classes.STORE_ATTRIBUTE, __new__=classes.MAKE_BARE)
    for kind in ("staticmethod", "classmethod"):
        names[kind] = NativeFunction(kind, partial(_descriptor, kind))
    names["property"] = NativeFunction("property", _property)
    names["__name__"] = "__main__"
    names["__file__"] = "main.py"
    names["NotImplemented"] = Class("NotImplementedType")
    for name in dir(builtins):
        host = getattr(builtins, name)
        if isinstance(host, type) and issubclass(host, BaseException):
            _exception(names, host)
    return names


def make_builtins() -> dict[str, Value]:
    """A namespace of builtins; exception classes mirror the host's. The values are shared, the namespace is not."""
    return dict(_shared())


def _descriptor(kind: str, machine: Machine, arguments: Arguments) -> Value:
    return Descriptor(kind, arguments.get(0, "f", None))


def _exception(names: dict[str, Value], host: type[BaseException]) -> Class:
    known = names.get(host.__name__)
    if isinstance(known, Class):
        return known
    bases = [_exception(names, base) for base in host.__bases__ if issubclass(base, BaseException)]
    names[host.__name__] = made = Class(host.__name__, bases)
    return made
