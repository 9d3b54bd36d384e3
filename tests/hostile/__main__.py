"""`PYTHONPATH=server python -m tests.hostile --seed N --count M`: trees in a row, and what went wrong in them."""

from __future__ import annotations

import argparse
import sys

from tests.hostile.trial import faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=20)
    arguments = parser.parse_args()
    found = 0
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        for fault in faults(seed):
            found += 1
            print(fault, flush=True)
    print(f"{arguments.count} trees, {found} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
