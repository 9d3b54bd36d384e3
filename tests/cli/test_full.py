"""How a diagnostic looks to a person: the story under its source."""

from __future__ import annotations

import pytest

from gradpath.diagnostic import Diagnostic, Label, Level, Position, Range
from gradpath.render.full import render_full
from gradpath.render.style import Style
from gradpath.source.document import Document

GAN = """\
fake = G(z)
loss_d = bce(D(fake), zeros)
loss_d.backward()
loss_g = bce(D(fake), ones)
loss_g.backward()
"""


def place(document: Document, line: int, text: str) -> Range:
    start = document.line(line).index(text) + 1
    return Range(Position(line, start), Position(line, start + len(text)))


def label(document: Document, line: int, text: str, message: str, *, primary: bool = False) -> Label:
    return Label(document.path, place(document, line, text), message, primary)


def diagnostic(document: Document, *labels: Label, **more: object) -> Diagnostic:
    primary = next((label for label in labels if label.primary), labels[-1])
    fields: dict[str, object] = {"message": "the headline", "labels": labels, **more}
    return Diagnostic(document.path, primary.range, "double-backward", "graph", Level.ERROR, **fields)  # type: ignore[arg-type]


def rendered(found: Diagnostic, *documents: Document) -> str:
    texts = {document.path: document for document in documents}
    return render_full(found, texts.get)


def test_a_whole_story() -> None:
    document = Document("train.py", "\n" * 26 + "".join(f"    {line}\n" for line in GAN.splitlines()))
    found = diagnostic(
        document,
        label(document, 27, "G(z)", "G's graph is built"),
        label(document, 28, "fake", "D's loss hangs on it: `fake` is not detached"),
        label(document, 29, "loss_d.backward()", "frees both"),
        label(document, 31, "loss_g.backward()", "needs G's graph again", primary=True),
        message="`loss_g.backward()` goes back through G's graph, which `loss_d.backward()` has freed",
        pytorch="RuntimeError: Trying to backward through the graph a second time ...",
        help="D learns nothing through G: `D(fake.detach())` on line 28 leaves G's graph whole",
        alternatives=("add the losses and call backward once", "keep the graph with retain_graph=True on line 29"),
    )
    assert rendered(found, document) == (
        """\
train.py:31:5: error[double-backward]: `loss_g.backward()` goes back through G's graph, which `loss_d.backward()` has freed
   27 |     fake = G(z)
      |            ---- 1. G's graph is built
   28 |     loss_d = bce(D(fake), zeros)
      |                    ---- 2. D's loss hangs on it: `fake` is not detached
   29 |     loss_d.backward()
      |     ----------------- 3. frees both
   30 |     loss_g = bce(D(fake), ones)
   31 |     loss_g.backward()
      |     ^^^^^^^^^^^^^^^^^ 4. needs G's graph again
   PyTorch: RuntimeError: Trying to backward through the graph a second time ...
   help: D learns nothing through G: `D(fake.detach())` on line 28 leaves G's graph whole
   or: add the losses and call backward once · keep the graph with retain_graph=True on line 29"""  # noqa: E501
    )


def test_what_is_no_way_out_has_its_own_line() -> None:
    document = Document("a.py", "x\n")
    found = diagnostic(
        document, label(document, 1, "x", "", primary=True), help="h", alternatives=("not a way out: y",)
    )
    assert rendered(found, document).splitlines()[3:] == ["   help: h", "   not a way out: y"]


def test_labels_on_one_line_are_stacked_in_execution_order() -> None:
    document = Document("a.py", "loss.backward(); total.backward()\n")
    found = diagnostic(
        document,
        label(document, 1, "loss.backward()", "frees"),
        label(document, 1, "total.backward()", "needs it again", primary=True),
        label(document, 1, "loss", "and once more"),
    )
    assert rendered(found, document).splitlines()[1:] == [
        "    1 | loss.backward(); total.backward()",
        "      | --------------- 1. frees",
        "      |                  ^^^^^^^^^^^^^^^^ 2. needs it again",
        "      | ---- 3. and once more",
    ]


