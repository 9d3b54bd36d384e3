"""A function that is entered: called as from unseen code, since nothing in the program calls it."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from gradpath.interpreter.values import UNDEFINED, Arguments, Function, Value
from gradpath.support.fast_dataclasses import dataclass, field
from gradpath.support.fast_enums import Enum


class Use(Enum):
    """The use of a function that is not called: one call, two calls, or a backward through its result, or each.

    Or a call after other methods of its object, which fill what it reads; or a call with a prediction that has a graph,
    and a backward through the loss that it gives.
    """

    ALONE = "alone"
    FILLED = "filled"
    AGAIN = "again"
    BACKWARD = "back-propagated"
    EACH = "each"
    LOSS = "loss"


@dataclass(frozen=True, slots=True)
class Entered:
    """The function of a `def` in the module `tree`, what its decorators `made` of it, and its `self` or class.

    `receiver` is UNDEFINED where it is given neither. `given` are the arguments that other methods are called with,
    `filling` the methods that run before each call, with the attributes that they fill for it.
    """

    function: Function
    made: Value
    receiver: Value
    tree: ast.Module
    given: Mapping[str, Value] = field(default_factory=dict)
    filling: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def arguments(self) -> Arguments:
        """The arguments of the call: the receiver, what is given, and what is not seen."""
        return Arguments([] if self.receiver is UNDEFINED else [self.receiver], dict(self.given), open=True)
