"""Advice after a trial: the lines that it bears out, in the words of the fixes that have held."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradpath.diagnostic import Advice, Diagnostic, Fix, Safety
from gradpath.repairs import Transformation
from gradpath.support.fast_dataclasses import replace


def borne_out(diagnostic: Diagnostic, fixes: tuple[Fix, ...], holds: Callable[[Fix], bool]) -> Diagnostic:
    """The diagnostic with the `fixes` that have held, and the advice that they leave.

    The help describes the preferred fix, or the first that has held; where none has, it is the way out in general. A
    "not a way out" line is dropped if its fix `holds`, or is offered.
    """
    if not diagnostic.advice:
        return replace(diagnostic, fixes=fixes)
    general, *others = diagnostic.advice
    ordered = sorted((fix for fix in fixes if fix.edits), key=lambda fix: not fix.preferred)
    told = [_told(fix, others) for fix in ordered] or [general.text]
    help, *left = dict.fromkeys(filter(None, told)) or [""]
    left += [each.text for each in others if each.fix is None and _stands(each, fixes, holds)]
    return replace(diagnostic, fixes=fixes, help=help, alternatives=tuple(left))


def _told(fix: Fix, lines: Sequence[Advice]) -> str:
    """A fix that has held, with what speaks for it, unless that is a cost; the trial may have made it a part of one."""
    said = next((each for each in lines if each.fix is not None and says(fix, each.fix)), None)
    return fix.said if fix.costs or said is None or said.fix is None else said.text.replace(said.fix.said, fix.said)


def _stands(advice: Advice, fixes: Sequence[Fix], holds: Callable[[Fix], bool]) -> bool:
    """True unless a line calls something no way out that is one."""
    refuted, offered = advice.refuted, (each for each in fixes if each.edits and each.repairs)
    told = refuted is not None and any(refuted.does(each.repairs[0].transformation) for each in offered)
    return refuted is None or not (told or holds(refuted))


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
