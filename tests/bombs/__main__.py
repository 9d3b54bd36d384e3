"""The command: `python -m tests.bombs --seed 1 --count 1000` checks bombs under limits, and says what broke them."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

from .grammar import bombs
from .limits import MEGABYTES, SECONDS, Outcome, explode


def main() -> int:
    """Run the command; the exit status is 1 where a bomb went off."""
    parser = argparse.ArgumentParser(prog="bombs", description="Check programs that are made to be too much.")
    parser.add_argument("--seed", type=int, default=1, help="which series of bombs (default 1)")
    parser.add_argument("--count", type=int, default=200, help="how many (default 200)")
    parser.add_argument("--skip", type=int, default=0, metavar="N", help="leave out the first N of the series")
    parser.add_argument("--print", action="store_true", help="print the programs, and do not check them")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="write those that go off, or hide their mistake, there"
    )
    options = parser.parse_args()
    outcomes: list[Outcome] = []
    for bomb in islice(bombs(options.seed), options.skip, options.skip + options.count):
        if options.print:
            print(f"# {bomb.name}\n{bomb.text}")
            continue
        outcome = explode(bomb)
        outcomes.append(outcome)
        if outcome.trouble:
            print(f"{outcome.name}: {outcome.trouble}", flush=True)
        if options.keep is not None and (outcome.trouble or not outcome.is_found):
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{bomb.name}.py").write_text(bomb.text, encoding="utf-8")
    if outcomes:
        _summarise(outcomes)
    return 1 if any(outcome.trouble for outcome in outcomes) else 0


def _summarise(outcomes: list[Outcome]) -> None:
    troubled = [outcome for outcome in outcomes if outcome.trouble]
    found = [outcome for outcome in outcomes if outcome.is_found]
    missed = Counter(outcome.name.split("-", 2)[2] for outcome in outcomes if not outcome.is_found)
    print(f"{len(outcomes)} bombs, {len(troubled)} went off (limits: {SECONDS} s of processor, {MEGABYTES} MB)")
    share = len(found) / len(outcomes)
    print(f"the mistake after them found: {len(found)} ({share:.0%}); missed after: {dict(missed.most_common(8))}")
    print(f"most: {max(o.seconds for o in outcomes):.2f} s, {max(o.megabytes for o in outcomes):.0f} MB")


if __name__ == "__main__":
    sys.exit(main())
