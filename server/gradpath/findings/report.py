"""The findings of rules: reports in terms of sites, before they become `Diagnostic`s."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

from gradpath.diagnostic import Advice, Fix, Level
from gradpath.interpreter.events import Site
from gradpath.interpreter.trace import Trace
from gradpath.source.document import Document
from gradpath.source.imports import called, imported
from gradpath.source.parse import parse
from gradpath.support.fast_dataclasses import dataclass

T = TypeVar("T")


def _plainly(fix: Fix) -> str:
    return fix.said


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a story: where, and what happened there, in at most ten words."""

    site: Site
    message: str


@dataclass(frozen=True, slots=True)
class Report:
    """A fault on one path.

    `at` carries the squiggle; `steps` are in execution order, `at` among them. `raised_at` is where PyTorch raises,
    None where it raises nothing or outside what is seen; whether the fault is certain is judged from how other paths
    pass `at` and `raised_at`. A `silent` fault raises nothing, though others of its rule do. `about` identifies
    its subject in a form that is the same on all paths. A path says nothing of it that does not come to `through` as
    well. A fault of `every_path` is none where a branch decides whether it happens. `condition` is what one depends on,
    in words, though no branch of the program asks for it. `why` says what speaks for each of
    the `fixes`; `help` is the way out in general, which is told where none of them is preferred.
    """

    at: Site
    headline: str
    steps: tuple[Step, ...]
    raised_at: Site | None = None
    pytorch: str | None = None
    help: str = ""
    alternatives: tuple[Advice, ...] = ()
    fixes: tuple[Fix, ...] = ()
    why: Callable[[Fix], str] = _plainly
    silent: bool = False
    about: tuple[object, ...] = ()
    through: tuple[Site, ...] = ()
    every_path: bool = False
    condition: str | None = None

    def advice(self) -> tuple[Advice, ...]:
        """The lines of advice, each with what it stands on: the help, the fixes, and what goes with these."""
        told = (Advice(self.why(fix), fix) for fix in self.fixes)
        return (Advice(self.help), *told, *self.alternatives)


class Finding(Protocol):
    """What one mechanism of a rule has found at a `site`, before it is put into words."""

    @property
    def site(self) -> Site:
        """The place that tells it from others of its rule."""

    def report(self, trace: Trace, source: Source) -> Report:
        """The finding in words."""


def reports(
    trace: Trace, source: Source, found: Iterable[Finding | Report], told: Collection[ast.AST] = ()
) -> Iterator[Report]:
    """The report of the first finding at each place, but for the places that are `told` by another rule."""
    seen = set(told)
    for each in found:
        site = each.at if isinstance(each, Report) else each.site
        if site.node not in seen:
            seen.add(site.node)
            yield each if isinstance(each, Report) else each.report(trace, source)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the catalogue; `find` reads a trace, never the tree.

    `denied` says, for a silent rule, whether a path shows that a report of another path is wrong. So does any path
    that passes the same places without the fault, unless the fault is `lasting`: then no path speaks against it.

    `raises` are expressions for the messages of the exceptions that its faults may end in. The other fields say what a
    fix may lead to: `idle` marks a rule for programs that run and do not train, where no fix may lead; `leftover` one
    for what a fix leaves without a use, which goes with the fix; `uncovered_by` is the family whose fixes uncover its
    faults. `of_losses` marks a rule that judges what a loss is meant to train: a result is not known to be one.
    """

    id: str
    family: str
    level: Level
    summary: str
    find: Callable[[Trace, Source], Iterator[Report]]
    denied: Callable[[Trace, Report], bool] | None = None
    pytorch: str | None = None
    lasting: bool = False
    raises: tuple[str, ...] = ()
    idle: bool = False
    leftover: bool = False
    uncovered_by: str = ""
    of_losses: bool = False

    @property
    def page(self) -> str:
        """The Markdown page beside the module of the rule; empty where there is none."""
        page = Path(__file__).parents[1] / "rules" / f"{self.id.replace('-', '_')}.md"
        return page.read_text(encoding="utf-8") if page.is_file() else ""


class Source:
    """The texts of sites: documents by path; a rule `proposes` fixes only if they are asked for."""

    def __init__(self, documents: dict[str, Document], *, proposes: bool = True) -> None:
        self.documents, self.proposes = documents, proposes
        self.read: set[str] = set()
        """The documents about which something was asked as a whole."""
        self._trees: dict[str, ast.Module] = {}

    def proposed(self, lines: Iterable[T]) -> tuple[T, ...]:
        """The fixes, or the advice, if they are asked for; none are worked out while the user types."""
        return tuple(lines) if self.proposes else ()

    def document(self, site: Site) -> Document:
        return self.documents[site.path]

    def tree(self, path: str) -> ast.Module:
        """The tree of a document as a reader has it: parsed once, whatever rules and paths ask."""
        self.read.add(path)
        return self._tree(path)

    def _tree(self, path: str) -> ast.Module:
        known = self._trees.get(path)
        if known is None:
            known = self._trees[path] = parse(self.documents[path]).tree
        return known

    def names(self, path: str) -> Mapping[str, str]:
        """What the names of a file mean by its imports."""
        return imported(self._tree(path))

    def called(self, module: str, path: str) -> str | None:
        """What a file calls a module; None where it does not name it."""
        return called(module, self.names(path))

    def text(self, site: Site, node: ast.AST | None = None) -> str:
        """The source of a node (the site's own unless another is given), on one line."""
        document = self.document(site)
        text = document.slice(document.range_of(site.node if node is None else node))
        return " ".join(text.split())

    def short(self, site: Site, node: ast.AST | None = None, limit: int = 40) -> str:
        """The same, cut to `limit` characters."""
        text = self.text(site, node)
        return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
