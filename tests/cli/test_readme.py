"""What the README and the pages behind it promise is what the program has."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import pytest

from gradpath.cli import check, main
from gradpath.config import config_from
from gradpath.diagnostic import Level
from gradpath.features.explaining import rules_for
from gradpath.features.tracebacks import Failure
from gradpath.rules import RULES
from gradpath.support import toml
from tests.cli.conftest import Run, Write
from tests.cli.made_up import ERROR
from tests.features.test_flow import CUT

Capture = pytest.CaptureFixture[str]

ROOT = Path(__file__).parents[2]


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_option_of_check_is_in_the_readme_and_no_other() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    check.configure(parser)
    options = {option for action in parser._actions for option in action.option_strings if option.startswith("--")}
    assert options == set(re.findall(r"--[a-z][a-z-]+", page("docs/command-line.md") + page("docs/ci.md")))


def test_the_json_of_the_readme_has_the_shape_of_the_output(gradpath_main: Run, write: Write) -> None:
    write("train.py", f"{ERROR}\nendless()\n")
    example = json.loads(re.search(r"```json\n(.*?)```", page("docs/json.md"), re.DOTALL)[1])  # type: ignore[index]
    real = json.loads(gradpath_main("check", "--output-format", "json", "train.py", "absent.py").out)
    assert shape(example) == shape(real)


def shape(value: Any) -> Any:
    """The keys and the kinds of values, of a list those of its first item."""
    match value:
        case dict():
            return {key: shape(item) for key, item in value.items()}
        case list():
            return [shape(value[0])] if value else []
        case _:
            return type(value).__name__


def test_the_configuration_of_the_readme_is_right() -> None:
    table = toml.loads(re.search(r"```toml\n(\[tool.gradpath\].*?)```", page("docs/configuration.md"), re.DOTALL)[1])  # type: ignore[index]
    _, complaints = config_from(table["tool"]["gradpath"])
    assert complaints == ()


def test_the_json_of_a_flow_in_the_readme_has_the_shape_of_the_output(write: Write, capsys: Capture) -> None:
    write("train.py", CUT)
    example = json.loads(re.findall(r"```json\n(.*?)```", page("docs/json.md"), re.DOTALL)[1])
    assert main(["flow", "train.py", "--output-format", "json"]) == 0
    assert shape(example) == shape(json.loads(capsys.readouterr().out))


def test_the_table_in_the_readme_is_what_the_program_writes(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    assert main(["flow", "samples/right/gan.py"]) == 0
    assert capsys.readouterr().out in page("docs/command-line.md")


def test_what_the_page_on_debugging_shows_is_what_the_program_writes(write: Write, capsys: Capture) -> None:
    program, shown = re.findall(r"^```(?:py)?\n(.*?)^```", page("server/DEBUGGING.md"), re.DOTALL | re.MULTILINE)
    write("train.py", program)
    assert main(["debug", "train.py"]) == 0
    written = capsys.readouterr().out
    assert without_details(written) == without_details(shown)
    assert "  presumed " in shown
    assert "  events " in shown


def without_details(shown: str) -> str:
    """What `gradpath debug` writes without what changes as gradpath learns: presumptions and counts."""
    shown = re.sub(r"^  (?:presumed|events) .*\n(?: {12}.*\n)*", "", shown, flags=re.MULTILINE)
    return re.sub(r"\d+ statements", "n statements", shown)


def test_the_first_example_of_the_readme_is_what_the_program_writes(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["check", "--no-cache", "samples/faulty/gan.py"]) == 1
    assert f"```\n{capsys.readouterr().out}```" in page("README.md")


def test_each_error_in_the_readme_leads_to_its_rules_and_no_error_is_left_out() -> None:
    told: set[str] = set()
    for line in page("README.md").splitlines():
        row = re.match(r"\| `([^`]+)`[^|]*\| (.*?) \|", line)
        if row is None:
            continue
        rules = re.findall(r"\[([a-z-]+)\]\(server/gradpath/rules/(\w+)\.md\)", row[2])
        assert all(rule.replace("-", "_") == file for rule, file in rules)
        ids = {rule for rule, _ in rules}
        explained = set(rules_for(Failure("RuntimeError", row[1], ())))
        assert ids <= explained or not explained, row[1]
        told |= ids
    assert told == {rule.id for rule in RULES.values() if rule.level is Level.ERROR}
