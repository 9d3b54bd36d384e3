"""Suppression comments: what they silence, what is said of those that silence nothing, and how they are written."""

from __future__ import annotations

import ast
import random

import pytest

from gradpath.diagnostic import Diagnostic, Edit, Level, Position, Range, Safety
from gradpath.source.document import Document
from gradpath.source.parse import parse
from gradpath.source.suppress import apply_suppressions, ignore_edit

KNOWN = {"double-backward", "detached-loss", "graph", "detach", "unused-ignore"}


def fault(line: int, rule: str = "double-backward", family: str = "graph", path: str = "a.py") -> Diagnostic:
    return Diagnostic(path, Range(Position(line, 1), Position(line, 2)), rule, family, Level.ERROR, "message")


def outcome(text: str, *faults: Diagnostic, **names: set[str]) -> tuple[list[str], list[str]]:
    """The rules that are still reported, and the messages of the hints."""
    document = Document("a.py", text)
    found = apply_suppressions(document, parse(document), faults, **names)
    assert all(hint.level is Level.HINT and hint.family == "suppression" for hint in found if hint not in faults)
    assert all(len(hint.message) <= 120 for hint in found)
    return [each.rule for each in found if each in faults], [each.message for each in found if each not in faults]


def applied(text: str, edit: Edit) -> str:
    document = Document("a.py", text)
    return text[: document.offset(edit.range.start)] + edit.new_text + text[document.offset(edit.range.end) :]


def after_fixes(text: str, *faults: Diagnostic, **names: set[str]) -> str:
    """The text after the fixes of all hints, one after the other."""
    while True:
        document = Document("a.py", text)
        hints = [d for d in apply_suppressions(document, parse(document), faults, **names) if d.rule == "unused-ignore"]
        if not hints:
            return text
        fix = hints[0].fixes[-1]
        [edit] = fix.edits
        assert fix.safety is Safety.SAFE
        text = applied(text, edit)


@pytest.mark.parametrize(
    "comment",
    [
        "# gradpath: ignore[double-backward]",
        "#gradpath:ignore[double-backward]",
        "# gradpath: ignore [ detached-loss ,double-backward ]",
        "# gradpath: ignore",
        "# gradpath: ignore because of the second pass",
        "# gradpath: ignore[graph]",
        "# noqa  # gradpath: ignore[double-backward]",
        "# gradpath: ignore[double-backward]  # noqa: E501",
        "# type: ignore[attr-defined]  # gradpath: ignore[double-backward] # pragma: no cover",
    ],
)
def test_a_comment_silences_its_line(comment: str) -> None:
    kept, _ = outcome(f"x = 1\nloss.backward()  {comment}\n", fault(2))
    assert kept == []
    kept, _ = outcome(f"x = 1  {comment}\nloss.backward()\n", fault(2))
    assert kept == ["double-backward"]


@pytest.mark.parametrize(
    "comment",
    [
        "# gradpath: ignore[detached-loss]",
        "# gradpath: ignored[double-backward]",
        "# gradpath: ignore-files[double-backward]",
        "# gradpath: ignore[double-backward",
        "# gradpath: ignore[]",
        "# gradpath ignore",
        "# noqa",
        "# the gradpath: ignore",
        '; s = "# gradpath: ignore"',
        "; s = '''# gradpath: ignore'''",
    ],
)
def test_what_is_no_suppression_of_the_rule_silences_nothing(comment: str) -> None:
    kept, _ = outcome(f"loss.backward(){comment}\n", fault(1))
    assert kept == ["double-backward"]


def test_a_suppression_holds_for_this_file_alone() -> None:
    kept, _ = outcome("x = 1  # gradpath: ignore\n", fault(1, path="b.py"))
    assert kept == ["double-backward"]


STATEMENT = "x = f(  {0}\n    a,  {1}\n    b)  {2}\ny = 1\n"
HEADER = "if f(  {0}\n    a,  {1}\n    b):  {2}\n    y = 1\n"


@pytest.mark.parametrize("text", [STATEMENT, HEADER, "class A:\n  def f(  {0}\n    a,  {1}\n    b):  {2}\n    y = 1\n"])
def test_the_first_line_holds_for_the_whole_statement_and_the_others_for_themselves(text: str) -> None:
    first = 1 + text.startswith("class")
    places = ["", "", ""]
    for commented in range(3):
        places[commented] = "# gradpath: ignore"
        silenced = [line for line in range(3) if not outcome(text.format(*places), fault(first + line))[0]]
        assert silenced == ([0, 1, 2] if commented == 0 else [commented])
        assert outcome(text.format(*places), fault(first + 3))[0] == ["double-backward"]
        places[commented] = ""


def test_a_header_does_not_cover_its_block() -> None:
    text = "for x in loader:  # gradpath: ignore\n    loss.backward()\n"
    assert outcome(text, fault(2))[0] == ["double-backward"]


