"""The baselines that configurations name: what is known already is not shown."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from gradpath.analysis.check import Analysis
from gradpath.analyst.outcomes import TextAt, document_at
from gradpath.config import Config
from gradpath.features.baseline import BrokenBaseline, Entry, known_among, read_entries
from gradpath.source.document import Document
from gradpath.support.fast_dataclasses import replace


class Baselines:
    """Reads each baseline again only when it has changed; what is wrong with one goes to `complain`."""

    def __init__(self, complain: Callable[[str], None]) -> None:
        self._complain = complain
        self._read: dict[str, tuple[tuple[int, int], tuple[Entry, ...]]] = {}

    def without_known(self, analysis: Analysis, config: Config, text_at: TextAt) -> Analysis:
        """An analysis without the mistakes in the baseline of its configuration."""
        if not config.baseline or not analysis.diagnostics:
            return analysis
        own = analysis.document

        def text_of(path: str) -> Document | None:
            return own if path == own.path else document_at(path, text_at)

        entries = self._entries(config.baseline)
        known = known_among(analysis.diagnostics, entries, Path(config.baseline).parent, text_of)
        return replace(analysis, diagnostics=tuple(each for each in analysis.diagnostics if id(each) not in known))

    def _entries(self, path: str) -> tuple[Entry, ...]:
        try:
            status = os.stat(path)
        except OSError:
            return ()  # It has not been written yet.
        state = status.st_mtime_ns, status.st_size
        known = self._read.get(path)
        if known is None or known[0] != state:
            entries: tuple[Entry, ...] = ()
            try:
                entries = read_entries(Path(path))
            except BrokenBaseline as error:
                self._complain(f"{path}: {error}")
            known = self._read[path] = state, entries
        return known[1]
