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
from gradpath.cli import main, sealed

FAULTY = """\
import torch
from net import loss_of

w = torch.ones(3, requires_grad=True)
loss = loss_of(w)
loss.backward()
loss.backward()
"""
NET = "import torch\n\ndef loss_of(w):\n    return w.exp().sum()\n"


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


def entries(project: Path) -> list[Path]:
    return [each for each in (project / ".gradpath_cache").rglob("*") if each.is_file() and each.name != ".gitignore"]


def test_an_entry_that_another_user_wrote_hides_nothing(
    project: Path, checked: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as other:
        other.setattr(sealed, "user_key", lambda: b"x" * 32)
        (project / "train.py").write_text("import torch, net\n")
        assert run(capsys) == []
        texts = {each: each.read_bytes().partition(b"\n")[2] for each in entries(project)}
    for file, text in texts.items():
        file.write_bytes(b"0" * 64 + b"\n" + text)
    checked.clear()
    run(capsys)
    assert len(checked) == 2


def test_an_entry_does_not_hold_in_another_place(
    project: Path, checked: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys)
    one, *_ = entries(project)
    store = sealed.Store(project / ".gradpath_cache", one.parent.name)
    assert store.read(one.name)
    (one.parent / "other").write_bytes(one.read_bytes())
    assert store.read("other") == ""


@pytest.mark.skipif(os.name == "nt", reason="links need rights")
@pytest.mark.parametrize("link", [".gradpath_cache", ".gradpath_cache/.gitignore", ".gradpath_cache/inner"])
def test_nothing_is_written_through_a_link(
    project: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str], link: str
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    run(capsys)
    inner = next(each for each in (project / ".gradpath_cache").iterdir() if each.is_dir())
    target = project / link.replace("inner", inner.name)
    target.rename(project / "before")
    target.symlink_to(outside / "new" if link.endswith(".gitignore") else outside)
    found = run(capsys)
    (project / "train.py").write_text(FAULTY + "\n")
    assert len(run(capsys)) == len(found) > 0
    assert list(outside.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_or_a_giant_in_the_place_of_an_entry_is_none(
    project: Path, checked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    first = run(capsys)
    for entry in entries(project):
        entry.unlink()
        os.mkfifo(entry)
    checked.clear()
    assert run(capsys) == first
    assert len(checked) == 2
    for entry in entries(project):
        with entry.open("wb") as giant:
            giant.truncate(3_000_000_000)
    checked.clear()
    assert run(capsys) == first
    assert len(checked) == 2


@pytest.mark.skipif(os.name == "nt", reason="rights are another matter there")
@pytest.mark.parametrize("spoil", ["readable", "link", "short", "folder", "nowhere"])
def test_without_a_key_of_the_users_own_nothing_is_kept(
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
    spoil: str,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    request.addfinalizer(sealed.user_key.cache_clear)
    sealed.user_key.cache_clear()
    key = tmp_path / "user" / "gradpath" / "cache-key"
    if spoil == "nowhere":
        (tmp_path / "user").write_text("")
    else:
        assert sealed.user_key() is not None
        assert key.stat().st_mode & 0o777 == 0o600
    match spoil:
        case "readable":
            key.chmod(0o644)
        case "link":
            key.rename(tmp_path / "there")
            key.symlink_to(tmp_path / "there")
        case "short":
            key.write_bytes(b"x")
        case "folder":
            key.unlink()
            key.mkdir()
    sealed.user_key.cache_clear()
    assert run(capsys)
    assert not (project / ".gradpath_cache").exists()


def test_entries_of_files_that_are_gone_go_too(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(40):
        (project / f"x{number}.py").write_text("import torch\n")
    run(capsys)
    size = sum(each.stat().st_size for each in entries(project))
    for number in range(40):
        (project / f"x{number}.py").unlink()
        (project / f"y{number}.py").write_text("import torch\n")
    run(capsys)
    assert sum(each.stat().st_size for each in entries(project)) < size * 1.5


def test_what_an_entry_would_tell_no_sooner_is_not_kept(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys)
    kept = sum(each.stat().st_size for each in entries(project))
    for number in range(100):
        (project / f"x{number}.py").write_text(f"x = {number}\n")
    run(capsys)
    assert sum(each.stat().st_size for each in entries(project)) == kept
