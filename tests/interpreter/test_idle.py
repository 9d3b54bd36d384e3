"""Branches that no graph could notice, for which no path of their own is run."""

from __future__ import annotations

import ast

import pytest

from gradpath.analysis.check import check
from gradpath.interpreter.idle import arms_of
from gradpath.source.document import Document
from tests.oracle.first_fault import first_fault


def is_idle(body: str, behind: str = "pass") -> bool:
    inside = "\n".join(" " * 12 + line for line in body.splitlines())
    loop = "def train(loader, model):\n    for step, x in enumerate(loader):\n"
    tree = ast.parse(f"{loop}        if step % 10 == 0:\n{inside}\n        {behind}\n")
    branch = next(node for node in ast.walk(tree) if isinstance(node, ast.If))
    return arms_of(branch, tree.body[0]).idle


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


@pytest.mark.parametrize(
    "skipped",
    [
        "if somewhere.few(x):\n        pass\n    else:\n        step(x)",
        "if x.shape[0] == somewhere.LEAST or somewhere.few(x):\n        pass\n    else:\n        step(x)",
        "if somewhere.few(x):\n        count += 1\n    elif count:\n        pass\n    else:\n        step(x)",
        "if somewhere.few(x):\n        with open('few') as f:\n            break\n    step(x)",
        "if somewhere.few(x):\n        if count:\n            break\n        else:\n            continue\n    step(x)",
    ],
)
def test_the_likeliest_path_comes_to_the_backward(skipped: str) -> None:
    step = "y = w * w\n{0}y.backward()\n{0}y.backward()"
    indent = " " * (8 if "else:\n        step" in skipped else 4)
    loop = f"for x in somewhere.batches():\n    {skipped}\n".replace("step(x)", step.format(indent))
    head = "import torch, somewhere\ncount = 0\nw = torch.ones(1, requires_grad=True)\n"
    fault = first_fault(Document("skipping.py", head + loop))
    assert fault is not None


def iterations(arm: str) -> int:
    source = (
        "import torch\nmodel = torch.nn.Linear(3, 1)\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
        "def train(loader):\n    seen = []\n    for step, x in enumerate(loader):\n        optimizer.zero_grad()\n"
        "        loss = model(x).sum()\n        loss.backward()\n        optimizer.step()\n"
        f"        if step % 100 == 0:\n            {arm}\n"
    )
    (trace,) = (each for each in check(Document("train.py", source)).traces if isinstance(each.entry, ast.FunctionDef))
    return next(count for statement, count in trace.visits.items() if ast.unparse(statement) == "loss.backward()")


def test_what_only_prints_makes_no_third_iteration() -> None:
    assert iterations("print(step, loss.item())") == 2


@pytest.mark.parametrize("arm", ["seen.append(step)", "optimizer.zero_grad()", "print(train([x]))"])
def test_what_does_more_makes_one(arm: str) -> None:
    assert iterations(arm) > 2
