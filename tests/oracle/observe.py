"""What PyTorch says of a program: run it in this process and name the exception and its line."""

from __future__ import annotations

import ast
import contextlib
import gc
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import torch

FILENAME = "program.py"
SECONDS = 10.0

KINDS: tuple[tuple[str, str], ...] = (
    ("TWICE", "Trying to backward through the graph a second time"),
    ("NOGRAD", "does not require grad and does not have a grad_fn"),
    ("VIEW_OF_LEAF", "a view of a leaf Variable that requires grad is being used in an in-place"),
    ("LEAF_INPLACE", "a leaf Variable that requires grad is being used in an in-place"),
    ("LEAF_MOVED", "leaf variable has been moved into the graph interior"),
    ("MODIFIED", "has been modified by an inplace operation"),
    ("MULTIVIEW", "returns multiple views"),
    ("VIEW_NOGRAD", "view was created in no_grad mode"),
    ("VIEW_NOGRAD", "view of a view which was created in no_grad mode"),
    ("VIEW_INFERENCE", "view of a view which was created in inference mode"),
    ("VIEW_INFERENCE", "view was created in inference mode"),
    ("SAVED_DETACHED", "a saved tensor that has been detached in-place"),
    ("INF_SAVED", "Inference tensors cannot be saved for backward"),
    ("INF_INPLACE", "Inplace update to inference tensor"),
    ("INF_RG", "Setting requires_grad=True on inference tensor"),
    ("INF_VERSION", "Inference tensors do not track version counter"),
    ("NOT_SCALAR", "grad can be implicitly created only for scalar outputs"),
    ("NUMPY_GRAD", "Can't call numpy() on Tensor that requires grad"),
    ("UNUSED", "appears to not have been used in the graph"),
    ("INPUT_NO_RG", "One of the differentiated Tensors does not require grad"),
    ("RG_NONLEAF", "you can only change requires_grad flags of leaf"),
    ("RG_DTYPE", "can require gradients"),
    ("RG_DTYPE2", "only Tensors of floating point"),
    ("OPT_NONLEAF", "can't optimize a non-leaf"),
    ("OPT_EMPTY", "optimizer got an empty parameter list"),
    ("RETAIN_NO_RG", "can't retain_grad on Tensor that has requires_grad=False"),
    ("HOOK_NO_RG", "cannot register a hook on a tensor that doesn't require"),
    ("DEEPCOPY", "Only Tensors created explicitly by the user"),
    ("NOT_IMPL", "is not implemented"),
    ("CUSTOM_MULTI", "custom Function"),
    ("DIRTY_LEAF", "a leaf Variable that requires grad has been used in an in-place"),
    ("SET_NONE_ASSIGN", "as parameter"),
    ("EXPAND_INPLACE", "more than one element of the written-to tensor refers to a single memory"),
    ("DETACH_VIEW", "Can't detach views in-place"),
    ("ONCE_DIFF", "marked with @once_differentiable"),
)
"""Kind and the words of PyTorch's message that mark it; the first match names the exception."""

PLAIN = ("NoneType", "object has no attribute 'backward'")
"""A gradient that is None, a loss that is a number: Python raises, and the class of the exception names the kind."""


@dataclass(frozen=True, order=True, slots=True)
class Fault:
    """An exception of autograd: its kind, and the innermost line (1-based) of the program in the traceback."""

    kind: str
    line: int


