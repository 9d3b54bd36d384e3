"""Checks one file, and turns whatever goes wrong into a line about that file."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from gradpath.config import Config
from gradpath.diagnostic import Diagnostic, Gap, GapKind, Range, whole
from gradpath.names.watch import watched
from gradpath.render.gaps import gap_reason
from gradpath.render.report import Understood
from gradpath.source.cells import CellsDocument, gaps_in_cells
from gradpath.source.document import Document, UnreadableSource, decode_source
from gradpath.source.notebook import SUFFIX, decode_notebook, notebook_of, read_source
from gradpath.support.fast_dataclasses import dataclass, field, replace
from gradpath.support.internal_errors import Place, failed, unlogged

if TYPE_CHECKING:
    from gradpath.analysis.check import Analysis


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome for one file.

    `document` is None where nothing was found, `problem` says why the file was not checked, and `incomplete` which
    parts of it were not, in a notebook by its cells. `understood` is measured where it is asked for. `dependencies` are
    the absolute paths of the other files that were read, `used` the suppression comments in them that have an effect
    here. `folders` are the names that were looked for, by folder, to find modules.
    """

    path: str
    document: Document | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    understood: Understood | None = None
    problem: str | None = None
    incomplete: tuple[Gap, ...] = ()
    dependencies: frozenset[str] = frozenset()
    used: frozenset[tuple[str, Range]] = frozenset()
    folders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def check_document(
    document: Document, config: Config, *, measure: bool = False, trials: bool = True, stack: Collection[int] = ()
) -> Checked:
    """Check a text; a failure of gradpath itself becomes the problem, with its cause in one line.

    With `measure` the outcome says how much of it was understood. Without `trials` its fixes are not tried, for callers
    that do not show them. `stack` as in `gradpath.analysis.check.check`.
    """
    with nullcontext() if os.environ.get("GRADPATH_TRACEBACK") else unlogged():
        try:
            return _checked(document, config, stack, measure=measure, trials=trials)
        except Exception:  # noqa: BLE001 - it becomes the problem, and the other files are still checked.
            failure = failed("the check of a file failed", Place(document.path))
            gap = whole(document.path, GapKind.FAILURE, failure.cause, failure.report)
            return Checked(document.path, problem=_problem([gap]), incomplete=(gap,))


def _checked(document: Document, config: Config, stack: Collection[int], *, measure: bool, trials: bool) -> Checked:
    # Imported here, like what is wanted of it below, because a run that finds everything in the cache does without.
    import gradpath.analysis.check

    depth = gradpath.analysis.check.Depth(traced=measure)
    analysis = gradpath.analysis.check.check(document, config, stack=stack, depth=depth)
    gaps = analysis.incomplete
    if trials and analysis.diagnostics:
        analysis, more = _mended(analysis, config)
        gaps += more
    understood: Understood | None = None
    if measure:
        from gradpath.features.understanding import understanding

        understood = understanding(analysis)
    return Checked(
        document.path,
        document if analysis.diagnostics else None,
        tuple(analysis.diagnostics),
        understood,
        _problem(gaps),
        gaps_in_cells(gaps, document),
        frozenset(map(str, analysis.dependencies)),
        analysis.used,
    )


def _mended(analysis: Analysis, config: Config) -> tuple[Analysis, tuple[Gap, ...]]:
    """The analysis with the fixes that hold; where gradpath fails on their trials without any, and what failed."""
    from gradpath.analysis.fix_validation import mended

    try:
        return mended(analysis, config), ()
    except Exception:  # noqa: BLE001 - reported, and the findings are kept.
        path = analysis.document.path
        failure = failed("the trial of fixes failed", Place(path))
        found = tuple(replace(each, fixes=()) for each in analysis.diagnostics)
        gap = Gap(path, GapKind.FIXES, found[0].range, "", detail=failure.cause, report=failure.report)
        return replace(analysis, diagnostics=found), (gap,)


def _problem(gaps: Iterable[Gap]) -> str | None:
    """Why the file as a whole was not checked, if it was not."""
    whole = next((each for each in gaps if each.entry is None), None)
    return None if whole is None else f"not checked: {gap_reason(whole)}"


def notebooks_among(outcomes: Iterable[Checked]) -> Mapping[str, CellsDocument]:
    """The notebooks in which something was found, by path."""
    return {each.path: each.document for each in outcomes if isinstance(each.document, CellsDocument)}


def source_of(path: str, data: bytes) -> Document:
    """The document of a file's bytes; raises ValueError with one line for what is neither Python nor a notebook."""
    if path.endswith(SUFFIX):
        return notebook_of(path, decode_notebook(data))
    return Document(path, decode_source(data))


def check_file(path: str, config: Config, *, measure: bool = False, trials: bool = True) -> Checked:
    """Check a file as `check_document` does a text."""
    try:
        document = read_source(Path(path), path, pipes=True)  # A pipe is checked where its name was given.
    except UnreadableSource as error:
        return Checked(path, problem=error.reason)
    with watched() as folders:
        checked = check_document(document, config, measure=measure, trials=trials)
    return replace(checked, folders={folder: tuple(names) for folder, names in folders.items()})
