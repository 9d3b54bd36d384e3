"""What is offered and told about an analysis, apart from any protocol."""

from __future__ import annotations

import random
import re

import pytest

from gradpath.analysis.check import Analysis
from gradpath.diagnostic import ActionKind, Diagnostic, Edit, Fix, Label, Level, Position, Range, Safety
from gradpath.features.code_actions import actions_at, fix_all
from gradpath.features.hover import Hover, Section, as_markdown, as_text, hover_at
from gradpath.features.life import Story
from gradpath.source.document import Document
from gradpath.source.edits import apply_edits
from gradpath.source.parse import parse

PATH = "train.py"
EVERYWHERE = Range(Position(1, 1), Position(99, 1))


def at(line: int, start: int, end: int | None = None) -> Range:
    return Range(Position(line, start), Position(line, start if end is None else end))


def edit(place: Range, text: str) -> Edit:
    return Edit(PATH, place, text)


def fault(place: Range, *fixes: Fix, rule: str = "some-rule") -> Diagnostic:
    return Diagnostic(PATH, place, rule, "graph", Level.ERROR, "a fault", fixes=fixes)


def analysed(text: str, *diagnostics: Diagnostic) -> Analysis:
    document = Document(PATH, text)
    return Analysis(document, parse(document), diagnostics)


def fixed(analysis: Analysis) -> str | None:
    actions = fix_all(analysis)
    return apply_edits(analysis.document, actions[0].edits) if actions else None


def test_insertions_at_one_place_keep_their_order() -> None:
    document = Document(PATH, "f()\n")
    assert apply_edits(document, [edit(at(1, 3), "a, "), edit(at(1, 3), "b"), edit(at(1, 1, 2), "g")]) == "g(a, b)\n"


def test_fixing_all_takes_the_preferred_fix_of_each_fault() -> None:
    unsafe = Fix("no", Safety.UNSAFE, (edit(at(1, 1, 2), "q"),))
    safe = Fix("yes", Safety.SAFE, (edit(at(1, 1, 2), "x"),), preferred=True)
    also_safe = Fix("also", Safety.SAFE, (edit(at(1, 1, 2), "y"),))
    other = Fix("other", Safety.SAFE, (edit(at(2, 1, 2), "z"),), preferred=True)
    analysis = analysed("a\nb\n", fault(at(1, 1, 2), unsafe, safe, also_safe), fault(at(2, 1, 2), other))
    assert fixed(analysis) == "x\nz\n"


def test_fixing_all_leaves_out_what_gets_in_the_way_of_another_fix() -> None:
    one = Fix("one", Safety.SAFE, (edit(at(1, 1, 4), "x"),), preferred=True)
    other = Fix("other", Safety.SAFE, (edit(at(1, 3, 6), "y"), edit(at(2, 1), "z")), preferred=True)
    assert fixed(analysed("abcdef\nb\n", fault(at(1, 1), one), fault(at(1, 2), other))) == "xdef\nb\n"


def test_fixing_all_applies_a_shared_fix_once() -> None:
    keep = Fix("keep", Safety.SAFE, (edit(at(1, 3), "retain_graph=True"),), preferred=True)
    assert fixed(analysed("f()\n", fault(at(1, 1), keep), fault(at(1, 2), keep))) == "f(retain_graph=True)\n"


def test_fixing_all_leaves_out_a_fix_that_breaks_the_text() -> None:
    breaks = Fix("breaks", Safety.SAFE, (edit(at(1, 1, 2), "("),), preferred=True)
    works = Fix("works", Safety.SAFE, (edit(at(2, 1, 2), "x"),), preferred=True)
    assert fixed(analysed("a\nb\n", fault(at(1, 1), breaks), fault(at(2, 1), works))) == "a\nx\n"
    assert fix_all(analysed("a\nb\n", fault(at(1, 1), breaks))) == ()


def test_a_fix_that_two_faults_share_is_offered_once() -> None:
    keep = Fix("keep", Safety.SAFE, (edit(at(1, 3), "x"),), preferred=True)
    analysis = analysed("f()\n", fault(at(1, 1, 2), keep), fault(at(1, 2, 3), keep))
    [action] = [action for action in actions_at(analysis, EVERYWHERE) if action.title == "keep"]
    assert len(action.diagnostics) == 2
    assert action.preferred


