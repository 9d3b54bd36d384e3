"""What the documentation says of gradpath beside other tools is what gradpath answers today."""

from __future__ import annotations

from pathlib import Path

from bench.features import measure, tools

PAGE = Path(__file__).parents[2] / "docs" / "comparison.md"


def test_the_table_says_what_the_server_and_the_command_offer() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in PAGE.read_text().splitlines()
        if line.startswith("| ")
    ]
    claimed = {question: own for question, own, *_ in rows[1:]}
    assert claimed == {question: answer or "no" for question, answer in measure(tools(None)[0]).items()}
