"""`--statistics` with the real analysis: how much of a file was understood, and what the rest was lost to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SERVER = Path(__file__).parents[2] / "server"
UNDERSTOOD = """\
import torch

w = torch.randn(3, requires_grad=True)
(w * w).sum().backward()
"""
LOST = """\
import torch
import surveyor

w = torch.randn(3, requires_grad=True)
site = surveyor.open("north")
height = site.height + 1
if height > 3:
    print("high")
(w * w).sum().backward()
"""


PLAIN = """\
import argparse
import json
import logging
import sys

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=0.1)
args = parser.parse_args()
with open("options.json") as file:
    options = json.load(file)
weight = options["weight"] * args.rate
w = torch.randn(3, requires_grad=True)
if weight < 0:
    sys.exit(1)
logging.info(f"weight {weight} of {sys.argv}")
((w * w).sum() * weight).backward()
"""


TOLD = {
    "a scheduler": "plan = torch.optim.lr_scheduler.StepLR(optimizer, 1)\nplan.step()\nrate = plan.get_last_lr()",
    "backends": "torch.backends.cudnn.benchmark = True\nfast = torch.backends.cuda.is_built()",
    "devices": "d = 'cuda' if torch.cuda.is_available() else 'cpu'\nnumber = torch.cuda.device_count()",
    "processes": "import torch.distributed as dist\nfirst = dist.get_rank() == 0 or dist.get_world_size() > 1",
    "a helper": "from accelerate import Accelerator\na = Accelerator()\nprint(a.device, a.is_main_process)",
    "marks": "import pytest\nslow = pytest.mark.slow\nmany = pytest.mark.parametrize('n', [1, 2])",
    "options": "from configargparse import ArgParser\np = ArgParser()\np.add_argument('--x')\nx = p.parse_args().x",
}


def check(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "gradpath", "check", "--statistics", *arguments, "."]
    places = {**os.environ, "PYTHONPATH": str(SERVER)}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env=places).stdout


def test_statistics_tell_how_much_of_each_file_was_understood(tmp_path: Path) -> None:
    (tmp_path / "clear.py").write_text(UNDERSTOOD)
    (tmp_path / "lost.py").write_text(LOST)
    lines = check(tmp_path, "--quiet", "--output-format", "concise").splitlines()
    assert lines[1:5] == [
        "understood of the statements that are reached:",
        " 100 %  clear.py",
        "  50 %  lost.py (library surveyor: 6)",
        "  63 %  in all: 7 of 11",
    ]


def test_numbers_texts_and_options_are_understood_though_their_values_are_not_known(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(PLAIN)
    statistics = json.loads(check(tmp_path, "--output-format", "json"))["statistics"]
    assert statistics["unknowns"] == {}
    assert statistics["files"][0]["understood"] == statistics["files"][0]["reached"] > 10


@pytest.mark.parametrize("lines", TOLD.values(), ids=TOLD)
def test_what_only_tells_something_is_understood(tmp_path: Path, lines: str) -> None:
    start = "import torch\nw = torch.ones(1, requires_grad=True)\noptimizer = torch.optim.SGD([w])\n"
    (tmp_path / "told.py").write_text(f"{start}{lines}\n(w * w).sum().backward()\n")
    statistics = json.loads(check(tmp_path, "--output-format", "json"))["statistics"]
    assert statistics["unknowns"] == {}


def test_what_came_from_one_unknown_is_counted_under_it(tmp_path: Path) -> None:
    (tmp_path / "lost.py").write_text(LOST)
    statistics = json.loads(check(tmp_path, "--output-format", "json"))["statistics"]
    assert statistics["unknowns"] == {"library surveyor": 6}
    assert statistics["files"] == [
        {"path": "lost.py", "reached": 8, "understood": 4, "unknowns": {"library surveyor": 6}}
    ]


def test_the_measure_does_not_depend_on_the_processes(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"lost{number}.py").write_text(LOST)
    assert check(tmp_path, "--jobs", "2") == check(tmp_path, "--jobs", "1")
