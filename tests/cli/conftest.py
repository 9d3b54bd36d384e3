"""Running the command line inside the test process, on an analysis that a test can predict."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import gradpath.analysis.check
import gradpath.analysis.fix_validation
import gradpath.analysis.trials
import gradpath.features.callers  # They keep the check that they find: not the made-up one of a test.
import gradpath.features.explanation
from gradpath.cli import main
from gradpath.support import internal_errors
from tests.cli import made_up


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str


Run = Callable[..., Outcome]
Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def _no_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What gradpath keeps for its user lies among the files of the tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "user"))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which the command line is given; it is the whole project."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    monkeypatch.chdir(folder)
    for name in ("NO_COLOR", "FORCE_COLOR", "GRADPATH_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(internal_errors, "folder", lambda: tmp_path / "crashes")
    monkeypatch.setattr(internal_errors, "_reports", {})
    monkeypatch.setattr(internal_errors, "_logged", set())
    return folder


@pytest.fixture
def write(project: Path) -> Write:
    """Write a file of the project."""

    def write(name: str, content: str | bytes = "") -> Path:
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def gradpath_main(project: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Run `gradpath` with arguments, on the made-up analysis; `stdin` are the bytes of standard input."""
    monkeypatch.setattr(gradpath.analysis.check, "check", made_up.check)
    monkeypatch.setattr(gradpath.analysis.fix_validation, "check", made_up.check)
    monkeypatch.setattr(gradpath.analysis.trials, "check", made_up.check)

    def run(*arguments: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capfdbinary.readouterr()
        with (
            io.TextIOWrapper(io.FileIO(1, "wb", closefd=False), encoding="utf-8") as out,
            io.TextIOWrapper(io.FileIO(2, "wb", closefd=False), encoding="utf-8", line_buffering=True) as err,
        ):
            monkeypatch.setattr(sys, "stdout", out)
            monkeypatch.setattr(sys, "stderr", err)
            status = main(arguments)
        written, complaints = capfdbinary.readouterr()
        return Outcome(status, written.decode(), complaints.decode())

    return run
