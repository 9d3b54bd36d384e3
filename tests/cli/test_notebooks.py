"""Notebooks on the command line: what is read, where faults are told, and what a fix leaves alone."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gradpath.cli import main
from tests.cli.notebooks import code, notebook, prose, written

SETUP = """\
%matplotlib inline
!pip install -q torch \\
    torchvision
import torch
w = torch.randn(3, requires_grad=True)
"""
BUILT = "y = w.exp()\nloss = y.sum()\n"
AGAIN = "w.grad = None\ny.mean().backward()"
TWICE = notebook(prose("# Twice"), code(SETUP, 1), code(BUILT, 2), code("loss.backward()", 3), code(AGAIN, 4))


class Folder:
    """A folder with notebooks, in which the command line is given."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path = path
        self._capsys = capsys

    def write(self, data: object, name: str = "x.ipynb", **style: Any) -> str:
        text = data if isinstance(data, str) else written(data, **style)
        self.path.joinpath(name).write_bytes(text.encode("utf-8"))
        return text

    def read(self, name: str = "x.ipynb") -> str:
        return self.path.joinpath(name).read_bytes().decode("utf-8")

    def run(self, *arguments: str) -> tuple[int, str, str]:
        status = main(["check", "--jobs", "1", *arguments])
        out, err = self._capsys.readouterr()
        return status, out, err

    def found(self, *arguments: str) -> list[dict[str, Any]]:
        """The diagnostics of the folder as the JSON output has them."""
        _, out, _ = self.run("--output-format", "json", *(arguments or (".",)))
        return list(json.loads(out)["diagnostics"])

    def places(self, *arguments: str) -> list[tuple[str, int, int]]:
        """Rule, cell and line of each diagnostic."""
        return [(each["rule"], each["cell"], each["range"]["start"]["line"]) for each in self.found(*arguments)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Folder:
    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path, capsys)


def place(line: int, start: int, end: int) -> dict[str, Any]:
    return {"start": {"line": line, "column": start}, "end": {"line": line, "column": end}}


def test_a_fault_is_told_at_its_cell_with_the_steps_in_theirs(folder: Folder) -> None:
    folder.write(TWICE)
    [found] = folder.found()
    assert (found["path"], found["cell"], found["rule"]) == ("x.ipynb", 5, "double-backward")
    assert found["range"] == place(2, 1, 20)
    assert [(each["cell"], each["range"]) for each in found["related"]] == [(3, place(1, 5, 12)), (4, place(1, 1, 16))]
    edits = {fix["title"]: fix["edits"] for fix in found["fixes"]}
    [edit] = edits["Keep the graph: `retain_graph=True` on line 1 of cell 4"]
    assert (edit["cell"], edit["range"], edit["new_text"]) == (4, place(1, 15, 15), "retain_graph=True")
    assert folder.run("x.ipynb")[0] == 1


def test_every_format_names_the_cell(folder: Folder) -> None:
    text = folder.write(TWICE)
    full, concise, github = (folder.run(".", "--output-format", name)[1] for name in ("full", "concise", "github"))
    assert full.startswith("x.ipynb:cell 5:2:1: error[double-backward]: ")
    assert "   in cell 3\n    1 | y = w.exp()\n" in full
    assert concise.startswith("x.ipynb:cell 5:2:1: error[double-backward]: ")
    lines = text.splitlines()
    last = max(number for number, line in enumerate(lines, start=1) if '"y.mean().backward()"' in line)
    assert f"line={last},col=6,endLine={last},endColumn=25" in github
    assert "::cell 5: " in github
    region = json.loads(folder.run(".", "--output-format", "sarif")[1])["runs"][0]["results"][0]["locations"][0]
    assert region["physicalLocation"]["region"] == {
        "startLine": last,
        "startColumn": 6,
        "endLine": last,
        "endColumn": 25,
    }


def test_cells_that_ran_in_another_order_are_pointed_out(folder: Folder) -> None:
    folder.write(notebook(code(SETUP, 1), code(BUILT, 7), code("loss.backward()", 3), code(AGAIN, 4)))
    [found] = folder.found()
    assert found["message"].endswith(" (cell 2 was last run after cell 3)")
    folder.write(notebook(code(SETUP, 9), code(BUILT, 2), code("loss.backward()", 3), code(AGAIN, None)))
    [found] = folder.found()
    assert "last run" not in found["message"]


