"""The report on an analysis, as text for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gradpath.features.debug import Choice, Debug, End, Entered, Event, Place, Route, Skipped
from gradpath.render.style import BOLD, PLAIN, Style
from gradpath.render.width import safe_text

_MOST = 12
"""Lines of one kind of an entry point, unless a line of the program is asked about."""

_LONGEST = 80
"""Characters of the message of an exception."""


def as_text(debug: Debug, style: Style = PLAIN) -> str:
    """The entry points one after the other, and then what was not entered."""
    lines = [style.paint(safe_text(debug.path if debug.line is None else f"{debug.path}:{debug.line}"), BOLD)]
    passing = [each for each in debug.entered if each.passes]
    for each in passing:
        lines += ["", *_entry(each, debug, style)]
    others = [_title(each) for each in debug.entered if not each.passes]
    if others:
        lines += ["", f"does not come to line {debug.line}", *(f"  {each}" for each in others)]
    skipped = _about(debug)
    if skipped:
        lines += ["", style.paint("not run", BOLD), *(f"  {_skipped(each)}" for each in skipped)]
    return "".join(f"{line}\n" for line in lines)


def _about(debug: Debug) -> list[Skipped]:
    """The part that was not run; for a line that no entry point reaches, the reason."""
    line = debug.line
    if line is None:
        return list(debug.skipped)
    if any(each.passes for each in debug.entered):
        return []
    around = (part for part in (*(part for each in debug.entered for part in each.skipped), *debug.skipped))
    around = (each for each in around if each.first <= line <= each.last)
    return sorted(around, key=lambda each: each.last - each.first)[:1]


def _title(entered: Entered) -> str:
    return f"{entered.name} (line {entered.line})" if entered.name else "the code of the module"


def _entry(entered: Entered, debug: Debug, style: Style) -> Iterator[str]:
    whole = debug.line is None
    yield style.paint(_title(entered), BOLD)
    yield from _rows("given", [f"{name}: {said}" for name, said in entered.given])
    yield from _rows("paths", [line for route in entered.routes for line in _route(route, debug)])
    found = [
        f"{each.rule} on {_at(each.at, debug)}, path {_numbers(each.routes)}: "
        + (f"not reported: {each.reason}" if each.reason else "reported")
        for each in entered.seen
    ]
    yield from _rows("found", found or ["no rule finds anything on these paths"])
    if whole:
        yield from _rows("skipped", [_skipped(each) for each in entered.skipped], whole)
    unknown = [f"{_at(each.at, debug)} `{each.text}`: {each.origin}" for each in entered.unknowns]
    yield from _rows("unknown", unknown, whole)
    presumed = [f"{each.words} ({each.row}): {_lines(each.lines)}" for each in entered.presumed]
    yield from _rows("presumed", presumed, whole)
    if whole:
        yield from _rows("events", _counted(entered.routes))
    else:
        yield from _rows("events", _told(entered.routes, debug))


def _rows(title: str, lines: Sequence[str], cut: bool = False) -> Iterator[str]:
    shown = lines[:_MOST] if cut else lines
    more = [f"and {len(lines) - _MOST} more"] if len(lines) > len(shown) else []
    for index, line in enumerate((*shown, *more)):
        yield f"  {title if index == 0 else '':<9} {safe_text(line)}"


def _route(route: Route, debug: Debug) -> Iterator[str]:
    condition = f" ({route.condition})" if route.condition else ""
    yield f"{route.number}{condition}: {route.steps} statements, {_ended(route, debug)}"
    for line in dict.fromkeys(route.given_up):
        yield f"   gives up line {line}, which exceeds the budget, and goes on"
    choices = dict.fromkeys(route.choices)
    for each in list(choices)[:_MOST]:
        yield f"   {_chosen(each, debug)}"
    if len(choices) > _MOST:
        yield f"   and {len(choices) - _MOST} more choices"


def _ended(route: Route, debug: Debug) -> str:
    if route.end is End.END:
        return "runs to its end"
    at = f" on {_at(route.at, debug)}" if route.at is not None else ""
    return f"ends{at}: {route.words if len(route.words) <= _LONGEST else route.words[: _LONGEST - 1] + '…'}"


def _chosen(choice: Choice, debug: Debug) -> str:
    return f"{_at(choice.at, debug)}: `{choice.text}` {'holds' if choice.outcome else 'does not hold'}"


def _counted(routes: Sequence[Route]) -> list[str]:
    """The number of events of each kind on the likeliest path."""
    counts = Counter(event.kind for event in routes[0].events) if routes else Counter[str]()
    return [", ".join(f"{count} {kind}" for kind, count in counts.items()) + " on path 1"] if counts else []


def _told(routes: Sequence[Route], debug: Debug) -> list[str]:
    """Events of the wanted line, each with the paths that have it."""
    paths: dict[Event, list[int]] = {}
    for route in routes:
        for event in dict.fromkeys(route.events):
            paths.setdefault(event, []).append(route.number)
    return [
        f"{_at(event.at, debug)} {event.kind} {event.words}".rstrip() + f" (path {_numbers(numbers)})"
        for event, numbers in paths.items()
    ]


def _numbers(numbers: Sequence[int]) -> str:
    """Numbers in order, neighbours as a range."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def _at(place: Place, debug: Debug) -> str:
    return f"line {place.line}" if place.path == debug.path else f"{place.path}, line {place.line}"


def _lines(lines: Sequence[int]) -> str:
    return ", ".join(f"line {line}" for line in lines[:_MOST])


def _skipped(skipped: Skipped) -> str:
    lines = f"lines {skipped.first}-{skipped.last}" if skipped.last > skipped.first else f"line {skipped.first}"
    return f"{skipped.name} ({lines}): {skipped.reason}" if skipped.name else f"{lines}: {skipped.reason}"
