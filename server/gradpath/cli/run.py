"""Checks one file, and turns whatever goes wrong into a line about that file."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from gradpath.config import Config
from gradpath.diagnostic import Diagnostic, Range
from gradpath.names.watch import watched
from gradpath.records import dataclass, field, replace
from gradpath.render.report import Understood
from gradpath.source.cells import CellsDocument
from gradpath.source.document import Document, UnreadableSource, decode_source
from gradpath.source.notebook import SUFFIX, decode_notebook, notebook_of, read_source

HOW_TO_SEE = "set GRADPATH_TRACEBACK=1 to see where"


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome for one file.

    `document` is None where nothing was found, `problem` says why the file was not checked, and `incomplete` that
    gradpath itself failed on a part of it. `understood` is measured where it is asked for. `dependencies` are the
    absolute paths of the other files that were read, `used` the suppression comments in them that have an effect here.
    `folders` are the names that were looked for, by folder, to find modules.
    """

    path: str
    document: Document | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    understood: Understood | None = None
    problem: str | None = None
    incomplete: bool = False
    dependencies: frozenset[str] = frozenset()
    used: frozenset[tuple[str, Range]] = frozenset()
    folders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class _Failures(logging.Handler):
    """Notices that a part of the analysis failed, which is logged with its traceback."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.any = False

    def emit(self, record: logging.LogRecord) -> None:
        self.any = True


def check_document(
    document: Document, config: Config, *, measure: bool = False, trials: bool = True, stack: Collection[int] = ()
) -> Checked:
    """Check a text; a failure of gradpath itself becomes the problem, with its cause in one line.

    With `measure` the outcome tells how much of it was understood. Without `trials` its fixes are not tried, which is
    for those who do not look at them. `stack` as in `gradpath.check.check`.
    """
    # Imported here because a run that finds everything in the cache does without.
    import gradpath.check
    from gradpath.features.understanding import understanding
    from gradpath.mending import mended

    failures = _Failures()
    if not _wants_tracebacks():
        logging.getLogger("gradpath").addHandler(failures)
    try:
        analysis = gradpath.check.check(document, config, stack=stack)
        analysis = mended(analysis, config) if trials else analysis
    except Exception as error:  # A bug in one file's analysis must not cost the others theirs.
        if _wants_tracebacks():
            raise
        cause = " ".join(f"{type(error).__name__}: {error}".split())
        return Checked(document.path, problem=f"gradpath failed on this file ({cause}; {HOW_TO_SEE})")
    finally:
        logging.getLogger("gradpath").removeHandler(failures)
    found = document if analysis.diagnostics else None
    return Checked(
        document.path,
        found,
        tuple(analysis.diagnostics),
        understanding(analysis) if measure else None,
        incomplete=failures.any,
        dependencies=frozenset(map(str, analysis.dependencies)),
        used=analysis.used,
    )


def notebooks_among(outcomes: Iterable[Checked]) -> Mapping[str, CellsDocument]:
    """The notebooks in which something was found, by path."""
    return {each.path: each.document for each in outcomes if isinstance(each.document, CellsDocument)}


def _wants_tracebacks() -> bool:
    return bool(os.environ.get("GRADPATH_TRACEBACK"))


def source_of(path: str, data: bytes) -> Document:
    """The document of a file's bytes; raises ValueError with one line for what is neither Python nor a notebook."""
    if path.endswith(SUFFIX):
        return notebook_of(path, decode_notebook(data))
    return Document(path, decode_source(data))


def check_file(path: str, config: Config, *, measure: bool = False, trials: bool = True) -> Checked:
    """Check a file as `check_document` does a text."""
    try:
        document = read_source(Path(path), path)
    except UnreadableSource as error:
        return Checked(path, problem=error.reason)
    with watched() as folders:
        checked = check_document(document, config, measure=measure, trials=trials)
    return replace(checked, folders={folder: tuple(names) for folder, names in folders.items()})
