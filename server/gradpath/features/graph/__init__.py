"""The graph of a loss as a picture: what it is made of, what is saved, freed, overwritten or cut.

`find` makes a `Picture` from an analysis; the other modules turn one into text, each a pure function of it.
"""

from __future__ import annotations

from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.fast_enums import Enum


class Kind(Enum):
    """The kind of a vertex."""

    ROOT = "root"
    OPERATION = "operation"
    PARAMETER = "parameter"
    LEAF = "leaf"
    MODULE = "module"
    STEP = "step"
    CUT = "cut"
    MORE = "more"


@dataclass(frozen=True, slots=True)
class Vertex:
    """One box: `title` is the user's name or expression for it, `operation` PyTorch's name of the operation.

    `line` counts from 1 in the file `path`, which is empty for the document that was asked about and `cell N` in a cell
    of such a notebook; 0 where no line is known. `earlier` says that it was built in an earlier iteration than the
    backward runs in. `saved` names what its node keeps for backward, `notes` says what has happened to it. `owner` is
    the module whose parameters an operation uses, as the program calls it.
    """

    number: int
    kind: Kind
    title: str
    operation: str = ""
    path: str = ""
    line: int = 0
    earlier: bool = False
    saved: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    broken: bool = False
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """From a vertex to one that it was computed from; `cut` where no gradient flows there."""

    start: int
    end: int
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """Vertices from the root on, nearest first, and the arrows between them by their numbers."""

    title: str
    vertices: tuple[Vertex, ...]
    arrows: tuple[Arrow, ...]
