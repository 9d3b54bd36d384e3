"""Lines, columns and offsets, as editors and Python's parser count them."""

from __future__ import annotations

import ast
import random

import pytest

from gradpath.diagnostic import Position, Range
from gradpath.source.document import Document

ODD = [
    "a",
    "bc",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "\f",
    "\v",
    "\x1c",
    "\x85",
    "\u2028",
    "\u2029",
    "é",
    "ß",
    "漢",
    "𝔘",
    "\ud800",
]


def odd_texts(count: int) -> list[str]:
    at = random.Random(11)
    return ["".join(at.choices(ODD, k=at.randrange(30))) for _ in range(count)]


def plain_lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


@pytest.mark.parametrize("separator", ["\f", "\v", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"])
def test_only_newlines_and_carriage_returns_end_a_line(separator: str) -> None:
    document = Document("a.py", f"one{separator}still one\ntwo\r\nthree\rfour")
    assert document.line_count == 4
    assert [document.line(number) for number in range(1, 5)] == [f"one{separator}still one", "two", "three", "four"]


def test_an_empty_text_has_one_empty_line() -> None:
    document = Document("a.py", "")
    assert document.line_count == 1
    assert document.line(1) == ""
    assert document.position(0) == Position(1, 1)


def test_a_text_that_ends_in_a_newline_has_an_empty_last_line() -> None:
    assert Document("a.py", "x = 1\n").line_count == 2


def test_lines_that_do_not_exist_are_empty() -> None:
    document = Document("a.py", "x")
    assert (document.line(0), document.line(2), document.line(-1)) == ("", "", "")


def test_any_text_has_the_lines_of_a_plain_split() -> None:
    for text in odd_texts(500):
        document = Document("a.py", text)
        expected = plain_lines(text)
        assert [document.line(number) for number in range(1, document.line_count + 1)] == expected, repr(text)


def test_every_offset_has_a_position_and_returns_from_it() -> None:
    for text in odd_texts(300):
        document = Document("a.py", text)
        for offset in range(len(text) + 1):
            back = document.offset(document.position(offset))
            inside_line_ending = text[offset - 1 : offset + 1] == "\r\n"
            assert back == offset - inside_line_ending, (repr(text), offset)


def test_positions_count_code_points() -> None:
    document = Document("a.py", "é𝔘x\n漢 = 1")
    assert document.position(2) == Position(1, 3)
    assert document.position(5) == Position(2, 2)
    assert document.slice(Range(Position(1, 3), Position(2, 2))) == "x\n漢"


def test_positions_outside_the_text_are_clamped_to_their_line() -> None:
    document = Document("a.py", "ab\r\ncd")
    assert document.offset(Position(1, 99)) == 2
    assert document.offset(Position(1, -3)) == 0
    assert document.offset(Position(0, 5)) == 0
    assert document.offset(Position(9, 1)) == 6
    assert document.position(99) == Position(2, 3)
    assert document.position(-1) == Position(1, 1)


def test_parser_columns_in_bytes_become_code_points() -> None:
    document = Document("a.py", "é = ß.𝔘\nplain = 1\n")
    assert document.from_ast(1, 0) == Position(1, 1)
    assert document.from_ast(1, 5) == Position(1, 5)
    assert document.from_ast(1, 8) == Position(1, 7)
    assert document.from_ast(1, 12) == Position(1, 8)
    assert document.from_ast(1, 999) == Position(1, 8)
    assert document.from_ast(2, 8) == Position(2, 9)


def test_a_lone_surrogate_counts_three_bytes() -> None:
    document = Document("a.py", "x = '\ud800' + y")
    assert document.from_ast(1, len(b"x = '") + 3 + len("' + ")) == Position(1, 11)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_every_name_in_a_tree_is_found_again_in_the_text(newline: str) -> None:
    text = newline.join(
        [
            "\f# form feed, \u2028 and \x85 in a comment",
            "漢 = 'ß\u2028𝔘'; é = 漢",
            "def fünf(ä, *, ö):",
            "\tif ä:",
            '\t\treturn f"ß{ä}𝔘{ö!r:>{é}}" + (',
            "\t\t  ö)",
            "\f",
            "class Δ(é): λ = fünf",
        ]
    )
    document = Document("a.py", text)
    names = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
    assert len(names) > 8
    for name in names:
        assert document.slice(document.range_of(name)) == name.id


def test_the_range_of_a_module_is_the_whole_text() -> None:
    text = "x = 1\ny = 2"
    assert Document("a.py", text).range_of(ast.parse(text)) == Range(Position(1, 1), Position(2, 6))


def test_a_long_line_of_many_names_is_located_quickly() -> None:
    text = "[" + ", ".join(["ü"] * 50_000) + "]"
    document = Document("a.py", text)
    names = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
    assert document.range_of(names[-1]) == Range(Position(1, len(text) - 1), Position(1, len(text)))
    assert len({document.range_of(name) for name in names}) == 50_000
