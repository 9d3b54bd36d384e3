"""An old project starts clean: a baseline of what is known, or a comment at each place."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run, Write
from tests.cli.made_up import ERROR, WARNING

CHECK = ("check", "--baseline", "known.json", ".")


def test_what_is_known_is_not_reported(gradpath_main: Run, write: Write) -> None:
    write("train.py", f"x = 1\n{ERROR}\ny = 2\n")
    written = gradpath_main(*CHECK, "--write-baseline")
    assert (written.status, written.out, written.err) == (0, "", "gradpath: 1 mistake is known in known.json\n")
    assert gradpath_main(*CHECK).status == 0
    assert gradpath_main("check", ".").status == 1


def test_entries_survive_moved_and_reindented_lines(gradpath_main: Run, write: Write) -> None:
    write("train.py", f"x = 1\n{ERROR}\ny = 2\n")
    gradpath_main(*CHECK, "--write-baseline")
    write("train.py", f"import os\n\n\nif os:\n    x = 1\n\n    {ERROR}\n    y  =  2\n")
    result = gradpath_main(*CHECK)
    assert (result.status, result.err) == (0, "")


def test_a_new_mistake_like_an_old_one_is_reported(gradpath_main: Run, write: Write) -> None:
    write("train.py", f"x = 1\n{ERROR}\ny = 2\n")
    gradpath_main(*CHECK, "--write-baseline")
    write("train.py", f"z = 0\n{ERROR}\nw = 0\nx = 1\n{ERROR}\ny = 2\n")
    result = gradpath_main(*CHECK, "--output-format", "concise")
    assert result.status == 1
    assert result.out.startswith("train.py:2:1: error[double-backward]")
    assert result.out.count("\n") == 1


def test_a_line_whose_neighbours_both_changed_is_still_known(gradpath_main: Run, write: Write) -> None:
    write("train.py", f"x = 1\n{ERROR}\ny = 2\n")
    gradpath_main(*CHECK, "--write-baseline")
    write("train.py", f"x = 3\n{ERROR}\ny = 4\n")
    assert gradpath_main(*CHECK).status == 0


def test_another_rule_on_a_known_line_is_reported(gradpath_main: Run, write: Write) -> None:
    write("train.py", f"{ERROR}\n")
    gradpath_main(*CHECK, "--write-baseline")
    write("train.py", f"{ERROR}; {WARNING}\n")
    assert gradpath_main(*CHECK).status == 1


def test_entries_that_fit_nothing_are_told(gradpath_main: Run, write: Write) -> None:
    write("train.py", f"{ERROR}\n{WARNING}\n")
    gradpath_main(*CHECK, "--write-baseline")
    write("train.py", f"{WARNING}\n")
    result = gradpath_main(*CHECK)
    assert (result.status, result.err) == (0, "gradpath: known.json: 1 entry fits nothing any more\n")


def test_entries_of_files_that_are_not_checked_may_fit(gradpath_main: Run, write: Write) -> None:
    write("train.py", ERROR)
    gone = write("other.py", ERROR)
    gradpath_main(*CHECK, "--write-baseline")
    assert gradpath_main(*CHECK, "train.py").err == ""
    gone.unlink()
    assert gradpath_main(*CHECK, "train.py").err == "gradpath: known.json: 1 entry fits nothing any more\n"


def test_paths_are_seen_from_the_folder_of_the_baseline(gradpath_main: Run, write: Write) -> None:
    path = write("ci/known.json")
    write("src/train.py", ERROR)
    gradpath_main("check", "--baseline", "ci/known.json", "--write-baseline", "src")
    assert json.loads(path.read_text())["entries"] == [
        {"path": "../src/train.py", "rule": "double-backward", "line": "broken()", "before": "", "after": ""}
    ]


@pytest.mark.parametrize("content", ["", "[]", '{"version": 9, "entries": []}', '{"version": 1, "entries": [1]}'])
def test_a_broken_baseline_is_one_line(gradpath_main: Run, write: Write, content: str) -> None:
    write("known.json", content)
    write("train.py", ERROR)
    result = gradpath_main(*CHECK)
    assert result.status == 2
    assert "known.json" in result.err
    assert result.err.count("\n") == 1


def test_a_baseline_that_is_missing_is_one_line(gradpath_main: Run, write: Write) -> None:
    write("train.py", ERROR)
    result = gradpath_main(*CHECK)
    assert result.status == 2
    assert "known.json: No such file" in result.err


def test_write_baseline_needs_its_file(gradpath_main: Run, write: Write) -> None:
    write("train.py", ERROR)
    assert gradpath_main("check", "--write-baseline", ".").status == 2


def test_comments_are_added_beside_others(gradpath_main: Run, write: Write) -> None:
    path = write("train.py", f"x = 1\r\n{ERROR}; {WARNING}  # noqa: E702\r\n{ERROR}\r\n")
    result = gradpath_main("check", "--add-ignores", ".")
    assert path.read_bytes() == (
        b"x = 1\r\nbroken(); doubtful()  # noqa: E702  # gradpath: ignore[double-backward, live-accumulator]\r\n"
        b"broken()  # gradpath: ignore[double-backward]\r\n"
    )
    assert result.err == "gradpath: 3 reports are ignored from now on\n"


def test_add_ignores_stands_without_fix(gradpath_main: Run, write: Write) -> None:
    write("train.py", ERROR)
    assert gradpath_main("check", "--add-ignores", "--fix", ".").status == 2


def test_write_baseline_stands_without_fix(gradpath_main: Run, write: Write) -> None:
    write("train.py", ERROR)
    assert gradpath_main(*CHECK, "--write-baseline", "--fix").status == 2


def test_what_is_known_is_not_fixed(gradpath_main: Run, write: Write) -> None:
    path = write("train.py", f"x = 1\n{ERROR}\ny = 2\n")
    gradpath_main(*CHECK, "--write-baseline")
    path.write_text(f"x = 1\n{ERROR}\ny = 2\nz = 3\n{ERROR}\n")
    result = gradpath_main(*CHECK, "--fix")
    assert path.read_text() == f"x = 1\n{ERROR}\ny = 2\nz = 3\nmended()\n"
    assert (result.status, result.err) == (0, "")
    assert result.out == "No mistakes found in 1 file; applied 1 fix\n"


def test_the_difference_leaves_out_what_is_known(gradpath_main: Run, write: Write) -> None:
    path = write("train.py", f"{ERROR}\n")
    gradpath_main(*CHECK, "--write-baseline")
    assert "mended" not in gradpath_main(*CHECK, "--diff").out
    assert path.read_text() == f"{ERROR}\n"


def test_a_missing_baseline_keeps_fixes_from_being_written(gradpath_main: Run, write: Write) -> None:
    path = write("train.py", ERROR)
    assert gradpath_main(*CHECK, "--fix").status == 2
    assert path.read_text() == ERROR


@pytest.mark.skipif(os.name == "nt" or sys.platform == "darwin", reason="names are Unicode there")
def test_a_name_that_is_no_unicode_is_kept_and_found_again(gradpath_main: Run, project: Path) -> None:
    name = os.fsdecode(b"tr\xffin.py")
    (project / name).write_text("broken()\n")
    result = gradpath_main("check", "--baseline", "b.json", "--write-baseline")
    assert (result.status, result.err) == (0, "gradpath: 1 mistake is known in b.json\n")
    (project / "b.json").read_text("utf-8")
    assert gradpath_main("check", "--baseline", "b.json").status == 0


def test_a_baseline_that_cannot_be_written_leaves_the_old_one(
    gradpath_main: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = write("b.json", "old")
    write("train.py", "broken()\n")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    result = gradpath_main("check", "train.py", "--baseline", "b.json", "--write-baseline")
    assert (result.status, old.read_text()) == (2, "old")
    assert "b.json: No space left on device" in result.err


@pytest.mark.parametrize("text", ["[" * 100_000, '{"version": 1, "entries": [' + "[" * 100_000])
def test_a_baseline_that_is_nested_too_deeply_is_one_line(gradpath_main: Run, write: Write, text: str) -> None:
    write("b.json", text)
    write("train.py")
    result = gradpath_main("check", ".", "--baseline", "b.json")
    assert (result.status, result.err.count("\n")) == (2, 1)
    assert "b.json: not a baseline: " in result.err


def test_the_configuration_can_name_the_baseline(gradpath_main: Run, write: Write) -> None:
    write("gradpath.toml", 'baseline = "ci/known.json"\n')
    write("ci/here.txt")
    write("src/train.py", ERROR)
    assert gradpath_main("check", "--write-baseline").status == 0
    assert gradpath_main("check").status == gradpath_main("check", "--config", "gradpath.toml", "src").status == 0
    write("src/train.py", f"{ERROR}\n{WARNING}\n")
    assert gradpath_main("check").status == 1
    assert gradpath_main("check", "-", stdin=ERROR.encode()).status == 1
