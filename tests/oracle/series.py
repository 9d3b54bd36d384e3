"""A run of programs: made, and compared one after the other."""

from __future__ import annotations

from .compare import Outcome, Verdict, analyser, compare
from .generate import generate

Task = tuple[int, int, int, str, bool]
"""Seed, first index, count, mode (`both` takes turns), and whether gradpath is asked."""


def judge(task: Task) -> list[Outcome]:
    """Make the programs of a task and compare them; runs in a process of its own where there are several."""
    seed, first, count, mode, judged = task
    analyse = analyser() if judged else (lambda _text: Verdict())
    out: list[Outcome] = []
    for index in range(first, first + count):
        chosen = ("guided", "unguided")[index % 2] if mode == "both" else mode
        program = generate(seed, index, chosen)
        out.append(compare(program, analyse) if judged else Outcome(program, Verdict()))
    return out
