"""Every program in the rules' pages, the cases and the samples does what its comments say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documents.judgement import gradpath_complaints, pytorch_complaints, unproved
from tests.documents.pages import Block, Broken, documents, read_document
from tests.documents.pytorch import outcome_of, time_limit

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 60

TESTS = [test for path in documents(ROOT) for test in read_document(path, ROOT)]


@pytest.mark.parametrize("block", [pytest.param(test, id=test.name) for test in TESTS])
def test_program(block: Block | Broken, only: str | None, records: Path | None) -> None:
    if isinstance(block, Broken):
        pytest.fail(f"{block.place}: {block.message}", pytrace=False)
    with time_limit(SECONDS):
        complaints = unproved(block)
        if only != "gradpath":
            facts = [fact.expression for fact in block.facts]
            complaints += pytorch_complaints(block, outcome_of(block.sources, facts, records))
        if complaints:
            pytest.fail("\n".join(complaints), pytrace=False)
        if only == "torch":
            return
        complaints = gradpath_complaints(block)
    if block.known_gap is not None:
        if complaints:
            pytest.xfail(block.known_gap)
        pytest.fail(f"{block.place}: the known gap is closed: {block.known_gap}", pytrace=False)
    if complaints:
        pytest.fail("\n".join(complaints), pytrace=False)
