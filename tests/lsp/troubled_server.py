"""The real server with one thing wrong in its analysis, which its first argument names: `rule`, `budget` or `jedi`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import gradpath.analysis.check
import gradpath.analysis.inspection
import gradpath.cli
import gradpath.lsp.server
import gradpath.names.finder
from gradpath.analyst import program
from gradpath.rules import RULES
from gradpath.support.fast_dataclasses import replace


def fails(*_: object) -> Iterator[object]:
    raise ArithmeticError("a rule has failed")


def analyse(trouble: str) -> None:
    """Be the analysis process."""
    if trouble == "rule":
        failing = replace(RULES["inplace-on-saved"], find=fails)
        gradpath.analysis.inspection.RULES = {**RULES, "inplace-on-saved": failing}
    elif trouble == "budget":
        gradpath.analysis.check.STEPS = 400
    elif trouble == "jedi":
        gradpath.names.finder.Finder.__init__.__defaults__ = ((sys.executable, "-c", "while input(): pass"), 0.5)
    program.main()


if __name__ == "__main__":
    if sys.argv[1] == "analyse":
        analyse(sys.argv[2])
    else:
        gradpath.lsp.server.main(analysis=(sys.executable, __file__, "analyse", sys.argv[1]))
