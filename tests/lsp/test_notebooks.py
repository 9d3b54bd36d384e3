"""Notebooks in an editor: cells that come, go, move and change, and the one plain document that JupyterLab sends."""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
from collections.abc import AsyncIterator, Iterator
from importlib import metadata
from itertools import count
from pathlib import Path
from xml.etree import ElementTree

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import client_capabilities

import gradpath
from gradpath.analysis.check import check
from gradpath.diagnostic import Range
from gradpath.source.cells import Cell, CellsDocument
from gradpath.source.document import Document
from gradpath.source.notebook import read_notebook
from tests.lsp.harness import PATIENCE, REAL, Editor, server

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETUP = "%matplotlib inline\nimport torch\nw = torch.randn(3, requires_grad=True)\n"
BUILT = "# 🙂\ny = w.exp()\nloss = y.sum()"
FIRST = "loss.backward()"
AGAIN = "w.grad = None\n'🙂'; y.mean().backward()"


def capabilities(known: types.ClientCapabilities) -> types.ClientCapabilities:
    """What a client can do, and notebooks as well."""
    sync = types.NotebookDocumentSyncClientCapabilities(execution_summary_support=True)
    known.notebook_document = types.NotebookDocumentClientCapabilities(sync)
    return known


PROFILES = {
    "full": capabilities(client_capabilities("visual_studio_code")),
    "plain": capabilities(types.ClientCapabilities()),
}
_numbers = count(1)


@pytest_lsp.fixture(scope="module", params=sorted(PROFILES), config=server(REAL))
async def session(request: pytest.FixtureRequest, lsp_client: Editor) -> AsyncIterator[None]:
    answer = await lsp_client.begin(PROFILES[request.param])
    assert answer.capabilities.notebook_document_sync is not None
    yield
    assert [line.message for line in lsp_client.log_messages] == []
    await lsp_client.shutdown_session()
    assert await lsp_client.errors() == ""


class Notebook:
    """A notebook that the editor shows."""

    def __init__(self, editor: Editor, *sources: str, language: str = "python") -> None:
        self.editor = editor
        self.uri = f"file:///project/{next(_numbers)}.ipynb"
        self.version = 1
        self.cells = [self._new(source, language) for source in sources]
        notebook = types.NotebookDocument(self.uri, "jupyter-notebook", 1, list(map(self._cell, self.cells)))
        texts = [self._item(uri, language) for uri in self.cells]
        editor.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, texts))

    def _new(self, source: str, language: str = "python") -> str:
        uri = f"vscode-notebook-cell:{self.uri[5:]}#{next(_numbers)}"
        self.editor.texts[uri], self.editor.versions[uri] = source, 1
        return uri

    def _item(self, uri: str, language: str = "python") -> types.TextDocumentItem:
        return types.TextDocumentItem(uri, language, self.editor.versions[uri], self.editor.texts[uri])

    def _cell(self, uri: str, order: int | None = None, kind: int = 2) -> types.NotebookCell:
        summary = None if order is None else types.ExecutionSummary(execution_order=order)
        return types.NotebookCell(types.NotebookCellKind(kind), uri, execution_summary=summary)

    def send(self, **cells: object) -> None:
        self.version += 1
        identifier = types.VersionedNotebookDocumentIdentifier(version=self.version, uri=self.uri)
        change = types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(**cells))  # type: ignore[arg-type]
        self.editor.notebook_document_did_change(types.DidChangeNotebookDocumentParams(identifier, change))

    def splice(self, start: int, removed: int, *added: str, sources: tuple[str, ...] = ()) -> None:
        """Take cells out and put others in their place, known ones by their URI or new ones by their text."""
        new = [self._new(source) for source in sources]
        gone = [uri for uri in self.cells[start : start + removed] if uri not in added]
        self.cells[start : start + removed] = [*added, *new]
        cells = [self._cell(uri) for uri in (*added, *new)]
        array = types.NotebookCellArrayChange(start, removed, cells)
        opened, closed = [self._item(uri) for uri in new], [types.TextDocumentIdentifier(uri) for uri in gone]
        self.send(structure=types.NotebookDocumentCellChangeStructure(array, opened, closed))

    def type(self, index: int, old: str, new: str) -> None:
        """Type `new` over `old` in a cell."""
        uri = self.cells[index]
        text = self.editor.texts[uri]
        start = text.index(old)
        span = types.Range(self.editor.position(uri, start), self.editor.position(uri, start + len(old)))
        self.editor.texts[uri] = text[:start] + new + text[start + len(old) :]
        self.editor.versions[uri] += 1
        identifier = types.VersionedTextDocumentIdentifier(version=self.editor.versions[uri], uri=uri)
        edit = types.TextDocumentContentChangePartial(range=span, text=new)
        self.send(text_content=[types.NotebookDocumentCellContentChanges(identifier, [edit])])

    def ran(self, *orders: int) -> None:
        """Tell in which order the cells were run."""
        self.send(data=[self._cell(uri, order) for uri, order in zip(self.cells, orders, strict=True)])

    async def shows(self, *expected: tuple[int, str]) -> list[types.Diagnostic]:
        """Wait until these cells, and no others, have these squiggles."""

        async def wait() -> list[types.Diagnostic]:
            while True:
                self.editor._news.clear()
                found = [(index, each) for index, uri in enumerate(self.cells) for each in self._shown(uri)]
                if [(index, self.editor.covered(self.cells[index], each.range)) for index, each in found] == list(
                    expected
                ):
                    return [each for _, each in found]
                await self.editor._news.wait()

        return await asyncio.wait_for(wait(), PATIENCE)

    def _shown(self, uri: str) -> list[types.Diagnostic]:
        return list(self.editor.diagnostics.get(uri, ()))

    def close(self) -> None:
        cells = [types.TextDocumentIdentifier(uri) for uri in self.cells]
        notebook = types.NotebookDocumentIdentifier(self.uri)
        self.editor.notebook_document_did_close(types.DidCloseNotebookDocumentParams(notebook, cells))


