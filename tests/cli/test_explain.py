"""`gradpath explain`: tracebacks of programs that ran under PyTorch, in the shapes in which people have them."""

from __future__ import annotations

import contextlib
import io
import json
import linecache
import os
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from gradpath.cli import main
from gradpath.source.notebook import read_notebook
from tests.cli.conftest import Run
from tests.documents.claims import annotated
from tests.documents.grammar import Report, read_source

SAMPLES = Path(__file__).parents[2] / "samples" / "faulty"
RAISING = sorted(path.name for path in SAMPLES.glob("*.py") if "# raises:" in annotated(path))

INPLACE = """\
import torch


def scale(w):
    y = w.exp()
    y.add_(1)
    return y


def train(w):
    y = scale(w)
    y.sum().backward()


if __name__ == "__main__":
    train(torch.ones(3, requires_grad=True))
"""

OTHER_ERRORS = {
    "shapes": "torch.rand(2, 3) @ torch.rand(2, 3)",
    "broadcast": "torch.rand(2, 3) + torch.rand(4)",
    "dtype": "torch.nn.Linear(2, 2)(torch.ones(2, dtype=torch.int64))",
    "index": "torch.nn.Embedding(3, 2)(torch.tensor([5]))",
    "view": "torch.rand(2, 3).t().view(6)",
    "state": "torch.nn.Linear(2, 2).load_state_dict({'weight': torch.rand(2, 2)})",
    "item": "torch.rand(3).item()",
    "target": "torch.nn.functional.cross_entropy(torch.rand(2, 3), torch.tensor([0, 7]))",
    "optimizer": "torch.optim.SGD([torch.rand(2)], lr=-1.0)",
    "ambiguous": "bool(torch.rand(3) > 0)",
}


@dataclass(frozen=True)
class Explained:
    status: int
    out: str

    @property
    def data(self) -> dict[str, object]:
        return json.loads(self.out)


