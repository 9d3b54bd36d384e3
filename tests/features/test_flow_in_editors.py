"""Who trains what, where people look: the lines above calls, and the hover on a name."""

from __future__ import annotations

import pytest

from gradpath.analysis.check import EXPLORED, check
from gradpath.analyst.outcomes import marks_once
from gradpath.diagnostic import MarkKind, Position
from gradpath.features.flow.asked import is_of_training, training_at, why_at
from gradpath.features.hover import as_text, hover_at
from gradpath.source.document import Document
from tests.features.recorder import record
from tests.features.test_flow import CUT, OUTSIDE

GAN = """\
import torch
from torch import nn
netG, netD = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
optG, optD = torch.optim.SGD(netG.parameters(), lr=0.1), torch.optim.SGD(netD.parameters(), lr=0.1)
for _ in range(2):
    fake = netG(torch.randn(5, 2))
    lossD = netD(fake.detach()).mean()
    lossD.backward()
    optD.step()
    lossG = -netD(fake).mean()
    lossG.backward()
    optG.step()
"""

FROZEN = """\
import torch
from torch import nn
body, head = nn.Linear(4, 4), nn.Linear(4, 1)
body.requires_grad_(False)
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
head(body(torch.randn(2, 4))).mean().backward()
optimizer.step()
"""


def above(text: str) -> dict[int, str]:
    marks = marks_once(check(Document("train.py", text)))
    return {each.range.start.line: each.text for each in marks if each.kind is not MarkKind.HINT}


def place(text: str, code: str) -> Position:
    """Where the last name of some code ends, the first time that it stands in a text."""
    before = text[: text.index(code) + len(code)]
    return Position(before.count("\n") + 1, len(before) - before.rfind("\n"))


def hover(text: str, code: str) -> str:
    analysis = check(Document("train.py", text), depth=EXPLORED)
    position = place(text, code)
    found = hover_at(analysis, position, training=training_at(analysis, position), diagnostics=False)
    return "" if found is None else as_text(found)


def test_above_a_backward_stands_what_gets_gradients_and_above_a_step_what_it_updates() -> None:
    assert above(GAN) == {
        8: "gradients for `netD` (4)",
        9: "updates `netD` (4)",
        11: "gradients for `netD` (4), `netG` (2)",
        12: "updates `netG` (2)",
    }
    shown = record(GAN, [("netG", "weight"), ("netD", "0.weight")])
    assert shown.arrived["netG", "weight", 8] == [None, None]
    assert shown.arrived["netG", "weight", 11] == [True, True]
    assert shown.changed["netD", "0.weight", 9] == [True, True]
    assert shown.changed["netG", "weight", 9] == [False, False]


def test_above_a_step_stands_what_gets_no_gradient() -> None:
    assert above(CUT) == {
        24: "gradients for `model.head` (2), `self.layers` (2)",
        25: "updates `model.head` (2); `model.encoder` (2) gets no gradient",
    }
    shown = record(CUT, [("model", "encoder.weight"), ("model", "head.weight")])
    assert set(shown.arrived["model", "encoder.weight", 24]) == {None}
    assert set(shown.changed["model", "encoder.weight", 25]) == {False}
    assert set(shown.changed["model", "head.weight", 25]) == {True}


def test_above_a_step_stands_what_is_frozen() -> None:
    assert above(FROZEN)[7] == "updates `head` (2); `body` (2) is frozen"
    assert record(FROZEN, [("body", "weight")]).changed["body", "weight", 7] == [False]


def test_what_a_path_trains_is_not_said_to_get_no_gradient() -> None:
    text = CUT.replace("self.encoder(x).detach()", "self.encoder(x) if self.on() else self.encoder(x).detach()")
    text = text.replace("    def forward", "    def on(self):\n        return __import__('data').on\n\n    def forward")
    assert "no gradient" not in above(text)[28]


def test_a_model_that_is_not_seen_is_named_as_a_whole() -> None:
    assert above(OUTSIDE) == {5: "gradients for `model`", 6: "updates `model`"}


def test_what_reaches_nothing_known_says_so() -> None:
    text = "import torch\ndef back(loss):\n    loss.backward()\n"
    assert above(text) == {3: "gradients for nothing known"}


def test_the_hover_on_a_backward_and_on_a_step_says_what_the_line_above_says() -> None:
    assert hover(GAN, "lossG.backward") == "gradients for `netD` (4), `netG` (2)"
    assert hover(GAN, "optD.step") == "updates `netD` (4)"


def test_the_hover_on_a_module_says_why_no_step_runs() -> None:
    said = hover(GAN.replace("fake.detach()", "fake").replace("    optD.step()\n", ""), "netD")
    assert said.startswith("`netD` (4 parameters) gets gradients, and no step runs\n")
    assert said.endswith("`lossG.backward()` on line 10 raises RuntimeError: what comes after it never runs")


def test_the_hover_on_a_module_tells_what_cuts_it_off() -> None:
    assert (
        hover(CUT, "self.encoder")
        == """\
`model.encoder` (2 parameters) gets no gradient
`optimizer.step()` on line 25 has it, and nothing to update it with
`self.encoder(x).detach()` on line 13 cuts it off\
"""
    )


def test_the_hover_on_an_optimizer_tells_what_it_updates() -> None:
    said = hover(CUT, "optimizer")
    assert said.startswith("`optimizer` updates `model.head` (2 parameters)\n")
    assert "`model.encoder` (2 parameters) gets no gradient" in said


def test_the_hover_on_a_parameter_has_its_life_and_who_trains_it() -> None:
    text = """\
import torch
scale = torch.nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([scale], lr=0.1)
(scale * 2).sum().backward()
optimizer.step()
"""
    said = hover(text, "scale")
    assert "`scale`: a parameter" in said
    assert "`scale` learns\ngradients from `(scale * 2).sum().backward()` on line 4" in said
    assert record(text, [("scale", "")]).changed["scale", "", 5] == [True]


@pytest.mark.parametrize(
    ("code", "name"),
    [("self.encoder", "self.encoder"), ("optimizer", "optimizer"), ("model", "model"), ("loss", ""), ("range", "")],
)
def test_only_names_of_what_is_trained_are_asked_about(code: str, name: str) -> None:
    assert is_of_training(check(Document("train.py", CUT)), place(CUT, code)) == name


def test_the_answer_at_a_place_is_that_of_the_command_line() -> None:
    analysis = check(Document("train.py", CUT), depth=EXPLORED)
    assert why_at(analysis, place(CUT, "self.head")) == (
        "`model.head` (2 parameters) learns\n"
        "  - gradients from `loss.backward()` on line 24\n"
        "  - updated by `optimizer.step()` on line 25\n"
    )
    assert why_at(analysis, Position(1, 1)) is None
