"""The picture of a graph: what it is made of, and the forms in which it is written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gradpath.analysis.check import check
from gradpath.cli import main
from gradpath.features.graph import Kind, Picture, Vertex
from gradpath.features.graph.exports import as_dot, as_json, as_mermaid
from gradpath.features.graph.find import picture_at
from gradpath.features.graph.svg import as_svg
from gradpath.source.document import Document

CARRIED = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
state = torch.zeros(5, 1)
for _ in range(3):
    out = model(torch.rand(5, 4))
    state = state + torch.sigmoid(out)
    target = out.detach()
    loss = ((state - target) ** 2).mean()
    loss.backward()
"""


def picture(text: str, line: int | None = None) -> Picture:
    found = picture_at(check(Document("train.py", text)), line)
    assert found is not None
    return found


def titled(of: Picture, title: str) -> list[Vertex]:
    return [vertex for vertex in of.vertices if vertex.title == title]


def test_the_loss_is_the_root_and_its_parameters_are_at_the_ends() -> None:
    drawn = picture(CARRIED, 11)
    assert [(vertex.title, vertex.kind, vertex.line) for vertex in drawn.vertices[:1]] == [("loss", Kind.ROOT, 10)]
    (layer,) = [vertex for vertex in drawn.vertices if vertex.kind is Kind.PARAMETER]
    assert (layer.title, layer.line) == ("weight, bias of model", 4)


def test_a_graph_that_an_earlier_backward_freed_is_marked_with_that_call() -> None:
    (earlier,) = [vertex for vertex in titled(picture(CARRIED), "torch.sigmoid(out)") if vertex.earlier]
    assert earlier.broken
    assert earlier.notes == ("freed by the backward on line 11",)
    assert earlier.saved == ("its result",)


def test_this_iteration_is_whole() -> None:
    (now,) = [vertex for vertex in titled(picture(CARRIED), "torch.sigmoid(out)") if not vertex.earlier]
    assert not now.broken


def test_a_cut_leads_on_to_the_graph_that_there_would_be() -> None:
    drawn = picture(CARRIED, 11)
    (cut,) = [vertex for vertex in drawn.vertices if vertex.kind is Kind.CUT]
    assert (cut.title, cut.line) == ("out.detach()", 9)
    (onward,) = [arrow for arrow in drawn.arrows if arrow.start == cut.number]
    assert onward.cut
    assert drawn.vertices[onward.end].title == "out"


SAMPLES = Path(__file__).parents[2] / "samples" / "right"
BACKWARDS = [
    (path, number)
    for path in sorted(SAMPLES.glob("*.py"))
    for number, line in enumerate(path.read_text().splitlines(), start=1)
    if re.search(r"\.backward\(", line)
]


@pytest.mark.parametrize(("path", "line"), BACKWARDS, ids=[f"{path.stem}:{line}" for path, line in BACKWARDS])
def test_no_part_of_the_graph_of_a_right_program_is_broken(path: Path, line: int) -> None:
    drawn = picture_at(check(Document(str(path), path.read_text())), line)
    assert drawn is not None
    assert [(vertex.title, vertex.notes) for vertex in drawn.vertices if vertex.broken or vertex.notes] == []


def test_what_happens_after_the_line_is_not_in_its_picture() -> None:
    text = (
        "import torch\nw = torch.rand(3, requires_grad=True)\nloss = w.exp().sum()\n"
        "loss.backward(retain_graph=True)\nloss.backward()\nloss.backward()\n"
    )
    assert [any(each.broken for each in picture(text, line).vertices) for line in (3, 4, 5, 6)] == [
        False,
        False,
        False,
        True,
    ]


def test_boxes_name_the_modules_of_the_program() -> None:
    text = (
        "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))\n\n"
        "    def forward(self, x):\n        return self.net(x)\n\n\n"
        "critic = Net()\nactor = Net()\nx = torch.rand(2, 4)\n(critic(x) + actor(x)).sum().backward()\n"
    )
    drawn = picture(text).vertices
    assert {vertex.title for vertex in drawn if vertex.kind is Kind.PARAMETER} == {
        f"weight, bias of {name}.net.{number}" for name in ("critic", "actor") for number in (0, 2)
    }
    assert [vertex.owner for vertex in drawn if vertex.operation == "Linear"] == [
        "critic.net.2",
        "actor.net.2",
        "critic.net.0",
        "actor.net.0",
    ]


def test_the_parameters_of_a_layer_that_has_many_are_one_box() -> None:
    text = "import torch\nlstm = torch.nn.LSTM(4, 8)\nout, _ = lstm(torch.rand(5, 2, 4))\nout.sum().backward()\n"
    (box,) = [vertex for vertex in picture(text).vertices if vertex.kind is Kind.PARAMETER]
    assert box.title == "4 parameters of lstm"


