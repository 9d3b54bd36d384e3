"""The formats that programs read."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Run, Write
from tests.cli.made_up import ERROR, HINT, WARNING


def json_of(run: Run, *arguments: str) -> Any:
    return json.loads(run("check", "--output-format", "json", *arguments).out)


def test_json_is_the_object_that_is_promised(gradpath_main: Run, write: Write) -> None:
    write("train.py", f"x = 1\nif x:\n    {ERROR}\n")
    assert json_of(gradpath_main, "train.py", "absent.py") == {
        "version": 1,
        "diagnostics": [
            {
                "path": "train.py",
                "cell": None,
                "rule": "double-backward",
                "family": "graph",
                "level": "error",
                "message": "`broken()` is broken",
                "range": {"start": {"line": 3, "column": 5}, "end": {"line": 3, "column": 13}},
                "related": [
                    {
                        "path": "train.py",
                        "range": {"start": {"line": 1, "column": 1}, "end": {"line": 1, "column": 2}},
                        "message": "it begins",
                    }
                ],
                "fixes": [
                    {
                        "title": "write mended()",
                        "safety": "safe",
                        "preferred": True,
                        "transformations": ["out-of-place"],
                        "edits": [
                            {
                                "path": "train.py",
                                "range": {"start": {"line": 3, "column": 5}, "end": {"line": 3, "column": 13}},
                                "new_text": "mended()",
                            }
                        ],
                    },
                    {
                        "title": "read the manual",
                        "safety": "unsafe",
                        "preferred": False,
                        "transformations": [],
                        "edits": [],
                    },
                ],
            }
        ],
        "errors": [{"path": "absent.py", "message": "no such file or folder"}],
        "files": 1,
        "incomplete": [],
    }


def test_json_is_one_object_even_where_nothing_was_found(gradpath_main: Run, write: Write) -> None:
    write("train.py", "x = 1\n")
    assert json_of(gradpath_main, "train.py") == {
        "version": 1,
        "diagnostics": [],
        "errors": [],
        "files": 1,
        "incomplete": [],
    }


def test_json_of_a_folder_without_python_is_an_object_too(gradpath_main: Run) -> None:
    assert json_of(gradpath_main) == {"version": 1, "diagnostics": [], "errors": [], "files": 0, "incomplete": []}


def test_json_counts_columns_in_code_points_and_is_ascii(gradpath_main: Run, write: Write) -> None:
    write("train.py", f"'字😀'; {ERROR}\n")
    result = gradpath_main("check", "--output-format", "json", "train.py")
    assert result.out.isascii()
    assert json.loads(result.out)["diagnostics"][0]["range"]["start"] == {"line": 1, "column": 7}


def test_json_has_the_statistics_when_asked(gradpath_main: Run, write: Write) -> None:
    write("a.py", f"{ERROR}\n{ERROR}\n{HINT}\n")
    write("b.py")
    assert json_of(gradpath_main, "--statistics", ".")["statistics"] == {
        "rules": {"detached-loss": 1, "double-backward": 2},
        "unknowns": {"a call of an unknown function": 4},
        "files": [
            {"path": "a.py", "reached": 0, "understood": 0, "unknowns": {"a call of an unknown function": 2}},
            {"path": "b.py", "reached": 0, "understood": 0, "unknowns": {"a call of an unknown function": 2}},
        ],
    }


def test_statistics_stand_under_the_text(gradpath_main: Run, write: Write) -> None:
    write("a.py", f"{ERROR}\n{ERROR}\n{HINT}\n")
    lines = gradpath_main("check", "--statistics", ".", "--quiet", "--output-format", "concise").out.splitlines()
    assert lines[3:] == [
        "reports by rule:",
        "     2  double-backward",
        "     1  detached-loss",
        "understood: no statement is reached",
        "unknown values, by what they came from:",
        "     2  a call of an unknown function",
    ]


def test_concise_is_one_line_a_diagnostic_and_nothing_else(gradpath_main: Run, write: Write) -> None:
    write("train.py", f"{ERROR}\n{WARNING}\n")
    assert gradpath_main("check", "--output-format", "concise", "train.py").out.splitlines() == [
        "train.py:1:1: error[double-backward]: `broken()` is broken",
        "train.py:2:1: warning[live-accumulator]: `doubtful()` is doubtful",
    ]


def test_github_annotates_lines_and_escapes_what_would_end_a_property(gradpath_main: Run, write: Write) -> None:
    write("a,b%.py", f"x = 1\n{WARNING}\n")
    assert gradpath_main("check", "--output-format", "github", ".", "absent.py").out.splitlines() == [
        "::warning file=a%2Cb%25.py,line=2,col=1,endLine=2,endColumn=11,title=gradpath%3A live-accumulator"
        "::`doubtful()` is doubtful%0A1. a,b%25.py:1: it begins%0A2. a,b%25.py:2: it fails%0Ahelp: mend it",
        "::error file=absent.py,title=gradpath::no such file or folder",
    ]


def test_gitlab_tells_issues_apart_by_what_a_line_above_does_not_change(gradpath_main: Run, write: Write) -> None:
    def issues(text: str) -> list[dict[str, Any]]:
        write("train.py", text)
        found: list[dict[str, Any]] = json.loads(gradpath_main("check", "--output-format", "gitlab", "train.py").out)
        return found

    first, second = issues(f"{ERROR}\n{ERROR}\n"), issues(f"x = 1\n{ERROR}\n{ERROR}\n")
    assert first[0] == {
        "check_name": "gradpath: double-backward",
        "description": "`broken()` is broken",
        "severity": "critical",
        "location": {"path": "train.py", "lines": {"begin": 1, "end": 1}},
        "fingerprint": first[0]["fingerprint"],
    }
    assert [issue["fingerprint"] for issue in first] == [issue["fingerprint"] for issue in second]
    assert len({issue["fingerprint"] for issue in first}) == 2
    assert issues("") == []


def test_gitlab_shows_what_could_not_be_checked(gradpath_main: Run, write: Write) -> None:
    write("train.py", "endless()\n")
    issues = json.loads(gradpath_main("check", "--output-format", "gitlab", "train.py", "absent.py").out)
    assert [(issue["location"]["path"], issue["severity"]) for issue in issues] == [
        ("absent.py", "blocker"),
        ("train.py", "info"),
    ]


def test_junit_has_a_failed_test_for_each_diagnostic(gradpath_main: Run, write: Write) -> None:
    write("a.py", f"{ERROR}\n{HINT}\n")
    write("b.py", f"{WARNING}\nendless()\n")
    outcome = gradpath_main("check", "--output-format", "junit", ".", "absent.py")
    document = ElementTree.fromstring(outcome.out.encode())
    assert document.attrib == {"name": "gradpath", "tests": "5", "failures": "2", "errors": "1"}
    cases = [
        (case.get("classname"), case.get("name"), [part.tag for part in case]) for case in document.iter("testcase")
    ]
    assert cases == [
        ("a.py", "double-backward at 1:1", ["failure"]),
        ("a.py", "detached-loss at 2:1", ["system-out"]),
        ("b.py", "live-accumulator at 1:1", ["failure"]),
        ("absent.py", "not checked", ["error"]),
        ("b.py", "line 2", ["skipped"]),
    ]
    assert (
        next(document.iter("failure")).text
        == "`broken()` is broken\n1. a.py:1: it begins\n2. a.py:1: it fails\nhelp: mend it"
    )


def test_junit_of_a_clean_run_has_a_test_that_passed(gradpath_main: Run, write: Write) -> None:
    write("a.py", "x = 1\n")
    document = ElementTree.fromstring(gradpath_main("check", "--output-format", "junit").out.encode())
    assert [(case.get("name"), list(case)) for case in document.iter("testcase")] == [("no mistakes found", [])]


@pytest.mark.parametrize("form", ["full", "concise", "json", "sarif", "github", "gitlab", "junit"])
def test_the_diagnostics_go_to_the_file_that_is_named(
    gradpath_main: Run, write: Write, project: Path, form: str
) -> None:
    write("a.py", f"{ERROR}\n")
    shown = gradpath_main("check", "--output-format", form, "--quiet")
    written = gradpath_main("check", "--output-format", form, "--quiet", "--output-file", "report.txt")
    assert (written.out, written.status) == ("", shown.status)
    assert (project / "report.txt").read_text() == shown.out


def test_a_file_that_cannot_be_written_is_one_line(gradpath_main: Run, write: Write) -> None:
    write("a.py", f"{ERROR}\n")
    outcome = gradpath_main("check", "--output-file", "nowhere/report.txt")
    assert outcome.status == 2
    assert "--output-file nowhere/report.txt: No such file or directory" in outcome.err


def test_sarif_tells_the_story_as_a_flow(gradpath_main: Run, write: Write, project: Path) -> None:
    write("my model.py", f"x = 1\n{ERROR}\n")
    result = gradpath_main("check", "--output-format", "sarif", "my model.py", "absent.py")
    log = json.loads(result.out)
    run = log["runs"][0]
    (found,) = run["results"]
    region = {"startLine": 2, "startColumn": 1, "endLine": 2, "endColumn": 9}
    assert log["version"] == "2.1.0"
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["tool"]["driver"]["rules"][found["ruleIndex"]]["id"] == found["ruleId"] == "double-backward"
    assert found["level"] == "error"
    assert found["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "my%20model.py"},
        "region": region,
    }
    steps = found["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["message"]["text"] for step in steps] == ["it begins", "it fails"]
    assert found["fixes"][0]["artifactChanges"][0]["replacements"] == [
        {"deletedRegion": region, "insertedContent": {"text": "mended()"}}
    ]
    assert run["invocations"][0]["executionSuccessful"] is False


def test_the_output_is_the_same_however_many_processes_took_part(gradpath_main: Run, write: Write) -> None:
    for number in range(40):
        write(f"part{number % 7}/module{number}.py", f"{ERROR}\n" * (number % 3) + WARNING)
    write("part1/odd.py", b"\0")
    outputs = {gradpath_main("check", "--jobs", jobs, "--statistics", ".") for jobs in ("1", "2", "5")}
    assert len(outputs) == 1
    (result,) = outputs
    assert result.status == 2
    paths = [line.split(":")[0] for line in result.out.splitlines() if ": error[" in line or ": warning[" in line]
    assert paths == sorted(paths, key=lambda path: path.split("/"))
    assert len(set(paths)) == 40


NAME = "::stop-commands::x.py"


@pytest.mark.skipif(os.name == "nt", reason="names have no colons there")
@pytest.mark.parametrize("form", ["full", "concise"])
def test_no_line_is_a_command_for_a_continuous_integration(gradpath_main: Run, write: Write, form: str) -> None:
    write(NAME, "broken()\n")
    write(f" {NAME}", "broken()\n")
    result = gradpath_main("check", ".", "--output-format", form)
    assert result.status == 1
    assert f"./{NAME}:1:1: error" in result.out
    assert not [line for line in (result.out + result.err).splitlines() if line.lstrip().startswith("::")]


@pytest.mark.skipif(os.name == "nt", reason="names have no such characters there")
@pytest.mark.parametrize("form", ["full", "concise", "github"])
def test_a_name_brings_no_control_character(gradpath_main: Run, write: Write, form: str) -> None:
    write("a\x1b[31m\n::error::b\x07.py", "broken()\n")
    result = gradpath_main("check", ".", "--output-format", form)
    assert result.status == 1
    assert result.out.splitlines()
    assert not {"\x1b", "\x07"} & set(result.out + result.err)
    assert not [line for line in result.out.splitlines() if line.lstrip().startswith("::error::b")]


@pytest.mark.skipif(os.name == "nt", reason="names have no such characters there")
def test_a_patch_quotes_a_name_with_a_line_break_as_git_does(gradpath_main: Run, write: Write, project: Path) -> None:
    name = 'a\n+++ b"é.py'
    write(name, "broken()\n")
    patch = gradpath_main("check", ".", "--diff").out
    assert patch.startswith('--- "a\\012+++ b\\042\\303\\251.py"\n+++ "a\\012+++ b')
    subprocess.run(["patch", "-p0"], input=patch, text=True, cwd=project, check=True, capture_output=True)
    assert (project / name).read_text() == "mended()\n"
