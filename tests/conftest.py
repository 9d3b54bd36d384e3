"""What all tests share: the choice between PyTorch's and gradpath's half of the documents."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--only",
        choices=("torch", "gradpath"),
        help="check only what the documents claim of PyTorch, or only what they claim of gradpath",
    )


def pytest_collection_finish() -> None:
    """Have the garbage collector leave alone what stays to the end: the tests, and PyTorch.

    Left to itself it walks over all of that again and again while programs are checked.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session")
def only(pytestconfig: pytest.Config) -> str | None:
    """The half of a document's claims that is checked; None for both."""
    chosen = pytestconfig.getoption("only")
    return None if chosen is None else str(chosen)


@pytest.fixture(scope="session")
def records(pytestconfig: pytest.Config) -> Path | None:
    """Where runs under PyTorch are remembered; None without pytest's cache."""
    cache = getattr(pytestconfig, "cache", None)
    return None if cache is None else Path(cache.mkdir("documents"))
