"""The checks that the fixes of one document cost: of its texts as they are after edits, each once."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

from gradpath.analysis.check import THOROUGH, Analysis, check
from gradpath.analysis.incremental import Memory
from gradpath.analysis.trial_states import Key, State, Texts, key_of, state_of, text_in
from gradpath.analysis.turns import Turns
from gradpath.config import Config
from gradpath.diagnostic import Diagnostic, Edit, Label, Range
from gradpath.names.files import TREES
from gradpath.names.project import Project, project_of
from gradpath.source.bindings import unbinds
from gradpath.source.cells import with_text
from gradpath.source.document import Document, UnreadableSource, read_document
from gradpath.source.edits import apply_edits, place_before
from gradpath.source.parse import Parsed, parse
from gradpath.support.fast_dataclasses import replace

TRIALS = 48
"""Checks that the fixes of one document may cost; a fix that would be tried after that is not offered."""

EXECUTED = 24_000
"""Statements that the paths of these checks may execute together, beside those of the first `LEAST`."""

LEAST = 3

REPORTS = 2_400
"""Reports that these checks may find together: each finds those of the whole document again."""


class Trials:
    """Checks of a document with other texts, as many as `TRIALS`, `EXECUTED` and `REPORTS` allow.

    The first is of the text as it is, and thorough `around` some lines alone: `before` is what it says.
    """

    def __init__(
        self,
        analysis: Analysis,
        config: Config,
        cancelled: Callable[[], bool],
        project: Project | None,
        around: Collection[int],
        turns: Turns,
    ) -> None:
        self.document, self._last = analysis.document, analysis.parsed
        self._told_by = config
        self._config = replace(config, select=(), ignore=(), levels={}, per_file_ignores={})
        self._cancelled = cancelled
        self._project = project
        self._turns = turns
        self._memory, self._around = analysis.memory, around
        self._left = min(TRIALS, 1 + REPORTS // len(analysis.diagnostics), LEAST + EXECUTED // _executed(analysis))
        self._known: dict[tuple[tuple[str, str], ...], State] = {}
        self._texts: dict[str, str] = {self.document.path: self.document.text}
        found = self.checked({})
        self.before = state_of(analysis, {}, self.text_of) if found is None else found

    @property
    def are_over(self) -> bool:
        """True if no further check may be made."""
        return self._left == 0

    def checked(self, texts: Texts) -> State | None:
        """What a check says of the document with these texts; None where no trial is left."""
        key = _key(texts)
        if key not in self._known:
            if self.are_over or self._cancelled():
                return None
            self._left -= 1
            state, memory = self._turns.once(key, lambda: self._check(texts))
            self._memory = self._memory if self._known else memory
            self._known[key] = state
        return self._known[key]

    def _check(self, texts: Texts) -> tuple[State, Memory | None]:
        document = with_text(self.document, text_in(texts, self.document.path, self.text_of))
        project = self._project_with(texts)
        analysis = check(
            document,
            self._config,
            last=self._last,
            cancelled=self._cancelled,
            project=project,
            memory=self._memory if project is self._project else None,
            depth=THOROUGH if self._known else replace(THOROUGH, around=self._around),
        )
        return state_of(analysis, texts, self.text_of), analysis.memory

    def known(self, edits: Sequence[Edit]) -> State | None:
        """What a check has said of the document after these edits, if one was made."""
        return self._known.get(_key(self.edited({}, edits) or {}))

    def going_on(self, lines: frozenset[int]) -> Analysis:
        """A check of the document whose paths go on after faults on some lines."""
        depth = replace(THOROUGH, mended=lines)
        going_on = partial(check, self.document, self._told_by, project=self._project, depth=depth)
        return self._turns.once(lines, lambda: going_on(cancelled=self._cancelled))

    def edited(self, texts: Texts, edits: Sequence[Edit]) -> Texts | None:
        """The texts after further edits; None where these overlap, change nothing, or unbind a name that is read."""
        after = dict(texts)
        for path in dict.fromkeys(edit.path for edit in edits):
            text = text_in(texts, path, self.text_of)
            document = Document(path, text)
            ordered = sorted((each for each in edits if each.path == path), key=lambda each: each.range.start)
            if any(one.range.end > other.range.start for one, other in pairwise(ordered)):
                return None
            after[path] = apply_edits(document, ordered)
            if after[path] == text or unbinds(self._parsed(path, text), self._parsed(path, after[path])):
                return None
        return after

    def text_of(self, path: str) -> str:
        """The text of a file as the analysis has seen it."""
        if path not in self._texts:
            text = self._project.read(Path(os.path.abspath(path))) if self._project is not None else None
            try:
                self._texts[path] = read_document(Path(path)).text if text is None else text
            except UnreadableSource:
                self._texts[path] = ""
        return self._texts[path]

    def key_of(self, diagnostic: Diagnostic) -> Key:
        """What tells a report on the text as it is from others."""
        return key_of(diagnostic, self.text_of)

    def place_before(self, at: Diagnostic | Label | Edit, edits: Sequence[Edit], texts: Texts) -> Range | None:
        """The place of something in the `texts` that edits have led to, as it was before; None where they made it."""
        old, new = self.text_of(at.path), text_in(texts, at.path, self.text_of)
        return place_before(Document(at.path, old), edits, Document(at.path, new), at.range)

    def _parsed(self, path: str, text: str) -> Parsed:
        """The parse of a text of a file, which shares with that of the analysis what comes before a change."""
        if path != self.document.path:
            return parse(Document(path, text))
        if text == self.document.text:
            return self._last
        return TREES.keep(TREES.of_document(with_text(self.document, text), self._last))

    def _project_with(self, texts: Texts) -> Project | None:
        """The project in which other files have other texts, too."""
        own = self.document.path
        others = {Path(os.path.abspath(path)): text for path, text in texts.items() if path != own}
        if not others:
            return self._project
        project = self._project or project_of(Path(os.path.abspath(own)), self._config.python)
        read = project.read
        return replace(project, read=lambda path: others[path] if path in others else read(path))


def _executed(analysis: Analysis) -> int:
    """The statements that a check has executed, at least one, where it is remembered."""
    records = () if analysis.memory is None else analysis.memory.records.values()
    return max(1, sum(each.steps for each in records))


def _key(texts: Texts) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(texts.items()))