@dataclass(frozen=True, slots=True)
class Observation:
    """How a program ended under PyTorch.

    `fault` is None where it ran clean. `foreign` is the message of an exception that is none of autograd's: such a
    program says nothing about gradpath. `caught` are the faults that the program's own handlers took.
    """

    fault: Fault | None = None
    foreign: str = ""
    caught: tuple[Fault, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether no exception left the program."""
        return self.fault is None and not self.foreign


class TooLong(BaseException):
    """A program ran for more than SECONDS."""


def kind_of(error: BaseException) -> str | None:
    """Name an exception, or None where autograd did not raise it."""
    message = str(error)
    for kind, words in KINDS:
        if words in message:
            return kind
    if isinstance(error, TypeError | AttributeError) and any(words in message for words in PLAIN):
        return type(error).__name__
    return None


def fault_of(error: BaseException) -> Fault | None:
    """Kind and innermost program line of an exception, or None where it is foreign."""
    kind = kind_of(error)
    walk = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in walk if frame.f_code.co_filename == FILENAME]
    return Fault(kind, lines[-1]) if kind and lines else None


def fresh_state() -> None:
    """Put back the modes of PyTorch that a program may have left changed."""
    torch.set_grad_enabled(True)
    torch.default_generator.manual_seed(0)  # `torch.manual_seed` also notes the stack for each device that is absent.


class Session:
    """A namespace in which a program is run piece by piece."""

    def __init__(self) -> None:
        """Start with PyTorch's modes as in a new process."""
        fresh_state()
        self.caught: list[Fault] = []
        self.names: dict[str, Any] = {"__name__": "__main__", "print": _silent, "__caught__": self._catch}

    def _catch(self, error: BaseException) -> None:
        fault = fault_of(error)
        if fault is not None:
            self.caught.append(fault)

    def run(self, text: str, first_line: int = 1) -> Observation:
        """Run `text`, whose first line is line `first_line` of the program."""
        try:
            code = compiled(text, first_line)
        except (SyntaxError, ValueError) as error:
            return Observation(None, f"{type(error).__name__}: {error}")
        return self.execute(code)

    def execute(self, code: CodeType, names: dict[str, Any] | None = None) -> Observation:
        """Run what `compiled` made of a piece of the program, or of one with `names` of its own."""
        before = len(self.caught)
        fault: Fault | None = None
        foreign = ""
        try:
            with warnings.catch_warnings(), _time_limit():
                warnings.simplefilter("ignore")
                exec(code, self.names if names is None else names)
        except (Exception, TooLong) as error:  # noqa: BLE001 - whatever the program raises
            fault = fault_of(error)
            if fault is None:
                foreign = f"{type(error).__name__}: {error}".split("\n")[0]
            traceback.clear_frames(error.__traceback__)
        return Observation(fault, foreign, tuple(self.caught[before:]))


def observe(text: str) -> Observation:
    """Run a whole program in a namespace of its own."""
    session = Session()
    result = session.run(text)
    session.names.clear()
    fresh_state()
    _sweep()
    return result


def executed_lines(text: str) -> frozenset[int]:
    """The lines (1-based) of the program that a run reaches; slow, for the few programs where it is asked."""
    return lines_reached(lambda: observe(text))


def lines_reached(run: Callable[[], object]) -> frozenset[int]:
    """The same of a run of any kind."""
    seen: set[int] = set()

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != FILENAME:
            return None
        if event == "line":
            seen.add(frame.f_lineno)
        return trace

    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(None)
    return frozenset(seen)


def _silent(*_values: Any, **_options: Any) -> None:
    """Stand in for `print`."""


def compiled(text: str, first_line: int = 1, filename: str = FILENAME) -> CodeType:
    """A piece of a program as code whose handlers tell the session what they catch; raises SyntaxError."""
    placed = "\n" * (first_line - 1) + text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        if "except" not in text:
            return compile(placed, filename, "exec")
        tree = ast.parse(placed, filename)
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler):
                _report_to_session(node)
        return compile(ast.fix_missing_locations(tree), filename, "exec")


def _report_to_session(handler: ast.ExceptHandler) -> None:
    """Make a handler tell the session what it caught, on the line of its own first statement."""
    handler.name = handler.name or "__error__"
    report = ast.parse(f"__caught__({handler.name})").body[0]
    for node in ast.walk(report):
        ast.copy_location(node, handler.body[0])
    handler.body.insert(0, report)


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TooLong(f"more than {SECONDS} s")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


_runs = 0


def _sweep() -> None:
    """Collect now and then: a gradient that holds its own graph (`create_graph`) is a cycle."""
    global _runs
    _runs += 1
    if _runs % 50 == 0:
        gc.collect()


torch.set_num_threads(1)
