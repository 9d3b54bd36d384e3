"""The command: make programs, let PyTorch and gradpath judge them, and show where they differ."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from .compare import Outcome, Tally, analyser, compare, confusion_of
from .generate import Program, variants
from .observe import observe
from .series import Task, judge
from .shrink import shrink
from .tell import print_coverage, print_kinds, print_program, print_tally
from .worlds import in_world


def main() -> int:
    """Run the command; the exit status is 1 where something differs."""
    options = _options()
    judged = not options.generate_only
    start = time.monotonic()
    tally = Tally()
    stored: list[dict[str, object]] = []
    for outcome in _replayed(options.replay) if options.replay else _made(options, judged):
        tally.add(outcome)
        if options.store:
            stored.append(_as_json(outcome.program))
    seconds = time.monotonic() - start
    if options.store:
        Path(options.store).write_text(json.dumps(stored, indent=0))
    if not judged:
        print_kinds(tally, seconds)
        print_coverage(tally, options.show)
        return 0
    print_tally(tally, seconds)
    _show(tally, options.show, options.shrink, options.each)
    return 1 if tally.examples or tally.false_errors else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="oracle", description="Compare gradpath with PyTorch on random programs.")
    parser.add_argument("--count", type=int, default=1000, help="how many programs (default 1000)")
    parser.add_argument("--seed", type=int, default=1, help="which series of programs (default 1)")
    parser.add_argument("--mode", choices=("guided", "unguided", "uncertain", "hidden", "both"), default="both")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--show", type=int, default=10, metavar="K", help="how many confusions to show (10)")
    parser.add_argument("--each", type=int, default=1, metavar="N", help="programs shown of each confusion (1)")
    parser.add_argument("--shrink", action="store_true", help="make the shown programs small first")
    parser.add_argument("--store", metavar="FILE", help="write the programs as JSON")
    parser.add_argument("--replay", metavar="FILE", help="take the programs from a file written by --store")
    parser.add_argument("--generate-only", action="store_true", help="only print what the programs cover")
    return parser.parse_args()


def _made(options: argparse.Namespace, judged: bool) -> Iterator[Outcome]:
    size = 50
    tasks: list[Task] = [
        (options.seed, first, min(size, options.count - first), options.mode, judged)
        for first in range(0, options.count, size)
    ]
    if options.jobs <= 1:
        for task in tasks:
            yield from judge(task)
        return
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        for outcomes in pool.map(judge, tasks):
            yield from outcomes


def _replayed(path: str) -> Iterator[Outcome]:
    analyse = analyser()
    for row in json.loads(Path(path).read_text()):
        observation = observe(row["text"])
        program = Program(row["seed"], row["mode"], row["text"], observation, tuple(row["conditions"]))
        yield compare(program, analyse)


def _as_json(program: Program) -> dict[str, object]:
    fault = program.observation.fault
    return {
        "seed": program.seed,
        "mode": program.mode,
        "kind": fault.kind if fault else "clean",
        "line": fault.line if fault else 0,
        "conditions": list(program.conditions),
        "text": program.text,
    }


def _show(tally: Tally, count: int, small: bool, each: int) -> None:
    groups = sorted(tally.examples.items(), key=lambda item: -len(item[1]))
    for confusion, outcomes in groups[:count]:
        chosen = sorted(outcomes, key=lambda o: len(o.program.text))[:each]
        shown = {o.program.text: o for o in (_smaller(o) if small else o for o in chosen)}
        for outcome in sorted(shown.values(), key=lambda o: len(o.program.text)):
            print_program(f"{len(outcomes)} x {confusion}", outcome)
    for outcome in sorted(
        (o for o in tally.false_errors if o.program.hidden is None), key=lambda o: len(o.program.text)
    )[:count]:
        print_program("error on a clean program", _without_false_alarm_context(outcome) if small else outcome)


def _smaller(outcome: Outcome) -> Outcome:
    """The outcome of a smaller program with the same confusion."""
    uncertain = outcome.program.mode == "uncertain"
    hidden = outcome.program.hidden
    analyse = analyser(with_reports=uncertain or hidden is not None)

    def keeps(text: str) -> bool:
        if hidden is not None:
            observation = in_world(text, hidden, None)
            smaller = replace(outcome.program, text=text, observation=observation)
            return not observation.foreign and compare(smaller, analyse).confusion == outcome.confusion
        if not uncertain:
            observation = observe(text)
            return not observation.foreign and confusion_of(observation, analyse(text)) == outcome.confusion
        if any(observe(each).foreign for each in variants(text, outcome.program.conditions)):
            return False
        return compare(replace(outcome.program, text=text), analyse).confusion == outcome.confusion

    return _again(outcome, shrink(outcome.program.text, keeps))


def _without_false_alarm_context(outcome: Outcome) -> Outcome:
    """The outcome of a smaller clean program on which the same rule reports an error."""
    analyse = analyser()
    rules = {report.rule for report in outcome.false_errors}

    def keeps(text: str) -> bool:
        observation = observe(text)
        if not observation.clean:
            return False
        found = compare(replace(outcome.program, text=text, observation=observation), analyse)
        return any(report.rule in rules for report in found.false_errors)

    return _again(outcome, shrink(outcome.program.text, keeps, 600))


def _again(outcome: Outcome, text: str) -> Outcome:
    hidden = outcome.program.hidden
    observation = observe(text) if hidden is None else in_world(text, hidden, None)
    program = replace(outcome.program, text=text, observation=observation)
    return compare(program, analyser())


if __name__ == "__main__":
    sys.exit(main())
