"""The behaviour of an operation for one kind of call, and what several possible ones have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from gradpath.support.fast_dataclasses import dataclass, field

Structure: TypeAlias = "int | str | tuple[Structure, ...] | None"
"""The form of a result: an index into `outputs`, a tuple of such, None for a None, `"*"` for a sequence of
any length whose items are all like output 0, `"?"` where it is not known."""


_EMPTY: Final[Mapping[str, frozenset[str]]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Output:
    """A tensor that an operation returns.

    `alias` holds the possible relations to an argument, the likeliest first: "same:x" (the same object), "view:x",
    "multiview:x" (one of several views, not writable in place), "alias:x" (shares memory and version counter),
    "storage:x" (memory alone), "ownview" (a view of a tensor without other references), "fresh". `grad` are the
    arguments of which one that requires grad makes the output require grad; of `maybe_grad` this is not sure. `name` is
    that of the field of a named tuple, such as `indices`.
    """

    alias: tuple[str, ...]
    grad: frozenset[str]
    dtype: str | None = None
    maybe_grad: frozenset[str] = frozenset()
    name: str = ""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The behaviour of an operation for one kind of call.

    `saves`: what is saved for backward (an argument, or "out0", "out1" ...) to the arguments of which at least one
    must have a graph edge for that. `holds`: the arguments whose edge makes a second backward raise "a second time".
    `second`: the arguments whose gradient depends on arguments, and on which. `second_saves`: what the graph of such a
    gradient saves ("x:y" is `y` in that for `x`), and for which: arguments, or "gradient" for the incoming one. In
    all "*" stands for all parameters of a module. `pairwise`: the arguments that are lists and whose items are
    saved for one another only. `inplace`: the argument that is written; `maybe_inplace`: one that perhaps is.
    `differentiable` is False where backward raises "not implemented". `fields` names the parts of a named tuple.
    """

    outputs: tuple[Output, ...] = ()
    saves: Mapping[str, frozenset[str]] = field(default_factory=lambda: _EMPTY)
    holds: frozenset[str] = frozenset()
    maybe_saves: Mapping[str, frozenset[str]] = field(default_factory=lambda: _EMPTY)
    maybe_holds: frozenset[str] = frozenset()
    second: Mapping[str, frozenset[str]] = field(default_factory=lambda: _EMPTY)
    maybe_second: Mapping[str, frozenset[str]] = field(default_factory=lambda: _EMPTY)
    second_saves: Mapping[str, frozenset[str]] = field(default_factory=lambda: _EMPTY)
    inplace: str | None = None
    maybe_inplace: frozenset[str] = frozenset()
    differentiable: bool = True
    returns: Structure = 0
    fields: tuple[str, ...] = ()
    pairwise: frozenset[str] = frozenset()


def decode(entry: Mapping[str, Any]) -> Behaviour:
    """The behaviour that an entry of the table describes."""
    names = iter(() if "returns" in entry else entry.get("fields", ()))
    outputs = tuple(_output(output, next(names, "")) for output in entry.get("outputs", ()))
    maybe: Mapping[str, Any] = entry.get("maybe", {})
    return Behaviour(
        outputs=outputs,
        saves=_relation(entry.get("saves", {})),
        holds=frozenset(entry.get("holds", ())),
        maybe_saves=_relation(maybe.get("saves", {})),
        maybe_holds=frozenset(maybe.get("holds", ())),
        second=_relation(entry.get("second", {})),
        maybe_second=_relation(maybe.get("second", {})),
        second_saves=_relation(entry.get("second_saves", {})),
        inplace=entry.get("inplace"),
        differentiable=entry.get("derivative", True),
        returns=_structure(entry.get("returns", 0 if len(outputs) == 1 else [*range(len(outputs))])),
        fields=tuple(entry.get("fields", ())),
        pairwise=frozenset(entry.get("pairwise", ())),
    )


def _output(entry: Mapping[str, Any], name: str) -> Output:
    alias = entry["alias"]
    return Output(
        alias=(alias,) if isinstance(alias, str) else tuple(alias),
        grad=frozenset(entry["grad"]),
        dtype=entry.get("dtype"),
        maybe_grad=frozenset(entry.get("maybe_grad", ())),
        name=name,
    )


def _relation(entry: Mapping[str, Sequence[str]]) -> Mapping[str, frozenset[str]]:
    return MappingProxyType({key: frozenset(names) for key, names in entry.items()}) if entry else _EMPTY


def _structure(entry: Any) -> Structure:
    return tuple(_structure(item) for item in entry) if isinstance(entry, list) else entry


def fold(possible: Sequence[Behaviour]) -> Behaviour:
    """One behaviour for several possible ones: sure is what all agree on. The last is the usual one."""
    first = possible[0]
    saves, maybe_saves = _fold_relations([(behaviour.saves, behaviour.maybe_saves) for behaviour in possible])
    second, maybe_second = _fold_relations([(behaviour.second, behaviour.maybe_second) for behaviour in possible])
    second_saves, _ = _fold_relations([(behaviour.second_saves, _EMPTY) for behaviour in possible])
    holds = frozenset.intersection(*(behaviour.holds for behaviour in possible))
    written = frozenset(behaviour.inplace for behaviour in possible)
    inplace = first.inplace if len(written) == 1 else None
    same_shape = all(behaviour.returns == first.returns for behaviour in possible)
    return Behaviour(
        outputs=tuple(
            _fold_outputs(group) for group in zip(*(behaviour.outputs for behaviour in possible), strict=False)
        ),
        saves=saves,
        holds=holds,
        maybe_saves=maybe_saves,
        second=second,
        maybe_second=maybe_second,
        second_saves=second_saves,
        maybe_holds=frozenset().union(*(behaviour.holds | behaviour.maybe_holds for behaviour in possible)) - holds,
        inplace=inplace,
        maybe_inplace=frozenset(name for name in written if name is not None and name != inplace).union(
            *(behaviour.maybe_inplace for behaviour in possible)
        ),
        differentiable=any(behaviour.differentiable for behaviour in possible),
        returns=first.returns if same_shape else "?",
        fields=first.fields if all(behaviour.fields == first.fields for behaviour in possible) else (),
        pairwise=frozenset().union(*(behaviour.pairwise for behaviour in possible)),
    )


def _fold_outputs(outputs: Sequence[Output]) -> Output:
    first = outputs[0]
    grad = frozenset.intersection(*(output.grad for output in outputs))
    every = frozenset().union(*(output.grad | output.maybe_grad for output in outputs))
    return Output(
        alias=tuple(dict.fromkeys(alias for output in reversed(outputs) for alias in output.alias)),
        grad=grad,
        dtype=first.dtype if all(output.dtype == first.dtype for output in outputs) else None,
        maybe_grad=every - grad,
        name=first.name if all(output.name == first.name for output in outputs) else "",
    )


_Relation: TypeAlias = "Mapping[str, frozenset[str]]"


def _fold_relations(possible: Sequence[tuple[_Relation, _Relation]]) -> tuple[_Relation, _Relation]:
    """The pairs on which all agree, and the others."""
    sure = [{(key, name) for key, names in each.items() for name in names} for each, _ in possible]
    every = set().union(
        *sure, *({(key, name) for key, names in each.items() for name in names} for _, each in possible)
    )
    common = set.intersection(*sure)
    return _relation(_grouped(common)), _relation(_grouped(every - common))


def _grouped(pairs: set[tuple[str, str]]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for key, name in sorted(pairs):
        grouped.setdefault(key, []).append(name)
    return grouped
