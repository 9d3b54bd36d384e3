"""`gradpath rule`."""

from __future__ import annotations

import json
import re

import pytest

from gradpath.cli.rule import rendered_page, table
from gradpath.features.pages import readable_page
from gradpath.render.style import Style
from gradpath.rules import RULES
from tests.cli.conftest import Run


def test_without_an_id_the_table_has_every_rule(gradpath_main: Run) -> None:
    result = gradpath_main("rule")
    rows = [line.split()[:2] for line in result.out.splitlines() if line.startswith("  ")]
    assert result.status == 0
    assert sorted(rows) == sorted([rule.id, rule.level.value] for rule in RULES.values())


@pytest.mark.parametrize("rule", sorted(RULES))
def test_the_page_of_a_rule_tells_its_level_and_speaks_no_language_of_tests(gradpath_main: Run, rule: str) -> None:
    page = gradpath_main("rule", rule).out
    assert page.startswith(f"# {rule}\n\n*Level: {RULES[rule].level.value}. Family: {RULES[rule].family}.*\n")
    assert not re.search(r"# (?:raises|torch|note): |(?:error|warning|hint): \[|^```py ", page, re.MULTILINE)
    assert len(page.splitlines()) == len(RULES[rule].page.splitlines()) + 2  # Nothing is lost.


def test_what_the_programs_of_a_page_do_stands_there_in_words(gradpath_main: Run) -> None:
    page = gradpath_main("rule", "double-backward").out
    assert "loss_a.backward()  # frees it\n" in page
    assert "loss_b.backward()  # error: double-backward; PyTorch raises RuntimeError: … a second time …\n" in page
    assert "trades this error for `parameter-updated-before-backward`." in page


def test_a_terminal_gets_a_page_without_markup(gradpath_main: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    out = gradpath_main("rule", "double-backward").out
    assert "\x1b[1m" in out
    assert "```" not in out
    assert not any(line.startswith("#") for line in out.splitlines())


def test_json_has_the_page(gradpath_main: Run) -> None:
    one = json.loads(gradpath_main("rule", "double-backward", "--output-format", "json").out)
    assert one["version"] == 1
    (rule,) = one["rules"]
    assert set(rule) == {"id", "family", "level", "summary", "pytorch", "page"}
    assert (rule["id"], rule["family"], rule["level"]) == ("double-backward", "graph", "error")
    every = json.loads(gradpath_main("rule", "--output-format", "json").out)
    assert [rule["id"] for rule in every["rules"]] == list(RULES)


def test_an_unknown_rule_names_the_nearest(gradpath_main: Run) -> None:
    result = gradpath_main("rule", "double-backwards")
    assert (result.status, result.out) == (2, "")
    assert "unknown rule `double-backwards`; did you mean `double-backward`?" in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("width", [40, 60, 80])
def test_on_a_terminal_the_table_and_the_pages_fit_and_no_word_is_lost(width: int) -> None:
    style = Style(width=width)
    lines = list(table(list(RULES.values()), style))
    assert max(map(len, lines)) <= max(width, 2 + max(map(len, RULES)) + 2 + len("warning"))
    assert " ".join(" ".join(lines).split()) == " ".join(" ".join(table(list(RULES.values()), Style())).split())
    page = readable_page(RULES["double-backward"])
    fitting = rendered_page(page, style)
    assert fitting.split() == page.split()
    prose = [line for number, part in enumerate(fitting.split("```")) if number % 2 == 0 for line in part.splitlines()]
    assert all(len(line) <= width or line.startswith(("    ", "#")) or " " not in line for line in prose)
    assert [line for line in fitting.splitlines() if "backward()" in line and "  # " in line] == [
        line for line in page.splitlines() if "backward()" in line and "  # " in line
    ]
