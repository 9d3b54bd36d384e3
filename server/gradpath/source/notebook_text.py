"""Changing the sources of cells in a notebook's JSON text, and nothing else of it.

Outputs, metadata, the order of keys, white space and the way in which characters are escaped stay as they are: only the
source lines that change are written again, in the style of the lines that they replace.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from itertools import accumulate

from gradpath.diagnostic import Range
from gradpath.source.document import Document
from gradpath.source.notebook import SOURCE_KEYS
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.lazy_regex import regex

_TOKEN = regex(r'[ \t\r\n]*("[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+)', re.DOTALL)
_CHARACTER = regex(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|[^\\]", re.DOTALL)
_LINE = regex(r"[^\n]*\n|[^\n]+")

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class _Item:
    """A part of a cell's text that is written as one: a string of a list, or a line of a long string.

    Its raw form is `start:end` of the JSON text, without quotes; its text is `at:at + len(text)` of the cell.
    """

    start: int
    end: int
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class CellSource:
    """The source of a cell in the JSON text; `separator` is the text between the strings of a list."""

    items: tuple[_Item, ...]
    separator: str | None


def with_sources(text: str, changed: Mapping[int, str]) -> str:
    """The JSON text after the source of each cell in `changed`, by number from 1, has become that text."""
    sources = sources_of(text)
    replaced: list[tuple[int, int, str]] = []
    for number, new in changed.items():
        source = sources[number]
        if source.items:
            replaced.append((source.items[0].start, source.items[-1].end, _rewritten(text, source, new)))
    for start, end, raw in sorted(replaced, reverse=True):
        text = text[:start] + raw + text[end:]
    return text


def place_in_file(file: Document, source: CellSource, cell: Document, place: Range) -> Range:
    """Map a place in a cell to its place in the notebook's JSON text."""
    start, end = (_raw_offset(file.text, source, cell.offset(each)) for each in (place.start, place.end))
    return file.range_between(start, max(start, end))


def sources_of(text: str) -> dict[int, CellSource]:
    """The sources of a notebook's cells by number, as far as they are strings; `text` is valid JSON."""
    data = json.loads(text.removeprefix("\ufeff"), strict=False)
    count = len(data["cells"]) if isinstance(data.get("cells"), list) else 0
    before: dict[Path, int] = {(): 0}
    for index, sheet in enumerate(data.get("worksheets") or ()):
        before["worksheets", index] = count
        count += len(sheet["cells"]) if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list) else 0
    found: dict[int, dict[str, CellSource]] = {}
    for path, source in _sources(text):
        *_, cell, key = path
        number = before.get(path[:-3])
        if number is not None and isinstance(cell, int):
            # Of a key that comes twice the last one counts.
            found.setdefault(number + cell + 1, {})[str(key)] = source
    return {number: next(sources[key] for key in SOURCE_KEYS if key in sources) for number, sources in found.items()}


def _sources(text: str) -> Iterator[tuple[Path, CellSource]]:
    """Every string, or list of strings, under a key for sources in a list of cells, with its path."""
    path: list[str | int] = []
    in_list: list[bool] = []
    items: list[_Item] = []
    opened = 0
    before = ""
    for token in _TOKEN.finditer(text, 1 if text.startswith("\ufeff") else 0):
        word = token[1]
        match word[0]:
            case "{" | "[":
                if _is_source(path):
                    items, opened = [], token.end()
                in_list.append(word == "[")
                path.append(0 if word == "[" else "")
            case "}" | "]":
                path.pop()
                in_list.pop()
                if word == "]" and _is_source(path):
                    yield tuple(path), CellSource(tuple(items), _separator(text, items, opened))
            case ",":
                last = path[-1]
                if isinstance(last, int):
                    path[-1] = last + 1
            case '"' if not in_list[-1] and before in ("{", ","):
                path[-1] = json.loads(word, strict=False)
            case '"' if _is_source(path):
                yield tuple(path), CellSource(tuple(_lines(text, token.start(1) + 1, token.end(1) - 1)), None)
            case '"' if _is_source(path[:-1]):
                at = items[-1].at + len(items[-1].text) if items else 0
                items.append(_Item(token.start(1) + 1, token.end(1) - 1, json.loads(word, strict=False), at))
        before = word[0]


def _is_source(path: Path | list[str | int]) -> bool:
    return len(path) in (3, 5) and path[-3] == "cells" and path[-1] in SOURCE_KEYS and isinstance(path[-2], int)


