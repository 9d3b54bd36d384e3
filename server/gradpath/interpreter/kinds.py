"""The kinds of unknown values."""

from __future__ import annotations

from gradpath.support.fast_enums import Enum


class Kind(Enum):
    """As far as tensors matter: what has a graph, what has none, and what may be anything."""

    ANYTHING = "anything"
    """May have a graph or none, and may be no tensor at all: nothing is reported of it."""
    PLAIN = "plain"
    """Has no graph: data, or a tensor made of data."""
    LIVE = "live"
    """The result of a model or a loss: a tensor with a graph, or a structure of such tensors."""
    PART = "part"
    """A part of one tensor with a graph."""
    PARAMETER = "parameter"
    """A parameter of a model: a leaf, as soon as it is written in place."""
    CUT = "cut"
    """The result of a model or a loss while gradients are off."""

    __hash__ = object.__hash__  # That of an `Enum` takes ten times as long, and kinds are looked up everywhere.


OF_TENSORS = frozenset({Kind.LIVE, Kind.PART, Kind.CUT})
"""The kinds that come from a model or a loss and become tensors when they are used as such."""

COMPUTED_WITH = OF_TENSORS | {Kind.PARAMETER}
"""The kinds that become tensors in arithmetic and where a method of tensors is called on them."""
