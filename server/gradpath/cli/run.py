"""Checks one file, and turns whatever goes wrong into a line about that file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import gradpath.check
from gradpath.config import Config
from gradpath.diagnostic import Diagnostic
from gradpath.source.document import Document, UnreadableSource, read_document


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome for one file. `document` is None where nothing was found, `problem` says why it was not checked."""

    path: str
    document: Document | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    unknowns: Mapping[str, int] = field(default_factory=dict)
    problem: str | None = None


def check_document(document: Document, config: Config) -> Checked:
    """Check a text; a failure of gradpath itself becomes the problem, with its cause in one line."""
    try:
        analysis = gradpath.check.check(document, config)
    except Exception as error:  # A bug in one file's analysis must not cost the others theirs.
        if os.environ.get("GRADPATH_TRACEBACK"):
            raise
        cause = " ".join(f"{type(error).__name__}: {error}".split())
        hint = "set GRADPATH_TRACEBACK=1 to see where"
        return Checked(document.path, problem=f"gradpath failed on this file ({cause}; {hint})")
    found = document if analysis.diagnostics else None
    return Checked(document.path, found, tuple(analysis.diagnostics), dict(analysis.unknowns))


def check_file(path: str, config: Config) -> Checked:
    """Check a file."""
    try:
        document = read_document(Path(path), path)
    except UnreadableSource as error:
        return Checked(path, problem=error.reason)
    return check_document(document, config)
