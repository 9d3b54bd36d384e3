"""The command: check published packages that train models, and show every report with its source.

    PYTHONPATH=tests:server python -m bench.published

Nothing is asserted. Every report has to be read and judged against the code; the totals say how much of it was
understood, what the rest was lost to, and what it cost beside `ast.parse`.
"""

from __future__ import annotations

import argparse
import ast
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from gradpath.analysis.check import check
from gradpath.cli.memory import calm_collector, sweep
from gradpath.diagnostic import Diagnostic, Level
from gradpath.features.understanding import understanding
from gradpath.names.walk import SUFFIXES
from gradpath.render.full import render_full
from gradpath.render.report import Understood
from gradpath.source.cells import CellsDocument, in_cells
from gradpath.source.document import Document, UnreadableSource
from gradpath.source.notebook import read_source

from .packages import listed, unpacked

BATCH = 100
"""Files that one task checks."""


@dataclass
class Tally:
    """What was found in some files; seconds are those of the processor."""

    files: int = 0
    lines: int = 0
    seconds: float = 0.0
    parsing: float = 0.0
    slowest: tuple[float, str] = (0.0, "")
    reports: list[str] = field(default_factory=list)
    rules: Counter[str] = field(default_factory=Counter)
    unknowns: Counter[str] = field(default_factory=Counter)
    reached: int = 0
    clear: int = 0

    def add_understood(self, understood: Understood) -> None:
        self.unknowns.update(understood.causes)
        self.reached += understood.reached
        self.clear += understood.clear

    def add(self, other: Tally) -> None:
        self.files += other.files
        self.lines += other.lines
        self.seconds += other.seconds
        self.parsing += other.parsing
        self.slowest = max(self.slowest, other.slowest)
        self.reports += other.reports
        self.rules += other.rules
        self.unknowns += other.unknowns
        self.reached += other.reached
        self.clear += other.clear


def main() -> int:
    """Run the command; the exit status is 2 where a package could not be had."""
    options = _options()
    tally = Tally()
    missing = 0
    with ProcessPoolExecutor(options.jobs, initializer=calm_collector) as pool:
        for name, root in _roots(options):
            if root is None:
                missing += 1
                continue
            part = Tally()
            files = sorted(str(path) for path in root.rglob("*") if path.suffix in SUFFIXES and path.is_file())
            batches = [files[start : start + BATCH] for start in range(0, len(files), BATCH)]
            for found in pool.map(judged, batches, [str(root)] * len(batches), [options.context] * len(batches)):
                part.add(found)
                for report in found.reports:
                    print(report, end="\n\n", flush=True)
            print(f"--- {name}: {_in_short(part)}", flush=True)
            tally.add(part)
    _print_totals(tally)
    return 2 if missing else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.published", description="Check published packages.")
    parser.add_argument("folders", nargs="*", type=Path, help="check these folders instead of the listed packages")
    parser.add_argument("--only", action="append", metavar="NAME", help="only these packages")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--context", type=int, default=4, metavar="LINES", help="source around each place (default 4)")
    return parser.parse_args()


def _roots(options: argparse.Namespace) -> Iterator[tuple[str, Path | None]]:
    if options.folders:
        yield from ((folder.name, folder) for folder in options.folders)
        return
    for package in listed():
        if not options.only or package.name in options.only:
            yield package.folder, unpacked(package)


def judged(paths: list[str], root: str, context: int) -> Tally:
    """Check some files, and parse them again for the comparison."""
    tally = Tally()
    for path in paths:
        try:
            shown = read_source(Path(path), path)
        except UnreadableSource:
            continue
        start = time.process_time()
        analysis = check(shown)
        took = time.process_time() - start
        sweep()
        tally.files += 1
        tally.lines += shown.line_count
        tally.seconds += took
        tally.parsing += seconds_to_parse(shown.text)
        tally.slowest = max(tally.slowest, (took, path))
        for diagnostic in analysis.diagnostics:
            if diagnostic.level in (Level.ERROR, Level.WARNING):
                tally.rules[f"{diagnostic.level.value} {diagnostic.rule}"] += 1
                tally.reports.append(_told(diagnostic, shown, context))
        tally.add_understood(understanding(analysis))
    return tally


def seconds_to_parse(text: str) -> float:
    """What `ast.parse` of a text takes, in seconds of the processor."""
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass  # Half of the work was done.
    return time.process_time() - start


def _told(diagnostic: Diagnostic, document: Document, context: int) -> str:
    """A report as users see it, and the source around each of its places."""

    def source_of(path: str, cell: int | None = None) -> Document | None:
        if path == document.path:
            return document.source(cell) if cell is not None and isinstance(document, CellsDocument) else document
        try:
            return read_source(Path(path), path)
        except UnreadableSource:
            return None

    notebooks = {document.path: document} if isinstance(document, CellsDocument) else {}
    told = [render_full(in_cells(diagnostic, notebooks), source_of)]
    places = {(diagnostic.path, diagnostic.range.start.line, diagnostic.range.end.line)}
    places |= {(label.path, label.range.start.line, label.range.end.line) for label in diagnostic.labels}
    for path in sorted({path for path, _, _ in places}):
        source = source_of(path)
        if source is None:
            continue
        shown = {
            number
            for where, first, last in places
            if where == path
            for number in range(first - context, min(last, first + context) + context + 1)
            if 1 <= number <= source.line_count
        }
        told.append(f"    {path}")
        told += [f"    {number:>5} | {source.line(number)}" for number in sorted(shown)]
    return "\n".join(told)


def _in_short(tally: Tally) -> str:
    ratio = tally.seconds / tally.parsing if tally.parsing else 0.0
    return (
        f"{tally.files} files, {tally.lines} lines, {len(tally.reports)} reports, "
        f"{tally.seconds:.1f} s, ast.parse {tally.parsing:.1f} s ({ratio:.1f} times)"
    )


def _print_totals(tally: Tally) -> None:
    print(f"\n{_in_short(tally)}")
    share = 100 * tally.clear / tally.reached if tally.reached else 100.0
    print(f"understood: {share:.1f} % of {tally.reached} statements that are reached")
    print(f"slowest: {tally.slowest[0]:.2f} s, {tally.slowest[1]}")
    for title, counts in (("reports by rule", tally.rules), ("lost to, most often", tally.unknowns)):
        print(f"{title}:")
        for name, count in counts.most_common(None if counts is tally.rules else 30):
            print(f"{count:>8}  {name}")


if __name__ == "__main__":
    sys.exit(main())