def test_an_unsafe_fix_is_never_the_preferred_one() -> None:
    unsafe = Fix("no", Safety.UNSAFE, (edit(at(1, 1, 2), "q"),), preferred=True)
    analysis = analysed("a\n", fault(at(1, 1, 2), unsafe))
    assert not any(action.preferred for action in actions_at(analysis, EVERYWHERE))
    assert fixed(analysis) is None


def test_a_fix_without_edits_is_not_offered() -> None:
    advice = Fix("think", Safety.UNSAFE)
    actions = actions_at(analysed("a\n", fault(at(1, 1, 2), advice)), EVERYWHERE)
    assert [action.title for action in actions] == ["Ignore some-rule on this line"]


def test_a_comment_without_effect_is_not_ignored_by_another() -> None:
    remove = Fix("Remove it", Safety.SAFE, (edit(at(1, 1, 2), "b"),), preferred=True)
    actions = actions_at(analysed("a\n", fault(at(1, 1, 2), remove, rule="unused-ignore")), EVERYWHERE)
    assert [(action.title, action.kind) for action in actions] == [
        ("Remove it", ActionKind.QUICK_FIX),
        ("Apply all safe gradpath fixes", ActionKind.FIX_ALL),
    ]


def test_where_several_rules_are_broken_one_quick_fix_mends_them_all() -> None:
    first = fault(at(1, 1, 2), Fix("b", Safety.SAFE, (edit(at(1, 1, 2), "b"),), preferred=True), rule="one")
    second = fault(at(2, 1, 2), Fix("d", Safety.SAFE, (edit(at(2, 1, 2), "d"),), preferred=True), rule="other")
    every = "Apply all 2 safe fixes in this file"
    titles = {action.title: action for action in actions_at(analysed("a\nc\n", first, second), at(1, 1))}
    assert titles[every].kind is ActionKind.QUICK_FIX
    assert [each.new_text for each in titles[every].edits] == ["b", "d"]
    assert every not in {action.title for action in actions_at(analysed("a\n", first), at(1, 1))}
    assert every not in {action.title for action in actions_at(analysed("a\nc\n\n", first, second), at(3, 1))}


def test_names_keep_their_underscores_in_markdown() -> None:
    training = Story(at(1, 1), "`a_b` and __init__", ("*args", "<grad_fn>"))
    hover = hover_at(analysed("x\n"), Position(1, 1), training=training)
    assert hover is not None
    assert as_markdown(hover) == "**`a_b` and \\_\\_init\\_\\_**\n\n- \\*args\n- \\<grad\\_fn\\>"


def prose(markdown: str) -> str:
    """What CommonMark takes for text: without code, whose ends are runs of backticks of one length, and escapes."""
    left, at = "", 0
    while at < len(markdown):
        if markdown[at] == "\\":
            at += 2
            continue
        run = re.match("`+", markdown[at:])
        if run is None:
            left += markdown[at]
            at += 1
            continue
        end = re.search(f"(?<!`){run[0]}(?!`)", markdown[at + len(run[0]) :])
        if end is None:
            left += run[0]
        at += len(run[0]) + (0 if end is None else end.end())
    return left


@pytest.mark.parametrize("seed", range(30))
def test_nothing_of_a_program_becomes_a_link_or_a_picture(seed: int) -> None:
    links = ("[a](//b)", "![x](y)", "<b>", "http://a.b", "www.a.b", "a@b.c", "&lt;")
    pieces = ("`", "``", "```", *links, "\\", " ", "x", "\n\n", "#")
    text = "".join(random.Random(seed).choices(pieces, k=60))
    hover = Hover(at(1, 1, 2), (Section(f"`{text}`", (text, f"line 1: `f({text})`"), (text,)),))
    left = prose(as_markdown(hover).replace("\n\n- ", "").replace("**", ""))
    assert not set(left) & set("[]<>`@#&!") - {"!"}
    assert "://" not in left
    assert "www." not in left


def test_the_program_that_broke_out_of_its_code_does_not() -> None:
    text = '`w.mul(2, *["`","```[a](//b)`"][2:]).sum()` has no graph'
    assert "[" not in prose(as_markdown(Hover(at(1, 1, 2), (Section(text, (), ()),))))


def test_a_step_in_another_file_names_it() -> None:
    label = Label("model.py", at(7, 1), "built here")
    diagnostic = Diagnostic(PATH, at(1, 1, 2), "some-rule", "graph", Level.ERROR, "a fault", labels=(label,))
    hover = hover_at(analysed("x\n", diagnostic), Position(1, 1))
    assert hover is not None
    assert as_text(hover).splitlines() == ["a fault (some-rule)", "1. model.py, line 7: built here"]
