"""Blocks that end where something fails: `contextlib.suppress`, `pytest.raises`, `self.assertRaises`."""

from __future__ import annotations

from gradpath.interpreter.classes import Context
from gradpath.interpreter.endings import Raised
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, Class, Instance, Unknown, Value


class Swallowing(Context):
    """A block in which exceptions of these classes end."""

    __slots__ = ("kinds",)

    def __init__(self, kinds: list[Value]) -> None:
        self.kinds = [kind for each in kinds for kind in (each if isinstance(each, tuple) else (each,))]

    def leave(self, machine: Machine, raised: Raised | None) -> bool:
        if raised is None or not isinstance(raised.value, Instance):
            return raised is not None
        return self.awaits(raised.value.cls)

    def awaits(self, cls: Class) -> bool:
        return any(not isinstance(kind, Class) or cls.is_subclass(kind) for kind in self.kinds)


_ASSERTING = {"assertRaises": 1, "assertRaisesRegex": 2, "assertRaisesRegexp": 2}
"""Methods of test cases, and how many arguments they have as heads of blocks; with more they call a function."""


def asserted(unknown: Unknown, arguments: Arguments) -> Swallowing | None:
    """The block that a test case of unknown class expects to fail; None where something else is called."""
    count = _ASSERTING.get(unknown.name)
    return Swallowing(arguments.positional[:1]) if count == len(arguments.positional) else None


NAMES = {
    "contextlib.suppress": lambda machine, arguments: Swallowing(arguments.positional),
    "pytest.raises": lambda machine, arguments: Swallowing(arguments.positional[:1]),
}

GENERAL = True