def test_what_was_overwritten_says_where() -> None:
    text = "import torch\nw = torch.rand(3, requires_grad=True)\ny = w.exp()\ny += 1\ny.sum().backward()\n"
    (broken,) = [vertex for vertex in picture(text).vertices if vertex.broken]
    assert broken.operation == "exp"
    assert len(broken.notes) == 1
    assert "overwritten on line 4" in broken.notes[0]


def test_a_loss_without_a_graph_is_drawn_with_its_cut() -> None:
    text = "import torch\nw = torch.rand(3, requires_grad=True)\nloss = (w * 2).sum().detach()\nloss.backward()\n"
    root, *others = picture(text).vertices
    assert root.broken
    assert "no graph" in root.notes[0]
    assert [vertex.operation for vertex in others] == ["detach", "sum", "mul", ""]


def test_the_line_of_a_value_shows_that_value() -> None:
    assert picture(CARRIED, 7).vertices[0].title == "out"


def test_a_line_without_a_graph_has_no_picture() -> None:
    assert picture_at(check(Document("train.py", CARRIED)), 1) is None


def test_a_huge_graph_is_cut_short_and_says_so() -> None:
    steps = "\n".join("y = torch.sin(y)" for _ in range(400))
    drawn = picture(f"import torch\ny = torch.rand(3, requires_grad=True)\n{steps}\ny.sum().backward()\n")
    assert len(drawn.vertices) <= 121
    assert drawn.vertices[-1].kind is Kind.MORE


def test_svg_is_well_formed_and_every_box_leads_to_its_line() -> None:
    root = ElementTree.fromstring(as_svg(picture(CARRIED)))
    boxes = [each for each in root.iter("{http://www.w3.org/2000/svg}g") if each.get("data-line")]
    assert len(boxes) == len(picture(CARRIED).vertices)
    lines = CARRIED.splitlines()
    (loss,) = [each for each in boxes if "root" in (each.get("class") or "")]
    assert "loss =" in lines[int(loss.get("data-line") or 0) - 1]


def test_boxes_do_not_overlap() -> None:
    root = ElementTree.fromstring(as_svg(picture(CARRIED)))
    boxes = [
        tuple(float(each.get(name) or 0) for name in ("x", "y", "width", "height"))
        for each in root.iter("{http://www.w3.org/2000/svg}rect")
    ]
    for index, (x, y, width, height) in enumerate(boxes):
        for other_x, other_y, other_width, other_height in boxes[:index]:
            apart = x + width <= other_x or other_x + other_width <= x
            assert apart or y + height <= other_y or other_y + other_height <= y


@pytest.mark.parametrize("text", ['a["<b>"]', 'a["`"]', 'a["\\\\"]'])
def test_code_of_the_user_cannot_break_out_of_the_picture(text: str) -> None:
    program = (
        f"import torch\na = {{{text[2:-1]}: torch.rand(3, requires_grad=True)}}\n({text} * 2).exp().sum().backward()\n"
    )
    drawn = picture(program)
    ElementTree.fromstring(as_svg(drawn))
    assert json.loads(as_json(drawn))["nodes"]
    for line in as_dot(drawn).splitlines():
        assert len(re.findall(r'(?<!\\)(?:\\\\)*"', line)) % 2 == 0, line
    for line in as_mermaid(drawn).splitlines():
        assert line.count('"') in (0, 2), line


def test_json_names_nodes_and_edges() -> None:
    made = json.loads(as_json(picture(CARRIED)))
    assert made["version"] == 1
    numbers = {node["id"] for node in made["nodes"]}
    assert all({edge["from"], edge["to"]} <= numbers for edge in made["edges"])
    assert made["nodes"][0] | {"notes": [], "saved": []} == {
        "id": 0,
        "kind": "root",
        "title": "loss",
        "operation": "mean",
        "module": None,
        "path": None,
        "line": 10,
        "earlier_iteration": False,
        "saved": [],
        "notes": [],
        "broken": False,
    }


def test_the_command_writes_the_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "train.py"
    file.write_text(CARRIED)
    assert main(["graph", f"{file}:11", "--format", "mermaid"]) == 0
    assert capsys.readouterr().out.startswith("flowchart TD\n")


@pytest.mark.parametrize(
    ("place", "complaint"), [("train.py:99", "no line 99"), ("gone.py", "gone.py"), ("train.py:1", "no graph")]
)
def test_what_cannot_be_drawn_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, place: str, complaint: str
) -> None:
    (tmp_path / "train.py").write_text(CARRIED)
    monkeypatch.chdir(tmp_path)
    assert main(["graph", place]) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert len(error.splitlines()) == 1
