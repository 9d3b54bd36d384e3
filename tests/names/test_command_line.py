"""On the command line: faults behind imports, under the file that they lie in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.names.test_editor import DETACHED, KEPT, LOSS, NET, TRAIN, TRAIN_WITH_LOSS
from tests.names.trees import write

SERVER = Path(__file__).parents[2] / "server"
RIGHT_NET = {"models/net.py": NET.replace(KEPT, DETACHED)}


def gradpath(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(SERVER), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "gradpath", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=60)


def found(folder: Path, *arguments: str) -> list[tuple[str, str, int]]:
    """Path, rule and line of each report."""
    result = gradpath(folder, "check", "--output-format", "json", *arguments)
    assert result.stderr == ""
    reports = json.loads(result.stdout)["diagnostics"]
    return [(each["path"], each["rule"], each["range"]["start"]["line"]) for each in reports]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {"models/__init__.py": "from .net import Net\n", "models/net.py": NET, "train.py": TRAIN}
    return write(tmp_path, {"pyproject.toml": "", **files})


def test_the_story_leads_into_the_other_file_with_its_source(project: Path) -> None:
    result = gradpath(project, "check", "train.py")
    assert "train.py:7:5: error[carried-graph]" in result.stdout
    assert "self.h = torch.tanh(self.inner(x) + self.h)" in result.stdout
    assert os.path.join("models", "net.py") in result.stdout


@pytest.mark.parametrize("setting", ['python = "env"', ""])
def test_torch_in_the_environment_makes_no_difference(project: Path, setting: str) -> None:
    site = "env/lib/python3.12/site-packages"
    write(project, {"pyproject.toml": f"[tool.gradpath]\n{setting}\n", f"{site}/torch/__init__.py": "rand = None\n"})
    assert found(project, "train.py") == [("train.py", "carried-graph", 7)]


def test_the_right_form_is_silent(project: Path) -> None:
    write(project, RIGHT_NET)
    assert found(project) == []


def test_a_fault_in_another_file_is_told_under_its_name(project: Path) -> None:
    write(project, {"train.py": TRAIN_WITH_LOSS, "losses.py": LOSS})
    assert found(project, "train.py") == [("losses.py", "double-backward", 7)]


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("paths", [[], ["."], ["train.py", "./losses.py"], ["losses.py", "train.py", "other.py"]])
def test_a_fault_that_several_checks_find_is_told_once(project: Path, paths: list[str], jobs: str) -> None:
    write(project, {**RIGHT_NET, "train.py": TRAIN_WITH_LOSS, "other.py": TRAIN_WITH_LOSS, "losses.py": LOSS})
    [(path, rule, line)] = found(project, *paths, "--jobs", jobs)
    assert (os.path.normpath(path), rule, line) == ("losses.py", "double-backward", 7)


def test_a_fault_in_a_file_that_is_left_out_is_not_told(project: Path) -> None:
    write(project, {"pyproject.toml": '[tool.gradpath]\nexclude = ["losses.py"]\n', "losses.py": LOSS})
    write(project, {**RIGHT_NET, "train.py": TRAIN_WITH_LOSS})
    assert found(project) == []


def test_a_comment_in_the_other_file_suppresses_it(project: Path) -> None:
    silenced = LOSS.rstrip("\n") + "  # gradpath: ignore[double-backward]\n"
    write(project, {**RIGHT_NET, "train.py": TRAIN_WITH_LOSS, "losses.py": silenced})
    assert found(project) == []


def test_after_a_fix_the_files_that_depend_on_it_are_judged_anew(project: Path) -> None:
    write(project, {"train.py": TRAIN_WITH_LOSS, "losses.py": LOSS})
    result = gradpath(project, "check", "--unsafe-fixes", "train.py", "losses.py")
    assert "double-backward" not in result.stdout
    assert result.returncode == 0
