"""What a check says of the parts of a document that it has not followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradpath.analysis.check import Analysis, check
from gradpath.diagnostic import GapKind
from gradpath.source.cells import Cell, CellsDocument
from gradpath.source.document import Document

HEAD = "import torch\n\nw = torch.randn(3, requires_grad=True)\n"
TRAIN = "loss = w.exp().sum()\nloss.backward()\n"
LONG = "y = torch.ones(1, requires_grad=True).exp()\n" * 300


@pytest.fixture
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path may execute two hundred statements."""
    monkeypatch.setattr("gradpath.analysis.check.STEPS", 200)


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def told(analysis: Analysis) -> list[tuple[GapKind, int, str | None]]:
    return [(each.kind, each.range.start.line, each.entry) for each in analysis.incomplete]


def gaps_of(text: str) -> list[tuple[GapKind, int, str | None]]:
    return told(check(Document("train.py", text)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "print('no tensors here')\n",
        HEAD + TRAIN,
        f"{HEAD}def train(model, batches, mode, n):\n    for x in batches:\n"
        + "".join(f"        if mode == {number}:\n            x = x * {number}\n" for number in range(40))
        + "        model(x).sum().backward()\n",
    ],
    ids=["empty", "no torch", "plain", "more branches than paths"],
)
def test_what_was_followed_to_its_end_has_no_gap(text: str) -> None:
    assert gaps_of(text) == []


@pytest.mark.usefixtures("impatience")
def test_a_module_that_is_too_long_says_where_it_was_left() -> None:
    [(kind, line, entry)] = gaps_of(HEAD + LONG + TRAIN)
    assert (kind, entry) == (GapKind.BUDGET, "")
    assert 150 < line < 250


@pytest.mark.usefixtures("impatience")
def test_a_function_that_is_too_long_is_named_at_its_first_line() -> None:
    text = f"import torch\n\n\nclass Trainer:\n    def fit(self, w):\n{indented(indented(LONG + TRAIN))}"
    assert gaps_of(text) == [(GapKind.BUDGET, 5, "Trainer.fit")]


def test_a_training_loop_that_was_given_up_before_it_began_is_told() -> None:
    loop = f"for i in filter(lambda i: i > 10 ** 7, range(10 ** 7)):\n{indented(TRAIN)}"
    assert gaps_of(HEAD + loop) == [(GapKind.BUDGET, 4, "")]


def test_data_that_is_too_much_is_no_gap() -> None:
    data = "idx = [(i, j, k) for i in range(100) for j in range(100) for k in range(100)]\n"
    assert gaps_of(HEAD + data + TRAIN) == []


def test_functions_that_were_not_entered_are_told_if_they_compute_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradpath.analysis.check.TOTAL_EFFORT", 3)
    one, two = (f"def {name}(w):\n{indented(TRAIN)}" for name in ("one", "two"))
    show, lost = "def show(w):\n    print(w)\n", "def lost(w):\n    w.detach()\n"
    assert gaps_of(f"import torch\n{one}{show}{lost}{two}") == [(GapKind.BUDGET, 9, "two")]


def test_a_text_that_does_not_parse_is_told_by_its_first_line_that_does_not() -> None:
    analysis = check(Document("train.py", f"{HEAD}x = = 2\n{TRAIN}y = )\n"))
    [gap] = analysis.incomplete
    assert (gap.kind, gap.range.start.line, gap.entry) == (GapKind.SYNTAX, 4, "")
    assert gap.detail == "invalid syntax"


def test_a_statement_that_is_nested_too_deeply_is_told_though_it_parses() -> None:
    assert gaps_of(f"{HEAD}x = {'-' * 500}1\n{TRAIN}") == [(GapKind.BUDGET, 4, "")]


def test_each_cell_that_does_not_parse_is_told() -> None:
    cells = [Cell(1, HEAD), Cell(2, "x = = 2\n"), Cell(3, TRAIN), Cell(4, "\ny = )\nz = )\n")]
    analysis = check(CellsDocument("train.ipynb", cells))
    document = analysis.document
    assert isinstance(document, CellsDocument)
    places = [document.in_cell(each.range) for each in analysis.incomplete]
    assert [(cell.number, place.start.line) for cell, place in places] == [(2, 1), (4, 2)]


@pytest.mark.usefixtures("impatience")
def test_a_gap_of_a_function_that_is_not_run_again_moves_with_it() -> None:
    text = f"import torch\n\n\ndef train(w):\n{indented(LONG + TRAIN)}"
    first = check(Document("train.py", text))
    later = check(Document("train.py", f"import os\n{text}"), last=first.parsed, memory=first.memory)
    assert told(first) == [(GapKind.BUDGET, 4, "train")]
    assert told(later) == [(GapKind.BUDGET, 5, "train")]


def test_a_file_that_is_longer_than_a_check_takes_on_is_told() -> None:
    assert gaps_of(HEAD + TRAIN + "# a line\n" * 400_000) == [(GapKind.SIZE, 1, None)]


def test_imports_that_are_longer_than_a_check_reads_are_told_and_hide_no_mistake_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gradpath.names.files.MOST_SOURCE", 5_000)
    for number in range(20):
        (tmp_path / f"part_{number}.py").write_text(f"def helper_{number}(x):\n    return x\n" + "# a line\n" * 100)
    imports = "".join(f"from part_{number} import helper_{number}\n" for number in range(20))
    calls = "".join(f"helper_{number}(1)\n" for number in range(20))
    analysis = check(Document(str(tmp_path / "train.py"), f"{imports}{HEAD}{calls}{TRAIN}loss.backward()\n"))
    assert [each.rule for each in analysis.diagnostics] == ["double-backward"]
    [gap] = analysis.incomplete
    assert (gap.kind, gap.entry) == (GapKind.IMPORTS, None)
    assert len(analysis.dependencies) == 20
