"""Where statements begin and end, told without the parser."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import typing
from types import ModuleType

import pytest

from gradpath.source.logical import Lines, logical_lines


def code_of(text: str, *, starts: tuple[int, ...] = ()) -> list[str]:
    """The text of each logical line, without indentation and comments behind it."""
    lines = Lines(text)
    return [
        text[lines.start_of(line.first) : lines.start_of(line.last) + line.code_end].lstrip()
        for line in logical_lines(lines, starts=starts)
    ]


@pytest.mark.parametrize("module", [argparse, dataclasses, inspect, typing])
def test_logical_lines_of_good_code_are_the_statements_of_the_parser(module: ModuleType) -> None:
    text = inspect.getsource(module)
    tree = ast.parse(text)
    statements = {node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt | ast.ExceptHandler)}
    found = logical_lines(Lines(text))
    assert not any(line.torn or line.closers for line in found)
    assert {line.first for line in found} >= statements
    others = {line.word for line in found if line.first not in statements}
    assert others <= {"@", "else", "finally", "elif", "case"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n\n# c\nb # c\n", ["a", "b"]),
        ("if a:  # c\n\tb\n", ["if a:", "b"]),
        ("f(a,  # c\n  # c\n\n  b)  # c\nc", ["f(a,  # c\n  # c\n\n  b)", "c"]),
        ("x = '#' + \"'\" # c\n", ["x = '#' + \"'\""]),
        ("x = 'a\\'b' # c\n", ["x = 'a\\'b'"]),
        ("x = '''a\n# \"''' + b\ny", ["x = '''a\n# \"''' + b", "y"]),
        ("x = 'a\\\nb'\ny", ["x = 'a\\\nb'", "y"]),
        ("x = f'{a['b']}' + g(\n  f\"{c[\"d\"]:{w}}}}\")\ny", ["x = f'{a['b']}' + g(\n  f\"{c[\"d\"]:{w}}}}\")", "y"]),
        ("x = a + \\\n  b\ny", ["x = a + \\\n  b", "y"]),
        ("from a \\\nimport b\ny", ["from a \\\nimport b", "y"]),
        ("a; b\nc", ["a; b", "c"]),
        ("", []),
        ("# c", []),
        ("\f\na", ["a"]),
    ],
)
def test_logical_lines(text: str, expected: list[str]) -> None:
    assert code_of(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = f(a\nreturn x\n", ["x = f(a", "return x"]),
        ("x = f(a,\n  b,\ndef g(): pass\n", ["x = f(a,\n  b,", "def g(): pass"]),
        ("x = f(a,\n@b\ndef g(): pass\n", ["x = f(a,", "@b", "def g(): pass"]),
        ("x = f(a\ny = 1\nz = 2\n", ["x = f(a", "y = 1", "z = 2"]),
        ("x = [a,\ny = 1\nz = 2\n", ["x = [a,", "y = 1", "z = 2"]),
        ("x = f(\n  a,\n  b\ny = 1\n", ["x = f(\n  a,\n  b", "y = 1"]),
        ("if f(a:\n  y = 1\n  z = 2\n", ["if f(a:", "y = 1", "z = 2"]),
        ("def f(\n  a=(,\n  b,\n):\n  y = 1\n", ["def f(\n  a=(,\n  b,\n):", "y = 1"]),
        ("x = f(a]\ny = 1\nz", ["x = f(a]", "y = 1", "z"]),
        ("x = f(a))\ny = 1\n", ["x = f(a))", "y = 1"]),
        ("x = 'a\ny = 1\n", ["x = 'a", "y = 1"]),
    ],
)
def test_a_bracket_or_quote_that_is_not_closed_ends_where_a_statement_begins(text: str, expected: list[str]) -> None:
    assert code_of(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "x = [a\nfor a in b\nif a]\n",
        "x = (a\nif b\nelse c)\n",
        "x = (a\nand b\nor not c)\n",
        "x = f(\na,\nb=1,\n*c)\n",
        'x = f("a"\n"b"\nf"c"\nr\'d\')\n',
        "x = (await\na)\n",
        "x = (yield\na)\n",
        "x = (lambda\na: b)\n",
        "x = (a @\nb @ c\n@ d)\n",
        "from a import (b\nas c,\nd)\n",
        "x = (a in\nb\nnot in c\nis not d)\n",
        "x = {a: b\nfor a, b in c}\n",
    ],
)
def test_brackets_may_be_laid_out_as_one_likes(text: str) -> None:
    ast.parse(text)
    for rest in ("", "y = (\n", "y = (\ndef f(): pass\n"):
        assert code_of(text + rest)[0] == text.rstrip()


def test_a_known_start_ends_any_string_or_bracket() -> None:
    text = "x = '''a\ny = (\nz = \\\nw = 1\n"
    assert code_of(text, starts=(2, 3, 4)) == ["x = '''a", "y = (", "z =", "w = 1"]
