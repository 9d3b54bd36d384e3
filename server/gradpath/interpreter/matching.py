"""The patterns of `match`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from gradpath.interpreter.containers import List
from gradpath.interpreter.expressions import evaluate
from gradpath.interpreter.iteration import sample
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.operators import equal
from gradpath.interpreter.values import UNDEFINED, Class, Instance, Unknown, Value

Assign = Callable[[Machine, ast.expr, Value], None]


def matches(machine: Machine, pattern: ast.pattern, subject: Value, assign: Assign) -> bool:
    """True if `subject` matches, its captures bound; where that is not settled, the path decides."""
    match pattern:
        case ast.MatchValue():
            return _equal(machine, pattern, evaluate(machine, pattern.value), subject)
        case ast.MatchSingleton():
            return _equal(machine, pattern, pattern.value, subject)
        case ast.MatchAs():
            if pattern.pattern is not None and not matches(machine, pattern.pattern, subject, assign):
                return False
            if pattern.name is not None:
                machine.bind(pattern.name, subject)
            return True
        case ast.MatchOr():
            return any(matches(machine, each, subject, assign) for each in pattern.patterns)
        case ast.MatchSequence():
            return _sequence(machine, pattern, subject, assign)
        case ast.MatchMapping():
            return _mapping(machine, pattern, subject, assign)
        case ast.MatchClass():
            return _class(machine, pattern, subject, assign)
    return True


def _undecided(machine: Machine, pattern: ast.pattern, subject: Value) -> bool:
    return machine.decide(machine.unknown("match", ("match", id(pattern), id(subject)), (subject,)), pattern)


def _equal(machine: Machine, pattern: ast.pattern, wanted: Value, subject: Value) -> bool:
    same = equal(machine, subject, wanted)
    if isinstance(same, bool):
        return same
    return _undecided(machine, pattern, subject)


def _sequence(machine: Machine, pattern: ast.MatchSequence, subject: Value, assign: Assign) -> bool:
    star = next((index for index, each in enumerate(pattern.patterns) if isinstance(each, ast.MatchStar)), None)
    if isinstance(subject, Unknown):
        if not _undecided(machine, pattern, subject):
            return False
        items = [machine.library.unknown_item(machine, subject, index) for index in range(len(pattern.patterns))]
        return all(matches(machine, each, item, assign) for each, item in zip(pattern.patterns, items, strict=True))
    if not isinstance(subject, (tuple, List)):
        return False
    items, _ = sample(machine, subject)
    if star is None:
        if len(items) != len(pattern.patterns):
            return False
        return all(matches(machine, each, item, assign) for each, item in zip(pattern.patterns, items, strict=True))
    after = len(pattern.patterns) - star - 1
    if len(items) < star + after:
        return False
    rest = pattern.patterns[star]
    if isinstance(rest, ast.MatchStar) and rest.name is not None:
        machine.bind(rest.name, List(items[star : len(items) - after]))
    pairs = list(zip(pattern.patterns[:star], items[:star], strict=True))
    if after:
        pairs += list(zip(pattern.patterns[-after:], items[-after:], strict=True))
    return all(matches(machine, each, item, assign) for each, item in pairs)


def _mapping(machine: Machine, pattern: ast.MatchMapping, subject: Value, assign: Assign) -> bool:
    if not isinstance(subject, Dict):
        return _undecided(machine, pattern, subject) if isinstance(subject, Unknown) else False
    for key, each in zip(pattern.keys, pattern.patterns, strict=True):
        found = subject.look_up(evaluate(machine, key))
        if found is UNDEFINED or not matches(machine, each, found, assign):
            return False
    if pattern.rest is not None:
        machine.bind(pattern.rest, Dict(dict(subject.entries), open=subject.open))
    return True


def _class(machine: Machine, pattern: ast.MatchClass, subject: Value, assign: Assign) -> bool:
    cls = evaluate(machine, pattern.cls)
    if isinstance(subject, Instance) and isinstance(cls, Class):
        if not subject.cls.is_subclass(cls):
            return False
    elif not _undecided(machine, pattern, subject):
        return False
    names = list(pattern.kwd_attrs)
    fields = cls.find("__match_args__") if isinstance(cls, Class) else UNDEFINED
    positional = [name for name in fields if isinstance(name, str)] if isinstance(fields, tuple) else []
    for name, each in zip(
        [*positional[: len(pattern.patterns)], *names], [*pattern.patterns, *pattern.kwd_patterns], strict=False
    ):
        if not matches(machine, each, machine.attribute(subject, name), assign):
            return False
    return True
