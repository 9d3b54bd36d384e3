"""A function that is entered: called as from unseen code, since nothing in the program calls it."""

from __future__ import annotations

import ast

from gradpath.interpreter.values import UNDEFINED, Arguments, Function, Value
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entered:
    """The function of a `def` in the module `tree`, what its decorators `made` of it, and its `self` or class.

    `receiver` is UNDEFINED where it is given neither.
    """

    function: Function
    made: Value
    receiver: Value
    tree: ast.Module

    def arguments(self) -> Arguments:
        """The arguments of the call: the receiver, and what is not seen."""
        return Arguments([] if self.receiver is UNDEFINED else [self.receiver], open=True)
