"""A session with an editor, from the first message to the last, on a made-up analysis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from urllib.parse import quote

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from gradpath.lsp.convert import Encoding
from tests.lsp.harness import PATIENCE, PROFILES, SCRIPTED, Editor, server

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_lsp.fixture(scope="module", params=PROFILES, config=server(SCRIPTED))
async def session(request: pytest.FixtureRequest, lsp_client: Editor) -> AsyncIterator[None]:
    await lsp_client.begin(request.param)
    yield
    await lsp_client.shutdown_session()
    assert lsp_client.process.returncode == 0
    assert await lsp_client.errors() == ""


@pytest.fixture
def editor(session: Editor) -> Iterator[Editor]:
    """The editor of the module's session, without what earlier tests have left behind."""
    session.published.clear()
    session.log_messages.clear()
    yield session
    for uri in list(session.texts):
        session.close(uri)
        del session.texts[uri]


@pytest.fixture
def uri(request: pytest.FixtureRequest) -> str:
    return f"file:///project/{quote(request.node.name)}.py"


async def test_a_faulty_file_is_marked_when_it_is_opened(editor: Editor, uri: str) -> None:
    editor.open(uri, "CAUSE\nx = BAD\n", version=7)
    [found] = await editor.diagnostics_of(uri)
    assert editor.covered(uri, found.range) == "BAD"
    assert found.message == "`BAD` is bad\nhelp: say `GOOD`"
    assert (found.code, found.source, found.severity) == ("made-up", "gradpath", types.DiagnosticSeverity.Error)


async def test_the_story_is_told_in_execution_order(editor: Editor, uri: str) -> None:
    editor.open(uri, "CAUSE\nx = BAD\n")
    [found] = await editor.diagnostics_of(uri)
    story = [(message, place.uri, editor.covered(uri, place.range)) for message, place in editor.story(found)]
    assert story == [("the cause", uri, "CAUSE"), ("the effect", uri, "BAD")]


async def test_what_can_go_is_faded(editor: Editor, uri: str) -> None:
    editor.open(uri, "x = 1  # GONE\n")
    [found] = await editor.diagnostics_of(uri)
    fades = editor.can("text_document.publish_diagnostics.tag_support")
    assert list(found.tags or ()) == ([types.DiagnosticTag.Unnecessary] if fades else [])


async def test_the_marks_follow_the_text_and_go_when_it_is_mended(editor: Editor, uri: str) -> None:
    editor.open(uri, "x = BAD\n")
    await editor.diagnostics_of(uri)
    editor.replace(uri, "x", "😀 = 1\nlonger")
    [found] = await editor.diagnostics_of(uri)
    assert editor.covered(uri, found.range) == "BAD"
    editor.replace(uri, "BAD", "GOOD")
    assert await editor.diagnostics_of(uri) == []


@pytest.mark.parametrize(
    "text",
    [
        "'😀👩‍👩‍👧'; x = BAD\n",
        "é = '中'; x = BAD",
        "y = 1\r\nx = BAD\r\n",
        "y = 1\rx = BAD\r",
        "\f\ny = '\u2028\x85\v\x1c'; x = BAD\n",
        "\ufeffx = BAD\n",
    ],
    ids=["emoji", "accents", "windows", "old macintosh", "other separators", "byte order mark"],
)
async def test_marks_and_fixes_lie_right(editor: Editor, uri: str, text: str) -> None:
    editor.open(uri, text)
    [found] = await editor.diagnostics_of(uri)
    assert editor.covered(uri, found.range) == "BAD"
    # And again after an edit that the server has to apply.
    editor.edit(uri, [(len(text), len(text), " # 😀\r\n\f# end\r"), (0, 0, "'😀'\r\n")])
    [found] = await editor.diagnostics_of(uri)
    assert editor.covered(uri, found.range) == "BAD"
    expected = editor.texts[uri].replace("BAD", "GOOD")
    [fix] = [action for action in await editor.actions(uri, "BAD") if action.title == "gradpath: Say GOOD"]
    assert editor.after(uri, fix.edit) == expected


