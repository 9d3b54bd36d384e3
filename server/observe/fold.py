"""From what single calls showed to an entry of the table: a base, and cases for what depends on arguments.

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
from .second import GRADIENT
from .words import DTYPES

When: TypeAlias = dict[str, list[Any]]

Lineage: TypeAlias = list[list[Seen]]
"""The samples of a place in the tree, then those of the places above: what the first do not show, the next may."""

WORDS = frozenset({"number", "tensor", "sequence", "none", "given", "integral", "string", "inf", "-inf"})

MANY = "*"
"""What is returned is a tuple or list of any length."""

TELLING = frozenset({0, 1, 2, float("inf"), float("-inf")})
"""The numbers that a condition may ask for: others would only repeat the samples."""

NUMBERS = frozenset(
    {"p", "dropout_p", "dropout", "n", "output_size", "beta", "exponent", "ord", "label_smoothing", "proj_size"}
)
"""The arguments whose value as a number may matter."""

NEVER = frozenset({"dilation", "win_length", "correction", "generator", "out", "num_layers", "equation"})
"""Arguments on which nothing hangs, though samples may look so."""

ONLY_GIVEN = frozenset({"memory_format", "device", "layout"})
"""Arguments of which no more is asked than whether they are given."""

_INSTANCE_NORMS = ("InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d")
_MATMUL = ("torch.matmul", "torch.Tensor.matmul", "torch.linalg.matmul", "operator.matmul")

DERIVED: Mapping[str, frozenset[str]] = {
    **{name: frozenset({"input", "self", "other"}) for name in _MATMUL},
    "torch.nn.functional.scaled_dot_product_attention": frozenset({"query", "key"}),
    "torch.instance_norm": frozenset({"input"}),
    "torch.nn.functional.instance_norm": frozenset({"input"}),
    "torch.nn.functional.linear": frozenset({"input"}),
    **{f"torch.nn.{name}": frozenset({"input"}) for name in ("Linear", "RNN", "GRU", "LSTM", *_INSTANCE_NORMS)},
    "torch.nn.MultiheadAttention": frozenset({"query"}),
    **{f"torch{space}.{name}": frozenset() for space, name in ((".nn", "Bilinear"), ("", "bilinear"))},
    "torch.nn.functional.bilinear": frozenset(),
    "torch.einsum": frozenset({"operands"}),
    "torch.linalg.norm": frozenset({"input"}),
    **{f"torch.{space}matrix_power": frozenset({"n"}) for space in ("", "Tensor.", "linalg.")},
    **{f"torch.atleast_{n}d": frozenset({"tensors"}) for n in "123"},
}
"""For operations that depend on it: the arguments whose rank, contiguity or length may be asked for.

For these alone a condition may be made only to tell fresh tensors from views of tensors that nobody else has."""


SECOND = frozenset(
    {f"{space}.{short}" for space in ("torch", "torch.Tensor") for short in ("div", "divide", "pow", "norm")}
    | {"torch.Tensor.pow_", "torch.linalg.norm", "torch.linalg.vector_norm"}
    | {"torch.nn.functional.batch_norm", "torch.nn.functional.instance_norm"}
    | {f"torch.nn.{name}{n}d" for name in ("BatchNorm", "LazyBatchNorm", "InstanceNorm") for n in "123"}
)
"""The operations for which a condition may be made only to tell which gradients depend on what."""


LEAST_GAIN = 0.8
"""A condition must bring the disagreement of the samples down to this part of it; less is chance, unless
the condition isolates what is odd from a majority that agrees.

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


def entry_of(
    seen: Sequence[Seen], name: str = "", usual: Mapping[str, object] = _NOTHING, many: bool = False
) -> dict[str, Any]:
    """The table's entry (without the signature) for all that was seen of one operation.

    `usual` are the defaults of the arguments; `many` says that a tuple or list may have any number of tensors.
    """
    samples = [
        replace(
            sample,
            returns=MANY if many and _is_list(sample) else sample.returns,
            tells_views=name in DERIVED,
            tells_second=name in SECOND,
        )
        for sample in seen
    ]
    ground = _Ground(DERIVED.get(name, frozenset()), usual)
    leaves = list(_grow([samples], [], frozenset(), ground))
    tested = {argument for when, _, _ in leaves for argument in when}
    described = [(when, _leaf(lineage, never | _absent(tested, lineage[0]))) for when, lineage, never in leaves]
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
    "second": {},
    "second_saves": {},
    "holds": [],
    "maybe": {},
    "inplace": None,
    "derivative": True,
    "pairwise": [],
    "fields": [],
}