@pytest.fixture
def editor(session: Editor) -> Iterator[Editor]:
    session.published.clear()
    yield session
    session.texts.clear()


FAULT = "y.mean().backward()"


async def test_a_fault_is_shown_in_its_cell_with_the_story_in_the_others(editor: Editor) -> None:
    notebook = Notebook(editor, SETUP, BUILT, FIRST, AGAIN)
    [found] = await notebook.shows((3, FAULT))
    assert found.code == "double-backward"
    if found.related_information is None:
        return
    story = [(each.location.uri, editor.covered(*_place(each.location))) for each in found.related_information]
    assert story == [(notebook.cells[1], "w.exp()"), (notebook.cells[2], FIRST), (notebook.cells[3], FAULT)]


def _place(location: types.Location) -> tuple[str, types.Range]:
    return location.uri, location.range


async def test_cells_are_edited(editor: Editor) -> None:
    notebook = Notebook(editor, SETUP, BUILT, FIRST, AGAIN)
    await notebook.shows((3, FAULT))
    notebook.type(2, "()", "(retain_graph=True)")
    await notebook.shows()
    notebook.type(2, "retain_graph=True", "")
    await notebook.shows((3, FAULT))
    notebook.type(1, "y = w", "y = (((")
    notebook.type(1, "y = (((", "y = w")
    await notebook.shows((3, FAULT))


async def test_cells_are_put_in_and_taken_out(editor: Editor) -> None:
    notebook = Notebook(editor, SETUP, BUILT, FIRST, AGAIN)
    await notebook.shows((3, FAULT))
    notebook.splice(2, 0, sources=("# nothing", "%%bash\nls"))
    [found] = await notebook.shows((5, FAULT))
    notebook.splice(5, 0, sources=(BUILT,))
    await notebook.shows()
    gone = notebook.cells[6]
    notebook.splice(5, 1)
    await notebook.shows((5, FAULT))
    notebook.splice(5, 1)
    await notebook.shows()
    await editor.publication(lambda params: params.uri == gone and not params.diagnostics)
    assert found.code == "double-backward"


async def test_cells_are_moved(editor: Editor) -> None:
    notebook = Notebook(editor, SETUP, BUILT, FIRST, AGAIN)
    await notebook.shows((3, FAULT))
    first, again = notebook.cells[2:]
    notebook.splice(2, 2, again, first)
    await notebook.shows((3, FIRST))


async def test_cells_turn_into_text_and_back(editor: Editor) -> None:
    notebook = Notebook(editor, SETUP, BUILT, FIRST, AGAIN)
    await notebook.shows((3, FAULT))
    notebook.send(data=[notebook._cell(notebook.cells[2], kind=1)])
    await notebook.shows()
    notebook.send(data=[notebook._cell(notebook.cells[2], kind=2)])
    await notebook.shows((3, FAULT))