def test_a_cell_that_fails_does_not_hide_what_comes_after_it(folder: Folder) -> None:
    second = "u = w.exp()\nu += 1\nu.sum().backward()"
    folder.write(notebook(code(SETUP), code(BUILT), code("loss.backward()\nloss.backward()"), code(second)))
    assert folder.places() == [("double-backward", 3, 2), ("inplace-on-saved", 4, 2)]


def test_what_a_cell_that_fails_would_have_made_is_not_known(folder: Folder) -> None:
    stops = "raise NotImplementedError\nloss = w.exp().sum()\ndef double(x):\n    return 2 * x"
    folder.write(notebook(code(SETUP), code(BUILT), code("loss.backward()"), code(stops), code("loss.backward()")))
    assert folder.places() == []
    doubled = "z = double(w.exp())\nz.sum().backward()\nz.sum().backward()"
    folder.write(notebook(code(SETUP), code(stops), code(doubled)))
    assert folder.places() == [("double-backward", 3, 3)]


@pytest.mark.parametrize(
    "cell",
    [
        "print 'step %d' % step, loss",
        "if True:\n",
        "x = (1, [2,\n",
        's = """never closed\n',
        "def f(:\n    pass\n",
        "\tindented = 1\n  badly = 2",
        "))))",
        "x = 1 \\",
        "0o9 = \ud800",
        "pip install torch",
    ],
)
def test_a_cell_that_does_not_parse_costs_nothing_but_itself(folder: Folder, cell: str) -> None:
    cells = [code(SETUP), code(cell), code(BUILT), code("loss.backward()"), code(cell), code(AGAIN)]
    folder.write(notebook(*cells), ensure_ascii=True)
    assert folder.places() == [("double-backward", 6, 2)]
    assert folder.run(".", "--fix")[0] == 0
    assert json.loads(folder.read())["cells"][3]["source"] == ["loss.backward(retain_graph=True)"]


@pytest.mark.parametrize(
    "cell",
    [
        "%%time\nloss.backward()",
        "%%capture out\n# quietly\nloss.backward()",
        "%time loss.backward()",
        "result = %time loss.backward()",
        "files = !ls\nloss.backward()",
        "if w is not None:\n    !echo it's fine\n    loss.backward()",
        "print('%d: %s'\n    % (1, loss))\nloss.backward()",
        "print('''\n%%bash\n!''')\nloss.backward()",
        "torch.nn?\n?torch\nw.exp??\nloss.backward()",
        "await task()\nasync with lock as held:\n    loss.backward()",
        "display(loss); get_ipython().magic('reset')\nloss.backward()",
        "%cd ..\n%%time\nloss.backward()",
        "\n\n%%time\n\nloss.backward()",
        "!python - <<'E' \\\n  it's\nloss.backward()",
    ],
)
def test_what_only_a_notebook_understands_is_passed_over(folder: Folder, cell: str) -> None:
    folder.write(notebook(code(SETUP), code(BUILT), code("loss.backward()"), code(cell)))
    assert [(rule, number) for rule, number, _ in folder.places()] == [("double-backward", 4)]
    line = cell[: cell.index("loss.backward()")].count("\n") + 1
    column = cell.splitlines()[line - 1].index("loss.backward()") + 1
    assert folder.found()[0]["range"] == place(line, column, column + 15)


@pytest.mark.parametrize(
    "cell",
    [
        "%%bash\nloss.backward()",
        "# a remark\n%%writefile train.py\nloss.backward()",
        "%%html\n<b>it's</b>\nloss.backward()",
        "!loss.backward()",
        "%timeit loss.backward()",
        "loss.backward?",
    ],
)
def test_what_is_not_run_as_python_is_not_read_as_python(folder: Folder, cell: str) -> None:
    folder.write(notebook(code(SETUP), code(BUILT), code("loss.backward()"), code(cell)))
    assert folder.places() == []


