"""`gradpath debug`: what was looked at in a file, and why nothing is reported of a line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gradpath.analysis.certainty import Silence
from gradpath.cli import main
from gradpath.features.debug.find import SILENT
from tests.cli.conftest import Write
from tests.cli.notebooks import code, notebook, written

Out = pytest.CaptureFixture[str]

TRAIN = """\
import torch
from torch import nn
from elsewhere import magic


def train(model, loader, criterion, optimizer, epochs=3, quick=False):
    for x, y in loader:
        optimizer.zero_grad()
        z = magic(model(x), y)
        loss = criterion(model(x), y) + z.mean()
        loss.backward()
        optimizer.step()
        if quick:
            continue
            print("too late")
    if False:
        print("never")


def twice(w: torch.Tensor):
    y = (w * torch.ones(3, requires_grad=True)).exp().sum()
    y.backward()
    y.backward()
    print("unharmed")


def helper(a):
    return a + 1
"""

SOMETIMES = """\
def train(model, loader, optimizer, fresh):
    for x in loader:
        if fresh:
            optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
"""

KEPT = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.state = torch.zeros(4)

    def train_on(self, x):
        self.state = self.layer(x + self.state)
        self.state.sum().backward()
"""

WORDS = """\
import torch

if torch.cuda.is_available():
    def unused(x):
        return x


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def fit(self, x: torch.Tensor, loader, mode="sum", report=print, size=3, *rest):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
        y = self.layer(x).exp() * self.layer(x).sigmoid() + self.layer(x).tanh()
        y.sum().backward()
        optimizer.step()
        loader.foo().bar.mean().backward()
"""


@pytest.fixture(autouse=True)
def _programs(write: Write) -> None:
    write("train.py", TRAIN)
    write("sometimes.py", SOMETIMES)
    write("kept.py", KEPT)
    write("words.py", WORDS)
    write("plain.py", "x = 1\n")


