"""`gradpath flow` and `gradpath why`: what they write, and how they end."""

from __future__ import annotations

import json
import sys
from xml.etree import ElementTree

import pytest

from gradpath.cli import main
from tests.cli.conftest import Write
from tests.cli.notebooks import code, notebook, written
from tests.features.test_flow import CUT, OUTSIDE

Out = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _programs(write: Write) -> None:
    write("train.py", CUT)
    write("outside.py", OUTSIDE)
    write("plain.py", "x = 1\n")


def test_flow_writes_the_table(capsys: Out) -> None:
    assert main(["flow", "train.py"]) == 0
    said = capsys.readouterr()
    assert "  model.head (2)     yes  |   yes\n" in said.out
    assert said.err == ""


def test_flow_of_a_line_has_its_calls_alone(capsys: Out) -> None:
    assert main(["flow", "train.py:25"]) == 0
    out = capsys.readouterr().out
    assert "optimizer.step()" in out
    assert "loss.backward()" not in out
    assert "cuts it off" not in out
    assert main(["flow", "train.py:25", "--output-format", "svg"]) == 0


def test_flow_writes_json_and_pictures(capsys: Out) -> None:
    assert main(["flow", "train.py", "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["flows"][0]["rows"][0]["name"] == "model.encoder"
    assert main(["flow", "train.py", "--output-format", "svg"]) == 0
    ElementTree.fromstring(capsys.readouterr().out)
    assert main(["flow", "train.py", "--output-format", "mermaid"]) == 0
    assert capsys.readouterr().out.startswith("flowchart TD\n")
    assert main(["flow", "train.py", "--output-format", "dot"]) == 0
    assert capsys.readouterr().out.startswith("digraph ")


def test_why_answers_and_says_what_is_not_known(capsys: Out) -> None:
    assert main(["why", "train.py", "encoder"]) == 0
    assert "`self.encoder(x).detach()` on line 13 cuts it off" in capsys.readouterr().out
    assert main(["why", "outside.py", "criterion"]) == 1
    assert capsys.readouterr().out == "not known: `criterion` comes from outside\n"


def test_why_writes_json(capsys: Out) -> None:
    assert main(["why", "train.py", "encoder", "--output-format", "json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["version"], made["path"], made["name"]) == (1, "train.py", "encoder")
    (answer,) = made["answers"]
    assert (answer["name"], answer["parameters"], answer["fate"]) == ("model.encoder", 2, "no gradient")
    assert [(reason["kind"], reason["line"]) for reason in answer["reasons"]] == [("cut", 13)]


def test_places_in_a_notebook_are_places_in_cells(write: Write, capsys: Out) -> None:
    head, _, rest = CUT.partition("for _ in range(3):\n")
    write("train.ipynb", written(notebook(code(head), code("for _ in range(3):\n" + rest))))
    assert main(["flow", "train.ipynb"]) == 0
    assert "line 4 of cell 2  loss.backward()" in capsys.readouterr().out
    assert main(["flow", "train.ipynb", "--output-format", "json"]) == 0
    (flow,) = json.loads(capsys.readouterr().out)["flows"]
    assert [(call["cell"], call["line"]) for call in flow["backwards"]] == [(2, 4)]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["flow", "gone.py"], "gone.py"),
        (["flow", "train.py:99"], "train.py has no line 99"),
        (["flow", "plain.py"], "no backward and no step is known in plain.py"),
        (["flow", "train.py", "--output-format", "pdf"], "invalid choice"),
        (["why", "gone.py", "x"], "gone.py"),
        (["why", "train.py", "encodr"], "did you mean `model.encoder`?"),
        (["why", "train.py"], "NAME"),
    ],
)
def test_what_cannot_be_told_is_one_clear_line(arguments: list[str], complaint: str, capsys: Out) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert complaint in said.err
    assert said.out == ""
    assert len(said.err.splitlines()) == 1


def test_on_a_narrow_terminal_the_lines_of_both_fit(monkeypatch: pytest.MonkeyPatch, capsys: Out) -> None:
    assert main(["flow", "train.py"]) == main(["why", "train.py", "encoder"]) == 0
    wide = capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["flow", "train.py"]) == main(["why", "train.py", "encoder"]) == 0
    narrow = capsys.readouterr().out
    assert max(map(len, narrow.splitlines())) <= 40 < max(map(len, wide.splitlines()))
    assert sorted(narrow.split()) == sorted(wide.split())
