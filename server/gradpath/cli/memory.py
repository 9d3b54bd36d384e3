"""The garbage collector while files are checked: seldom, and without what stays in memory for good.

An analysis makes many objects that point at each other, and the trees of imported files are kept from one file to the
next; left to itself the collector walks over all of it again and again, which costs as much as the analysis.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from gradpath.names.files import TREES
from gradpath.source.nodes import forget_notes

if TYPE_CHECKING:
    import ast

_NOTABLE = 500
"""New objects from which on it is worth while to look for garbage after a file."""

_MANY = 400_000
"""New objects in the midst of a check from which on it is. They take some 50 megabytes."""

_is_clean = False
"""Whether nothing that is new can be garbage."""

_gone: list[ast.Module] = []
"""The trees for which there is no room any more. What the collector leaves alone it would never remove either."""


def calm_collector() -> None:
    """Have the collector leave alone what is in memory by now, and look at the rest only now and then."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(_MANY, 50, 1_000)
    TREES.when_parsed = _spare_tree
    TREES.when_gone = lambda parsed: _gone.append(parsed.tree)


def sweep() -> None:
    """Remove the garbage that the check of a file has left, and leave alone what it has made for good."""
    global _is_clean
    while _gone:
        forget_notes(_gone.pop())
    young, middle, old = gc.get_count()
    if young > _NOTABLE or middle or old:
        gc.collect()
        gc.freeze()
        _is_clean = True


def _spare_tree() -> None:
    """Leave alone the tree of the file that is going to be checked: half of all that is looked through otherwise."""
    global _is_clean
    if _is_clean:
        gc.freeze()
        _is_clean = False
