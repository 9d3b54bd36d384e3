"""The facade: a document in, an analysis out."""

from __future__ import annotations

import ast
import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gradpath import entries
from gradpath.config import Config, is_selected, level_of
from gradpath.diagnostic import Diagnostic, Level, Range
from gradpath.interpreter.machine import Cancelled, Machine
from gradpath.interpreter.paths import explore
from gradpath.interpreter.run import make_machine, run_definitions, run_function, run_inner, run_module
from gradpath.interpreter.trace import Trace
from gradpath.names.files import Files
from gradpath.names.project import Project
from gradpath.overlays import Overlays
from gradpath.overlays.project_modules import ProjectModules
from gradpath.quiet import only_defines
from gradpath.rules import RULES
from gradpath.rules.report import Report, Rule, Source
from gradpath.source.cells import bodies
from gradpath.source.document import Document
from gradpath.source.parse import Parsed, parse
from gradpath.source.suppress import FAMILY, UNUSED, apply_suppressions
from gradpath.verdict import Found, judge

log = logging.getLogger(__name__)

STEPS = 20_000
"""Statements that one path may execute."""

PATHS = 24
"""Paths of one entry point."""

EFFORT = 6_000
"""Statements that the paths of one entry point may execute together before no other is begun."""

RELEVANT = re.compile(r"torch|lightning|accelerate|\.backward\(")
"""A text without any of these is not analysed."""

TOTAL_EFFORT = 18_000
"""Statements that all entry points of a document may execute together before each is left with its likeliest path."""

FEW_PATHS = 4
"""Paths of a function in a document that runs no backward itself: a `forward`, for instance."""

BACKWARDS = re.compile(r"backward\(|\bgrad\(")
"""What a document must contain to run a backward."""

_reported: set[str] = set()


