"""A diagnostic as a story under its source: what a person reads in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.diagnostic import NO_WAY_OUT, Diagnostic, Label
from gradpath.render.report import SourceLookup, SourceText, place_name
from gradpath.render.style import BLUE, BOLD, CYAN, DIM, GREEN, LEVEL_COLOURS, PLAIN, Style
from gradpath.render.width import LONGEST, row_of, safe_start, safe_text, wrapped
from gradpath.support.fast_dataclasses import dataclass

_INDENT = "   "
_NEAR = 6


@dataclass(frozen=True, slots=True)
class _Step:
    """A label with the words after its underline."""

    label: Label
    words: str


def render_full(diagnostic: Diagnostic, source_of: SourceLookup, style: Style = PLAIN) -> str:
    """One diagnostic as several lines, without a final line break.

    The labels are in execution order; a label in another file is introduced by that file's name.
    """
    start = diagnostic.range.start
    name = place_name(diagnostic.path, diagnostic.cell)
    place = safe_start(f"{name}:{start.line}:{start.column}:")
    level = f"{diagnostic.level.value}[{diagnostic.rule}]"
    head = "." * len(f"{place} {level}:")  # It counts as one word, whatever spaces are in the path.
    first, *more = wrapped(f"{head} {safe_text(diagnostic.message)}", style.width, _INDENT)
    rest = style.paint(first[len(head) + 1 :], BOLD)
    lines = [f"{style.paint(place, BOLD)} {style.paint(level, LEVEL_COLOURS[diagnostic.level])}: {rest}".rstrip()]
    lines += (style.paint(line, BOLD) for line in more)
    lines += _story(diagnostic, source_of, style)
    if diagnostic.pytorch:
        lines += _paragraph("PyTorch:", diagnostic.pytorch, DIM, style)
    if diagnostic.help:
        lines += _paragraph("help:", diagnostic.help, GREEN, style)
    ways = [way for way in diagnostic.alternatives if not way.startswith(NO_WAY_OUT)]
    if ways:
        lines += _paragraph("or:", " · ".join(ways), GREEN, style)
    for way in diagnostic.alternatives:
        if way.startswith(NO_WAY_OUT):
            lines += _paragraph(NO_WAY_OUT, way[len(NO_WAY_OUT) :].strip(), DIM, style)
    return "\n".join(lines)


def _paragraph(name: str, text: str, code: str, style: Style) -> Iterator[str]:
    first, *more = wrapped(f"{_INDENT}{name} {safe_text(text)}", style.width, _INDENT * 2)
    yield f"{_INDENT}{style.paint(name, code)}{first[len(_INDENT + name) :]}"
    yield from more


def _steps(diagnostic: Diagnostic) -> tuple[_Step, ...]:
    labels = diagnostic.labels
    numbered = len(labels) > 1
    steps = [
        _Step(label, f"{number}. {label.message}" if numbered else label.message)
        for number, label in enumerate(labels, start=1)
    ]
    if not any(label.primary for label in labels):
        steps.append(_Step(Label(diagnostic.path, diagnostic.range, "", True, diagnostic.cell), ""))
    return tuple(steps)


def _story(diagnostic: Diagnostic, source_of: SourceLookup, style: Style) -> Iterator[str]:
    steps = _steps(diagnostic)
    places = dict.fromkeys((step.label.path, step.label.cell) for step in steps)
    sources = {place: source_of(*place) for place in places}
    digits = max(len(str(step.label.range.start.line)) for step in steps)
    gutter = max(digits + 2, 5)
    here, line = (diagnostic.path, diagnostic.cell), 0
    for step in steps:
        label = step.label
        there = label.path, label.cell
        source = sources[there]
        number = label.range.start.line
        if source is None or not 1 <= number <= source.line_count:
            start = label.range.start
            where = safe_start(f"{place_name(*there)}:{start.line}:{start.column}: {step.words}")
            yield f"{_INDENT}{where}".rstrip()
            here, line = ("", None), 0
            continue
        if there != here:
            name = f"cell {label.cell}" if label.cell is not None and label.path == here[0] else place_name(*there)
            yield f"{_INDENT}{style.paint(safe_text(f'in {name}'), BOLD)}"
            here, line = there, 0
        row = row_of(source.line(number))
        longest = LONGEST if style.width is None else min(LONGEST, style.width - gutter - 3)
        shown, moved = row.window(label.range.start.column - 1, longest)
        if number != line or row.width > longest:
            between = _only_line_between(source, line, number)
            if between is not None:
                yield _source_line(between, row_of(source.line(between)).window(0, longest)[0], gutter, style)
            elif line and _has_code_between(source, line, number):
                yield style.paint(f"{_INDENT}...", DIM)
            yield _source_line(number, shown, gutter, style)
            line = number
        from_point, to_point = _extent(source, label)
        first = max(row.column(from_point) - moved, 0)
        length = max(row.column(to_point) - row.column(from_point), 1)
        if row.width > longest:
            length = max(min(length, longest - first), 1)
        colour = LEVEL_COLOURS[diagnostic.level] if label.primary else CYAN
        mark = ("^" if label.primary else "-") * length
        words = safe_text(step.words)
        bar = style.paint(" " * gutter + " |", BLUE)
        told = f"{mark} {words}".rstrip()
        if style.width is not None and first + len(told) > longest:
            yield f"{bar} {' ' * first}{style.paint(mark, colour)}"
            first, told = max(min(first, longest - len(words)), 0), words
        for part in wrapped(told, None if style.width is None else longest - first):
            yield f"{bar} {' ' * first}{style.paint(part, colour)}"


def _source_line(number: int, text: str, gutter: int, style: Style) -> str:
    return f"{style.paint(f'{number:>{gutter}} |', BLUE)} {text}".rstrip()


def _extent(source: SourceText, label: Label) -> tuple[int, int]:
    """The code points, from 0, that a label underlines on its first line."""
    text = source.line(label.range.start.line)
    start = min(label.range.start.column - 1, len(text))
    if label.range.end.line > label.range.start.line:
        return start, len(text.rstrip())
    return start, label.range.end.column - 1


def _only_line_between(source: SourceText, line: int, number: int) -> int | None:
    """The line of code between two labelled lines, if there is exactly one: it keeps the flow."""
    if not 0 < line < number or number - line > _NEAR:
        return None
    code = list(_code_between(source, line, number))
    return code[0] if len(code) == 1 else None


def _has_code_between(source: SourceText, line: int, number: int) -> bool:
    """True if code is left out between two lines, or the story goes back."""
    return number < line or next(_code_between(source, line, number), None) is not None


def _code_between(source: SourceText, line: int, number: int) -> Iterator[int]:
    for between in range(line + 1, number):
        text = source.line(between).strip()
        if text and text[0] != "#":
            yield between
