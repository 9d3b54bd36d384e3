"""One entry point looked at: its paths are run, the rules read what happened, and the verdict says what is certain."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator

from gradpath.analysis import entry_points
from gradpath.analysis.certainty import Judgement, judge
from gradpath.analysis.found import Found
from gradpath.analysis.gaps import failure_in, name_of, unfollowed
from gradpath.analysis.mentions import is_telling
from gradpath.config import Config
from gradpath.diagnostic import Diagnostic, Gap, Level
from gradpath.findings.report import Report, Rule, Source
from gradpath.interpreter.budget import Cancelled
from gradpath.interpreter.classes import unpatch
from gradpath.interpreter.entered import Use
from gradpath.interpreter.events import Site
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.paths import NOWHERE, Going, Paths, explore
from gradpath.interpreter.run import go_on, make_machine, run_definitions, run_function, run_inner, run_module
from gradpath.interpreter.trace import Trace
from gradpath.names.files import Files
from gradpath.overlays import Overlays
from gradpath.overlays.frameworks.engines import places_of_result
from gradpath.overlays.presumed.criteria import is_criterion
from gradpath.overlays.project_modules import ProjectModules
from gradpath.rules import RULES
from gradpath.source.cells import bodies
from gradpath.source.document import Document
from gradpath.source.nodes import nodes
from gradpath.support.fast_dataclasses import dataclass, replace
from gradpath.support.internal_errors import Place, failed


class Runs:
    """The runs of one entry point (None: the module body), and the functions that they ran or looked into.

    Each may execute so many `steps`. If one `goes_on`, what its trace was at first refers to what becomes of it later.
    """

    def __init__(
        self,
        files: Files,
        config: Config,
        cancelled: Callable[[], bool],
        entry: entry_points.Entry | None,
        steps: int,
        *,
        forgives: bool = True,
        goes_on: bool = False,
        mended: Collection[int] = (),
    ) -> None:
        self.files, self.entry = files, entry
        self._config, self._cancelled, self._steps, self._forgives = config, cancelled, steps, forgives
        self._mended = mended
        self.goes_on = goes_on and entry is not None
        self.reported: Collection[tuple[str, ast.AST]] = frozenset()
        """The rules and places of what other entry points have shown as gravely as can be."""
        self.relies = False
        """Whether something was left out because it is reported already."""
        self._machine: Machine | None = None
        self.ran: set[ast.AST] = set()
        self.surveyed: set[ast.AST] = set()
        self.owner = None if entry is None else entry.owner
        """The class that `self` is of, where a method is entered."""
        self.use = Use.ALONE
        """The use of the function that is entered."""
        self.predictions = frozenset[str]() if entry is None else entry_points.predictions_of(entry, files.checked)
        """The parameters that are presumed to have a graph where the function is used as a loss, or as a layer."""
        is_layer = entry is not None and not is_criterion(entry.function, entry.owner)
        self.written = " and ".join(f"`{each}`" for each in sorted(self.predictions)) if is_layer else ""
        """Those that a layer writes in place, in words."""
        self.others: set[object] = set()
        """Other uses that the paths have shown to be of interest."""
        self.ended: dict[object, tuple[Machine, Callable[[], None] | None]] | None = None
        """The runs that can go on as those with a backward do, with what these do more, if they are kept."""

    @property
    def document(self) -> Document:
        return self.files.checked.document

    def run(self, prefix: tuple[bool, ...], going: Going = NOWHERE) -> Trace:
        """Run the path that begins with these decisions and then takes some ways."""
        ways = prefix, frozenset(going.items())
        if self.use is Use.BACKWARD and self.ended is not None and ways in self.ended:
            return self._gone_on(*self.ended.pop(ways))
        document, tree, entry = self.document, self.files.checked.tree, self.entry
        overlays = Overlays(ProjectModules(self.files), self._config.assume)
        entered = tree if entry is None else entry.function
        self._machine = machine = make_machine(overlays, prefix, entered, document.path, self._steps, going)
        machine.budget.stopped, machine.called, machine.surveyed = self._cancelled, self.ran, self.surveyed
        machine.forgives = self._forgives
        if self._mended:
            machine.autograd.is_mended = self._is_mended
        if self.use is Use.LOSS:
            machine.predictions = self.predictions
        backward = None
        try:
            if entry is None:
                run_module(machine, bodies(document, tree))
            else:
                run_definitions(machine, tree)
                backward = run_function(machine, tree, entry.function, self.owner, self.use)
            whole = not run_inner(machine, tree, is_telling, self.use) and not machine.patched
        finally:
            unpatch(machine)
        trace = machine.trace
        self.others |= machine.uses
        if self.use is Use.ALONE and whole and self.ended is not None:
            self.ended[ways] = machine, backward
        else:
            machine.end()
        self._machine = None
        return trace

    def _gone_on(self, machine: Machine, backward: Callable[[], None] | None) -> Trace:
        """The trace of a run that goes on with a backward, where it has come to none."""
        self._machine = machine
        if backward is not None:
            go_on(machine, backward)
        trace = machine.trace
        machine.end()
        self._machine = None
        return trace

    def let_go(self) -> None:
        """Keep no run any more."""
        for machine, _ in (self.ended or {}).values():
            machine.end()
        self.ended = None

    def is_reported(self, rule: Rule, report: Report) -> bool:
        """True if a report is known from another entry point, and can be no graver here."""
        known = (rule.id, report.at.node) in self.reported
        self.relies = self.relies or known
        return known

    def _is_mended(self, site: Site) -> bool:
        return site.path == self.document.path and site.line in self._mended

    @property
    def condition(self) -> str | None:
        """What is presumed of everything that is found."""
        if self._mended:
            return f"once line {min(self._mended)} is mended"
        return None if self.entry is None else self.entry.presumed

    def place(self) -> Place:
        """Where a run is that has not come to its end because gradpath failed; else where the entry point begins."""
        latest = None if self._machine is None else next(self._machine.come_to(-1), None)
        for path in list(self.files.documents) if latest is not None else ():
            parsed = self.files.parsed(self.files.path_of(path)) if path != self.document.path else self.files.checked
            if parsed is not None and any(each is latest for each in nodes(parsed.tree)):
                return Place(path, getattr(latest, "lineno", 1), latest)
        return Place(self.document.path, 1 if self.entry is None else self.entry.function.lineno)


@dataclass(frozen=True, slots=True)
class Way:
    """One way to run an entry point: the condition, in words, and what was found on its paths, the likeliest first."""

    condition: str
    traces: tuple[Trace, ...]
    judgements: tuple[Judgement, ...] = ()


@dataclass(frozen=True, slots=True)
class Inspected:
    """The findings of an entry point: at least one trace, the likeliest path's first, and the unchecked parts.

    `places` are those of all reports on single paths. `sound` is false where the analysis itself failed on it. `ways`
    are all the ways in which it was run, the plain one first.
    """

    ways: tuple[Way, ...]
    traces: list[Trace]
    incomplete: tuple[Gap, ...]
    sound: bool
    places: frozenset[tuple[str, ast.AST]] = frozenset()

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        judged = (each.outcome for way in self.ways for each in way.judgements)
        return tuple(each for each in judged if isinstance(each, Diagnostic))

    @property
    def settled(self) -> Iterator[tuple[str, ast.AST]]:
        """The rules and places of reports that can be no graver, whichever entry point comes to them."""
        for each in (judged for way in self.ways for judged in way.judgements):
            level = each.outcome.level if isinstance(each.outcome, Diagnostic) else None
            if level is Level.ERROR or (level is Level.WARNING and each.found.rule.level is not Level.ERROR):
                yield each.found.rule.id, each.found.report.at.node


def inspect(runs: Runs, source: Source, paths: int, effort: int, *, thorough: bool) -> Inspected:
    """Inspect an entry point on at most so many paths, with so many statements; `thorough` is as in `check`.

    If it leaves a graph it is run again, called twice; if it writes in place into what it returns, it is run again with
    a backward through the result.
    An inherited method is entered for the classes, too, that override what it calls.
    """
    found = _used(runs, source, paths, effort, thorough=thorough, presumed=runs.condition)
    left = HEIRS_EFFORT
    for owner in () if runs.entry is None else entry_points.heirs(runs.files.checked.tree, runs.entry):
        if found.traces[0].steps > left:
            break
        runs.owner, runs.use, runs.others = owner, Use.ALONE, set()
        condition = f"if `self` is of class `{owner}`"
        more = _used(runs, source, paths, MORE_EFFORT, told=found.places, presumed=condition)
        left -= sum(trace.steps for trace in more.traces)
        found = _with(found, more)
    return found


def _used(
    runs: Runs,
    source: Source,
    paths: int,
    effort: int,
    *,
    thorough: bool = False,
    told: frozenset[tuple[str, ast.AST]] = frozenset(),
    presumed: str | None = None,
) -> Inspected:
    """The same for one class of `self`, under the presumption `presumed`; what is `told` already is left out."""
    runs.ended = {} if runs.goes_on else None
    found = _inspect(runs, source, paths, effort, thorough=thorough, told=told, presumed=presumed)
    if Use.BACKWARD not in runs.others:
        runs.let_go()
    if runs.predictions:
        runs.others.add(Use.LOSS)
    for use, condition in _CONDITIONS.items():
        if use in runs.others:
            runs.use = use
            told |= found.places
            said = f"{condition} to {runs.written}" if runs.written and use is Use.LOSS else condition
            found = _with(found, _inspect(runs, source, paths, MORE_EFFORT, told=told, presumed=said))
    runs.let_go()
    return found


def _with(found: Inspected, more: Inspected) -> Inspected:
    """The findings of two runs together."""
    return replace(
        found,
        ways=(*found.ways, *more.ways),
        incomplete=found.incomplete if more.sound else (*found.incomplete, *more.incomplete),
        sound=found.sound and more.sound,
        places=found.places | more.places,
    )


MORE_EFFORT = 1_200
"""Statements that the paths of each of these other ways to use a function may execute together.

