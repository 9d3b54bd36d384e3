"""`gradpath guide`: one page on how to work with gradpath, for coding assistants and people in a hurry."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gradpath.cli.rule import rendered_page, table
from gradpath.cli.status import CLEAN
from gradpath.cli.terminal import style_for
from gradpath.render.style import PLAIN
from gradpath.rules import RULES

_PAGE = Path(__file__).with_name("guide.md")


def configure(parser: argparse.ArgumentParser) -> None:
    """`gradpath guide` takes no arguments."""
    parser.epilog = "For instance in the instructions of an assistant: `gradpath guide > AGENTS-gradpath.md`."


def run(arguments: argparse.Namespace) -> int:
    """Print the guide, with the table of the rules at its end."""
    rules = "\n".join(table(list(RULES.values()), PLAIN))
    page = f"{_PAGE.read_text(encoding='utf-8')}\n```\n{rules}\n```\n"
    print(rendered_page(page, style_for(sys.stdout)), end="")
    return CLEAN
