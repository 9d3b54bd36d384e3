"""A report together with the path that it was found on, and where on it the story of the report happens."""

from __future__ import annotations

import ast

from gradpath.diagnostic import Level
from gradpath.findings.report import Report, Rule
from gradpath.findings.syntax import ancestry
from gradpath.interpreter.events import Site
from gradpath.interpreter.trace import Trace
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Found:
    """A report together with the path that it was found on."""

    rule: Rule
    report: Report
    trace: Trace

    @property
    def level(self) -> Level:
        """The level of its rule, but for a silent fault of one whose other faults raise."""
        return Level.WARNING if self.report.silent and self.rule.level is Level.ERROR else self.rule.level

    @property
    def sites(self) -> list[Site]:
        """Where the story of a fault happens."""
        return [self.report.at, *(step.site for step in self.report.steps)]


def breaks_off(found: Found, other: Trace) -> bool:
    """True if another path went on where every run ends with an exception of the program's own."""
    return other.fell_through and not found.trace.fell_through


def statement_of(trace: Trace, site: Site) -> ast.stmt | None:
    """The statement on the path that holds the site's node."""
    if isinstance(site.node, ast.stmt):
        return site.node
    around = (each for each in reversed(ancestry(trace, site.node)) if isinstance(each, ast.stmt))
    return next((each for each in around if each in trace.visits), None)
