"""Random programs: one for each seed, in one of four modes.

*guided*: piece by piece under PyTorch; a piece that fails is kept where a failure is wanted, and thrown away otherwise,
so that programs grow long before they fail. *unguided*: written blindly. *uncertain*: guided, with one or two
conditions that the source does not settle. *hidden*: guided, and then a part of it is hidden (`veils.py`).
"""

from __future__ import annotations

import contextlib
import math
import re
from dataclasses import dataclass
from random import Random
from types import CodeType

from .draft import Draft, Inapplicable, State, Template
from .given import GIVEN
from .observe import Observation, Session, compiled, observe
from .undecided import UNDECIDED
from .veils import Hidden, veiled
from .vocabulary import SHARES, VOCABULARY
from .worlds import in_world
from .wrapping import wrapped

MODES = ("guided", "unguided", "uncertain", "hidden")
BASE_IMPORTS = ("import torch", "import torch.nn as nn", "import torch.nn.functional as F")
EXTRA_IMPORTS = (
    *("abc", "collections", "contextlib", "copy", "dataclasses", "enum", "functools", "itertools"),
    *("os", "random", "sys", "types", "typing"),
)
LONGEST = 60

HEAVY = ("define", "class", "object", "netclass", "model", "optimizer", "idiom", "practice", "pythonic", "thread")
STYLES: tuple[dict[str, float], ...] = (
    {},
    dict.fromkeys((*HEAVY, "container", "number", "create"), 0.15),
    dict.fromkeys((*HEAVY, "handler", "slip"), 0.1)
    | dict.fromkeys(("mode", "loop", "setitem", "hidden", "inplace"), 1.5),
    dict.fromkeys(("idiom", "practice", "thread", "model", "optimizer", "netclass"), 3.0),
    dict.fromkeys(("define", "class", "object", "pythonic", "container", "branch", "loop", "flow", "made"), 3.0),
)
"""What programs are made of: of everything, dense tensor code (twice), training code, code rich in Python."""

RELISH: dict[str, float] = {
    "TWICE": 0.6,
    "NOGRAD": 0.12,
    "TypeError": 0.1,
    "AttributeError": 0.1,
    "LEAF_INPLACE": 0.5,
    "UNUSED": 0.3,
    "OPT_EMPTY": 0.15,
}
"""How readily a wanted failure of this kind is kept (1 for the others): the common kinds leave room for the rare."""
DULL = {"TypeError": 0.2, "AttributeError": 0.2, "NOGRAD": 0.25, "OPT_EMPTY": 0.2, "UNUSED": 0.6}
"""The share of the unguided programs with this failure that is kept."""
PROVOKING = ("backward", "inplace", "setitem", "slip", "gradient", "clash", "clash", "mode")


@dataclass(frozen=True, slots=True)
class Program:
    """A program with the seed it came from; `conditions` are the texts of conditions that the source leaves open."""

    seed: str
    mode: str
    text: str
    observation: Observation
    conditions: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    hidden: Hidden | None = None


def generate(seed: int, index: int, mode: str) -> Program:
    """The program number `index` of the series `seed`; the same arguments give the same program."""
    for attempt in range(100):
        name = f"{mode}:{seed}:{index}:{attempt}"
        random = Random(name)
        program = _unguided(random, name) if mode == "unguided" else _guided(random, name, mode)
        if program is not None:
            return program
    raise RuntimeError(f"no program for {mode}:{seed}:{index}")


def _taste(random: Random) -> Draft:
    """An empty draft with likings of its own, so that programs differ in what they are made of."""

    style = random.choice(STYLES)

    def factor(family: str) -> float:
        return style.get(family, 1.0) * math.exp(random.gauss(0.0, 0.8 if family in SHARES else 0.6))

    return Draft(random, VOCABULARY, factor, random.choice((0.3, 0.5, 0.7)), random.choice((1, 1, 2, 2, 3)))


def _prologue(draft: Draft, given: bool = False) -> tuple[int, tuple[str, ...]]:
    """A few tensors, and often a model with an optimizer: how many lines, and the names they bind."""
    wanted: list[tuple[str, str, int]] = [("create", ":leaf}", draft.random.choice((1, 2, 2, 3)))]
    wanted.append(("create", ":const}", draft.random.choice((0, 1, 2))))
    if draft.chance(0.5):
        wanted.append(("model", ":fresh", draft.random.choice((1, 1, 2))))
    if draft.chance(0.15):
        wanted.append(("netclass", "", 1))
    if draft.chance(0.4):
        wanted.append(("optimizer", "opt:fresh", 1))
    if given:
        wanted.append(("given", "", draft.random.choice((1, 2, 3, 4))))
    for family, mark, count in wanted:
        rows = [r for r in (*VOCABULARY.statements, *GIVEN) if r.family == family and mark in r.text]
        for _ in range(count):
            _try(draft, draft.random.choices(rows, [r.weight for r in rows])[0])
    return len(draft.state.lines), tuple(name for name in draft.visible() if name.isidentifier())


