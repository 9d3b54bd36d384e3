"""The explanation of a traceback, from its text alone: the user's files in it, and the fault there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from gradpath.analysis.check import LEAN, Analysis, check
from gradpath.analysis.fix_validation import mended
from gradpath.config import Config, find_config
from gradpath.diagnostic import Diagnostic, Gap
from gradpath.features.explaining import Match, Place, matching, of_autograd, rules_for
from gradpath.features.tracebacks import Failure, failures
from gradpath.features.whereabouts import Whereabouts
from gradpath.render.full import render_full
from gradpath.render.gaps import gap_lines
from gradpath.render.style import BOLD, PLAIN, Style
from gradpath.render.width import safe_text, wrapped
from gradpath.source.cells import CellsDocument, gaps_in_cells, in_cells, texts_of
from gradpath.source.document import Document
from gradpath.support.fast_dataclasses import dataclass, replace
from gradpath.support.internal_errors import Place as Spot
from gradpath.support.internal_errors import failed


@dataclass(frozen=True, slots=True)
class Answer:
    """The explanation of a traceback: its fault, or the `reason` why that is unknown.

    `looked_at` are the files that were checked, `incomplete` the parts of them that were not, and `places` those of the
    stack in them, outermost first.
    """

    failure: Failure | None
    places: tuple[Place, ...] = ()
    looked_at: tuple[str, ...] = ()
    match: Match | None = None
    reason: str = ""
    incomplete: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True)
class Explained:
    """A story as a text; `found`: there is an error of autograd in it; `is_matched`: its fault is known."""

    text: str
    found: bool
    is_matched: bool


def explained(
    text: str, folder: Path, cancelled: Callable[[], bool] = lambda: False, style: Style = PLAIN
) -> Explained:
    """The explanation of a traceback as lines of text; the files that it names are looked for in `folder`.

    Paths are shown as absolute ones where `folder` is absolute.
    """
    whereabouts = Whereabouts(folder)
    answer = answer_to(text, whereabouts, cancelled)
    lines = "".join(f"{line}\n" for line in told(answer, whereabouts, style))
    found = answer.failure is not None and bool(rules_for(answer.failure))
    return Explained(lines, found, answer.match is not None)


def answer_to(text: str, whereabouts: Whereabouts, cancelled: Callable[[], bool] = lambda: False) -> Answer:
    """Find the fault that a traceback is about."""
    found = failures(text)
    failure = of_autograd(found)
    if failure is None:
        reason = (
            "this is not one of the errors that PyTorch's autograd raises" if found else "there is no traceback in it"
        )
        return Answer(found[-1] if found else None, reason=reason)
    return explanation_of(failure, whereabouts, cancelled)


def answers_to(
    text: str, whereabouts: Whereabouts, most: int, cancelled: Callable[[], bool] = lambda: False
) -> Iterator[Answer]:
    """The answers to the last `most` different autograd errors of a text, in its order.

    Several processes or tests may have failed, with the same error or with one each; ranks that failed alike count
    once.
    """
    distinct: dict[tuple[str, tuple[Place, ...]], Failure] = {}
    for failure in failures(text):
        if of_autograd([failure]):
            distinct[failure.kind, tuple(whereabouts.places(failure.frames))] = failure
    for failure in list(distinct.values())[-most:]:
        yield explanation_of(failure, whereabouts, cancelled)


def explanation_of(failure: Failure, whereabouts: Whereabouts, cancelled: Callable[[], bool] = lambda: False) -> Answer:
    """Find the fault that an exception of autograd is about."""
    places = whereabouts.places(failure.frames)
    if not places:
        return Answer(failure, reason="no file that the traceback names is here (--program PATH names one)")
    forward = whereabouts.places(failure.forward)
    paths = tuple(dict.fromkeys(place.path for place in (*places, *forward)))
    diagnostics: list[Diagnostic] = []
    incomplete: list[Gap] = []
    for path in paths:
        stack = {place.line for place in (*places, *forward) if place.path == path}
        analysis = _analysis(whereabouts.documents[path], stack, cancelled)
        diagnostics += analysis.diagnostics
        incomplete += gaps_in_cells(analysis.incomplete, analysis.document)
    match = matching(failure, places, forward, diagnostics)
    reason = "" if match else "nothing in these files ends in this error, as far as they can be followed"
    if match is not None:
        match = replace(match, diagnostic=in_cells(match.diagnostic, _notebooks(whereabouts)))
    return Answer(failure, tuple(places), paths, match, reason, tuple(incomplete))


def told(answer: Answer, whereabouts: Whereabouts, style: Style = PLAIN) -> Iterator[str]:
    """An answer as lines for people."""
    if answer.failure is not None:
        headline = wrapped(safe_text(f"{answer.failure.kind}: {answer.failure.message}"), style.width)
        yield from (style.paint(line, BOLD) for line in headline)
        yield from _stack(answer.places, whereabouts)
        yield ""
    if answer.match is None:
        yield from wrapped(f"Cannot explain it: {answer.reason}.", style.width)
        if answer.looked_at:
            yield f"Looked at: {', '.join(map(safe_text, answer.looked_at))}"
        yield from map(safe_text, gap_lines(answer.incomplete))
        return
    diagnostic = answer.match.diagnostic
    if not answer.match.certain:
        yield "Where it was raised is not where the fault shows here, but on the way there is:"
    yield render_full(diagnostic, texts_of(whereabouts.documents), style)
    fixes = [fix for fix in diagnostic.fixes if fix.edits]
    if fixes:
        yield ""
        yield "Ways out that an editor, or `gradpath check --fix --unsafe-fixes`, can apply:"
        for fix in fixes:
            yield from wrapped(f"  - {safe_text(fix.title)} ({fix.safety.value})", style.width, "    ")
    yield ""
    yield f"More: gradpath rule {diagnostic.rule}"


def _analysis(document: Document, stack: Collection[int], cancelled: Callable[[], bool]) -> Analysis:
    """The findings of all rules in a document, regardless of its configuration."""
    config = replace(_config(document), select=(), ignore=(), levels={}, per_file_ignores={})
    analysis = check(document, config, stack=stack, cancelled=cancelled, depth=LEAN)
    try:
        return mended(analysis, config, cancelled=cancelled)
    except Exception:  # noqa: BLE001 - reported, and the explanation does without fixes.
        failed("the trial of fixes failed", Spot(document.path))
        return replace(analysis, diagnostics=tuple(replace(each, fixes=()) for each in analysis.diagnostics))


def _config(document: Document) -> Config:
    return find_config(Path(document.path).absolute().parent)[0]


def _notebooks(whereabouts: Whereabouts) -> dict[str, CellsDocument]:
    return {path: each for path, each in whereabouts.documents.items() if isinstance(each, CellsDocument)}


def _stack(places: Sequence[Place], whereabouts: Whereabouts) -> Iterator[str]:
    """The calls in the user's files, innermost first."""
    for number, place in enumerate(reversed(places)):
        cell, line = whereabouts.shown(place)
        where = f"{place.path}:{line}" if cell is None else f"{place.path}: cell {cell}, line {line}"
        function = f" in {place.function}" if place.function else ""
        yield safe_text(f"   {'called from' if number else 'raised at'} {where}{function}")
