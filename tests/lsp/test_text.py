"""The text of an open document follows the client's edits, whatever they join, part or cut."""

from __future__ import annotations

import random

import pytest
from lsprotocol import types

from gradpath.diagnostic import Position, Range
from gradpath.lsp.convert import Encoding, code_points, from_position, from_range, to_position, to_range, units
from gradpath.lsp.text import apply_changes, split_lines
from gradpath.source.document import Document
from tests.lsp.harness import offset_in

PIECES = (
    "a",
    "bc",
    "é",
    "中",
    "😀",
    "👩‍👩‍👧",
    " ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\f",
    "\v",
    "\x1c",
    "\x85",
    "\u2028",
    "\u2029",
)


def some_text(dice: random.Random, most: int) -> str:
    return "".join(dice.choice(PIECES) for _ in range(dice.randrange(most)))


def partial(start: types.Position, end: types.Position, text: str) -> types.TextDocumentContentChangePartial:
    return types.TextDocumentContentChangePartial(range=types.Range(start, end), text=text)


@pytest.mark.parametrize("encoding", list(Encoding))
@pytest.mark.parametrize("seed", range(40))
def test_random_edits_give_the_text_that_the_client_has(encoding: Encoding, seed: int) -> None:
    dice = random.Random(f"{seed} {encoding}")
    text = some_text(dice, 40)
    lines = split_lines(text)
    for _ in range(30):
        changes: list[types.TextDocumentContentChangeEvent] = []
        for _ in range(dice.choice((1, 1, 2, 3))):
            if dice.random() < 0.05:
                text = some_text(dice, 40)
                changes.append(types.TextDocumentContentChangeWholeDocument(text))
                continue
            places = sorted((dice.randrange(len(lines) + 2), dice.randrange(12)) for _ in range(2))
            insertion = some_text(dice, 5)
            start, end = (offset_in(text, *place, encoding) for place in places)
            text = text[:start] + insertion + text[max(start, end) :]
            changes.append(partial(types.Position(*places[0]), types.Position(*places[1]), insertion))
        lines = apply_changes(lines, changes, encoding)
        assert "".join(lines) == text
        assert lines == split_lines(text)


@pytest.mark.parametrize("seed", range(20))
def test_lines_are_those_of_a_document(seed: int) -> None:
    text = some_text(random.Random(seed), 60)
    document = Document("x.py", text)
    lines = split_lines(text)
    assert "".join(lines) == text
    assert [line.rstrip("\r\n") for line in lines] == [
        document.line(number) for number in range(1, document.line_count + 1)
    ]


@pytest.mark.parametrize("encoding", list(Encoding))
@pytest.mark.parametrize("seed", range(20))
def test_positions_survive_the_way_to_the_client_and_back(encoding: Encoding, seed: int) -> None:
    text = some_text(random.Random(seed), 60)
    document = Document("x.py", text)
    lines = split_lines(text)
    for offset in range(len(text) + 1):
        position = document.position(offset)
        sent = to_position(position, document.line, encoding)
        assert offset_in(text, sent.line, sent.character, encoding) == document.offset(position)
        assert from_position(sent, lines, encoding) == position


def test_an_emoji_counts_as_the_encoding_has_it() -> None:
    assert [units("😀é", encoding) for encoding in Encoding] == [6, 3, 2]
    assert [code_points("😀é", 3, encoding) for encoding in Encoding] == [0, 2, 2]
    range_of_x = Range(Position(1, 3), Position(1, 4))
    spans = [to_range(range_of_x, Document("x.py", "😀é x").line, encoding) for encoding in Encoding]
    assert [(span.start.character, span.end.character) for span in spans] == [(6, 7), (3, 4), (2, 3)]


def test_a_place_inside_a_character_is_its_start() -> None:
    lines = split_lines("😀x")
    assert from_position(types.Position(0, 1), lines, Encoding.UTF16) == Position(1, 1)
    assert from_position(types.Position(0, 3), lines, Encoding.UTF8) == Position(1, 1)


def test_a_place_behind_the_line_or_the_text_is_its_end() -> None:
    lines = split_lines("ab\r\nc")
    assert from_position(types.Position(0, 99), lines, Encoding.UTF16) == Position(1, 3)
    assert from_position(types.Position(9, 0), lines, Encoding.UTF16) == Position(2, 2)


def test_a_range_that_is_back_to_front_is_turned_round() -> None:
    span = types.Range(types.Position(0, 2), types.Position(0, 1))
    assert from_range(span, ["abc"], Encoding.UTF16) == Range(Position(1, 2), Position(1, 3))


def test_lone_surrogates_can_be_counted() -> None:
    assert [units("\ud800x", encoding) for encoding in Encoding] == [4, 2, 2]
