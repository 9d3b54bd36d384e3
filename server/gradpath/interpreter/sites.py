"""Sites and decisions: the place of an event along a path, and the ways that the path took."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """The place of an event: the syntax node in the file `path`, the call that led there, the loops around.

    `loops` holds (activation, iteration) pairs, outermost first, those of the callers included; iterations count
    from 1.
    """

    path: str
    node: ast.AST
    caller: Site | None
    loops: tuple[tuple[int, int], ...]

    @property
    def line(self) -> int:
        """The 1-based line on which the node begins."""
        return int(getattr(self.node, "lineno", 1))

    def frames(self) -> list[Site]:
        """This site and the calls that led to it, innermost first."""
        found: list[Site] = []
        site: Site | None = self
        while site is not None:
            found.append(site)
            site = site.caller
        return found


@dataclass(frozen=True, slots=True)
class Decision:
    """A branch that the source does not settle, and how it went on this path.

    `idle` says that the other way is not worth running: it raises at once, or only prints, or is in another file
    and has nothing to do with gradients; `negated` that the condition `node` is the negation of what was decided;
    `speaking` that the arms may have to do with gradients, and `training` that one of them goes back, steps or clears
    gradients itself. `about` is the value whose truth was decided.
    """

    key: object
    node: ast.AST
    outcome: bool
    site: Site
    idle: bool = False
    negated: bool = False
    speaking: bool = True
    about: object = None
    training: bool = False


@dataclass(frozen=True, slots=True)
class OfClass:
    """The key of the decision that a parameter is an instance of a class of the program.

    `fitted` says that only its uses tell so, and no annotation; `several`, that its items are instances.
    """

    argument: ast.arg
    cls: str
    fitted: bool
    several: bool = False


@dataclass(frozen=True, slots=True)
class OfTable:
    """The key of the decision that a table gives a certain class, or function, under a key that is not known.

    `table` and `key` are the identities of both, and `name` is what the class is called. It `is_default` if the key has
    a default that gives it; None where there is no default.
    """

    table: object
    key: object
    name: str
    is_default: bool | None


def iterations_between(earlier: Sequence[tuple[int, int]], later: Sequence[tuple[int, int]]) -> int | None:
    """The activation number of the innermost loop that both sites share in different iterations, else None."""
    for (loop, before), (other, after) in zip(earlier, later, strict=False):
        if loop != other:
            return None
        if before != after:
            return loop
    return None


def line_of(site: object) -> int | str:
    """The line of a place; a question mark where that is not known."""
    return site.line if isinstance(site, Site) else "?"
