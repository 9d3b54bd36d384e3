"""The plugin of pytest: a section with the story where autograd fails a test, and nothing anywhere else."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

from gradpath.support import toml
from tests.cli.test_main import environment

TESTS = """\
import pytest
import torch


def scale(w):
    y = w.exp()
    y.add_(1)
    return y


def test_scale():
    w = torch.ones(3, requires_grad=True)
    scale(w).sum().backward()


def test_twice():
    w = torch.ones(3, requires_grad=True)
    loss = w.exp().sum()
    loss.backward()
    loss.backward()


def test_shapes():
    torch.rand(2, 3) @ torch.rand(2, 3)


def test_that_it_raises():
    with pytest.raises(RuntimeError):
        torch.ones(3).sum().backward()
"""


def run_pytest(folder: Path, *options: str, **more: str) -> subprocess.CompletedProcess[str]:
    installed = any(each.value == "gradpath.pytest_plugin" for each in entry_points(group="pytest11"))
    plugin = () if installed else ("-p", "gradpath.pytest_plugin")
    command = [sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", *options]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=environment(COLUMNS="150", **more), timeout=120
    )


def test_each_test_that_autograd_fails_has_its_story_in_its_report(tmp_path: Path) -> None:
    (tmp_path / "test_model.py").write_text(TESTS)
    reports = run_pytest(tmp_path, "-p", "no:xdist").stdout
    assert "3 failed, 1 passed" in reports
    scale, twice, shapes = (
        reports.partition("_ test_scale _")[2].replace("_ test_shapes _", "_ test_twice _").split("_ test_twice _")
    )
    assert "- gradpath -" in scale
    assert "test_model.py:7:5: error[inplace-on-saved]: " in scale
    assert "raised at test_model.py:13 in test_scale" in scale
    assert "test_model.py:20:5: error[double-backward]: " in twice
    assert "- gradpath -" not in shapes


def test_under_gradpath_run_only_one_of_the_two_tells_it(tmp_path: Path) -> None:
    (tmp_path / "test_model.py").write_text(TESTS)
    reports = run_pytest(tmp_path, GRADPATH_RUN="1").stdout
    assert "_ test_scale _" in reports
    assert "- gradpath -" not in reports


def test_gradpath_run_tells_the_story_of_each_test_that_failed(tmp_path: Path) -> None:
    (tmp_path / "test_model.py").write_text(TESTS)
    command = [sys.executable, "-m", "gradpath", "run", sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment(), timeout=120)
    assert result.returncode == 1
    assert "3 failed, 1 passed" in result.stdout
    assert [line for line in result.stderr.splitlines() if line.startswith("More: ")] == [
        "More: gradpath rule inplace-on-saved",
        "More: gradpath rule double-backward",
    ]


def test_a_run_without_such_an_error_loads_nothing_of_gradpath(tmp_path: Path) -> None:
    (tmp_path / "test_plain.py").write_text(
        "import sys\n"
        "def test_fails():\n"
        "    assert 0\n"
        "def test_loaded():\n"
        "    loaded = [name for name in sys.modules if name.startswith('gradpath')]\n"
        "    assert loaded == ['gradpath', 'gradpath.pytest_plugin']\n"
    )
    result = run_pytest(tmp_path)
    assert "1 failed, 1 passed" in result.stdout, result.stdout


def test_pytest_finds_the_plugin_where_gradpath_is_installed() -> None:
    project = toml.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    module = project["entry-points"]["pytest11"]["gradpath"]
    assert importlib.import_module(module).pytest_runtest_makereport