def text(place: str, capsys: Out) -> str:
    assert main(["debug", place]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


def made(place: str, capsys: Out) -> Any:
    assert main(["debug", place, "--output-format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def entry(name: str, told: Any) -> Any:
    return next(each for each in told["entries"] if each["name"] == name)


def test_a_function_is_told_with_what_it_was_called_with(capsys: Out) -> None:
    given = entry("train", made("train.py", capsys))["given"]
    assert given["model"] == "unknown, taken for a model by its name"
    assert given["optimizer"] == "unknown, taken for an optimizer by its use"
    assert given["epochs"] == "unknown, probably 3"
    assert entry("twice", made("train.py", capsys))["given"]["w"].startswith("unknown")


def test_each_path_is_told_with_its_choices_and_how_it_ended(capsys: Out) -> None:
    told = made("train.py", capsys)
    first, second = entry("train", told)["paths"][:2]
    assert (first["end"], second["end"]) == ("end", "end")
    assert {(each["line"], each["text"], each["outcome"]) for each in first["choices"]} == {(13, "quick", False)}
    assert (13, "quick", True) in {(each["line"], each["text"], each["outcome"]) for each in second["choices"]}
    (failed,) = entry("twice", told)["paths"]
    assert failed["end"] == "exception"
    assert failed["at"]["line"] == 23
    assert failed["message"].startswith("RuntimeError: Trying to backward through the graph a second time")


def test_what_no_path_came_to_has_a_reason(capsys: Out) -> None:
    told = made("train.py", capsys)
    assert {each["line"]: each["reason"] for each in entry("train", told)["skipped"]} == {
        15: "it follows the `continue` on line 14",
        17: "the condition on line 16 never holds",
    }
    assert {each["line"]: each["reason"] for each in entry("twice", told)["skipped"]} == {24: "line 23 raises"}
    assert [(each["line"], each["last"]) for each in told["skipped"] if each["name"] == "helper"] == [(27, 28)]
    assert [(each["line"], each["last"]) for each in entry("train", told)["skipped"]] == [(15, 15), (17, 17)]
    names = {each["name"]: each["reason"] for each in told["skipped"]}
    assert names.keys() == {"the code of the module", "helper"}
    assert names["the code of the module"] == "it only defines things"
    assert "a call alone enters it" in names["helper"]


def test_what_a_rule_found_is_told_whether_it_is_reported_or_not(capsys: Out, write: Write) -> None:
    (found,) = entry("twice", made("train.py", capsys))["found"]
    assert (found["rule"], found["line"], found["reported"], found["paths"]) == ("double-backward", 23, True, [1])
    (found,) = entry("train", made("sometimes.py", capsys))["found"]
    assert (found["rule"], found["reported"]) == ("missing-zero-grad", False)
    assert found["reason"] == "it raises nothing, and another path reaches the same places without it"
    write("train.py", TRAIN.replace("    y.backward()\n    print", "    y.backward()  # gradpath: ignore\n    print"))
    (found,) = entry("twice", made("train.py", capsys))["found"]
    assert (found["reported"], found["reason"]) == (False, "a comment or the configuration leaves it out")


def test_each_reason_for_silence_has_words() -> None:
    assert set(Silence) == set(SILENT)


def test_unknown_values_are_told_with_what_they_came_from(capsys: Out) -> None:
    unknown = {each["line"]: each for each in entry("train", made("train.py:9", capsys))["unknown"]}
    assert unknown.keys() == {9}
    assert unknown[9]["text"].startswith("magic(")
    assert unknown[9]["origin"].endswith("`elsewhere`, which is not modelled")


def test_values_are_told_by_what_they_are(capsys: Out) -> None:
    told = made("words.py", capsys)
    assert (told["version"], told["path"], told["line"]) == (1, "words.py", None)
    assert entry("Net.fit", told)["given"] == {
        "self": "an instance of `Net`",
        "x": "unknown, may be anything",
        "loader": "unknown, taken for a loader by its name",
        "mode": "unknown, probably 'sum'",
        "report": "unknown, probably a function",
        "size": "unknown, probably 3",
        "rest": "a list",
    }


def test_an_origin_is_told_link_by_link(capsys: Out) -> None:
    unknown = {each["text"]: each["origin"] for each in entry("Net.fit", made("words.py", capsys))["unknown"]}
    made_by = "the result of `foo` of the attribute `foo` of the parameter `loader`, for which no argument is seen"
    assert unknown["loader.foo()"] == made_by
    assert unknown["loader.foo().bar"] == f"the attribute `bar` of {made_by}"


def test_events_are_told_in_words(capsys: Out) -> None:
    def events(line: int) -> set[str]:
        (path, *_) = entry("Net.fit", made(f"words.py:{line}", capsys))["paths"]
        return {f"{each['kind']} {each['words']}" for each in path["events"]}

    assert {
        "Built Linear, saves input",
        "Built mul, saves input, other",
        "Built add",
        "Bound y: a result of `add`, on the graph",
    } <= events(15)
    assert events(16) == {
        "Built sum",
        "BackwardRan 10 nodes executed, the graph is freed: sum, add, tanh, Linear and 6 more",
    }
    assert events(17) == {"Mutated step, version 1, of a parameter", "Stepped 2 of 2 parameters updated"}


def test_functions_in_a_branch_of_the_module_are_told_too(capsys: Out) -> None:
    assert "unused" in {each["name"] for each in made("words.py", capsys)["skipped"]}


def test_neighbouring_paths_are_a_range(capsys: Out) -> None:
    assert "line 16 Built sum (path 1-4)\n" in text("words.py:16", capsys)
    assert "twice (line 20)\n  given     w: unknown" in text("train.py", capsys)
    assert " statements, ends on line 23: RuntimeError: Trying to backward" in text("train.py", capsys)


def test_presumptions_are_told_by_their_row_and_place(capsys: Out) -> None:
    presumed = entry("train", made("train.py", capsys))["presumed"]
    (found,) = [each for each in presumed if each["row"] == "result" and "`model`" in each["condition"]]
    assert found["condition"] == "`model` returns a tensor that has a graph"
    assert 10 in found["lines"]


def test_the_second_call_of_a_function_has_paths_of_its_own(capsys: Out) -> None:
    paths = entry("Net.train_on", made("kept.py", capsys))["paths"]
    assert [each["condition"] for each in paths] == [None, "in the second call"]
    assert [each["end"] for each in paths] == ["end", "exception"]


def test_a_line_has_its_own_events_alone(capsys: Out) -> None:
    events = entry("train", made("train.py:11", capsys))["paths"][0]["events"]
    assert {each["line"] for each in events} == {11}
    assert events[0]["kind"] == "BackwardRan"
    assert "the graph is freed" in events[0]["words"]
    whole = entry("train", made("train.py", capsys))["paths"][0]["events"]
    assert {"Built", "Stepped", "Cleared"} <= {each["kind"] for each in whole}


def test_the_text_says_what_the_json_does(capsys: Out) -> None:
    out = text("train.py", capsys)
    assert "twice (line 20)\n" in out
    assert "  found     double-backward on line 23, path 1: reported\n" in out
    assert "does not hold" in out
    assert " BackwardRan, " in out
    assert "not run" not in text("train.py:11", capsys)
    out = text("sometimes.py", capsys)
    assert "not reported: it raises nothing, and another path reaches the same places without it\n" in out
    assert "BackwardRan" in text("train.py:11", capsys)


def test_a_line_that_nothing_comes_to_has_the_nearest_reason_alone(capsys: Out) -> None:
    out = text("train.py:28", capsys)
    assert "does not come to line 28\n  train (line 6)\n  twice (line 20)\n" in out
    assert "  helper (lines 27-28): " in out
    assert "the code of the module" not in out
    assert "  line 15: it follows the `continue` on line 14\n" in text("train.py:15", capsys)


def test_a_text_without_tensors_says_so(capsys: Out) -> None:
    assert "nothing in the text has to do with tensors" in text("plain.py", capsys)


def test_lines_of_a_notebook_are_lines_of_cells(write: Write, capsys: Out) -> None:
    cells = code("import torch\nw = torch.ones(2, requires_grad=True)"), code("loss = w.exp().sum()\nloss.backward()")
    write("train.ipynb", written(notebook(*cells)))
    (told,) = made("train.ipynb:2:2", capsys)["entries"]
    (event,) = told["paths"][0]["events"]
    assert (event["cell"], event["line"], event["kind"]) == (2, 2, "BackwardRan")
    assert "line 2 of cell 2 BackwardRan" in text("train.ipynb:2:2", capsys)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["debug", "gone.py"], "gone.py"),
        (["debug", "train.py:99"], "train.py has no line 99"),
        (["debug", "train.py", "--output-format", "svg"], "invalid choice"),
    ],
)
def test_what_cannot_be_told_is_one_clear_line(arguments: list[str], complaint: str, capsys: Out) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert complaint in said.err
    assert len(said.err.splitlines()) == 1
