"""Gives a flat program the shape of a script: its statements in a function, called once, with or without arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from .draft import INDENT

SHARE = 0.3
"""The share of the programs that are wrapped."""


def wrapped(random: Random, lines: Sequence[str], start: int, names: Sequence[str]) -> list[str] | None:
    """The lines with those from `start` on in a function; None where the program is to stay flat.

    `names` are what the lines before `start` bind: the function takes them as parameters, or reads them as globals, or
    the whole program goes into it.
    """
    if random.random() > SHARE or any(re.search(r"\bglobal\b", line) for line in lines) or len(lines) - start < 3:
        return None
    match random.choice(("main", "guarded", "train", "train", "method", "object")):
        case "main":
            return ["def main():", *indented(lines), "main()"]
        case "guarded":
            return ["def main():", *indented(lines), "", 'if __name__ == "__main__":', INDENT + "main()"]
        case "train":
            taken = _needed(lines[start:], names)
            head = f"def {random.choice(('train', 'run', 'step', 'fit'))}({', '.join(taken)}):"
            call = head[4:-1]
            return [*lines[:start], head, *indented(lines[start:]), call]
        case "method":
            taken = _needed(lines[start:], names)
            method = ["class Trainer:", INDENT + f"def run({', '.join(['self', *taken])}):"]
            body = indented(indented(lines[start:]))
            return [*lines[:start], *method, *body, f"Trainer().run({', '.join(taken)})"]
        case _:
            taken = _needed(lines[start:], names)
            made = as_object(lines[start:], taken, ", ".join(["self", *taken]))
            return [*lines[:start], *made, f"trainer = Trainer({', '.join(taken)})", "trainer.run()"]


def as_object(lines: Sequence[str], taken: Sequence[str], parameters: str) -> list[str]:
    """A class whose `run` has the lines; names become attributes of it: `self.name`.

    Its `__init__` has these parameters; without any, the attributes come from a base class, `Base`.
    """
    moved = list(lines)
    if taken:
        pattern = re.compile(r"(?<![\w.\"'])(" + "|".join(map(re.escape, taken)) + r")\b(?!=)")
        moved = [pattern.sub(r"self.\1", line) for line in moved]
    body = [INDENT + "def run(self):", *indented(indented(moved))]
    if not parameters:
        return ["class Trainer(Base):", *body]
    head = ["class Trainer:", INDENT + f"def __init__({parameters}):"]
    head += [INDENT * 2 + f"self.{name} = {name}" for name in taken] or [INDENT * 2 + "pass"]
    return [*head, "", *body]


def _needed(lines: Sequence[str], names: Sequence[str]) -> list[str]:
    words = set(re.findall(r"\b[A-Za-z_]\w*\b", "\n".join(lines)))
    return [name for name in names if name in words]


def indented(lines: Sequence[str]) -> list[str]:
    """The lines, one level deeper."""
    return [INDENT + line if line else "" for line in lines]
