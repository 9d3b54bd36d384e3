"""A configuration of another tool takes no longer for what is in it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from gradpath.names.layout import layout_of


@pytest.mark.parametrize("line", ["package_dir" + " " * 400_000 + "x", "package_dir = " + " x" * 200_000])
def test_a_long_line_of_a_setup_cfg_is_read_at_once(tmp_path: Path, line: str) -> None:
    (tmp_path / "setup.cfg").write_text(f"[options]\n{line}\n[options.packages.find]\nwhere =    src\n")
    began = time.process_time()
    layout_of(tmp_path)
    assert time.process_time() - began < 2
