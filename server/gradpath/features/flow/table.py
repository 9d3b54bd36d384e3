"""A flow as a table for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from gradpath.features.flow import Arrival, Call, Cell, Flow, Row, Use
from gradpath.render.style import BOLD, PLAIN, Style
from gradpath.render.width import character_width, safe_text

WIDTH = 80
"""Columns of a terminal that all lines fit into, but for a name or a call that is longer."""

_NAMES = 34
"""Columns for the names; a longer one has a line of its own."""

_MARGIN = "  "

_LEAST = 30
"""Columns of a call's text that are enough to know it by."""

_BAR = "  |"
"""Between the backwards and the steps."""

_MOST_REASONS = 3
"""The most reasons that are given for one row."""

_WORDS: dict[Arrival | Use, str] = {
    Arrival.GRADIENT: "yes",
    Arrival.ZEROS: "zeros",
    Arrival.CUT: "cut",
    Arrival.NONE: "-",
    Arrival.FROZEN: "frozen",
    Arrival.UNKNOWN: "?",
    Use.UPDATED: "yes",
    Use.ZEROS: "zeros",
    Use.IDLE: "idle",
    Use.ABSENT: "-",
    Use.UNKNOWN: "?",
}

_MEANINGS = {
    "some": "not every time",
    "zeros": "all that arrives is zero",
    "cut": "the loss depends on it, and no gradient comes back to it",
    "idle": "the optimizer has it, and there is no gradient",
    "?": "not known",
}


def as_table(flows: Sequence[Flow], path: str, style: Style = PLAIN) -> str:
    """A table for each entry point of a file, and what there is to say of its rows."""
    width = min(WIDTH, style.width or WIDTH)
    return "\n".join("\n".join(_table(flow, path, style, width)) + "\n" for flow in flows)


def place_of(call: Call, path: str) -> str:
    """Where a call is: in the document at `path`, or in another file."""
    return f"line {call.line}" if call.path == path else f"{call.path.rpartition('/')[2]}, line {call.line}"


def _table(flow: Flow, path: str, style: Style, width: int) -> Iterator[str]:
    title = f"{path}: {flow.entry}" if flow.entry else path
    for line in [title] if len(title) <= width else [f"{path}:", flow.entry]:
        yield style.paint(safe_text(line), BOLD)
    calls = (*flow.backwards, *flow.steps)
    if calls:
        yield ""
        yield from _legend(flow, path, width)
    rows = flow.rows()
    if calls and rows:
        yield ""
        yield from _grid(flow, rows, width)
    notes = [part for note in _notes(flow, rows) for part in _wrapped(note, width)]
    if notes:
        yield ""
        yield from notes


def _legend(flow: Flow, path: str, width: int) -> Iterator[str]:
    """The calls with their numbers."""
    calls = (*flow.backwards, *flow.steps)
    places = {call.number: safe_text(place_of(call, path)) for call in calls}
    longest = max(map(len, places.values()))
    for head, some in (("gradients from", flow.backwards), ("updates by", flow.steps)):
        if some:
            yield _MARGIN + head
        for call in some:
            place = f"{_MARGIN}{call.number:>3}  {places[call.number]:<{longest}}"
            room = width - len(place) - 2
            text = safe_text(call.text)
            if len(text) <= room or room >= _LEAST:
                yield f"{place}  {text if len(text) <= room else text[: room - 1] + '…'}"
            else:
                yield place.rstrip()
                yield f"{_MARGIN}     {text}"


def _grid(flow: Flow, rows: Sequence[Row], width: int) -> Iterator[str]:
    """The cells by rows, with as many calls beside one another as there is room for."""
    titles = [safe_text(row.title) for row in rows]
    names = min(max(map(_width, titles)), _NAMES, width // 2)
    words = [[str(call.number) for call in (*flow.backwards, *flow.steps)]]
    words += [[_word(cell) for cell in (*row.first.arrivals, *row.first.uses)] for row in rows]
    widths = [max(map(len, column)) + 2 for column in zip(*words, strict=True)]
    split = len(flow.backwards)
    for start, end in _blocks(widths, width - len(_MARGIN) - names - len(_BAR)):
        if start:
            yield ""
        for title, line in zip(("", *titles), words, strict=True):
            if _width(title) > names:
                yield _MARGIN + title
                title = ""
            told = [word.rjust(columns) for word, columns in zip(line, widths, strict=True)]
            bar = _BAR if start < split < end else ""
            cells = "".join(told[start : min(end, split)]) + bar + "".join(told[max(start, split) : end])
            yield (_MARGIN + title + " " * (names - _width(title)) + cells).rstrip()


def _blocks(widths: Sequence[int], room: int) -> Iterator[tuple[int, int]]:
    start = used = 0
    for index, width in enumerate(widths):
        if index > start and used + width > room:
            yield start, index
            start, used = index, 0
        used += width
    yield start, len(widths)


def _word(cell: Cell | None) -> str:
    if cell is None:
        return ""
    word = _WORDS[cell.state]
    if not cell.always and cell.state in (Arrival.GRADIENT, Use.UPDATED):
        word = "some"
    return f"{word}*" if cell.presumed else word


def _notes(flow: Flow, rows: Sequence[Row]) -> Iterator[str]:
    cells = [cell for row in rows for cell in (*row.first.arrivals, *row.first.uses)]
    words = {_word(cell).rstrip("*") for cell in cells}
    for word, meaning in _MEANINGS.items():
        if word in words:
            yield f"{word}: {meaning}"
    for row in rows:
        for reason in row.reasons[:_MOST_REASONS]:
            numbers = ", ".join(map(str, reason.backwards)) if len(flow.backwards) > 1 else ""
            yield f"{row.name}{f', {numbers}' if numbers else ''}: {reason.words}"
    if any(cell is not None and cell.presumed for cell in cells):
        yield from _presumed(flow)
    for condition in flow.taken[:_MOST_REASONS]:
        yield f"as if {condition}"
    if flow.stops:
        yield f"{flow.stops}: what comes after it never runs"


def _presumed(flow: Flow) -> Iterator[str]:
    if flow.unseen:
        yield f"*: presumed, as {come_from_outside(flow.unseen)}"
    for condition in flow.conditions[:_MOST_REASONS]:
        yield f"*: if {condition}"


def come_from_outside(names: Sequence[str]) -> str:
    """A sentence that says that these names are not seen."""
    told = [f"`{name}`" for name in names]
    if len(told) == 1:
        return f"{told[0]} comes from outside"
    return f"{', '.join(told[:-1])} and {told[-1]} come from outside"


def _wrapped(text: str, width: int) -> Iterable[str]:
    return textwrap.wrap(
        safe_text(text),
        width,
        initial_indent=_MARGIN,
        subsequent_indent=_MARGIN * 2,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _width(text: str) -> int:
    return sum(map(character_width, text))
