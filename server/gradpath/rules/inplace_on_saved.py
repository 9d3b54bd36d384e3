"""An in-place operation that overwrites what a pending backward has saved."""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.errors import MESSAGES, FaultKind
from gradpath.diagnostic import Fix, Level, Safety
from gradpath.findings.overwriting import Overwriting, overwritings, what, who_needs
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.silent_writes import Skip, Uncounted, skips, uncounted
from gradpath.findings.stories import following, lifted, name_of, short_operation, with_time
from gradpath.fixes.out_of_place import counterparts, module_of, saved_copies, write_text, written_name
from gradpath.interpreter.trace import Trace


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Writes to saved tensors that are no parameters; those are `parameter-updated-before-backward`."""
    for found in overwritings(trace):
        if not found.is_update:
            yield _report(trace, source, found)
    for skip in skips(trace):
        yield _report_skip(trace, source, skip)
    for write in uncounted(trace):
        yield _report_uncounted(trace, source, write)


def _report(trace: Trace, source: Source, found: Overwriting) -> Report:
    fixes = source.proposed(_fixes(trace, source, found))
    return Report(
        found.site,
        _headline(trace, source, found),
        tuple(_steps(trace, source, found)),
        raised_at=found.failure.site,
        pytorch=f"RuntimeError: {MESSAGES[FaultKind.MODIFIED]}",
        help="make a new tensor instead of writing into the old one",
        fixes=fixes,
    )


def _report_skip(trace: Trace, source: Source, found: Skip) -> Report:
    at = lifted(found.written, found.added)
    write, added = source.short(at, limit=30), source.short(found.added, limit=30)
    return Report(
        at,
        f"`{write}` works in place: in `{added}`, `{found.name}` is the activated value",
        (
            Step(at, f"overwrites `{found.name}` with its activation"),
            Step(found.added, f"adds `{found.name}`, which is no longer what came in"),
        ),
        help="use an activation that does not work in place",
        fixes=source.proposed(counterparts(trace, source, found.written, found.tensor, None)),
        silent=True,
    )


def _report_uncounted(trace: Trace, source: Source, found: Uncounted) -> Report:
    write, backward = write_text(trace, source, found.written, 34), source.short(found.ran.site, limit=32)
    return Report(
        found.written,
        f"`{write}` is not recorded: the gradients of `{backward}` lack the factor",
        (
            Step(found.written, "changes a value with a graph while gradients are off"),
            Step(found.ran.site, "runs backward as if nothing had been multiplied"),
        ),
        help="multiply where gradients are recorded, out of place",
        silent=True,
    )


def _headline(trace: Trace, source: Source, found: Overwriting) -> str:
    write = write_text(trace, source, found.site, 34)
    if _same_call(found) and module_of(trace, found.site) is not None:
        return f"`{write}` overwrites what `{short_operation(found.node.name)}` before it saved for its gradient"
    if _same_call(found):
        return f"`{write}` overwrites {_saved_name(trace, source, found)}, which its own gradient needs"
    if found.is_result:
        return f"`{write}` overwrites {what(trace, source, found)}, which its gradient needs"
    needs = who_needs(source, found)
    headline = f"`{write}` overwrites {_saved_name(trace, source, found)}, which the gradient of {needs} needs"
    return headline if len(headline) <= 120 else f"`{write}` overwrites a value that the gradient of {needs} needs"


def _same_call(found: Overwriting) -> bool:
    """True if the write is the very operation that saved."""
    site = found.saved_at
    return site.node is found.site.node and site.loops == found.site.loops


def _saved_name(trace: Trace, source: Source, found: Overwriting) -> str:
    name = name_of(trace, source, found.saved.tensor, found.site)
    if found.written is found.saved.tensor:
        name = written_name(trace, source, found.site) or name
    return f"`{name}`" if name and len(name) <= 30 else "a value"


def _steps(trace: Trace, source: Source, found: Overwriting) -> Iterator[Step]:
    site = found.saved_at
    made = module_of(trace, found.site)
    if made is not None and made.made is not None:
        yield Step(made.made, "works in place")
    if not _same_call(found):
        kept = "saves its result" if found.is_result else f"saves {_saved_name(trace, source, found)}"
        yield Step(site, f"{kept} for the backward")
    when = following(trace, found.site, site)
    yield Step(found.site, with_time(when, "changes it in place"))
    yield Step(found.failure.site, "finds it changed")


def _fixes(trace: Trace, source: Source, found: Overwriting) -> Iterator[Fix]:
    place = found.saved_at
    saved_at = lifted(place, found.site)
    made = list(counterparts(trace, source, found.site, found.written, saved_at))
    yield from (fix for fix in made if fix.safety is Safety.SAFE)
    yield from saved_copies(trace, source, found)
    yield from (fix for fix in made if fix.safety is not Safety.SAFE)


RULE = Rule(
    "inplace-on-saved",
    "in-place",
    Level.ERROR,
    "an in-place operation overwrites a tensor that a pending `backward()` has saved",
    find,
    raises=(
        r"has been modified by an inplace operation",
        r"Trying to use a saved tensor that has been detached in-place",
    ),
    pytorch=f"RuntimeError: {MESSAGES[FaultKind.MODIFIED]}",
)
