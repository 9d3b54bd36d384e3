"""What `gradpath check` says where it has not looked at all of a file: "No mistakes found" means that it did."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import gradpath.analysis.inspection
from gradpath.analysis.check import check
from gradpath.cli import main
from gradpath.rules import RULES
from gradpath.support.fast_dataclasses import replace
from tests.cli.conftest import Run, Write
from tests.cli.made_up import ERROR
from tests.cli.notebooks import code, notebook, written

BROKEN = "x = = 1\n"
ENDLESS = "x = 1\nendless()\n"
TOLD = "gradpath: much.py:2: not fully checked: `fit` is too much to be followed to its end\n"
TWICE = "import torch\nloss = torch.ones(1, requires_grad=True).exp()\nloss.backward()\nloss.backward()\n"


def fails(*_: object) -> Iterator[object]:
    raise ArithmeticError("no more numbers")


def test_a_file_that_does_not_parse_is_told_and_is_not_counted_as_clean(gradpath_main: Run, write: Write) -> None:
    write("good.py", "x = 1\n")
    write("merged.py", "x = 1\n<<<<<<< HEAD\n")
    result = gradpath_main("check", ".")
    assert result.err == "gradpath: merged.py:2: not fully checked: does not parse: invalid syntax\n"
    assert result.out == "No mistakes found in 1 file; 1 file was not fully checked\n"
    assert result.status == 0


def test_a_part_that_was_given_up_is_told_with_its_reason(gradpath_main: Run, write: Write) -> None:
    write("much.py", ENDLESS)
    result = gradpath_main("check", "much.py")
    assert (result.status, result.out, result.err) == (0, "1 file was not fully checked\n", TOLD)


def test_what_was_found_in_the_rest_is_reported(gradpath_main: Run, write: Write) -> None:
    write("much.py", f"{ENDLESS}{ERROR}\n")
    write("more.py", ENDLESS)
    result = gradpath_main("check", ".")
    assert result.status == 1
    assert "\nFound 1 error in 1 of 2 files; 2 files were not fully checked" in result.out


def test_many_places_of_one_kind_are_one_line(gradpath_main: Run, write: Write) -> None:
    write("much.py", "x = 1\nendless()\nendless()\nendless()\n")
    assert gradpath_main("check", "much.py").err == f"{TOLD.rstrip()} (and 2 more places below)\n"


@pytest.mark.parametrize("content", [BROKEN, ENDLESS])
def test_strict_answers_1_where_a_part_was_not_checked(gradpath_main: Run, write: Write, content: str) -> None:
    write("train.py", content)
    assert gradpath_main("check", "train.py").status == 0
    assert gradpath_main("check", "--strict", "train.py").status == 1
    assert gradpath_main("check", "--strict", "--exit-zero", "train.py").status == 1
    assert gradpath_main("check", "--strict", "-", stdin=content.encode()).status == 1


def test_strict_answers_0_where_all_was_checked(gradpath_main: Run, write: Write) -> None:
    write("train.py", "x = 1\n")
    assert gradpath_main("check", "--strict", "train.py").status == 0


@pytest.mark.parametrize("format", ["full", "concise", "json", "sarif", "github"])
def test_it_is_told_on_standard_error_in_every_format_and_when_quiet(
    gradpath_main: Run, write: Write, format: str
) -> None:
    write("much.py", ENDLESS)
    assert gradpath_main("check", "--output-format", format, "--quiet", "much.py").err == TOLD


def test_json_lists_each_part(gradpath_main: Run, write: Write) -> None:
    write("much.py", ENDLESS)
    write("train.py", BROKEN)
    told = json.loads(gradpath_main("check", "--output-format", "json", ".").out)
    assert (told["files"], told["errors"], told["diagnostics"]) == (2, [], [])
    assert told["incomplete"] == [
        {
            "path": "much.py",
            "cell": None,
            "line": 2,
            "kind": "budget",
            "entry": "fit",
            "rule": None,
            "message": "`fit` is too much to be followed to its end",
        },
        {
            "path": "train.py",
            "cell": None,
            "line": 1,
            "kind": "syntax",
            "entry": "",
            "rule": None,
            "message": "does not parse: invalid syntax",
        },
    ]


def test_sarif_has_a_notification_at_the_line(gradpath_main: Run, write: Write) -> None:
    write("much.py", ENDLESS)
    log = json.loads(gradpath_main("check", "--output-format", "sarif", "much.py").out)
    (invocation,) = log["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is True
    (told,) = invocation["toolExecutionNotifications"]
    assert told["level"] == "warning"
    assert told["message"]["text"] == "not fully checked: `fit` is too much to be followed to its end"
    assert told["locations"] == [
        {"physicalLocation": {"artifactLocation": {"uri": "much.py"}, "region": {"startLine": 2}}}
    ]


def test_github_shows_a_warning_at_the_line(gradpath_main: Run, write: Write) -> None:
    write("much.py", ENDLESS)
    told = gradpath_main("check", "--output-format", "github", "much.py").out
    sentence = "not fully checked: `fit` is too much to be followed to its end"
    assert told == f"::warning file=much.py,line=2,title=gradpath::{sentence}\n"


def test_in_a_notebook_the_cell_is_named(gradpath_main: Run, write: Write) -> None:
    write("train.ipynb", written(notebook(code("x = 1"), code("y = 2\nx = = 1"), code("endless()"))))
    result = gradpath_main("check", "--output-format", "json", "train.ipynb")
    assert result.err.splitlines() == [
        "gradpath: train.ipynb:cell 2:2: not fully checked: does not parse: invalid syntax",
        "gradpath: train.ipynb:cell 3:1: not fully checked: `fit` is too much to be followed to its end",
    ]
    places = [(each["cell"], each["line"]) for each in json.loads(result.out)["incomplete"]]
    assert places == [(2, 2), (3, 1)]


def test_in_a_notebook_the_words_of_python_count_the_lines_of_the_cell(gradpath_main: Run, write: Write) -> None:
    write("train.ipynb", written(notebook(code("x = 1\ny = 2"), code("\nx = 'a"))))
    told = "does not parse: unterminated string literal (detected at line 2)"
    assert gradpath_main("check", "train.ipynb").err == f"gradpath: train.ipynb:cell 2:2: not fully checked: {told}\n"


def test_an_earlier_run_does_not_make_it_forgotten(
    gradpath_main: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("much.py", ENDLESS)
    write("train.ipynb", written(notebook(code("x = 1"), code("x = = 1"))))
    first = gradpath_main("check", ".", "--output-format", "json")
    monkeypatch.setattr(gradpath.analysis.check, "check", fails)  # Nothing is checked again.
    assert gradpath_main("check", ".", "--output-format", "json") == first
    assert first.err.count("not fully checked") == 2


def test_processes_tell_the_same(gradpath_main: Run, write: Write) -> None:
    for number in range(4):
        write(f"much{number}.py", ENDLESS)
    alone = gradpath_main("check", "--no-cache", "--jobs", "1", ".")
    assert alone.err.count("not fully checked") == 4
    assert gradpath_main("check", "--no-cache", "--jobs", "2", ".") == alone


def test_a_baseline_does_not_hide_it(gradpath_main: Run, write: Write) -> None:
    write("much.py", f"{ENDLESS}{ERROR}\n")
    arguments = ("check", "--baseline", "known.json", "much.py")
    assert TOLD in gradpath_main(*arguments, "--write-baseline").err
    result = gradpath_main(*arguments)
    assert (result.out, result.err) == ("1 file was not fully checked\n", TOLD)


def test_after_fixes_it_is_told_of_what_is_left(gradpath_main: Run, write: Write) -> None:
    write("much.py", f"x = 1\n{ERROR}; endless()\n")
    result = gradpath_main("check", "--fix", "much.py")
    assert (result.out, result.err) == ("1 file was not fully checked; applied 1 fix\n", TOLD)


def test_a_failure_of_gradpath_is_one_line_and_costs_the_other_files_nothing(gradpath_main: Run, write: Write) -> None:
    write("a.py", "crash()")
    write("b.py", ERROR)
    result = gradpath_main("check", ".")
    assert result.status == 2
    failure, report = result.err.splitlines()
    assert failure == (
        "gradpath: a.py: not checked: gradpath failed on this file (AssertionError: the tower fell down)"
    )
    assert report.startswith("gradpath: crash report to attach to an issue: ")
    assert "b.py:1:1: error" in result.out


def test_a_failure_in_the_trial_of_fixes_costs_the_fixes_alone(
    gradpath_main: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("train.py", f"x = 1\n{ERROR}\n")
    monkeypatch.setattr("gradpath.analysis.fix_validation.mended", fails)
    result = gradpath_main("check", "--output-format", "json", "train.py")
    assert result.status == 1
    assert [(each["rule"], each["fixes"]) for each in json.loads(result.out)["diagnostics"]] == [
        ("double-backward", [])
    ]
    assert result.err.splitlines()[0] == (
        "gradpath: train.py:2: not fully checked: gradpath failed when it tried the fixes, so none is offered "
        "(ArithmeticError: no more numbers)"
    )


@pytest.fixture
def failing_rule(monkeypatch: pytest.MonkeyPatch) -> str:
    """A rule with a bug, in the real analysis."""
    rule = replace(RULES["inplace-on-saved"], find=fails)
    monkeypatch.setattr(gradpath.analysis.inspection, "RULES", {**RULES, rule.id: rule})
    return rule.id


def test_a_rule_that_fails_costs_its_own_reports_and_is_named(
    gradpath_main: Run, write: Write, failing_rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("train.py", TWICE)
    monkeypatch.setattr(gradpath.analysis.check, "check", check)
    result = gradpath_main("check", "--output-format", "concise", "train.py")
    assert result.status == 1
    assert result.out.startswith("train.py:4:1: error[double-backward]")
    failure, report = result.err.splitlines()
    assert failure == (
        f"gradpath: train.py:1: not fully checked: gradpath failed in its rule {failing_rule} "
        "on the code of the module (ArithmeticError: no more numbers)"
    )
    assert Path(report.rpartition(": ")[2]).is_file()


@pytest.mark.usefixtures("failing_rule")
def test_a_failure_is_not_kept_for_later_runs(
    gradpath_main: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("train.py", "import torch\nloss = torch.ones(1, requires_grad=True).exp()\nloss.backward()\n")
    monkeypatch.setattr(gradpath.analysis.check, "check", check)
    assert "rule inplace-on-saved" in gradpath_main("check", ".").err
    monkeypatch.setattr(gradpath.analysis.inspection, "RULES", RULES)
    assert gradpath_main("check", ".").err == ""


def test_a_graph_that_may_lack_something_says_so(
    gradpath_main: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("train.py", f"{TWICE}x = = 1\n")
    monkeypatch.setattr(gradpath.analysis.check, "check", check)
    result = gradpath_main("graph", "train.py", "--format", "mermaid")
    assert result.status == 0
    assert result.err == "gradpath: train.py:5: not fully checked: does not parse: invalid syntax\n"


def test_the_help_tells_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--help"]) == 0
    assert "--strict" in capsys.readouterr().out
