from __future__ import annotations

import pytest

from gradpath.diagnostic import Level
from tests.documents.grammar import PRELUDE, Fact, Malformed, Note, Place, Raise, Report, Source, read_source


def _read(text: str, first_line: int = 1) -> Source:
    return read_source("example.py", text, "page.md", first_line, prelude=True)


def test_claims_are_read_and_taken_out() -> None:
    source = _read(
        'y = x.exp()  # note: "saved here"\n'
        "y += 1  # one more # error: [inplace-on-saved] \"overwrites\" at 'y += 1'  # hint: [other]\n"
        'y.backward()  # raises: RuntimeError "by an \\"inplace\\" operation" # torch: len("#") == 1\n',
        10,
    )
    assert source.bare == "y = x.exp()\ny += 1  # one more\ny.backward()\n"
    assert source.claims == (
        Note(Place("page.md", 10), "saved here"),
        Report(Place("page.md", 11), Level.ERROR, "inplace-on-saved", "overwrites", "y += 1"),
        Report(Place("page.md", 11), Level.HINT, "other"),
        Raise(Place("page.md", 12), "RuntimeError", 'by an "inplace" operation'),
        Fact(Place("page.md", 12), 'len("#") == 1'),
    )


def test_a_claim_alone_on_its_line_belongs_to_the_next_line_of_code() -> None:
    source = _read("a = 1\n# error: [first]\n# just a comment\n\n# torch: a == 1\nb = 2\n")
    assert source.bare == "a = 1\n# just a comment\n\nb = 2\n"
    assert source.claims == (Fact(Place("page.md", 5), "a == 1"), Report(Place("page.md", 6), Level.ERROR, "first"))
    assert [source.place_of(line).line for line in range(2, 6)] == [1, 3, 4, 6]


def test_the_prelude_stands_before_programs_that_import_nothing() -> None:
    assert _read("x = 1\n", 5).text == PRELUDE + "x = 1\n"
    assert _read("x = 1\n", 5).place_of(2) == Place("page.md", 5)
    assert _read("def f():\n    import torch\n", 5).text == "def f():\n    import torch\n"


def test_comments_in_strings_are_no_claims() -> None:
    assert _read('text = "# error: [no]"\n').claims == ()


def test_a_known_gap_in_the_program() -> None:
    source = _read("# known gap: loops of loops\nx = 1\n")
    assert source.known_gap == "loops of loops"
    assert source.bare == "x = 1\n"


@pytest.mark.parametrize(
    ("program", "line"),
    [
        ("x = 1\nx = 2  # error: inplace-on-saved\n", 2),
        ("x = 1  # raises: \n", 1),
        ('x = 1  # error: [a] because # raises: RuntimeError "b"\n', 1),
        ("x = 1  # torch: x ==\n", 1),
        ("x = 1  # note: without quotes\n", 1),
        ("x = 1\n# error: [a]\n", 2),
        ("x = 1\n# known gap:\n", 2),
        ("x = 1\nx = = 2\n", 2),
        ("x = (1\n", 1),
    ],
)
def test_what_is_not_understood_is_refused_at_its_line(program: str, line: int) -> None:
    with pytest.raises(Malformed) as refused:
        _read(program)
    assert refused.value.line == line