def old_format(source: object) -> dict[str, Any]:
    def cell(text: object) -> dict[str, Any]:
        return {"cell_type": "code", "collapsed": False, "input": text, "language": "python", "outputs": []}

    heading = {"cell_type": "heading", "level": 1, "source": ["Twice"]}
    first = {"cells": [heading, cell(SETUP), cell(BUILT)]}
    second = {"cells": [cell(source), cell(AGAIN)]}
    return {"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [first, second]}


@pytest.mark.parametrize(
    "text",
    [
        written(TWICE),
        "\ufeff" + written(TWICE),
        written(TWICE, indent=None),
        written(TWICE, indent=None, separators=(",", ":")),
        written(TWICE, indent="\t").replace("\n", "\r\n"),
        written(notebook(*({**cell, "source": "".join(cell["source"])} for cell in TWICE["cells"]))),
        written(notebook(*({**cell, "source": list("".join(cell["source"]))} for cell in TWICE["cells"]))),
        written({"cells": TWICE["cells"]}),
        written(old_format(["loss.backward()"])),
        written(old_format("loss.backward()")),
    ],
)
def test_files_of_every_shape_are_read_and_mended(folder: Folder, text: str) -> None:
    folder.write(text)
    assert folder.places() == [("double-backward", 5, 2)]
    assert folder.run(".", "--fix")[0] == 0
    assert folder.places() == []
    before, after = (json.loads(each.removeprefix("\ufeff")) for each in (text, folder.read()))
    assert len(folder.read()) <= len(text) + len("retain_graph=True") + 4 * len('"",')
    for cells in (after.get("cells"), before.get("cells")):
        for cell in cells or ():
            cell.pop("source", None)
    assert cells is None or before == after


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not a notebook: broken JSON in line 1: Expecting property name enclosed in double quotes"),
        ('{"cells": [],\n<<<<<<< HEAD\n', "not a notebook: broken JSON in line 2: "),
        ("[]", "not a notebook: its JSON is no object"),
        ('{"a": 1}', "not a notebook: it has no cells"),
        ("version https://git-lfs.github.com/spec/v1\n", "not a notebook: broken JSON in line 1: Expecting value"),
        ("[" * 100_000, "not a notebook: JSON nested too deeply"),
    ],
)
def test_what_is_no_notebook_is_one_line_and_the_others_are_checked(folder: Folder, text: str, reason: str) -> None:
    folder.write(text, "broken.ipynb")
    folder.write(TWICE)
    status, out, err = folder.run(".", "--output-format", "json")
    assert status == 2
    assert err.startswith(f"gradpath: broken.ipynb: {reason}")
    assert err.count("\n") == 1
    assert [each["path"] for each in json.loads(out)["diagnostics"]] == ["x.ipynb"]


def test_bytes_that_are_no_text_are_one_line_too(folder: Folder) -> None:
    Path("x.ipynb").write_bytes(b'{"cells": ["\xff"]}')
    assert folder.run("x.ipynb") == (2, "", "gradpath: x.ipynb: not UTF-8 text: byte 0xff at 12\n")


@pytest.mark.parametrize("text", ["", "\n", "\ufeff"])
def test_an_empty_file_is_a_notebook_that_nobody_has_begun(folder: Folder, text: str) -> None:
    folder.write(text, "begun.ipynb")
    folder.write(TWICE)
    assert folder.run("begun.ipynb") == (0, "No mistakes found in 1 file\n", "")
    assert folder.run("begun.ipynb", "--fix")[0] == 0
    assert folder.read("begun.ipynb") == text
    status, out, err = folder.run(".", "--output-format", "json")
    assert (status, err) == (1, "")
    assert [each["path"] for each in json.loads(out)["diagnostics"]] == ["x.ipynb"]


@pytest.mark.parametrize(
    "data", [notebook(), notebook(prose("x")), notebook(code("loss.backward()"), language="julia")]
)
def test_a_notebook_without_python_has_no_faults(folder: Folder, data: dict[str, Any]) -> None:
    folder.write(data)
    assert folder.run("x.ipynb") == (0, "No mistakes found in 1 file\n", "")


@pytest.mark.parametrize(
    "cell",
    [
        {"cell_type": "code"},
        {"cell_type": "code", "source": None},
        {"cell_type": "code", "source": [None, 3, "x"]},
        {"cell_type": "code", "source": "x", "metadata": {"vscode": {"languageId": "rust"}}, "execution_count": "3"},
        {"cell_type": "raw", "source": ["loss.backward()"]},
        {"source": ["loss.backward()"]},
        "loss.backward()",
        None,
    ],
)
def test_strange_cells_are_passed_over_and_counted(folder: Folder, cell: Any) -> None:
    folder.write(notebook(code(SETUP), cell, code(BUILT), code("loss.backward()"), code(AGAIN)))
    assert folder.places() == [("double-backward", 5, 2)]
    assert folder.run(".", "--fix")[0] == 0


