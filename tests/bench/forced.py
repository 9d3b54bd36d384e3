"""The command: check any Python files with the analysis forced on, and tell which cost too much or broke it.

    PYTHONPATH=tests:server python -m bench.forced FOLDER [FOLDER ...]

Most files of a library say nothing about PyTorch and are not analysed. Here a comment is added that makes the analysis
look at each of them, so that code of all kinds meets it. Each batch runs in a process of its own; a file is named
where it raises, where a part of its analysis fails, and where it is above the limits.
"""

from __future__ import annotations

import argparse
import os
import pickle
import random
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from gradpath.analysis.check import check, load
from gradpath.cli.memory import calm_collector, sweep
from gradpath.diagnostic import GapKind
from gradpath.names.files import TREES
from gradpath.source.document import Document, UnreadableSource
from gradpath.source.notebook import read_source
from gradpath.support.internal_errors import unlogged

FORCED = "\n# torch .backward(\n"
"""What makes the analysis look at a text."""

BATCH = 25
"""Files that one process checks."""

MOST_SECONDS = 5.0
"""Seconds of the processor that a file may take."""

MOST_MEMORY = 300
"""Megabytes that a process may have at its peak which checks one file."""

HARD_SECONDS = 120
"""Seconds of the processor after which a process is killed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file; `wrong` says what broke, "" where nothing did."""

    path: str
    seconds: float
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """What became of some files in one process, and its megabytes at the peak."""

    outcomes: tuple[Outcome, ...]
    memory: int


def main() -> int:
    """Run the command; the exit status is 1 where a file raised, failed or was above a limit."""
    parser = argparse.ArgumentParser(prog="bench.forced", description="Check files with the analysis forced on.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--most", type=int, metavar="N", help="this many files, chosen by chance")
    parser.add_argument("--seed", type=int, default=1, help="of that chance (default 1)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    options = parser.parse_args()
    files = sorted(str(path) for folder in options.folders for path in folder.rglob("*.py") if path.is_file())
    if options.most is not None and options.most < len(files):
        files = sorted(random.Random(options.seed).sample(files, options.most))
    load()
    calm_collector()
    return _told(_checked(files, options.jobs), len(files))


def _checked(files: Sequence[str], jobs: int) -> Iterator[Batch]:
    """The outcome of each file; those of a batch that died or grew too large are checked again one by one."""
    batches = [files[start : start + BATCH] for start in range(0, len(files), BATCH)]
    with ThreadPoolExecutor(jobs) as pool:
        for batch, found in zip(batches, pool.map(_apart, batches), strict=True):
            if found is not None and found.memory <= MOST_MEMORY:
                yield found
                continue
            for path in batch:
                yield _apart([path]) or Batch((Outcome(path, HARD_SECONDS, "its process was killed"),), 0)


def _apart(paths: Sequence[str]) -> Batch | None:
    """Check files in a child process; None where that dies."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        status = 1
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (HARD_SECONDS * len(paths), HARD_SECONDS * len(paths) + 5))
            found = Batch(tuple(map(_one, paths)), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
            with os.fdopen(writer, "wb") as stream:
                pickle.dump(found, stream)
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        data = stream.read()
    _, status = os.waitpid(child, 0)
    return pickle.loads(data) if status == 0 else None


def _one(path: str) -> Outcome:
    try:
        document = read_source(Path(path), path)
    except UnreadableSource:
        return Outcome(path, 0.0)
    start = time.process_time()
    wrong = ""
    with unlogged():
        try:
            gaps = check(Document(path, document.text + FORCED)).incomplete
            wrong = "; ".join(gap.detail for gap in gaps if gap.kind in (GapKind.FAILURE, GapKind.MEMORY))
        except Exception as error:  # noqa: BLE001 - that is what is looked for.
            wrong = f"raises {type(error).__name__}: {error}"
    took = time.process_time() - start
    TREES.drop(path)
    sweep()
    return Outcome(path, took, wrong)


def _told(batches: Iterator[Batch], total: int) -> int:
    files, seconds, slowest, largest, bad = 0, 0.0, (0.0, ""), (0, ""), 0
    started = time.monotonic()
    for batch in batches:
        largest = max(largest, (batch.memory, batch.outcomes[0].path))
        if batch.memory > MOST_MEMORY:
            bad += 1
            print(f"{batch.memory} MB  {batch.outcomes[0].path}", flush=True)
        for each in batch.outcomes:
            files += 1
            seconds += each.seconds
            slowest = max(slowest, (each.seconds, each.path))
            if each.wrong or each.seconds > MOST_SECONDS:
                bad += 1
                print(f"{each.seconds:.1f} s  {each.path}  {each.wrong}", flush=True)
        if files % 2_000 < len(batch.outcomes):
            print(f"  {files} of {total}, {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    print(f"{files} files, {seconds:.0f} s of processor, {bad} named above")
    print(f"slowest: {slowest[0]:.2f} s, {slowest[1]}; largest: {largest[0]} MB, {largest[1]}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
