"""A rule that was renamed or split goes on answering to its old name, wherever a person has written it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gradpath.cli import main
from gradpath.config import config_from
from gradpath.rules import NAMES
from gradpath.support.renamed_rules import RENAMED
from tests.cli.conftest import Run

Out = pytest.CaptureFixture[str]

FAULTY = """\
import torch

w = torch.ones(3, requires_grad=True)
y = w.exp().sum()
y.backward()
y.backward()  # the second
"""


@pytest.fixture(autouse=True)
def _older(monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    monkeypatch.setitem(RENAMED, "used-twice", ("double-backward",))
    monkeypatch.setitem(RENAMED, "bad-write", ("inplace-on-leaf", "inplace-on-saved"))
    Path("train.py").write_text(FAULTY)


def reported(capsys: Out, *options: str) -> list[str]:
    main(["check", "train.py", "--no-cache", "--output-format", "json", *options])
    said = capsys.readouterr()
    assert said.err == ""
    return [each["rule"] for each in json.loads(said.out)["diagnostics"]]


def test_every_old_name_stands_for_rules_or_families_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert {name for names in RENAMED.values() for name in names} <= {*NAMES}
    assert RENAMED.keys().isdisjoint({*NAMES})


def test_in_a_comment(capsys: Out) -> None:
    assert reported(capsys) == ["double-backward"]
    Path("train.py").write_text(FAULTY.replace("# the second", "# gradpath: ignore[used-twice]"))
    assert reported(capsys) == []
    Path("train.py").write_text(FAULTY.replace("# the second", "# gradpath: ignore[bad-write]"))
    main(["check", "train.py"])
    assert "suppresses nothing" in capsys.readouterr().out
    Path("train.py").write_text(
        "import torch\nw = torch.ones(3, requires_grad=True)\nw.add_(1)  # gradpath: ignore[bad-write]\n"
    )
    assert reported(capsys) == []


def test_in_a_configuration_and_on_the_command_line(capsys: Out) -> None:
    assert reported(capsys, "--ignore", "used-twice") == []
    assert reported(capsys, "--select", "bad-write") == []
    assert reported(capsys, "--select", "used-twice") == ["double-backward"]
    Path("pyproject.toml").write_text('[tool.gradpath]\nignore = ["used-twice"]\n')
    assert reported(capsys) == []
    Path("pyproject.toml").write_text('[tool.gradpath.per-file-ignores]\n"train.py" = ["used-twice"]\n')
    assert reported(capsys) == []
    Path("pyproject.toml").write_text('[tool.gradpath.levels]\nused-twice = "off"\n')
    assert reported(capsys) == []


def test_the_new_name_outweighs_the_old_one() -> None:
    config, complaints = config_from({"levels": {"inplace-on-leaf": "error", "bad-write": "off"}}, NAMES)
    assert complaints == ()
    assert config.levels == {"inplace-on-leaf": "error", "inplace-on-saved": "off"}


def test_in_a_baseline(capsys: Out) -> None:
    assert main(["check", "train.py", "--baseline", "known.json", "--write-baseline", "--quiet"]) == 0
    known = Path("known.json")
    capsys.readouterr()
    for name in ("used-twice", "double-backward"):
        known.write_text(known.read_text().replace("double-backward", name))
        assert reported(capsys, "--baseline", "known.json") == []


def test_an_entry_of_a_rule_that_was_split_stands_for_one_mistake(
    gradpath_main: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RENAMED, "old", ("double-backward", "live-accumulator"))
    Path("known.json").write_text(
        '{"version": 1, "entries": [{"path": "train.py", "rule": "old", "line": "broken(), doubtful()"}]}'
    )
    Path("train.py").write_text("broken(), doubtful()\n")
    found = gradpath_main("check", "train.py", "--baseline", "known.json", "--output-format", "json")
    assert len(json.loads(found.out)["diagnostics"]) == 1


def test_a_rule_that_is_gone_draws_no_complaint_and_selects_nothing(
    capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RENAMED, "gone", ())
    assert reported(capsys, "--select", "gone") == []
    Path("train.py").write_text(FAULTY.replace("# the second", "# gradpath: ignore[gone]"))
    assert reported(capsys) == ["double-backward"]
    Path("pyproject.toml").write_text('[tool.gradpath]\nselect = ["gone"]\n')
    assert reported(capsys) == []
    assert main(["rule", "gone"]) == 2
    assert "there is no rule `gone` any more" in capsys.readouterr().err


def test_the_page_is_that_of_the_new_rules(capsys: Out) -> None:
    assert main(["rule", "bad-write"]) == 0
    said = capsys.readouterr()
    assert said.err == "gradpath: `bad-write` is now `inplace-on-leaf` and `inplace-on-saved`\n"
    assert all(f"# {name}\n" in said.out for name in ("inplace-on-leaf", "inplace-on-saved"))
    assert main(["rule", "worse-write"]) == 2
