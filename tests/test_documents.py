"""Every program in the rules' pages, the cases and the samples does what its comments say."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from tests.documents.judgement import gradpath_complaints, pytorch_complaints, unproved
from tests.documents.pages import Block, Broken, documents, read_document
from tests.documents.pytorch import OutOfTime, outcome_of

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


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Ends what runs inside after `seconds`, where the system has an alarm clock."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise OutOfTime(f"not finished after {seconds} s")

    previous = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
