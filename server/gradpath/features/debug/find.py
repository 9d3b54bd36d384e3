"""The report on an explored analysis, entry point by entry point."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence

from gradpath.analysis.certainty import Judgement, Silence
from gradpath.analysis.check import Analysis, Walk
from gradpath.analysis.entry_points import Entry, is_entry
from gradpath.analysis.gaps import name_of
from gradpath.analysis.inspection import Way
from gradpath.diagnostic import Diagnostic, Range
from gradpath.features.debug import Blind, Choice, Debug, End, Entered, Event, Place, Presumed, Route, Seen, Skipped
from gradpath.features.debug.events import presumptions, words
from gradpath.features.debug.unreached import is_entered, unreached
from gradpath.features.debug.values import origin_of, told
from gradpath.findings.report import Source
from gradpath.interpreter.events import Decision, Site
from gradpath.interpreter.trace import Trace
from gradpath.interpreter.values import Unknown
from gradpath.overlays.relevance import speaks_of_tensors
from gradpath.source.document import Document
from gradpath.source.nodes import Definition, nodes

SILENT = {
    Silence.HALF_TYPED: "a line of its story cannot be read yet",
    Silence.NOT_ALWAYS: "it raises nothing, and another path reaches the same places without it",
    Silence.ONE_WAY: "it raises nothing, and is not found when a branch goes the other way each time",
    Silence.GUESSED: "it depends on several calls that are not seen, each of which would have to keep a graph",
    Silence.OPEN: "it depends on a condition that cannot be read yet, or on the mode of a function in another file",
    Silence.EACH_TIME: "a branch in a loop would have to go the same way every time",
}
"""The reasons for silence, in words."""

_LONGEST = 60
"""Characters of a piece of the program's text."""


def debugged(analysis: Analysis, line: int | None = None) -> Debug:
    """What was examined, and why the rest was not; `line` narrows events, choices, unknown values and presumptions."""
    document = analysis.document
    source = Source(dict(analysis.documents))
    own = frozenset(nodes(analysis.parsed.tree))
    entered = tuple(_entered(walk, analysis, source, own, line) for walk in analysis.walks)
    return Debug(document.path, line, entered, tuple(_left_out(analysis, own)), analysis.incomplete)


def _entered(walk: Walk, analysis: Analysis, source: Source, own: Collection[ast.AST], line: int | None) -> Entered:
    document = analysis.document
    ways = walk.ways or (Way("", walk.traces),)
    traces = [trace for way in ways for trace in way.traces]
    wanted = _Wanted(document, line)
    routes = tuple(_routes(ways, source, wanted))
    entry, given = traces[0].entry, next((trace.given for trace in traces if trace.given), {})
    body = entry.body if isinstance(entry, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef)) else []
    return Entered(
        walk.name,
        getattr(entry, "lineno", None),
        tuple((name, told(value)) for name, value in given.items()),
        routes,
        tuple(_seen(ways, analysis.diagnostics)),
        unreached(body, traces),
        tuple(_blind(traces, source, own, wanted)),
        tuple(_presumed(traces, wanted)),
        line is None or any(node in own and wanted.has(node) for trace in traces for node in trace.visits),
    )


class _Wanted:
    """The line that is asked about, or all."""

    def __init__(self, document: Document, line: int | None) -> None:
        self._path, self._line = document.path, line

    def has(self, node: ast.AST) -> bool:
        """True if a node of the document is on the line; of a compound statement only the head counts."""
        if self._line is None:
            return True
        first = int(getattr(node, "lineno", 0))
        body = getattr(node, "body", None)
        last = body[0].lineno - 1 if isinstance(body, list) and body else getattr(node, "end_lineno", None) or first
        return first <= self._line <= max(first, last)

    def covers(self, site: Site) -> bool:
        """True if something happens there, or in a call there."""
        if self._line is None:
            return True
        return any(frame.path == self._path and self.has(frame.node) for frame in site.frames())


def _routes(ways: Sequence[Way], source: Source, wanted: _Wanted) -> Iterator[Route]:
    number = 0
    for way in ways:
        for trace in way.traces:
            number += 1
            end, said, at = _end(trace)
            yield Route(
                number,
                way.condition,
                trace.steps,
                end,
                said,
                at,
                tuple(_choice(each, source) for each in trace.decisions if wanted.covers(each.site)),
                tuple(getattr(each, "lineno", 1) for each in trace.given_up),
                tuple(
                    Event(_place(each.site), type(each).__name__, words(each))
                    for each in trace.events
                    if wanted.covers(each.site)
                ),
            )


def _end(trace: Trace) -> tuple[End, str, Place | None]:
    failure = next(iter(trace.failures()), None)
    if failure is not None:
        return End.EXCEPTION, f"{failure.exception}: {failure.message}".removesuffix(": "), _place(failure.site)
    if trace.truncated:
        return End.BUDGET, "the budget of a path is used up", None
    return End.END, "", None