def test_a_fix_changes_its_line_and_no_other_byte(folder: Folder) -> None:
    output = {"data": {"image/png": "iVBORw0K\n", "text/plain": ["é \\ \u2028"]}, "output_type": "display_data"}
    data = notebook(
        prose("Größe"),
        code(SETUP),
        code(BUILT),
        code('loss.backward()  # größer 😀 "\\t"\nz = 1\n', 3, id="ab", outputs=[output]),
        code(AGAIN),
        zzz=[1.0, 1e5, {"source": ["loss.backward()"]}],
    )
    for style in ({"ensure_ascii": True}, {"ensure_ascii": False}, {"indent": 4}, {"sort_keys": True}):
        text = folder.write(data, **style)
        escaped = text.replace("/", "\\/") if style.get("indent") == 4 else text
        folder.write(escaped)
        status, patch, _ = folder.run(".", "--diff")
        assert folder.read() == escaped
        assert status == 1
        assert folder.run(".", "--fix")[0] == 0
        wanted = escaped.replace('"loss.backward()  #', '"loss.backward(retain_graph=True)  #')
        assert folder.read() == wanted
        changed = [line for line in patch.splitlines() if line.startswith(("+", "-"))]
        assert len(changed) == 4


def test_a_fix_that_adds_and_removes_lines_keeps_the_style(folder: Folder) -> None:
    loop = "for step in range(3):\n    opt.zero_grad()\n    loss = w.exp().sum()\n    opt.step()\n    loss.backward()"
    folder.write(notebook(code(SETUP + "opt = torch.optim.SGD([w], 0.1)"), code(loop)), indent=2)
    found = folder.found()
    assert all(each["cell"] == 2 for each in found)
    folder.run(".", "--unsafe-fixes", "--fix")
    text = folder.read()
    assert text == written(json.loads(text), indent=2)


def test_comments_in_cells_suppress(folder: Folder) -> None:
    again = "loss.backward()  # gradpath: ignore[double-backward]"
    other = "z = w.exp()\nz += 1\nz.sum().backward()"
    folder.write(notebook(code(SETUP), code(BUILT), code("loss.backward()"), code(again), code(other)))
    assert folder.places() == [("inplace-on-saved", 5, 2)]
    folder.write(notebook(code("%pip install x\n# gradpath: ignore-file\nimport torch"), *TWICE["cells"][1:]))
    assert folder.places() == []
    folder.write(notebook(code(SETUP), code("x = 1  # gradpath: ignore")))
    [found] = folder.found()
    assert (found["rule"], found["cell"], found["range"]) == ("unused-ignore", 2, place(1, 8, 26))
    folder.run(".", "--fix")
    assert json.loads(folder.read())["cells"][1]["source"] == ["x = 1"]


def test_a_notebook_from_standard_input(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(written(TWICE).encode()), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", stdin)
    status, out, _ = folder.run("-", "--stdin-filename", "y.ipynb", "--output-format", "concise")
    assert (status, out[:20]) == (1, "y.ipynb:cell 5:2:1: ")


def test_a_notebook_sees_the_modules_beside_it(folder: Folder) -> None:
    Path("net.py").write_text("def grow(w):\n    y = w.exp()\n    y += 1\n    return y\n")
    folder.write(notebook(code(SETUP + "from net import grow"), code("grow(w).sum().backward()")))
    [found] = folder.found("x.ipynb")
    assert (found["path"], found["cell"], found["range"]["start"]["line"]) == ("net.py", None, 3)
    assert [each.get("cell") for each in found["related"]] == [None, 2]


def test_folders_are_walked_for_notebooks_but_checkpoints_are_not(folder: Folder) -> None:
    (folder.path / ".ipynb_checkpoints").mkdir()
    folder.write(TWICE, ".ipynb_checkpoints/x-checkpoint.ipynb")
    folder.write(TWICE, "a.ipynb")
    (folder.path / "b.py").write_text("")
    _, out, _ = folder.run("--output-format", "json")
    assert json.loads(out)["files"] == 2


def test_the_graph_of_a_line_of_a_cell_is_drawn(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.write(TWICE)
    for place in ("x.ipynb:4:1", "x.ipynb:cell 4:1"):
        assert main(["graph", place, "--format", "mermaid"]) == 0
        assert '["loss<br/>sum · cell 3:2"]' in capsys.readouterr().out
    for place, reason in (
        ("x.ipynb:4", "name the cell as well: x.ipynb:CELL:LINE"),
        ("x.ipynb:1:1", "x.ipynb has no code cell 1"),
        ("x.ipynb:4:9", "cell 4 of x.ipynb has no line 9: it has 1"),
    ):
        assert main(["graph", place]) == 2
        assert reason in capsys.readouterr().err
