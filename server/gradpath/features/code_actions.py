"""The code actions for the diagnostics at a place."""

from __future__ import annotations

from collections.abc import Sequence

from gradpath.analysis.check import Analysis
from gradpath.diagnostic import Action, ActionKind, Diagnostic, Edit, Fix, Range, Safety
from gradpath.features.edits import compatible_safe_fixes, edited, still_parses, with_newlines_of
from gradpath.rules import RULES
from gradpath.source.cells import CellsDocument
from gradpath.source.suppress import ignore_edit
from gradpath.support.fast_dataclasses import replace

NEVER_IGNORED = frozenset({"unused-ignore"})
"""Rules about the suppression comments themselves: another comment is no way out of them."""


def actions_at(analysis: Analysis, range: Range) -> tuple[Action, ...]:
    """All actions for a range, the most useful first; the one for the whole file comes last."""
    here = [diagnostic for diagnostic in analysis.diagnostics if _touch(diagnostic.range, range)]
    whole = fix_all(analysis)
    actions = [
        *(*_fixes(here), *_same_rule(analysis, here), *_every_rule(whole, here)),
        *(*_ignores(analysis, here), *_pages(here), *whole),
    ]
    return tuple(replace(action, edits=_in_style(analysis, action.edits)) for action in actions)


def rewrites_of(analysis: Analysis, forms: Sequence[Fix], offered: Sequence[Action]) -> tuple[Action, ...]:
    """An action for each other form of a loop, unless the fix of a fault does the same."""
    known = {action.edits for action in offered}
    made = [
        Action(each.title, ActionKind.REWRITE, _in_style(analysis, each.edits), (), unsafe=each.safety is Safety.UNSAFE)
        for each in forms
    ]
    return tuple(action for action in made if action.edits not in known)


def fix_all(analysis: Analysis) -> tuple[Action, ...]:
    """One action that applies every safe fix that fits beside the others; none where there is nothing to fix.

    Fixes that would leave a file that parsed unparsable are left out.
    """
    chosen = _compatible(analysis, analysis.diagnostics)
    edits = tuple(edit for _, fix in chosen for edit in fix.edits)
    if not edits:
        return ()
    diagnostics = tuple(diagnostic for diagnostic, _ in chosen)
    return (Action("Apply all safe gradpath fixes", ActionKind.FIX_ALL, edits, diagnostics),)


def _same_rule(analysis: Analysis, diagnostics: Sequence[Diagnostic]) -> list[Action]:
    """For each rule that is broken in several places of the file, one action that mends what can be mended safely."""
    actions: list[Action] = []
    for rule in dict.fromkeys(diagnostic.rule for diagnostic in diagnostics):
        chosen = _compatible(analysis, [each for each in analysis.diagnostics if each.rule == rule])
        if len(chosen) > 1:
            edits = tuple(edit for _, fix in chosen for edit in fix.edits)
            found = tuple(diagnostic for diagnostic, _ in chosen)
            actions.append(Action(f"Fix all {rule} in this file", ActionKind.QUICK_FIX, edits, found))
    return actions


def _every_rule(whole: Sequence[Action], diagnostics: Sequence[Diagnostic]) -> list[Action]:
    """At a fault, what mends all of a file in which several rules are broken: menus of fixes have no other kind."""
    return [
        replace(each, title=f"Apply all {len(each.diagnostics)} safe fixes in this file", kind=ActionKind.QUICK_FIX)
        for each in whole
        if diagnostics and len({diagnostic.rule for diagnostic in each.diagnostics}) > 1
    ]


def _pages(diagnostics: Sequence[Diagnostic]) -> list[Action]:
    """An action for each rule that opens its page."""
    actions: list[Action] = []
    for rule in dict.fromkeys(diagnostic.rule for diagnostic in diagnostics):
        if rule in RULES:
            found = tuple(diagnostic for diagnostic in diagnostics if diagnostic.rule == rule)
            actions.append(Action(f"Read about {rule}", ActionKind.QUICK_FIX, (), found, page=rule))
    return actions


def _compatible(analysis: Analysis, diagnostics: Sequence[Diagnostic]) -> tuple[tuple[Diagnostic, Fix], ...]:
    """The safe fixes that fit beside each other, without those that would leave the file unparsable."""
    chosen = compatible_safe_fixes(diagnostics)
    if not _still_parses(analysis, [edit for _, fix in chosen for edit in fix.edits]):
        chosen = tuple(pair for pair in chosen if _still_parses(analysis, pair[1].edits))
    return chosen


def _fixes(diagnostics: Sequence[Diagnostic]) -> list[Action]:
    """An action for each fix; fixes that several diagnostics share appear once."""
    actions: dict[tuple[str, tuple[Edit, ...]], Action] = {}
    for diagnostic in diagnostics:
        for fix in diagnostic.fixes:
            if not fix.edits:
                continue
            key = (fix.title, fix.edits)
            if known := actions.get(key):
                actions[key] = replace(known, diagnostics=(*known.diagnostics, diagnostic))
                continue
            kind = ActionKind.REWRITE if fix.rewrite else ActionKind.QUICK_FIX
            unsafe = fix.safety is Safety.UNSAFE
            preferred = fix.preferred and not unsafe  # Editors apply that without asking.
            actions[key] = Action(fix.title, kind, fix.edits, (diagnostic,), preferred=preferred, unsafe=unsafe)
    return sorted(actions.values(), key=lambda action: not action.preferred)


def _ignores(analysis: Analysis, diagnostics: Sequence[Diagnostic]) -> list[Action]:
    """An action for each rule and line that adds a suppression comment."""
    actions: dict[tuple[int, str], Action] = {}
    for diagnostic in diagnostics:
        if diagnostic.rule in NEVER_IGNORED:
            continue
        key = (diagnostic.range.start.line, diagnostic.rule)
        if known := actions.get(key):
            actions[key] = replace(known, diagnostics=(*known.diagnostics, diagnostic))
            continue
        edit = ignore_edit(analysis.document, diagnostic.range.start.line, (diagnostic.rule,))
        title = f"Ignore {diagnostic.rule} on this line"
        actions[key] = Action(title, ActionKind.QUICK_FIX, (edit,), (diagnostic,))
    return list(actions.values())


def _touch(one: Range, other: Range) -> bool:
    """True if two ranges share a place; the end counts, so that a cursor after the last character still matches."""
    return one.start <= other.end and other.start <= one.end


def _in_style(analysis: Analysis, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    document = analysis.document
    return tuple(with_newlines_of(document, edit) if edit.path == document.path else edit for edit in edits)


def _still_parses(analysis: Analysis, edits: Sequence[Edit]) -> bool:
    """True if the document parses after the edits, if it did before."""
    path = analysis.document.path
    notebook = isinstance(analysis.document, CellsDocument)
    if not edits or (analysis.parsed.problems and not notebook):
        return True
    after = edited(analysis.document, [edit for edit in edits if edit.path == path])
    return after is not None and still_parses(analysis.document, after)