@pytest.fixture
def explain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Explained]:
    """Explain a text that is given on standard input, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")

    def explain(text: str, *arguments: str) -> Explained:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        status = main(["explain", *arguments])
        return Explained(status, capsys.readouterr().out)

    return explain


def traceback_of(path: Path, name: str | None = None) -> str:
    """What Python prints when a program fails; `name` is the path that it gives to the file."""
    text, name = path.read_text(), name or str(path)
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    arguments, sys.argv = sys.argv, [name]
    try:
        with torch.random.fork_rng(), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, name, "exec", dont_inherit=True), {"__name__": "__main__"})
    except Exception as problem:  # noqa: BLE001 - the program's own, to be printed.
        trace = problem.__traceback__
        return "".join(traceback.format_exception(type(problem), problem, trace.tb_next if trace else None))
    finally:
        sys.argv = arguments
    raise AssertionError(f"{path} did not fail")


@pytest.mark.parametrize("name", RAISING)
def test_a_sample_is_explained_from_its_traceback(name: str, explain: Callable[..., Explained]) -> None:
    claims = read_source(name, annotated(SAMPLES / name), name).claims
    told = explain(traceback_of(SAMPLES / name), "--output-format", "json")
    assert told.status == 0
    diagnostic = told.data["diagnostic"]
    assert (diagnostic["rule"], diagnostic["range"]["start"]["line"]) in [
        (claim.rule, claim.place.line) for claim in claims if isinstance(claim, Report)
    ]


@pytest.mark.parametrize("name", OTHER_ERRORS)
def test_another_error_of_pytorch_is_not_explained(
    name: str, explain: Callable[..., Explained], tmp_path: Path
) -> None:
    program = tmp_path / "other.py"
    program.write_text(f"import torch\n\n{OTHER_ERRORS[name]}\n")
    told = explain(traceback_of(program))
    assert told.status == 1
    assert "Cannot explain it: this is not one of the errors that PyTorch's autograd raises." in told.out


def test_an_error_of_autograd_that_the_files_do_not_show(explain: Callable[..., Explained], tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(INPLACE)
    text = traceback_of(program)
    program.write_text(INPLACE.replace("y.add_(1)", "y = y + 1"))
    told = explain(text)
    assert told.status == 1
    assert told.out.splitlines()[-2:] == [
        "Cannot explain it: nothing in these files ends in this error, as far as they can be followed.",
        "Looked at: train.py",
    ]


def test_what_could_not_be_followed_is_said_where_nothing_was_found(
    explain: Callable[..., Explained], tmp_path: Path
) -> None:
    program = tmp_path / "train.py"
    program.write_text(INPLACE)
    text = traceback_of(program)
    program.write_text(INPLACE.replace("y.add_(1)", "y = = y + 1"))
    told = explain(text)
    assert told.status == 1
    assert told.out.splitlines()[-1].endswith("train.py:6: not fully checked: does not parse: invalid syntax")


def test_a_gradient_that_was_asked_for_in_vain(explain: Callable[..., Explained], tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(
        "import torch\n\nw, x = torch.ones(2, 2, requires_grad=True)\ntorch.autograd.grad(w.exp().sum(), x)\n"
    )
    told = explain(traceback_of(program))
    assert told.status == 0
    assert "error[detached-loss]" in told.out


def test_a_result_that_an_optimizer_refuses(explain: Callable[..., Explained], tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text("import torch\n\nw = torch.ones(2, requires_grad=True) * 2\ntorch.optim.SGD([w], lr=0.1)\n")
    told = explain(traceback_of(program))
    assert told.status == 0
    assert "error[rebound-parameter]" in told.out


def test_no_traceback_at_all(explain: Callable[..., Explained]) -> None:
    assert explain("all is well\n").out == "Cannot explain it: there is no traceback in it.\n"


def test_the_story_and_the_ways_out(explain: Callable[..., Explained], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(INPLACE)
    lines = explain(traceback_of(tmp_path / "train.py")).out.splitlines()
    assert lines[0].startswith("RuntimeError: one of the variables needed for gradient computation")
    assert lines[1:3] == ["   raised at train.py:12 in train", "   called from train.py:16 in <module>"]
    assert lines[4].startswith("train.py:6:5: error[inplace-on-saved]: ")
    assert "  - Make a new tensor with `add` (safe)" in lines
    assert lines[-1] == "More: gradpath rule inplace-on-saved"


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(lambda text: text, id="plain"),
        pytest.param(lambda text: f"epoch 1\nloss 0.3\n{text}\nsrun: error: task 0 exited\n", id="in a log"),
        pytest.param(lambda text: "".join(f"[rank0]: {line}\n" for line in text.splitlines()), id="rank prefix"),
        pytest.param(
            lambda text: "".join(f"2024-05-01 12:00:01,123 ERROR | {line}\n" for line in text.splitlines()),
            id="time prefix",
        ),
        pytest.param(lambda text: text.replace("\n", "\r\n"), id="Windows line ends"),
        pytest.param(lambda text: f"\x1b[31m{text}\x1b[0m", id="colours"),
        pytest.param(
            lambda text: (
                f"{text}\nThe above exception was the direct cause of the following exception:\n\n"
                'Traceback (most recent call last):\n  File "train.py", line 16, in <module>\n'
                "    train(torch.ones(3, requires_grad=True))\nlauncher.ChildFailed: RunError: exit 1\n"
            ),
            id="wrapped",
        ),
    ],
)
@pytest.mark.parametrize("name", ["/home/ada/lab/train.py", "C:\\lab\\train.py", "train.py", "/src/app/lab/train.py"])
def test_what_stands_around_a_traceback_and_where_its_files_were(
    written: Callable[[str], str], name: str, explain: Callable[..., Explained], tmp_path: Path
) -> None:
    (tmp_path / "lab").mkdir()
    home = tmp_path / "lab" / "train.py"
    home.write_text(INPLACE)
    told = explain(written(traceback_of(home, name)), "--output-format", "json")
    assert told.data["diagnostic"]["range"]["start"] == {"line": 6, "column": 5}
    assert told.data["stack"][-1] == {
        "path": os.path.join("lab", "train.py"),
        "cell": None,
        "line": 12,
        "function": "train",
    }


def test_a_file_that_has_changed_since_is_found_by_its_code(explain: Callable[..., Explained], tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(INPLACE)
    text = traceback_of(program)
    program.write_text("# A new first line.\n\n" + INPLACE)
    assert explain(text, "--output-format", "json").data["stack"][-1]["line"] == 14


def test_anomaly_mode_tells_which_of_two_operations_it_is(explain: Callable[..., Explained], tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(INPLACE)
    forward = (
        "python3.11/site-packages/torch/autograd/graph.py:829: UserWarning: Error detected in ExpBackward0. "
        "Traceback of forward call that caused the error:\n"
        '  File "train.py", line 16, in <module>\n    train(torch.ones(3, requires_grad=True))\n'
        '  File "train.py", line 11, in train\n    y = scale(w)\n'
        '  File "train.py", line 5, in scale\n    y = w.exp()\n'
        " (Triggered internally at ../torch/csrc/autograd/python_anomaly_mode.cpp:122.)\n"
        "  return Variable._execution_engine.run_backward(  # Calls into the C++ engine\n"
    )
    told = explain(forward + traceback_of(program), "--output-format", "json")
    assert told.data["diagnostic"]["rule"] == "inplace-on-saved"
    assert [place["line"] for place in told.data["stack"]] == [16, 12]


PYTEST = """\
    def test_train():
        w = torch.ones(3, requires_grad=True)
>       train(w)

