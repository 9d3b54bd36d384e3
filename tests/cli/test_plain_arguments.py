"""Without an option a command gets what `argparse` would make of its words."""

from __future__ import annotations

import importlib

import pytest

from gradpath.cli import _COMMANDS
from gradpath.cli.parser import Parser
from gradpath.cli.plain_arguments import plainly_parsed


@pytest.mark.parametrize("command", _COMMANDS)
@pytest.mark.parametrize("words", [[], ["a.py"], ["a.py", "b"], ["-"]])
def test_the_words_mean_the_same(command: str, words: list[str]) -> None:
    module = importlib.import_module(_COMMANDS[command].module)
    plain = plainly_parsed(module.configure, words)
    if plain is not None:
        parser = Parser(command, "")
        module.configure(parser)
        assert vars(plain) == vars(parser.parse_args(words))


def test_a_check_of_files_needs_no_parser() -> None:
    check = importlib.import_module(_COMMANDS["check"].module)
    assert plainly_parsed(check.configure, ["a.py", "b.py"]) is not None
    assert plainly_parsed(check.configure, ["a.py", "-q"]) is None
    assert plainly_parsed(check.configure, ["--", "a.py"]) is None
