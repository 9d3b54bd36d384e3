"""`gradpath explain`: the story behind a traceback of one of PyTorch's autograd errors, and the ways out."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from gradpath.cli.output import source_lookup
from gradpath.cli.run import Checked, check_document
from gradpath.cli.settings import Settings
from gradpath.cli.status import CLEAN, FOUND, UNUSABLE
from gradpath.cli.terminal import complain, style_for
from gradpath.cli.whereabouts import Whereabouts
from gradpath.diagnostic import Diagnostic
from gradpath.features.explaining import Match, Place, matching, of_autograd
from gradpath.features.tracebacks import Failure, failures
from gradpath.reading import LOG, read_bytes
from gradpath.records import dataclass, replace
from gradpath.render.full import render_full
from gradpath.render.json import diagnostic_as_json
from gradpath.render.style import BOLD, Style
from gradpath.render.width import safe_text
from gradpath.source.cells import CellsDocument, in_cells

_STDIN = "-"


@dataclass(frozen=True, slots=True)
class Answer:
    """What can be said of a traceback: the fault behind it, or `reason` why that cannot be told.

    `looked_at` are the files that were checked, and `places` those of the stack that lie in them, outermost first.
    """

    failure: Failure | None
    places: tuple[Place, ...] = ()
    looked_at: tuple[str, ...] = ()
    match: Match | None = None
    reason: str = ""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gradpath explain`."""
    parser.epilog = "Exit status: 0 explained; 1 cannot tell; 2 bad usage, or a file that cannot be read."
    add = parser.add_argument
    add("traceback", nargs="?", default=_STDIN, metavar="FILE", help="a file with the traceback, or a log around it")
    add("--program", action="append", default=[], metavar="PATH", help="a file or notebook that it tells of, if moved")
    add("--output-format", choices=("full", "json"), default="full", help="how to say it (default: full)")


def run(arguments: argparse.Namespace) -> int:
    """Explain a traceback from a file or from standard input."""
    try:
        text = _read(arguments.traceback)
    except OSError as error:
        complain(arguments.traceback, error.strerror or str(error))
        return UNUSABLE
    whereabouts = Whereabouts(tuple(arguments.program))
    answer = explained(text, whereabouts)
    if arguments.output_format == "json":
        print(json.dumps(_as_json(answer, whereabouts), indent=1))
    else:
        for line in _told(answer, whereabouts, style_for(sys.stdout)):
            print(line)
    return FOUND if answer.match is None else CLEAN


def _read(path: str) -> str:
    data = sys.stdin.buffer.read() if path == _STDIN else read_bytes(path, LOG, pipes=True)
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    return data.decode(encoding, errors="replace")


def explained(text: str, whereabouts: Whereabouts) -> Answer:
    """Find the fault that a traceback tells of."""
    found = failures(text)
    failure = of_autograd(found)
    if failure is None:
        reason = "this is none of the errors that PyTorch's autograd raises" if found else "there is no traceback in it"
        return Answer(found[-1] if found else None, reason=reason)
    places = whereabouts.places(failure.frames)
    if not places:
        return Answer(failure, reason="no file that the traceback names is here (--program PATH names one)")
    forward = whereabouts.places(failure.forward)
    settings = Settings()
    paths = tuple(dict.fromkeys(place.path for place in (*places, *forward)))
    checked = []
    for path in paths:
        stack = {place.line for place in (*places, *forward) if place.path == path}
        checked.append(_checked(path, whereabouts, settings, stack))
    match = matching(failure, places, forward, [each for one in checked for each in one.diagnostics])
    reason = "" if match else "nothing in these files ends in this error, as far as they can be followed"
    if match is not None:
        match = replace(match, diagnostic=_for_readers(match.diagnostic, whereabouts))
    return Answer(failure, tuple(places), paths, match, reason)


def _checked(path: str, whereabouts: Whereabouts, settings: Settings, stack: Collection[int]) -> Checked:
    """Check a file with all rules, whatever its configuration leaves out."""
    config = replace(settings.of_file(Path(path)), select=(), ignore=(), levels={}, per_file_ignores={})
    return check_document(whereabouts.documents[path], config, stack=stack)


def _for_readers(diagnostic: Diagnostic, whereabouts: Whereabouts) -> Diagnostic:
    """The diagnostic with the places of a notebook in its cells."""
    return in_cells(diagnostic, _notebooks(whereabouts))


def _notebooks(whereabouts: Whereabouts) -> dict[str, CellsDocument]:
    return {path: each for path, each in whereabouts.documents.items() if isinstance(each, CellsDocument)}


def _told(answer: Answer, whereabouts: Whereabouts, style: Style) -> Iterator[str]:
    if answer.failure is not None:
        yield style.paint(safe_text(f"{answer.failure.kind}: {answer.failure.message}"), BOLD)
        yield from _stack(answer.places, whereabouts)
        yield ""
    if answer.match is None:
        yield f"Cannot tell: {answer.reason}."
        if answer.looked_at:
            yield f"Looked at: {', '.join(map(safe_text, answer.looked_at))}"
        return
    diagnostic = answer.match.diagnostic
    if not answer.match.certain:
        yield "Where it was raised is not where the fault shows here, but on the way there is:"
    outcomes = [Checked(path, document) for path, document in whereabouts.documents.items()]
    yield render_full(diagnostic, source_lookup(outcomes), style)
    fixes = [fix for fix in diagnostic.fixes if fix.edits]
    if fixes:
        yield ""
        yield "Ways out that an editor, or `gradpath check --fix --unsafe-fixes`, can apply:"
        for fix in fixes:
            yield f"  - {safe_text(fix.title)} ({fix.safety.value})"
    yield ""
    yield f"More: gradpath rule {diagnostic.rule}"


def _stack(places: Sequence[Place], whereabouts: Whereabouts) -> Iterator[str]:
    """The calls in the user's files, innermost first."""
    for number, place in enumerate(reversed(places)):
        cell, line = whereabouts.shown(place)
        where = f"{place.path}:{line}" if cell is None else f"{place.path}: cell {cell}, line {line}"
        function = f" in {place.function}" if place.function else ""
        yield safe_text(f"   {'called from' if number else 'raised at'} {where}{function}")


def _place(place: Place, whereabouts: Whereabouts) -> dict[str, object]:
    cell, line = whereabouts.shown(place)
    return {"path": place.path, "cell": cell, "line": line, "function": place.function}


def _as_json(answer: Answer, whereabouts: Whereabouts) -> dict[str, object]:
    failure = answer.failure
    return {
        "version": 1,
        "explained": answer.match is not None,
        "error": None if failure is None else {"kind": failure.kind, "message": failure.message},
        "stack": [_place(each, whereabouts) for each in answer.places],
        "looked_at": list(answer.looked_at),
        "reason": answer.reason,
        "certain": answer.match is not None and answer.match.certain,
        "diagnostic": None if answer.match is None else diagnostic_as_json(answer.match.diagnostic),
    }
