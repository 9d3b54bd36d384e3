"""From what single calls showed to an entry of the table: a base, and cases for what hangs on arguments.

A small decision tree is grown over what arguments are: kinds, flags, words, a few telling numbers. Where no condition
tells samples apart that disagree, the disagreement goes to `maybe`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from torch import Tensor

from .behaviour import Seen

When: TypeAlias = dict[str, list[Any]]

WORDS = frozenset({"number", "tensor", "sequence", "none", "given", "integral", "string", "inf", "-inf"})

TELLING = frozenset({0, 1, 2, float("inf"), float("-inf")})
"""The numbers that a condition may ask for: others would only repeat the samples."""

NUMBERS = frozenset({"p", "dropout_p", "dropout", "n", "output_size", "beta", "exponent", "ord", "label_smoothing"})
"""The arguments whose value as a number may matter."""

NEVER = frozenset({"dilation", "win_length", "correction", "generator", "out", "num_layers", "equation"})
"""Arguments on which nothing hangs, though samples may look so."""

ONLY_GIVEN = frozenset({"memory_format", "device", "layout"})
"""Arguments of which no more is asked than whether they are given."""

DERIVED: Mapping[str, frozenset[str]] = {
    **{
        name: frozenset({"input", "self", "other"})
        for name in ("torch.matmul", "torch.Tensor.matmul", "operator.matmul")
    },
    "torch.nn.functional.scaled_dot_product_attention": frozenset({"query", "key"}),
    "torch.nn.functional.linear": frozenset({"input"}),
    **{f"torch.nn.{name}": frozenset({"input"}) for name in ("Linear", "RNN", "GRU", "LSTM")},
    "torch.unique_consecutive": frozenset({"input"}),
    "torch.einsum": frozenset({"operands"}),
    **{f"torch.atleast_{n}d": frozenset({"tensors"}) for n in "123"},
}
"""For operations that hang on it: the arguments whose rank, contiguity or length may be asked for."""


LEAST_GAIN = 0.8
"""A condition must bring the disagreement of the samples down to this part of it; less is chance.

Not so for the operations in `DERIVED`, whose samples were chosen for it."""

_NOTHING: Mapping[str, object] = {}


@dataclass(frozen=True)
class _Ground:
    """What conditions may be made of: which arguments' derived facts, and which values are the usual ones."""

    derived: frozenset[str] = frozenset()
    usual: Mapping[str, object] = field(default_factory=dict)


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
    """Whether a described argument fits an alternative of a condition."""
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
        case "string":
            return isinstance(value, str)
        case "inf" | "-inf":
            return value == float(alternative)
        case "integral":
            return isinstance(value, str) and re.match(r"torch\.(u?int\d+|bool)$", value) is not None
        case bool():
            return value is alternative
        case str():
            return value == alternative.removeprefix("=")
        case _:
            return type(value) in (int, float) and value == alternative


def entry_of(seen: Sequence[Seen], name: str = "", usual: Mapping[str, object] = _NOTHING) -> dict[str, Any]:
    """The table's entry (without the signature) for all that was seen of one operation; `usual` are the defaults."""
    leaves = list(_grow(list(seen), [], _Ground(DERIVED.get(name, frozenset()), usual)))
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


def _grow(samples: list[Seen], path: list[Atom], ground: _Ground) -> Iterable[tuple[When, list[Seen]]]:
    """The leaves of the tree, each before those that its conditions do not exclude."""
    now = _disagreement(samples)
    best: tuple[tuple[float, ...], Atom, list[Seen], list[Seen]] | None = None
    if now:
        for atom in _atoms([sample.kinds for sample in samples], ground):
            if any(atom.name == before.name and not _narrower(atom, before) for before in path):
                continue
            inside = [sample for sample in samples if atom.holds(sample.kinds)]
            outside = [sample for sample in samples if not atom.holds(sample.kinds)]
            if not inside or not outside:
                continue
            left = round(_disagreement(inside) + _disagreement(outside), 6)
            if left < now * (0.99 if ground.derived else LEAST_GAIN):
                usual = atom.name in ground.usual and atom.holds(ground.usual)
                most = len(inside) > len(outside)
                score = (left, usual, most, atom.rank, len(atom.alternatives), -len(inside))
                if best is None or score < best[0]:
                    best = (score, atom, inside, outside)
    if best is None:
        yield _when(path), samples
        return
    _, atom, inside, outside = best
    yield from _grow(inside, [*path, atom], ground)
    yield from _grow(outside, path, ground)


def _narrower(atom: Atom, before: Atom) -> bool:
    return atom.rank > before.rank or set(atom.alternatives) < set(before.alternatives)


def _when(path: Sequence[Atom]) -> When:
    """A path's conditions; of two on one argument the later is the narrower."""
    return {atom.name: list(atom.alternatives) for atom in path}


