"""gradpath's word against PyTorch's: the exception's kind and line, and error reports on clean programs."""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from gradpath.analysis.check import check
from gradpath.diagnostic import Diagnostic
from gradpath.rules import RULES
from gradpath.source.document import Document

from .first_fault import first_fault
from .generate import Program, variants
from .observe import Fault, Observation, executed_lines, observe
from .veils import Hidden
from .worlds import in_worlds, reached_in

CRASH = "CRASH"
WITH_RULE = frozenset(
    (
        *("TWICE", "NOGRAD", "MODIFIED", "LEAF_INPLACE", "VIEW_OF_LEAF", "NOT_SCALAR"),
        *("MULTIVIEW", "VIEW_NOGRAD", "VIEW_INFERENCE", "INF_SAVED", "INF_INPLACE", "OPT_NONLEAF"),
    )
)
"""The kinds that a rule reports; the others are only told apart by `first_fault`."""
RAISING = frozenset(name for name, rule in RULES.items() if rule.level.value == "error")
"""The rules for what raises."""


@dataclass(frozen=True, slots=True)
class Report:
    """A diagnostic as far as the comparison needs it: `lines` are the lines of its squiggle and of its labels."""

    rule: str
    level: str
    line: int
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What gradpath says of a program; `crash` is the message of an exception that left the analysis."""

    fault: Fault | None = None
    reports: tuple[Report, ...] = ()
    crash: str = ""
    seconds: float = 0.0


Analyse = Callable[[str], Verdict]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Both words on one program.

    `false_errors` are error reports on lines that ran without a fault, of a program with a hidden part in `world`.
    `needless` are warnings of an exception that no world raises.
    """

    program: Program
    verdict: Verdict
    confusion: str = ""
    false_errors: tuple[Report, ...] = ()
    unreported: bool = False
    needless: tuple[Report, ...] = ()
    world: int = 0

    @property
    def said(self) -> str:
        """The highest level of a report."""
        levels = {report.level for report in self.verdict.reports}
        return next((level for level in ("error", "warning", "hint") if level in levels), "silent")


def analyser(with_reports: bool = True) -> Analyse:
    """gradpath itself as a function of a program's text."""
    complaints = _Complaints()
    logging.getLogger("gradpath").addHandler(complaints)
    logging.getLogger("gradpath").propagate = False

    def analyse(text: str) -> Verdict:
        start = time.perf_counter()
        complaints.texts.clear()
        try:
            source = Document("program.py", text)
            found = first_fault(source)
            reports = tuple(map(_report, check(source).diagnostics)) if with_reports else ()
        except Exception as error:  # noqa: BLE001 - a crash is a result here
            return Verdict(crash=f"{type(error).__name__}: {error}".split("\n")[0])
        if complaints.texts:
            return Verdict(crash=complaints.texts[0])
        fault = Fault(found.kind, found.line) if found is not None else None
        return Verdict(fault, reports, "", time.perf_counter() - start)

    return analyse


