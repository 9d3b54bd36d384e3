"""The state of the analysis process: the open documents, and the answers about them and about files."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path

import gradpath.analysis.check as facade
from gradpath.analysis import fix_validation
from gradpath.analysis.check import Analysis
from gradpath.analysis.incremental import Memory
from gradpath.analysis.turns import PutOff, Turns
from gradpath.analyst.allowance import Allowance
from gradpath.analyst.baselines import Baselines
from gradpath.analyst.configurations import Configurations
from gradpath.analyst.messages import (
    Actions,
    AskActions,
    AskFlow,
    AskHover,
    AskName,
    AskPicture,
    AskWhy,
    Callers,
    Check,
    CheckFile,
    Drawn,
    Explain,
    ListFiles,
    ListRules,
    Opened,
    Outcome,
    Prove,
    Request,
    Settings,
    Told,
)
from gradpath.analyst.outcomes import lines_told, outcome_of
from gradpath.config import Config
from gradpath.diagnostic import Diagnostic
from gradpath.features.callers import seen_from_callers
from gradpath.features.code_actions import actions_at, rewrites_of
from gradpath.features.explanation import Explained, explained
from gradpath.features.flow.asked import is_of_training, training_at, why_at
from gradpath.features.flow.drawn import picture_of
from gradpath.features.flow.find import flows_of
from gradpath.features.flow.table import as_table
from gradpath.features.graph import Picture
from gradpath.features.graph.find import picture_at
from gradpath.features.hover import as_markdown, as_text, faults_at, hover_at, retold
from gradpath.features.pages import readable_page
from gradpath.names.files import TREES
from gradpath.names.finder import Finder
from gradpath.names.project import Project, project_of
from gradpath.names.walk import walk
from gradpath.refactoring.proof import rewritten
from gradpath.render.style import Style
from gradpath.rules import RULES
from gradpath.source.cells import CellsDocument, lines_in_cells
from gradpath.source.document import Document, UnreadableSource
from gradpath.source.magics import python_of
from gradpath.source.notebook import SUFFIX, read_source
from gradpath.source.parse import Parsed
from gradpath.support.fast_dataclasses import dataclass, replace
from gradpath.support.internal_errors import unlogged

logger = logging.getLogger(__name__)

AWAKE = 600_000
"""Characters of the documents that keep all that is known of them, so that an edit or a question costs little."""

PAGE = Style(width=80)
"""Lines that fit on a page of an editor beside the code."""

TREES_KEPT = 2_000_000
"""Characters of source, that of imported files included, whose trees are kept."""


@dataclass(slots=True, eq=False)
class _Known:
    """The state of an open document: the analysis of its version `of`, and what helps with the next one."""

    of: Opened
    analysis: Analysis | None = None
    last: Parsed | None = None
    """The newest parse without problems; it helps with the text while it is half typed."""
    memory: Memory | None = None
    """The part of the newest finished check that the next one may reuse."""
    tried: tuple[str, Analysis] | None = None
    """The analysis with the fixes that hold, and the state that it is of."""
    turns: tuple[str, Turns] | None = None
    """What trials for a question about a state have shown so far, where others have their turn between them."""


class Desk:
    """Answers requests on one thread; `open`, `close` and `configure` may be called from any.

    `found` gets the file whose import was located in the background, `complain` the mistakes of a configuration. A desk
    that is `alone`, in a program without processes and threads, asks no other process.
    """

    def __init__(
        self, found: Callable[[Path], None], complain: Callable[[str], None] = logger.warning, *, alone: bool = False
    ) -> None:
        self._found = found
        self._alone = alone
        self._open: dict[str, Opened] = {}
        self._texts: dict[str, Opened] = {}
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._walks: dict[ListFiles, tuple[Iterator[str], list[str]]] = {}
        self._finder: Finder | None = None
        self.configurations = Configurations(complain)
        self._baselines = Baselines(complain)

    # What the editor has

    def open(self, document: Opened) -> None:
        """Take the newest state of an open document."""
        self._open[document.uri] = document
        if document.cells is None:
            self._texts[document.path] = document

    def close(self, uri: str) -> None:
        """Close a document; `clear` drops what is known of it."""
        document = self._open.pop(uri, None)
        if document is not None:
            self._texts.pop(document.path, None)

    def configure(self, settings: Settings) -> None:
        """Take the editor's settings."""
        self.configurations.set(settings)

    def text_at(self, path: Path) -> str | None:
        """The text of the open document of a path, for any thread; None where none is open."""
        document = self._texts.get(str(path))
        return None if document is None else _text_of(document)

    # What is known

    def load(self) -> None:
        """Load what the first check needs."""
        TREES.kept = TREES_KEPT
        # What is asked of the table of operations comes with the first check.
        with unlogged():  # What fails here fails again on a text of the user, and is logged with its place then.
            facade.check(Document("<nothing>", "import torch\ntorch.ones(1, requires_grad=True).sum().backward()\n"))

    def clear(self, uri: str) -> None:
        """Throw away what is known of a document that is closed, unless it is open again."""
        if uri not in self._open:
            known = self._known.pop(uri, None)
            if known is not None:
                TREES.drop(known.of.path)

    def forget(self) -> None:
        """Throw away all that can be found out again."""
        TREES.clear()
        for known in self._known.values():
            _rest(known)

    def answer(self, request: Request, allowance: Allowance) -> object:
        """Do what is asked for; what was found so far where it has to stop."""
        try:
            return self._answer(request, allowance)
        except PutOff:
            allowance.put_off()
            return None

    def _answer(self, request: Request, allowance: Allowance) -> object:
        match request:
            case Check():
                return self._check(request, allowance)
            case CheckFile():
                return self._check_file(request, allowance)
            case Callers():
                return self._callers(request, allowance)
            case AskHover():
                return self._hover(request, allowance)
            case AskPicture():
                return self._picture(request, allowance)
            case AskFlow():
                return self._flow(request, allowance)
            case AskName():
                return self._name(request, allowance)
            case AskWhy():
                return self._why(request, allowance)
            case AskActions() | Prove():
                return self._repairs(request, allowance)
            case ListFiles():
                return self._files(request, allowance)
            case Explain():
                return self._explain(request, allowance)
            case ListRules():
                return tuple(
                    (rule.id, rule.summary, readable_page(rule, "[{0}]({0}.md)".format), rule.raises)
                    for rule in RULES.values()
                )

    def _explain(self, request: Explain, allowance: Allowance) -> Explained:
        """The answer of the first folder in which the fault is found, else that of the first one."""
        told = [explained(request.traceback, Path(folder), allowance, PAGE) for folder in request.folders[:1]]
        for folder in request.folders[1:]:
            if told[-1].is_matched:
                break
            told.append(explained(request.traceback, Path(folder), allowance, PAGE))
        return told[-1] if told[-1].is_matched else told[0]

    # Checks

    def _check(self, request: Check, allowance: Allowance) -> Outcome | None:
        document = self._open.get(request.uri)
        if document is None:
            return None
        began = time.perf_counter()
        analysis = self._analyse(document, allowance)
        self._rest()
        return outcome_of(self._new(analysis), time.perf_counter() - began, self.text_at)

    def _analyse(self, document: Opened, allowance: Allowance) -> Analysis:
        """Check an open document, and keep what may be of use later."""
        known = self._known.pop(document.uri, None) or _Known(document)
        self._known[document.uri] = known  # The one that was worked on last is the last one.
        config, project = self._surroundings(document.path)
        analysis = facade.check(
            _source_of(document),
            config,
            last=known.last,
            cancelled=allowance,
            project=project,
            memory=known.memory,
            depth=facade.TYPING,
        )
        if not allowance.is_void:
            known.of, known.analysis, known.memory = document, analysis, analysis.memory
            known.tried = known.turns = None
            if not analysis.parsed.problems:
                known.last = analysis.parsed
        return analysis

    def _check_file(self, request: CheckFile, allowance: Allowance) -> Outcome | None:
        began = time.perf_counter()
        try:
            source = read_source(Path(request.path))
        except UnreadableSource as error:
            logger.info("%s cannot be checked: %s", request.path, error.reason)
            return None
        config, project = self._surroundings(request.path)
        analysis = facade.check(source, config, cancelled=allowance, project=project, depth=facade.LEAN)
        analysis = self._on_trial(self._new(analysis), allowance)
        return outcome_of(analysis, time.perf_counter() - began, self.text_at, is_open=False)

    def _new(self, analysis: Analysis) -> Analysis:
        """What is found and not known already; the analysis itself stays whole for the next edit."""
        config = self.configurations.of(analysis.document.path)
        return self._baselines.without_known(analysis, config, self.text_at)

    def _callers(self, request: Callers, allowance: Allowance) -> tuple[Outcome, ...]:
        config, project = self._surroundings(request.path)
        analysis = self._analysis(request.uri, allowance)
        if analysis is None or project is None:
            return ()
        found = seen_from_callers(analysis, config, project, allowance)
        return tuple(outcome_of(self._new(caller), 0.0, self.text_at, is_open=False) for caller in found)

    # Questions

    def _hover(self, request: AskHover, allowance: Allowance) -> Told | None:
        analysis = self._analysis(request.uri, allowance)
        if analysis is None:
            return None
        traced = self._with_traces(analysis, request.place.line, allowance)
        training = None
        if is_of_training(traced, request.place):
            training = training_at(
                self._with_traces(analysis, request.place.line, allowance, explored=True), request.place
            )
        found = faults_at(request.diagnostics, request.place)
        traced = replace(traced, diagnostics=self._tried(analysis, request, allowance).diagnostics if found else ())
        hover = hover_at(traced, request.place, training=training, diagnostics=request.whole)
        if hover is None:
            return None
        place, cell = hover.range, None
        notebook = analysis.document
        if isinstance(notebook, CellsDocument):
            here, place = notebook.in_cell(hover.range)
            hover, cell = retold(hover, lambda text: lines_in_cells(text, notebook, here)), here.number
        return Told(place, as_markdown(hover) if request.markdown else as_text(hover), cell)

    def _picture(self, request: AskPicture, allowance: Allowance) -> Picture | None:
        analysis = self._analysis(request.uri, allowance)
        if analysis is None:
            return None
        return picture_at(self._with_traces(analysis, request.line, allowance), request.line)

    def _flow(self, request: AskFlow, allowance: Allowance) -> Drawn | None:
        analysis = self._analysis(request.uri, allowance)
        if analysis is None:
            return None
        flows = flows_of(self._with_traces(analysis, request.line, allowance, explored=True), request.line)
        if not flows:
            return None
        document = analysis.document
        text = as_table(flows, Path(document.path).name)
        text = lines_in_cells(text, document) if isinstance(document, CellsDocument) else text
        return Drawn(text, picture_of(flows, document))

    def _name(self, request: AskName, allowance: Allowance) -> str:
        analysis = self._analysis(request.uri, allowance)
        if analysis is None:
            return ""
        return is_of_training(self._with_traces(analysis, request.place.line, allowance), request.place)

    def _why(self, request: AskWhy, allowance: Allowance) -> str | None:
        analysis = self._analysis(request.uri, allowance)
        if analysis is None:
            return None
        return why_at(self._with_traces(analysis, request.place.line, allowance, explored=True), request.place)

    def _repairs(self, request: AskActions | Prove, allowance: Allowance) -> Actions | tuple[Diagnostic, ...]:
        analysis = self._analysis(request.uri, allowance)
        if analysis is None:
            return Actions((), {}) if isinstance(request, AskActions) else ()
        analysis = self._tried(analysis, request, allowance)
        if isinstance(request, Prove):
            return analysis.diagnostics
        found = actions_at(analysis, request.place)
        if request.rewrites:
            config, project = self._surroundings(request.path)
            turns = self._turns(request)
            loops = rewritten(analysis, request.place, config, project=project, cancelled=allowance, turns=turns)
            turns.end()
            found += rewrites_of(analysis, loops, found)
        told = [diagnostic for action in found for diagnostic in action.diagnostics]
        edits = [edit for action in found for edit in action.edits]
        return Actions(found, lines_told(told, edits, analysis.document, self.text_at))

    def _tried(self, analysis: Analysis, request: AskHover | AskActions | Prove, allowance: Allowance) -> Analysis:
        """The diagnostics of a question with their fixes put on trial; what was tried for their state is known."""
        known = self._known.get(request.uri)
        if known is not None and known.tried is not None and known.tried[0] == request.state:
            return known.tried[1]
        analysis = replace(analysis, diagnostics=request.diagnostics)
        tried = self._on_trial(analysis, allowance, self._turns(request))
        if known is not None and not allowance.is_void:
            known.tried = request.state, tried
        return tried

    def _turns(self, request: AskHover | AskActions | Prove) -> Turns:
        """What the trials for a question have shown so far; in a program without threads each is a turn."""
        known = self._known.get(request.uri)
        if not self._alone or known is None:
            return Turns()
        if known.turns is None or known.turns[0] != request.state:
            known.turns = request.state, Turns(1)
        return known.turns[1].begin()

    def _on_trial(self, analysis: Analysis, allowance: Allowance, turns: Turns | None = None) -> Analysis:
        path = analysis.document.path
        config, project = self._surroundings(path)
        try:
            tried = fix_validation.mended(analysis, config, cancelled=allowance, project=project, turns=turns)
            return replace(tried, walks=(), documents={})
        except (MemoryError, PutOff):
            raise
        except Exception:
            logger.exception("The fixes for %s cannot be tried", path)
            return replace(analysis, diagnostics=tuple(replace(each, fixes=()) for each in analysis.diagnostics))

    def _analysis(self, uri: str, allowance: Allowance) -> Analysis | None:
        """The analysis of the newest state of an open document, made where it is not known."""
        document = self._open.get(uri)
        if document is None:
            return None
        known = self._known.get(uri)
        if known is not None and known.of is document and known.analysis is not None:
            return known.analysis
        return self._analyse(document, allowance)

    def _with_traces(
        self, analysis: Analysis, line: int | None, allowance: Allowance, *, explored: bool = False
    ) -> Analysis:
        config, project = self._surroundings(analysis.document.path)
        return facade.with_traces(analysis, line, config, cancelled=allowance, project=project, explored=explored)

    # Other questions

    def _files(self, request: ListFiles, allowance: Allowance) -> tuple[str, ...]:
        """A walk that is cancelled continues from the same place when it is asked for again."""
        walked, found = self._walks.pop(request) if request in self._walks else (self._walk(request), [])
        for path in walked:
            found.append(path)
            if allowance():
                self._walks[request] = walked, found
                break
        return tuple(sorted(dict.fromkeys(found))[: request.most])

    def _walk(self, request: ListFiles) -> Iterator[str]:
        def excludes(folder: Path) -> tuple[Path, tuple[str, ...]]:
            config = self.configurations.of(str(folder / "x.py"))
            return Path(config.root or folder), config.exclude

        for root in request.folders:
            yield from walk(root, excludes, lambda shown, error: None)

    # Surroundings

    def _surroundings(self, path: str) -> tuple[Config, Project | None]:
        """The configuration of a file, and its project with what is open in the editor; none for what is no file."""
        config = self.configurations.of(path)
        if not Path(path).is_absolute():
            return config, None
        if self._alone:
            return config, project_of(Path(path), config.python, self.text_at)
        if self._finder is None:
            self._finder = Finder(self._found)
        return config, project_of(Path(path), config.python, self.text_at, self._finder.ask)

    def _rest(self) -> None:
        """Have the documents that were worked on longest ago keep only what was found in them."""
        left = AWAKE
        for known in reversed(self._known.values()):
            left -= known.of.size
            if left < 0:
                _rest(known)


def _rest(known: _Known) -> None:
    known.analysis = None if known.analysis is None else known.analysis.findings()
    known.memory = known.last = known.tried = known.turns = None


def _text_of(document: Opened) -> str:
    """The text to check, where there are no cells; jupyterlab-lsp sends a notebook as one text."""
    return python_of(document.text) if document.path.endswith(SUFFIX) else document.text


def _source_of(document: Opened) -> Document:
    if document.cells is not None:
        return CellsDocument(document.path, document.cells)
    return Document(document.path, _text_of(document))
