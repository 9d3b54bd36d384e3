"""The effects of PyTorch's operations and modules on the graph: the typed reader of `ops.json`.

The table was observed from a real PyTorch by `server/observe`; this module only reads it. An entry is decoded when it
is first used, and its behaviour for one kind of call is cached.

In the table a condition (`when`) gives alternatives for each argument: `"number"`, `"tensor"`, `"sequence"`,
`"string"`, `"none"` (absent or None), `"given"` (anything but None), `"integral"` (a dtype of whole numbers, or bool),
`"inf"`, `"-inf"`, or a literal that must be equal. A literal string that could be mistaken for one of these words has
a `=` in front (`"=none"`); a dtype goes by its name (`"torch.int64"`), the index `[:]` is `":"`.

Few conditions ask for a fact on an argument, which `kinds` may give under "name.fact": `x.ndim` (a tensor's rank) and
`x.len` (how many items a list has) are unknown when not given; `x.contiguous` is then presumed to be True.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from gradpath.autograd.behaviour import Behaviour, decode, fold
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.fast_enums import Enum

Kinds: TypeAlias = Mapping[str, object]
"""Argument name to what was passed: the literal itself, a dtype's name, or a `Marker`; absent means the default."""


class Certainty(Enum):
    """The certainty of a statement: NO and YES hold on every run, MAYBE is undecided."""

    NO = 0
    MAYBE = 1
    YES = 2


class Marker(Enum):
    """The kind of an argument whose value is unknown or not a literal."""

    TENSOR = "tensor"
    SEQUENCE = "sequence"
    NUMBER = "number"  # A number of unknown value.
    OBJECT = "object"  # None of these, nor None, a string or a dtype: a device, a slice, a function ...
    UNKNOWN = "unknown"
    REQUIRED = "required"  # The default of a parameter that has none.


TENSOR: Final = Marker.TENSOR
SEQUENCE: Final = Marker.SEQUENCE
NUMBER: Final = Marker.NUMBER
OBJECT: Final = Marker.OBJECT
UNKNOWN: Final = Marker.UNKNOWN
REQUIRED: Final = Marker.REQUIRED

