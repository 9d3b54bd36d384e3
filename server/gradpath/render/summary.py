"""The lines under all diagnostics: how many there are, and what could not be followed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gradpath.diagnostic import Level
from gradpath.render.report import Report, Understood
from gradpath.render.width import safe_text, wrapped

_WORDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.HINT: "hint"}


def render_summary(report: Report, width: int | None = None) -> str:
    """The counts by level, of files, and of files that were not fully checked; empty without files.

    A second line says what can be done about what was found. No line is longer than `width`, where that is given.
    """
    if report.files == 0 and not report.diagnostics:
        return ""
    partly = len({gap.path for gap in report.incomplete})
    whole = report.files - partly
    found = [_counted(report.count(level), word) for level, word in _WORDS.items() if report.count(level)]
    parts = [_found(found, report)] if found else [f"No mistakes found in {_counted(whole, 'file')}"] if whole else []
    if partly:
        parts.append(f"{_counted(partly, 'file')} {'was' if partly == 1 else 'were'} not fully checked")
    if report.fixed:
        parts.append(f"applied {_counted(report.fixed, 'fix', 'fixes')}")
    lines = ["; ".join(parts), "; ".join(_next_steps(report))]
    return "\n".join(part for line in lines if line for part in wrapped(line, width))


def _next_steps(report: Report) -> Iterator[str]:
    found = len(report.diagnostics)
    if report.fixable:
        some = f"{report.fixable} of them" if report.fixable < found else "all of them" if found > 1 else "it"
        yield f"--fix repairs {some}, --diff shows how"
    match sorted({diagnostic.rule for diagnostic in report.diagnostics if diagnostic.family}):
        case []:
            return
        case [rule]:
            yield f"`gradpath rule {rule}` explains it"
        case _:
            yield "`gradpath rule ID` explains a rule"


def _found(found: Sequence[str], report: Report) -> str:
    places = len({diagnostic.path for diagnostic in report.diagnostics})
    checked = _counted(report.files, "file")
    where = checked if places == report.files else f"{places} of {checked}"
    words = f"{', '.join(found[:-1])} and {found[-1]}" if len(found) > 1 else found[0]
    return f"Found {words} in {where}"


def render_statistics(report: Report) -> Iterator[str]:
    """Reports by rule; how much of each file was understood; what the rest was lost to, most frequent first."""
    rules = Counter(diagnostic.rule for diagnostic in report.diagnostics)
    yield "reports by rule:" if rules else "reports by rule: none"
    yield from _table(rules)
    reached = {path: each for path, each in sorted((report.understood or {}).items()) if each.reached}
    yield "understood of the statements that are reached:" if reached else "understood: no statement is reached"
    if reached:
        for path, each in reached.items():
            yield f"{_share(each.clear, each.reached)}  {safe_text(path)}{_lost(each)}"
        clear = sum(each.clear for each in reached.values())
        total = sum(each.reached for each in reached.values())
        yield f"{_share(clear, total)}  in all: {clear} of {total}"
    causes = report.causes()
    yield "unknown values, by what they came from:" if causes else "unknown values: none"
    yield from _table(causes)


def _share(part: int, whole: int) -> str:
    return f"{100 * part // whole:>4} %"


def _lost(understood: Understood) -> str:
    """The most frequent cause of what was not understood in a file."""
    most = sorted(understood.causes.items(), key=lambda item: (-item[1], item[0]))[:3]
    if understood.clear == understood.reached or not most:
        return ""
    return f" ({', '.join(f'{safe_text(name)}: {count}' for name, count in most)})"


def _table(counts: Counter[str]) -> Iterator[str]:
    for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        yield f"{count:>6}  {safe_text(name)}"


def _counted(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