async def test_a_carriage_return_and_a_line_feed_can_meet_and_part(editor: Editor, uri: str) -> None:
    editor.open(uri, "a = 1\r")
    editor.edit(uri, [(6, 6, "\n"), (7, 7, "x = BAD")])
    [found] = await editor.diagnostics_of(uri)
    assert found.range == types.Range(types.Position(1, 4), types.Position(1, 7))
    editor.edit(uri, [(5, 7, "\r# between\n")])
    [found] = await editor.diagnostics_of(uri)
    assert found.range == types.Range(types.Position(2, 4), types.Position(2, 7))


async def test_the_fixes_of_a_place_are_offered(editor: Editor, uri: str) -> None:
    editor.open(uri, "x = BAD\ny = BAD\n")
    actions = await editor.actions(uri, "x = BAD")
    assert [(action.title, action.kind, action.is_preferred) for action in actions] == [
        ("gradpath: Say GOOD", "quickfix", True),
        ("gradpath (unsafe): Say nothing", "quickfix", None),
        ("gradpath: Say it twice", "refactor.rewrite", None),
        ("gradpath: Fix all made-up in this file", "quickfix", None),
        ("gradpath: Ignore made-up on this line", "quickfix", None),
        ("Apply all safe gradpath fixes", "source.fixAll.gradpath", None),
    ]
    texts = [editor.after(uri, action.edit) for action in actions]
    assert texts == [
        "x = GOOD\ny = BAD\n",
        "x = pass\ny = BAD\n",
        "x = BAD\nGOOD\ny = BAD\n",
        "x = GOOD\ny = GOOD\n",
        "x = BAD  # gradpath: ignore[made-up]\ny = BAD\n",
        "x = GOOD\ny = GOOD\n",
    ]
    assert all(action.diagnostics for action in actions)


async def test_a_cursor_behind_the_mark_is_still_at_it(editor: Editor, uri: str) -> None:
    editor.open(uri, "x = BAD\n\n\n")
    place = editor.position(uri, 7)
    context = types.CodeActionContext(diagnostics=[])
    request = types.CodeActionParams(types.TextDocumentIdentifier(uri), types.Range(place, place), context)
    answer = await editor.text_document_code_action_async(request)
    assert "gradpath: Say GOOD" in [action.title for action in answer or ()]
    assert await editor.actions(uri, "\n\n") != []


async def test_no_fix_is_offered_elsewhere(editor: Editor, uri: str) -> None:
    editor.open(uri, "x = BAD\n\nfine = 1\n")
    assert [action.title for action in await editor.actions(uri, "fine")] == ["Apply all safe gradpath fixes"]


@pytest.mark.parametrize(
    ("only", "kinds"),
    [
        (["quickfix"], {"quickfix"}),
        (["refactor"], {"refactor.rewrite"}),
        (["source"], {"source.fixAll.gradpath"}),
        (["source.fixAll"], {"source.fixAll.gradpath"}),
        (["source.fixAll.gradpath"], {"source.fixAll.gradpath"}),
        (["source.fixAll.ruff", "source.organizeImports", "quick"], set()),
        ([""], {"quickfix", "refactor.rewrite", "source.fixAll.gradpath"}),
        ([], set()),
    ],
)
async def test_only_the_kinds_that_are_asked_for_are_offered(
    editor: Editor, uri: str, only: list[str], kinds: set[str]
) -> None:
    editor.open(uri, "x = BAD\n")
    assert {action.kind for action in await editor.actions(uri, "BAD", only)} == kinds


async def test_fixes_do_not_depend_on_what_the_client_echoes(editor: Editor, uri: str) -> None:
    editor.open(uri, "x = BAD\n")
    stale = types.Diagnostic(types.Range(types.Position(90, 0), types.Position(90, 1)), "without source or data")
    assert await editor.actions(uri, "BAD", echoed=[stale]) == await editor.actions(uri, "BAD")