def _choice(decision: Decision, source: Source) -> Choice:
    node = decision.node
    if isinstance(node, ast.Try):
        text = "the `try` raises nothing"
    else:
        text = source.short(decision.site, node if hasattr(node, "lineno") else None, _LONGEST)
    return Choice(_place(decision.site), text, decision.outcome is not decision.negated)


def _place(site: Site) -> Place:
    return Place(site.path, site.line)


def _seen(ways: Sequence[Way], diagnostics: Iterable[Diagnostic]) -> Iterator[Seen]:
    """The reports of rules, and their judgements."""
    reported = {(each.rule, each.path, each.range) for each in diagnostics}
    begin = 1
    for way in ways:
        numbers = {id(trace): number for number, trace in enumerate(way.traces, begin)}
        begin += len(numbers)
        for each in way.judgements:
            report = each.found.report
            routes = tuple(numbers[id(trace)] for trace in each.traces)
            yield Seen(each.found.rule.id, _place(report.at), report.headline, routes, _reason(each, reported))


def _reason(judgement: Judgement, reported: Collection[tuple[str, str, Range]]) -> str:
    outcome = judgement.outcome
    if isinstance(outcome, Silence):
        return SILENT[outcome]
    if (outcome.rule, outcome.path, outcome.range) not in reported:
        return "a comment or the configuration leaves it out"
    return ""


def _blind(traces: Sequence[Trace], source: Source, own: Collection[ast.AST], wanted: _Wanted) -> Iterator[Blind]:
    """The unknown values of the document that may have a graph or none, each place once, in the order of the lines."""
    called = {node.func for node in own if isinstance(node, ast.Call)}
    found: dict[ast.AST, Blind] = {}
    for trace in traces:
        for node in trace.unclear():
            value = trace.blind[node]
            if node in found or node not in own or not wanted.has(node) or not isinstance(value, Unknown):
                continue
            # A parameter, an import, or a method that is about to be called: what comes of it comes up again.
            if not isinstance(node, ast.expr) or node in called:
                continue
            at = Place(value.site.path, getattr(node, "lineno", value.site.line))
            found[node] = Blind(at, source.short(value.site, node, _LONGEST), origin_of(value))
    yield from sorted(found.values(), key=lambda each: each.at.line)


def _presumed(traces: Sequence[Trace], wanted: _Wanted) -> Iterator[Presumed]:
    lines: dict[tuple[str, str], set[int]] = {}
    for trace in traces:
        for event in trace.events:
            if wanted.covers(event.site):
                for each in presumptions(event):
                    lines.setdefault((each.row, each.condition), set()).add(event.site.line)
    return (Presumed(row, said, tuple(sorted(places))) for (row, said), places in lines.items())


def _left_out(analysis: Analysis, own: Collection[ast.AST]) -> Iterator[Skipped]:
    """The code of the module and the functions that no path came to."""
    document, tree = analysis.document, analysis.parsed.tree
    if not speaks_of_tensors(document.text):
        yield Skipped(1, document.line_count, "nothing in the text has to do with tensors, so it is not analysed")
        return
    if not any(isinstance(walk.traces[0].entry, ast.Module) for walk in analysis.walks):
        yield Skipped(1, document.line_count, "it only defines things", "the code of the module")
    visited = {
        node
        for walk in analysis.walks
        for traces in (walk.traces, *(way.traces for way in walk.ways))
        for trace in traces
        for node in trace.visits
        if node in own
    }
    budget = {gap.entry for gap in analysis.incomplete}
    for function, owner in _functions(tree.body, None):
        if not is_entered(function, visited):
            name = name_of(Entry(function, owner))
            yield Skipped(function.lineno, function.end_lineno or function.lineno, _why(function, owner, budget), name)


def _why(function: Definition, owner: str | None, incomplete: Collection[str | None]) -> str:
    if name_of(Entry(function, owner)) in incomplete:
        return "it was not followed (see what was not fully checked)"
    if is_entry(function, owner):
        return "no path comes to a call of it"
    return "it does not call what computes or uses gradients, so a call alone enters it, and none was run"


def _functions(body: Sequence[ast.stmt], owner: str | None) -> Iterator[tuple[Definition, str | None]]:
    """The functions of a module and the methods of its classes; those inside of functions belong to them."""
    for statement in body:
        if isinstance(statement, Definition):
            yield statement, owner
        elif isinstance(statement, ast.ClassDef):
            yield from _functions(statement.body, statement.name)
        elif isinstance(statement, (ast.If, ast.Try, ast.With)):
            yield from _functions([*statement.body, *getattr(statement, "orelse", ())], owner)
