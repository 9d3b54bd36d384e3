"""Checks one file, and turns whatever goes wrong into a line about that file."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from gradpath.config import Config
from gradpath.diagnostic import Diagnostic, Range
from gradpath.failures import collected
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


def check_document(
    document: Document, config: Config, *, measure: bool = False, trials: bool = True, stack: Collection[int] = ()
) -> Checked:
    """Check a text; a failure of gradpath itself becomes the problem, with its cause in one line.

    With `measure` the outcome tells how much of it was understood. Without `trials` its fixes are not tried, which is
    for those who do not look at them. `stack` as in `gradpath.check.check`.
    """
    # Imported here, like what is wanted of it below, because a run that finds everything in the cache does without.
    import gradpath.check

    quiet: AbstractContextManager[list[str]] = nullcontext([]) if _wants_tracebacks() else collected()
    try:
        with quiet as failures:
            analysis = gradpath.check.check(document, config, stack=stack, traced=measure)
            if trials and analysis.diagnostics:
                from gradpath.mending import mended

                analysis = mended(analysis, config)
    except Exception as error:  # A bug in one file's analysis must not cost the others theirs.
        if _wants_tracebacks():
            raise
        cause = " ".join(f"{type(error).__name__}: {error}".split())
        return Checked(document.path, problem=f"gradpath failed on this file ({cause}; {HOW_TO_SEE})")
    understood: Understood | None = None
    if measure:
        from gradpath.features.understanding import understanding

        understood = understanding(analysis)
    return Checked(
        document.path,
        document if analysis.diagnostics else None,
        tuple(analysis.diagnostics),
        understood,
        incomplete=bool(failures),
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
        document = read_source(Path(path), path, pipes=True)  # A pipe is checked where its name was given.
    except UnreadableSource as error:
        return Checked(path, problem=error.reason)
    with watched() as folders:
        checked = check_document(document, config, measure=measure, trials=trials)
    return replace(checked, folders={folder: tuple(names) for folder, names in folders.items()})