def _separator(text: str, items: list[_Item], opened: int) -> str:
    if len(items) > 1:
        return text[items[0].end + 1 : items[1].start - 1]
    space = text[opened : items[0].start - 1] if items else ""
    return f",{space or ' '}"


def _characters(text: str, start: int, end: int) -> Iterator[tuple[str, re.Match[str]]]:
    """The characters of the inside of a JSON string with their spellings."""
    for spelled in _CHARACTER.finditer(text, start, end):
        yield json.loads(f'"{spelled[0]}"', strict=False) if spelled[0][0] == "\\" else spelled[0], spelled


def _lines(text: str, start: int, end: int) -> Iterator[_Item]:
    at, first, line = 0, start, ""
    for character, spelled in _characters(text, start, end):
        line += character
        if character == "\n":
            yield _Item(first, spelled.end(), line, at)
            at, first, line = at + len(line), spelled.end(), ""
    if line:
        yield _Item(first, end, line, at)


def _raw_offset(text: str, source: CellSource, offset: int) -> int:
    """The offset in the JSON text of an offset in a cell."""
    for item in source.items:
        if offset <= item.at + len(item.text):
            left = offset - item.at
            for character, spelled in _characters(text, item.start, item.end):
                if left <= 0:
                    return spelled.start()
                left -= len(character)
            if offset < item.at + len(item.text) or item is source.items[-1]:
                return item.end
    return source.items[-1].end if source.items else 0


def _rewritten(text: str, source: CellSource, new: str) -> str:
    """The raw form of a source with the text `new`, from its first item to its last, without the outer quotes."""
    old = "".join(item.text for item in source.items)
    spelling: dict[str, str] = {}
    for item in source.items:
        for character, spelled in _characters(text, item.start, item.end):
            spelling.setdefault(character, spelled[0])
    ascii_only = text.removeprefix("\ufeff").isascii()

    def encoded(line: str) -> str:
        raw = (spelling.get(each) or json.dumps(each, ensure_ascii=ascii_only)[1:-1] for each in line)
        return "".join(raw)

    raws: list[tuple[str, int | None]] = []
    following = 0
    for first, last, start, end, there in _merged(source.items, old, new):
        kept = enumerate(source.items[following:first], following)
        raws += ((text[item.start : item.end], index) for index, item in kept)
        run = source.items[first:last]
        before = run[0].text[: start - run[0].at] if run else ""
        rest = run[-1].text[end - run[-1].at :] if run else ""
        raws += ((encoded(line), None) for line in _LINE.findall(before + there + rest))
        following = last
    raws += ((text[item.start : item.end], index) for index, item in enumerate(source.items[following:], following))
    return _joined(text, source, raws)


def _joined(text: str, source: CellSource, raws: list[tuple[str, int | None]]) -> str:
    if source.separator is None:
        return "".join(raw for raw, _ in raws)
    written = ""
    for place, (raw, index) in enumerate(raws):
        if place:
            between = source.separator
            if index:
                between = text[source.items[index - 1].end + 1 : source.items[index].start - 1]
            written += f'"{between}"'
        written += raw
    return written


def _merged(items: tuple[_Item, ...], old: str, new: str) -> Iterator[tuple[int, int, int, int, str]]:
    """The changes with the items that they touch, as one where several touch the same item."""
    waiting: tuple[int, int, int, int, str] | None = None
    for start, end, there in _changes(old, new):
        first, last = _touched(items, start, end)
        if waiting is not None and first < waiting[1]:
            before, _, begun, done, text = waiting
            waiting = before, max(last, waiting[1]), begun, end, text + old[done:start] + there
            continue
        if waiting is not None:
            yield waiting
        waiting = first, last, start, end, there
    if waiting is not None:
        yield waiting


def _changes(old: str, new: str) -> Iterator[tuple[int, int, str]]:
    """The lines that replace parts of `old`, in order."""
    before, after = _LINE.findall(old), _LINE.findall(new)
    starts = [0, *accumulate(map(len, before))]
    for tag, first, last, first_new, last_new in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            yield starts[first], starts[last], "".join(after[first_new:last_new])


def _touched(items: tuple[_Item, ...], start: int, end: int) -> tuple[int, int]:
    """The items that a stretch of the text touches; none, at the place of the first after it, between two items."""
    first = 0
    while first < len(items) and items[first].at + len(items[first].text) <= start:
        first += 1
    last = first
    while last < len(items) and items[last].at < end:
        last += 1
    if first == last < len(items) and items[first].at < start:
        last += 1
    return first, last