It depends on nothing else, so that the same is found where the result of an earlier check is reused.
"""

HEIRS_EFFORT = 4_000
"""Statements that a method may execute for all classes that inherit it; a class is left out that would go beyond."""

_CONDITIONS = {
    Use.FILLED: "if other methods ran first",
    Use.AGAIN: "in the second call",
    Use.BACKWARD: "if a backward goes through its result",
    Use.EACH: "if a backward goes through each result",
    Use.LOSS: "if a backward goes through its result",
}
"""The words for what is presumed of the function that is entered."""

_OF_RESULTS = (Use.BACKWARD, Use.EACH, Use.LOSS)


def _inspect(
    runs: Runs,
    source: Source,
    paths: int,
    effort: int,
    *,
    thorough: bool = False,
    told: Collection[tuple[str, ast.AST]] = (),
    presumed: str | None = None,
) -> Inspected:
    """The same for runs of one kind, under `presumed` (as in `judge`); what is `told` already is left out.

    An internal failure of the analysis loses only this entry point, one of a rule only what the rule would find.
    """
    known = Paths(runs.run)
    traces: list[Trace] = []
    found: list[Found] = []
    gaps: dict[str, Gap] = {}
    try:
        for trace in explore(known, paths, effort, combined=thorough):
            traces.append(trace)
            for rule in RULES.values():
                try:
                    reports = list(rule.find(trace, source))
                except Exception as error:  # noqa: BLE001 - reported, and the other rules still read the trace.
                    if rule.id not in gaps:
                        gaps[rule.id] = _failure(runs, error, rule.id)
                    continue
                found += [
                    Found(rule, each, trace)
                    for each in reports
                    if _begins(each, runs.document.path) and (rule.id, each.at.node) not in told
                    if runs.use not in _OF_RESULTS or (not rule.of_losses and _is_of_result(runs, each))
                    if not runs.is_reported(rule, each)
                ]
        judgements = tuple(judge(found, traces, known, source, runs.files.unread, presumed))
        incomplete = (*unfollowed(runs.document, traces[0], runs.entry), *gaps.values())
        places = frozenset((each.rule.id, each.report.at.node) for each in found)
        way = Way(presumed or "", tuple(traces), judgements)
        return Inspected((way,), traces, incomplete, True, places)
    except Cancelled:
        raise
    except Exception as error:  # noqa: BLE001 - reported, and the rest of the document is still analysed.
        return Inspected((), traces or [Trace(ast.Module([], []))], (_failure(runs, error),), False)


def _is_of_result(runs: Runs, report: Report) -> bool:
    """True if the backward through the result is where PyTorch would raise, or compute wrongly, and no other place."""
    last = report.raised_at or report.steps[-1].site
    places = () if runs.entry is None else places_of_result(runs.entry.function)
    return any(last.node is given for _, given in places)


def _failure(runs: Runs, error: Exception, rule: str = "") -> Gap:
    place = runs.place()
    name = "the code of the module" if runs.entry is None else name_of(runs.entry)
    what = f"the rule {rule} failed on {name}" if rule else f"the analysis of {name} failed"
    return failure_in(runs.document, runs.entry, place, error, failed(what, place), rule)


def _begins(report: Report, home: str) -> bool:
    """True if code of the file `home` leads to the place; what happens in an import is that module's own business."""
    return any(site.path == home for site in report.at.frames())
