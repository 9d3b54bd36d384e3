"""The editor's settings win over the project's files, folder by folder, and changes of either take effect at once."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import client_capabilities

from gradpath.analyst.configurations import Configurations, merged
from gradpath.analyst.messages import Settings
from gradpath.config import Config, find_config
from gradpath.lsp.settings import EditorSettings, section_of
from tests.lsp.harness import SCRIPTED, Editor, server

QUIET = '[tool.gradpath]\nignore = ["made-up"]\n'


@pytest_lsp.fixture(config=server(SCRIPTED))
async def editor(lsp_client: Editor) -> AsyncIterator[None]:
    yield
    await lsp_client.shutdown_session()
    assert await lsp_client.errors() == ""


def modern() -> types.ClientCapabilities:
    """A client that pulls settings and takes every registration."""
    capabilities = client_capabilities("visual_studio_code")
    assert capabilities.workspace is not None
    assert capabilities.workspace.configuration
    assert capabilities.workspace.did_change_watched_files is not None
    assert capabilities.workspace.did_change_watched_files.dynamic_registration
    return capabilities


def faulty_file(folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    return (folder / "train.py").as_uri()


def settings_change(settings: Any = None) -> types.DidChangeConfigurationParams:
    return types.DidChangeConfigurationParams(settings=settings)


async def test_the_projects_file_holds_in_the_editor(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(QUIET)
    await editor.begin(modern())
    uri = faulty_file(tmp_path / "package")
    editor.open(uri, "BAD\n")
    assert await editor.diagnostics_of(uri) == []


def known(folder: Path, *lines: str) -> None:
    """Write a baseline that knows the mistakes in these lines of `train.py`."""
    entries = [{"path": "train.py", "rule": "made-up", "line": line} for line in lines]
    (folder / "known.json").write_text(json.dumps({"version": 1, "entries": entries}))


async def test_what_the_baseline_of_the_project_knows_is_not_shown(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "gradpath.toml").write_text('baseline = "known.json"\n')
    known(tmp_path, "x = BAD")
    await editor.begin(modern())
    uri = faulty_file(tmp_path)
    editor.open(uri, "x = BAD\n")
    assert await editor.diagnostics_of(uri) == []
    assert await editor.actions(uri, "x = BAD") == []
    editor.edit(uri, [(8, 8, "y = BAD\n")])
    [found] = await editor.diagnostics_of(uri)
    assert found.range.start.line == 1
    assert [action.title for action in await editor.actions(uri, "y = BAD") if action.is_preferred] == [
        "gradpath: Say GOOD"
    ]
    assert await editor.actions(uri, "x = BAD", only=["quickfix"]) == []


async def test_a_setting_names_a_baseline_of_the_workspace_folder(editor: Editor, tmp_path: Path) -> None:
    known(tmp_path, "x = BAD")
    folder = types.WorkspaceFolder(tmp_path.as_uri(), "project")
    editor.set_configuration({"gradpath": {"baseline": "known.json"}}, scope_uri=folder.uri)
    await editor.begin(modern(), workspace_folders=[folder])
    uri = faulty_file(tmp_path)
    editor.open(uri, "x = BAD\n")
    # The first check may be faster than the client's answer to the question for its settings.
    await editor.publication(lambda params: params.uri == uri and not params.diagnostics)


async def test_a_change_of_the_projects_file_takes_effect(editor: Editor, tmp_path: Path) -> None:
    await editor.begin(modern())
    uri = faulty_file(tmp_path)
    editor.open(uri, "BAD\n")
    assert len(await editor.diagnostics_of(uri)) == 1
    assert types.WORKSPACE_DID_CHANGE_WATCHED_FILES in editor.registered
    project = tmp_path / "pyproject.toml"
    project.write_text(QUIET)
    event = types.FileEvent(project.as_uri(), types.FileChangeType.Created)
    editor.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
    assert await editor.publication(lambda params: params.uri == uri and not params.diagnostics) == []


async def test_a_client_that_watches_no_files_learns_of_it_when_saving(editor: Editor, tmp_path: Path) -> None:
    await editor.begin("neovim")
    uri = faulty_file(tmp_path)
    editor.open(uri, "BAD\n")
    assert len(await editor.diagnostics_of(uri)) == 1
    project = tmp_path / "pyproject.toml"
    project.write_text(QUIET)
    saved = types.TextDocumentIdentifier(project.as_uri())
    editor.text_document_did_save(types.DidSaveTextDocumentParams(saved))
    assert await editor.publication(lambda params: params.uri == uri and not params.diagnostics) == []


async def test_settings_are_asked_for_and_asked_again(editor: Editor, tmp_path: Path) -> None:
    editor.set_configuration({"ignore": ["made-up"]}, section="gradpath")
    await editor.begin(modern())
    uri = faulty_file(tmp_path)
    editor.open(uri, "BAD\n")
    await editor.publication(lambda params: params.uri == uri and not params.diagnostics)
    assert types.WORKSPACE_DID_CHANGE_CONFIGURATION in editor.registered
    editor.set_configuration({"ignore": []}, section="gradpath")
    editor.workspace_did_change_configuration(settings_change())
    assert await editor.publication(lambda params: params.uri == uri and len(params.diagnostics) == 1)


async def test_each_workspace_folder_has_its_own_settings(editor: Editor, tmp_path: Path) -> None:
    loud, quiet = faulty_file(tmp_path / "loud"), faulty_file(tmp_path / "quiet" / "package")
    folders = [types.WorkspaceFolder((tmp_path / name).as_uri(), name) for name in ("loud", "quiet")]
    editor.set_configuration({"gradpath": {"ignore": ["made-up"]}}, scope_uri=folders[1].uri)
    await editor.begin(modern(), workspace_folders=folders)
    for uri in (loud, quiet):
        editor.open(uri, "BAD\n")
    await editor.publication(lambda params: params.uri == quiet and not params.diagnostics)
    assert len(await editor.diagnostics_of(loud)) == 1


async def test_a_client_that_sends_its_settings_is_heard(editor: Editor, tmp_path: Path) -> None:
    quiet = {"gradpath": {"ignore": ["made-up"]}}
    await editor.begin(types.ClientCapabilities(), initialization_options=quiet)
    uri = faulty_file(tmp_path)
    editor.open(uri, "BAD\n")
    assert await editor.diagnostics_of(uri) == []
    editor.workspace_did_change_configuration(settings_change({"gradpath": {}}))
    assert await editor.publication(lambda params: params.uri == uri and len(params.diagnostics) == 1)
    editor.published.clear()
    editor.workspace_did_change_configuration(settings_change(quiet))
    assert await editor.diagnostics_of(uri) == []


async def test_a_broken_file_is_reported_once_and_the_rest_goes_on(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.gradpath\n")
    await editor.begin("neovim")
    uri = faulty_file(tmp_path)
    editor.open(uri, "BAD\n")
    assert len(await editor.diagnostics_of(uri)) == 1
    assert (await editor.log_line("pyproject.toml")).type is types.MessageType.Warning
    editor.replace(uri, "BAD", "BAD, BAD")
    assert len(await editor.diagnostics_of(uri)) == 2
    assert len(editor.log_messages) == 1


@pytest.mark.parametrize("in_file", [True, False])
async def test_an_unknown_rule_is_shown_once_and_switches_nothing_off(
    editor: Editor, tmp_path: Path, in_file: bool
) -> None:
    if in_file:
        (tmp_path / "pyproject.toml").write_text('[tool.gradpath]\nselect = ["double-backwards"]\n')
    options = {} if in_file else {"gradpath": {"select": ["double-backwards"]}}
    await editor.begin(types.ClientCapabilities(), initialization_options=options)
    for name in ("one", "two"):
        uri = faulty_file(tmp_path / name)
        editor.open(uri, "BAD\n")
        assert len(await editor.diagnostics_of(uri)) == 1
    told = await editor.log_line("`select`: unknown rule or family `double-backwards`; did you mean `double-backward`?")
    assert told.message.startswith("editor settings: ") is not in_file
    assert [shown.message for shown in editor.messages] == [f"gradpath: {told.message}"]
    assert len(editor.log_messages) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"ignore": ["made-up"]},
        {"gradpath": {"ignore": ["made-up"]}},
        {"settings": {"gradpath": {"ignore": ["made-up"]}}},
    ],
)
def test_settings_are_found_wherever_a_client_puts_them(options: object) -> None:
    assert section_of(options) == {"ignore": ["made-up"]}


@pytest.mark.parametrize("options", [None, 5, "x", [], {"gradpath": None}])
def test_what_is_no_settings_counts_as_none(options: object) -> None:
    assert not section_of(options) or section_of(options) == {"gradpath": None}


def test_an_editors_untouched_settings_leave_the_file_as_it_is() -> None:
    file = Config(select=("graph",), levels={"a": "off"}, python="python3")
    assert merged(file, Config()) == file


def test_an_editors_tables_are_merged_entry_by_entry() -> None:
    file = Config(ignore=("a",), levels={"a": "off", "b": "hint"})
    assert merged(file, Config(ignore=("b",), levels={"b": "error"})) == Config(
        ignore=("b",), levels={"a": "off", "b": "error"}
    )


def test_the_innermost_workspace_folder_counts(tmp_path: Path) -> None:
    editor = EditorSettings()
    outer, inner = tmp_path, tmp_path / "inner"
    inner.mkdir()
    by_folder = {outer.as_uri(): {"ignore": ["graph"]}, inner.as_uri() + "/": {"ignore": ["loop"], "codeLens": False}}
    assert editor.set({"ignore": ["detach"]}, by_folder)
    assert not editor.set({"ignore": ["detach"]}, by_folder)
    configurations = Configurations(lambda _: None)
    configurations.set(Settings(editor.everywhere, editor.by_folder, 0))
    assert configurations.of(str(inner / "x.py")).ignore == ("loop",)
    assert configurations.of(str(outer / "x.py")).ignore == ("graph",)
    assert configurations.of("untitled:Untitled-1").ignore == ("detach",)
    assert [editor.switch("codeLens", str(folder / "x.py"), default=True) for folder in (outer, inner)] == [True, False]


def test_a_file_that_changes_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "gradpath.toml"
    file.write_text("")
    configurations = Configurations(lambda _: None)

    def read_too_early(start: Path, names: Collection[str]) -> tuple[Config, tuple[str, ...]]:
        found = find_config(start, names)
        file.write_text('ignore = ["double-backward"]\n')
        configurations.forget()
        return found

    monkeypatch.setattr("gradpath.analyst.configurations.find_config", read_too_early)
    configurations.of(str(tmp_path / "train.py"))
    monkeypatch.undo()
    assert configurations.of(str(tmp_path / "train.py")).ignore == ("double-backward",)
