"""Hovers: the history of a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gradpath.analysis.check import Analysis
from gradpath.diagnostic import NO_WAY_OUT, Diagnostic, MarkKind, Position, Range
from gradpath.features.life import Story, story_at
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.lazy_regex import regex

_CODE_OR_MARKUP = regex(r"((?<!`)`[^`]+`(?!`))|([`\\*_<>\[\]#|~&@]|:(?=//)|(?<=www)\.)")
"""Code between single backticks, or a character that may begin markup, a link among it.

Markdown pairs backticks by the length of their runs. One beside another is escaped, so that all runs have one length,
and nothing that the program says can end a piece of code and begin something else.
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A title, the steps that led there in execution order, and remarks; each is one line."""

    title: str
    steps: tuple[str, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hover:
    """The content of a hover, and the range of text that it is about."""

    range: Range
    sections: tuple[Section, ...]


def hover_at(
    analysis: Analysis, position: Position, *, training: Story | None = None, diagnostics: bool = True
) -> Hover | None:
    """The diagnostics, the history of the tensor at a position, and what trains the parameters there.

    On a `backward()` or a `step()` it is what the line above that call says, for clients that show no such lines.
    If the client shows diagnostics itself, `diagnostics` is false, and only what those lack is added. None where there
    is nothing to show.
    """
    faults = faults_at(analysis.diagnostics, position)
    faults = [each for each in faults if diagnostics or each.pytorch or each.alternatives]
    shown = [story for story in (story_at(analysis, position), training) if story is not None]
    if not shown:
        calls = [mark for mark in analysis.marks if mark.kind is not MarkKind.HINT and _holds(mark.range, position)]
        shown = [Story(mark.range, mark.text, ()) for mark in calls[:1]]
    sections = [*(_of_diagnostic(each, whole=diagnostics) for each in faults), *map(_of_story, shown)]
    if not sections:
        return None
    ranges = [*(fault.range for fault in faults), *(story.range for story in shown)]
    return Hover(min(ranges, key=_extent), tuple(sections))


def faults_at(diagnostics: Iterable[Diagnostic], position: Position) -> list[Diagnostic]:
    """The diagnostics with a squiggle at a position."""
    return [each for each in diagnostics if _holds(each.range, position)]


def retold(hover: Hover, told: Callable[[str], str]) -> Hover:
    """The hover with each of its texts converted."""
    sections = (
        Section(told(each.title), tuple(map(told, each.steps)), tuple(map(told, each.remarks)))
        for each in hover.sections
    )
    return Hover(hover.range, tuple(sections))


def as_markdown(hover: Hover) -> str:
    """The hover as Markdown; text between backticks stays code, all other markup is escaped."""
    blocks = []
    for section in hover.sections:
        steps = [f"{number}. {_escaped(step)}" for number, step in enumerate(section.steps, 1)]
        remarks = [f"- {_escaped(remark)}" for remark in section.remarks]
        parts = [f"**{_escaped(section.title)}**", "\n".join(steps), "\n".join(remarks)]
        blocks.append("\n\n".join(part for part in parts if part))
    return "\n\n---\n\n".join(blocks)


def as_text(hover: Hover) -> str:
    """The hover as plain text."""
    blocks = []
    for section in hover.sections:
        steps = [f"{number}. {step}" for number, step in enumerate(section.steps, 1)]
        blocks.append("\n".join([section.title, *steps, *section.remarks]))
    return "\n\n".join(blocks)


def _of_diagnostic(diagnostic: Diagnostic, *, whole: bool) -> Section:
    """The headline with the labels as steps; what PyTorch says and the ways out as remarks.

    Not `whole` it is without what a diagnostic of the protocol holds: the headline, the help and the labels.
    """
    steps = []
    for label in diagnostic.labels if whole else ():
        line = f"line {label.range.start.line}"
        place = line if label.path == diagnostic.path else f"{label.path}, {line}"
        steps.append(f"{place}: {label.message}")
    remarks = []
    if diagnostic.pytorch is not None:
        remarks.append(f"PyTorch: {' '.join(diagnostic.pytorch.split())}")
    if diagnostic.help and whole:
        remarks.append(f"help: {diagnostic.help}")
    remarks += (each if each.startswith(NO_WAY_OUT) else f"or: {each}" for each in diagnostic.alternatives)
    return Section(
        f"{diagnostic.message} ({diagnostic.rule})" if whole else diagnostic.rule, tuple(steps), tuple(remarks)
    )


def _of_story(story: Story) -> Section:
    return Section(story.title, (), story.lines)


def _holds(range: Range, position: Position) -> bool:
    return range.start <= position <= range.end


def _extent(range: Range) -> tuple[int, int]:
    """Lines, then columns, that a range spans: enough to order ranges that all hold one position."""
    return range.end.line - range.start.line, range.end.column - range.start.column


def _escaped(text: str) -> str:
    return _CODE_OR_MARKUP.sub(lambda match: match[1] or "\\" + match[2], " ".join(text.splitlines()))
