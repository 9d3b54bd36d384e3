"""A run that goes on with a backward finds what a second run with one does."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradpath.analysis.check import LEAN, TRACED, check
from gradpath.source.document import Document
from tests.documents.pages import Block, documents, read_document

ROOT = Path(__file__).parents[2]
WORDS = "goes through its result"
JUDGED = [
    block
    for path in documents(ROOT)
    for block in read_document(path, ROOT)
    if isinstance(block, Block) and any(WORDS in str(claim) for claim in block.claims)
]


@pytest.mark.parametrize("block", JUDGED, ids=lambda block: block.name)
def test_going_on_finds_as_much(block: Block) -> None:
    document = Document("program.py", block.main.text)
    again, on = (check(document, depth=depth) for depth in (TRACED, LEAN))
    assert on.diagnostics == again.diagnostics
    assert (on.marks, on.incomplete) == (again.marks, again.incomplete)
