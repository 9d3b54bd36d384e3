"""The fixes of whole programs as an editor gets them: what is offered, and what it does to the text."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types

from gradpath.analysis.check import check
from gradpath.analysis.fix_validation import mended
from gradpath.diagnostic import Fix, Level, Safety
from gradpath.source.document import Document
from tests.documents.fixes import apply_edits
from tests.lsp.harness import NOTHING, REAL, Editor, server

pytestmark = pytest.mark.asyncio(loop_scope="module")

CORPUS = Path(__file__).parent.parent / "cases" / "corpus"
PROGRAMS = sorted(CORPUS.glob("*_faulty.py"), key=lambda path: path.stat().st_size)[:240:16]
"""Some of the shorter ones: what is asked is not what is found, but what comes of it."""


@pytest_lsp.fixture(scope="module", params=("visual_studio_code", NOTHING), config=server(REAL))
async def editor(request: pytest.FixtureRequest, lsp_client: Editor) -> AsyncIterator[None]:
    await lsp_client.begin(request.param)
    yield
    await lsp_client.shutdown_session()
    assert await lsp_client.errors() == ""


def signed(fix: Fix) -> str:
    return f"gradpath (unsafe): {fix.title}" if fix.safety is Safety.UNSAFE else f"gradpath: {fix.title}"


def expected(path: Path) -> set[tuple[str, str, bool]]:
    """The titles of the fixes, the texts after them, and whether they are preferred: an editor prefers safe ones."""
    document = Document(str(path), path.read_text("utf-8"))
    return {
        (signed(fix), apply_edits(document, fix.edits), fix.preferred and fix.safety is Safety.SAFE)
        for diagnostic in mended(check(document)).diagnostics
        if diagnostic.level is not Level.HINT
        for fix in diagnostic.fixes
        if fix.edits
    }


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
async def test_an_editor_is_offered_the_fixes_of_a_program(editor: Editor, path: Path) -> None:
    uri = path.as_uri()
    editor.open(uri, path.read_text("utf-8"))
    offered: set[tuple[str, str, bool]] = set()
    for found in await editor.diagnostics_of(uri):
        context = types.CodeActionContext(diagnostics=[found], only=["quickfix", "refactor.rewrite"])
        request = types.CodeActionParams(types.TextDocumentIdentifier(uri), found.range, context)
        for action in await editor.text_document_code_action_async(request) or ():
            fix = not action.title.startswith(("gradpath: Ignore ", "gradpath: Fix all ", "gradpath: Read about "))
            if fix and isinstance(action, types.CodeAction) and action.diagnostics:  # Other forms of a loop have none.
                resolved = await editor.resolved(action)
                offered.add((action.title, editor.after(uri, resolved.edit), bool(action.is_preferred)))
    editor.close(uri)
    assert offered == expected(path)
