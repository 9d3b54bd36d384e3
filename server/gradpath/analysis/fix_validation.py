"""Fixes on trial: each is applied to the text and the result is checked, so that what is offered mends its fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from gradpath.analysis.check import THOROUGH, Analysis, check, never
from gradpath.analysis.incremental import Ending
from gradpath.analysis.masked_faults import beyond_the_first, found_beyond, left_after, merged
from gradpath.analysis.path_regression import loses, matched
from gradpath.analysis.trial_states import AUTOGRAD, Key, State, Texts, new_reports
from gradpath.analysis.trials import Trials
from gradpath.analysis.turns import Turns
from gradpath.config import Config
from gradpath.diagnostic import Diagnostic, Edit, Fix, Level, Range, Safety, best_of
from gradpath.findings.report import Rule
from gradpath.fixes.advice import borne_out, rank, repeats, says
from gradpath.fixes.lessons import Change, costs, is_kept, makes_constant, still_learns
from gradpath.names.project import Project
from gradpath.repairs import Cost, Repair, Transformation, title_of
from gradpath.rules import RULES
from gradpath.source.document import Document
from gradpath.source.edits import added, difference, kept_lines
from gradpath.support.fast_dataclasses import replace
from gradpath.support.lazy_regex import regex

ROUNDS = 4
"""Fixes that may be put together into one, where each uncovers a place of the same mistake."""

_WORDS = regex(r"\w+")


def mended(
    analysis: Analysis,
    config: Config | None = None,
    *,
    wanted: Callable[[Diagnostic], bool] | None = None,
    cancelled: Callable[[], bool] = never,
    project: Project | None = None,
    turns: Turns | None = None,
) -> Analysis:
    """The same analysis with the fixes that hold.

    A fix after which its fault is still there, or another error is there instead, is left out. Where it only uncovers
    the next place of the mistake, the fix of that place becomes a part of it. `wanted` chooses the diagnostics whose
    fixes are tried; those of the others stay as they are. Each trial costs a check of the document, a part of a turn.
    """
    chosen = [
        each for each in analysis.diagnostics if each.level is not Level.HINT and (wanted is None or wanted(each))
    ]
    if not any(each.fixes or not each.advice or any(line.refuted for line in each.advice) for each in chosen):
        return analysis
    around = _lines_of(chosen, analysis.document.path)
    workshop = _Workshop(Trials(analysis, config or Config(), cancelled, project, around, turns or Turns()))
    after = {id(each): workshop.told(workshop.proposed(each)) for each in chosen}
    told = [after.get(id(each), each) for each in analysis.diagnostics]
    return replace(analysis, diagnostics=merged(told, workshop.masked(told)))


def gets_less_far(after: Document, before: Document, edits: Sequence[Edit], config: Config) -> bool:
    """True if a path of a document fails that ran, or ends earlier, after several fixes that each hold alone."""
    ways = [check(each, config, depth=THOROUGH).endings for each in (before, after)]
    return loses(ways[0], ways[1], kept_lines(before, edits), lambda _old, _new: False)


class _Workshop:
    """Fixes of one document on trial: those that lead nowhere are left out, and those that are a part are completed."""

    def __init__(self, trials: Trials) -> None:
        self._trials, self._before = trials, trials.before
        self._document, self._path = trials.document, trials.document.path
        self._masked: dict[int, Sequence[Diagnostic]] = {}
        self._leaving: set[tuple[Edit, ...]] = set()

    def proposed(self, diagnostic: Diagnostic) -> Diagnostic:
        """The diagnostic with its fixes and its advice, where the analysis has not worked them out."""
        found = () if diagnostic.advice else self._before.reports.get(self._trials.key_of(diagnostic), ())
        same = next((each for each in found if each.range == diagnostic.range), diagnostic)
        return replace(diagnostic, fixes=same.fixes, advice=same.advice, help=same.help, alternatives=same.alternatives)

    def proved(self, diagnostic: Diagnostic) -> list[Fix]:
        """The fixes of a diagnostic that hold, with exactly one of the safe ones preferred where one may be.

        Where one place to do what can be done at several may be preferred, the others are not tried.
        """
        kept: list[Fix] = []
        for fix in diagnostic.fixes:
            done = (each for each in kept if each.eligible and each.safety is Safety.SAFE)
            if _sort(fix) in _PLACED and any(_sort(each) is _sort(fix) for each in done):
                continue
            tried = self._tried(diagnostic, fix) if fix.edits else fix
            known = tried is not None and any(says(tried, each) or repeats(tried, each) for each in kept if each.edits)
            if tried is not None and not known:
                kept.append(tried)
        kept = _as_dear(kept)
        if any(fix.edits and fix.edits not in self._leaving for fix in kept):  # It mends what others leave.
            own = self._leaving
            kept = [replace(each, safety=Safety.UNSAFE, eligible=False) if each.edits in own else each for each in kept]
        best = best_of(kept)
        kept.sort(key=rank)
        return [replace(fix, preferred=fix is best) for fix in kept]

    def told(self, diagnostic: Diagnostic) -> Diagnostic:
        """The diagnostic with the fixes that hold, and the advice that they bear out."""
        fixes = tuple(self.proved(diagnostic))
        return borne_out(diagnostic, fixes, lambda fix: bool(fix.edits) and self._tried(diagnostic, fix) is not None)

    def masked(self, told: Sequence[Diagnostic]) -> list[Diagnostic]:
        """What is found beyond faults that end a path, and after whichever fix of these."""
        found: list[Diagnostic] = []
        for each in told:
            if not (each.pytorch and any(fix.preferred for fix in each.fixes)):
                continue
            states = [(fix, self._trials.known(fix.edits)) for fix in each.fixes if fix.edits]
            left = [left_after(*way, self._document, [*told, *found]) for way in states]
            if all(left):
                found += beyond_the_first(self._beyond(each), left)
        return found

    def _beyond(self, diagnostic: Diagnostic) -> Sequence[Diagnostic]:
        """What is found where the paths go on after a fault, as if it were mended."""
        path, line = _raising_after(diagnostic, ())
        if path != self._path or not diagnostic.pytorch:
            return ()
        if line not in self._masked:
            self._masked[line] = found_beyond(line, path, self._trials.going_on)
        return self._masked[line]

    def _tried(self, diagnostic: Diagnostic, fix: Fix) -> Fix | None:
        """The fix, completed where it is a part of the way only; None where it leads nowhere."""
        if self._trials.are_over:
            return None
        key = self._trials.key_of(diagnostic)
        touched = self._touched(fix.edits)
        made, texts = fix, self._trials.edited({}, fix.edits)
        seen: list[Texts] = [{}]
        for _ in range(ROUNDS):
            if texts is None or texts in seen:
                return None
            seen.append(texts)
            state = self._trials.checked(texts)
            if state is None or state.unread > self._before.unread or self._unbinds(state, made):
                return None
            new = new_reports(self._before, state, key, touched)
            fresh = [each for each in new if not self._stood_before(each, diagnostic, made, texts)]
            if len(fresh) < len(new):
                self._leaving.add(made.edits)
            new = fresh
            if any(_rule(each).idle and not _goes_on(each, fix) for each in new):
                return None
            ran = state.progress[0] >= self._before.progress[0] and state.first >= self._before.first
            if diagnostic.level is not Level.ERROR and not ran and state.failures - self._before.failures:
                return None  # What ran before now fails. (A loop that keeps no graph is run less often, and may be.)
            place = _raising_after(diagnostic, made.edits)
            left = [each for each in new if _is_open(each, diagnostic) or (each.pytorch and _line(each) == place)]
            if not left:
                holds = self._runs(state, made, diagnostic) and not self._loses(state, made, diagnostic)
                return self._judged(made, state) if holds else None
            next_fix = _next(left, fix)
            same = next_fix is not None and _same_subject(next_fix, fix)
            if same and self._same_story(left[0], diagnostic, made, texts):
                return None  # It was without effect.
            if next_fix is None:
                older = all(self._is_beyond(each, diagnostic, made, texts) for each in left)
                return self._judged(made, state) if older and not self._loses(state, made, diagnostic) else None
            texts = self._trials.edited(texts, next_fix.edits)
            back = {new: old for old, new in kept_lines(self._document, made.edits).items()}
            made = made if texts is None else self._joined(made, next_fix, texts, back)
        return None

    def _stood_before(self, report: Diagnostic, diagnostic: Diagnostic, made: Fix, texts: Texts) -> bool:
        """True if a report on the `texts` that a fix `made` is of what is also found beyond the fault that it mends."""
        if not _may_be_older(report, diagnostic):
            return False
        place = self._trials.place_before(report, made.edits, texts)
        return any((each.rule, each.range) == (report.rule, place) for each in self._beyond(diagnostic))

    def _judged(self, fix: Fix, state: State) -> Fix | None:
        """The fix with what else it changes of what is learnt, then unsafe; None if a loss becomes constant."""
        lines = kept_lines(self._document, fix.edits)
        ways = matched(self._before.endings, state.endings, lines)
        taught = [(old.taught, new.taught) for old, new in ways if old.taught is not None and new.taught is not None]
        changes = [Change(*pair, lines, self._path) for pair in taught]
        if any(map(makes_constant, changes)):
            return None
        if not all(still_learns(each, truncated=fix.truncates) for each in changes):
            fix = replace(fix, safety=Safety.UNSAFE, eligible=False)
        elif not all(map(is_kept, changes)):
            fix = replace(fix, safety=Safety.UNSAFE)
        return _at_cost(fix, set[Cost]().union(*map(costs, changes)))

    def _is_beyond(self, report: Diagnostic, diagnostic: Diagnostic, made: Fix, texts: Texts) -> bool:
        """True if a mistake is also found where the paths go on after the fault, there or of the same value."""
        place, another = self._trials.place_before(report, made.edits, texts), report.rule != diagnostic.rule
        value = self._trials.place_before(report.labels[0], made.edits, texts) if another and report.labels else None
        found = [
            each for each in self._beyond(diagnostic) if each.rule == report.rule and each.range != diagnostic.range
        ]
        return any(each.range == place or (each.labels and each.labels[0].range == value) for each in found)

    def _same_story(self, new: Diagnostic, old: Diagnostic, made: Fix, texts: Texts) -> bool:
        """True if a report on the `texts` that a fix `made` tells of the same places as one before it, step by step."""
        return new.rule == old.rule and self._places(new, made, texts) == [
            (each.path, each.range) for each in old.labels
        ]

    def _places(self, new: Diagnostic, made: Fix, texts: Texts) -> list[tuple[str, Range | None]]:
        """The places that a report tells of, as they were before a fix `made` the `texts`."""
        return [(each.path, self._trials.place_before(each, made.edits, texts)) for each in new.labels]

    def _unbinds(self, state: State, fix: Fix) -> bool:
        """True if a name has no value any more that a fix takes out, moves or brings in."""
        lacking = state.undefined - self._before.undefined
        texts = [each.new_text for each in fix.edits] if lacking else []
        texts += [self._document.slice(each.range) for each in fix.edits if lacking and each.path == self._path]
        return any(name.lstrip(".") in _WORDS.findall(text) for name in lacking for text in texts)

    def _touched(self, edits: Sequence[Edit]) -> set[Key]:
        """The reports under whose squiggle the edits change the text."""
        return {
            key
            for key, found in self._before.reports.items()
            for each in found
            for edit in edits
            if edit.path == each.path and edit.range.start <= each.range.end and each.range.start <= edit.range.end
        }

    def _runs(self, state: State, fix: Fix, diagnostic: Diagnostic) -> bool:
        """True if no failure came up that no rule reports, or only one after the fault that was hidden by it."""
        place = _raising_after(diagnostic, fix.edits)
        if any(key[2] in AUTOGRAD and (key[0], line) == place for key, line in state.lines.items()):
            return False
        new = state.failures - self._before.failures
        if not new:
            return True
        path, first = diagnostic.path, fix.edits[0].range.start.line
        fault = diagnostic.range.start.line + added(fix.edits, diagnostic.range, diagnostic.path)
        between = any(key[0] == path and first <= state.lines[key] < fault for key in new)
        of_autograd = any(kind in AUTOGRAD for _, _, kind in new)
        return state.progress > self._before.progress and not between and not of_autograd

    def _loses(self, state: State, fix: Fix, diagnostic: Diagnostic) -> bool:
        """True if a path fails that ran before, or gets no further than to where it failed, for a reason of its own."""
        kept = kept_lines(self._document, fix.edits)
        back = {new: old for old, new in kept.items()}
        fault = _raising_after(diagnostic, ())
        others = {
            (each.rule, each.range.start.line)
            for found in self._before.reports.values()
            for each in found
            if self._trials.key_of(each) != self._trials.key_of(diagnostic)
        }
        known = {
            _raising_after(each, ())
            for found in state.reports.values()
            for each in found
            if (each.rule, back.get(each.range.start.line)) in others
        }

        def stays(before: Ending, after: Ending) -> bool:
            (old, _, line), (new, _, place) = before.failures[0], after.failures[0]
            return (old, line) == fault and (new, place) not in known

        return loses(self._before.endings, state.endings, kept, stays)

    def _joined(self, one: Fix, other: Fix, texts: Texts, back: Mapping[int, int]) -> Fix:
        """Both fixes as one, which leads to `texts`; `back` says where lines were before the first."""
        safe = one.safety is Safety.SAFE and other.safety is Safety.SAFE
        before = {path: Document(path, self._trials.text_of(path)) for path in texts}
        edits = tuple(edit for path, text in texts.items() for edit in difference(before[path], text))
        repairs = tuple(dict.fromkeys((*one.repairs, *_in_lines(one.repairs, other.repairs, back))))
        safety = Safety.SAFE if safe else Safety.UNSAFE
        made = Fix.by(repairs, safety, edits, rewrite=one.rewrite or other.rewrite)
        return replace(made, eligible=one.eligible and other.eligible)


def _lines_of(diagnostics: Sequence[Diagnostic], path: str) -> set[int]:
    """The lines of a file that some diagnostics, and their fixes, are about."""
    places = {(label.path, label.range) for each in diagnostics for label in each.labels}
    places |= {(each.path, each.range) for each in diagnostics}
    places |= {(edit.path, edit.range) for each in diagnostics for fix in each.fixes for edit in fix.edits}
    return {place.start.line for file, place in places if file == path}


def _at_cost(fix: Fix, found: set[Cost]) -> Fix:
    """The fix with these costs in its title, and for a person to decide on."""
    if not found:
        return fix
    ordered = tuple(each for each in Cost if each in found)
    title = title_of(fix.repairs, ordered)
    return replace(fix, title=title, costs=ordered, safety=Safety.UNSAFE, eligible=False)


def _as_dear(fixes: list[Fix]) -> list[Fix]:
    """The fixes of one fault, where those that let two losses share a graph cost the same, however they do that."""
    if not any(Cost.MIXED in fix.costs and _sort(fix) in _SHARING for fix in fixes):
        return fixes
    return [_at_cost(fix, {*fix.costs, Cost.MIXED}) if _sort(fix) in _SHARING else fix for fix in fixes]


_PLACED = (Transformation.DETACH, Transformation.RECOMPUTE, Transformation.FORGET)

_SHARING = (Transformation.RETAIN_GRAPH, Transformation.SUM_LOSSES, Transformation.RECOMPUTE)


def _line(diagnostic: Diagnostic) -> tuple[str, int]:
    return diagnostic.path, diagnostic.range.start.line


def _raising_after(diagnostic: Diagnostic, edits: Sequence[Edit]) -> tuple[str, int]:
    """The file and line, as it is numbered after the edits, where PyTorch raises what is reported."""
    last = diagnostic.labels[-1] if diagnostic.labels else None
    path, place = (diagnostic.path, diagnostic.range) if last is None else (last.path, last.range)
    return path, place.start.line + added(edits, place, path)


def _may_be_older(new: Diagnostic, diagnostic: Diagnostic) -> bool:
    """True if what comes up after a fix, and raises nothing, may be there before, on a path that ends too early."""
    rule = _rule(new)
    another = new.level is not Level.ERROR and new.rule != diagnostic.rule
    return another and not rule.leftover and rule.uncovered_by != diagnostic.family


def _is_open(new: Diagnostic, diagnostic: Diagnostic) -> bool:
    """True if a report that comes up after a fix is a matter of that fix, too."""
    rule = _rule(new)
    if new.rule == diagnostic.rule or new.level is Level.ERROR or rule.leftover or rule.idle:
        return True
    return rule.uncovered_by == diagnostic.family


def _rule(report: Diagnostic) -> Rule:
    return RULES.get(report.rule, _OTHER)


_OTHER = Rule("", "", Level.HINT, "", lambda trace, source: iter(()))
"""What stands in for the rule of a hint at a comment."""


def _same_subject(one: Fix, other: Fix) -> bool:
    """True if two fixes are about the same thing."""
    return [each.subject for each in one.repairs[:1]] == [each.subject for each in other.repairs[:1]]


def _in_lines(done: Sequence[Repair], repairs: Sequence[Repair], back: Mapping[int, int]) -> Iterator[Repair]:
    """Repairs with the numbers that lines had before those that are done, which may have written these lines."""
    lines = {(each.way, each.text): each.lines for each in done}
    for each in repairs:
        moved = each.moved(lambda line: back.get(line, line))
        written = any(line not in back for line in each.lines)
        yield replace(moved, lines=lines.get((each.way, each.text), moved.lines)) if written else moved


def _goes_on(idle: Diagnostic, fix: Fix) -> bool:
    """True if a fix that drops one of several cuts has brought up the next one of them."""
    return fix.does(Transformation.UNDO_CUT) and _best(idle, fix) is not None


def _next(left: Sequence[Diagnostic], first: Fix) -> Fix | None:
    """The fix for what another one has uncovered first; all that it has left over goes at once."""
    over = [fix for each in left if _rule(each).leftover for fix in each.fixes if fix.edits]
    if not over or not _rule(left[0]).leftover:
        return _best(left[0], first)
    lines = dict.fromkeys(line for fix in over for line in fix.repairs[0].lines)
    changes = dict.fromkeys(edit for fix in over for edit in fix.edits)
    return replace(over[0], edits=tuple(changes), repairs=(replace(over[0].repairs[0], lines=tuple(lines)),))


def _best(diagnostic: Diagnostic, first: Fix) -> Fix | None:
    """The fix for what another one has uncovered: of the same sort, and in the same way where that is possible."""
    sort = _sort(first)
    ways, lines = {each.way for each in first.repairs[:1]}, [each.lines for each in first.repairs[:1]]
    another = _rule(diagnostic).leftover or bool(_rule(diagnostic).uncovered_by)
    fixes = [fix for fix in diagnostic.fixes if fix.edits and (another or _sort(fix) is sort)]
    order = (Safety.SAFE, Safety.UNSAFE)

    def cost(fix: Fix) -> tuple[bool, bool, bool, int]:
        """Another way, another place, what may not be preferred, and what is unsafe comes later."""
        done = fix.repairs[0]
        return done.way not in ways, done.lines not in lines, not fix.eligible, order.index(fix.safety)

    return min(fixes, key=cost, default=None)


def _sort(fix: Fix) -> Transformation | None:
    return fix.repairs[0].transformation if fix.repairs else None
