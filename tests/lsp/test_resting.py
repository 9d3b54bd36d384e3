"""What a server keeps of documents that nobody works on, or that are as long as no document should be."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

import gradpath.analyst.desk
from gradpath.analysis.check import LEAN, check, with_traces
from gradpath.analyst.allowance import Allowance
from gradpath.analyst.collector import MUCH, clean_up, clean_up_all, clean_up_if_due
from gradpath.analyst.desk import Desk
from gradpath.analyst.messages import Check, Opened, Outcome
from gradpath.config import Config
from gradpath.features.hover import as_text, hover_at
from gradpath.names.files import TREES
from gradpath.source.document import Document

TWICE = """\
import torch

w = torch.randn(3, requires_grad=True)
loss = w.exp().sum()
loss.backward()
loss.backward()
"""


def test_what_was_found_outlives_what_it_was_found_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradpath.analyst.desk, "AWAKE", int(2.5 * len(TWICE)))
    desk = Desk(lambda _: None)
    paths = ["/project/one.py", "/project/two.py", "/project/three.py", "/project/one.py"]  # That is edited last.
    for path in paths:
        desk.open(Opened(path, path, TWICE))
        answer = desk.answer(Check(path, path), Allowance(60.0, lambda: False))
        assert isinstance(answer, Outcome)
        assert [each.rule for each in answer.diagnostics] == ["double-backward"]
    assert {path: known.memory is None for path, known in desk._known.items()} == {
        "/project/one.py": False,
        "/project/two.py": True,
        "/project/three.py": False,
    }
    resting = desk._known["/project/two.py"].analysis
    assert resting is not None
    assert resting.parsed.tree.body == []
    [found] = resting.diagnostics
    assert found.rule == "double-backward"


def test_a_document_at_rest_still_tells_its_stories() -> None:
    analysis = check(Document("/project/train.py", TWICE))
    for known in (analysis, analysis.findings()):
        place = analysis.document.position(TWICE.index("loss ="))
        hover = hover_at(with_traces(known, place.line, Config()), place)
        assert hover is not None
        assert "built on line 4" in as_text(hover)


def test_an_analysis_without_traces_tells_the_same() -> None:
    document = Document("/project/train.py", TWICE)
    known, lean = check(document), check(document, depth=LEAN)
    assert len(known.traces) == 1
    assert lean.traces == ()
    assert (lean.diagnostics, lean.marks, lean.endings) == (known.diagnostics, known.marks, known.endings)


def test_the_trees_of_a_file_can_be_thrown_away(tmp_path: Path) -> None:
    path = str(tmp_path / "train.py")
    first = check(Document(path, TWICE)).parsed
    assert TREES.of_text(path, TWICE) is first
    TREES.drop(path)
    assert TREES.of_text(path, TWICE) is not first


def test_garbage_goes_although_it_was_kept_once() -> None:
    class Circle:
        """Refers to itself."""

        def __init__(self) -> None:
            self.itself = self

    clean_up()
    clean_up_all()
    circles = [Circle() for _ in range(1_000)]
    clean_up()  # They are in use.
    circles.clear()
    kept = [[] for _ in range(3 * gc.get_freeze_count())]  # type: ignore[var-annotated]
    clean_up()  # All that is kept has tripled.
    clean_up_all()
    assert kept
    assert not any(isinstance(each, Circle) for each in gc.get_objects())
    gc.unfreeze()
    assert not any(isinstance(each, Circle) for each in gc.get_objects())


def test_no_check_begins_with_the_garbage_of_many_others() -> None:
    gc.disable()
    try:
        clean_up()
        for _ in range(2 * MUCH):
            circle: list[object] = []
            circle.append(circle)
        before = gc.get_count()[0]
        clean_up_if_due()
        assert before > MUCH > gc.get_count()[0]
    finally:
        gc.enable()