def test_a_step_that_stands_higher_up_is_shown_when_it_runs() -> None:
    document = Document("a.py", "for x in y:\n    a = f(h)\n    g()\n    a.backward()\n")
    found = diagnostic(
        document,
        label(document, 4, "a.backward()", "frees, in the first iteration"),
        label(document, 2, "f(h)", "in the next iteration", primary=True),
    )
    assert rendered(found, document).splitlines()[1:] == [
        "    4 |     a.backward()",
        "      |     ------------ 1. frees, in the first iteration",
        "   ...",
        "    2 |     a = f(h)",
        "      |         ^^^^ 2. in the next iteration",
    ]


@pytest.mark.parametrize(
    ("between", "shown"),
    [
        (["g()"], ["    2 | g()"]),
        (["", "g()", "# why"], ["    3 | g()"]),
        (["g()", "h()"], ["   ..."]),
        (["# why"], []),
        ([], []),
    ],
)
def test_a_single_line_of_code_between_two_steps_is_shown_and_more_are_told_by_dots(
    between: list[str], shown: list[str]
) -> None:
    document = Document("a.py", "\n".join(["a = f()", *between, "a.backward()"]))
    found = diagnostic(
        document,
        label(document, 1, "f()", "one"),
        label(document, document.line_count, "a.backward()", "two", primary=True),
    )
    assert rendered(found, document).splitlines()[3:-2] == shown


def test_a_label_in_another_file_is_introduced_by_its_name() -> None:
    document, model = Document("train.py", "y = net(x)\ny.backward()\n"), Document("models/net.py", "\n\nz = x * w\n")
    found = diagnostic(
        document,
        label(document, 1, "net(x)", "calls"),
        label(model, 3, "x * w", "saves"),
        label(document, 2, "y.backward()", "frees", primary=True),
    )
    assert rendered(found, document, model).splitlines()[1:] == [
        "    1 | y = net(x)",
        "      |     ------ 1. calls",
        "   in models/net.py",
        "    3 | z = x * w",
        "      |     ----- 2. saves",
        "   in train.py",
        "    2 | y.backward()",
        "      | ^^^^^^^^^^^^ 3. frees",
    ]
    assert "   models/net.py:3:5: 2. saves" in rendered(found, document).splitlines()


def test_a_long_range_underlines_its_first_line() -> None:
    document = Document("a.py", "x = f(  \n    1,\n)\n")
    found = diagnostic(document, Label("a.py", Range(Position(1, 5), Position(3, 2)), "here", primary=True))
    assert rendered(found, document).splitlines()[1:] == ["    1 | x = f(", "      |     ^^ here"]


def test_a_diagnostic_without_labels_shows_its_range() -> None:
    document = Document("a.py", "x = 1\n")
    found = Diagnostic("a.py", place(document, 1, "1"), "unused-ignore", "", Level.HINT, "nothing to ignore")
    assert rendered(found, document).splitlines() == [
        "a.py:1:5: hint[unused-ignore]: nothing to ignore",
        "    1 | x = 1",
        "      |     ^",
    ]


@pytest.mark.parametrize(
    ("line", "shown", "column"),
    [
        ("\tbad()", "    bad()", 4),
        ("a\tbad()", "a   bad()", 4),
        ("s = '字😀'; bad()", "s = '字😀'; bad()", 12),
        ("s = 'e\u0301'; bad()", "s = 'e\u0301'; bad()", 9),
        ("s = '👩\u200d💻'; bad()", "s = '👩\u200d💻'; bad()", 12),
        ("s = '\x1b[31m\x07'; bad()", "s = '␛[31m␇'; bad()", 14),
        ("s = '\u202e\u2028\x9b'; bad()", "s = '\ufffd\ufffd\ufffd'; bad()", 11),
    ],
)
def test_underlines_stand_under_their_text_and_nothing_controls_the_terminal(
    line: str, shown: str, column: int
) -> None:
    document = Document("a.py", line + "\n")
    found = diagnostic(document, label(document, 1, "bad()", "", primary=True))
    assert rendered(found, document).splitlines()[1:] == [f"    1 | {shown}", "      | " + " " * column + "^^^^^"]