def _try(draft: Draft, row: Template) -> None:
    with contextlib.suppress(Inapplicable):
        draft.fill(row)


def _imports(body: str) -> list[str]:
    lines = [f"import {name}" for name in EXTRA_IMPORTS if re.search(rf"\b{name}\.", body)]
    if "np." in body:
        lines.append("import numpy as np")
    return [*lines, *BASE_IMPORTS, ""]


def _finished(draft: Draft, name: str, mode: str, prologue: tuple[int, tuple[str, ...]]) -> Program | None:
    lines = list(draft.state.lines)
    if mode == "hidden":
        return _partly_hidden(draft, name, lines, prologue[0])
    for shaped in (wrapped(draft.random, lines, *prologue), lines):
        if shaped is not None:
            program = _observed(draft, name, mode, "\n".join(shaped) + "\n")
            if program is not None:
                return program
    return None


def _partly_hidden(draft: Draft, name: str, lines: list[str], start: int) -> Program | None:
    """The program without what is hidden of it, or None where nothing is, or where it does not run that way."""
    kinds = {known: value.kind for known, value in draft.visible().items()}
    found = veiled(draft.random, lines, start, kinds)
    if found is None:
        return None
    shown, hidden = found
    body = "\n".join(shown) + "\n"
    text = "\n".join(_imports(body + "\n".join(hidden.definitions))) + "\n" + body
    result = in_world(text, hidden, None)
    return None if result.foreign else Program(name, "hidden", text, result, (), draft.state.used, hidden)


def _observed(draft: Draft, name: str, mode: str, body: str) -> Program | None:
    """The program with its imports, or None where an exception of no interest leaves it."""
    text = "\n".join(_imports(body)) + "\n" + body
    conditions = draft.state.conditions
    if mode == "uncertain" and (not conditions or any(observe(t).foreign for t in variants(text, conditions))):
        return None
    result = observe(text)
    if result.foreign:
        return None
    return Program(name, mode, text, result, conditions, draft.state.used)


def variants(text: str, conditions: tuple[str, ...]) -> list[str]:
    """The program with each of its open conditions settled, in every combination."""
    texts = [text]
    for condition in conditions:
        texts = [t.replace(condition, truth) for t in texts for truth in ("True", "False")]
    return texts


def _unguided(random: Random, name: str) -> Program | None:
    draft = _taste(random)
    prologue = _prologue(draft)
    target = random.randint(8, 30)
    while len(draft.state.lines) < target:
        before = draft.state
        draft.statement()
        if draft.chance(0.8):
            draft.use(before)
    program = _finished(draft, name, "unguided", prologue)
    if program is None or program.observation.fault is None:
        return program
    return None if random.random() > DULL.get(program.observation.fault.kind, 1.0) else program


def _guided(random: Random, name: str, mode: str) -> Program | None:
    uncertain = mode == "uncertain"
    draft = _taste(random)
    prologue = _prologue(draft, mode == "hidden")
    target = int(random.triangular(8, LONGEST - 8, 18))
    wants_fault = random.random() < 0.5
    earliest = random.randint(4, target)
    known: State | None = State()
    pieces = [_PRELUDE, compiled(draft.text)]
    session = _replayed(pieces)
    if session is None:
        return None
    for _ in range(3 * target):
        late = len(draft.state.lines) >= target
        if len(draft.state.lines) >= target + 16 * wants_fault:
            break
        before = draft.state
        if known is not None and draft.chance(0.8):
            draft.use(known)
            known = None
        elif uncertain and (late or draft.chance(0.2)) and len(draft.state.conditions) < 2:
            _try(draft, draft.choose("undecided", UNDECIDED, ()))
        elif late and draft.chance(0.7):
            draft.statement(PROVOKING)
        else:
            draft.statement()
        if draft.state.lines == before.lines:
            continue
        piece = compiled("\n".join(draft.state.lines[len(before.lines) :]))
        result = session.execute(piece)
        if result.clean:
            pieces.append(piece)
            if len(draft.state.calls) > len(before.calls) or len(draft.state.statements) > len(before.statements):
                known = before
            continue
        fault = result.fault
        done = len(before.lines)
        if fault and wants_fault and done >= earliest and random.random() < RELISH.get(fault.kind, 1.0):
            for _ in range(random.choice((0, 0, 1, 2, 4))):
                draft.statement()
            break
        draft.state = before
        session = _replayed(pieces)
        if session is None:
            return None
    return _finished(draft, name, mode, prologue)


def _replayed(pieces: list[CodeType]) -> Session | None:
    """A session in which these pieces have run, or None where they do not run clean."""
    session = Session()
    return session if all(session.execute(piece).clean for piece in pieces) else None


_PRELUDE = compiled("\n".join(["import numpy as np", *(f"import {name}" for name in EXTRA_IMPORTS), *BASE_IMPORTS]))
