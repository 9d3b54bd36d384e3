"""From what single calls showed to an entry of the table: what always held is the base, what hangs on arguments are cases.

A small decision tree is grown over the arguments that are no tensors' values (kinds, flags, words, a few telling numbers).
Where no condition tells samples apart that disagree, the disagreement goes to `maybe`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from torch import Tensor

from .behaviour import Relation, Seen

When: TypeAlias = dict[str, list[Any]]

WORDS = frozenset({"number", "tensor", "sequence", "none", "given", "inf", "-inf"})

TELLING = frozenset({0, 1, 2, float("inf"), float("-inf")})
"""The numbers that a condition may ask for: others would only repeat the samples."""


@dataclass(frozen=True)
class Atom:
    """One condition: an argument is one of the alternatives."""

    name: str
    alternatives: tuple[Any, ...]
    rank: int

    def holds(self, kinds: Mapping[str, object]) -> bool:
        return any(matches(alternative, kinds.get(self.name)) for alternative in self.alternatives)


def describe(value: object) -> object:
    """An argument as conditions see it: a literal, or the type that stands for what it is."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Tensor):
        return Tensor
    if isinstance(value, (list, tuple)):
        return list
    if value == slice(None):
        return ":"
    return str(value) if str(value).startswith("torch.") else object


def matches(alternative: Any, value: object) -> bool:
    match alternative:
        case "none":
            return value is None
        case "given":
            return value is not None
        case "number":
            return isinstance(value, (int, float))
        case "tensor":
            return value is Tensor
        case "sequence":
            return value is list
        case "inf" | "-inf":
            return value == float(alternative)
        case bool():
            return value is alternative
        case str():
            return value == alternative.removeprefix("=")
        case _:
            return type(value) in (int, float) and value == alternative