_INTEGRAL: Final = frozenset(
    {"torch.bool", "torch.short", "torch.int", "torch.long"}
    | {f"torch.{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a signature; one of kind "varargs" takes the rest of the positional arguments."""

    name: str
    kind: Literal["positional", "keyword", "varargs"]
    default: object = REQUIRED


class Op:
    """An operation of the table: its signature, and how it behaves with given arguments.

    `size` and `sizes` name the rules (`autograd.sizes`) for the shapes of its outputs, and of a list of outputs.
    `layout` is that of its result: row-major (""), `like` its operands, `mixed` where it depends on
    theirs in another way, or `odd`.
    """

    __slots__ = ("_choices", "defaults", "layout", "name", "parameters", "size", "sizes")

    def __init__(self, name: str, entry: Mapping[str, Any]) -> None:
        self.name = name
        self.parameters: tuple[Parameter, ...] = _parameters(entry.get("params", ()))
        self.defaults = _defaults(self.parameters)
        self.size = _words(entry)
        self.sizes: str | None = entry.get("sizes")
        self.layout: str = entry.get("layout", "")
        self._choices = _Choices(entry, self.parameters)

    def behaviour(self, kinds: Kinds) -> Behaviour:
        """The behaviour of a call; where `kinds` leaves several cases open, all that they disagree on is MAYBE."""
        return self._choices.behaviour(kinds)


class ModuleSpec:
    """A class of `torch.nn`: what its constructor makes, and how its `forward` behaves.

    `size`, `sizes` and `layout` are as for operations; `parameter_sizes` says a parameter's sizes by the constructor's
    arguments.
    """

    __slots__ = (
        "_buffers",
        "_eval",
        "_parameters",
        "_train",
        "defaults",
        "forward",
        "init",
        "layout",
        "name",
        "parameter_sizes",
        "size",
        "sizes",
    )

    def __init__(self, name: str, entry: Mapping[str, Any]) -> None:
        self.name = name
        self.init: tuple[Parameter, ...] = _parameters(entry["init"])
        self.forward: tuple[Parameter, ...] = _parameters(entry["forward"])
        self.defaults = _defaults((*self.init, *self.forward))
        self.size = _words(entry)
        self.sizes: str | None = entry.get("sizes")
        self.layout: str = entry.get("layout", "")
        self.parameter_sizes: Mapping[str, Sequence[object]] = {
            each["name"]: each["sizes"] for each in entry["parameters"] if "sizes" in each
        }
        self._parameters: Mapping[str, Any] = {each["name"]: each for each in entry["parameters"]}
        self._buffers: Mapping[str, Any] = entry["buffers"]
        signature = (*self.init, *self.forward)
        self._train = _Choices(entry["train"], signature)
        self._eval = self._train if entry["eval"] is None else _Choices(entry["eval"], signature)

    def parameters(self, kinds: Kinds) -> Mapping[str, Certainty]:
        """The names of its parameters, in their order, by the constructor's arguments; "*" stands for others."""
        return _present(self._parameters, kinds, self.init)

    def buffers(self, kinds: Kinds) -> Mapping[str, Certainty]:
        """The names of its buffers, by the constructor's arguments."""
        return _present(self._buffers, kinds, self.init)

    def behaviour(self, training: bool | None, kinds: Kinds) -> Behaviour:
        """The behaviour of a call of the module; `kinds` describes the constructor's and the call's arguments together.

        With `training` None the two modes are folded into one.
        """
        if training is not None or self._eval is self._train:
            return (self._train if training is not False else self._eval).behaviour(kinds)
        train, evaluate = self._train.behaviour(kinds), self._eval.behaviour(kinds)
        return train if train == evaluate else fold((train, evaluate))


@cache
def find_op(name: str) -> Op | None:
    """The operation of that name ("torch.mul", "torch.Tensor.mul", "operator.mul", "getitem:int"); follows aliases."""
    alias = _entry("aliases", name)
    target = name if alias is None else json.loads(alias)
    return None if _entry("ops", target) is None else _op(target)


def op_of(name: str) -> Op:
    """The operation of that name, which the table is known to have."""
    op = find_op(name)
    assert op is not None, name
    return op


def find_module(name: str) -> ModuleSpec | None:
    """The module class of that name ("torch.nn.Linear", or where it is defined "torch.nn.modules.linear.Linear")."""
    if name.startswith("torch.nn.modules."):
        name = "torch.nn." + name.rpartition(".")[2]
    return None if _entry("modules", name) is None else _module(name)


def table_version() -> str:
    """The version of PyTorch that the table was observed from."""
    return next(str(json.loads(each.partition(":")[2])) for each in reversed(_lines()) if each.startswith('"torch":'))


@cache
def _lines() -> Sequence[str]:
    return Path(__file__).with_name("ops.json").read_text("utf-8").split("\n")


@cache
def _part(name: str) -> tuple[int, int]:
    """Between which lines a part of the table has its entries, one a line and by their names."""
    start = _lines().index(f'"{name}":{{')
    return start + 1, next(number for number in range(start, len(_lines())) if _lines()[number][:1] == "}")


@cache
def _entry(part: str, name: str) -> str | None:
    """The entry of a name in a part of the table, as text: of the hundreds, a program needs few."""
    key = f'"{name}":'
    line = _lines()[bisect_left(_lines(), key, *_part(part))]
    return line[len(key) :].removesuffix(",") if line.startswith(key) else None


@cache
def _op(name: str) -> Op:
    return Op(name, json.loads(_entry("ops", name) or "{}"))


@cache
def _module(name: str) -> ModuleSpec:
    return ModuleSpec(name, json.loads(_entry("modules", name) or "{}"))


class _Choices:
    """An entry's base and cases, decoded, with the behaviours that were already asked for."""

    __slots__ = ("_asked", "_behaviours", "_conditions", "_defaults", "_known")

    def __init__(self, entry: Mapping[str, Any], signature: Sequence[Parameter]) -> None:
        base = {key: value for key, value in entry.items() if key != "cases"}
        cases: Sequence[Mapping[str, Any]] = entry.get("cases", ())
        self._conditions: list[Mapping[str, Any]] = [case["when"] for case in cases]
        self._behaviours = [decode({**base, **case}) for case in cases] + [decode(base)]
        self._asked = tuple(sorted({name for when in self._conditions for name in when}))
        self._defaults = {parameter.name: parameter.default for parameter in signature}
        self._known: dict[tuple[object, ...], Behaviour] = {}

    def behaviour(self, kinds: Kinds) -> Behaviour:
        if not self._asked:
            return self._behaviours[-1]
        values = tuple(_value(name, kinds, self._defaults) for name in self._asked)
        key = (*values, *map(type, values))  # The types keep True, 1 and 1.0 apart.
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._find(dict(zip(self._asked, values, strict=True)))
        return known

    def _find(self, values: Kinds) -> Behaviour:
        possible: list[Behaviour] = []
        earlier: list[Kinds] = []
        for when, behaviour in zip(self._conditions, self._behaviours, strict=False):
            found = _satisfied(when, values)
            open = {name: wanted for name, wanted in when.items() if values[name] in (UNKNOWN, NUMBER)}
            if found is Certainty.NO or any(each.items() <= open.items() for each in earlier):
                continue  # Where this one holds, an earlier one does.
            possible.append(behaviour)
            if found is Certainty.YES:
                break
            earlier.append(open)
        else:
            possible.append(self._behaviours[-1])
        return possible[0] if len(possible) == 1 else fold(possible)


def _value(name: str, kinds: Kinds, defaults: Kinds) -> object:
    """The facts about an argument, as a hashable value."""
    value = kinds.get(name, REQUIRED)
    if value is REQUIRED and "." in name:
        value = True if name.endswith(".contiguous") else UNKNOWN
    elif value is REQUIRED:
        value = defaults.get(name)
        if value is REQUIRED:
            value = None
    if value is None or isinstance(value, (Marker, str, int, float)):
        return value
    return SEQUENCE if isinstance(value, (list, tuple)) else NUMBER if isinstance(value, complex) else OBJECT


def _satisfied(when: Mapping[str, Any], values: Kinds) -> Certainty:
    worst = Certainty.YES
    for name, alternatives in when.items():
        best = Certainty.NO
        for alternative in alternatives:
            found = _matches(alternative, values[name])
            if found.value > best.value:
                best = found
        if best is Certainty.NO:
            return best
        if best is Certainty.MAYBE:
            worst = best
    return worst


def _matches(alternative: object, value: object) -> Certainty:
    if value is UNKNOWN:
        return Certainty.MAYBE
    match alternative:
        case "none" | None:
            return _sure(value is None)
        case "given":
            return _sure(value is not None)
        case "number":
            return _sure(value is NUMBER or isinstance(value, (int, float)))
        case "tensor":
            return _sure(value is TENSOR)
        case "sequence":
            return _sure(value is SEQUENCE)
        case "integral":
            return _sure(value in _INTEGRAL)
        case "string":
            return _sure(isinstance(value, str))
        case "inf" | "-inf":
            number = math.inf if alternative == "inf" else -math.inf
            return Certainty.MAYBE if value is NUMBER else _sure(value in (number, alternative))
        case bool():
            return _sure(value is alternative)
        case str():
            return _sure(value == alternative.removeprefix("="))
    return Certainty.MAYBE if value is NUMBER else _sure(value == alternative and not isinstance(value, bool))


def _sure(truth: bool) -> Certainty:
    return Certainty.YES if truth else Certainty.NO


def _present(table: Mapping[str, Any], kinds: Kinds, signature: Sequence[Parameter]) -> Mapping[str, Certainty]:
    defaults = {parameter.name: parameter.default for parameter in signature}
    found = {}
    for name, entry in table.items():
        when = entry.get("when", {})
        certainty = _satisfied(when, {argument: _value(argument, kinds, defaults) for argument in when})
        if certainty is not Certainty.NO:
            found[name] = certainty
    return found


def _parameters(texts: Sequence[str]) -> tuple[Parameter, ...]:
    parameters: list[Parameter] = []
    kind: Literal["positional", "keyword"] = "positional"
    for text in texts:
        if text == "*":
            kind = "keyword"
        elif text.startswith("*"):
            parameters.append(Parameter(text[1:], "varargs"))
            kind = "keyword"
        else:
            name, equals, default = text.partition("=")
            parameters.append(Parameter(name, kind, json.loads(default) if equals else REQUIRED))
    return tuple(parameters)


def _defaults(parameters: Sequence[Parameter]) -> Mapping[str, object]:
    return {each.name: each.default for each in parameters if each.default is not REQUIRED}


def _words(entry: Mapping[str, Any]) -> tuple[str | None, ...]:
    """The rules of size, one for each output."""
    words = entry.get("size", ())
    return (words,) if isinstance(words, str) else tuple(words)
