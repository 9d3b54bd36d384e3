"""A run of programs: made, run, and compared one after the other."""

from __future__ import annotations

from ..draft import Inapplicable
from .compare import Outcome, compare
from .programs import Program, attempts, write
from .truth import Truth, run

Task = tuple[int, int, int]
"""Seed, first index, and count."""


def made(seed: int, index: int) -> tuple[Program, Truth]:
    """The program number `index` of the series `seed`, and what PyTorch does with it."""
    for name in attempts(seed, index):
        try:
            program = write(name)
        except Inapplicable:
            continue
        seen = run(program.text)
        if not seen.problem:
            return program, seen
    raise RuntimeError(f"no program for {seed}:{index}")


def judge(task: Task) -> list[Outcome]:
    """Make the programs of a task and compare them; runs in a process of its own where there are several."""
    seed, first, count = task
    return [compare(*made(seed, index)) for index in range(first, first + count)]
