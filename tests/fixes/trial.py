"""One fix on trial: the program after its edits, and how that ends under PyTorch."""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from gradpath.analysis.check import check
from gradpath.analysis.fix_validation import mended
from gradpath.autograd.errors import MESSAGES
from gradpath.diagnostic import Diagnostic, Edit, Fix, Level, Safety
from gradpath.source.document import Document
from tests.documents.fixes import UnfitFix, apply_edits
from tests.documents.grammar import Source
from tests.documents.pages import Block
from tests.documents.pytorch import Outcome, Raised, outcome_of
from tests.fixes.numbers import PRINTED, Numbers, difference, watched


class End(str, Enum):
    """How a program ends after a fix."""

    RUNS = "runs"
    SAME = "raises the same"
    OTHER_FAULT = "raises another autograd error"
    RAISES = "raises something else"
    BROKEN = "does not parse"


@dataclass(frozen=True, slots=True)
class Trial:
    """A fix of a diagnostic, and what came of it; `left` are the reports of the program after it, by rule.

    `changed` says what a safe fix changed of what the program computed, and is empty where it kept that.
    """

    diagnostic: Diagnostic
    fix: Fix
    end: End
    detail: str
    texts: Mapping[str, str]
    cleared: bool
    left: tuple[str, ...]
    changed: str = ""

    @property
    def helps(self) -> bool:
        """Whether the program runs to its end and the report is gone."""
        return self.end is End.RUNS and self.cleared


def trials(block: Block, records: Path | None) -> Iterator[Trial]:
    """All fixes that are offered for a block, each tried alone."""
    texts = {source.name: source.text for source in block.sources}
    reports = reported(texts)
    with watched() as numbers:
        before = outcome_of(block.sources, (), None)
    for diagnostic in reports:
        for fix in diagnostic.fixes:
            if fix.edits:
                yield _trial(block, texts, before, numbers, reports, diagnostic, fix, records)


def reported(texts: Mapping[str, str], *, fixes: bool = True) -> list[Diagnostic]:
    """The reports of a program of several files, each file checked as an editor would; paths are those of `texts`.

    With `fixes` they have the fixes that a user is offered.
    """

    def checked(path: str, text: str) -> tuple[Diagnostic, ...]:
        analysis = check(Document(path, text))
        return (mended(analysis) if fixes else analysis).diagnostics

    if len(texts) == 1:
        return [each for name, text in texts.items() for each in checked(name, text)]
    found: dict[object, Diagnostic] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for name, text in texts.items():
            for each in checked(str(Path(folder, name)), text):
                found[each.path, each.range, each.rule] = _renamed(each, folder + "/")
    return list(found.values())


def _renamed(diagnostic: Diagnostic, folder: str) -> Diagnostic:
    fixes = tuple(
        Fix(
            fix.title,
            fix.safety,
            tuple(Edit(edit.path.removeprefix(folder), edit.range, edit.new_text) for edit in fix.edits),
            fix.preferred,
            fix.rewrite,
        )
        for fix in diagnostic.fixes
    )
    return Diagnostic(
        diagnostic.path.removeprefix(folder),
        diagnostic.range,
        diagnostic.rule,
        diagnostic.family,
        diagnostic.level,
        diagnostic.message,
        fixes=fixes,
    )


def edited(texts: Mapping[str, str], edits: Sequence[Edit]) -> dict[str, str]:
    """The files after edits; raises UnfitFix."""
    after = dict(texts)
    for path in {edit.path for edit in edits}:
        if path not in after:
            raise UnfitFix(f"an edit belongs to {path!r}")
        document = Document(path, after[path])
        after[path] = apply_edits(document, [edit for edit in edits if edit.path == path])
    return after


def _trial(
    block: Block,
    texts: Mapping[str, str],
    before: Outcome,
    numbers: Numbers,
    reports: Sequence[Diagnostic],
    diagnostic: Diagnostic,
    fix: Fix,
    records: Path | None,
) -> Trial:
    try:
        after = edited(texts, fix.edits)
        for text in after.values():
            ast.parse(text)
    except (UnfitFix, SyntaxError) as problem:
        return Trial(diagnostic, fix, End.BROKEN, str(problem), texts, cleared=False, left=())
    changed = ""
    if fix.safety is Safety.SAFE:
        with watched() as theirs:
            outcome = run_texts(block, after, None)
        changed = difference(numbers, theirs, whole=before.raised is None)
        if changed == PRINTED and not _prints_the_same(block, numbers):
            changed = ""
    else:
        outcome = run_texts(block, after, records)
    left = [each.rule for each in reported(after, fixes=False) if each.level is not Level.HINT]
    count = sum(each.rule == diagnostic.rule for each in reports)
    cleared = left.count(diagnostic.rule) < count
    return Trial(diagnostic, fix, end_of(before, outcome), _detail(outcome), after, cleared, tuple(left), changed)


def _prints_the_same(block: Block, numbers: Numbers) -> bool:
    """Whether a program prints the same numbers each time that it runs: no times, for instance."""
    with watched() as again:
        outcome_of(block.sources, (), None)
    return again.printed == numbers.printed


def run_texts(block: Block, texts: Mapping[str, str], records: Path | None) -> Outcome:
    """Run the files of a block with other texts."""
    sources = [Source(each.name, texts[each.name], each.path, ()) for each in block.sources]
    return outcome_of(sources, (), records)


def end_of(before: Outcome, after: Outcome) -> End:
    """How a program ends, seen from how it ended before the fix."""
    if after.raised is None:
        return End.RUNS
    if before.raised is not None and after.raised.message == before.raised.message:
        return End.SAME
    return End.OTHER_FAULT if is_of_autograd(after.raised) else End.RAISES


def is_of_autograd(raised: Raised) -> bool:
    """Whether an exception is one of those that gradpath is about."""
    return any(message in raised.message for message in MESSAGES.values())


def _detail(outcome: Outcome) -> str:
    raised = outcome.raised
    return "" if raised is None else f"{raised.name}:{raised.line}: {raised.kinds[0]}: {raised.message[:100]}"
