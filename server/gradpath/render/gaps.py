"""Parts of files that were not fully checked, in words that are made from what kind of gap each is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradpath.diagnostic import Gap, GapKind
from gradpath.render.report import place_name


def gap_reason(gap: Gap) -> str:
    """Why that part was not fully checked, in a line; without its place."""
    part = f"`{gap.entry}`" if gap.entry else "this file" if gap.entry is None else "the code of the module"
    match gap.kind:
        case GapKind.SYNTAX:
            return f"does not parse: {gap.detail}"
        case GapKind.BUDGET if gap.detail:
            return gap.detail
        case GapKind.BUDGET if gap.entry == "":
            return "the code of the module is too much to be followed beyond this line"
        case GapKind.BUDGET:
            return f"{part} is too much to be followed to its end"
        case GapKind.TIME:
            return f"{part} took too long"
        case GapKind.MEMORY:
            return f"{part} took too much memory"
        case GapKind.FAILURE if gap.rule:
            return f"gradpath failed in its rule {gap.rule} on {part} ({gap.detail})"
        case GapKind.FAILURE:
            return f"gradpath failed on {part} ({gap.detail})"
        case GapKind.CRASH:
            return f"the process that checked {part} has died"
        case GapKind.SIZE:
            return "this file is longer than what a check takes on"
        case GapKind.IMPORTS:
            return f"its imports are longer than what a check reads: {gap.detail} was left out"
        case GapKind.FIXES:
            return f"gradpath failed when it tried the fixes, so none is offered ({gap.detail})"


def gap_sentence(gap: Gap) -> str:
    """A message at the place of a gap: a part was not fully checked, and why."""
    return f"not fully checked: {gap_reason(gap)}"


def gap_lines(gaps: Iterable[Gap]) -> Iterator[str]:
    """`path:line: sentence`, one line for the gaps of a kind in each file, at the first one's place."""
    groups: dict[tuple[str, GapKind], list[Gap]] = {}
    for gap in gaps:
        groups.setdefault((gap.path, gap.kind), []).append(gap)
    for first, *more in groups.values():
        others = f" (and {len(more)} more {'place' if len(more) == 1 else 'places'} below)" if more else ""
        yield f"{place_name(first.path, first.cell)}:{first.range.start.line}: {gap_sentence(first)}{others}"
