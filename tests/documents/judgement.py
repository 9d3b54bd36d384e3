"""Compares the claims of a block with what PyTorch and gradpath did."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gradpath.analysis.check import Analysis, check
from gradpath.analysis.fix_validation import mended
from gradpath.diagnostic import Diagnostic, GapKind, Level, Range
from gradpath.source.document import Document
from tests.documents.fixes import fix_complaints
from tests.documents.grammar import Note, Place, Report, Source
from tests.documents.pages import Block
from tests.documents.pytorch import Outcome, Raised

_FAILURES = (GapKind.FAILURE, GapKind.FIXES, GapKind.CRASH)
"""The gaps that are mistakes of gradpath itself: no program may meet one."""


def unproved(block: Block) -> list[str]:
    """The claims of a block that its own PyTorch run could not prove, and what a fixed block must not claim."""
    complaints: list[str] = []
    if len(block.raises) > 1:
        complaints.append(_at(block.raises[1].place, "a program ends at the first `raises:`"))
    for report in block.reports:
        if block.fix_of is not None:
            complaints.append(_at(report.place, "a fixed block must be clean"))
        elif report.level is Level.ERROR and not block.raises:
            complaints.append(_at(report.place, f"nothing proves this error: no `raises:` in {block.name}"))
        elif report.level is Level.WARNING and not block.raises and not block.facts:
            complaints.append(_at(report.place, f"nothing proves this warning: no `torch:` in {block.name}"))
    if block.fix_of is not None:
        complaints += [_at(claim.place, "a fixed block must run to its end") for claim in block.raises]
    return complaints


def pytorch_complaints(block: Block, outcome: Outcome) -> list[str]:
    """Where PyTorch did not do what the block says."""
    complaints: list[str] = []
    raised = outcome.raised
    claimed = block.raises[0] if block.raises else None
    if raised is None:
        if claimed is not None:
            complaints.append(_at(claimed.place, f"PyTorch runs to the end, and raises no {claimed}"))
    else:
        place = _place_of(block, raised)
        seen = f"PyTorch raises {raised.kinds[0]}: {raised.message.strip().splitlines()[0] if raised.message else ''}"
        if claimed is None:
            complaints.append(_at(place, f"{seen}, and nothing claims it"))
        elif claimed.place != place:
            complaints.append(_at(place, f"{seen}, which {claimed.place} claims"))
        elif claimed.kind not in raised.kinds or (claimed.text or "") not in raised.message:
            complaints.append(_at(place, f"{seen}, not {claimed}"))
    for fact, trouble in zip(block.facts, outcome.facts, strict=True):
        if trouble:
            complaints.append(_at(fact.place, f"under PyTorch `{fact.expression}` {trouble}"))
    return complaints


def gradpath_complaints(block: Block) -> list[str]:
    """Where gradpath did not report what the block says, or reported what it does not say.

    Every file is read on its own, as an editor would show it; what two of them report alike is one report.
    """
    complaints: list[str] = []
    reports: dict[tuple[str, Range, str], Diagnostic] = {}
    analyses: list[Analysis] = []
    with tempfile.TemporaryDirectory() as folder:
        sources = _written(block, Path(folder))
        documents = {path: source.document(path) for path, source in sources.items()}
        for document in documents.values():
            analyses.append(check(document))
            diagnostics = analyses[-1].diagnostics
            failed = (gap for gap in analyses[-1].incomplete if gap.kind in _FAILURES)
            complaints += [_at(block.place, f"gradpath itself failed: {gap.detail}") for gap in failed]
            reports |= {(report.path, report.range, report.rule): report for report in diagnostics}
            if not block.files:
                complaints += fix_complaints(block, document, diagnostics)
    found: list[_Finding] = []
    for report in reports.values():
        if report.path in sources:
            found.append(_Finding(sources[report.path], documents[report.path], report))
        else:
            complaints.append(_at(block.place, f"gradpath reports {report.rule} in another file, {report.path}"))
    labels = [
        (sources[label.path].place_of(label.range.start.line), label.message)
        for report in reports.values()
        for label in report.labels
        if label.path in sources
    ]
    if not all(_is_told(note, labels) for note in block.notes):
        tried = (each for analysis in analyses for each in mended(analysis).diagnostics if each.path in sources)
        labels += [(sources[each.path].place_of(each.range.start.line), each.help) for each in tried]
    for note in block.notes:
        if not _is_told(note, labels):
            there = [message for place, message in labels if place == note.place]
            complaints.append(_at(note.place, f"no label or help says {note.text!r} here; there: {there}"))
    return _compare_reports(block, found) + complaints


def _is_told(note: Note, labels: Sequence[tuple[Place, str]]) -> bool:
    return any(place == note.place and note.text in message for place, message in labels)


@dataclass(frozen=True, slots=True)
class _Finding:
    source: Source
    document: Document
    diagnostic: Diagnostic


def _written(block: Block, folder: Path) -> dict[str, Source]:
    """The files of a block by the paths that gradpath is given; on disk where they import each other."""
    if not block.files:
        return {block.main.name: block.main}
    paths = {folder / source.name: source for source in block.sources}
    for path, source in paths.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source.text, encoding="utf-8")
    return {str(path): source for path, source in paths.items()}


def _compare_reports(block: Block, found: Sequence[_Finding]) -> list[str]:
    complaints: list[str] = []
    open_claims = list(block.reports)
    for finding in found:
        diagnostic = finding.diagnostic
        place = finding.source.place_of(diagnostic.range.start.line)
        squiggle = finding.document.slice(diagnostic.range)
        claim = next((claim for claim in open_claims if _matches(claim, place, diagnostic, squiggle)), None)
        if claim is None:
            seen = f"{diagnostic.level.value}: [{diagnostic.rule}] {diagnostic.message!r} at {squiggle!r}"
            complaints.append(_at(place, f"gradpath reports {seen}, and nothing claims it"))
        else:
            open_claims.remove(claim)
    complaints += [_at(claim.place, f"gradpath does not report {claim}") for claim in open_claims]
    return complaints


def _matches(claim: Report, place: Place, diagnostic: Diagnostic, squiggle: str) -> bool:
    return (
        claim.place == place
        and claim.rule == diagnostic.rule
        and claim.level is diagnostic.level
        and (claim.message or "") in diagnostic.message
        and claim.squiggle in (None, squiggle)
    )


def _place_of(block: Block, raised: Raised) -> Place:
    source = next((source for source in block.sources if source.name == raised.name), None)
    return block.place if source is None else source.place_of(raised.line)


def _at(place: Place, message: str) -> str:
    return f"{place}: {message}"
