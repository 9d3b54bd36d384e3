"""The real server with one thing wrong, which its first argument names: `rule`, `budget` or `jedi`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import gradpath.check
import gradpath.cli
import gradpath.inspection
import gradpath.names.finder
from gradpath.records import replace
from gradpath.rules import RULES


def fails(*_: object) -> Iterator[object]:
    raise ArithmeticError("a rule has failed")


if __name__ == "__main__":
    trouble = sys.argv[1]
    if trouble == "rule":
        failing = replace(RULES["inplace-on-saved"], find=fails)
        gradpath.inspection.RULES = {**RULES, "inplace-on-saved": failing}
    elif trouble == "budget":
        gradpath.check.STEPS = 400
    elif trouble == "jedi":
        gradpath.names.finder.Finder.__init__.__defaults__ = ((sys.executable, "-c", "while input(): pass"), 0.5)
    sys.exit(gradpath.cli.main(["server"]))