async def test_new_lines_of_a_fix_end_as_the_file_ends_its_own(editor: Editor, uri: str) -> None:
    editor.open(uri, "x = BAD\r\n")
    [twice] = await editor.actions(uri, "BAD", ["refactor"])
    assert editor.after(uri, twice.edit) == "x = BAD\r\nGOOD\r\n"


async def test_a_request_right_after_an_edit_is_answered_for_the_new_text(editor: Editor, uri: str) -> None:
    editor.open(uri, "x = 1\n")
    await editor.diagnostics_of(uri)
    editor.replace(uri, "1", "'😀', BAD")
    [fix] = [action for action in await editor.actions(uri, "BAD") if action.is_preferred]
    assert editor.after(uri, fix.edit) == "x = '😀', GOOD\n"


async def test_hover_tells_the_story(editor: Editor, uri: str) -> None:
    editor.open(uri, "CAUSE\nloss = BAD\n")
    story, fault = await editor.hover(uri, "loss"), await editor.hover(uri, "BAD")
    assert story is not None
    assert isinstance(story.contents, types.MarkupContent)
    assert story.range is not None
    assert editor.covered(uri, story.range) == "loss"
    assert fault is not None
    assert isinstance(fault.contents, types.MarkupContent)
    assert await editor.hover(uri, "CAUSE") is None
    if not editor.can("text_document.hover.content_format"):
        assert story.contents.kind == types.MarkupKind.PlainText
        assert story.contents.value == "`loss` of a made-up model\nbuilt here\nkept"
        return
    assert story.contents.kind == types.MarkupKind.Markdown
    assert story.contents.value == "**`loss` of a made-up model**\n\n- built here\n- kept"
    assert fault.contents.value.splitlines() == [
        "**`BAD` is bad (made-up)**",
        "",
        "1. line 1: the cause",
        "2. line 2: the effect",
        "",
        "- PyTorch: RuntimeError: bad",
        "- help: say `GOOD`",
        "- or: say nothing",
    ]


async def test_closing_clears_the_marks(editor: Editor, uri: str) -> None:
    editor.open(uri, "x = BAD\n")
    await editor.diagnostics_of(uri)
    editor.close(uri)
    assert await editor.publication(lambda params: params.uri == uri and not params.diagnostics) == []
    assert await editor.actions(uri, "BAD") == []
    assert await editor.hover(uri, "BAD") is None


async def test_a_file_that_is_opened_again_is_checked_again(editor: Editor, uri: str) -> None:
    editor.open(uri, "x = BAD\n")
    await editor.diagnostics_of(uri)
    editor.close(uri)
    editor.open(uri, "BAD; BAD\n", version=1)
    await editor.publication(lambda params: params.version == 1 and len(params.diagnostics) == 2)


async def test_saving_checks_again(editor: Editor, uri: str) -> None:
    editor.open(uri, "x = BAD\n")
    await editor.diagnostics_of(uri)
    editor.published.clear()
    editor.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))
    assert len(await editor.diagnostics_of(uri)) == 1


async def test_other_languages_are_left_alone(editor: Editor, uri: str) -> None:
    editor.open("file:///project/notes.md", "BAD\n", language="markdown")
    editor.open(uri, "BAD\n")
    await editor.diagnostics_of(uri)
    assert not any(params.uri.endswith(".md") for params in editor.published)


async def test_a_new_file_without_a_name_is_checked(editor: Editor, uri: str) -> None:
    uri = "untitled:Untitled-1"
    editor.open(uri, "x = BAD\n")
    [found] = await editor.diagnostics_of(uri)
    assert [place.uri for _, place in editor.story(found)] == [uri]


async def test_names_with_special_characters_come_back_as_they_were_sent(editor: Editor) -> None:
    uri = "file:///pro%20ject/tr%C3%A4in%3B%23.py"
    editor.open(uri, "x = BAD\n")
    [found] = await editor.diagnostics_of(uri)
    assert [place.uri for _, place in editor.story(found)] == [uri]