@pytest.mark.parametrize(
    "text", ["x = '''\n{}  \n''' + f(y)  # gradpath: ignore\n", "x = 1 + \\\n  2 + \\\n  f(y)  # gradpath: ignore\n"]
)
def test_the_last_line_stands_in_where_the_first_can_have_no_comment(text: str) -> None:
    for line in (1, 2, 3):
        assert outcome(text, fault(line)) == ([], [])


@pytest.mark.parametrize(
    "head",
    [
        "# gradpath: ignore-file[double-backward]\n",
        "#!/usr/bin/env python\n# a licence\n# gradpath: ignore-file\n\n",
        '"""A docstring."""\n\n# gradpath: ignore-file[graph]\n',
        '"""A docstring."""  # gradpath: ignore-file\n',
        "# gradpath: ignore-file[double-backward, detached-loss]\n# another comment\n",
    ],
)
def test_a_comment_above_the_first_statement_holds_for_the_file(head: str) -> None:
    text = f"{head}@decorated\ndef f():\n    loss.backward()\n"
    assert outcome(text, fault(text.count("\n")))[0] == []


def test_a_suppression_of_the_file_below_a_statement_holds_for_nothing() -> None:
    kept, hints = outcome("import torch\n# gradpath: ignore-file\nloss.backward()\n", fault(3))
    assert kept == ["double-backward"]
    assert hints == ["`ignore-file` suppresses nothing here: it must be above the first statement"]


def test_a_comment_in_broken_code_still_holds_and_draws_no_hints() -> None:
    text = "def f(:\n    x = (\nloss.backward()  # gradpath: ignore[double-backward]\ny = 1  # gradpath: ignore\n"
    assert outcome(text, fault(3)) == ([], [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1  # gradpath: ignore[detached-loss]\n", "this `ignore` suppresses nothing"),
        ("x = 1  # gradpath: ignore\n", "this `ignore` suppresses nothing"),
        ("# gradpath: ignore-file\nx = 1\n", "this `ignore-file` suppresses nothing"),
        ("x = 1  # gradpath: ignore[detached-loss\n", "the list of this `ignore` lacks its closing bracket"),
        (
            "x = 1  # gradpath: ignore[doubel-backward]\n",
            "no rule is called `doubel-backward`; did you mean `double-backward`?",
        ),
        ("x = 1  # gradpath: ignore[zzz]\n", "no rule is called `zzz`"),
        (
            "# gradpath: ignore\nx = 1\n",
            "`ignore` on a line of its own suppresses nothing: it must be at the end of the line it is for",
        ),
    ],
)
def test_a_suppression_without_effect_draws_a_hint(text: str, message: str) -> None:
    assert outcome(text, known=KNOWN)[1] == [message]


def test_a_mistyped_rule_is_corrected_by_a_fix_that_no_one_applies_unasked() -> None:
    text = "loss.backward()  # noqa  # gradpath: ignore[detached-loss, doubel_backward]\n"
    document = Document("a.py", text)
    hint = apply_suppressions(document, parse(document), [fault(1, "detached-loss")], known=KNOWN)[-1]
    correct, remove = hint.fixes
    assert (correct.title, correct.safety, correct.preferred) == ("Write `double-backward`", Safety.UNSAFE, True)
    assert applied(text, correct.edits[0]).endswith("# noqa  # gradpath: ignore[detached-loss, double-backward]\n")
    assert (remove.safety, remove.preferred) == (Safety.SAFE, False)


def test_a_hint_names_what_is_superfluous_in_a_list() -> None:
    text = "loss.backward()  # gradpath: ignore[double-backward, detached-loss]\n"
    assert outcome(text, fault(1)) == ([], ["`ignore` suppresses nothing here for `detached-loss`"])


def test_without_the_catalogue_no_name_is_called_unknown() -> None:
    assert outcome("x = 1  # gradpath: ignore[zzz]\n")[1] == ["this `ignore` suppresses nothing"]


def test_the_nearest_suppression_is_the_one_that_is_used() -> None:
    text = "# gradpath: ignore-file[double-backward]\nloss.backward()  # gradpath: ignore[double-backward]\n"
    assert outcome(text, fault(2)) == ([], ["this `ignore-file` suppresses nothing"])


def test_rules_that_are_switched_off_are_no_fault() -> None:
    text = "x = 1  # gradpath: ignore[detached-loss]\n"
    assert outcome(text, known=KNOWN, active=KNOWN - {"detached-loss"})[1] == []
    assert outcome(text, known=KNOWN, active=KNOWN)[1] == ["this `ignore` suppresses nothing"]
    assert outcome("x = 1  # gradpath: ignore\n", known=KNOWN, active=KNOWN - {"unused-ignore"})[1] == []


@pytest.mark.parametrize(
    "text",
    [
        "# gradpath: ignore-file[unused-ignore]\nx = 1  # gradpath: ignore[detached-loss]\n",
        "# gradpath: ignore-file\nx = 1  # gradpath: ignore[detached-loss]\n",
        "x = 1  # gradpath: ignore[detached-loss, unused-ignore]\n",
    ],
)
def test_hints_can_be_suppressed_too(text: str) -> None:
    assert outcome(text)[1] == []


