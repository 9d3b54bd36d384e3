"""Findings that point into other files reach the client with the right places, texts and versions."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types

from gradpath.analyst.messages import Lines, Outcome
from gradpath.diagnostic import Action, ActionKind, Diagnostic, Edit, Label, Level, Position, Range
from gradpath.lsp.client import Client
from gradpath.lsp.documents import Documents
from gradpath.lsp.outgoing import Outgoing
from gradpath.lsp.uris import page_of, path_of, uri_of
from gradpath.rules import RULES

OWN = "file:///project/train.py"
OTHER = "file:///c%2B%2B/model.py"  # Written in a way in which `uri_of` would not.


def at(line: int, start: int, end: int) -> Range:
    return Range(Position(line, start), Position(line, end))


def opened(**texts: str) -> Documents:
    documents = Documents()
    for uri, text in ((OWN, texts.get("own")), (OTHER, texts.get("other"))):
        if text is not None:
            documents.open(types.TextDocumentItem(uri, "python", 4, text))
    return documents


def outgoing(documents: Documents, client: Client) -> Outgoing:
    document = documents.get(OWN)
    assert document is not None
    return Outgoing(document, documents, client)


def told(documents: Documents, path: str, lines: Lines | None = None) -> types.Location:
    label = Label(path, at(1, 2, 3), "built here")
    diagnostic = Diagnostic("/project/train.py", at(1, 1, 2), "x", "graph", Level.ERROR, "m", labels=(label,))
    own = documents.get(OWN)
    assert own is not None
    found = Outcome(own.path, (diagnostic,), frozenset([Path(path)]), lines=lines or {})
    documents.answer(OWN, own.generation, found)
    related = outgoing(documents, Client(related_information=True)).diagnostic(diagnostic).related_information
    assert related is not None
    return related[0].location


def test_a_step_in_an_open_file_lies_where_the_editor_has_it() -> None:
    location = told(opened(own="x\n", other="😀y\n"), path_of(OTHER))
    assert location.uri == OTHER
    assert (location.range.start.character, location.range.end.character) == (2, 3)


def test_a_step_in_a_file_that_is_not_open_lies_where_the_check_has_seen_it(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    location = told(opened(own="x\n"), str(file), {str(file): {1: "😀y"}})
    assert location.uri == file.as_uri()
    assert (location.range.start.character, location.range.end.character) == (2, 3)


def test_a_step_in_a_file_that_is_gone_still_names_it(tmp_path: Path) -> None:
    location = told(opened(own="x\n"), str(tmp_path / "gone.py"))
    assert location.uri == (tmp_path / "gone.py").as_uri()
    assert location.range.start.line == 0


def test_edits_carry_the_version_of_each_open_file(tmp_path: Path) -> None:
    file = tmp_path / "closed.py"
    file.write_text("y\n")
    edits = [Edit(path, at(1, 1, 2), "z") for path in ("/project/train.py", path_of(OTHER), str(file))]
    edit = outgoing(opened(own="x\n", other="y\n"), Client(document_changes=True)).workspace_edit(edits)
    assert edit.changes is None
    assert [
        (change.text_document.uri, change.text_document.version)
        for change in edit.document_changes or ()
        if isinstance(change, types.TextDocumentEdit)
    ] == [(OWN, 4), (OTHER, 4), (file.as_uri(), None)]


def test_a_client_without_versions_gets_edits_by_file() -> None:
    edits = [Edit("/project/train.py", at(1, column, column), "z") for column in (1, 2)]
    edit = outgoing(opened(own="x\n"), Client()).workspace_edit(edits)
    assert edit.document_changes is None
    assert {uri: len(changes) for uri, changes in (edit.changes or {}).items()} == {OWN: 2}


def test_paths_and_uris_lead_to_each_other() -> None:
    for path in ("/a b/ä;#?%.py", "/project/train.py"):
        assert path_of(uri_of(path)) == path
    for uri in ("untitled:Untitled-1", "vscode-notebook-cell:/x.ipynb#abc", "http://[broken"):
        assert path_of(uri) == uri
        assert uri_of(uri) == uri


def test_a_rule_links_to_its_page() -> None:
    for rule in RULES.values():
        page = page_of(rule.id)
        assert (page is None) == (not rule.page)
        assert page is None or Path(path_of(page)).read_text(encoding="utf-8") == rule.page


def test_a_rule_without_a_page_has_no_link() -> None:
    assert page_of("no-such-rule") is None


def test_a_rule_s_page_is_opened_by_a_command_where_the_client_shows_documents() -> None:
    diagnostic = Diagnostic("/project/train.py", at(1, 1, 2), "double-backward", "graph", Level.ERROR, "m")
    action = Action("Read about it", ActionKind.QUICK_FIX, (), (diagnostic,), page="double-backward")
    documents = opened(own="x\n")
    assert outgoing(documents, Client()).action(action) is None
    made = outgoing(documents, Client(shows_documents=True)).action(action)
    assert made is not None
    assert made.edit is None
    assert made.command == types.Command("Read about it", "gradpath.rule", arguments=["double-backward"])
