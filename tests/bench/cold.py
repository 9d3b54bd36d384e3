"""What `gradpath check` of one file takes as a process of its own, beyond what Python takes to start and to end."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench.client import environment
from bench.texts import functions, script

TINY = "import torch\nx = torch.ones(3, requires_grad=True)\nloss = x.sum()\nloss.backward()\n"
CHECK = ("-m", "gradpath", "check", "train.py")
NOTHING = ("-c", "pass")


def measure(count: int) -> dict[str, dict[str, float]]:
    """Medians in milliseconds, by text; a check and an empty program take turns, after one of each that does not count.

    Python may keep its bytecode, as it does for what is installed.
    """
    texts = {"4 lines": TINY, "three samples": script(150), "1000 lines": functions(1000)}
    return {name: _costs(text, count) for name, text in texts.items()}


def _costs(text: str, count: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.py").write_text(text, encoding="utf-8")
        pairs = [(_run(CHECK, folder), _run(NOTHING, folder)) for _ in range(count + 1)][1:]
    return {
        "lines": text.count("\n"),
        "ms": round(1000 * median(ours[0] - empty[0] for ours, empty in pairs)),
        "processor ms": round(1000 * median(ours[1] - empty[1] for ours, empty in pairs)),
        "Python ms": round(1000 * median(empty[0] for _, empty in pairs)),
    }


def _run(arguments: Sequence[str], folder: str) -> tuple[float, float]:
    """The seconds of a process, by the clock and of the processor."""
    before, began = os.times(), time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    took, after = time.perf_counter() - began, os.times()
    return took, after.children_user - before.children_user + after.children_system - before.children_system
