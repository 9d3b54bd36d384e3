"""Workflow commands, which GitHub Actions turns into annotations of the changed lines."""

from __future__ import annotations

from gradpath.diagnostic import Diagnostic, Gap, Level, Range
from gradpath.render.gaps import gap_sentence
from gradpath.render.report import Problem
from gradpath.render.story import story_text
from gradpath.render.width import safe_character, safe_text

_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.HINT: "notice"}


def render_github(diagnostic: Diagnostic) -> str:
    """One annotation; its text is the headline, the steps of the story, and the help."""
    properties = _properties(diagnostic.path, diagnostic.range, f"gradpath: {diagnostic.rule}")
    return f"::{_COMMANDS[diagnostic.level]} {properties}::{_data(story_text(diagnostic))}"


def render_github_problem(problem: Problem) -> str:
    """An annotation for a file that could not be checked."""
    return f"::error file={_property(problem.path)},title=gradpath::{_data(safe_text(problem.message))}"


def render_github_gap(gap: Gap) -> str:
    """An annotation for a part of a file that was not fully checked."""
    line = "" if gap.cell is not None else f",line={gap.range.start.line}"
    cell = "" if gap.cell is None else f"cell {gap.cell}, line {gap.range.start.line}: "
    return f"::warning file={_property(gap.path)}{line},title=gradpath::{_data(safe_text(cell + gap_sentence(gap)))}"


def _properties(path: str, range: Range, title: str) -> str:
    start, end = range.start, range.end
    parts = {"file": path, "line": str(start.line), "col": str(start.column), "endLine": str(end.line)}
    if end.line == start.line:
        parts["endColumn"] = str(end.column)
    parts["title"] = title
    return ",".join(f"{name}={_property(value)}" for name, value in parts.items())


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    visible = "".join(each if each in "\r\n" else safe_character(each) for each in text)
    return _data(visible).replace(":", "%3A").replace(",", "%2C")
