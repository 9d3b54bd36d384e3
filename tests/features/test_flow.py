"""The table of who learns from what: what it says in the terms of the program, and the forms in which it is written."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from gradpath.analysis.check import EXPLORED, check
from gradpath.features.flow import Flow
from gradpath.features.flow.answers import Fate, answers_to, told
from gradpath.features.flow.as_json import as_json
from gradpath.features.flow.drawn import picture_of
from gradpath.features.flow.find import flows_of
from gradpath.features.flow.table import as_table
from gradpath.features.graph import Kind
from gradpath.features.graph.exports import as_mermaid
from gradpath.features.graph.svg import as_svg
from gradpath.source.document import Document

CUT = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 4)
        self.layers = [nn.Linear(4, 4)]
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        z = self.encoder(x).detach()
        for layer in self.layers:
            z = layer(z)
        return self.head(z)


model = Net()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(3):
    loss = model(torch.randn(2, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

OUTSIDE = """\
def train(model, loader, optimizer, criterion):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
"""


def flows(text: str, line: int | None = None) -> tuple[Flow, ...]:
    return flows_of(check(Document("train.py", text), depth=EXPLORED), line)


def table(text: str) -> str:
    return as_table(flows(text), "train.py")


def why(text: str, name: str) -> str:
    analysis = check(Document("train.py", text), depth=EXPLORED)
    found = flows_of(analysis)
    return told(answers_to(found, name, "train.py"), found, name, analysis.document, analysis.parsed.tree)


def test_the_table_has_modules_and_calls_and_tells_of_cuts() -> None:
    assert (
        table(CUT)
        == """\
train.py

  gradients from
    1  line 24  loss.backward()
  updates by
    2  line 25  optimizer.step()

                       1  |     2
  model.encoder (2)  cut  |  idle
  model.head (2)     yes  |   yes
  self.layers (2)    yes  |     -

  cut: the loss depends on it, and no gradient comes back to it
  idle: the optimizer has it, and there is no gradient
  model.encoder: `self.encoder(x).detach()` on line 13 cuts it off
  self.layers: `parameters()` does not look into the plain list on line 9
"""
    )


def test_a_model_that_is_not_seen_is_one_row_and_its_cells_are_presumed() -> None:
    shown = table(OUTSIDE)
    assert "train.py: train\n" in shown
    assert "  model  yes*  |  yes*\n" in shown
    assert "*: presumed, as `model` and `optimizer` come from outside" in shown


def test_what_differs_on_another_path_is_not_every_time() -> None:
    text = (
        CUT.replace("    loss.backward()\n", "    if __import__('data').ready:\n        loss.backward()\n")
        .replace(".detach()", "")
        .replace("[nn.Linear(4, 4)]", "[]")
    )
    assert "  model (4)  yes  |  some\n" in table(text)


def test_a_branch_that_was_followed_one_way_alone_is_told() -> None:
    lines = "".join(f"if __import__('data').at({n}):\n    model.head.weight.requires_grad_(True)\n" for n in range(60))
    shown = table(CUT.replace("for _ in", lines + "for _ in"))
    assert "  as if `__import__('data').at(" in shown
    assert "as if" not in table(CUT)


def test_a_program_that_raises_is_told_up_to_there() -> None:
    shown = table(CUT + "loss.backward()\n")
    assert "`loss.backward()` on line 26 raises RuntimeError: what comes after it never" in shown


@pytest.mark.parametrize("count", [1, 12, 40])
def test_every_line_fits_a_terminal_of_80_columns(count: int) -> None:
    losses = "\n".join(f"net(torch.ones(2, 2)).mean().mul({number}).backward()" for number in range(count))
    nets = "import torch\nclass N(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    nets += "        self.a_module_with_quite_a_long_name_of_its_own = torch.nn.Linear(2, 2)\n"
    nets += "    def forward(self, x):\n        return self.a_module_with_quite_a_long_name_of_its_own(x)\nnet = N()\n"
    nets += "unused = torch.nn.Linear(2, 2)\n"
    assert max(map(len, table(nets + losses).splitlines())) <= 80


def test_a_line_chooses_its_calls_or_the_entry_points_that_come_by() -> None:
    (only,) = flows(CUT, 25)
    assert ([call.line for call in only.backwards], [call.line for call in only.steps]) == ([], [25])
    (whole,) = flows(CUT, 22)
    assert ([call.line for call in whole.backwards], [call.line for call in whole.steps]) == ([24], [25])
    assert flows(OUTSIDE + CUT, 4) == flows(OUTSIDE + CUT)[1:]


def test_calls_of_a_helper_are_told_apart() -> None:
    text = """\
import torch
a, b = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
def run(loss):
    loss.backward()