async def test_the_order_in_which_cells_ran_is_told(editor: Editor) -> None:
    notebook = Notebook(editor, SETUP, BUILT, FIRST, AGAIN)
    notebook.ran(1, 8, 3, 4)
    while "(cell 2 was last run after cell 3)" not in (await notebook.shows((3, FAULT)))[0].message:
        await editor._news.wait()
    notebook.ran(1, 2, 3, 4)
    while "last run" in (await notebook.shows((3, FAULT)))[0].message:
        await editor._news.wait()


async def test_what_only_a_notebook_understands_is_passed_over(editor: Editor) -> None:
    built = BUILT.replace("loss = y.sum()", "%time loss = y.sum()\nfiles = !ls {folder}\n?loss")
    shown = "import asyncio\nawait asyncio.sleep(0)\ndisplay(loss)\nloss.backward();"
    notebook = Notebook(editor, "%%bash\nls", SETUP + "!pip install einops", built, shown, "%%time\n" + AGAIN)
    await notebook.shows((4, FAULT))
    notebook.type(4, "%%time", "%%html")
    await notebook.shows()
    notebook.type(4, "%%html", "%%capture out")
    await notebook.shows((4, FAULT))


async def test_a_fix_may_lie_in_another_cell(editor: Editor) -> None:
    notebook = Notebook(editor, SETUP, BUILT, FIRST, AGAIN)
    await notebook.shows((3, FAULT))
    actions = await editor.actions(notebook.cells[3], FAULT, only=["quickfix"])
    keep = next(action for action in actions if "retain_graph" in action.title)
    assert keep.title == "gradpath: Keep the graph: `retain_graph=True` on line 1 of cell 3"
    assert editor.after(notebook.cells[2], keep.edit) == "loss.backward(retain_graph=True)"
    assert editor.after(notebook.cells[3], keep.edit) == AGAIN
    ignore = next(action for action in actions if action.title.startswith("gradpath: Ignore"))
    assert editor.after(notebook.cells[3], ignore.edit) == f"{AGAIN}  # gradpath: ignore[double-backward]"
    assert await editor.actions(notebook.cells[1], "y = w.exp()", only=["quickfix"]) == []


async def test_one_fix_may_change_several_cells(editor: Editor) -> None:
    notebook = Notebook(editor, SETUP, BUILT, FIRST + "\nother = 1", "y.mean().backward()")
    await notebook.shows((3, FAULT))
    actions = await editor.actions(notebook.cells[3], FAULT, only=["quickfix"])
    add = next(action for action in actions if action.title.startswith("gradpath: Add the losses"))
    assert editor.after(notebook.cells[2], add.edit) == "other = 1"
    assert editor.after(notebook.cells[3], add.edit) == "(loss + y.mean()).backward()"


async def test_all_cells_are_mended_at_once(editor: Editor) -> None:
    notebook = Notebook(editor, SETUP, BUILT, FIRST, AGAIN)
    await notebook.shows((3, FAULT))
    for kind in ("source.fixAll", "notebook.source.fixAll"):
        [mend] = await editor.actions(notebook.cells[0], "import torch", only=[kind])
        assert mend.kind == f"{kind}.gradpath"
        assert editor.after(notebook.cells[2], mend.edit) == "loss.backward(retain_graph=True)"


async def test_a_hover_counts_lines_by_cells(editor: Editor) -> None:
    notebook = Notebook(editor, SETUP, BUILT, FIRST, AGAIN)
    await notebook.shows((3, FAULT))
    hover = await editor.hover(notebook.cells[3], "y.mean")
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    assert "line 2 of cell 2: the graph of `y` is built" in hover.contents.value
    assert "line 2: needs it again" in hover.contents.value
    assert await editor.hover(notebook.cells[0], "%matplotlib") is None


async def test_closing_clears_every_cell(editor: Editor) -> None:
    notebook = Notebook(editor, SETUP, BUILT, FIRST, AGAIN)
    await notebook.shows((3, FAULT))
    notebook.close()
    await notebook.shows()


async def test_cells_in_other_languages_are_left_alone(editor: Editor) -> None:
    notebook = Notebook(editor, SETUP, BUILT, FIRST, AGAIN, language="r")
    python = Notebook(editor, SETUP, BUILT, FIRST, AGAIN)
    await python.shows((3, FAULT))
    await notebook.shows()