def test_a_hint_lies_on_the_suppression() -> None:
    document = Document("a.py", "é = 1  # noqa  # gradpath: ignore[graph] because\n")
    [hint] = apply_suppressions(document, parse(document), ())
    assert document.slice(hint.range) == "# gradpath: ignore[graph]"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # gradpath: ignore[graph]\ny\n", "x = 1\ny\n"),
        ("x = 1\t # gradpath: ignore[graph]", "x = 1"),
        ("x = 1  # gradpath: ignore[graph] for now\ny\n", "x = 1\ny\n"),
        ("x = 1  # noqa  # gradpath: ignore[graph]\ny\n", "x = 1  # noqa\ny\n"),
        ("x = 1  # gradpath: ignore  # noqa\ny\n", "x = 1  # noqa\ny\n"),
        ("x = 1  # a  # gradpath: ignore # b\n", "x = 1  # a  # b\n"),
        ("# gradpath: ignore-file\nx = 1\n", "x = 1\n"),
        ("a\n    # gradpath: ignore\nx = 1\n", "a\nx = 1\n"),
        ("x = 1\n# gradpath: ignore", "x = 1\n"),
        ("x = 1  # gradpath: ignore[graph] # gradpath: ignore[detach]\n", "x = 1\n"),
    ],
)
def test_the_fix_removes_the_suppression_and_nothing_else(before: str, after: str, newline: str) -> None:
    assert after_fixes(before.replace("\n", newline)) == after.replace("\n", newline)


@pytest.mark.parametrize(
    ("names", "left"),
    [
        ("double-backward, detached-loss", "double-backward"),
        ("detached-loss,double-backward", "double-backward"),
        ("zzz, graph, detach", "graph"),
    ],
)
def test_the_fix_shortens_a_list_that_is_partly_used(names: str, left: str) -> None:
    text = "loss.backward()  # gradpath: ignore[{}]  # noqa\n"
    assert after_fixes(text.format(names), fault(1), known=KNOWN) == text.format(left)


@pytest.mark.parametrize(
    ("before", "line", "after"),
    [
        ("x = 1\ny = 2\n", 1, "x = 1  # gradpath: ignore[graph]\ny = 2\n"),
        ("x = 1\ny = 2", 2, "x = 1\ny = 2  # gradpath: ignore[graph]"),
        ("x = 1  # noqa\n", 1, "x = 1  # noqa  # gradpath: ignore[graph]\n"),
        ("x = 1 \t\r\ny = 2\r\n", 1, "x = 1  # gradpath: ignore[graph]\r\ny = 2\r\n"),
        ("x = 1  # gradpath: ignore[detach]\n", 1, "x = 1  # gradpath: ignore[detach, graph]\n"),
        ("x = 1  # gradpath: ignore[detach] # noqa\n", 1, "x = 1  # gradpath: ignore[detach, graph] # noqa\n"),
        ("x = 1  # gradpath: ignore[]\n", 1, "x = 1  # gradpath: ignore[graph]\n"),
        ("x = 1  # gradpath: ignore[graph]\n", 1, "x = 1  # gradpath: ignore[graph]\n"),
        ("x = 1  # gradpath: ignore\n", 1, "x = 1  # gradpath: ignore\n"),
        ("x = f(\n    '#')\n", 2, "x = f(\n    '#')  # gradpath: ignore[graph]\n"),
        ("x = '''a\nb\n''' + c\n", 1, "x = '''a\nb\n''' + c  # gradpath: ignore[graph]\n"),
        ("x = (1, '''a\nb\n''' + c)\n", 2, "x = (1, '''a\nb\n''' + c)  # gradpath: ignore[graph]\n"),
        ("f(\n  '''a\nb\n''' + c)\n", 3, "f(  # gradpath: ignore[graph]\n  '''a\nb\n''' + c)\n"),
        ("x = 1 + \\\n    2\n", 1, "x = 1 + \\\n    2  # gradpath: ignore[graph]\n"),
    ],
)
def test_a_suppression_is_added_where_it_holds(before: str, line: int, after: str) -> None:
    assert applied(before, ignore_edit(Document("a.py", before), line, ["graph"])) == after


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_an_added_suppression_silences_every_line_of_any_text() -> None:
    at = random.Random(5)
    parts = [
        "x = 1",
        "f(",
        ")",
        "\n",
        "\n",
        "'''",
        "a",
        " # c",
        " \\",
        "    ",
        "'s'",
        ", ",
        "é",
        "if x:",
        "\r\n",
        '"',
        "#",
    ]
    tried = 0
    for _ in range(20_000):
        text = "".join(at.choices(parts, k=at.randrange(1, 12)))
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        for node in tree.body:
            tried += 1
            line = node.lineno
            new = applied(text, ignore_edit(Document("a.py", text), line, ["double-backward"]))
            assert ast.dump(ast.parse(new)) == ast.dump(tree), (text, new)
            assert outcome(new, fault(line))[0] == [], (text, new)
    assert tried > 2_000
