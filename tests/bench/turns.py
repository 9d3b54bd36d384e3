"""The command: what a check of real code costs beside `ast.parse`, of two versions of gradpath in turns.

    PYTHONPATH=tests:server python -m bench.turns --old CHECKOUT/server FOLDER... [--most N]

Each file is checked by one process of each version, one right after the other, so that both have the same machine; what
they report differently is listed. Without `--old` the version at hand is measured alone. No file is run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parent.parent
SLOW = 1.0
"""Seconds from which on a file is slow."""


@dataclass
class Sums:
    """Seconds of the processor for some files: to parse them, and for each version to check them."""

    files: int = 0
    parse: float = 0.0
    checks: list[float] = field(default_factory=list)
    slow: list[int] = field(default_factory=list)

    def add(self, parse: float, checks: Sequence[float]) -> None:
        """Count one file, or what was counted of some."""
        self.files += 1
        self.parse += parse
        self.checks = [a + b for a, b in zip(self.checks or [0.0] * len(checks), checks, strict=True)]
        self.slow = [a + (b > SLOW) for a, b in zip(self.slow or [0] * len(checks), checks, strict=True)]

    def told(self) -> str:
        """The sums in a line: times `ast.parse`, the old version first."""
        ratios = " ".join(f"{each / self.parse:8.1f}" for each in self.checks) if self.parse else "-"
        slow = " ".join(f"{each:3}" for each in self.slow)
        return f"{self.files:5} files  ast.parse {self.parse:7.2f} s  times {ratios}  above {SLOW:.0f} s {slow}"


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="bench.turns", description="Compare the cost of two versions.")
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--old", type=Path, help="the `server` folder of another checkout")
    parser.add_argument("--most", type=int, help="so many files of each folder, chosen by chance, always the same")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work()
        return
    versions = [TESTS.parent / "server"] if options.old is None else [options.old, TESTS.parent / "server"]
    workers = [_worker(each.resolve()) for each in versions]
    total, slowest = Sums(), list[tuple[float, str]]()
    for folder in options.folders:
        part = Sums()
        for index, path in enumerate(chosen(folder, options.most)):
            order = workers if index % 2 else workers[::-1]
            told = {id(each): _asked(each, path) for each in order}
            answers = [told[id(each)] for each in workers]
            checks = [each["check"] for each in answers]
            parse = min(each["parse"] for each in answers)
            part.add(parse, checks)
            total.add(parse, checks)
            slowest = sorted([*slowest, (checks[-1], path)], reverse=True)[:10]
            if any(each["found"] != answers[0]["found"] for each in answers):
                print(f"differs: {path}", *(f"    {each['found']}" for each in answers), sep="\n", flush=True)
        print(f"{folder.name:30} {part.told()}", flush=True)
    print(f"{'all':30} {total.told()}")
    print(*(f"{seconds:8.2f} s  {path}" for seconds, path in slowest), sep="\n")
    for each in workers:
        each.communicate()


def chosen(folder: Path, most: int | None) -> list[str]:
    """The Python files of a folder; of many a choice that is the same each time."""
    found = sorted(str(path) for path in folder.rglob("*.py") if path.is_file())
    return found if most is None or len(found) <= most else sorted(random.Random(0).sample(found, most))


def _worker(server: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "bench.turns", "--worker"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(server), str(TESTS)))}
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _asked(worker: subprocess.Popen[str], path: str) -> dict[str, Any]:
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(path + "\n")
    worker.stdin.flush()
    answer: dict[str, Any] = json.loads(worker.stdout.readline())
    return answer


def work() -> None:
    """Check the files that standard input names, one a line, and answer with a line of JSON each."""
    from gradpath.analysis.check import LEAN, check
    from gradpath.cli.memory import calm_collector, sweep
    from gradpath.source.document import Document, UnreadableSource
    from gradpath.source.notebook import read_source

    from .published import seconds_to_parse

    warnings.simplefilter("ignore")
    check(Document("warm.py", "import torch\nx = torch.ones(3, requires_grad=True)\nx.sum().backward()\n"))
    calm_collector()
    for line in sys.stdin:
        path = line.rstrip("\n")
        try:
            document = read_source(Path(path), path)
        except UnreadableSource:
            print(json.dumps({"parse": 0.0, "check": 0.0, "found": []}), flush=True)
            continue
        parse = min(seconds_to_parse(document.text) for _ in range(2))
        began = time.process_time()
        analysis = check(document, depth=LEAN)
        took = time.process_time() - began
        sweep()
        found = sorted(
            _place(each.path, each.range.start.line, each.rule, each.level.value, each.message)
            for each in analysis.diagnostics
        )
        print(json.dumps({"parse": parse, "check": took, "found": found}), flush=True)


def _place(*parts: object) -> str:
    return " ".join(map(str, parts))


if __name__ == "__main__":
    main()