async def test_a_picture_of_the_graph_leads_to_the_cells(editor: Editor) -> None:
    notebook = Notebook(editor, SETUP, BUILT, FIRST)
    await notebook.shows()
    asked = types.ExecuteCommandParams("gradpath.server.graph", arguments=[notebook.cells[2], 0])
    picture = await editor.workspace_execute_command_async(asked)
    boxes = ElementTree.fromstring(picture["svg"]).iter("{http://www.w3.org/2000/svg}g")
    places = {(box.get("data-path"), box.get("data-line")) for box in boxes}
    assert {(notebook.cells[0], "3"), (notebook.cells[1], "2"), (notebook.cells[1], "3")} <= places
    notebook.close()


async def test_changes_for_a_notebook_that_was_never_opened_are_ignored(editor: Editor) -> None:
    notebook = Notebook(editor, SETUP)
    notebook.close()
    notebook.type(0, "w", "v")
    notebook.close()
    assert await editor.hover(notebook.cells[0], "torch") is None
    assert await editor.actions(notebook.cells[0], "torch") == []


JUPYTERLAB = """\
get_ipython().run_line_magic("matplotlib", "inline")
import torch
w = torch.randn(3, requires_grad=True)


y = w.exp()
y.sum().backward()


%time y.mean().backward()
"""


async def test_the_plain_document_of_jupyterlab(editor: Editor) -> None:
    uri = "file:///project/.virtual_documents/x.ipynb"
    editor.open(uri, JUPYTERLAB)
    [found] = await editor.diagnostics_of(uri)
    assert (found.code, editor.covered(uri, found.range)) == ("double-backward", FAULT)
    assert found.source == "gradpath: double-backward"  # JupyterLab shows the source alone.
    assert not re.search(r"line \d", found.message)  # Its reader sees cells, and no line of this text.
    editor.close(uri)


@pytest_lsp.fixture(config=server(REAL))
async def puller(lsp_client: Editor) -> AsyncIterator[None]:
    pulls = types.TextDocumentClientCapabilities(diagnostic=types.DiagnosticClientCapabilities())
    await lsp_client.begin(capabilities(types.ClientCapabilities(text_document=pulls)))
    yield
    await lsp_client.shutdown_session()


@pytest.mark.asyncio(loop_scope="function")
async def test_a_client_that_asks_is_told_cell_by_cell(puller: Editor) -> None:
    notebook = Notebook(puller, SETUP, BUILT, FIRST, AGAIN)

    async def asked(cell: str, known: str | None = None) -> types.DocumentDiagnosticReport:
        params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(cell), previous_result_id=known)
        return await asyncio.wait_for(puller.text_document_diagnostic_async(params), PATIENCE)

    reports = [await asked(cell) for cell in notebook.cells]
    assert all(isinstance(report, types.RelatedFullDocumentDiagnosticReport) for report in reports)
    assert [len(report.items) for report in reports] == [0, 0, 0, 1]  # type: ignore[union-attr]
    again = await asked(notebook.cells[3], reports[3].result_id)
    assert isinstance(again, types.RelatedUnchangedDocumentDiagnosticReport)
    notebook.type(2, FIRST, "pass")
    mended = await asked(notebook.cells[3], reports[3].result_id)
    assert isinstance(mended, types.RelatedFullDocumentDiagnosticReport)
    assert (list(mended.items), puller.published) == ([], [])


async def test_a_notebook_shown_as_json_is_no_python(editor: Editor) -> None:
    uri = "file:///project/raw.ipynb"
    editor.open(uri, json.dumps({"cells": [{"cell_type": "code", "source": AGAIN}]}), language="json")
    assert await editor.hover(uri, "cells") is None
    assert [params for params in editor.published if params.uri == uri] == []
    editor.close(uri)


async def test_jupyterlab_finds_the_server() -> None:
    from gradpath.lsp.jupyter import specification

    spec = specification(None)["gradpath"]
    assert spec["argv"] == [sys.executable, str(Path(gradpath.__file__).with_name("__main__.py")), "server"]
    assert spec["languages"] == ["python"]
    points = metadata.entry_points(group="jupyter_lsp_spec_v1")
    assert all(point.value == "gradpath.lsp.jupyter:specification" for point in points if point.name == "gradpath")