@dataclass(frozen=True, slots=True)
class Story:
    """What is known of the value at `range`, for a hover: a title and the steps of its life so far."""

    range: Range
    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Analysis:
    """All that a check of one document found; `diagnostics` are sorted and suppressions are applied.

    A fault that begins in this document may lie in another file of the project: its diagnostic carries that file's
    path, and comes after the document's own. `dependencies` are the absolute paths of the other files that were read;
    `used` are the suppression comments in them, by path and place, that suppress such a fault, which their own file's
    check may not see. `traces` are the likeliest path of each entry point, for the tale of what a value went through.
    """

    document: Document
    parsed: Parsed
    diagnostics: tuple[Diagnostic, ...]
    unknowns: Mapping[str, int] = field(default_factory=dict)
    stories: tuple[Story, ...] = ()
    dependencies: frozenset[Path] = frozenset()
    used: frozenset[tuple[str, Range]] = frozenset()
    traces: tuple[Trace, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """The exception that ends a program: autograd's kind or the class name, and the innermost line (from 1)."""

    kind: str
    line: int


Runner = Callable[[tuple[bool, ...]], Trace]


def never() -> bool:
    """The cancellation test of a check that nobody cancels."""
    return False


def first_fault(document: Document) -> Fault | None:
    """The first exception that nothing catches when the document runs as a script, on its likeliest path."""
    tree = parse(document).tree
    machine = make_machine(Overlays(), (), tree, document.path, STEPS)
    run_module(machine, bodies(document, tree))
    for failure in machine.trace.failures():
        kind = failure.exception if failure.error is None else failure.error.kind.value
        return Fault(kind, failure.site.line)
    return None


def check(
    document: Document,
    config: Config | None = None,
    *,
    last: Parsed | None = None,
    cancelled: Callable[[], bool] = never,
    project: Project | None = None,
    stack: Collection[int] = (),
) -> Analysis:
    """Analyse one document; never raises. `last` is an earlier good parse of the same document.

    `project` says where the modules that it imports lie; by default that is worked out from the document's path.
    `stack` are the lines on the stack of a run that failed: the functions around them are entered, whatever they hold,
    and a fault counts though a handler catches its exception.
    """
    config = Config() if config is None else config
    parsed = parse(document, last)
    if not RELEVANT.search(document.text):
        return Analysis(document, parsed, apply_suppressions(document, parsed, ()))
    files = Files(parsed, project, config.python)
    unknowns: Counter[str] = Counter()
    found: list[Diagnostic] = []
    traces: list[Trace] = []
    try:
        for diagnostics, trace in _entries(files, config, cancelled, frozenset(stack)):
            found.extend(diagnostics)
            traces.append(trace)
            unknowns.update(trace.unknowns)
    except Cancelled:
        pass
    kept = [each for each in (_configured(d, config) for d in _unique(found)) if each is not None]
    kept.sort(key=lambda each: (each.path != document.path, each.path, each.range, each.rule))
    known = {*RULES, *(rule.family for rule in RULES.values())}
    families = {rule.id: (rule.family, rule.level) for rule in RULES.values()} | {UNUSED: (FAMILY, Level.HINT)}
    active = {name for name, (family, level) in families.items() if _is_active(name, family, level, config, document)}
    mine = [each for each in kept if each.path == document.path]
    own = apply_suppressions(document, parsed, mine, known=known, active=active)
    elsewhere, used = _elsewhere(files, [each for each in kept if each.path != document.path])
    dependencies = frozenset(files.read)
    return Analysis(
        document, parsed, (*own, *elsewhere), dict(unknowns), dependencies=dependencies, used=used, traces=tuple(traces)
    )


def _is_active(rule: str, family: str, level: Level, config: Config, document: Document) -> bool:
    return is_selected(config, rule, family, document.path) and level_of(config, rule, level) is not None


def _elsewhere(
    files: Files, diagnostics: Sequence[Diagnostic]
) -> tuple[list[Diagnostic], frozenset[tuple[str, Range]]]:
    """The diagnostics that lie in other files, without those that are suppressed there, and what suppresses them."""
    kept: list[Diagnostic] = []
    used: set[tuple[str, Range]] = set()
    for path in dict.fromkeys(each.path for each in diagnostics):
        parsed = files.parsed(files.path_of(path))
        there = [each for each in diagnostics if each.path == path]
        if parsed is not None:
            # That a comment suppresses nothing is said where that file is checked itself.
            found = apply_suppressions(parsed.document, parsed, there)
            kept += [each for each in found if each in there]
            if not all(each in found for each in there):
                idle = {each.range for each in apply_suppressions(parsed.document, parsed, ())}
                used.update((path, place) for place in idle - {each.range for each in found if each not in there})
    return kept, frozenset(used)


def _entries(
    files: Files, config: Config, cancelled: Callable[[], bool], stack: frozenset[int]
) -> Iterable[tuple[list[Diagnostic], Trace]]:
    """Run the module body, then each function that no call reached; diagnostics and the likeliest trace of each."""
    document, tree = files.checked.document, files.checked.tree
    source = Source(files.documents)
    called: set[ast.AST] = set()

    def machine_for(prefix: tuple[bool, ...], entry: ast.AST) -> Machine:
        machine = make_machine(Overlays(ProjectModules(files), config.assume), prefix, entry, document.path, STEPS)
        machine.stopped = cancelled
        machine.called = called
        machine.forgives = not stack
        return machine

    def module(prefix: tuple[bool, ...]) -> Trace:
        machine = machine_for(prefix, tree)
        run_module(machine, cells)
        run_inner(machine, entries.is_telling)
        return machine.trace

    cells = bodies(document, tree)
    backwards = BACKWARDS.search(document.text) is not None
    left = TOTAL_EFFORT
    if backwards or not only_defines(files):
        diagnostics, traces = _explore(module, source, document.path, PATHS if backwards else 1, EFFORT)
        left -= sum(trace.steps for trace in traces)
        yield diagnostics, traces[0]
    for entry in entries.functions(tree, stack):
        if entry.function in called:
            continue
        if left < -2 * TOTAL_EFFORT:
            break  # Each entry replays the definitions of the module: a huge one would never end.

        def function(prefix: tuple[bool, ...], entry: entries.Entry = entry) -> Trace:
            machine = machine_for(prefix, entry.function)
            run_definitions(machine, tree)
            run_function(machine, entry.function, entry.owner)
            run_inner(machine, entries.is_telling)
            return machine.trace

        effort = max(1, min(EFFORT, left))
        diagnostics, traces = _explore(function, source, document.path, PATHS if backwards else FEW_PATHS, effort)
        left -= sum(trace.steps for trace in traces)
        yield diagnostics, traces[0]


def _explore(run: Runner, source: Source, home: str, paths: int, effort: int) -> tuple[list[Diagnostic], list[Trace]]:
    """The diagnostics of one entry point and its traces, of which there is at least one.

    A failure inside the analysis costs this entry point alone.
    """
    traces: list[Trace] = []
    found: list[Found] = []
    try:
        for trace in explore(run, paths, effort):
            traces.append(trace)
            for rule in RULES.values():
                reports = [report for report in _apply(rule, trace, source) if _begins(report, home)]
                found.extend(Found(rule, report, trace) for report in reports)
        return judge(found, traces, lambda trace, prefix: run(prefix), source), traces
    except Cancelled:
        raise
    except Exception:  # noqa: BLE001 - logged, and the rest of the document is still analysed.
        _log_once("the analysis of an entry point failed")
        return [], traces or [Trace(ast.Module([], []))]


def _begins(report: Report, home: str) -> bool:
    """Whether code of the file `home` leads to the place; what happens in an import is that module's own business."""
    return any(site.path == home for site in report.at.frames())


def _apply(rule: Rule, trace: Trace, source: Source) -> list[Report]:
    try:
        return list(rule.find(trace, source))
    except Exception:  # noqa: BLE001 - logged, and the rest of the document is still analysed.
        _log_once(f"the rule {rule.id} failed")
        return []


def _log_once(what: str) -> None:
    """An internal failure is logged the first time that it happens, with its traceback."""
    if what not in _reported:
        _reported.add(what)
        log.exception("%s", what)


def _unique(diagnostics: Iterable[Diagnostic]) -> Iterable[Diagnostic]:
    """One diagnostic for each rule and range, the gravest; entry points may find the same fault."""
    best: dict[tuple[str, str, Range], Diagnostic] = {}
    order = list(Level)
    for each in diagnostics:
        key = (each.path, each.rule, each.range)
        if key not in best or order.index(each.level) > order.index(best[key].level):
            best[key] = each
    return best.values()


def _configured(diagnostic: Diagnostic, config: Config) -> Diagnostic | None:
    if not is_selected(config, diagnostic.rule, diagnostic.family, diagnostic.path):
        return None
    level = level_of(config, diagnostic.rule, diagnostic.level)
    return None if level is None else replace(diagnostic, level=level)
