"""The command: how much of real training code is reached, and what ends or blinds the rest.

    PYTHONPATH=tests:server python -m bench.coverage FOLDER... [--most N] [--jobs N] [--list]

Of the functions and module bodies that call a `.backward(`, it counts those in which a backward runs on some path, and
those whose call is reached at all; of the statements of their files, those that are reached and those that are
understood: executed on some path, and no value came up in them of which it is not known whether it has a graph. Tests
are no training files, and are left out. Exceptions that nothing caught, and the causes of unknown values, come with how
often they occur. Nothing is asserted, and no file is run.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from gradpath.analysis import inspection
from gradpath.analysis.check import check
from gradpath.cli.memory import calm_collector, sweep
from gradpath.interpreter.events import BackwardRan, Failed
from gradpath.interpreter.paths import Paths, explore
from gradpath.interpreter.trace import Trace
from gradpath.names.walk import SUFFIXES
from gradpath.source.document import Document, UnreadableSource
from gradpath.source.notebook import read_source

BATCH = 20
"""Files that one task checks."""

CALL = ".backward("

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class Covered:
    """What was counted in some files; seconds are those of the processor."""

    files: int = 0
    bodies: int = 0
    reached: int = 0
    ran: int = 0
    statements: int = 0
    visited: int = 0
    clear: int = 0
    seconds: float = 0.0
    ends: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    unknowns: Counter[str] = field(default_factory=Counter)
    blind: list[str] = field(default_factory=list)

    def add(self, other: Covered) -> None:
        for name in ("files", "bodies", "reached", "ran", "statements", "visited", "clear", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.ends += other.ends
        self.unknowns += other.unknowns
        self.examples = {**other.examples, **self.examples}
        self.blind += other.blind


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.coverage", description="Measure what is reached of training code.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--most", type=int, help="so many files of each folder, chosen by chance, always the same")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--list", action="store_true", help="name the bodies in which no backward runs")
    options = parser.parse_args()
    total = Covered()
    with ProcessPoolExecutor(options.jobs, initializer=calm_collector) as pool:
        for folder in options.folders:
            part = Covered()
            files = _files(folder, options.most)
            for found in pool.map(covered, [files[at : at + BATCH] for at in range(0, len(files), BATCH)]):
                part.add(found)
            print(f"{folder.name}: {_in_short(part)}", flush=True)
            total.add(part)
    if options.list:
        print(*total.blind, sep="\n")
    print(f"\nall: {_in_short(total)}")
    print("exceptions that nothing caught, in the paths of files with a backward:")
    for name, count in total.ends.most_common(30):
        print(f"{count:>8}  {name}  {total.examples[name]}")
    print("lost to, most often:")
    for name, count in total.unknowns.most_common(20):
        print(f"{count:>8}  {name}")


def _files(folder: Path, most: int | None) -> list[str]:
    """The files that call a backward; of many a choice that is the same each time."""
    found = sorted(
        str(path)
        for path in (folder.rglob("*") if folder.is_dir() else [folder])
        if path.suffix in SUFFIXES and path.is_file() and not _is_test(path.relative_to(folder))
        if CALL in path.read_text(errors="replace")
    )
    return found if most is None or len(found) <= most else sorted(random.Random(0).sample(found, most))


def _is_test(path: Path) -> bool:
    """Whether a file of a folder holds tests, as its name or that of a folder around tells."""
    named = path.stem.startswith("test_") or path.stem.endswith("_test") or path.stem == "conftest"
    return named or not {"test", "tests", "testing"}.isdisjoint(path.parts[:-1])


def covered(paths: list[str]) -> Covered:
    """Check some files, and count."""
    total = Covered()
    for path in paths:
        try:
            document = read_source(Path(path), path)
        except UnreadableSource:
            continue
        total.add(_covered(document))
        sweep()
    return total


def _covered(document: Document) -> Covered:
    traces: list[Trace] = []

    def observed(paths: Paths, limit: int, budget: int, *, combined: bool = False) -> Iterator[Trace]:
        for trace in explore(paths, limit, budget, combined=combined):
            traces.append(trace)
            yield trace

    start = time.process_time()
    with mock.patch.object(inspection, "explore", observed):
        analysis = check(document)
    found = Covered(files=1, seconds=time.process_time() - start, unknowns=Counter(analysis.unknowns))
    visited = {node for trace in traces for node in trace.visits}
    unclear = {node for trace in traces for node in trace.unclear()}
    lines = {
        site.line
        for trace in traces
        for event in trace.of(BackwardRan)
        for site in event.site.frames()
        if site.path == document.path
    }
    for statement in _statements(analysis.parsed.tree):
        found.statements += 1
        if statement in visited:
            found.visited += 1
            found.clear += not any(part in unclear for part in _own(statement))
    for name, calls in _bodies(analysis.parsed.tree):
        found.bodies += 1
        found.reached += any(call in visited for call in calls)
        if any(line in lines for call in calls for line in range(call.lineno, (call.end_lineno or call.lineno) + 1)):
            found.ran += 1
        else:
            found.blind.append(f"{document.path}:{calls[0].lineno} {name}")
    for trace in traces:
        for failure in trace.of(Failed):
            if not failure.caught and failure.error is None:
                told = f"{failure.exception}: {_shape(failure.message)}"
                found.ends[told] += 1
                found.examples.setdefault(told, f"{failure.site.path}:{failure.site.line}")
    return found


def _shape(message: str) -> str:
    return re.sub(r"'[^']*'|\d+", "_", message)[:80]


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.stmt))


def _own(statement: ast.stmt) -> Iterator[ast.AST]:
    """A statement and what it evaluates itself."""
    todo: list[ast.AST] = [statement]
    for node in todo:
        yield node
        bodies = (ast.stmt, ast.ExceptHandler, ast.match_case)
        todo += [child for child in ast.iter_child_nodes(node) if not isinstance(child, bodies)]


def _bodies(tree: ast.Module) -> Iterator[tuple[str, list[ast.stmt]]]:
    """The functions, and the module body, that call a backward; with the statements that do."""
    todo: list[tuple[str, ast.AST]] = [("the module", tree)]
    for name, body in todo:
        calls: list[ast.stmt] = []
        inside: list[ast.AST] = list(ast.iter_child_nodes(body))
        for node in inside:
            if isinstance(node, _FUNCTIONS):
                todo.append((node.name, node))
                continue
            if isinstance(node, ast.stmt) and any(_is_backward(each) for each in _own(node)):
                calls.append(node)
            inside += list(ast.iter_child_nodes(node))
        if calls:
            yield name, sorted(calls, key=lambda each: each.lineno)


def _is_backward(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "backward"


def _in_short(part: Covered) -> str:
    return (
        f"{part.files} files, {part.bodies} bodies with a backward, reached in {part.reached} "
        f"({_share(part.reached, part.bodies)}), run in {part.ran} ({_share(part.ran, part.bodies)}); "
        f"{part.statements} statements, reached {_share(part.visited, part.statements)}, "
        f"understood {_share(part.clear, part.statements)}; {part.seconds:.1f} s"
    )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


if __name__ == "__main__":
    sys.exit(main())
