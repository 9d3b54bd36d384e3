"""`python -m observe OUT.json`: observes the installed PyTorch and writes the op table."""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from pathlib import Path

import torch

from .table import build
from .text import as_text


def main() -> int:
    """Run the command; the exit status."""
    parser = argparse.ArgumentParser(prog="observe", description=__doc__)
    parser.add_argument("out", type=Path, help="where the table goes")
    parser.add_argument("--only", metavar="REGEX", default="", help="observe only the names that match")
    parser.add_argument("--verbose", action="store_true", help="say what could not be observed, and why")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    report = print if arguments.verbose else lambda *_: None
    table = build(re.compile(arguments.only).search, report)
    text = as_text(table)
    arguments.out.write_text(text, "utf-8")
    counts = ", ".join(f"{len(table[part])} {part}" for part in ("ops", "aliases", "modules", "left_out"))
    print(f"{arguments.out}: {counts}, {len(text):,} bytes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
