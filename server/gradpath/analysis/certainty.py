"""From reports on single paths to diagnostics: which faults are certain, and on which condition the others depend."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Sequence

from gradpath.analysis.found import Found, breaks_off, statement_of
from gradpath.analysis.headlines import LONGEST, branch, conditional, fitted
from gradpath.analysis.standing import agreed, finds, stands
from gradpath.autograd.provenance import Presumption
from gradpath.diagnostic import Diagnostic, Fix, Label, Level, best_of
from gradpath.findings.gradient_flow import is_left
from gradpath.findings.report import Report, Source, Step
from gradpath.interpreter.events import Decision, Failed, OfClass, OfTable
from gradpath.interpreter.paths import REMEMBERED, Paths, turned
from gradpath.interpreter.trace import Trace
from gradpath.overlays.presumed import conditions
from gradpath.overlays.presumed.asked import has_default, tells_of_graph, tells_of_word
from gradpath.source.index import holds
from gradpath.support.fast_dataclasses import dataclass, replace
from gradpath.support.fast_enums import Enum

TURNS = 10
"""How many decisions of a faulty path, the last and the first, are reversed to learn what the fault depends on.

One decision of each other branch is reversed as well.
"""

MANY = 4
"""Decisions at one branch that are not all alike by chance. Loops of unknown length run three times at the most."""

SEVERAL = 3
"""Decisions that are reversed on one path together before each of them is reversed on a path of its own."""

DOUBTFUL = 2
"""The doubt from which on a presumption is said although the fault depends on a branch as well."""

EFFORT = 18_000
"""Statements that the paths of an entry point may execute together while a fault is looked into."""


Unread = Callable[[str], Collection[int]]
"""The lines of a file, given its path, that are half typed."""


class Silence(Enum):
    """Why nothing is reported of what a rule found on a path."""

    HALF_TYPED = "half typed"
    """A line of its story cannot be read yet."""
    NOT_ALWAYS = "not always"
    """It raises nothing, and another path reaches the same places without it."""
    ONE_WAY = "one way"
    """A silent fault, or one of every path, is absent where a branch goes the other way, or trying takes too long."""
    GUESSED = "guessed"
    """It depends on several calls that are not seen, each of which would have to keep the graph of what it is given."""
    OPEN = "open"
    """It depends on a condition that is half typed or asks for a graph that is not seen, or on a function's mode.

    Or on an entry of a table, and the default is another one.
    """
    EACH_TIME = "each time"
    """A branch in a loop would have to go the same way every time, as where all of many parameters are frozen."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement of a report, the first of its kind and place: a diagnostic, or a reason for silence.

    `traces` are the paths on which it was found.
    """

    found: Found
    traces: tuple[Trace, ...]
    outcome: Diagnostic | Silence


def judge(
    found: Sequence[Found],
    traces: Sequence[Trace],
    paths: Paths,
    source: Source,
    unread: Unread,
    presumed: str | None = None,
) -> list[Judgement]:
    """One judgement for each rule and place: an error where no path passes unharmed, else a conditional warning.

    Nothing is reported of what happens in an `unread` line, or depends on a condition there. `presumed` is a condition,
    in words, on which everything depends that is found.
    """
    first: dict[tuple[str, str, ast.AST], Found] = {}
    faulty: dict[tuple[str, str, ast.AST], dict[int, Trace]] = {}
    for each in found:
        key = (each.rule.id, each.report.at.path, each.report.at.node)
        first.setdefault(key, each)
        faulty.setdefault(key, {})[id(each.trace)] = each.trace

    def outcome(each: Found, on: Collection[int]) -> Diagnostic | Silence:
        if any(site.line in unread(site.path) for site in each.sites):
            return Silence.HALF_TYPED
        if each.level is not Level.ERROR and (is_left(each.trace, each.sites) or not agreed(each, on, traces)):
            return Silence.NOT_ALWAYS
        if each.level is not Level.ERROR and not stands(each, paths, source):
            return Silence.ONE_WAY
        if len({on for on in _presumed(each) if on.row == conditions.OTHER.row}) > 1:
            return Silence.GUESSED
        condition = _condition(each, traces, paths, presumed, source)
        ends = (each.trace.entry is other.entry and other.returned and not other.has_failed for other in traces)
        if each.report.every_path and (isinstance(condition, Decision) or (condition is presumed and any(ends))):
            return Silence.ONE_WAY
        if condition is not None and _depends_on_half_typed(each, condition, paths, unread):
            return Silence.OPEN
        if isinstance(condition, Decision) and _is_needed_each_time(each, condition, paths):
            return Silence.EACH_TIME
        return _diagnostic(each, condition if isinstance(condition, str) else _said(each, condition, source), source)

    return [Judgement(each, tuple(faulty[key].values()), outcome(each, faulty[key])) for key, each in first.items()]


def _depends_on_half_typed(found: Found, condition: Decision | str, paths: Paths, unread: Unread) -> bool:
    others = [index for index, each in enumerate(found.trace.decisions) if _is_no_default(each, found)]
    if not _fails_turned(found, others, paths) and any(_passes_turned(found, index, paths) for index in others):
        return True
    decisions = (condition,) if isinstance(condition, Decision) else found.trace.decisions
    if any(getattr(each.node, "lineno", 0) in unread(each.site.path) for each in decisions):
        return True
    guesses = {
        each.node: index
        for index, each in reversed(list(enumerate(decisions)))
        if _is_mode_elsewhere(each, found) or tells_of_graph(each.about)
    }
    return bool(guesses) and (
        isinstance(condition, Decision) or any(_passes_turned(found, index, paths) for index in guesses.values())
    )


def _is_no_default(decision: Decision, found: Found) -> bool:
    """True if an entry of a table, a word of a text or a setting of a presumed object is not what its default says.

    Which words a text has is not looked up. It may be there for others: who trains chooses one that fits.
    """
    match decision.key:
        case OfTable(is_default=bool() as default):
            return default is not decision.outcome
    presumed = any(_presumes_class(each) and each.outcome for each in found.trace.decisions)
    return tells_of_word(decision.about) or (presumed and has_default(decision.about, not decision.outcome))


def _fails_turned(found: Found, indices: Sequence[int], paths: Paths) -> bool:
    """True if the path fails in the same way with some of its decisions reversed together, if there are several."""
    if len(indices) < SEVERAL or paths.executed + found.trace.steps > REMEMBERED:
        return False
    going = {found.trace.decisions[index].node: not found.trace.decisions[index].outcome for index in indices}
    return bool(_same(found, paths.trace(turned(found.trace, indices[0]), going)))


def _passes_turned(found: Found, index: int, paths: Paths) -> bool:
    """True if the path with one decision reversed does not fail, or if it would take too long to find out."""
    if paths.executed + found.trace.steps > REMEMBERED:
        return True
    return _passes(found, paths.trace(turned(found.trace, index)))


def _is_mode_elsewhere(decision: Decision, found: Found) -> bool:
    """True if the fault depends on the mode that a function of another file is given: `if method == "step"`.

    Such a function offers several, and who calls it chooses one that fits.
    """
    node = decision.node
    texts = isinstance(node, ast.Compare) and any(
        isinstance(each, ast.Constant) and isinstance(each.value, str) for each in (node.left, *node.comparators)
    )
    return texts and decision.site.path != found.report.at.path


def _said(found: Found, condition: Decision | None, source: Source) -> str | None:
    """The condition of a fault in words: a decision, a presumption, or both; None where the fault is proved."""
    presumed = _strongest(_presumed(found))
    if condition is not None:
        said = branch(condition, found.report.headline, source)
        if presumed is None or presumed.doubt < DOUBTFUL:
            return said
        both = f"{said} and {presumed.brief}"
        if len(found.report.headline) + len(both) + 2 <= LONGEST:
            return both
        return said if isinstance(condition.key, OfClass) else f"if {presumed.brief}"
    if presumed is None:
        return None
    return _if(presumed, found)


def _strongest(presumptions: Sequence[Presumption]) -> Presumption | None:
    """The presumption with the most doubt; of several the last, as what a graph saves says that there is one."""
    return max(reversed(presumptions), key=lambda each: each.doubt, default=None)


def _if(presumed: Presumption, found: Found) -> str:
    """The condition that a presumption holds, in the words for which the headline has room."""
    said = f"if {presumed.condition}"
    return said if len(found.report.headline) + len(said) + 2 <= LONGEST else f"if {presumed.brief}"


def _class(found: Found, paths: Paths, source: Source) -> Decision | None:
    """The decision that a parameter is of the only class that fits, if a silent fault depends on it.

    What an annotation says is taken for granted of such a fault.
    """
    for index, decision in enumerate(found.trace.decisions):
        match decision.key:
            case OfClass(fitted=True) | OfTable() if decision.outcome:
                if not finds(found, paths.trace(turned(found.trace, index)), source):
                    return decision
    return None


def _presumed(found: Found) -> list[Presumption]:
    """The presumptions on which the error of a report depends."""
    return _grounds(_same(found, found.trace)) if found.level is Level.ERROR else []


def _grounds(failures: Iterable[Failed]) -> list[Presumption]:
    """The presumptions on which exceptions depend."""
    return [each for failure in failures for each in failure.presumed]


def _condition(
    found: Found, traces: Sequence[Trace], paths: Paths, presumed: str | None, source: Source
) -> Decision | str | None:
    """The decision that the fault depends on, or words where it is not one alone; None where it is certain."""
    if found.level is not Level.ERROR:
        return _class(found, paths, source)
    decisions = found.trace.decisions
    for index in _tried(decisions):
        if paths.executed + found.trace.steps > EFFORT:
            return "on some paths"  # Which ones would take too long to find out.
        other = paths.trace(turned(found.trace, index))
        if _avoids(found, index, other, paths):
            return decisions[index]
        added = None if _presumed(found) else _strongest(_grounds(_same(found, other)))
        if added is not None:
            return _if(added, found)
    if any(_passes(found, trace) for trace in traces if trace.entry is found.trace.entry):
        return "on some paths"
    return presumed or (None if _presumed(found) else found.report.condition)


def _avoids(found: Found, index: int, other: Trace, paths: Paths) -> bool:
    """True if `other`, on which decision `index` is turned around, does not fail as the faulty path does.

    A path on which a parameter is of no known class need not come to the place, which may be in that class.
    """
    if isinstance(found.trace.decisions[index].key, OfClass):
        return not _same(found, other)
    return _passes(found, other) or _passes(found, _turned_alone(found.trace, index, other, paths))


def _is_needed_each_time(found: Found, condition: Decision, paths: Paths) -> bool:
    """True if a branch is decided for many things one after another, and any one other decision avoids the fault."""
    decisions = found.trace.decisions
    alike = [index for index, each in enumerate(decisions) if each.node is condition.node and each.site.loops]
    if len(alike) < MANY or any(decisions[index].outcome is not condition.outcome for index in alike):
        return False
    ends = (alike[0], alike[len(alike) // 2], alike[-1])
    return all(_avoids(found, index, paths.trace(turned(found.trace, index)), paths) for index in ends)


def _same(found: Found, other: Trace) -> list[Failed]:
    """The exceptions of another path where that of a report is raised."""
    at = found.report.raised_at
    return [] if at is None else [failure for failure in other.failures() if failure.site.node is at.node]


def _tried(decisions: Sequence[Decision]) -> list[int]:
    """Which decisions are turned around: the last ones, which are near the fault, the first, and one of each branch.

    Those that only presume of which class a parameter is come before all others: they are the more doubtful.
    """
    indices = range(len(decisions) - 1, -1, -1)
    of_each = {decisions[index].node: index for index in indices}
    fitted = [index for index in indices if _presumes_class(decisions[index])]
    return list(dict.fromkeys((*fitted, *indices[:TURNS], *indices[-TURNS:], *reversed(of_each.values()))))


def _presumes_class(decision: Decision) -> bool:
    match decision.key:
        case OfClass(fitted=True):
            return True
    return False


def _turned_alone(trace: Trace, index: int, other: Trace, paths: Paths) -> Trace:
    """`other`, on which decision `index` is turned around, with all later branches going as they go on `trace`."""
    wanted = {decision.node: decision.outcome for decision in trace.decisions[index + 1 :]}
    later = other.decisions[index + 1 :]
    differs = any(each.outcome != wanted.get(each.node, each.outcome) for each in later)
    return paths.trace(turned(trace, index), wanted) if differs else other


def _passes(found: Found, other: Trace) -> bool:
    """True if another path reaches both places as often as the faulty one and goes on, even if it fails there later."""
    at, raised = found.report.at, found.report.raised_at or found.report.at
    if breaks_off(found, other) or any(holds(raised.node, each) for each in other.survived):
        return False  # It would presumably end there, as by the backward of a loss that is None.
    for site in (at, raised):
        statement = statement_of(found.trace, site)
        if statement is None:
            return False
        mine, theirs = found.trace.visits.get(statement, 0), other.visits.get(statement, 0)
        harmed = theirs == mine and any(failure.site.node is site.node for failure in other.failures())
        if theirs < mine or harmed:
            return False
    return True


def _diagnostic(found: Found, condition: str | None, source: Source) -> Diagnostic:
    document = source.document(found.report.at)
    report = replace(found.report, fixes=tuple(each.told_in(document.path) for each in found.report.fixes))
    level = found.level
    headline = report.headline
    if condition is not None:
        level = Level.WARNING
        headline = conditional(headline, condition)
    elif any(failure.hidden for failure in _same(found, found.trace)):
        level = Level.WARNING
        headline = conditional(headline, "which a handler of exceptions hides")
    labels = tuple(_label(step, report, source) for step in report.steps)
    advice = report.advice() if source.proposes else ()
    return Diagnostic(
        document.path,
        document.range_of(report.at.node),
        found.rule.id,
        found.rule.family,
        level,
        fitted(headline, LONGEST),
        labels,
        report.pytorch,
        advice[0].text if advice else "",
        fixes=_one_preferred(report.fixes) if advice else (),
        advice=advice,
    )


def _label(step: Step, report: Report, source: Source) -> Label:
    place = source.document(step.site).range_of(step.site.node)
    return Label(step.site.path, place, step.message, step.site is report.at)


def _one_preferred(fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
    """The best of the eligible fixes is preferred."""
    chosen = best_of(fixes)
    return tuple(replace(fix, preferred=fix is chosen) for fix in fixes)
