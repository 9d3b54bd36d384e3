"""No tree of files stops gradpath, leads it out of itself, or makes it fail (`python -m tests.hostile` for many)."""

from __future__ import annotations

import os

import pytest

from tests.hostile.trial import COMMANDS, faults


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="such files are not to be had")
@pytest.mark.parametrize("seed", range(4))
def test_a_hostile_tree_costs_a_line_for_each_file(seed: int) -> None:
    commands = COMMANDS[:2] if seed % 2 else COMMANDS[2:4]
    assert list(faults(seed, commands)) == []
