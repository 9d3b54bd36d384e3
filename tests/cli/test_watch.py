"""`gradpath check --watch`, as somebody who edits beside it sees it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

from tests.cli.conftest import Run, Write
from tests.cli.test_main import PROGRAM, environment

RIGHT = "import torch\nw = torch.ones(2, requires_grad=True)\nloss = w.exp().sum()\nloss.backward()\n"
FAULTY = f"{RIGHT}loss.backward()\n"


@contextmanager
def watching(project: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [*PROGRAM, "check", "--watch", "--output-format", "concise", *arguments]
    pipe, together = subprocess.PIPE, subprocess.STDOUT
    with subprocess.Popen(command, cwd=project, env=environment(), stdout=pipe, stderr=together, text=True) as process:
        end = Timer(60, process.kill)
        end.start()
        try:
            yield process
        finally:
            end.cancel()
            process.kill()


def next_check(process: subprocess.Popen[str]) -> list[str]:
    """What one check says, up to the line that tells that it is over."""
    lines: list[str] = []
    assert process.stdout is not None
    for line in process.stdout:
        if "Ctrl+C ends it" in line:
            return lines
        lines.append(line.rstrip())
    raise AssertionError(f"the program has ended: {lines}")


def test_a_file_is_checked_again_when_it_is_saved_added_or_removed(project: Path, write: Write) -> None:
    write("train.py", FAULTY)
    with watching(project) as process:
        assert [line.split(": ")[0] for line in next_check(process)] == ["train.py:5:1"]
        write("train.py", RIGHT)
        assert next_check(process) == []
        write("more/new.py", FAULTY)
        assert [line.split(": ")[0] for line in next_check(process)] == ["more/new.py:5:1"]
        (project / "more/new.py").unlink()
        assert next_check(process) == []


def test_the_configuration_is_watched_too(project: Path, write: Write) -> None:
    write("train.py", FAULTY)
    with watching(project, "train.py") as process:
        assert len(next_check(process)) == 1
        write("pyproject.toml", '[tool.gradpath]\nignore = ["double-backward"]\n')
        assert next_check(process) == []


@pytest.mark.parametrize("option", ["--fix", "--diff", "--unsafe-fixes", "--add-ignores"])
def test_a_watch_changes_no_file(gradpath_main: Run, write: Write, option: str) -> None:
    write("train.py", FAULTY)
    outcome = gradpath_main("check", "--watch", option)
    assert outcome.status == 2
    assert f"--watch cannot be combined with {option}" in outcome.err
