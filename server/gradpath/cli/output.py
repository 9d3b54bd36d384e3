"""Says what a run found, in the format that is wanted, which alone is imported, and answers the shell."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

from gradpath import __version__
from gradpath.cli import status
from gradpath.cli.run import Checked, notebooks_among
from gradpath.cli.terminal import complain, style_for
from gradpath.diagnostic import Fix, Gap, GapKind, Level, Safety
from gradpath.render.gaps import gap_lines
from gradpath.render.report import Problem, Report, SourceLookup, Understood
from gradpath.render.style import BOLD, GREEN, RED, Style
from gradpath.render.summary import render_statistics, render_summary
from gradpath.render.width import safe_text
from gradpath.rules import RULES
from gradpath.source.cells import in_cells, texts_of
from gradpath.support.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from gradpath.cli.fix import Fixed

_OWN = (GapKind.FAILURE, GapKind.FIXES, GapKind.MEMORY)
"""Gaps because gradpath itself failed."""

_REPORTS = 3
"""Crash reports that are named."""

FORMATS = ("full", "concise", "json", "sarif", "github", "gitlab", "junit")


@dataclass(frozen=True, slots=True)
class Output:
    """The output options: one of `FORMATS` with its settings, and a `file` for the diagnostics, if any."""

    format: str = "full"
    statistics: bool = False
    quiet: bool = False
    diff: bool = False
    exit_zero: bool = False
    strict: bool = False
    file: str | None = None

    def tell(
        self, outcomes: Sequence[Checked], problems: Sequence[Problem], fixes: Sequence[Fixed] | None, stream: TextIO
    ) -> int:
        """Write everything to `stream`, complaints to standard error, and return the exit status.

        `fixes` is None unless fixes were asked for.
        """
        report = self._report(outcomes, problems, fixes)
        for problem in report.problems:
            complain(problem.path, problem.message)
        for line in gap_lines(report.incomplete):
            print(f"gradpath: {safe_text(line)}", file=sys.stderr)
        _name_reports(outcomes)
        if self.diff:
            _write_difference(fixes or (), stream)
            stream = sys.stderr
        elif self.file is not None:
            self._write(self.file, self._lines(report, source_lookup(outcomes), Style(False)))
        else:
            stream.writelines(self._lines(report, source_lookup(outcomes), style_for(stream)))
        self._close(report, stream)
        if report.problems:
            return status.UNUSABLE
        found = report.count(Level.ERROR) + report.count(Level.WARNING)
        fails = (found and not self.exit_zero) or (report.incomplete and self.strict)
        return status.FOUND if fails else status.CLEAN

    def _report(
        self, outcomes: Sequence[Checked], problems: Sequence[Problem], fixes: Sequence[Fixed] | None
    ) -> Report:
        diagnostics = (diagnostic for outcome in outcomes for diagnostic in outcome.diagnostics)
        in_places = in_cells
        if self.format in ("github", "gitlab", "sarif"):
            from gradpath.cli.notebooks import in_files

            in_places = in_files
        notebooks = notebooks_among(outcomes)
        failed = [Problem(outcome.path, outcome.problem) for outcome in outcomes if outcome.problem is not None]
        found = tuple(in_places(diagnostic, notebooks) for diagnostic in diagnostics)
        return Report(
            diagnostics=found,
            problems=tuple(sorted({*problems, *failed}, key=lambda problem: (problem.path, problem.message))),
            files=len(outcomes) - len(failed),
            incomplete=tuple(sorted(_gaps(outcomes), key=lambda gap: (gap.path, gap.cell or 0, gap.range))),
            understood=_understood(outcomes) if self.statistics else None,
            fixed=None if fixes is None or self.diff else sum(fixed.count for fixed in fixes),
            fixable=sum(any(map(_is_safe, each.fixes)) for each in found) if fixes is None else 0,
            descriptions={rule.id: rule.summary for rule in RULES.values()} if self.format == "sarif" else {},
        )

    def _lines(self, report: Report, source_of: SourceLookup, style: Style) -> Iterator[str]:
        match self.format:
            case "json":
                from gradpath.render.json import render_json

                yield render_json(report) + "\n"
            case "sarif":
                from gradpath.render.sarif import render_sarif

                yield render_sarif(report, __version__) + "\n"
            case "gitlab":
                from gradpath.render.gitlab import render_gitlab

                yield render_gitlab(report) + "\n"
            case "junit":
                from gradpath.render.junit import render_junit

                yield render_junit(report) + "\n"
            case "github":
                from gradpath.render.github import render_github, render_github_gap, render_github_problem

                yield from (render_github(each) + "\n" for each in report.diagnostics)
                yield from (render_github_problem(each) + "\n" for each in report.problems)
                yield from (render_github_gap(each) + "\n" for each in report.incomplete)
            case "concise":
                from gradpath.render.concise import render_concise

                yield from (render_concise(each, style) + "\n" for each in report.diagnostics)
            case _:
                from gradpath.render.full import render_full

                yield from (render_full(each, source_of, style) + "\n\n" for each in report.diagnostics)

    @staticmethod
    def _write(file: str, lines: Iterator[str]) -> None:
        from gradpath.cli.writing import write_file

        try:
            write_file(file, "".join(lines).encode("utf-8", "surrogateescape"))
        except OSError as error:
            raise status.UsageError(f"--output-file {file}: {error.strerror or error}") from error

    def _close(self, report: Report, stream: TextIO) -> None:
        """The tables and the summary, which never come between lines that a program reads."""
        if self.statistics and self.format != "json":
            tables = stream if self.format in ("full", "concise") else sys.stderr
            tables.writelines(f"{line}\n" for line in render_statistics(report))
        if self.format == "full" and not self.quiet:
            summary = render_summary(report, style_for(stream).width)
            if summary:
                stream.write(summary + "\n")


def _understood(outcomes: Sequence[Checked]) -> Mapping[str, Understood]:
    return {outcome.path: outcome.understood for outcome in outcomes if outcome.understood is not None}


def _is_safe(fix: Fix) -> bool:
    return fix.safety is Safety.SAFE and bool(fix.edits)


def _gaps(outcomes: Sequence[Checked]) -> Iterator[Gap]:
    """The unchecked parts of files that were checked otherwise."""
    for outcome in outcomes:
        if outcome.problem is None:
            yield from outcome.incomplete


def _name_reports(outcomes: Sequence[Checked]) -> None:
    """Say where the crash reports lie, if gradpath itself failed."""
    failures = [gap for outcome in outcomes for gap in outcome.incomplete if gap.kind in _OWN]
    reports = sorted({gap.report for gap in failures if gap.report})
    if failures:
        where = ", ".join(reports[:_REPORTS]) or "none could be written, but GRADPATH_TRACEBACK=1 shows the failure"
        print(f"gradpath: crash report to attach to an issue: {safe_text(where)}", file=sys.stderr)


def source_lookup(outcomes: Sequence[Checked]) -> SourceLookup:
    """A function from a path to the text that was checked under it, or to that of the file."""
    return texts_of({outcome.path: outcome.document for outcome in outcomes if outcome.document is not None})


def _write_difference(fixes: Sequence[Fixed], stream: TextIO) -> None:
    """A patch for programs; on a terminal the same in colour, and without control characters of the source."""
    from gradpath.cli.fix import difference

    style = style_for(stream)
    for fixed in fixes:
        for line in difference(fixed):
            stream.write(_coloured(line, style) if stream.isatty() else line)


def _coloured(line: str, style: Style) -> str:
    text = safe_text(line.rstrip("\r\n"))
    if text.startswith(("---", "+++")):
        return style.paint(text, BOLD) + "\n"
    return style.paint(text, {"-": RED, "+": GREEN}.get(text[:1], "0")) + "\n"