class _Complaints(logging.Handler):
    """Collects what gradpath logs as an error: it answers in spite of it, but something went wrong inside."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self.texts.append(f"{type(error).__name__}: {error}" if error else record.getMessage())


def _report(diagnostic: Diagnostic) -> Report:
    line = diagnostic.range.start.line
    lines = (line, *(label.range.start.line for label in diagnostic.labels))
    return Report(diagnostic.rule, diagnostic.level.value, line, lines)


def confusion_of(observation: Observation, verdict: Verdict) -> str:
    """The empty string where both agree on the exception, and otherwise what each says."""
    if verdict.crash:
        return f"{CRASH} {verdict.crash}"
    ours, theirs = verdict.fault, observation.fault
    if ours == theirs:
        return ""
    left = theirs.kind if theirs else "clean"
    right = ours.kind if ours else "clean"
    if theirs and ours and theirs.line != ours.line:
        right += " earlier" if ours.line < theirs.line else " later"
    return f"{left} -> {right}"


def compare(program: Program, analyse: Analyse) -> Outcome:
    """Let gradpath judge a program whose behaviour under PyTorch is known."""
    verdict = analyse(program.text)
    if program.mode == "uncertain":
        return _uncertain(program, verdict)
    if program.hidden is not None:
        return _hidden(program, program.hidden, verdict)
    observation = program.observation
    errors = tuple(r for r in verdict.reports if r.level == "error")
    return Outcome(
        program,
        verdict,
        confusion_of(observation, verdict),
        _disproved(program.text, observation, errors) if observation.clean and errors else (),
        _reportable(observation) and not verdict.reports and not verdict.crash,
    )


def _reportable(observation: Observation) -> bool:
    return observation.fault is not None and observation.fault.kind in WITH_RULE


def _disproved(text: str, observation: Observation, errors: tuple[Report, ...]) -> tuple[Report, ...]:
    """The error reports on lines that ran, where no handler of the program caught a fault that they tell of."""
    caught = {fault.line for fault in observation.caught}
    suspects = [r for r in errors if not caught.intersection(r.lines)]
    if not suspects:
        return ()
    ran = executed_lines(text)
    return tuple(r for r in suspects if set(r.lines) <= ran)


def _uncertain(program: Program, verdict: Verdict) -> Outcome:
    """An error needs every variant to fail; a report is due where any of them fails."""
    texts = variants(program.text, program.conditions)
    found = [observe(text) for text in texts]
    clean = [o for o in found if o.clean]
    errors = tuple(r for r in verdict.reports if r.level == "error")
    disproved: tuple[Report, ...] = ()
    if clean and errors:
        caught = {fault.line for o in found for fault in o.caught}
        ran: frozenset[int] = frozenset()
        for text, seen in zip(texts, found, strict=True):
            ran |= executed_lines(text) if seen.clean else frozenset()
        disproved = tuple(r for r in errors if not caught.intersection(r.lines) and set(r.lines) <= ran)
    missed = any(_reportable(o) for o in found) and not verdict.reports and not verdict.crash
    confusion = f"{CRASH} {verdict.crash}" if verdict.crash else ""
    if not confusion and disproved:
        confusion = f"open: clean -> error {disproved[0].rule}"
    elif not confusion and missed:
        kinds = sorted({o.fault.kind for o in found if o.fault})
        confusion = f"open: {'/'.join(kinds)} -> no report"
    return Outcome(program, verdict, confusion, disproved, missed)


def _hidden(program: Program, hidden: Hidden, verdict: Verdict) -> Outcome:
    """An error needs every world to fail; a report is due where the program as it was written fails."""
    errors = tuple(r for r in verdict.reports if r.level == "error")
    warnings = tuple(r for r in verdict.reports if r.level == "warning" and r.rule in RAISING)
    found = [program.observation]
    if errors or warnings:
        found = in_worlds(program.text, hidden, program.seed)
    disproved: tuple[Report, ...] = ()
    world = 0
    clean = [number for number, seen in enumerate(found) if seen.clean]
    for number in clean if errors else ():
        caught = {fault.line for fault in found[number].caught}
        suspects = [r for r in errors if not caught.intersection(r.lines)]
        ran = reached_in(program.text, hidden, program.seed, number) if suspects else frozenset()
        disproved = tuple(r for r in suspects if set(r.lines) <= ran)
        world = number
        if disproved:
            break
    missed = _reportable(found[0]) and not verdict.reports and not verdict.crash
    confusion = f"{CRASH} {verdict.crash}" if verdict.crash else ""
    if not confusion and disproved:
        confusion = f"hidden: clean -> error {disproved[0].rule}"
    elif not confusion and missed and found[0].fault:
        confusion = f"hidden: {found[0].fault.kind} -> no report"
    needless = () if any(seen.fault for seen in found) else warnings
    return Outcome(program, verdict, confusion, disproved, missed, needless, world)


@dataclass(slots=True)
class Tally:
    """The figures over many programs; `examples` holds the outcomes behind each confusion."""

    programs: int = 0
    agreed: int = 0
    clean: int = 0
    clean_without_error: int = 0
    failing: int = 0
    unreported: int = 0
    seconds: float = 0.0
    lines: int = 0
    observed: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[Outcome]] = field(default_factory=lambda: defaultdict(list))
    false_errors: list[Outcome] = field(default_factory=list)
    told: Counter[str] = field(default_factory=Counter)
    needless: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """Count one outcome."""
        program = outcome.program
        kind = program.observation.fault.kind if program.observation.fault else "clean"
        self.programs += 1
        self.lines += program.text.count("\n")
        self.seconds += outcome.verdict.seconds
        self.observed[kind] += 1
        self.used.update(program.used)
        if outcome.confusion:
            self.examples[outcome.confusion].append(outcome)
        else:
            self.agreed += 1
            self.found[kind] += 1
        self.needless.update({r.rule for r in outcome.needless})
        if program.hidden is not None:
            if outcome.false_errors:
                self.false_errors.append(outcome)
            if kind in WITH_RULE:
                self.told[f"{kind} {outcome.said}"] += 1
        if kind == "clean":
            self.clean += 1
            self.clean_without_error += not outcome.false_errors
            if outcome.false_errors and program.hidden is None:
                self.false_errors.append(outcome)
        elif kind in WITH_RULE:
            self.failing += 1
            self.unreported += outcome.unreported

    def merge(self, others: Iterable[Outcome]) -> None:
        """Count many outcomes."""
        for outcome in others:
            self.add(outcome)

    @property
    def agreement(self) -> float:
        """The share of programs on whose exception and line both agree."""
        return self.agreed / max(1, self.programs)

    @property
    def clean_share(self) -> float:
        """The share of the clean programs that have no error report on a line that ran."""
        return self.clean_without_error / max(1, self.clean)
