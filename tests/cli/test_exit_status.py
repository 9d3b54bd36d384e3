"""What `gradpath check` answers to the shell, and what it says about files that it cannot check."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run, Write
from tests.cli.made_up import ERROR, HINT, WARNING


def test_a_clean_file_answers_0(gradpath_main: Run, write: Write) -> None:
    write("train.py", "x = 1\n")
    result = gradpath_main("check", "train.py")
    assert (result.status, result.out, result.err) == (0, "No mistakes found in 1 file\n", "")


@pytest.mark.parametrize(("code", "status"), [(ERROR, 1), (WARNING, 1), (HINT, 0)])
def test_an_error_or_a_warning_answers_1_and_a_hint_0(gradpath_main: Run, write: Write, code: str, status: int) -> None:
    write("train.py", code)
    result = gradpath_main("check", "train.py")
    assert result.status == status
    assert "train.py:1:1: " in result.out


def test_exit_zero_reports_all_the_same(gradpath_main: Run, write: Write) -> None:
    write("train.py", ERROR)
    result = gradpath_main("check", "--exit-zero", "train.py")
    assert result.status == 0
    assert "double-backward" in result.out


def test_a_missing_file_answers_2_and_the_others_are_checked(gradpath_main: Run, write: Write) -> None:
    write("train.py", ERROR)
    result = gradpath_main("check", "absent.py", "train.py")
    assert result.status == 2
    assert result.err == "gradpath: absent.py: no such file or folder\n"
    assert "train.py:1:1: error[double-backward]" in result.out


def test_exit_zero_does_not_hide_a_missing_file(gradpath_main: Run) -> None:
    assert gradpath_main("check", "--exit-zero", "absent.py").status == 2


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x7fELF\x00\x01\x02", "NUL"),
        (b"x = 1\n\n\ny = '\xff\xfe'\n", "utf-8"),
        (b"# coding: nonsense\nx = 1\n", "nonsense"),
    ],
)
def test_what_is_not_text_is_named_with_the_reason(
    gradpath_main: Run, write: Write, content: bytes, reason: str
) -> None:
    write("odd.py", content)
    write("train.py", "x = 1\n")
    result = gradpath_main("check", ".")
    assert result.status == 2
    assert result.err.startswith("gradpath: odd.py: ")
    assert reason in result.err
    assert result.err.count("\n") == 1
    assert result.out == "No mistakes found in 1 file\n"


def test_a_file_without_permission_is_named(gradpath_main: Run, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    really = os.open

    def refuse(path: str | Path, *arguments: int, **more: int) -> int:
        if str(path) == "secret.py":
            raise PermissionError(13, "Permission denied", str(path))
        return really(path, *arguments, **more)

    write("secret.py", "x = 1\n")
    monkeypatch.setattr(os, "open", refuse)
    result = gradpath_main("check", "secret.py")
    assert (result.status, result.err) == (2, "gradpath: secret.py: Permission denied\n")


def test_a_device_is_no_source(gradpath_main: Run) -> None:
    assert gradpath_main("check", os.devnull).err == f"gradpath: {os.devnull}: not a file\n"


def test_a_name_with_a_nul_is_no_file(gradpath_main: Run) -> None:
    result = gradpath_main("check", "a\0b.py")
    assert result.status == 2
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--select", "double-backwards"), "did you mean `double-backward`?"),
        (("--ignore", "graf"), "did you mean `graph`?"),
        (("--select", ""), "unknown rule or family ``"),
        (("--jobs", "0"), "'0' is not a number from 1 on"),
        (("--jobs", "many"), "'many' is not a number from 1 on"),
        (("--output-format", "yaml"), "yaml"),
        (("--no-such-option",), "--no-such-option"),
        (("--config", "absent.toml"), "absent.toml"),
        (("-", "train.py"), "standard input"),
        (("--stdin-filename", "a.py", "train.py"), "--stdin-filename needs -"),
    ],
)
def test_bad_usage_is_one_line_and_answers_2(
    gradpath_main: Run, write: Write, arguments: tuple[str, ...], words: str
) -> None:
    write("train.py", ERROR)
    result = gradpath_main("check", *arguments)
    assert (result.status, result.out) == (2, "")
    assert words in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("content", ["", "\n", "# nothing\n", "\ufeff", "\x0c\n", "\r\r\n\n\r"])
def test_odd_little_files_are_clean(gradpath_main: Run, write: Write, content: str) -> None:
    write("train.py", content)
    result = gradpath_main("check", "train.py")
    assert (result.status, result.err) == (0, "")


def test_a_folder_without_python_says_so(gradpath_main: Run, write: Write) -> None:
    write("docs/readme.txt", "hello")
    result = gradpath_main("check", "docs")
    assert (result.status, result.out, result.err) == (0, "", "gradpath: no Python files under docs\n")


def test_a_broken_configuration_is_named_and_answers_2(gradpath_main: Run, write: Write, project: Path) -> None:
    write("pyproject.toml", "[tool.gradpath\n")
    write("train.py", ERROR)
    result = gradpath_main("check", "train.py")
    assert result.status == 2
    assert result.err.startswith("gradpath: ")
    assert str(project / "pyproject.toml") in result.err
    assert result.err.count("\n") == 1
    assert "train.py:1:1: error" in result.out


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (
            'select = ["double-backwards"]',
            "`select`: unknown rule or family `double-backwards`; did you mean",
        ),
        ('ignore = ["grap"]', "`ignore`: unknown rule or family `grap`; did you mean `graph`?"),
        ('levels = {double-backwards = "off"}', "`levels`: unknown rule or family `double-backwards`; did you mean"),
        ('per-file-ignores = {"*" = ["grap"]}', "`per-file-ignores.*`: unknown rule or family `grap`; did you mean"),
    ],
)
@pytest.mark.parametrize("named", [False, True])
def test_an_unknown_rule_in_a_configuration_is_told_once_and_switches_nothing_off(
    gradpath_main: Run, write: Write, line: str, complaint: str, named: bool
) -> None:
    write("pyproject.toml", f"[tool.gradpath]\n{line}\n")
    write("train.py", "broken()\n")
    write("inner/other.py", "broken()\n")
    result = gradpath_main("check", ".", *(("--config", "pyproject.toml") if named else ()))
    assert result.status == 2
    assert result.err.count("\n") == 1
    assert complaint in result.err
    assert result.out.count("error[double-backward]") == 2


def test_a_named_configuration_without_a_table_is_one_line(gradpath_main: Run, write: Write) -> None:
    write("strict.toml", "[tool]\ngradpath = 5\n")
    result = gradpath_main("check", "--config", "strict.toml")
    assert result.status == 2
    assert result.err.startswith("gradpath check: --config strict.toml: `tool.gradpath` must be a table")


def test_the_named_configuration_holds_and_the_command_line_wins(gradpath_main: Run, write: Write) -> None:
    write("strict.toml", 'ignore = ["double-backward"]\n')
    write("train.py", f"{ERROR}\n{WARNING}\n")
    by_file = gradpath_main("check", "--config", "strict.toml", "train.py", "--output-format", "concise")
    assert [line.split()[1] for line in by_file.out.splitlines()] == ["warning[live-accumulator]:"]
    by_option = gradpath_main(
        "check", "--config", "strict.toml", "train.py", "--output-format", "concise", "--select", "double-backward"
    )
    assert [line.split()[1] for line in by_option.out.splitlines()] == ["error[double-backward]:"]


def test_selection_takes_rules_and_families_in_lists(gradpath_main: Run, write: Write) -> None:
    write("train.py", f"{ERROR}\n{WARNING}\n{HINT}\n")

    def rules(*options: str) -> list[str]:
        lines = gradpath_main("check", "train.py", "--output-format", "concise", *options).out.splitlines()
        return [line.split("[")[1].split("]")[0] for line in lines]

    assert rules() == ["double-backward", "live-accumulator", "detached-loss"]
    assert rules("--select", "graph") == ["double-backward", "live-accumulator"]
    assert rules("--select", "detached-loss,live-accumulator") == ["live-accumulator", "detached-loss"]
    assert rules("--select", "graph", "--ignore", "double-backward") == ["live-accumulator"]
    assert rules("--ignore", "graph", "--ignore", "detach") == []


@pytest.mark.skipif(sys.platform == "win32", reason="such names cannot be made there")
def test_a_name_with_control_characters_reaches_the_terminal_harmless(gradpath_main: Run, write: Write) -> None:
    write("a\x1b[31m\n.py", ERROR)
    result = gradpath_main("check", ".")
    assert "\x1b" not in result.out
    assert result.out.startswith("a␛[31m .py:1:1: error")


def giant(file: Path) -> None:
    with file.open("wb") as sparse:
        sparse.truncate(3_000_000_000)


@pytest.mark.parametrize("name", ["big.py", "big.ipynb"])
def test_a_giant_is_told_in_one_line_and_the_other_files_are_checked(
    gradpath_main: Run, write: Write, name: str
) -> None:
    giant(write(name))
    write("train.py", "broken()\n")
    result = gradpath_main("check", ".")
    limit = "10 MB" if name.endswith(".py") else "50 MB"
    assert result.status == 2
    assert result.err == f"gradpath: {name}: 3 GB is more than the {limit} that are read\n"
    assert "train.py:1:1" in result.out


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"a = " + b"[" * 100_000, "not valid TOML: nested too deeply"),
        (b"a = " + b"{a=" * 100_000, "not valid TOML: nested too deeply"),
        (b"a" + b".a" * 400_000 + b" = 1", "not valid TOML: a key has more than 100 parts"),
        (b"[" + b"'a' . " * 100_000 + b"a]", "not valid TOML: a key has more than 100 parts"),
        (b"a = 1\0", "not valid TOML: "),
        (b"\xff\xfea", "not UTF-8 text"),
        (b"a = " + b"1" * 900_000, "not valid TOML: "),
    ],
)
def test_a_hostile_configuration_costs_one_line_and_no_file(
    gradpath_main: Run, write: Write, text: bytes, reason: str
) -> None:
    write("pyproject.toml", text)
    write("train.py", "broken()\n")
    result = gradpath_main("check", ".")
    assert result.status == 2
    assert reason in result.err
    assert result.err.count("\n") == 1
    assert "train.py:1:1" in result.out


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("name", ["pyproject.toml", "gradpath.toml", "setup.cfg", "setup.py", ".gitignore"])
def test_a_pipe_or_a_device_in_the_place_of_a_configuration_stops_nothing(
    gradpath_main: Run, write: Write, project: Path, name: str
) -> None:
    write("train.py", "broken()\n")
    told = {"pyproject.toml": 2, "gradpath.toml": 2}.get(name, 1)
    for make in (os.mkfifo, lambda path: os.symlink("/dev/zero", path)):
        (project / name).unlink(missing_ok=True)
        make(project / name)
        result = gradpath_main("check", ".", "--no-cache")
        assert (result.status, "train.py:1:1" in result.out) == (told, True)
        assert (": not a file but a " in result.err) == (told == 2)
