"""The command line: one file a subcommand, and only the chosen one is imported."""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from gradpath import __version__
from gradpath.cli import status
from gradpath.cli.plain_arguments import plainly_parsed
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.suggestions import did_you_mean

if TYPE_CHECKING:
    import argparse


class Command(Protocol):
    """The interface of a subcommand's module."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the subcommand's arguments."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Do the work and return the exit status; raises `UsageError` for arguments that make no sense."""


@dataclass(frozen=True, slots=True)
class _Entry:
    module: str
    summary: str

    @property
    def description(self) -> str:
        """The summary as a sentence."""
        return f"{self.summary[0].upper()}{self.summary[1:]}."


_COMMANDS = {
    "check": _Entry("gradpath.cli.check", "find autograd mistakes in files and folders"),
    "rule": _Entry("gradpath.cli.rule", "show the page of a rule, or the table of all rules"),
    "explain": _Entry("gradpath.cli.explain", "explain a traceback of an autograd error"),
    "run": _Entry("gradpath.cli.attended", "run a program, and explain the error if it fails in autograd"),
    "graph": _Entry("gradpath.cli.graph", "draw the graph of a loss"),
    "flow": _Entry("gradpath.cli.flow", "show which parameters get gradients from which loss, and what updates them"),
    "why": _Entry("gradpath.cli.why", "say why a module or a parameter gets no gradient, or what trains it"),
    "debug": _Entry("gradpath.cli.debug", "show what was looked at in a file, and why nothing is reported of a line"),
    "guide": _Entry("gradpath.cli.guide", "print a page on working with gradpath, for coding assistants"),
    "mcp": _Entry("gradpath.cli.mcp", "offer check, explain, rule and why to a coding assistant as tools"),
    "schema": _Entry("gradpath.cli.schema", "print the JSON schema of the configuration"),
    "server": _Entry("gradpath.cli.server", "run the language server for an editor"),
}


def program() -> NoReturn:
    """`main` as a program of its own: the process ends with it."""
    gc.disable()  # Nothing that is loaded is garbage; a command that makes some turns the collector on.
    answer = main()
    gc.freeze()  # Who ends needs no look for garbage: after a check it would take a fifth of the time.
    if "threading" not in sys.modules:  # No thread is waited for, so nothing has to be taken apart either.
        _flush()
        os._exit(answer)
    sys.exit(answer)


def _flush() -> None:
    """Write what is still buffered; `main` has told of a stream that cannot be written."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status; `arguments` are those of the process unless given."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _prepare_streams()
    try:
        answer = _run(words)
        sys.stdout.flush()
        return answer
    except SystemExit as exit:
        return exit.code if isinstance(exit.code, int) else status.CLEAN
    except KeyboardInterrupt:
        return status.INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return status.BROKEN_PIPE
    except OSError as error:  # Such as a full disk under the output, or a current folder that has been removed.
        _drop_output()
        _complain(error)
        return status.UNUSABLE
    except Exception:
        if os.environ.get("GRADPATH_TRACEBACK"):
            raise
        return _failed()


def _complain(error: OSError) -> None:
    from gradpath.render.width import safe_text

    where = f"{error.filename}: " if isinstance(error.filename, str) else ""
    reason = f"{where}{error.strerror or error}" if _has_folder() else "the current folder has been removed"
    print(safe_text(f"gradpath: {reason}"), file=sys.stderr)


def _has_folder() -> bool:
    try:
        return bool(os.getcwd())
    except OSError:
        return False


def _failed() -> int:
    """Tell in a line of a bug in gradpath itself, or of a memory that is full; the last resort."""
    from gradpath.render.width import safe_text
    from gradpath.support.internal_errors import Place, failed, unlogged

    with unlogged():
        failure = failed("the command line failed", Place("", 1))
    report = f"; a report to attach to an issue is {failure.report}" if failure.report else ""
    print(safe_text(f"gradpath: gradpath itself failed: {failure.cause}{report}"), file=sys.stderr)
    return status.UNUSABLE


def _run(words: Sequence[str]) -> int:
    name = next((word for word in words if not word.startswith("-")), None)
    if name is not None and name not in _COMMANDS:
        return _unknown_command(name)
    if name is None or words[0] != name:
        return _run_alone(words[: words.index(name)] if name is not None else words)
    module: Command = importlib.import_module(_COMMANDS[name].module)
    plain: Any = plainly_parsed(module.configure, words[1:])
    try:
        return module.run(_parser(name, module).parse_args(words[1:]) if plain is None else plain)
    except status.UsageError as error:
        _parser(name, module).error(str(error))


def _parser(name: str, module: Command) -> argparse.ArgumentParser:
    from gradpath.cli.parser import Parser

    parser = Parser(f"gradpath {name}", _COMMANDS[name].description)
    module.configure(parser)
    return parser


def _run_alone(options: Sequence[str]) -> int:
    """Run the program without a command, which is for its help and its version."""
    import argparse

    from gradpath.cli.parser import Parser

    parser = Parser(
        "gradpath",
        "Find PyTorch autograd mistakes in Python source, without running it.",
        "`gradpath COMMAND --help` shows more about a command.",
    )
    parser.add_argument("--version", action="version", version=f"gradpath {__version__}")
    # They are there for the list in the help: a `Parser` would be made with whatever options this Python's has.
    plain = argparse.ArgumentParser
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", prog="gradpath", parser_class=plain)
    for command, entry in _COMMANDS.items():
        subparsers.add_parser(command, help=entry.summary, description=entry.description)
    parser.parse_args(options)
    parser.print_help(sys.stderr)
    return status.UNUSABLE


def _unknown_command(name: str) -> int:
    if os.path.exists(name) or name.endswith(".py"):
        hint = f"; did you mean `gradpath check {name}`?"
    else:
        hint = did_you_mean(name, _COMMANDS) or f" (there are {', '.join(_COMMANDS)})"
    print(f"gradpath: unknown command `{name}`{hint}", file=sys.stderr)
    return status.UNUSABLE


def _prepare_streams() -> None:
    """Make every word writable: a terminal encoding may lack it, and a stream may be closed."""
    if sys.stdout is None or sys.stderr is None:
        nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - it stays open as long as the process
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Send what is still buffered nowhere, so that the interpreter's last flush does not complain either."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
