"""Everything that the interpreter models is called with too little, too much, and what it cannot be meant for."""

from __future__ import annotations

import ast
import importlib
import logging
from collections.abc import Iterator

import pytest

from gradpath.analysis.check import Analysis, check
from gradpath.source.document import Document

GIVEN = (
    *("", "u", "u, v", "u, u, u", "1", "-1", '"a"', "[]", "{}", "[], []", "None", "1, 2, 3, 4, 5", "*u", "**u"),
    *("w", "w, w", "w, 1", "1.5, w", "x=w", "key=u", "lambda: 1", "lambda *given: given, w, [w]"),
)
"""Arguments: `u` and `v` are not seen, `w` is a leaf."""

MODULES = (
    *("builtins", "itertools", "functools", "operator", "math", "collections", "contextlib", "copy", "dataclasses"),
    *("enum", "json", "os", "random", "re", "time", "typing", "weakref"),
)
TORCH = (
    *("tensor", "ones", "stack", "cat", "where", "arange", "split", "chunk", "unbind", "einsum", "topk", "meshgrid"),
    *("no_grad", "enable_grad", "set_grad_enabled", "autocast", "compile", "load", "from_numpy", "func.grad", "vmap"),
    *("autograd.grad", "autograd.backward", "utils.checkpoint.checkpoint", "utils.data.DataLoader", "amp.GradScaler"),
    *("nn.Linear", "nn.Parameter", "nn.Sequential", "nn.ModuleList", "nn.MSELoss", "nn.LSTM", "nn.DataParallel"),
    *("nn.functional.cross_entropy", "nn.utils.clip_grad_norm_", "nn.init.normal_", "distributions.Normal"),
    *("optim.SGD", "optim.Adam", "optim.lr_scheduler.StepLR", "nn.parallel.DistributedDataParallel"),
)
TENSORS = (
    *("backward", "sum", "detach", "item", "requires_grad_", "clone", "to", "view", "chunk", "unbind", "add_", "mul_"),
    *("copy_", "index_add_", "scatter", "masked_fill_", "register_hook", "retain_grad", "numpy", "expand", "gather"),
    *("max", "norm", "permute", "clamp_", "size", "data.fill_", "grad.zero_", "__setitem__", "__getitem__", "map_"),
)
LAYERS = (
    *("parameters", "named_parameters", "zero_grad", "train", "to", "state_dict", "load_state_dict", "apply"),
    *("register_buffer", "register_parameter", "add_module", "forward", "requires_grad_", "register_forward_hook"),
)
OPTIMIZERS = ("step", "zero_grad", "add_param_group", "load_state_dict", "param_groups.append")


def called() -> Iterator[str]:
    for module in MODULES:
        yield from (f"{module}.{name}" for name in dir(importlib.import_module(module)) if name[0] != "_")
    yield from (f"torch.{name}" for name in TORCH)
    yield from (f"w.{name}" for name in TENSORS)
    yield from (f"layer.{name}" for name in LAYERS)
    yield from (f"optimizer.{name}" for name in OPTIMIZERS)
    for literal, kind in (('"abc"', str), ("[1, 2]", list), ("{1: 2}", dict), ("{1}", set), ("(1,)", tuple)):
        yield from (f"{literal}.{name}" for name in dir(kind) if name[0] != "_")


CALLED = tuple(called())
PART = 100


@pytest.mark.parametrize("first", range(0, len(CALLED), PART))
def test_no_call_brings_the_analysis_down(first: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "gradpath"):
        for name in CALLED[first : first + PART]:
            assert _calls_made(check(Document("misused.py", _program(name)))) == len(GIVEN), name
    assert caplog.records == []


def _calls_made(analysis: Analysis) -> int:
    """How many of the calls some path has come to."""
    reached = {node for walk in analysis.walks for trace in walk.traces for node in trace.visits}
    return sum(isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "made" for node in reached)


def test_what_is_called_is_there() -> None:
    assert {name.split(".")[1] for name in CALLED if name.startswith("builtins.")} >= {"range", "zip", "isinstance"}


def _program(name: str) -> str:
    """A function with a loop for each list of arguments; what one call raises does not end the others."""
    lines = [
        "import torch",
        *(f"import {module}" for module in MODULES),
        "def use(u, v):",
        "    layer = torch.nn.Linear(3, 3)",
        "    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)",
    ]
    for given in GIVEN:
        lines += [
            "    try:",
            "        w = torch.ones(3, requires_grad=True)",
            f"        made = {name}({given})",
            "        for each in made:",
            "            break",
            "    except BaseException:",
            "        pass",
        ]
    return "\n".join([*lines, "    w.sum().backward()"]) + "\n"
