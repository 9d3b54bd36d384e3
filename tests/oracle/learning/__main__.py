"""The command: make training programs, let PyTorch and gradpath say what learns, and show where they differ."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from ..shrink import shrink
from .compare import Outcome, Tally, compare
from .programs import Program, write
from .series import Task, judge
from .truth import run


def main() -> int:
    """Run the command; the exit status is 1 where something differs or a report is disproved."""
    options = _options()
    start = time.monotonic()
    tally = Tally()
    for outcome in _made(options):
        tally.add(outcome)
    _print(tally, time.monotonic() - start)
    for label, outcomes in sorted(tally.examples.items(), key=lambda item: -len(item[1])):
        if options.only in label:
            for outcome in sorted(outcomes, key=lambda each: len(each.program.text))[: options.show]:
                _show(f"{len(outcomes)} x {label}", _smaller(outcome, label) if options.shrink else outcome)
    return 1 if tally.differing or tally.disproved else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="oracle.learning", description="Compare what learns, on random programs.")
    parser.add_argument("--count", type=int, default=500, help="how many programs (default 500)")
    parser.add_argument("--seed", type=int, default=1, help="which series of programs (default 1)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--show", type=int, default=1, metavar="N", help="programs shown of each kind (1)")
    parser.add_argument("--only", default="", metavar="TEXT", help="show the kinds with this text")
    parser.add_argument("--shrink", action="store_true", help="make the shown programs small first")
    parser.add_argument("--replay", default="", metavar="SEEDS", help="take the programs of these seeds (with commas)")
    return parser.parse_args()


def _made(options: argparse.Namespace) -> Iterator[Outcome]:
    if options.replay:
        for name in options.replay.split(","):
            program = write(name.strip())
            seen = run(program.text)
            if seen.problem:
                print(f"{name.strip()}: {seen.problem}")
            else:
                yield compare(program, seen)
        return
    size = 25
    starts = range(0, options.count, size)
    tasks: list[Task] = [(options.seed, first, min(size, options.count - first)) for first in starts]
    if options.jobs <= 1:
        for task in tasks:
            yield from judge(task)
        return
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        for outcomes in pool.map(judge, tasks):
            yield from outcomes


def _print(tally: Tally, seconds: float) -> None:
    print(f"{tally.programs} programs, {tally.events} backwards and steps, in {seconds:.1f} s")
    print(f"agree: {tally.agreed} of {tally.programs} = {100 * tally.agreement:.2f} %; differ: {tally.differing}")
    for label, count in tally.kinds.most_common():
        seeds = ", ".join(outcome.program.seed for outcome in tally.examples[label][:4])
        print(f"  {count:5}  {label}  ({seeds})")
    print("told:", ", ".join(f"{rule} {count}" for rule, count in tally.told.most_common()))


def _labels(outcome: Outcome) -> set[str]:
    tally = Tally()
    tally.add(outcome)
    return set(tally.examples)


def _smaller(outcome: Outcome, label: str) -> Outcome:
    """The outcome of a smaller program of the same kind."""
    found = [outcome]

    def keeps(text: str) -> bool:
        seen = run(text)
        if seen.problem:
            return False
        other = compare(Program(outcome.program.seed, text), seen)
        if label not in _labels(other):
            return False
        found.append(other)
        return True

    shrink(outcome.program.text, keeps, 400)
    return found[-1]


def _show(title: str, outcome: Outcome) -> None:
    print("=" * 20, title, f"  (seed {outcome.program.seed})")
    for number, line in enumerate(outcome.program.text.rstrip("\n").split("\n"), 1):
        print(f"{number:4}  {line}")
    print("PyTorch:")
    for event in outcome.truth.events:
        print(f"    {_short(event)}")
    print("    graded", sorted(outcome.truth.graded))
    print("gradpath:", outcome.word.raised or outcome.word.unknown)
    for event in outcome.word.events:
        print(f"    {_short(event)}")
    print("    graded", sorted(outcome.word.graded), "lost", sorted(outcome.word.lost))
    print("    unreached", sorted(outcome.word.unreached), "untrained", sorted(outcome.word.untrained))
    for told in outcome.word.told:
        print(f"    {told.level} {told.rule} in line {told.line}: {told.text}")
    if outcome.missed:
        print("missed:", outcome.missed)


def _short(event: object) -> str:
    names = [
        name for name in ("reached", "moved", "held", "used", "changed", "unused", "stale") if hasattr(event, name)
    ]
    parts = [f"{name} {sorted(getattr(event, name))}" for name in names]
    return f"{type(event).__name__} {getattr(event, 'line', 0)}: {'; '.join(parts)}"


if __name__ == "__main__":
    sys.exit(main())
