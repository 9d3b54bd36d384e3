"""What a check of many files leaves in memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SERVER = Path(__file__).parents[2] / "server"
CODE = """
import gc, sys
from gradpath.analysis.check import check
from gradpath.cli.memory import calm_collector, sweep
from gradpath.names.files import TREES
from gradpath.source.document import Document

FUNCTION = '''
def train_{0}(model, optimizer, batches):
    for x, y in batches:
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
'''
TREES.kept = 3_000
check(Document("warm.py", "import torch\\n" + FUNCTION.format(0)))
calm_collector()
for number in range(31):
    sweep()
    if number % 10 == 0:
        gc.unfreeze()
        print(len(gc.get_objects()))
        gc.freeze()
    check(Document(f"train_{number}.py", "import torch\\n" + "".join(map(FUNCTION.format, range(10)))))
"""


def test_trees_for_which_there_is_no_room_are_gone() -> None:
    """The collector is told to leave what survives alone, so it would not find their nodes."""
    environment = {**os.environ, "PYTHONPATH": str(SERVER)}
    told = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, env=environment, check=True)
    _, early, later, late = map(int, told.stdout.split())
    assert late - later < early / 50
