"""Advice after a trial: the lines that it bears out, in the words of the fixes that have held."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradpath.diagnostic import Advice, Diagnostic, Fix, Safety
from gradpath.findings.stories import lowered
from gradpath.repairs import Transformation
from gradpath.support.fast_dataclasses import replace


def borne_out(diagnostic: Diagnostic, fixes: tuple[Fix, ...], holds: Callable[[Fix], bool]) -> Diagnostic:
    """The diagnostic with the `fixes` that have held, and the advice that they leave.

    The help describes the preferred fix; if none is preferred it keeps its words, or describes the first fix if its own
    has failed. A "not a way out" line is dropped if its fix `holds`, or is offered.
    """
    if not diagnostic.advice:
        return replace(diagnostic, fixes=fixes)
    lines = {each: _line(each, fixes, holds) for each in diagnostic.advice}
    first, *others = lines
    preferred = next((fix for fix in fixes if fix.preferred), None)
    best = preferred or next((fix for fix in fixes if fix.edits), None)
    told = first
    if best is not None and (preferred is not None or not lines[first]):
        told = next((each for each in lines if _describes(each, best)), Advice(""))
    help = lines.get(told, "")
    if not help and best is not None:
        help = lowered(best.title)
    if first.fix is not None and any(each.fix == first.fix for each in others):
        lines[first] = ""  # Another line says the same.
    left = tuple(line for line in dict.fromkeys(lines.values()) if line and line != help)
    return replace(diagnostic, fixes=fixes, help=help, alternatives=left)


def _describes(advice: Advice, fix: Fix) -> bool:
    return advice.fix is not None and says(fix, advice.fix)


def _line(advice: Advice, fixes: Sequence[Fix], holds: Callable[[Fix], bool]) -> str:
    if advice.refuted is not None:
        offered = any(fix.edits and _is_alike(fix, advice.refuted) for fix in fixes)
        return "" if offered or holds(advice.refuted) else advice.text
    if advice.fix is None:
        return advice.text
    held = next((fix for fix in fixes if says(fix, advice.fix)), None)
    if held is None:
        return advice.text if advice.reason is not None else ""
    return advice.text.replace(lowered(advice.fix.title), lowered(held.title))


def _is_alike(one: Fix, other: Fix) -> bool:
    return bool(one.repairs and other.repairs) and one.does(other.repairs[0].transformation)


def says(fix: Fix, other: Fix) -> bool:
    """True if a fix does what another one does, and perhaps more than that."""
    return fix.edits == other.edits or (bool(other.repairs) and set(other.repairs) <= set(fix.repairs))


def repeats(fix: Fix, other: Fix) -> bool:
    """True if both run the same statements again, in two places, and the other one costs no more."""
    match fix.repairs, other.repairs:
        case (one,), (same,):
            again = one.transformation is same.transformation is Transformation.RECOMPUTE
            return again and bool(one.lines) and one.lines == same.lines and rank(other) <= rank(fix)
    return False


def rank(fix: Fix) -> tuple[bool, bool, bool]:
    """The order of fixes: those without a cost first, then those that are safe, and kept graphs last."""
    return bool(fix.costs), fix.safety is Safety.UNSAFE, fix.does(Transformation.RETAIN_GRAPH)
