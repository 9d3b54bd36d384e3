"""`gradpath run`: runs a program unchanged and, if it fails in autograd, explains the error."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from gradpath.cli.passing import end_like, passing
from gradpath.cli.status import UsageError

_NOT_FOUND = 127
_NOT_EXECUTABLE = 126
_MOST = 3
ATTENDED = "GRADPATH_RUN"
"""Set in the environment of the program, so that the plugin of pytest does not explain the same error twice."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gradpath run`."""
    parser.usage = "gradpath run COMMAND ..."
    parser.epilog = (
        "Input, output, signals and the exit status are those of the command; a story is added on standard error. "
        "For example: gradpath run python train.py --epochs 3; gradpath run pytest; gradpath run torchrun train.py"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the program and its arguments")


def run(arguments: argparse.Namespace) -> int:
    """Run the command, and explain the error if it is one of PyTorch's autograd errors."""
    command = list(arguments.command)
    if command[:1] == ["--"]:
        del command[0]
    if not command:
        raise UsageError("name a program to run, as in `gradpath run python train.py`")
    os.environ[ATTENDED] = "1"
    try:
        ended = passing(command)
    except OSError as error:
        return _not_started(command, error)
    if ended.status:
        _tell(ended.written)
    return end_like(ended.status)


def _not_started(command: list[str], error: OSError) -> int:
    name = command[0]
    missing = isinstance(error, FileNotFoundError)
    hint = f"; did you mean `gradpath run python {' '.join(command)}`?" if name.endswith(".py") else ""
    reason = "there is no such program" if missing else error.strerror or str(error)
    print(f"gradpath run: {name}: {reason}{hint}", file=sys.stderr)
    return _NOT_FOUND if missing else _NOT_EXECUTABLE


def _tell(written: str) -> None:
    """Tell the story of each autograd error in what a program wrote; nothing where there is none."""
    from gradpath.features.tracebacks import mentions_a_traceback

    if not mentions_a_traceback(written):
        return
    from gradpath.cli.terminal import style_for
    from gradpath.features.explanation import answers_to, told
    from gradpath.features.whereabouts import Whereabouts
    from gradpath.support.internal_errors import unlogged

    whereabouts = Whereabouts(Path())
    try:
        with unlogged():
            for answer in answers_to(written, whereabouts, _MOST):
                print(file=sys.stderr)
                for line in told(answer, whereabouts, style_for(sys.stderr)):
                    print(line, file=sys.stderr)
    except KeyboardInterrupt:
        print(file=sys.stderr)
    except Exception as error:  # noqa: BLE001 - the program has ended, and its status counts.
        print(f"gradpath run: gradpath itself failed: {error!r}", file=sys.stderr)
    sys.stderr.flush()
