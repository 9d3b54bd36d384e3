"""`--add-ignores`: a suppression comment at each place where something is reported."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from gradpath.cli.fix import Fixed, in_file, write_fixed
from gradpath.cli.run import Checked, check_document, source_of
from gradpath.cli.writing import UnwritableFile, leads_outside
from gradpath.config import Config
from gradpath.diagnostic import Diagnostic
from gradpath.features.code_actions import NEVER_IGNORED
from gradpath.features.edits import edited, still_parses
from gradpath.render.report import Problem
from gradpath.source.cells import CellsDocument
from gradpath.source.document import Document
from gradpath.source.notebook import decode_notebook, source_bytes
from gradpath.source.suppress import ignore_edit
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ignored:
    """A document with suppression comments; `count` are the reports that they suppress."""

    document: Document
    count: int


def ignore_all(document: Document, diagnostics: Sequence[Diagnostic]) -> Ignored:
    """Suppress all reports in a document; other comments stay."""
    by_line: dict[int, list[str]] = {}
    for each in diagnostics:
        if each.path == document.path and each.rule not in NEVER_IGNORED:
            by_line.setdefault(each.range.start.line, []).append(each.rule)
    current, count = document, 0
    for line, rules in by_line.items():
        after = edited(current, [ignore_edit(current, line, tuple(dict.fromkeys(rules)))])
        if after is not None and still_parses(current, after):
            current, count = after, count + len(rules)
    return Ignored(current, count)


def ignore_in_files(
    outcomes: Sequence[Checked], walked: Sequence[str], configs: Mapping[str, Config], *, quiet: bool
) -> tuple[list[Checked], list[Problem]]:
    """Suppress all findings, and report how many; return the outcomes after that, and the files that cannot be written.

    `walked` are the folders that were given.
    """
    after, problems, count = list(outcomes), list[Problem](), 0
    for index, checked in enumerate(outcomes):
        if checked.diagnostics:
            try:
                if leads_outside(checked.path, walked):
                    raise UnwritableFile("it is a link that leads out of the folders that were named")
                fixed = ignore_in_file(checked.path, configs[checked.path], checked)
            except UnwritableFile as error:
                problems.append(Problem(checked.path, f"not written: {error}"))
                continue
            after[index] = fixed.checked
            count += fixed.count
    if not quiet:
        reports = "1 report is" if count == 1 else f"{count} reports are"
        print(f"gradpath: {reports} ignored from now on", file=sys.stderr)
    return after, problems


def ignore_in_file(path: str, config: Config, checked: Checked) -> Fixed:
    """Suppress what `checked` reports in a file, and write it; raises `UnwritableFile`."""
    try:
        data = source_bytes(path)
        document = source_of(path, data)
    except (OSError, ValueError) as error:
        raise UnwritableFile(str(error)) from error
    ignored = ignore_all(document, checked.diagnostics)
    fixed = Fixed(document, ignored.document, check_document(ignored.document, config), ignored.count)
    if isinstance(document, CellsDocument):
        fixed = in_file(fixed, decode_notebook(data))
    write_fixed(path, data, document, fixed)
    return fixed