def test_control_characters_in_words_are_made_visible() -> None:
    document = Document("a.py", "x\n")
    found = diagnostic(
        document,
        label(document, 1, "x", "a\nb\x1b", primary=True),
        message="m\x1b[0m\r\nn",
        help="\x07",
        pytorch="\x08",
    )
    assert all(character >= " " or character == "\n" for character in rendered(found, document))
    assert len(rendered(found, document).splitlines()) == 5


def test_a_very_long_line_is_cut_around_the_label() -> None:
    document = Document("a.py", f"x = [{'1, ' * 5000}bad(), {'2, ' * 5000}]\n")
    found = diagnostic(document, label(document, 1, "x", "one"), label(document, 1, "bad()", "two", primary=True))
    lines = rendered(found, document).splitlines()
    assert max(map(len, lines)) < 200
    source, underline = lines[3:]
    assert underline.rstrip(" 2.two").endswith("^^^^^")
    start = underline.index("^")
    assert source[start : start + 5] == "bad()"


def test_a_place_behind_the_end_of_the_text_is_told_without_source() -> None:
    document = Document("a.py", "x\n")
    found = diagnostic(document, Label("a.py", Range(Position(9, 1), Position(9, 4)), "gone", primary=True))
    assert rendered(found, document).splitlines()[1:] == ["   a.py:9:1: gone"]


def test_line_numbers_of_any_length_keep_the_gutter_straight() -> None:
    document = Document("a.py", "\n" * 123_455 + "x\n")
    found = diagnostic(document, label(document, 123_456, "x", "here", primary=True))
    assert rendered(found, document).splitlines()[1:] == ["  123456 | x", "         | ^ here"]


def test_colour_changes_nothing_but_colour() -> None:
    document = Document("a.py", GAN)
    found = diagnostic(
        document, label(document, 1, "G(z)", "one"), label(document, 5, "loss_g", "two", primary=True), help="h"
    )
    coloured = render_full(found, {"a.py": document}.get, Style(colour=True))
    plain = coloured
    for code in ("0", "1", "2", "1;31", "1;32", "34", "36"):
        plain = plain.replace(f"\x1b[{code}m", "")
    assert plain == rendered(found, document)
    assert "\x1b[1;31merror[double-backward]\x1b[0m" in coloured


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_on_a_narrow_terminal_every_line_fits_and_no_word_is_lost(width: int) -> None:
    text = GAN.replace("loss_d = bce(D(fake), zeros)", "loss_d = binary_cross_entropy(D(fake), zeros_like_the_batch)")
    document = Document("train.py", text)
    found = diagnostic(
        document,
        label(document, 1, "G(z)", "the graph of `fake` is built"),
        label(document, 2, "D(fake)", "the loss depends on it: `fake` is not detached"),
        label(document, 5, "loss_g.backward()", "needs it again", primary=True),
        message="`loss_g.backward()` needs the graph of `fake`, but `loss_d.backward()` already freed it",
        pytorch="RuntimeError: Trying to backward through the graph a second time, and so on and on",
        help="write `fake.detach()` on line 2: `loss_d.backward()` trains nothing upstream of `fake`",
        alternatives=("add the losses", "run it again", "not a way out: retain_graph=True, which fails all the same"),
    )
    narrow = render_full(found, {"train.py": document}.get, Style(width=width))
    assert max(map(len, narrow.splitlines())) <= width
    wide = rendered(found, document)
    told = [line for line in wide.splitlines() if "|" not in line]
    for word in " ".join(told).split():
        assert word in narrow
    for number, text in enumerate(("the graph of", "the loss depends on", "needs it again"), start=1):
        assert f"{number}. {text}" in narrow


def test_a_path_with_spaces_that_fills_the_line_is_shown_once() -> None:
    document = Document("a folder/with many words in its name/train.py", GAN)
    found = diagnostic(document, label(document, 5, "loss_g.backward()", "needs it again", primary=True))
    first, *_ = render_full(found, {document.path: document}.get, Style(width=40)).splitlines()
    assert first == f"{document.path}:5:1: error[double-backward]:"
    assert render_full(found, {document.path: document}.get, Style(width=40)).count("with many words") == 1
