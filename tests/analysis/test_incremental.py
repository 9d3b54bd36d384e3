"""What a check reuses of the one before it, and that a reader never sees a difference to a cold one.

GRADPATH_EDITS says how many random edits are made (by default as many as fit into a few seconds).
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gradpath.analysis.check import Analysis, check
from gradpath.analysis.incremental import Reuse
from gradpath.names.files import TREES
from gradpath.source.document import Document
from gradpath.source.parse import Parsed, parse
from tests.documents.pages import Block, documents, read_document

ROOT = Path(__file__).parents[2]
SECONDS = 12.0
FILES = [*sorted((ROOT / "samples").rglob("*.py")), *sorted((ROOT / "tests" / "cases" / "corpus").rglob("*.py"))]
PAGES = [block for path in documents(ROOT) for block in read_document(path, ROOT) if isinstance(block, Block)]
"""The cases: methods that are called twice, inherited or judged by a backward through their results are among them."""

BROKEN = ("<<<<<<< HEAD\nx = 1\n=======\n", "print 'step', loss\n  if x\n", "))))" * 20, '"""never closed', "🙂" * 50)

TWO = """\
import torch
from torch import nn

RATE = 0.1


def first(model, loader, optimizer):
    for batch in loader:
        optimizer.zero_grad()
        loss = model(batch).sum()  # the loss
        loss.backward()
        optimizer.step()


def second(x):
    w = torch.ones(3, requires_grad=True)
    w.sum().backward()
    return w.grad * RATE


model = nn.Linear(3, 1)
for step in range(3):
    model(torch.ones(3)).sum().backward()
"""


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the entry points that were run, not reused."""
    numbers: list[int] = []
    known = Reuse.known

    def watched(self: Reuse, number: int, paths: int, effort: int) -> object:
        found = known(self, number, paths, effort)
        if found is None:
            numbers.append(number)
        return found

    monkeypatch.setattr(Reuse, "known", watched)
    return numbers


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("# the loss", "# the loss of the batch", []),
        ("optimizer.step()", "optimizer.step(None)", [0]),
        ("import torch\n", "import torch\nimport os\n", [-1, 0, 1]),
        ("import torch\n", "import torch, os\n", []),
        ("import torch\n", "import numpy as torch\n", [-1, 0, 1]),
        ("from torch import nn", "from torch import nn, optim", []),
        ("RATE = 0.1", "RATE = 0.2", [1]),
        ("def second(x):", "def second(x, y):", [-1, 0, 1]),
        ("    w = torch", "\n    w = torch", [1]),
        ("    model(torch", "    model.zero_grad()\n    model(torch", [-1]),
        ("range(3)", "range(4)", [-1]),
        ("ones(3)).sum", "ones(3)).exp().sum", [-1]),
        ("model(torch", "second(torch", [-1, 0]),
    ],
)
def test_only_what_an_edit_reaches_is_run(ran: list[int], before: str, after: str, expected: list[int]) -> None:
    memory = check(Document("program.py", TWO)).memory
    ran.clear()
    check(Document("program.py", TWO.replace(before, after, 1)), memory=memory)
    assert ran == expected


@pytest.mark.parametrize("text", ["# torch alone\n", "torch", "import torch; x = 1\n", "(", "import torch\r\rx = 1\f"])
def test_documents_that_cannot_be_cut_are_checked(text: str) -> None:
    first = check(Document("program.py", text))
    assert check(Document("program.py", text), memory=first.memory).diagnostics == first.diagnostics


def test_a_changed_file_of_the_project_is_read_anew(tmp_path: Path) -> None:
    (tmp_path / "gradpath.toml").touch()
    other = tmp_path / "net.py"
    other.write_text("def loss_of(w):\n    return w.sum()\n")
    text = "import torch\nfrom net import loss_of\n\n\ndef train():\n    w = torch.ones(3, requires_grad=True)\n"
    document = Document(str(tmp_path / "train.py"), text + "    loss_of(w).backward()\n")
    memory = check(document).memory
    assert not check(document, memory=memory).diagnostics
    other.write_text("def loss_of(w):\n    return w.sum().detach()\n")
    assert [each.rule for each in check(document, memory=memory).diagnostics] == ["detached-loss"]


def test_what_is_left_of_the_effort_need_not_be_the_same(ran: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradpath.analysis.check.TOTAL_EFFORT", 60)
    step = "def step_{}(w):\n    loss = w.exp().sum()\n    loss.backward()\n"
    text = "import torch\n" + "".join(map(step.format, range(9)))
    memory = check(Document("program.py", text)).memory
    ran.clear()
    check(Document("program.py", text.replace("sum()\n", "sum()\n    pass\n", 1)), memory=memory)
    assert ran == [0]


def test_what_the_effort_did_not_suffice_for_is_run_again(ran: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    first = "import torch\ndef first(w):\n" + "    w.sum().backward()\n" * 20
    second = (
        "def second(w, a):\n    loss = w.exp().sum()\n    loss.backward()\n    if not a:\n        loss.backward()\n"
    )
    monkeypatch.setattr("gradpath.analysis.check.TOTAL_EFFORT", 10)
    analysis = check(Document("program.py", first + second))
    ran.clear()
    shorter = Document("program.py", first.replace("    w.sum().backward()\n" * 20, "    pass\n") + second)
    again = check(shorter, memory=analysis.memory)
    assert ran == [1]
    assert [[each.rule for each in one.diagnostics] for one in (analysis, again)] == [[], ["double-backward"]]
    assert again.diagnostics == check(shorter).diagnostics


def cold(document: Document, last: Parsed | None) -> Analysis:
    """A check that nothing is known for; of an earlier text it has the same parse, in a tree of its own."""
    TREES.drop(document.path)
    return check(document, last=None if last is None else parse(last.document))


def test_what_an_edit_further_down_reads_is_no_longer_idle() -> None:
    """The branch is in statements that the edit leaves as they are; that it matters is said by what was typed."""
    text = "import torch\nmode = 2\nif input():\n    mode = 1\nw = torch.ones(3, requires_grad=True)\n"
    text += "loss = w.exp().sum()\nloss.backward()\n"
    first = check(Document("program.py", text))
    more = Document("program.py", text + "if mode == 2:\n    loss.backward()\n")
    again = check(more, last=first.parsed, memory=first.memory)
    assert [each.rule for each in again.diagnostics] == ["double-backward"]


@pytest.mark.parametrize("body", ["return 1", "return w.sum().backward()"])
def test_files_that_are_only_looked_into_keep_nothing_from_being_reused(
    tmp_path: Path, ran: list[int], body: str
) -> None:
    (tmp_path / "gradpath.toml").touch()
    (tmp_path / "engine.py").write_text(f"def fit(w):\n    {body}\n")
    text = "import torch\nfrom engine import fit\n\n\ndef main():\n    fit(torch.ones(3, requires_grad=True))\n"
    text += "\n\ndef other(w):\n    w.exp().sum().backward()\n"
    document = Document(str(tmp_path / "main.py"), text)
    memory = check(document).memory
    assert ran
    ran.clear()
    check(Document(document.path, text + "# an edit\n"), memory=memory)
    assert ran == []


def test_a_file_that_begins_to_train_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "gradpath.toml").touch()
    engine = tmp_path / "engine.py"
    engine.write_text("def fit(w):\n    return 1\n")
    text = "import torch\nfrom engine import fit\n\n\ndef main():\n    fit(torch.ones(3, requires_grad=True).exp())\n"
    document = Document(str(tmp_path / "main.py"), text)
    memory = check(document).memory
    engine.write_text("def fit(w):\n    w.sum().backward()\n    w.sum().backward()\n")
    again = check(document, memory=memory)
    assert [each.rule for each in again.diagnostics] == ["double-backward"]


@pytest.mark.parametrize(
    ("patch", "reads"),
    [
        ("torch.nn.Module.parted = lambda self, x: x.detach()", "torch.nn.Linear(3, 3).parted(w)"),
        ("setattr(torch.nn.Linear, 'parted', lambda self, x: x.detach())", "torch.nn.Linear(3, 3).parted(w)"),
        ("torch.optim.SGD.parted = lambda self, x: x.detach()", "torch.optim.SGD([w], 0.1).parted(w)"),
    ],
)
def test_what_a_program_writes_into_classes_of_pytorch_ends_with_it(patch: str, reads: str) -> None:
    start = "import torch\nw = torch.ones(3, requires_grad=True)\n"
    reading = Document("train.py", f"{start}{reads}.sum().backward()\n")
    before = check(reading).diagnostics
    patching = check(Document("train.py", f"{start}{patch}\n{reads}.sum().backward()\n"))
    assert [each.rule for each in patching.diagnostics] == ["detached-loss"]
    assert check(reading).diagnostics == before
    assert [each.rule for each in before] != ["detached-loss"]


def test_random_edits_end_as_a_cold_start_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code is typed, removed, doubled, moved, pasted and taken back; after each edit both checks agree."""
    wanted = int(os.environ.get("GRADPATH_EDITS", "0"))
    generator = random.Random(int(os.environ.get("GRADPATH_SEED", "1")))
    end = time.monotonic() + SECONDS
    count = 0
    while count < wanted or (not wanted and time.monotonic() < end):
        if generator.random() < 0.5:
            source = generator.choice(PAGES).main
            path, text = Path(source.name), source.text
        else:
            path = generator.choice(FILES)
            text = path.read_text(encoding="utf-8")
        texts = [text]
        monkeypatch.setattr("gradpath.analysis.check.TOTAL_EFFORT", generator.choice((18_000, 100, 10)))
        analysis = check(Document(str(path), text))
        for edit in edits(generator, 20):
            text = edit(text) if generator.random() < 0.8 else generator.choice([texts[0], *texts[-4:]])  # Or undo.
            texts.append(text)
            document = Document(str(path), text)
            last = None if analysis.parsed.problems else analysis.parsed
            analysis = check(document, last=last, memory=analysis.memory)
            expected = cold(document, last)
            assert analysis.diagnostics == expected.diagnostics, f"{path} after {count} edits:\n{text}"
            count += 1
            if time.monotonic() >= end and not wanted:
                break


