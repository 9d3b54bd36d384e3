"""Of random edits that break real files, nearly all functions that were not touched keep their trees."""

from __future__ import annotations

import argparse
import ast
import contextlib
import dataclasses
import random
import selectors
import textwrap
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from gradpath.source.document import Document
from gradpath.source.parse import parse
from tests.source.edits import KINDS, breaking_edits, edited, fingerprint, survival

MODULES = [argparse, contextlib, dataclasses, selectors, textwrap]
EDITS_OF_EACH = 6 * len(KINDS)
FLOOR = 0.98


def document_of(module: ModuleType) -> Document:
    assert module.__file__ is not None
    return Document(module.__name__, Path(module.__file__).read_text(encoding="utf-8"))


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("known", [True, False], ids=["with the last good parse", "without"])
def test_untouched_functions_outlive_breaking_edits(known: bool) -> None:
    same: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for module in MODULES:
        at = random.Random(module.__name__)
        good = parse(document_of(module))
        for kind, start, end, new in breaking_edits(good.document.text, EDITS_OF_EACH, at):
            broken = parse(edited(good.document, start, end, new), good if known else None)
            assert broken.problems
            kept, all_of_them = survival(good, start, end, new, broken)
            same[kind] += kept
            total[kind] += all_of_them
    assert total.total() > 4_000
    assert {kind: same[kind] / total[kind] for kind in total if same[kind] / total[kind] < FLOOR} == {}


def times(one: Callable[[], object], other: Callable[[], object]) -> float:
    """How many times as long the one takes, each at its best of several turns: other work disturbs both alike."""
    best = [9.0, 9.0]
    for _ in range(9):
        for index, call in enumerate((one, other)):
            begun = time.process_time()
            call()
            best[index] = min(best[index], time.process_time() - begun)
    return best[0] / best[1]


def test_parsing_costs_little_more_than_the_parser() -> None:
    document = document_of(argparse)
    good = parse(document)
    middle = document.text.index("\n    def ", len(document.text) // 2)
    broken = edited(document, middle, middle, "\n    x = foo(")

    def plain() -> ast.Module:
        return ast.parse(document.text)

    assert times(lambda: parse(document), plain) < 1.5
    assert times(lambda: parse(broken, good), plain) < 4
    assert times(lambda: parse(broken), plain) < 5


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("broken", ["x = foo(1 2)\n", "$\n", "def f(:\n", "x = '''\n"])
def test_a_broken_line_at_the_end_or_the_beginning_costs_no_other_statement(module: ModuleType, broken: str) -> None:
    good = parse(document_of(module))
    text = good.document.text
    expected = [fingerprint(node) for node in good.tree.body]
    for last in (good, None):
        at_the_end = parse(Document("a.py", f"{text}\n{broken}"), last)
        assert [fingerprint(node) for node in at_the_end.tree.body[: len(expected)]] == expected
        if "'''" not in broken or last is not None:
            at_the_beginning = parse(Document("a.py", broken + text), last)
            assert [fingerprint(node, -1) for node in at_the_beginning.tree.body[1:]] == expected