def entry_of(seen: Sequence[Seen], ignore: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The table's entry (without the signature) for all that was seen of one operation."""
    leaves = list(_grow(list(seen), [], ignore))
    described = [(when, _leaf(samples)) for when, samples in leaves]
    base = described[-1][1]
    cases = []
    for when, leaf in described[:-1]:
        different = {key: value for key, value in leaf.items() if base.get(key, _EMPTY.get(key)) != value}
        different |= {key: _EMPTY[key] for key in base if key not in leaf and key in _EMPTY}
        cases.append({"when": when, **different})
    while cases and len(cases[-1]) == 1:
        cases.pop()  # The last case says what the base says.
    return {**base, "cases": cases} if cases else base


_EMPTY: Mapping[str, Any] = {
    "saves": {},
    "holds": [],
    "maybe": {},
    "inplace": None,
    "derivative": True,
    "pairwise": [],
    "fields": [],
}


def _grow(samples: list[Seen], path: list[Atom], ignore: frozenset[str]) -> Iterable[tuple[When, list[Seen]]]:
    """The leaves of the tree, each before those that its conditions do not exclude."""
    groups = _disagreement(samples)
    best: tuple[tuple[float, ...], Atom, list[Seen], list[Seen]] | None = None
    if groups:
        for atom in _atoms([sample.kinds for sample in samples], ignore):
            if any(atom.name == before.name and atom.rank <= before.rank for before in path):
                continue
            inside = [sample for sample in samples if atom.holds(sample.kinds)]
            outside = [sample for sample in samples if not atom.holds(sample.kinds)]
            if not inside or not outside:
                continue
            left = _disagreement(inside) + _disagreement(outside)
            if left < groups:
                score = (left, atom.rank, len(atom.alternatives), -len(inside))
                if best is None or score < best[0]:
                    best = (score, atom, inside, outside)
    if best is None:
        yield _when(path), samples
        return
    _, atom, inside, outside = best
    yield from _grow(inside, [*path, atom], ignore)
    yield from _grow(outside, path, ignore)


def _when(path: Sequence[Atom]) -> When:
    """A path's conditions; of two on one argument the later is the narrower."""
    return {atom.name: list(atom.alternatives) for atom in path}


def tell_apart(facts: Sequence[tuple[Mapping[str, object], bool]]) -> When:
    """The condition under which the fact is true: one argument, or two where one does not tell."""
    described = [({name: describe(value) for name, value in kinds.items()}, truth) for kinds, truth in facts]
    if all(truth for _, truth in described):
        return {}
    atoms = sorted(_atoms([kinds for kinds, _ in described], frozenset()), key=lambda atom: (atom.rank, atom.name))
    for pair in [(atom,) for atom in atoms] + list(itertools.combinations(atoms, 2)):
        if all(all(atom.holds(kinds) for atom in pair) == truth for kinds, truth in described):
            return _when(pair)
    raise AssertionError(f"no condition tells {facts!r}")


def _atoms(samples: Sequence[Mapping[str, object]], ignore: frozenset[str]) -> list[Atom]:
    names = sorted({name for kinds in samples for name in kinds} - ignore)
    atoms = []
    for name in names:
        values = list(dict.fromkeys((type(kinds.get(name)), kinds.get(name)) for kinds in samples))
        for word in ("none", "tensor", "number", "sequence", "given"):
            atoms.append(Atom(name, (word,), 1 if word in ("none", "given") else 0))
        flags: list[Any] = [value for _, value in values if isinstance(value, bool)]
        words = [value for _, value in values if isinstance(value, str)]
        numbers = sorted({value for kind, value in values if kind in (int, float) and value in TELLING})
        atoms += [Atom(name, (flag,), 2) for flag in flags]
        atoms += [Atom(name, (_word(word),), 2) for word in words]
        if len(words) > 2:
            atoms += [Atom(name, tuple(_word(word) for word in sorted(words) if word != left), 3) for left in words]
            integers = sorted(word for word in words if word.startswith("torch.") and ("int" in word or "bool" in word))
            atoms += [Atom(name, tuple(integers), 2)] if integers else []
        atoms += [Atom(name, (_number(number),), 4) for number in numbers]
        atoms += [Atom(name, tuple(map(_number, numbers)), 4)] if len(numbers) > 1 else []
    return atoms


def _word(word: str) -> str:
    return f"={word}" if word in WORDS or word.startswith("=") else word


def _number(number: Any) -> Any:
    if number in (float("inf"), float("-inf")):
        return "inf" if number > 0 else "-inf"
    return int(number) if number == int(number) else number


def _disagreement(samples: Sequence[Seen]) -> int:
    """How many (fact, sample) pairs go against the majority of the samples that can tell; 0 where all agree."""
    total = 0
    for votes in _votes(samples).values():
        counts = sorted(votes.values())
        total += sum(counts[:-1])
    return total


def _votes(samples: Sequence[Seen]) -> dict[object, dict[object, int]]:
    votes: dict[object, dict[object, int]] = {}

    def vote(fact: object, value: object) -> None:
        found = votes.setdefault(fact, {})
        found[value] = found.get(value, 0) + 1

    pairs: set[tuple[str, str]] = set().union(*(sample.saves for sample in samples))
    for sample in samples:
        for key, edge in pairs:
            if key in sample.keys and edge in sample.edges:
                vote(("saves", key, edge), (key, edge) in sample.saves)
        for edge in sample.edges:
            vote(("holds", edge), edge in sample.holds)
            for index, output in enumerate(sample.outputs):
                vote(("grad", index, edge), edge in output.grad)
        for index, output in enumerate(sample.outputs):
            vote(("alias", index), output.alias)
        vote("inplace", sample.inplace)
        vote("returns", repr(_returned(sample)))
        if sample.edges or not sample.differentiable:
            vote("derivative", sample.differentiable)
    return votes


def _returned(sample: Seen) -> object:
    """The structure that is returned; a list of many outputs of one kind counts as "any number"."""
    structure = sample.returns
    if isinstance(structure, list) and not sample.fields and structure == list(range(len(structure))):
        facts = {(output.alias, output.grad) for output in sample.outputs}
        if len(facts) == 1:
            return "*"
    return structure


def _leaf(samples: Sequence[Seen]) -> dict[str, Any]:
    """An entry for samples that no condition tells apart."""
    structures = {repr(_returned(sample)): _returned(sample) for sample in samples}
    fixed = {len(sample.outputs) for sample in samples}
    many = "*" in structures.values() and (len(fixed) > 1 or len(structures) == 1 and not _is_pair(samples))
    count = 1 if many else min(fixed)
    keys = {(key, edge) for sample in samples for key in sample.keys for edge in sample.edges}
    sure, maybe = _relation(samples, keys)
    holds, maybe_holds = _holds(samples)
    leaf: dict[str, Any] = {"outputs": [_output(samples, index) for index in range(count)]}
    if many:
        leaf["returns"] = "*"
    elif len(fixed) > 1 or len(structures) > 1:
        leaf["returns"] = "?"
    else:
        structure = samples[0].returns
        if structure != (0 if count == 1 else list(range(count))):
            leaf["returns"] = structure
    leaf |= {"saves": sure, "holds": holds}
    if maybe or maybe_holds:
        leaf["maybe"] = ({"saves": maybe} if maybe else {}) | ({"holds": maybe_holds} if maybe_holds else {})
    written = {sample.inplace for sample in samples}
    if len(written) == 1 and None not in written:
        leaf["inplace"] = written.pop()
    if samples[0].fields:
        leaf["fields"] = list(samples[0].fields)
    if not any(sample.differentiable for sample in samples):
        leaf["derivative"] = False
    pairwise = sorted(set().union(*(sample.pairwise for sample in samples)))
    if pairwise:
        leaf["pairwise"] = pairwise
    return leaf


def _is_pair(samples: Sequence[Seen]) -> bool:
    """Always the same number of tensors: a fixed tuple. One sample alone cannot tell, then it is taken for fixed."""
    return len({len(sample.outputs) for sample in samples}) == 1 and all(
        output.alias == "fresh" for sample in samples for output in sample.outputs
    )


def _relation(samples: Sequence[Seen], pairs: Iterable[tuple[str, str]]) -> tuple[dict[str, Any], dict[str, Any]]:
    sure: dict[str, list[str]] = {}
    maybe: dict[str, list[str]] = {}
    for key, edge in sorted(pairs):
        able = [sample for sample in samples if key in sample.keys and edge in sample.edges]
        values = {(key, edge) in sample.saves for sample in able}
        if any((key, edge) in sample.unsure for sample in able) or len(values) > 1:
            maybe.setdefault(key, []).append(edge)
        elif values == {True}:
            sure.setdefault(key, []).append(edge)
    return sure, maybe


def _holds(samples: Sequence[Seen]) -> tuple[list[str], list[str]]:
    sure, maybe = [], []
    for edge in sorted(set().union(*(sample.edges for sample in samples))):
        able = [sample for sample in samples if edge in sample.edges]
        values = {edge in sample.holds for sample in able}
        if any(edge in sample.unsure_holds for sample in able) or len(values) > 1:
            maybe.append(edge)
        elif values == {True}:
            sure.append(edge)
    return sure, maybe


def _output(samples: Sequence[Seen], index: int) -> dict[str, Any]:
    aliases = list(dict.fromkeys(sorted(sample.outputs[index].alias for sample in samples)))
    able = {edge for sample in samples for edge in sample.edges | sample.outputs[index].grad}
    sure, maybe = [], []
    for edge in sorted(able):
        values = {edge in sample.outputs[index].grad for sample in samples if edge in sample.edges}
        values |= {True for sample in samples if edge in sample.outputs[index].grad}
        if values == {True}:
            sure.append(edge)
        elif True in values:
            maybe.append(edge)
    output: dict[str, Any] = {"alias": aliases[0] if len(aliases) == 1 else aliases, "grad": sure}
    if maybe:
        output["maybe_grad"] = maybe
    shape = _word_for(samples, index, lambda seen: seen.outputs[index].shapes, _SHAPES)
    dtype = _word_for(samples, index, lambda seen: seen.outputs[index].dtypes, _DTYPES)
    if shape:
        output["shape"] = shape
    if dtype:
        output["dtype"] = dtype
    return output


_SHAPES = ("scalar", "input", "broadcast", "matmul", "reduce")
_DTYPES = ("bool", "int64", "input", "promote")


def _word_for(
    samples: Sequence[Seen], index: int, words: Callable[[Seen], frozenset[str]], order: Sequence[str]
) -> str | None:
    common = frozenset.intersection(*(words(sample) for sample in samples))
    if not any(sample.kinds.get("dim") is None for sample in samples):
        common -= {"reduce"}
    return next((word for word in order if word in common), None)
