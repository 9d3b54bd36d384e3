"""`gradpath explain`: explains a traceback of one of PyTorch's autograd errors, with the ways out."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from gradpath.cli.status import CLEAN, FOUND, UNUSABLE
from gradpath.cli.terminal import complain, standard_input, style_for
from gradpath.features.explaining import Place
from gradpath.features.explanation import Answer, answer_to, told
from gradpath.features.whereabouts import Whereabouts
from gradpath.render.json import diagnostic_as_json
from gradpath.support.internal_errors import unlogged
from gradpath.support.reading import LOG, read_bytes

_STDIN = "-"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gradpath explain`."""
    parser.epilog = "Exit status: 0 explained; 1 no explanation; 2 bad usage, or a file that cannot be read."
    add = parser.add_argument
    add("traceback", nargs="?", default=_STDIN, metavar="FILE", help="a file with the traceback, or a log around it")
    add("--program", action="append", default=[], metavar="PATH", help="a file or notebook of the traceback, if moved")
    add("--output-format", choices=("full", "json"), default="full", help="output format (default: full)")


def run(arguments: argparse.Namespace) -> int:
    """Explain a traceback from a file or from standard input."""
    try:
        text = _read(arguments.traceback)
    except OSError as error:
        complain(arguments.traceback, error.strerror or str(error))
        return UNUSABLE
    whereabouts = Whereabouts(Path(), tuple(arguments.program))
    with unlogged():
        answer = answer_to(text, whereabouts)
    if arguments.output_format == "json":
        print(json.dumps(_as_json(answer, whereabouts), indent=1))
    else:
        for line in told(answer, whereabouts, style_for(sys.stdout)):
            print(line)
    return FOUND if answer.match is None else CLEAN


def _read(path: str) -> str:
    data = standard_input("the traceback") if path == _STDIN else read_bytes(path, LOG, pipes=True)
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    return data.decode(encoding, errors="replace")


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
