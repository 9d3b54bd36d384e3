"""The index of the corpus names every pair."""

from __future__ import annotations

from tests.documents.index import INDEX, index


def test_the_index_is_that_of_the_corpus() -> None:
    assert INDEX.read_text(encoding="utf-8") == index(), "write it again: python -m documents.index"