def tell_apart(facts: Sequence[tuple[Mapping[str, object], bool]]) -> When:
    """The condition under which the fact is true: one argument, or two where one does not tell."""
    described = [({name: describe(value) for name, value in kinds.items()}, truth) for kinds, truth in facts]
    if all(truth for _, truth in described):
        return {}
    atoms = sorted(_atoms([kinds for kinds, _ in described], _Ground()), key=lambda atom: (atom.rank, atom.name))
    for pair in [(atom,) for atom in atoms] + list(itertools.combinations(atoms, 2)):
        if all(all(atom.holds(kinds) for atom in pair) == truth for kinds, truth in described):
            return _when(pair)
    raise AssertionError(f"no condition tells {facts!r}")


def _atoms(samples: Sequence[Mapping[str, object]], ground: _Ground) -> list[Atom]:
    atoms: list[Atom] = []
    for name in sorted({name for kinds in samples for name in kinds} - NEVER, key=_as_function):
        values = list(dict.fromkeys((type(kinds.get(name)), kinds.get(name)) for kinds in samples))
        argument, _, fact = name.partition(".")
        if fact:
            atoms += _derived_atoms(name, fact) if argument in ground.derived else []
            continue
        atoms += [Atom(name, (word,), 1) for word in ("none", "given")]
        if name in ONLY_GIVEN and not any(isinstance(value, str) and "int" in value for _, value in values):
            continue
        atoms += [Atom(name, (word,), 0) for word in ("tensor", "number", "sequence", "string")]
        atoms += [Atom(name, (value,), 2) for _, value in values if isinstance(value, bool)]
        words = sorted(value for _, value in values if isinstance(value, str))
        dtypes = [word for word in words if word.startswith("torch.")]
        if dtypes:
            atoms.append(Atom(name, ("integral",), 2))
        else:
            atoms += [Atom(name, (_word(word),), 2) for word in words]
            atoms += [Atom(name, tuple(_word(word) for word in words if word != left), 3) for left in words]
        if name in NUMBERS:
            numbers = sorted({value for kind, value in values if kind in (int, float) and value in TELLING})
            atoms += [Atom(name, (_number(number),), 4) for number in numbers]
            atoms += [Atom(name, tuple(map(_number, numbers)), 4)] if len(numbers) > 1 else []
    return atoms


def _as_function(name: str) -> str:
    """Sorts a method's `self` where a function has `input`, so that both come out alike."""
    return re.sub(r"^self\b", "input", name)


def _derived_atoms(name: str, fact: str) -> list[Atom]:
    match fact:
        case "ndim":
            return [Atom(name, ranks, 5) for ranks in ((1, 2), (1,), (2,), (3,), (4,))]
        case "len":
            return [Atom(name, (1,), 5)]
        case _:
            return [Atom(name, (False,), 6)]


def _word(word: str) -> str:
    return f"={word}" if word in WORDS or word.startswith("=") else word


def _number(number: Any) -> Any:
    if number in (float("inf"), float("-inf")):
        return "inf" if number > 0 else "-inf"
    return int(number) if number == int(number) else number


def _disagreement(samples: Sequence[Seen]) -> float:
    """How far the samples are from agreeing on every fact (Gini's measure); 0 where all agree."""
    total = 0.0
    for votes in _votes(samples).values():
        count = sum(votes.values())
        total += count - sum(vote * vote for vote in votes.values()) / count
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
    if _is_list(sample):
        facts = {(output.alias, output.grad) for output in sample.outputs}
        if len(facts) == 1:
            return "*"
    return structure


def _is_list(sample: Seen) -> bool:
    return sample.returns == list(range(len(sample.outputs))) and not sample.fields


def _leaf(samples: Sequence[Seen]) -> dict[str, Any]:
    """An entry for samples that no condition tells apart."""
    structures = {repr(_returned(sample)): _returned(sample) for sample in samples}
    fixed = {len(sample.outputs) for sample in samples}
    flat = all(_is_list(sample) for sample in samples) and len(fixed) > 1
    many = flat or ("*" in structures.values() and len(structures) == 1 and not _is_pair(samples))
    count = 1 if many else min(fixed)
    keys = {(key, edge) for sample in samples for key in sample.keys for edge in sample.edges}
    sure, maybe = _relation(samples, keys)
    holds, maybe_holds = _holds(samples)
    alike = [replace(sample, outputs=(output,)) for sample in samples for output in sample.outputs] if many else samples
    leaf: dict[str, Any] = {"outputs": [_output(alike, index) for index in range(count)]}
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
    aliases = sorted({sample.outputs[index].alias for sample in samples}, key=_likelihood)
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


def _likelihood(alias: str) -> tuple[bool, str]:
    """Puts "fresh" last: what may be its argument usually is."""
    return alias == "fresh", alias


_SHAPES = ("scalar", "input", "broadcast", "matmul", "reduce")
_DTYPES = ("bool", "int64", "input", "promote")


def _word_for(
    samples: Sequence[Seen], index: int, words: Callable[[Seen], frozenset[str]], order: Sequence[str]
) -> str | None:
    common = frozenset.intersection(*(words(sample) for sample in samples))
    if not any(sample.kinds.get("dim") is None for sample in samples):
        common -= {"reduce"}
    return next((word for word in order if word in common), None)
