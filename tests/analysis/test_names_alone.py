"""No error rests on a name: a program whose names mean nothing has the errors that it has, and no others."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from gradpath.analysis.check import check
from gradpath.diagnostic import Level
from gradpath.source.document import Document
from tests.documents.pages import Block, documents, read_document
from tests.documents.renaming import meaningless

ROOT = Path(__file__).resolve().parents[2]

SHARE = 16
"""One of so many of the programs is taken, and each file of which nothing else is seen."""


def programs() -> dict[str, str]:
    """The texts of the documents' programs by their names; fixed ones are left out."""
    found: dict[str, str] = {}
    for path in documents(ROOT):
        for block in read_document(path, ROOT):
            if isinstance(block, Block) and block.fix_of is None:
                for source in block.sources:
                    alone = "presumptions" in block.name and source is not block.main
                    if alone or zlib.crc32(source.text.encode()) % SHARE == 0:
                        found[f"{block.name}:{source.name}"] = source.text
    return found


def errors(text: str) -> set[tuple[str, int]]:
    """The rules and lines of the errors in a program."""
    diagnostics = check(Document("engine.py", text)).diagnostics
    return {(each.rule, each.range.start.line) for each in diagnostics if each.level is Level.ERROR}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in programs().items()])
def test_other_names_make_no_error(text: str) -> None:
    found = errors(meaningless(text))
    assert not found or found <= errors(text)


def test_names_that_somebody_knows_from_outside_stay() -> None:
    text = "import torch\n\ndef f(model, x, size=1):\n    self.net = model(x, size=size)\n    return f'{x}'\n"
    assert meaningless(text) == text.replace("model", "v0q").replace("self.net", "self.a0q")
