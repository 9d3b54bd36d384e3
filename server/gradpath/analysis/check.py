"""The facade: a document in, an analysis out."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import Concatenate, ParamSpec

from gradpath.analysis import entry_points, gaps
from gradpath.analysis.incremental import MODULE, Ending, Memory, Record, Reuse, compare, ending_of
from gradpath.analysis.inspection import Runs, Way, inspect
from gradpath.analysis.launchers import launchers
from gradpath.analysis.marks import marks_of
from gradpath.config import Config, is_selected, level_of
from gradpath.diagnostic import Diagnostic, Gap, GapKind, Level, Mark, Range, whole
from gradpath.findings.report import Source
from gradpath.interpreter.budget import Cancelled
from gradpath.interpreter.paths import Paths, explore
from gradpath.interpreter.trace import Trace
from gradpath.names.files import MOST_SOURCE, TREES, Files
from gradpath.names.project import Project
from gradpath.overlays import Overlays
from gradpath.overlays.relevance import speaks_of_tensors
from gradpath.rules import NAMES, RULES
from gradpath.source.cells import CellsDocument
from gradpath.source.document import Document
from gradpath.source.ignores import MARK
from gradpath.source.index import inside, methods_called
from gradpath.source.nodes import nodes, noted
from gradpath.source.parse import Parsed, unparsed
from gradpath.source.suppress import FAMILY, UNUSED, apply_suppressions
from gradpath.support.fast_dataclasses import dataclass, field, replace
from gradpath.support.internal_errors import Place, failed

STEPS = 12_000
"""Statements that one path may execute."""

PATHS = 24
"""Paths of one entry point."""

EFFORT = 1_800
"""Statements that the paths of one entry point may execute together: none is begun that would go beyond."""

TOTAL_EFFORT = 12_000
"""Statements that all entry points of a document may execute together before each is left with its likeliest path.

