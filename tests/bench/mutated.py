"""The command: put faults into real training scripts, and count how many of them are found.

    PYTHONPATH=tests:server python -m bench.mutated FOLDER... [--most N] [--jobs N] [--list]

A mutation changes one statement of a file so that reading alone says that it is a fault now: a `zero_grad()` taken out,
a `detach()` taken from a fake or from a state that a loop carries, a total made of live losses, a `step()` moved before
its `backward()`. Each is checked in its repository and once more alone, in an empty folder. It is found where the file
has more reports of a rule that speaks of such a fault than it had before. Nothing is asserted, and no file is run.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from gradpath.analysis.check import check
from gradpath.cli.memory import calm_collector, sweep
from gradpath.source.document import Document, UnreadableSource
from gradpath.source.notebook import read_source

from .mutations import RULES, Mutation, mutations

BATCH = 5
"""Files that one task checks."""

EACH = 2
"""Mutations of one kind that are made in one file."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.mutated", description="Count the faults found in mutated scripts.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--most", type=int, help="so many mutations of each kind, chosen by chance, always the same")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--list", action="store_true", help="name the mutations that are not found")
    options = parser.parse_args()
    made = list(_chosen(options.folders, options.most))
    counts: Counter[tuple[str, str]] = Counter()
    batches = [made[at : at + BATCH] for at in range(0, len(made), BATCH)]
    with ProcessPoolExecutor(options.jobs, initializer=calm_collector) as pool:
        for mutation, found in (each for batch in pool.map(judged, batches) for each in batch):
            counts[mutation.kind, "made"] += 1
            for where in found:
                counts[mutation.kind, where] += 1
            missed = [where for where in ("in its repository", "alone") if where not in found]
            if missed and options.list:
                print(f"{mutation.path}:{mutation.line} {mutation.kind}: not found {', '.join(missed)}", flush=True)
    for kind in RULES:
        told = (f"{counts[kind, where]} {where}" for where in ("in its repository", "alone"))
        print(f"{kind}: {counts[kind, 'made']} made; found {', '.join(told)}")


def _chosen(folders: Sequence[Path], most: int | None) -> Iterator[Mutation]:
    """The mutations of the scripts in some folders; of many a choice that is the same each time, in order of file."""
    kinds: dict[str, list[Mutation]] = {kind: [] for kind in RULES}
    for folder in folders:
        for path in sorted(folder.rglob("*.py") if folder.is_dir() else [folder]):
            try:
                text = read_source(path, str(path)).text if path.is_file() else ""
            except UnreadableSource:
                continue
            of_file: Counter[str] = Counter()
            for each in mutations(str(path), text):
                of_file[each.kind] += 1
                if of_file[each.kind] <= EACH:
                    kinds[each.kind].append(each)
    chance = random.Random(0)
    for found in kinds.values():
        yield from found if most is None or len(found) <= most else chance.sample(found, most)


def judged(made: Sequence[Mutation]) -> list[tuple[Mutation, list[str]]]:
    """Where each of some mutations is found."""
    return [(each, list(_found(each))) for each in made]


def _found(mutation: Mutation) -> Iterator[str]:
    rules = RULES[mutation.kind]
    if _reports(mutation.path, mutation.text, rules) > _reports(mutation.path, mutation.before, rules):
        yield "in its repository"
    with tempfile.TemporaryDirectory() as folder:
        alone = str(Path(folder) / Path(mutation.path).name)
        if _reports(alone, mutation.text, rules) > _reports(alone, mutation.before, rules):
            yield "alone"


def _reports(path: str, text: str, rules: frozenset[str]) -> int:
    """How many reports of some rules a text has."""
    analysis = check(Document(path, text))
    sweep()
    return sum(each.rule in rules for each in analysis.diagnostics)


if __name__ == "__main__":
    sys.exit(main())