async def test_a_change_in_a_module_is_seen_in_the_notebook(editor: Editor) -> None:
    uri = "file:///project/grown.py"
    editor.open(uri, "def grow(w):\n    return w.exp()\n")
    notebook = Notebook(editor, SETUP + "from grown import grow\n", "y = grow(w)\nloss = y.sum()", FIRST, AGAIN)
    await notebook.shows((3, FAULT))
    editor.replace(uri, "w.exp()", "w + 1")
    await notebook.shows()
    editor.replace(uri, "w + 1", "w.exp()")
    await notebook.shows((3, FAULT))
    editor.close(uri)
    notebook.close()


async def test_a_long_session_leaves_nothing_behind(editor: Editor) -> None:
    sample = read_notebook(Path(__file__).parents[2] / "samples" / "faulty" / "style_transfer.ipynb")
    sources = [cell.text for cell in sample.cells]
    at = random.Random(7)
    notebook = Notebook(editor, *sources)
    for _ in range(6):
        for _ in range(25):
            _change(notebook, at)
        # Two moves of known cells, and the rest anew, so that there is something to find.
        notebook.splice(0, len(notebook.cells) // 2)
        notebook.splice(at.randint(0, len(notebook.cells)), 0, sources=("%%bash\nls", "x = 1  # 🙂"))
        notebook.splice(len(notebook.cells), 0, sources=tuple(sources))
        cells = [Cell(number, editor.texts[uri]) for number, uri in enumerate(notebook.cells, start=1)]
        cold = CellsDocument("cold.ipynb", cells)
        places = [cold.in_cell(each.range) for each in check(cold).diagnostics]
        found = [(cell.number - 1, _slice(cell.text, place)) for cell, place in places]
        await notebook.shows(*found)
    notebook.close()


def _slice(text: str, place: Range) -> str:
    return Document("cell", text).slice(place)


def _change(notebook: Notebook, at: random.Random) -> None:
    cells = notebook.cells
    match at.randrange(6) if cells else 0:
        case 0:
            notebook.splice(
                at.randint(0, len(cells)), 0, sources=(at.choice((SETUP, BUILT, FIRST, "((", "", "🙂\r\n")),)
            )
        case 1:
            start = at.randrange(len(cells))
            notebook.splice(start, at.randint(0, 2))
        case 2:
            start = at.randrange(len(cells))
            notebook.splice(start, 2, *reversed(cells[start : start + 2]))
        case 3:
            cell = at.randrange(len(cells))
            notebook.send(data=[notebook._cell(cells[cell], order=at.randrange(9))])
        case _:
            index = at.randrange(len(cells))
            text = notebook.editor.texts[cells[index]]
            start = at.randint(0, len(text))
            old = text[start : start + at.choice((0, 0, 1, 20))]
            if text.index(old) == start or not old:
                notebook.type(index, old, at.choice(("", "(", "\n", "\r\n", "é🙂", "%time ", '"""', "x = 1\n")))


async def test_who_learns_from_what_is_told_in_cells(editor: Editor) -> None:
    made = "import torch\nencoder, head = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)\n"
    given = "optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)\n"
    run = "loss = head(encoder(torch.ones(1, 2)).detach()).sum()\nloss.backward()\noptimizer.step()\n"
    notebook = Notebook(editor, made, given, run)
    await notebook.shows()
    asked = types.ExecuteCommandParams("gradpath.server.flow", arguments=[notebook.cells[2], 1])
    flow = await editor.workspace_execute_command_async(asked)
    assert "line 2 of cell 3  loss.backward()" in flow["text"]
    boxes = ElementTree.fromstring(flow["svg"]).iter("{http://www.w3.org/2000/svg}g")
    assert (notebook.cells[2], "1") in {(box.get("data-path"), box.get("data-line")) for box in boxes}
    asked = types.ExecuteCommandParams("gradpath.server.why", arguments=[notebook.cells[0], 1, 2])
    said = await editor.workspace_execute_command_async(asked)
    assert said.startswith("`encoder` (2 parameters) gets no gradient\n")
    assert "on line 1 of cell 3 cuts it off" in said
    found = await editor.text_document_code_lens_async(
        types.CodeLensParams(types.TextDocumentIdentifier(notebook.cells[2]))
    )
    assert [lens.command.title for lens in found or () if lens.command is not None] == [
        "gradients for `head` (2)",
        "updates `head` (2); `encoder` (2) gets no gradient",
    ]
    notebook.close()