def _grow(
    lineage: Lineage, path: list[Atom], never: frozenset[str], ground: _Ground
) -> Iterable[tuple[When, Lineage, frozenset[str]]]:
    """The leaves of the tree, each before those that its conditions do not exclude.

    `never` are the arguments that by the conditions so far are no tensors.
    """
    samples = lineage[0]
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
            left_outside = _disagreement(outside)
            left = round(_disagreement(inside) + left_outside, 6)
            isolates = left_outside == 0 and len(outside) >= len(inside)
            if left < now * (0.99 if ground.derived or isolates else LEAST_GAIN):
                usual = atom.name in ground.usual and atom.holds(ground.usual)
                most = len(inside) > len(outside)
                score = (left, usual, most, atom.rank, len(atom.alternatives), -len(inside))
                if best is None or score < best[0]:
                    best = (score, atom, inside, outside)
    if best is None:
        yield _when(path), lineage, never
        return
    _, atom, inside, outside = best
    no_tensor = not set(atom.alternatives) & {"tensor", "given", "sequence"}
    yield from _grow([inside, *lineage], [*path, atom], never | {atom.name} if no_tensor else never, ground)
    is_tensor = bool(set(atom.alternatives) & {"tensor", "given"})
    yield from _grow([outside, *lineage], path, never | {atom.name} if is_tensor else never, ground)


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
        for edge, other in itertools.product(sample.edges, sample.edges) if sample.tells_second else ():
            vote(("second", edge, other), (edge, other) in sample.second)
        for edge in sample.edges:
            vote(("holds", edge), edge in sample.holds)
            for index, output in enumerate(sample.outputs):
                vote(("grad", _place(sample, index), edge), edge in output.grad)
        for index, output in enumerate(sample.outputs):
            own = output.alias == "ownview" and not sample.tells_views
            vote(("alias", _place(sample, index)), "fresh" if own else output.alias)
        vote("inplace", sample.inplace)
        vote("returns", repr(sample.returns))
        if sample.edges or not sample.differentiable:
            vote("derivative", sample.differentiable)
    return votes


def _place(sample: Seen, index: int) -> int:
    return 0 if sample.returns == MANY else index


def _is_list(sample: Seen) -> bool:
    return sample.returns == list(range(len(sample.outputs))) and not sample.fields


def _leaf(lineage: Lineage, never: frozenset[str]) -> dict[str, Any]:
    """An entry for samples that no condition tells apart."""
    samples = lineage[0]
    structures = {repr(sample.returns) for sample in samples}
    many = all(sample.returns == MANY for sample in samples)
    count = 1 if many else min(len(sample.outputs) for sample in samples)
    sure, maybe = _relation(lineage, never)
    holds, maybe_holds = _holds(lineage, never)
    alike = [[_apart(sample) if many else [sample] for sample in place] for place in lineage]
    alone = [[one for group in place for one in group] for place in alike]
    leaf: dict[str, Any] = {"outputs": [_output(alone, index, never) for index in range(count)]}
    structure = samples[0].returns if len(structures) == 1 else "?"
    if structure != (0 if count == 1 else list(range(count))):
        leaf["returns"] = structure
    leaf |= {"saves": sure, "holds": holds}
    second, maybe_second = _second(lineage, never)
    if second:
        leaf["second"] = second
    if second_saves := _second_saves(lineage, never):
        leaf["second_saves"] = second_saves
    unsure = {"saves": maybe, "holds": maybe_holds, "second": maybe_second}
    if any(unsure.values()):
        leaf["maybe"] = {key: value for key, value in unsure.items() if value}
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


def _apart(sample: Seen) -> list[Seen]:
    """The outputs of a list of any length, each as a sample of its own."""
    return [replace(sample, outputs=(output,)) for output in sample.outputs]


