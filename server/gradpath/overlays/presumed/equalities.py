"""Constants that one unseen value is compared to: what the path has decided of one may settle another comparison."""

from __future__ import annotations

import operator as host

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Unknown, Value

_COMPARED = "constants that were compared"
_NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}


def settled(machine: Machine, unknown: Unknown, operator: str, constant: Value, key: tuple[object, ...]) -> bool | None:
    """The answer to a comparison of a value that equals one constant at the most, and is on one side of a bound.

    The operator is that of `unknown operator constant`, whichever the program writes first. `key` is that of the
    comparison, under which the path's decision on it is found. What one condition asks of the
    counter of a loop is decided each time.
    """
    if isinstance(constant, bool) or not isinstance(constant, (int, float, str)):
        return None
    found = machine.remembered.setdefault((_COMPARED, unknown.number), {})
    assert isinstance(found, dict)
    answer = None
    for (other, bound), (each, node) in found.items():
        known = machine.unknowns.get(each) if each != key and node is not machine.node else None
        truth = None if known is None else machine.decided(known)
        if truth is not None and answer is None:
            answer = _follows(other if truth else _NEGATED[other], bound, operator, constant)
    found.setdefault((operator, constant), (key, machine.node))
    return answer


def _follows(known: str, bound: Value, asked: str, constant: Value) -> bool | None:
    """What `x known bound` says of `x asked constant`: the same of all values that it leaves, or nothing."""
    if isinstance(bound, str) and isinstance(constant, str):
        values: list[object] = [bound, constant, f"{bound}{constant}?"]
    elif isinstance(bound, (int, float)) and isinstance(constant, (int, float)):
        low, high = sorted((bound, constant))
        values = [low - 1, low, (low + high) / 2, high, high + 1]
    else:
        return None
    answers = {getattr(host, asked)(each, constant) for each in values if getattr(host, known)(each, bound)}
    return next(iter(answers)) if len(answers) == 1 else None
