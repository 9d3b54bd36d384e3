"""Those who follow CONTRIBUTING.md, ARCHITECTURE.md and the pages beside them find what they name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradpath.overlays.presumed import effects, owners, presumptions, roles

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    "CONTRIBUTING.md",
    "README.md",
    "docs/ci.md",
    "docs/command-line.md",
    "docs/configuration.md",
    "docs/json.md",
    "server/ARCHITECTURE.md",
    "SECURITY.md",
    "server/RELEASES.md",
    "server/DEBUGGING.md",
    "server/PERFORMANCE.md",
    "server/RELIABILITY.md",
)
MADE_UP = {"nan_comparison", "nan-comparison", "NAME"}  # What the reader is about to write.


def linked(page: Path) -> set[str]:
    """The targets of the links of a page that lead to files."""
    found = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    return {each for each in found if "://" not in each}


def named(page: Path) -> set[str]:
    """The paths that stand in backticks, seen from the root."""
    found = re.findall(r"`((?:server|tests|samples|client-vscode)/[\w./-]+)`", page.read_text(encoding="utf-8"))
    return {each for each in found if Path(each).stem not in MADE_UP}


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_is_there(page: str) -> None:
    path = ROOT / page
    assert [each for each in sorted(linked(path)) if not (path.parent / each).exists()] == []
    assert [each for each in sorted(named(path)) if not (ROOT / each).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_the_tests_that_a_page_names_are_there(page: str) -> None:
    named = re.findall(r"`((?:\w+/)*test_\w+\.py)`", (ROOT / page).read_text(encoding="utf-8"))
    assert [each for each in named if not any((ROOT / "tests").rglob(each.rpartition("/")[2]))] == []


def test_what_the_guide_names_without_a_path_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for table, module in {"CALLS": presumptions, "EFFECTS": effects, "OWNERS": owners, "PROMISES": roles}.items():
        assert table in text
        assert hasattr(module, table)
    events = (ROOT / "server/gradpath/interpreter/events.py").read_text(encoding="utf-8")
    assert "\nEvent = (\n" in events


def test_a_workflow_runs_every_python_that_is_promised() -> None:
    workflow = (ROOT / ".github/workflows/check.yml").read_text(encoding="utf-8")
    promised = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert [each for each in promised if f'"{each}"' not in workflow] == []


def test_types_are_for_those_who_import_gradpath_too() -> None:
    assert (ROOT / "server/gradpath/py.typed").is_file()
