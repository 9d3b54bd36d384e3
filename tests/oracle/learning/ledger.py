"""What gradpath says of a training program: the same events as PyTorch's, and the reports with what they are about."""

from __future__ import annotations

import ast
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gradpath.analysis.check import STEPS, check
from gradpath.autograd.tensor import PRESUMED, Tensor
from gradpath.findings.graphs import moved_leaves, reached_leaves
from gradpath.findings.report import Source
from gradpath.findings.unreached import unreached
from gradpath.interpreter.events import BackwardRan, Stepped
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.run import make_machine, run_module
from gradpath.interpreter.trace import Trace
from gradpath.interpreter.values import Arguments, NativeFunction, Value
from gradpath.overlays import Overlays
from gradpath.overlays.torch.tensor_value import TensorValue
from gradpath.rules.untrained_parameter import untrained
from gradpath.source.document import Document

from .programs import END, START
from .truth import CLOSED, LATER, OPENED, Truth

NAME = "program.py"


@dataclass(frozen=True, slots=True)
class Ran:
    """A backward; `unknown` where it is not known what it goes through."""

    line: int
    reached: frozenset[str]
    moved: frozenset[str]
    accumulates: bool
    unknown: bool


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an optimizer; `unknown` where it may have parameters that are not seen."""

    line: int
    held: frozenset[str]
    used: frozenset[str]
    unknown: bool


@dataclass(frozen=True, slots=True)
class Told:
    """A diagnostic: its rule, level and line, and the headline."""

    rule: str
    level: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Word:
    """gradpath's word on a program; `unknown` says why it has none.

    `lost` are parameters of which it does not know what they are. `unreached` and `untrained` are what reports of these
    rules are about.
    """

    events: tuple[Ran | Step, ...] = ()
    graded: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()
    told: tuple[Told, ...] = ()
    unreached: frozenset[str] = frozenset()
    untrained: frozenset[str] = frozenset()
    unknown: str = ""
    raised: str = ""


@dataclass(slots=True)
class _Asked:
    """The values of the parameters' names, as gradpath sees them where it is asked."""

    names: Sequence[str]
    values: dict[str, Value] = field(default_factory=dict)

    def __call__(self, machine: Machine, arguments: Arguments) -> Value:
        if not self.values:
            self.values = dict(zip(self.names, arguments.positional, strict=True))
        return None


def word(text: str, truth: Truth) -> Word:
    """Let gradpath run a program, and ask it for the parameters that PyTorch has found in it."""
    complaints = _Complaints()
    logger = logging.getLogger("gradpath")
    logger.propagate = False
    logger.addHandler(complaints)
    try:
        found = _word(text, truth)
    finally:
        logger.removeHandler(complaints)
    return Word(raised=f"CRASH {complaints.texts[0]}") if complaints.texts else found


class _Complaints(logging.Handler):
    """Collects what gradpath logs as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self.texts.append(f"{type(error).__name__}: {error}" if error else record.getMessage())


def _word(text: str, truth: Truth) -> Word:
    document = Document(NAME, _marked(text, truth))
    opened, closed = _Asked(truth.opened), _Asked(truth.closed)
    tree = ast.parse(document.text)
    machine = make_machine(Overlays(), (), tree, NAME, STEPS)
    machine.builtins[OPENED] = NativeFunction(OPENED, opened)
    machine.builtins[CLOSED] = NativeFunction(CLOSED, closed)
    run_module(machine, [tree.body])
    trace = machine.trace
    if trace.failures():
        failure = trace.failures()[0]
        return Word(raised=f"{failure.exception} {failure.error.kind.value if failure.error else failure.message}")
    if trace.truncated or trace.decisions or not closed.values:
        return Word(
            unknown="truncated" if trace.truncated else "undecided" if trace.decisions else "not come to its end"
        )
    names: dict[int, str] = {}
    lost: set[str] = set()
    for table in (closed.values, opened.values):
        for name, value in table.items():
            if isinstance(value, TensorValue):
                names[id(value.tensor)] = name
            else:
                lost.add(name)
    told = tuple(
        Told(each.rule, each.level.value, each.range.start.line, each.message)
        for each in check(Document(NAME, text)).diagnostics
    )
    graded = frozenset(
        name
        for name, value in closed.values.items()
        if isinstance(value, TensorValue) and value.tensor.grad is not None
    )
    source = Source({NAME: document})
    return Word(
        tuple(_events(trace, names)),
        graded,
        frozenset(lost),
        told,
        _named(names, (each for found in unreached(trace, source) for each in found.parameters)),
        _named(names, _left_out(trace, source)),
    )


def _left_out(trace: Trace, source: Source) -> set[Tensor]:
    """The parameters that reports of `untrained-parameter` are about."""
    held = {tensor for given in trace.of(Given) for tensor in given.parameters}
    lacking = [each.lacking for each in untrained(trace, source)]
    return {tensor for each in lacking for tensor in each.tensors} - held


def _events(trace: Trace, names: dict[int, str]) -> list[Ran | Step]:
    found: list[Ran | Step] = []
    for event in trace.among(BackwardRan, Stepped):
        line = event.site.line
        if isinstance(event, BackwardRan):
            unknown = any(root.is_open for root in event.call.roots) or any(
                node.is_open or node.name == PRESUMED for node in event.executed
            )
            reached, moved = _named(names, reached_leaves(event)), _named(names, moved_leaves(event))
            found.append(Ran(line, reached, moved, event.call.accumulates, unknown))
        elif isinstance(event, Stepped):
            unknown = not event.known or bool(event.unseen)
            found.append(Step(line, _named(names, event.parameters), _named(names, event.updated), unknown))
    return found


def _named(names: dict[int, str], tensors: Iterable[Tensor]) -> frozenset[str]:
    return frozenset(names[id(each)] for each in tensors if id(each) in names)


def _marked(text: str, truth: Truth) -> str:
    lines = text.split("\n")
    for mark, probe, names in ((START, OPENED, truth.opened), (END, CLOSED, truth.closed)):
        lines = [
            f"{line}; {probe}({', '.join(name.removesuffix(LATER) for name in names)})"
            if line.strip() == mark
            else line
            for line in lines
        ]
    return "\n".join(lines)
