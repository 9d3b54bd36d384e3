"""Claims that stand in a file beside the programs that they are about."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documents.claims import Misplaced, annotated
from tests.documents.grammar import Report, read_source

SAMPLES = Path(__file__).parents[2] / "samples"


def written(folder: Path, claims: str) -> Path:
    (folder / "claims.txt").write_text(claims, encoding="utf-8")
    (folder / "inner").mkdir()
    file = folder / "inner" / "train.py"
    file.write_text("x = 1\n\ny = x\n", encoding="utf-8")
    return file


def test_a_claim_beside_a_program_counts_like_one_in_it(tmp_path: Path) -> None:
    file = written(tmp_path, "# Samples.\n\ninner/train.py\n  3: error: [double-backward] # raises: RuntimeError\n")
    report, raised = read_source("train.py", annotated(file), "train.py").claims
    assert isinstance(report, Report)
    assert (report.rule, report.place.line, raised.place.line) == ("double-backward", 3, 3)


@pytest.mark.parametrize("line", ["  2: error: [a]", "  4: error: [a]", "gone.py", "3: error: [a]"])
def test_a_claim_about_nothing_is_a_mistake(tmp_path: Path, line: str) -> None:
    file = written(tmp_path, f"inner/train.py\n{line}\n")
    with pytest.raises(Misplaced):
        annotated(file)


@pytest.mark.parametrize("path", sorted(SAMPLES.rglob("*.*")), ids=lambda path: path.relative_to(SAMPLES).as_posix())
def test_no_sample_holds_its_own_answer(path: Path) -> None:
    if path.suffix in (".py", ".ipynb"):
        assert not any(word in path.read_text() for word in ("# error:", "# warning:", "# raises:", "# torch:"))