def _absent(names: Iterable[str], samples: Sequence[Seen]) -> frozenset[str]:
    """Those of the arguments that none of the samples has."""
    return frozenset(name for name in names if all(sample.kinds.get(name) is None for sample in samples))


def _first_able(lineage: Lineage, able: Callable[[Seen], bool]) -> list[Seen]:
    """The samples that can tell something, of the nearest place that has any."""
    found = ([sample for sample in place if able(sample)] for place in lineage)
    return next((samples for samples in found if samples), [])


def _edges(lineage: Lineage, never: frozenset[str]) -> list[str]:
    return sorted(frozenset().union(*(sample.edges for sample in lineage[-1])) - never)


def _relation(lineage: Lineage, never: frozenset[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    sure: dict[str, list[str]] = {}
    maybe: dict[str, list[str]] = {}
    keys = {key for sample in lineage[0] for key in sample.keys if key.startswith("out")}
    keys |= {key for sample in lineage[-1] for key in sample.keys if not key.startswith("out")}
    for key, edge in itertools.product(sorted(keys - never), _edges(lineage, never)):
        able = _first_able(lineage, lambda sample: key in sample.keys and edge in sample.edges)  # noqa: B023
        values = {(key, edge) in sample.saves for sample in able}
        if any((key, edge) in sample.unsure for sample in able) or len(values) > 1:
            maybe.setdefault(key, []).append(edge)
        elif values == {True}:
            sure.setdefault(key, []).append(edge)
    return sure, maybe


def _second(lineage: Lineage, never: frozenset[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    sure: dict[str, list[str]] = {}
    maybe: dict[str, list[str]] = {}
    edges = _edges(lineage, never)
    for edge, other in itertools.product(edges, edges):
        able = _first_able(lineage, lambda sample: {edge, other} <= sample.edges)  # noqa: B023
        values = {(edge, other) in sample.second for sample in able}
        if any((edge, other) in sample.unsure_second for sample in able) or len(values) > 1:
            maybe.setdefault(edge, []).append(other)
        elif values == {True}:
            sure.setdefault(edge, []).append(other)
    return sure, maybe


def _second_saves(lineage: Lineage, never: frozenset[str]) -> dict[str, list[str]]:
    """What the graphs of gradients surely save."""
    sure: dict[str, list[str]] = {}
    for pair in sorted(set().union(*(sample.second_saves for sample in lineage[-1]))):
        names = {*pair[0].split(":"), pair[1]} - {GRADIENT}
        able = _first_able(lineage, lambda sample: names <= sample.edges | sample.keys)  # noqa: B023
        if names.isdisjoint(never) and all(pair in sample.second_saves for sample in able):
            sure.setdefault(pair[0], []).append(pair[1])
    return sure


def _holds(lineage: Lineage, never: frozenset[str]) -> tuple[list[str], list[str]]:
    sure, maybe = [], []
    for edge in _edges(lineage, never):
        able = _first_able(lineage, lambda sample: edge in sample.edges)  # noqa: B023
        values = {edge in sample.holds for sample in able}
        if any(edge in sample.unsure_holds for sample in able) or len(values) > 1:
            maybe.append(edge)
        elif values == {True}:
            sure.append(edge)
    return sure, maybe


def _output(lineage: Lineage, index: int, never: frozenset[str]) -> dict[str, Any]:
    samples = lineage[0]
    aliases = list(dict.fromkeys(sample.outputs[index].alias for sample in samples))
    places = [[sample for sample in place if len(sample.outputs) > index] for place in lineage]
    able = sorted({edge for sample in places[-1] for edge in sample.edges | sample.outputs[index].grad} - never)
    sure, maybe = [], []
    for edge in able:
        told = _first_able(places, lambda sample: edge in sample.edges | sample.outputs[index].grad)  # noqa: B023
        values = {edge in sample.outputs[index].grad for sample in told}
        if values == {True}:
            sure.append(edge)
        elif True in values:
            maybe.append(edge)
    output: dict[str, Any] = {"alias": aliases[0] if len(aliases) == 1 else aliases, "grad": sure}
    if maybe:
        output["maybe_grad"] = maybe
    common = frozenset.intersection(*(sample.outputs[index].dtypes for sample in samples))
    dtype = next((word for word in DTYPES if word in common), None)
    if dtype:
        output["dtype"] = dtype
    return output
