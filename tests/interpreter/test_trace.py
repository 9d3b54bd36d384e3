"""Questions to a trace: what is answered once, and when it is worked out again."""

from __future__ import annotations

import ast

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.events import GradientSet
from gradpath.interpreter.sites import Site
from gradpath.interpreter.trace import Trace, once

asked: list[tuple[int, object]] = []


@once
def count(trace: Trace, of: object = None) -> int:
    asked.append((len(trace.events), of))
    return len(trace.of(GradientSet))


def traced() -> Trace:
    asked.clear()
    return Trace(ast.parse("pass"))


def happen(trace: Trace) -> None:
    trace.events.append(GradientSet(Tensor(), Site("a.py", trace.entry, None, ())))


def test_a_question_is_answered_once_for_the_same_arguments() -> None:
    trace, one, other = traced(), [1], [1]
    assert [count(trace, one), count(trace, one), count(trace, other), count(trace)] == [0, 0, 0, 0]
    assert asked == [(0, one), (0, other), (0, None)]


def test_it_is_answered_again_when_more_has_happened() -> None:
    trace = traced()
    assert count(trace) == 0
    happen(trace)
    assert count(trace) == 1


def test_each_trace_has_its_own_answers() -> None:
    first = traced()
    happen(first)
    second = Trace(ast.parse("pass"))
    assert (count(first), count(second)) == (1, 0)