test_train.py:19: 
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ 
test_train.py:12: in train
    y.sum().backward()
/usr/lib/python3.11/site-packages/torch/_tensor.py:623: in backward
    torch.autograd.backward(
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ 

>           return Variable._execution_engine.run_backward(
E       RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation

/usr/lib/python3.11/site-packages/torch/autograd/graph.py:979: RuntimeError
=========================== short test summary info ============================
FAILED test_train.py::test_train - RuntimeError: one of the variables needed...
"""  # noqa: W291


def test_pytest_shows_a_failing_test(explain: Callable[..., Explained], tmp_path: Path) -> None:
    body = INPLACE.partition("if __name__")[0]
    test = "def test_train():\n    w = torch.ones(3, requires_grad=True)\n    train(w)\n"
    (tmp_path / "test_train.py").write_text(f"{body}\n\n{test}")
    told = explain(PYTEST, "--output-format", "json")
    assert told.data["diagnostic"]["range"]["start"]["line"] == 6
    assert [place["line"] for place in told.data["stack"]] == [19, 12]


RICH = """\
╭───────────────────── Traceback (most recent call last) ──────────────────────╮
│ /home/ada/train.py:16 in <module>                                            │
│                                                                              │
│   15 if __name__ == "__main__":                                              │
│ ❱ 16     train(torch.ones(3, requires_grad=True))                            │
│ /home/ada/train.py:12 in train                                               │
│   11     y = scale(w)                                                        │
│ ❱ 12     y.sum().backward()                                                  │
╰──────────────────────────────────────────────────────────────────────────────╯
RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation
"""


def test_rich_draws_a_box(explain: Callable[..., Explained], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(INPLACE)
    assert [place["line"] for place in explain(RICH, "--output-format", "json").data["stack"]] == [16, 12]


IPYTHON = """\
---------------------------------------------------------------------------
RuntimeError                              Traceback (most recent call last)
{cell}
     {before} ...
---> {line}     loss.backward()
     {after} ...

File ~/venv/lib/python3.11/site-packages/torch/_tensor.py:623, in Tensor.backward(self, gradient)
    621 torch.autograd.backward(
--> 623     self, gradient, retain_graph
    624 )

RuntimeError: Trying to backward through the graph a second time (or directly access ...).
"""


@pytest.mark.parametrize(
    "head", ["Cell In[{n}], line {line}", "Input In [{n}], in <cell line: 1>()", "<ipython-input-{n}-0a1b> in <module>"]
)
def test_a_cell_of_a_notebook(head: str, explain: Callable[..., Explained]) -> None:
    path = SAMPLES / "style_transfer.ipynb"
    cell = next(cell for cell in read_notebook(path).cells if "loss.backward()" in cell.text)
    line = next(n for n, text in enumerate(cell.text.splitlines(), 1) if "loss.backward()" in text)
    text = IPYTHON.format(
        cell=head.format(n=cell.execution or 7, line=line), line=line, before=line - 1, after=line + 1
    )
    told = explain(text, "--program", str(path), "--output-format", "json")
    assert told.data["stack"] == [
        {"path": str(path), "cell": cell.number, "line": line, "function": told.data["stack"][0]["function"]}
    ]
    assert told.data["diagnostic"]["rule"] == "carried-graph"


def test_the_exception_that_a_handler_turned_into_another(explain: Callable[..., Explained], tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    body, _, _ = INPLACE.partition("    train(torch")
    program.write_text(
        f"{body}    try:\n        train(torch.ones(3, requires_grad=True))\n"
        '    except RuntimeError as error:\n        raise ValueError("step 1") from error\n'
    )
    told = explain(traceback_of(program), "--output-format", "json")
    assert told.data["error"]["kind"] == "RuntimeError"
    assert told.data["diagnostic"]["range"]["start"]["line"] == 6


def test_a_traceback_that_cannot_be_read(explain: Callable[..., Explained], tmp_path: Path) -> None:
    assert main(["explain", str(tmp_path / "absent.txt")]) == 2


def test_a_line_of_thousands_of_digits_is_no_line(gradpath_main: Run) -> None:
    digits = "9" * 5000
    text = (
        f'Traceback (most recent call last):\n  File "x.py", line {digits}, in f\nRuntimeError: element 0 of tensors\n'
    )
    for told in (text, f"Cell In[{digits}], line {digits}\nRuntimeError: x\n", f"x.py:{digits}: RuntimeError\n"):
        result = gradpath_main("explain", "-", stdin=told.encode())
        assert (result.status, "itself failed" in result.err) == (1, False)


def test_a_line_of_spaces_is_read_at_once(gradpath_main: Run) -> None:
    began = time.process_time()
    assert gradpath_main("explain", "-", stdin=b"x" + b" " * 300_000 + b"x\n").status == 1
    assert time.process_time() - began < 5
