"""The analysis process of a server with a made-up check, which does what words in the text tell it.

`BAD` is an error, caused at `CAUSE`, with three fixes; `GONE` is an `unused-ignore` hint; `loss` has a story.
`RAISE` raises, `WAIT` goes on until it is cancelled, `NOISE` prints and warns. `HOLD` never ends and holds the lock of
the interpreter, `SPIN` never ends and asks nobody, `EAT` takes memory until there is none, `EXIT` and `CRASH` end the
process.
"""

from __future__ import annotations

import ctypes
import os
import re
import threading
import time
import warnings
from collections.abc import Callable

import gradpath.analysis.check
import gradpath.analysis.fix_validation
import gradpath.features.hover
import gradpath.rules
from gradpath.analysis.check import Analysis
from gradpath.analyst import program
from gradpath.config import Config
from gradpath.diagnostic import Diagnostic, Edit, Fix, Label, Level, Position, Range, Safety
from gradpath.features.life import Story
from gradpath.source.document import Document
from gradpath.source.parse import Parsed, parse

LONGEST = 30.0
"""Seconds after which `WAIT` gives up, so that a failed test does not leave a process behind."""


def spin() -> None:
    while True:
        pass


def eat() -> None:
    eaten = []
    while True:
        eaten.append(bytearray(1 << 20))


ACTS: dict[str, Callable[[], object]] = {
    "HOLD": lambda: sum(range(10**15)),
    "SPIN": spin,
    "EAT": eat,
    "EXIT": lambda: os._exit(3),
    "CRASH": lambda: ctypes.string_at(0),
}


def made_up_check(
    document: Document,
    config: Config | None = None,
    *,
    last: Parsed | None = None,
    cancelled: Callable[[], bool] = lambda: False,
    project: object = None,
    memory: object = None,
    depth: object = None,
) -> Analysis:
    parsed = parse(document, last)
    if "RAISE" in document.text:
        raise RuntimeError("made up")
    if "NOISE" in document.text:
        print("this is not a message")
        warnings.warn("nor is this", stacklevel=1)
        threading.Thread(target=lambda: 1 / 0).start()
    for word, act in ACTS.items():
        if word in document.text:
            act()
    if "WAIT" in document.text:
        end = time.monotonic() + LONGEST
        while not cancelled() and time.monotonic() < end:
            time.sleep(0.001)
    config = config or Config()
    found = [] if "made-up" in config.ignore else [fault(document, match) for match in places(document, "BAD")]
    found += [hint(document, match) for match in places(document, "GONE")]
    return Analysis(document, parsed, tuple(sorted(found, key=lambda one: one.range)))


def story_at(analysis: Analysis, position: Position) -> Story | None:
    around = (place for place in places(analysis.document, "loss") if place.start <= position <= place.end)
    return next((Story(place, "`loss` of a made-up model", ("built here", "kept")) for place in around), None)


def places(document: Document, word: str) -> list[Range]:
    return [
        Range(document.position(match.start()), document.position(match.end()))
        for match in re.finditer(word, document.text)
    ]


def fault(document: Document, place: Range) -> Diagnostic:
    path = document.path
    causes = [Label(path, cause, "the cause") for cause in places(document, "CAUSE")]
    after = Range(place.end, place.end)
    return Diagnostic(
        path,
        place,
        "made-up",
        "graph",
        Level.ERROR,
        "`BAD` is bad",
        labels=(*causes, Label(path, place, "the effect", primary=True)),
        pytorch="RuntimeError: bad",
        help="say `GOOD`",
        alternatives=("say nothing",),
        fixes=(
            Fix("Say nothing", Safety.UNSAFE, (Edit(path, place, "pass"),)),
            Fix("Say GOOD", Safety.SAFE, (Edit(path, place, "GOOD"),), preferred=True),
            Fix("Say it twice", Safety.SAFE, (Edit(path, after, "\nGOOD"),), rewrite=True),
            Fix("Think about it", Safety.UNSAFE),
        ),
    )


def hint(document: Document, place: Range) -> Diagnostic:
    return Diagnostic(document.path, place, "unused-ignore", "comments", Level.HINT, "this suppresses nothing")


if __name__ == "__main__":
    gradpath.analysis.check.check = made_up_check
    gradpath.features.hover.story_at = story_at
    gradpath.rules.NAMES = {*gradpath.rules.NAMES, "made-up"}
    gradpath.analysis.fix_validation.mended = lambda analysis, *_arguments, **_options: (
        analysis
    )  # Not every made-up fix mends.
    program.main()