After three times as many no more are entered.
"""

ENTERING = 10
"""The cost of entering a function, in statements."""

FEW_PATHS = 4
"""Paths of a function in a document that runs no backward itself: a `forward`, for instance."""

LITTLE_EFFORT = 1_200
"""Statements that the paths of such a function may execute together."""


@dataclass(frozen=True, slots=True)
class Walk:
    """An entry point that was run, by its name, which is empty for the module body, and the traces of its paths.

    The likeliest comes first; the others are there where they were asked for, and then `ways` are all the ways in which
    it was run, with what came of each report.
    """

    name: str
    traces: tuple[Trace, ...]
    ways: tuple[Way, ...] = ()


@dataclass(frozen=True, slots=True)
class Analysis:
    """The result of the check of one document; `diagnostics` are sorted and suppressions are applied.

    A fault that begins in this document may lie in another file of the project: its diagnostic carries that file's
    path, and comes after the document's own. `dependencies` are the absolute paths of the other files that were read;
    `used` are the suppression comments in them, by path and place, that suppress such a fault, which their own file's
    check may not see. `walks` are the entry points that were run, for the history of values, without those that were
    reused (see `with_traces`), and `documents` the texts, by path, that their traces refer to. `marks` are annotations
    that an editor may show beside the code of all of them, `endings` how the paths of each ended, by its name: the
    likeliest first, and no others unless the check was thorough. `incomplete` says which parts of the document were not
    fully checked; one that was never run, as it does not mention PyTorch, has none. `memory` is what the next check may
    reuse.
    """

    document: Document
    parsed: Parsed
    diagnostics: tuple[Diagnostic, ...]
    unknowns: Mapping[str, int] = field(default_factory=dict)
    dependencies: frozenset[Path] = frozenset()
    used: frozenset[tuple[str, Range]] = frozenset()
    walks: tuple[Walk, ...] = ()
    documents: Mapping[str, Document] = field(default_factory=dict)
    marks: tuple[Mark, ...] = ()
    endings: Mapping[str, tuple[Ending, ...]] = field(default_factory=dict)
    incomplete: tuple[Gap, ...] = ()
    memory: Memory | None = None

    @property
    def traces(self) -> tuple[Trace, ...]:
        """The likeliest path of each entry point that was run."""
        return tuple(walk.traces[0] for walk in self.walks)

    def findings(self) -> Analysis:
        """The findings alone, without the traces and trees, which take a hundred times the memory."""
        parsed = replace(self.parsed, tree=ast.Module([], []), base=None)
        return replace(self, parsed=parsed, walks=(), documents={}, memory=None)


Given = ParamSpec("Given")
Check = Callable[Concatenate[Document, Given], Analysis]


def load() -> None:
    """Load the rules, and the modules that know the names of libraries: otherwise the first check does."""
    Overlays()
    len(RULES)


def never() -> bool:
    """The cancellation test of a check that is never cancelled."""
    return False


def _never_raising(
    check: Callable[Concatenate[Document, Given], Analysis],
) -> Callable[Concatenate[Document, Given], Analysis]:
    """A check that costs no more than its own document where gradpath fails outside of all entry points."""

    @wraps(check)
    def checked(document: Document, /, *given: Given.args, **named: Given.kwargs) -> Analysis:
        try:
            return check(document, *given, **named)
        except Cancelled:
            return Analysis(document, unparsed(document), ())
        except Exception as error:  # noqa: BLE001 - reported, and the other documents are still checked.
            failure = failed("the check of a file failed", Place(document.path))
            gap = whole(document.path, gaps.kind_of(error), failure.cause, failure.report)
            return Analysis(document, unparsed(document), (), incomplete=(gap,))

    return checked


@dataclass(frozen=True, slots=True)
class Depth:
    """What a check keeps, and how far it explores.

    Unless the analysis is to be `traced`, its traces are dropped as soon as they were read: they are by far its largest
    part. If it is to be `explored`, the traces of all paths are kept, not only those of the likeliest. A `thorough`
    check combines undecided branches as far as the budget allows, and records how each path ended; with a memory it may
    be thorough only `around` some lines. Unless it is `proposing`, the diagnostics have neither fixes nor advice. What
    is raised on `mended` lines is not, as if the fault were mended.
    """

    traced: bool = True
    explored: bool = False
    thorough: bool = False
    around: Collection[int] | None = None
    proposing: bool = True
    mended: Collection[int] = ()


TRACED = Depth()
EXPLORED = Depth(explored=True)
LEAN = Depth(traced=False)
TYPING = Depth(traced=False, proposing=False)
THOROUGH = Depth(traced=False, thorough=True)


@_never_raising
def check(
    document: Document,
    config: Config | None = None,
    *,
    last: Parsed | None = None,
    cancelled: Callable[[], bool] = never,
    project: Project | None = None,
    stack: Collection[int] = (),
    memory: Memory | None = None,
    depth: Depth = TRACED,
) -> Analysis:
    """Analyse one document; never raises. `last` is an earlier good parse of the same document.

    `project` says where the modules that it imports lie; by default that is worked out from the document's path.
    `stack` are the lines on the stack of a run that failed: the functions around them are entered, whatever they hold,
    and a fault counts though a handler catches its exception. `memory` is that of an earlier analysis of the document:
    what an edit cannot have changed is not run again.
    """
    config = Config() if config is None else config
    relevant = speaks_of_tensors(document.text)
    if not relevant and MARK not in document.text:
        return Analysis(document, unparsed(document), ())
    if len(document.text) > MOST_SOURCE:
        return Analysis(document, unparsed(document), (), incomplete=(whole(document.path, GapKind.SIZE),))
    parsed = TREES.of_document(document, last)
    if not relevant or cancelled():
        return Analysis(document, parsed, apply_suppressions(document, parsed, ()))
    files = Files(parsed, project, config.python)
    entered = _Entered(files, config, cancelled, frozenset(stack), depth)
    root = None if project is None else project.root
    running = (document.path, entered.backwards, entered.runs_module, config, root, depth.thorough, depth.proposing)
    if depth.around is not None and memory is not None:
        memory = memory.away_from(depth.around, running)
    reuse = None if isinstance(document, CellsDocument) or stack else compare(parsed, memory, running, files.still)
    reuse = Reuse((), (), {}, (), None) if reuse is None else reuse
    kept_for_next: Memory | None = None
    try:
        entered.run(reuse)
        kept_for_next = reuse.memory(files.surroundings(), running) if reuse.pieces else None
    except Cancelled:
        pass
    return _analysis(entered, parsed, kept_for_next)


def _analysis(entered: _Entered, parsed: Parsed, memory: Memory | None) -> Analysis:
    """The analysis made of the entry points that were run."""
    files, records = entered.files, entered.records
    unknowns: Counter[str] = Counter()
    for record in records:
        unknowns.update(record.unknowns)
    own, elsewhere, used = _reported(files, records, entered.config)
    return Analysis(
        entered.document,
        parsed,
        (*own, *elsewhere),
        dict(unknowns),
        dependencies=frozenset(files.read),
        used=used,
        walks=tuple(entered.walks),
        documents=files.documents if entered.walks else {},
        marks=tuple(chain.from_iterable(each.marks for each in records)),
        endings=entered.endings(),
        incomplete=(
            *gaps.unreadable(parsed),
            *chain.from_iterable(each.incomplete for each in records),
            *entered.incomplete,
            *gaps.left_out(entered.document, [files.shown(path) for path in files.left_out]),
        ),
        memory=memory,
    )


def with_traces(
    analysis: Analysis,
    line: int | None,
    config: Config,
    *,
    cancelled: Callable[[], bool] = never,
    project: Project | None = None,
    explored: bool = False,
) -> Analysis:
    """The analysis with the traces of the entry points that run code on a line, or of all: they are run again.

    Their likeliest paths alone, unless they are to be `explored`.
    """
    document, memory = analysis.document, analysis.memory
    if memory is None:
        again = check(document, config, cancelled=cancelled, project=project, depth=Depth(explored=explored))
        return replace(analysis, parsed=again.parsed, walks=again.walks, documents=again.documents)
    files = Files(analysis.parsed, project, config.python)
    piece = None if line is None else memory.piece_at(line)
    walks: list[Walk] = []
    try:
        for number, record in memory.records.items():
            is_around = piece is not None and number == MODULE and not memory.pieces[piece].is_function
            if piece is None or piece in record.inside or is_around:
                runs = Runs(files, config, cancelled, memory.entry(number), STEPS)
                traces = tuple(explore(Paths(runs.run), PATHS if explored else 1, EFFORT))
                walks.append(Walk(record.name, traces))
    except Cancelled:
        pass
    return replace(analysis, walks=tuple(walks), documents=files.documents)


def _reported(
    files: Files, records: Sequence[Record], config: Config
) -> tuple[tuple[Diagnostic, ...], list[Diagnostic], frozenset[tuple[str, Range]]]:
    """The diagnostics of the document itself, those of other files, and the suppression comments used there."""
    parsed = files.checked
    path = parsed.document.path
    found = _unique(chain.from_iterable(each.diagnostics for each in records))
    kept = [each for each in (_configured(every, config) for every in found) if each is not None]
    kept.sort(key=lambda each: (each.path != path, each.path, each.range, each.rule))
    own = _suppressed(parsed.document, parsed, [each for each in kept if each.path == path], config)
    return own, *_elsewhere(files, [each for each in kept if each.path != path])


def _suppressed(
    document: Document, parsed: Parsed, diagnostics: Sequence[Diagnostic], config: Config
) -> tuple[Diagnostic, ...]:
    """The diagnostics of a document without those that its comments suppress, and with hints on such comments."""
    if MARK not in document.text:
        return tuple(diagnostics)
    families = {rule.id: (rule.family, rule.level) for rule in RULES.values()} | {UNUSED: (FAMILY, Level.HINT)}
    active = {name for name, (family, level) in families.items() if _is_active(name, family, level, config, document)}
    return apply_suppressions(document, parsed, diagnostics, known=NAMES, active=active)


def _is_active(rule: str, family: str, level: Level, config: Config, document: Document) -> bool:
    return is_selected(config, rule, family, document.path) and level_of(config, rule, family, level) is not None


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


class _Entered:
    """The entry points of a document, as they are run: the module body, then each function that no call reached.

    `records` are those of the entry points so far, `walks` their traces, where the check is traced, and `incomplete`
    says which were not entered. What is `settled` is reported, and need not be judged again at another entry point.
    """

    def __init__(
        self, files: Files, config: Config, cancelled: Callable[[], bool], stack: frozenset[int], depth: Depth
    ) -> None:
        self.files, self.config, self.cancelled, self.stack, self.depth = files, config, cancelled, stack, depth
        self.document, tree = files.checked.document, files.checked.tree
        self.backwards = entry_points.runs_backward(self.document.text)
        self.runs_module = not entry_points.only_defines(tree)
        self.statements = _statements(tree) if depth.thorough else set()
        self.source = Source(files.documents, proposes=depth.proposing)
        self.called: set[ast.AST] = set()
        self.records: list[Record] = []
        self.walks: list[Walk] = []
        self.incomplete: list[Gap] = []
        self.settled: set[tuple[str, ast.AST]] = set()

    def run(self, reuse: Reuse) -> None:
        """Run the entry points, or take over what is known of them already."""
        left = TOTAL_EFFORT
        if self.cancelled():
            raise Cancelled
        if self.runs_module:
            left -= self._enter(reuse, MODULE, PATHS if self.backwards else 1, EFFORT, None)
        todo = chain(entry_points.functions(self.files.checked, self.stack), launchers(self.files))
        for entry in todo:
            if entry.function in self.called:
                continue
            if left < -2 * TOTAL_EFFORT:
                self.incomplete += gaps.unentered(self.document, chain([entry], todo), self.called)
                break
            effort = max(1, min(EFFORT if self.backwards else LITTLE_EFFORT, left))
            number = reuse.numbers.get(entry.function, MODULE - 1)
            left -= ENTERING + self._enter(reuse, number, PATHS if self.backwards else FEW_PATHS, effort, entry)

    def _enter(self, reuse: Reuse, number: int, paths: int, effort: int, entry: entry_points.Entry | None) -> int:
        """Enter one entry point, and return how many statements that took."""
        record = reuse.known(number, paths, effort)
        if record is None:
            record = self._inspected(reuse, number, paths, effort, entry)
        else:
            self.called.update(reuse.functions_of(record.called))
        self.records.append(record)
        return record.steps

    def _inspected(
        self, reuse: Reuse, number: int, paths: int, effort: int, entry: entry_points.Entry | None
    ) -> Record:
        depth = self.depth
        runs = Runs(
            self.files,
            self.config,
            self.cancelled,
            entry,
            STEPS,
            forgives=not self.stack,
            goes_on=not (depth.traced or depth.thorough),
            mended=depth.mended,
        )
        runs.reported = self.settled
        self.source.read.clear()
        found = inspect(runs, self.source, paths, effort, thorough=depth.thorough)
        # What a function calls that was not run to its end may not have been seen to its end either.
        seen = set() if entry is not None and found.traces[0].truncated else _trained(runs.ran, found.traces)
        self.called.update(seen)
        steps = sum(trace.steps for trace in found.traces)
        told = found.traces if self.depth.thorough else found.traces[:1]
        record = Record(
            paths,
            steps - found.traces[-1].steps,
            None if steps < effort else steps,
            found.diagnostics,
            marks_of(found.traces, self.document, self.source),
            found.traces[0].unknowns,
            steps,
            reuse.pieces_of({*runs.ran, *runs.surveyed, *(() if entry is None else (entry.function,))}),
            reuse.numbers_of(seen),
            "" if entry is None else gaps.name_of(entry),
            tuple(ending_of(each, self.document.path, self.statements) for each in told),
            found.incomplete,
            runs.relies or self.document.path in self.source.read or self.files.checked.tree in runs.surveyed,
        )
        if not depth.explored:
            self.settled.update(found.settled)
        if self.depth.traced:
            explored = self.depth.explored
            kept = tuple(found.traces if explored else found.traces[:1])
            self.walks.append(Walk(record.name, kept, found.ways if explored else ()))
        if found.sound:
            reuse.records[number] = record
        return record

    def endings(self) -> dict[str, tuple[Ending, ...]]:
        """How the paths of each entry point ended, by its name; duplicates get a suffix."""
        endings: dict[str, tuple[Ending, ...]] = {}
        for each in self.records:
            endings[_unused(each.name, endings)] = each.endings
        return endings


def _trained(functions: Iterable[ast.AST], traces: Sequence[Trace]) -> set[ast.AST]:
    """The functions that were seen, without those that train and of which no path came to a backward.

    They may wait until a buffer has filled.
    """
    return {
        each
        for each in functions
        if not (waiting := _backwards(each))
        or any(statement in trace.visits for trace in traces for statement in waiting)
    }


@noted
def _backwards(function: ast.AST) -> tuple[ast.stmt, ...]:
    """The simple statements of a function that call a `backward`."""
    if all(method != "backward" for _, method, _ in methods_called(function)):
        return ()
    return tuple(
        each
        for each in inside(function, ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return)
        if any(method == "backward" for _, method, _ in methods_called(each))
    )


def _statements(tree: ast.Module) -> set[ast.AST]:
    """The statements of a tree, but for what is done about an exception."""
    return set(chain.from_iterable(map(_inside, tree.body)))


@noted
def _inside(statement: ast.stmt) -> tuple[ast.AST, ...]:
    """A statement and those in it, but for what is done about an exception."""
    return tuple(each for each in nodes(statement, outside=(ast.ExceptHandler,)) if isinstance(each, ast.stmt))


def _unused(name: str, names: Collection[str]) -> str:
    """The name, or a longer one where two entry points have the same."""
    while name in names:
        name += "'"
    return name


def _unique(diagnostics: Iterable[Diagnostic]) -> Iterable[Diagnostic]:
    """One diagnostic for each rule, or exception of PyTorch, and range: entry points may find the same fault.

    The gravest of them, and of several such the first.
    """
    best: dict[tuple[str, str, Range], Diagnostic] = {}
    order = list(Level)
    for each in diagnostics:
        key = (each.path, each.pytorch or each.rule, each.range)
        if key not in best or order.index(each.level) > order.index(best[key].level):
            best[key] = each
    return best.values()


def _configured(diagnostic: Diagnostic, config: Config) -> Diagnostic | None:
    if not is_selected(config, diagnostic.rule, diagnostic.family, diagnostic.path):
        return None
    level = level_of(config, diagnostic.rule, diagnostic.family, diagnostic.level)
    return None if level is None else replace(diagnostic, level=level)
