"""Constants that one unseen value is compared to: it equals one of them at the most."""

from __future__ import annotations

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Unknown, Value

_COMPARED = "constants that were compared"


def is_another(machine: Machine, unknown: Unknown, constant: Value, key: tuple[object, ...]) -> bool:
    """True if the path has decided that a value equals another constant than the one that it is compared to now.

    `key` is that of the comparison, under which the path's decision on it is found.
    """
    if isinstance(constant, bool) or not isinstance(constant, (int, str)):
        return False
    found = machine.remembered.setdefault((_COMPARED, unknown.number), {})
    assert isinstance(found, dict)
    found[constant] = key
    asked = (machine.unknowns.get(each) for other, each in found.items() if other != constant)
    return any(each is not None and machine.decided(each) is True for each in asked)
