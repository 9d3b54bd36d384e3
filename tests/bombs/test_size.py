"""Texts that are merely long or deep: a check is done in a moment, and the mistake at the end is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradpath.analysis.check import check
from gradpath.source.document import Document

from .grammar import HEAD, TAIL, Bomb
from .limits import explode

LONG = {
    "functions": "".join(f"def f{number}(x):\n    return x + {number}\n" for number in range(5_000)),
    "suppressions in one line": "x = 1  " + "# gradpath: ignore " * 45_000,
    "items in one line": "x = [" + "0, " * 100_000 + "]",
    "arguments in one line": "x = print(" + "0, " * 100_000 + ")",
}


@pytest.mark.parametrize("kind", LONG)
def test_a_long_text_is_checked_to_its_end(kind: str) -> None:
    outcome = explode(Bomb("long", f"{HEAD}{LONG[kind]}\n{TAIL}"))
    assert (outcome.trouble, outcome.is_found) == ("", True)


def test_an_import_of_very_many_parts_is_no_work_for_the_parser() -> None:
    outcome = explode(Bomb("dots", f"{HEAD}import {'.'.join('a' * 300_000)}\n{TAIL}"))
    assert outcome.trouble == ""


def test_a_long_chain_of_modules_does_not_end_the_check(tmp_path: Path) -> None:
    for number in range(300):
        following = f"from m{number + 1} import C{number + 1}\n"
        (tmp_path / f"m{number}.py").write_text(f"{following}class C{number}(C{number + 1}):\n    pass\n")
    (tmp_path / "m300.py").write_text("class C300:\n    pass\n")
    step = f"def step(w):\n    {TAIL.strip()}\n".replace("\nloss.", "\n    loss.")
    text = f"import torch\nfrom m0 import C0\nsettings = C0()\n{step}"
    found = check(Document(str(tmp_path / "main.py"), text))
    assert found.incomplete == ()
    assert [each.rule for each in found.diagnostics] == ["double-backward"]
