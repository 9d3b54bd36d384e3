"""What a second run reuses of the first: nothing that anybody could tell from a run that begins anew."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gradpath
from gradpath.cli import check as command
from gradpath.cli import main

FAULTY = """\
import torch
from net import loss_of

w = torch.ones(3, requires_grad=True)
loss = loss_of(w)
loss.backward()
loss.backward()
"""
NET = "def loss_of(w):\n    return w.exp().sum()\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "gradpath.toml").write_text("")
    (tmp_path / "train.py").write_text(FAULTY)
    (tmp_path / "net.py").write_text(NET)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are really checked."""
    paths: list[str] = []
    original = command.check_file

    def watched(path: str, *rest: object, **options: object) -> object:
        paths.append(path)
        return original(path, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(command, "check_file", watched)
    return paths


def run(capsys: pytest.CaptureFixture[str], *options: str) -> list[dict[str, object]]:
    main(["check", "--output-format", "json", "--jobs", "1", *options])
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)["diagnostics"]
    return found


def test_a_second_run_checks_nothing_and_says_the_same(
    project: Path, checked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    first = run(capsys)
    assert first
    assert sorted(checked) == ["net.py", "train.py"]
    checked.clear()
    assert run(capsys) == first
    assert checked == []


def test_a_changed_file_and_what_depends_on_it_are_checked_again(
    project: Path, checked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys)
    checked.clear()
    (project / "net.py").write_text(NET.replace(".exp()", ""))
    run(capsys)
    assert sorted(checked) == ["net.py", "train.py"]


def test_a_module_that_appears_counts(project: Path, checked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    (project / "net.py").unlink()
    run(capsys)
    checked.clear()
    (project / "net.py").write_text(NET)
    assert run(capsys)
    assert sorted(checked) == ["net.py", "train.py"]


def test_another_configuration_is_another_entry(
    project: Path, checked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys)
    assert run(capsys, "--ignore", "double-backward") == []
    checked.clear()
    assert run(capsys)
    assert checked == []


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"text": 1}', "\x00"])
def test_a_broken_entry_is_none(
    project: Path, checked: list[str], capsys: pytest.CaptureFixture[str], content: str
) -> None:
    first = run(capsys)
    for entry in (project / ".gradpath_cache").rglob("*"):
        if entry.is_file() and entry.name != ".gitignore":
            entry.write_text(content)
    checked.clear()
    assert run(capsys) == first
    assert len(checked) == 2


def test_nothing_is_kept_where_nobody_wants_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "--no-cache")
    assert not (project / ".gradpath_cache").exists()


def test_runs_at_the_same_time_do_not_disturb_each_other(project: Path) -> None:
    line = [sys.executable, "-m", "gradpath", "check", "--output-format", "json"]
    environment = {**os.environ, "PYTHONPATH": str(Path(gradpath.__file__).parents[1])}
    runs = [subprocess.Popen(line, cwd=project, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    found = [json.loads(each.communicate(timeout=120)[0])["diagnostics"] for each in runs]
    assert found[0]
    assert all(each == found[0] for each in found)