async def test_half_typed_code_is_marked_too(editor: Editor, uri: str) -> None:
    editor.open(uri, "x = BAD\n")
    await editor.diagnostics_of(uri)
    editor.replace(uri, "x", "def f(:\n  x")
    [found] = await editor.diagnostics_of(uri)
    assert editor.covered(uri, found.range) == "BAD"


async def test_an_analysis_that_fails_is_logged_once_and_clears_the_marks(editor: Editor, uri: str) -> None:
    editor.open(uri, "x = BAD\n")
    await editor.diagnostics_of(uri)
    for _ in range(3):
        editor.replace(uri, "x", "x # RAISE\ny")
        assert await editor.diagnostics_of(uri) == []
    assert await editor.actions(uri, "BAD") == []
    assert await editor.hover(uri, "BAD") is None
    assert "made up" in (await editor.log_line("has failed")).message
    assert len(editor.log_messages) == 1
    editor.edit(uri, [(0, len(editor.texts[uri]), "x = BAD\n")])
    assert len(await editor.diagnostics_of(uri)) == 1


async def test_what_the_analysis_prints_does_not_reach_the_client(editor: Editor, uri: str) -> None:
    editor.open(uri, "NOISE BAD\n")
    assert len(await editor.diagnostics_of(uri)) == 1
    assert "ZeroDivisionError" in (await editor.log_line("A thread of gradpath has failed")).message


async def test_typing_goes_on_while_an_analysis_runs(editor: Editor, uri: str) -> None:
    editor.open(uri, "WAIT\nx = BAD\n")
    for letter in "abc":
        editor.replace(uri, "x", f"{letter} = BAD\nx")
    editor.replace(uri, "WAIT", "done")
    assert len(await editor.diagnostics_of(uri)) == 4
    # Nothing was published for the versions that were out of date when their check ended.
    assert [params.version for params in editor.published if params.uri == uri] == [editor.versions[uri]]


async def test_the_file_that_is_edited_goes_before_one_that_takes_long(editor: Editor, uri: str) -> None:
    editor.open("file:///project/long.py", "WAIT\n")
    editor.open(uri, "x = 1\n")
    assert await editor.diagnostics_of(uri) == []
    editor.replace(uri, "1", "BAD")
    assert len(await editor.diagnostics_of(uri)) == 1
    editor.replace("file:///project/long.py", "WAIT", "BAD")
    assert len(await editor.diagnostics_of("file:///project/long.py")) == 1


async def test_a_request_that_waits_can_be_cancelled(editor: Editor, uri: str) -> None:
    editor.open(uri, "WAIT\nx = BAD\n")
    place = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(1, 4))
    waiting = editor.protocol.send_request(types.TEXT_DOCUMENT_HOVER, place, msg_id="slow")
    editor.cancel_request(types.CancelParams(id="slow"))
    with pytest.raises(JsonRpcException, match="cancel"):
        await asyncio.wait_for(asyncio.wrap_future(waiting), PATIENCE)
    editor.replace(uri, "WAIT", "done")
    assert await editor.hover(uri, "BAD") is not None


async def test_a_request_waits_for_the_newest_text_and_ends_with_the_document(editor: Editor, uri: str) -> None:
    editor.open(uri, "WAIT\nx = BAD\n")
    place = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(1, 4))
    waiting = asyncio.wrap_future(editor.protocol.send_request(types.TEXT_DOCUMENT_HOVER, place))
    editor.replace(uri, "x", "y")
    editor.close(uri)
    assert await asyncio.wait_for(waiting, PATIENCE) is None


async def test_the_client_chooses_the_unit_of_columns(editor: Editor) -> None:
    general = None if editor.capabilities is None else editor.capabilities.general
    preferred = None if general is None else general.position_encodings
    assert editor.encoding is Encoding(preferred[0] if preferred else "utf-16")
