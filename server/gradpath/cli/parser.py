"""The parser of the command line's words, for a command with options, and for help."""

from __future__ import annotations

import argparse
from typing import NoReturn

from gradpath.cli import status
from gradpath.cli.terminal import columns


class Help(argparse.HelpFormatter):
    """Help as wide as the terminal; left to itself `argparse` loads `shutil` to ask for that, even if none is shown."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=columns() - 2)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def __init__(self, prog: str, description: str, epilog: str | None = None) -> None:
        super().__init__(prog, description=description, epilog=epilog, allow_abbrev=False, formatter_class=Help)

    def error(self, message: str) -> NoReturn:
        self.exit(status.UNUSABLE, f"{self.prog}: {message} (see {self.prog} --help)\n")
