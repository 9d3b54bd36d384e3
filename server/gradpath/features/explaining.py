"""Which fault of the program a traceback tells of."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from gradpath.diagnostic import Diagnostic, Level
from gradpath.features.tracebacks import Failure
from gradpath.records import dataclass

_TWICE = ("double-backward", "carried-graph")
_MODIFIED = ("inplace-on-saved", "parameter-updated-before-backward")
_MESSAGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"backward through the graph a second time", _TWICE),
    (r"directly access saved (?:tensors|variables) after they have already been freed", _TWICE),
    (r"does not require grad and does not have a grad_fn", ("detached-loss",)),
    (r"differentiated Tensors? .*(?:not have been used in the graph|does not require grad)", ("detached-loss",)),
    (r"grad can be implicitly created only for scalar outputs", ("nonscalar-backward",)),
    (r"has been modified by an inplace operation", _MODIFIED),
    (r"Trying to use a saved tensor that has been detached in-place", _MODIFIED),
    (
        r"leaf Variable that requires grad (?:is being used|has been used) in an in-place operation",
        ("inplace-on-leaf",),
    ),
    (r"is a view and is being modified inplace", ("inplace-on-view",)),
    (r"output of a function that returns multiple views", ("inplace-on-view",)),
    (r"view was created in (?:no_grad|inference) mode", ("inplace-on-view", "inference-tensor-saved")),
    (r"Inference tensors cannot be saved for backward", ("inference-tensor-saved",)),
    (r"(?:Inplace update to|requires_grad=True on) inference tensor", ("inference-tensor-saved",)),
    (r"'(?:float|int|numpy\.\w+|ndarray)' object has no attribute 'backward'", ("backward-on-number",)),
    (r"unsupported operand type\(s\) for \S+ '\w+' and 'NoneType'", ("rebound-parameter",)),
    (r"unsupported operand type\(s\) for \S+ 'NoneType' and '\w+'", ("rebound-parameter",)),
    (r"'NoneType' object has no attribute '(?:zero_|data|detach_?|norm|add_|mul_|clone)'", ("rebound-parameter",)),
)
"""What autograd says, and the rules whose faults end so."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the program was: a line of a file that is here; in a notebook, of all its code as one text."""

    path: str
    line: int
    function: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """A fault that explains a failure; `certain` says that one of its places is where the exception was raised."""

    diagnostic: Diagnostic
    certain: bool


def rules_for(failure: Failure) -> tuple[str, ...]:
    """The rules whose faults may end in such an exception; none where it is not one of autograd's."""
    return next((rules for pattern, rules in _MESSAGES if re.search(pattern, failure.message)), ())


def of_autograd(failures: Sequence[Failure]) -> Failure | None:
    """The failure to be explained: the last of a chain that is one of autograd's."""
    return next((failure for failure in reversed(failures) if rules_for(failure)), None)


def matching(
    failure: Failure, places: Sequence[Place], forward: Sequence[Place], diagnostics: Iterable[Diagnostic]
) -> Match | None:
    """The fault that fits best; None where none has a place on the stack. `places` are outermost first."""
    rules = rules_for(failure)
    best: tuple[tuple[int, ...], Match] | None = None
    for diagnostic in diagnostics:
        if diagnostic.rule not in rules or not places:
            continue
        raised = _touches(diagnostic, places[-1])
        others = sum(_touches(diagnostic, place) for place in places[:-1])
        if not raised and not others:
            continue
        made = sum(_touches(diagnostic, place) for place in forward)
        rank = (raised, made, others, diagnostic.level is Level.ERROR, -rules.index(diagnostic.rule))
        if best is None or rank > best[0]:
            best = rank, Match(diagnostic, raised)
    return None if best is None else best[1]


def _touches(diagnostic: Diagnostic, place: Place) -> bool:
    """Whether a place of the story is the line at `place`."""
    ranges = [(diagnostic.path, diagnostic.range), *((label.path, label.range) for label in diagnostic.labels)]
    return any(
        within.start.line <= place.line <= within.end.line and _same(path, place.path) for path, within in ranges
    )


def _same(path: str, other: str) -> bool:
    return path == other or os.path.realpath(path) == os.path.realpath(other)