run(a(torch.ones(1)).sum())
run(b(torch.ones(1)).sum())
"""
    (found,) = flows(text)
    assert [(call.line, call.text) for call in found.backwards] == [
        (5, "run(a(torch.ones(1)).sum())"),
        (6, "run(b(torch.ones(1)).sum())"),
    ]
    assert [row.title for row in found.rows()] == ["a (2)", "b (2)"]


def test_json_has_rows_cells_and_every_parameter() -> None:
    made = json.loads(as_json(flows(CUT), Document("train.py", CUT)))
    assert (made["version"], made["path"], made["incomplete"]) == (1, "train.py", [])
    (flow,) = made["flows"]
    assert flow["backwards"] == [
        {"id": 1, "text": "loss.backward()", "path": "train.py", "cell": None, "line": 24},
    ]
    assert flow["steps"] == [
        {"id": 2, "text": "optimizer.step()", "path": "train.py", "cell": None, "line": 25, "optimizer": "optimizer"},
    ]
    assert flow["rows"][0] == {
        "name": "model.encoder",
        "kind": "module",
        "parameters": 2,
        "complete": True,
        "gradients": [{"call": 1, "state": "cut", "always": True, "presumed": False}],
        "updates": [{"call": 2, "state": "idle", "always": True, "presumed": False}],
        "reasons": [
            {
                "kind": "cut",
                "message": "`self.encoder(x).detach()` on line 13 cuts it off",
                "path": "train.py",
                "cell": None,
                "line": 13,
                "text": "z = self.encoder(x).detach()",
                "backwards": [1],
            }
        ],
    }
    assert {"name": "model.encoder.weight", "row": 0} in flow["parameters"]
    assert len(flow["parameters"]) == 6


def test_the_picture_leads_from_backwards_through_modules_to_steps() -> None:
    drawn = picture_of(flows(CUT), Document("train.py", CUT))
    ElementTree.fromstring(as_svg(drawn))
    titles = {vertex.number: (vertex.kind, vertex.title) for vertex in drawn.vertices}
    arrows = {(titles[arrow.start], titles[arrow.end], arrow.cut) for arrow in drawn.arrows}
    backward, step = (Kind.ROOT, "loss.backward()"), (Kind.STEP, "optimizer.step()")
    head, encoder = (Kind.MODULE, "model.head (2)"), (Kind.MODULE, "model.encoder (2)")
    cut = (Kind.CUT, "z = self.encoder(x).detach()")
    assert {(backward, head, False), (head, step, False), (backward, cut, True), (cut, encoder, True)} <= arrows
    assert "flowchart TD" in as_mermaid(drawn)


@pytest.mark.parametrize("name", ["encoder", "self.encoder", "model.encoder", "encoder.weight"])
def test_why_a_module_gets_no_gradient_by_any_of_its_names(name: str) -> None:
    said = why(CUT, name)
    assert said.startswith("`model.encoder")
    assert "gets no gradient\n" in said
    assert "  - `self.encoder(x).detach()` on line 13 cuts it off\n" in said
    assert "`optimizer.step()` on line 25 has it, and nothing to update it with" in said


def test_who_trains_a_module() -> None:
    assert (
        why(CUT, "head")
        == """\
`model.head` (2 parameters) learns
  - gradients from `loss.backward()` on line 24
  - updated by `optimizer.step()` on line 25
"""
    )


def test_what_an_optimizer_updates_and_what_not() -> None:
    said = why(CUT, "optimizer")
    assert said.startswith("`optimizer` updates `model.head` (2 parameters)\n")
    assert "\n`model.encoder` (2 parameters) gets no gradient\n" in said


@pytest.mark.parametrize(
    ("change", "fate", "reason"),
    [
        (("model = Net()\n", "model = Net()\nmodel.head.requires_grad_(False)\n"), Fate.FROZEN, "frozen on line 20"),
        (("return self.head(z)", "return z"), Fate.NO_GRADIENT, "no loss that is back-propagated depends on it"),
        (("Adam(model.parameters())", "Adam(model.encoder.parameters())"), Fate.NOT_UPDATED, "no optimizer has it"),
        (
            ("for _ in", "model.head = nn.Linear(4, 1)\nfor _ in"),
            Fate.NOT_UPDATED,
            "it came into the model on line 21, after the optimizer was made",
        ),
    ],
)
def test_every_reason_has_its_words(change: tuple[str, str], fate: Fate, reason: str) -> None:
    (answer,) = answers_to(flows(CUT.replace(*change)), "model.head", "train.py")
    assert answer.fate is fate
    assert reason in answer.sentences


def test_a_step_that_may_be_elsewhere_is_not_denied() -> None:
    text = CUT.partition("model = Net()")[0].replace(".detach()", "") + "def run():\n    model = Net()\n"
    text += "    model(torch.randn(2, 4)).sum().backward()\n    return model\n"
    (answer,) = answers_to(flows(text), "model.head", "train.py")
    assert answer.headline == "`model.head` (2 parameters) gets gradients, and no step is known"
    assert not any("no optimizer has it" in sentence for sentence in answer.sentences)


def test_the_line_of_another_file_and_a_long_call_fit_as_well() -> None:
    text = "import torch\nclass Of:\n    def method_with_a_name(self, loss):\n        loss.backward()\n"
    text += "net = torch.nn.Linear(1, 1)\nthe_object_that_is_called_upon_to_go_back = Of()\n"
    text += "the_object_that_is_called_upon_to_go_back.method_with_a_name(net(torch.ones(1)).sum() * 2 + 3 - 4)\n" * 2
    assert max(map(len, as_table(flows(text), "a/very/long/path/" * 5 + "train.py").splitlines()[1:])) <= 80


def test_what_is_not_known_is_said_so() -> None:
    assert why(OUTSIDE, "criterion") == "not known: `criterion` comes from outside\n"
    assert "presumed: `model` and `optimizer` come from outside" in why(OUTSIDE, "model")
    assert why("import torch\nnet = torch.nn.Linear(1, 1)\n", "net") == (
        "not known: no backward and no step is known in train.py\n"
    )
