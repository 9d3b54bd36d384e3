"""Branches that no graph could notice, for which no path of their own is run."""

from __future__ import annotations

import ast

import pytest

from gradpath.check import first_fault
from gradpath.interpreter.idle import likely_and_idle
from gradpath.source.document import Document


def is_idle(body: str, behind: str = "pass") -> bool:
    inside = "\n".join(" " * 12 + line for line in body.splitlines())
    loop = "def train(loader, model):\n    for step, x in enumerate(loader):\n"
    tree = ast.parse(f"{loop}        if step % 10 == 0:\n{inside}\n        {behind}\n")
    branch = next(node for node in ast.walk(tree) if isinstance(node, ast.If))
    return likely_and_idle(branch, tree.body[0])[1]


@pytest.mark.parametrize(
    "body",
    [
        "print(step)",
        "seen = step * len(x)\nprint(f'{seen} of {total}')",
        "value = loss.item()\nshort = round(value, 3)\nlogger.info('loss %s', short)",
        "raise ValueError(step)",
    ],
)
def test_what_only_prints_is_idle(body: str) -> None:
    assert is_idle(body)


@pytest.mark.parametrize(
    ("body", "behind"),
    [
        ("running = 0.0\nprint(step)", "running += x.sum()"),
        ("best = loss.item()\nprint(best)", "print(best)"),
        ("mean = mean + loss\nprint(mean)", "pass"),
        ("old = new\nnew = loss\nprint(old)", "pass"),
        ("model.best = loss.item()\nprint(step)", "pass"),
        ("value = loss.backward()\nprint(value)", "pass"),
        ("global best\nbest = loss.item()\nprint(best)", "pass"),
        ("optimizer.step()", "pass"),
    ],
)
def test_what_others_may_notice_is_not(body: str, behind: str) -> None:
    assert not is_idle(body, behind)


@pytest.mark.parametrize("guard", ["not x or x is y", "x is None or y is None or not x", "(not x and y) or x is y"])
def test_the_likeliest_path_passes_a_guard_of_several_questions(guard: str) -> None:
    fault = first_fault(
        Document(
            "guarded.py",
            "import torch, somewhere\n"
            "x, y = somewhere.pair()\n"
            "for _ in range(2):\n"
            f"    if {guard}:\n"
            "        break\n"
            "    torch.zeros(1).backward()\n",
        )
    )
    assert fault is not None
    assert fault.line == 6
