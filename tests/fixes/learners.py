"""Who learns after a fix: the parameters that get a gradient, and those that move, compared with the right program.

    PYTHONPATH=.:server python -m tests.fixes.learners [--only PART]

tries each safe or preferred fix of the faulty programs that have a corrected twin, with the preferred fixes of what it
leaves; the exit status is 1 where one of them does not run, or teaches other parameters than the twin. `OTHERWISE` has
the programs that are right in more than one form.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook

from gradpath.diagnostic import Safety
from tests.documents.grammar import Source
from tests.documents.pages import Block, read_document
from tests.documents.pytorch import outcome_of
from tests.fixes.trial import edited, reported

ROOT = Path(__file__).resolve().parent.parent.parent
OTHERWISE = {
    "folds_with_one_optimizer": "the twin resets one model, after the fix each fold has a model and an optimizer",
    "dataparallel_module_access_cache": "the twin computes without a graph what its optimizer has, too",
    "two_heads_two_backwards": "the twin has a trunk for each head",
}
ROUNDS = 6
Parameter = tuple[int, int]
"""The number of an optimizer, in the order in which they are made, and that of a parameter in it."""


@dataclass(slots=True)
class Learners:
    """The parameters that a step found a gradient for, and how many each optimizer had."""

    optimizers: list[Optimizer] = field(default_factory=list)
    taught: set[Parameter] = field(default_factory=set)
    first: dict[Parameter, tuple[torch.Tensor, torch.Tensor]] = field(default_factory=dict)

    def look(self, optimizer: Optimizer) -> Iterator[tuple[Parameter, torch.Tensor]]:
        """The parameters of an optimizer; notes their first values."""
        if not any(each is optimizer for each in self.optimizers):
            self.optimizers.append(optimizer)
        number = next(index for index, each in enumerate(self.optimizers) if each is optimizer)
        for index, tensor in enumerate(each for group in optimizer.param_groups for each in group["params"]):
            self.first.setdefault((number, index), (tensor, tensor.detach().clone()))
            yield (number, index), tensor

    def step(self, optimizer: Optimizer, _arguments: object, _keywords: object) -> None:
        """Note for which parameters a step finds a gradient that is not zero."""
        for name, tensor in self.look(optimizer):
            if tensor.grad is not None and bool(tensor.grad.to_dense().any()):
                self.taught.add(name)

    @property
    def moved(self) -> set[Parameter]:
        """The parameters that have another value than at first."""
        return {name for name, (tensor, value) in self.first.items() if not torch.equal(tensor.detach(), value)}


@contextlib.contextmanager
def learning() -> Iterator[Learners]:
    """Note who learns in the program that runs inside."""
    found, made = Learners(), Optimizer.__init__

    def making(optimizer: Optimizer, *arguments: Any, **keywords: Any) -> None:
        made(optimizer, *arguments, **keywords)
        list(found.look(optimizer))

    handle = register_optimizer_step_pre_hook(found.step)
    try:
        with mock.patch.object(Optimizer, "__init__", making):
            yield found
    finally:
        handle.remove()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a program ends (empty where it runs), who is taught in it and who moves, and the shapes of these."""

    end: str
    taught: set[Parameter]
    moved: set[Parameter]
    shapes: tuple[list[list[int]], list[list[int]]]

    def teaches_as(self, other: Outcome) -> bool:
        """Whether the same parameters learn, wherever the optimizers have them."""
        return (self.taught, self.moved) == (other.taught, other.moved) or self.shapes == other.shapes


def learners_of(texts: Mapping[str, str]) -> Outcome:
    """Run a program and see who learns."""
    with learning() as found:
        outcome = outcome_of([Source(name, text, Path(name), ()) for name, text in texts.items()], (), None)
        moved = found.moved
    sizes = [sorted(list(found.first[each][0].shape) for each in group) for group in (found.taught, moved)]
    end = "" if outcome.raised is None else outcome.raised.message
    return Outcome(end, found.taught, moved, (sizes[0], sizes[1]))


def complaints(faulty: Mapping[str, str], right: Mapping[str, str]) -> Iterator[str]:
    """What the safe and preferred fixes of a program do that its twin does not."""
    fixes = [fix for each in reported(faulty) for fix in each.fixes if fix.preferred or fix.safety is Safety.SAFE]
    raises = bool(fixes) and learners_of(faulty).end != ""
    wanted = learners_of(right)
    for fix in fixes:
        after = edited(faulty, fix.edits)
        found = learners_of(after)
        if found.end or not found.teaches_as(wanted):
            found = learners_of(mended_further(after))
        if found.end and raises:
            yield f"{fix.title}: raises {found.end[:80]}"
        elif not found.end and not found.teaches_as(wanted):
            taught, moved = sorted(found.taught ^ wanted.taught)[:4], sorted(found.moved ^ wanted.moved)[:4]
            yield f"{fix.title}: taught {taught}, moved {moved}"


def mended_further(texts: Mapping[str, str]) -> Mapping[str, str]:
    """A program after the preferred fixes of what is still reported, one after the other."""
    for _ in range(ROUNDS):
        fixes = [fix for each in reported(texts) for fix in each.fixes if fix.preferred and fix.edits]
        if not fixes:
            break
        texts = edited(texts, fixes[0].edits)
    return texts


def programs(part: str = "") -> Iterator[tuple[str, Mapping[str, str], Mapping[str, str]]]:
    """The faulty programs of one file with a part in their names, each with its twin."""
    for path in sorted(ROOT.glob("tests/cases/corpus/*_faulty*")):
        if part in path.name:
            yield path.stem, files_of(path), files_of(twin_of(path))


def files_of(path: Path) -> Mapping[str, str]:
    """The texts of a program, which is a file or a folder, by their names; the one that is run comes last."""
    [block] = read_document(path, ROOT)
    assert isinstance(block, Block)
    return {source.name: source.text for source in block.sources}


def twin_of(path: Path) -> Path:
    """The right program beside a faulty one."""
    return path.with_name(path.name.replace("_faulty", "_right"))


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="tests.fixes.learners", description="Compare who learns after fixes.")
    parser.add_argument("--only", default="", metavar="PART", help="only programs with this in their names")
    count = 0
    for name, faulty, right in programs(parser.parse_args().only):
        known = OTHERWISE.get(name.removesuffix("_faulty"))
        for complaint in complaints(faulty, right):
            count += known is None
            print(f"{name}: {complaint}" if known is None else f"({name}: {complaint}; {known})")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
