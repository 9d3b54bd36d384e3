"""A wrong claim fails: the judgement, with gradpath's part played by a stand-in."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradpath.analysis.check import Analysis
from gradpath.diagnostic import Diagnostic, Edit, Fix, Gap, GapKind, Label, Level, Position, Range, Safety
from gradpath.source.document import Document
from gradpath.source.parse import parse
from tests.documents import fixes, judgement
from tests.documents.judgement import gradpath_complaints, pytorch_complaints, unproved
from tests.documents.pages import Block, read_document
from tests.documents.pytorch import Outcome, Raised

PATH = "tests/cases/page.md"


def _blocks(folder: Path, *programs: str) -> list[Block]:
    path = folder / PATH
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(f"```{program}```\n" for program in programs), encoding="utf-8")
    blocks = [test for test in read_document(path, folder) if isinstance(test, Block)]
    assert len(blocks) == len(programs)
    return blocks


def _range(line: int, start: int, end: int) -> Range:
    return Range(Position(line, start), Position(line, end))


def _reports(monkeypatch: pytest.MonkeyPatch, *diagnostics: Diagnostic) -> None:
    """Lets gradpath report these on any program that contains `y += 1`."""

    def check(document: Document) -> Analysis:
        return Analysis(document, parse(document), diagnostics if "y += 1" in document.text else ())

    monkeypatch.setattr(judgement, "check", check)
    monkeypatch.setattr(fixes, "check", check)


def _overwrite(fix: str = "y = y + 1", end: int = 7) -> Diagnostic:
    """A report on line 3 of the program, which is the second line of a block without imports."""
    where = _range(3, 1, 7)
    edits = (Edit("example.py", _range(3, 1, end), fix),)
    return Diagnostic(
        "example.py",
        where,
        "inplace-on-saved",
        "in-place",
        Level.ERROR,
        "`y += 1` overwrites `y`",
        labels=(Label("example.py", _range(2, 5, 12), "saves its result"),),
        help="write out of place",
        fixes=(Fix("out of place", Safety.SAFE, edits, preferred=True),),
    )


def test_a_report_where_it_is_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _reports(monkeypatch, _overwrite())
    (block,) = _blocks(
        tmp_path,
        'py\ny = w.exp()  # note: "its result"\n'
        'y += 1  # error: [inplace-on-saved] "overwrites" at "y += 1" # note: "out of place"\n',
    )
    assert gradpath_complaints(block) == []


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("y += 1", 3),
        ("y += 1  # error: [inplace-on-leaf]", 3),
        ("y += 1  # warning: [inplace-on-saved]", 3),
        ('y += 1  # error: [inplace-on-saved] "reads"', 3),
        ('y += 1  # error: [inplace-on-saved] at "y"', 3),
        ("y += 1\nx = 1  # error: [inplace-on-saved]", 4),
        ("y += 1  # error: [inplace-on-saved] # error: [inplace-on-saved]", 3),
        ('y += 1  # error: [inplace-on-saved] # note: "its result"', 3),
    ],
)
def test_a_report_that_is_claimed_wrongly(
    line: str, place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _reports(monkeypatch, _overwrite())
    (block,) = _blocks(tmp_path, f"py\ny = w.exp()\n{line}\n")
    complaints = gradpath_complaints(block)
    assert complaints
    assert any(complaint.startswith(f"{PATH}:{place}: ") for complaint in complaints)


def test_the_fix_makes_the_fixed_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _reports(monkeypatch, _overwrite())
    program = "py\ny = w.exp()\ny += 1  # plus one # error: [inplace-on-saved]\n"
    right = _blocks(tmp_path, program, "py fixed\ny = w.exp()\ny = y + 1  # plus one\n")
    assert gradpath_complaints(right[1]) == []
    wrong = _blocks(tmp_path, program, "py fixed\ny = w.exp()\ny = 1 + y  # plus one\n")
    assert "+y = y + 1  # plus one" in gradpath_complaints(wrong[1])[0]
    other = _blocks(tmp_path, program, 'py fixed "clone"\ny = w.exp()\ny = y + 1  # plus one\n')
    assert "no fix with 'clone'" in gradpath_complaints(other[1])[0]


def test_a_fix_that_breaks_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _reports(monkeypatch, _overwrite(fix="y = y + (1"))
    (block,) = _blocks(tmp_path, "py\ny = w.exp()\ny += 1  # error: [inplace-on-saved]\n")
    assert "breaks the program" in gradpath_complaints(block)[0]


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("py\nx = 1  # error: [a]\n", "nothing proves this error"),
        ("py\nx = 1  # warning: [a]\n", "nothing proves this warning"),
        ("py\nx = 1  # raises: A\nx = 1  # raises: B\n", "ends at the first"),
    ],
)
def test_a_claim_without_proof(program: str, why: str, tmp_path: Path) -> None:
    (block,) = _blocks(tmp_path, program)
    assert why in unproved(block)[0]


def test_a_fixed_block_must_be_clean(tmp_path: Path) -> None:
    _, fixed = _blocks(tmp_path, "py\nx = 1\n", "py fixed\nx = 1  # error: [a] # raises: B\n")
    assert ["must be clean" in unproved(fixed)[0], "run to its end" in unproved(fixed)[1]] == [True, True]


@pytest.mark.parametrize(
    ("claim", "right"),
    [
        ('# raises: RuntimeError "second time"', True),
        ("# raises: Exception", True),
        ('# raises: RuntimeError "third"', False),
        ("# raises: ValueError", False),
        ("", False),
    ],
)
def test_what_pytorch_raised(claim: str, right: bool, tmp_path: Path) -> None:
    (block,) = _blocks(tmp_path, f"py\nx = 1\nx.backward()  {claim}\n")
    raised = Raised(("RuntimeError", "Exception", "BaseException"), "a second time", "example.py", 3)
    assert (pytorch_complaints(block, Outcome(raised, ())) == []) is right
    assert pytorch_complaints(block, Outcome(Raised(raised.kinds, raised.message, "example.py", 2), ()))
    assert (pytorch_complaints(block, Outcome(None, ())) == []) is (claim == "")


def test_a_fact_that_is_not_true(tmp_path: Path) -> None:
    (block,) = _blocks(tmp_path, "py\nx = 1  # torch: x == 2\n")
    assert pytorch_complaints(block, Outcome(None, ("is not true",))) == [
        f"{PATH}:2: under PyTorch `x == 2` is not true"
    ]


def test_a_rule_that_fails_on_a_program_without_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(document: Document) -> Analysis:
        gap = Gap(document.path, GapKind.FAILURE, _range(1, 1, 2), "", "inplace-on-saved", "NameError")
        return Analysis(document, parse(document), (), incomplete=(gap,))

    monkeypatch.setattr(judgement, "check", check)
    (block,) = _blocks(tmp_path, "py\ny = w.exp()\n")
    assert ["NameError" in complaint for complaint in gradpath_complaints(block)] == [True]
