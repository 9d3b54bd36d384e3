"""What `--fix` writes, and when it leaves a file alone."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from gradpath.cli import fix
from gradpath.cli.writing import UnwritableFile, replace_file
from tests.cli.conftest import Run, Write
from tests.cli.made_up import ERROR, WARNING


def test_fix_applies_safe_fixes_and_reports_the_rest(gradpath_main: Run, write: Write) -> None:
    path = write("train.py", f"{ERROR}\n{WARNING}  # keep\n{ERROR}\n")
    result = gradpath_main("check", "--fix", "train.py")
    assert path.read_text() == "mended()\ndoubtful()  # keep\nmended()\n"
    assert result.status == 1
    assert "warning[live-accumulator]" in result.out
    assert "double-backward" not in result.out
    told = "Found 1 warning in 1 file; applied 2 fixes\n`gradpath rule live-accumulator` explains it\n"
    assert result.out.endswith(told)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (ERROR, "--fix repairs it, --diff shows how; `gradpath rule double-backward` explains it"),
        (
            f"{ERROR}\n{ERROR}",
            "--fix repairs all of them, --diff shows how; `gradpath rule double-backward` explains it",
        ),
        (f"{ERROR}\n{WARNING}", "--fix repairs 1 of them, --diff shows how; `gradpath rule ID` explains a rule"),
        (WARNING, "`gradpath rule live-accumulator` explains it"),
        ("x = 1", "No mistakes found in 1 file"),
    ],
)
def test_the_summary_says_what_fix_would_do_and_where_to_read(
    gradpath_main: Run, write: Write, code: str, told: str
) -> None:
    write("train.py", code)
    assert gradpath_main("check", "train.py").out.splitlines()[-1] == told
    assert "--fix" not in gradpath_main("check", "--diff", "train.py").err


def test_unsafe_fixes_applies_both_kinds(gradpath_main: Run, write: Write) -> None:
    path = write("train.py", f"{ERROR}\n{WARNING}\n")
    result = gradpath_main("check", "--unsafe-fixes", "train.py")
    assert path.read_text() == "mended()\ntrusted()\n"
    assert (result.status, result.out) == (0, "No mistakes found in 1 file; applied 2 fixes\n")


def test_without_fix_nothing_is_written(gradpath_main: Run, write: Write) -> None:
    path = write("train.py", ERROR)
    before = path.stat()
    gradpath_main("check", "train.py")
    assert (path.read_text(), path.stat().st_mtime_ns) == (ERROR, before.st_mtime_ns)


def test_a_fix_that_uncovers_another_fault_is_followed(gradpath_main: Run, write: Write) -> None:
    path = write("train.py", "twice()\n")
    result = gradpath_main("check", "--fix", "train.py")
    assert path.read_text() == "mended()\nmended()\n"
    assert result.out == "No mistakes found in 1 file; applied 1 fix\n"


def test_a_fix_that_would_not_parse_is_not_applied(gradpath_main: Run, write: Write) -> None:
    path = write("train.py", f"unparsable()\n{ERROR}\n")
    result = gradpath_main("check", "--fix", "train.py")
    assert path.read_text() == "unparsable()\nmended()\n"
    assert result.status == 1


def test_a_file_that_does_not_parse_is_left_alone(gradpath_main: Run, write: Write) -> None:
    path = write("train.py", f"{ERROR}\ndef f(:\n")
    gradpath_main("check", "--fix", "train.py")
    assert path.read_text() == f"{ERROR}\ndef f(:\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("encoding", "cookie"),
    [
        ("utf-8", ""),
        ("utf-8-sig", ""),
        ("latin-1", "# coding: latin-1\n"),
        ("cp1252", "# vim: fileencoding=cp1252\n"),
    ],
)
def test_newlines_encoding_and_mode_stay(
    gradpath_main: Run, write: Write, newline: str, encoding: str, cookie: str
) -> None:
    text = f"{cookie}x = 'é'\ntwice()\n\n"
    path = write("train.py", text.replace("\n", newline).encode(encoding))
    path.chmod(0o754)
    assert gradpath_main("check", "--fix", "train.py").status == 0
    fixed = text.replace("twice()", "mended()\nmended()")
    assert path.read_bytes() == fixed.replace("\n", newline).encode(encoding)
    assert stat.S_IMODE(path.stat().st_mode) == 0o754


def test_a_link_stays_and_its_target_is_fixed(gradpath_main: Run, write: Write, project: Path) -> None:
    target = write("real/train.py", ERROR)
    link = project / "train.py"
    link.symlink_to(target)
    gradpath_main("check", "--fix", "train.py")
    assert link.is_symlink()
    assert target.read_text() == "mended()"


@pytest.mark.parametrize("option", ["--fix", "--add-ignores"])
def test_a_link_out_of_the_folder_is_not_written_through(
    gradpath_main: Run, write: Write, project: Path, tmp_path: Path, option: str
) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text(ERROR)
    write("inner/own.py", ERROR)
    (project / "train.py").symlink_to(outside)
    (project / "own.py").symlink_to("inner/own.py")
    result = gradpath_main("check", option, ".")
    assert result.status == 2
    assert outside.read_text() == ERROR
    assert "gradpath: train.py: " in result.err
    assert "it is a link that leads out of the folders that were named" in result.err
    assert (project / "inner" / "own.py").read_text() != ERROR
    gradpath_main("check", option, "train.py")
    assert outside.read_text() != ERROR


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_stays(gradpath_main: Run, write: Write) -> None:
    path = write("train.py", ERROR)
    os.chown(path, 1234, 2345)
    path.chmod(0o4755)
    gradpath_main("check", "--fix", "train.py")
    status = path.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 2345, 0o4755)
    assert path.read_text() == "mended()"


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="files need names there")
def test_a_kill_while_a_file_is_written_leaves_nothing_beside_it(
    write: Write, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("train.py", "old")
    there: list[list[str]] = []
    monkeypatch.setattr(os, "fsync", lambda _: there.append(sorted(os.listdir(project))))
    replace_file(str(path), b"old", b"new")
    assert there == [["pyproject.toml", "train.py"]]
    assert path.read_text() == "new"


def test_where_a_file_needs_a_name_from_the_start_it_is_written_too(
    write: Write, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("train.py", "old")
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    replace_file(str(path), b"old", b"new")
    assert path.read_text() == "new"
    with pytest.raises(UnwritableFile):
        replace_file(str(path), b"old", b"newer")
    assert sorted(os.listdir(project)) == ["pyproject.toml", "train.py"]


def test_a_write_that_fails_leaves_the_file_whole_and_nothing_beside_it(
    gradpath_main: Run, write: Write, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("train.py", ERROR)
    other = write("zoo.py", ERROR)

    def fail(source: str, target: str) -> None:
        if target.endswith("train.py"):
            raise OSError(28, "No space left on device")
        Path(target).write_bytes(Path(source).read_bytes())
        Path(source).unlink()

    monkeypatch.setattr(os, "replace", fail)
    result = gradpath_main("check", "--fix", ".", "--no-cache")
    assert result.status == 2
    assert result.err == "gradpath: train.py: fixes not applied: No space left on device\n"
    assert path.read_text() == ERROR
    assert other.read_text() == "mended()"
    assert sorted(file.name for file in project.iterdir()) == ["pyproject.toml", "train.py", "zoo.py"]


def test_a_file_that_changed_in_the_meantime_is_not_overwritten(write: Write) -> None:
    path = write("train.py", "new")
    with pytest.raises(UnwritableFile, match="changed in the meantime"):
        replace_file(str(path), b"old", b"fixed")
    assert path.read_text() == "new"


def test_text_that_the_encoding_lacks_is_refused() -> None:
    with pytest.raises(UnwritableFile, match="iso-8859-1 has no '字'"):
        fix.encode_like(b"# coding: latin-1\n", "# coding: latin-1\n", "# coding: latin-1\n'字'\n")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_can_be_checked_and_not_fixed(gradpath_main: Run, project: Path) -> None:
    os.mkfifo(project / "pipe")
    writer = threading.Thread(target=(project / "pipe").write_text, args=[ERROR])
    writer.start()
    result = gradpath_main("check", "--fix", "pipe")
    writer.join()
    assert result.status == 2
    assert result.err == "gradpath: pipe: fixes not applied: not a regular file\n"
    assert "pipe:1:1: error" in result.out


def test_diff_shows_a_patch_and_writes_nothing(gradpath_main: Run, write: Write, project: Path) -> None:
    path = write("train.py", f"x = 1\n{ERROR}\n{WARNING}")
    result = gradpath_main("check", "--diff", "train.py")
    assert path.read_text() == f"x = 1\n{ERROR}\n{WARNING}"
    assert result.status == 1
    assert result.out == (
        "--- train.py\n+++ train.py\n@@ -1,3 +1,3 @@\n x = 1\n-broken()\n+mended()\n doubtful()\n"
        "\\ No newline at end of file\n"
    )
    applied = subprocess.run(
        ["git", "apply", "-p0", "-"], input=result.out, text=True, cwd=project, capture_output=True, check=False
    )
    assert applied.returncode == 0, applied.stderr
    assert path.read_text() == f"x = 1\nmended()\n{WARNING}"


def test_diff_with_unsafe_fixes_shows_both_kinds(gradpath_main: Run, write: Write) -> None:
    write("train.py", f"{ERROR}\n{WARNING}\n")
    result = gradpath_main("check", "--diff", "--unsafe-fixes", "train.py")
    assert [line for line in result.out.splitlines() if line[0] == "+"] == ["+++ train.py", "+mended()", "+trusted()"]


def test_fixed_standard_input_is_standard_output(gradpath_main: Run) -> None:
    result = gradpath_main("check", "--fix", "-", stdin=f"{ERROR}\r\n{WARNING}\r\n".encode())
    assert result.out == "mended()\r\ndoubtful()\r\n"
    assert result.status == 1
    assert "warning[live-accumulator]" in result.err


def test_json_counts_what_was_fixed(gradpath_main: Run, write: Write) -> None:
    write("train.py", f"{ERROR}\n{WARNING}\n")
    data = json.loads(gradpath_main("check", "--fix", "--output-format", "json", "train.py").out)
    assert data["fixed"] == 1
    assert [diagnostic["rule"] for diagnostic in data["diagnostics"]] == ["live-accumulator"]
