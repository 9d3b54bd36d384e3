"""A comparison of how far the paths of a program get before and after a fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from gradpath.analysis.incremental import Ending

Endings = Mapping[str, tuple[Ending, ...]]
"""How the paths of each entry point ended, by its name."""

Decided = Mapping[tuple[int, int], bool]
"""The ways that branches took, by their lines and how often an undecided one was reached there before."""


def loses(before: Endings, after: Endings, kept: Mapping[int, int], stays: Callable[[Ending, Ending], bool]) -> bool:
    """True if a path that ran fails after a fix, or one that failed gets less far, or as far and `stays` where it is.

    It gets less far where it comes to a line less often, however often it comes to others: a fix may run some again.
    What may raise, where nothing could before, counts as a failure. `kept` says where the lines of the document are
    after the fix: only what they do counts.
    """
    back = {new: old for old, new in kept.items()}
    for old, new in matched(before, after, kept):
        if _raises_more(old, new, back):
            return True
        if not new.failures:
            continue
        wanted = {kept[line]: times for line, times in old.reached.items() if line in kept}
        reached = sum(times for line, times in new.reached.items() if line in back)
        less = any(new.reached.get(line, 0) < times for line, times in wanted.items())
        if not old.failures or less or (reached == sum(wanted.values()) and stays(old, new)):
            return True
    return False


def _raises_more(old: Ending, new: Ending, back: Mapping[int, int]) -> bool:
    """True if an exception, though not certain, may come up where the path came before without any."""
    known = {text for text, _ in old.survived}
    fresh = [line for text, line in new.survived if text not in known]
    return any(line not in back or old.reached.get(back[line], 0) for line in fresh)


def matched(before: Endings, after: Endings, kept: Mapping[int, int]) -> Iterator[tuple[Ending, Ending]]:
    """The paths before and after a fix that decide alike what both of them decide, where they were followed."""
    same = {line: line for line in kept.values()}
    for name, ways in after.items():
        known = before.get(name, ())
        if ways is known:
            continue  # Nothing that it runs has changed.
        followed = (each for each in known if not each.truncated and each.taught is not None)
        old = [(each, _decided(each, kept)) for each in followed]
        for new in (each for each in ways if not each.truncated):
            decided = _decided(new, same)
            for one, its_decided in old:
                if all(decided.get(key, outcome) is outcome for key, outcome in its_decided.items()):
                    yield one, new


def _decided(ending: Ending, lines: Mapping[int, int]) -> Decided:
    """The decisions of a path in some lines, by where those are after the fix."""
    decided: dict[tuple[int, int], bool] = {}
    times: Counter[int] = Counter()
    for line, outcome in ending.decided:
        if line in lines:
            decided[lines[line], times[line]] = outcome
            times[line] += 1
    return decided