def edits(generator: random.Random, count: int) -> Iterator[Callable[[str], str]]:
    def line(text: str) -> str:
        lines = text.splitlines(keepends=True) or [""]
        at = generator.randrange(len(lines))
        match generator.randrange(8):
            case 0:
                lines.insert(at, lines[generator.randrange(len(lines))])
            case 1:
                del lines[at]
            case 2:
                lines.insert(at, "\n")
            case 3:
                lines.insert(at, "import os\n")
            case 4:
                lines[at] = lines[at].rstrip("\n") + "  # a comment\n"
            case 5:
                lines[at] = lines[at].replace("(", "", 1)
            case 6:
                start = generator.randrange(len(lines))
                lines[at:at] = lines[start : start + generator.randrange(1, 6)]
            case _:
                del lines[at : at + generator.randrange(1, 6)]
        return "".join(lines)

    def word(text: str) -> str:
        words = [".detach()", ".item()", "loss", "x", "1", " ", "retain_graph=True", "#", "\n    ", "é", ".backward()"]
        words += ["🙂", "'🙂'\r\n", "\r", "\f", "\u2028"]
        at = generator.randrange(len(text) + 1)
        return text[:at] + generator.choice(words) + text[at:]

    def number(text: str) -> str:
        return text.replace("0.1", "0.01", 1) if "0.1" in text else text.replace("1", "2", 1)

    def rough(text: str) -> str:
        """Everything goes, the lines end in another way, or something is pasted that nobody can read."""
        at = generator.randrange(len(text) + 1)
        match generator.randrange(4):
            case 0:
                return ""
            case 1:
                return text.replace("\n", "\r\n")
            case 2:
                return text[:at] + text[at:].replace("\n", "\r\n", 5)
            case _:
                return text[:at] + generator.choice(BROKEN) + text[at:]

    for _ in range(count):
        yield generator.choice([line, line, line, word, word, number, number, rough])


def test_more_settings_than_a_path_may_execute_are_a_budget_and_no_failure(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("gradpath.analysis.check.STEPS", 50)
    settings = "".join(f"RATE_{number} = {number}\n" for number in range(1_000))
    step = "def step(w):\n    loss = w.exp().sum()\n    loss.backward()\n"
    analysis = check(Document("program.py", settings + step))
    assert all(trace.truncated for trace in analysis.traces)
    assert caplog.records == []


def test_a_check_that_is_cancelled_at_once_runs_nothing(ran: list[int]) -> None:
    assert check(Document("program.py", TWO), cancelled=lambda: True).diagnostics == ()
    assert ran == []
