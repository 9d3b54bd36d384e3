"""On which condition what is presumed of an unknown thing holds, in the words of the user."""

from __future__ import annotations

import ast
from functools import lru_cache

from gradpath.autograd import provenance
from gradpath.autograd.provenance import LOADED, Presumption
from gradpath.interpreter.events import Site
from gradpath.interpreter.origins import Undefined
from gradpath.interpreter.values import Unknown, Value
from gradpath.source.nodes import noted
from gradpath.support.fast_dataclasses import dataclass

_LONGEST = 30
"""Characters of a callee in a condition."""


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """The words of a condition, with `{name}` for the unknown value; `brief` where `words` are too long for a headline.

    Of several conditions the one with the most `doubt` is named.
    """

    row: str
    words: str
    brief: str
    doubt: int

    def of(self, name: str) -> Presumption:
        """The same of a thing that the program calls `name`."""
        return _said(self, name)


@lru_cache(1024)
def _said(condition: Condition, name: str) -> Presumption:
    said = f"`{name}`" if name else "it"
    words, brief = condition.words.format(name=said), condition.brief.format(name=said)
    return Presumption(condition.row, words, brief, condition.doubt)


TENSOR = Condition("tensor", "{name} is a tensor", "{name} is a tensor", 0)
NUMBER = Condition("number", "{name} is a number", "{name} is a number", 0)
RESULT = Condition("result", "{name} returns a tensor that has a graph", "{name} returns a graph", 1)
SAVES = Condition("saves", "the graph of {name} saves tensors", "{name} saves tensors", 1)
ENABLED = Condition("enabled", "the {name} is enabled", "the {name} is enabled", 1)
SCALER = Condition("scaler", "{name} is a `GradScaler` that is enabled", "{name} is a `GradScaler`", 2)
GRADIENTS_OFF = Condition("off", "{name} does not switch gradients on again", "{name} leaves gradients off", 1)
PREDICTION = Condition("prediction", "{name} has a graph", "{name} has a graph", 1)
LEAF = Condition("leaf", "{name} is a leaf that requires grad", "{name} requires grad", 1)
KEPT = Condition("kept", "{name} returns what was set", "{name} keeps it", 2)
LOSS = Condition("loss", "{name} keeps the graph of what it is given", "{name} keeps that graph", 2)
ENGINE = Condition("engine", "{name} calls `backward()` of the loss", "{name} runs it", 2)
PARAMETER = Condition("parameter", "the parameters of {name} require grad", "{name} is not frozen", 2)
DATA = Condition("data", "{name} has no graph", "{name} has no graph", 2)
LOADER = Condition(LOADED, "{name} gives data without a graph", "{name} gives data", 2)
SAMPLES = Condition("samples", "{name} is given more than one sample", "{name} gets several samples", 2)
BATCH = Condition("batch", "{name} gives more than one sample at a time", "{name} gives batches", 2)
SIZE = Condition("size", "{name} is more than 1", "{name} is more than 1", 2)
HERE = Condition("here", "{name} is where the tensor is already", "{name} is where it is", 2)
CLEARED = Condition("cleared", "{name} clears gradients to None", "{name} clears to None", 2)
LEFT = Condition("left", "{name} leaves its arguments unchanged", "{name} changes nothing", 2)
CLOSURE = Condition("closure", "{name} calls its closure more than once", "{name} calls it again", 5)
INPUT = Condition("input", "{name} keeps the graph of what it is given", "{name} keeps that graph", 3)
FROZEN = Condition("frozen", "all that {name} computes with is frozen", "{name} is all frozen", 3)
OWN_PARAMETERS = Condition("own", "{name} has no parameters of its own", "{name} has no parameters", 3)
PARTS = Condition(provenance.PARTS, "what {name} returns shares one graph", "{name} returns one graph", 4)
MATRIX = Condition("matrix", "{name} has two dimensions", "{name} is a matrix", 3)
GIVEN = Condition("given", "{name} saves what it is given", "{name} saves what it gets", 4)
WEIGHTS = Condition("weights", "{name} saves the weights that the step updates", "{name} saves its weights", 5)
HELD = Condition("held", "{name} has these parameters", "{name} has them", 5)
OTHER = Condition("other", "{name} keeps the graph of what it is given", "{name} keeps that graph", 5)
STATE = Condition("state", "{name} returns a state that is still on the graph", "{name} returns a live state", 6)


def callee(result: Unknown | None, site: Site | None = None) -> str:
    """The program's name for the callee that gave an unknown result."""
    place = site if result is None else result.site
    if place is not None and isinstance(place.node, ast.Call):
        text = _callee_of(place.node)
        if len(text) <= _LONGEST:
            return text
    source: Value = result.sources[0] if result is not None and result.sources else None
    return name_of(source)


@noted
def _callee_of(call: ast.Call) -> str:
    return ast.unparse(call.func)


def several(count: Value) -> Presumption | None:
    """The presumption that a number which is not known is more than 1; None for one that probably is 1."""
    if not isinstance(count, Unknown) or count.hint == 1:
        return None
    text = count.label or count.name or _computed_by(count.site)
    return SIZE.of(text if text and len(text) <= _LONGEST else name_of(count))


def _computed_by(site: object) -> str:
    """The text of the call that gave a number: `len(actions)`."""
    return ast.unparse(site.node) if isinstance(site, Site) and isinstance(site.node, ast.Call) else ""


def operand(site: object) -> str:
    """The program's text for the first argument of the call at a site."""
    match site:
        case Site(node=ast.Call(args=[first, *_])):
            text = ast.unparse(first)
            return text if len(text) <= _LONGEST else ""
    return ""


def receiver(site: object) -> str:
    """The program's name for the receiver of the method call at a site."""
    match site:
        case Site(node=ast.Call(func=ast.Attribute(value=thing))):
            text = ast.unparse(thing)
            return text if len(text) <= _LONGEST else ""
    return ""


def name_of(value: Value) -> str:
    """The program's name for an unknown value."""
    while isinstance(value, Unknown):
        if value.label or value.name:
            return value.label or value.name
        if isinstance(value.origin, Undefined):
            return value.origin.name
        value = value.sources[0] if value.sources else None
    return ""
