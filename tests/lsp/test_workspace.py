"""Checks of whole workspaces, what stands beside the code, and what the server tells of its work."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import client_capabilities

from tests.cli.notebooks import code, notebook, written
from tests.lsp.harness import ENVIRONMENT, PATIENCE, PROFILES, REAL, Editor
from tests.lsp.test_protocol import stderr_of

TWICE = """\
import torch

w = torch.randn(3, requires_grad=True)
y = w.exp()
loss = y.sum()
loss.backward()
w.grad = None
y.mean().backward()
"""
RIGHT = TWICE.replace("loss.backward()", "loss.backward(retain_graph=True)")
CAUSE = "def grow(w):\n    y = w.exp()\n    y += 1\n    return y\n"
USER = "import torch\nfrom net import grow\n\nw = torch.randn(3, requires_grad=True)\ngrow(w).sum().backward()\n"
IMPORTS = "import torch\nfrom grown import grow\n"
EACH_CLIENT = pytest.mark.parametrize("profile", PROFILES)
PULLS = types.ClientCapabilities(
    text_document=types.TextDocumentClientCapabilities(diagnostic=types.DiagnosticClientCapabilities())
)


class Session:
    """A server for a folder, and the client that talks to it."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        self.arguments = arguments
        self.editor = Editor()
        self.traces: list[types.LogTraceParams] = []
        self.editor.feature(types.LOG_TRACE)(lambda params: self.traces.append(params))

    @property
    def progress(self) -> list[str]:
        """The kinds of the progress reports that have come."""
        return [report.kind for reports in self.editor.progress_reports.values() for report in reports]

    async def begin(self, profile: types.ClientCapabilities | str, *folders: str, **params: Any) -> None:
        command, *arguments = REAL
        await self.editor.start_io(command, *arguments, *self.arguments, env=ENVIRONMENT)
        roots = [types.WorkspaceFolder(self.uri(name), name) for name in folders or (".",)]
        await self.editor.begin(profile, workspace_folders=roots, **params)

    def uri(self, name: str) -> str:
        return (self.folder / name).resolve().as_uri()

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def changed(self, name: str, kind: types.FileChangeType = types.FileChangeType.Changed) -> None:
        event = types.FileEvent(self.uri(name), kind)
        self.editor.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))

    def configure(self, **settings: object) -> None:
        """Have the user change the settings: some clients send them, others are asked for them."""
        self.editor.set_configuration(settings, section="gradpath")
        self.editor.workspace_did_change_configuration(types.DidChangeConfigurationParams({"gradpath": settings}))

    async def pull(self, known: dict[str, str], token: str | None = None) -> dict[str, Any]:
        """The reports of `workspace/diagnostic` by file name."""
        if token is not None:
            self.editor.progress_reports[token] = []
        ids = [types.PreviousResultId(self.uri(name), value) for name, value in known.items()]
        params = types.WorkspaceDiagnosticParams(ids, work_done_token=token)
        report = await asyncio.wait_for(self.editor.workspace_diagnostic_async(params), PATIENCE)
        return {item.uri.rpartition("/")[2]: item for item in report.items}


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    """A session that the test begins."""
    (tmp_path / "pyproject.toml").write_text("[tool.gradpath]\nexclude = ['left_out']\n")
    made = Session(tmp_path)
    yield made
    await made.editor.shutdown_session()
    assert await made.editor.errors() == ""


def codes(report: Any) -> list[object]:
    return [found.code for found in report.items]


async def test_a_client_that_asks_is_told_of_the_whole_workspace(session: Session) -> None:
    session.write("twice.py", TWICE)
    session.write("right.py", RIGHT)
    session.write("left_out/x.py", TWICE)
    session.write(".venv/pyvenv.cfg", "")
    session.write(".venv/x.py", TWICE)
    session.write("net.py", CAUSE)
    session.write("user.py", USER)
    session.write("nb.ipynb", written(notebook(code("# one"), code(TWICE))))
    await session.begin(PULLS)
    found = await session.pull({}, token="t")
    assert {name: codes(item) for name, item in found.items()} == {
        "net.py": ["inplace-on-saved"],
        "nb.ipynb": ["double-backward"],
        "right.py": [],
        "twice.py": ["double-backward"],
        "user.py": [],
    }
    assert found["nb.ipynb"].items[0].message.startswith("cell 2, line 8: ")
    assert session.progress == ["begin", "end"]
    ids = {name: item.result_id for name, item in found.items()}
    assert {item.kind for item in (await session.pull(ids)).values()} == {"unchanged"}
    session.write("twice.py", RIGHT)
    session.write("net.py", CAUSE.replace("y += 1", "y = y + 1"))
    again = await session.pull(ids)
    assert {name for name, item in again.items() if item.kind == "full"} == {"twice.py", "net.py"}
    assert [found for name in ("twice.py", "net.py") for found in codes(again[name])] == []


async def test_the_whole_workspace_counts_open_files_as_the_editor_has_them(session: Session) -> None:
    session.write("twice.py", TWICE)
    await session.begin(PULLS)
    uri = session.uri("twice.py")
    session.editor.open(uri, RIGHT, version=4)
    found = await session.pull({})
    assert (codes(found["twice.py"]), found["twice.py"].version) == ([], 4)
    session.editor.close(uri)
    assert codes((await session.pull({}))["twice.py"]) == ["double-backward"]


@EACH_CLIENT
async def test_a_command_checks_the_workspace_and_publishes(session: Session, profile: str) -> None:
    for number in range(21):
        session.write(f"right{number}.py", RIGHT)
    session.write("twice.py", TWICE)
    await session.begin(profile)
    request = types.ExecuteCommandParams("gradpath.server.checkWorkspace")
    answer = await asyncio.wait_for(session.editor.workspace_execute_command_async(request), 3 * PATIENCE)
    assert (answer["files"], answer["diagnostics"]) == (22, 1)
    [found] = await session.editor.publication(lambda params: params.uri == session.uri("twice.py"))
    assert found.code == "double-backward"
    shows_progress = session.editor.can("window.work_done_progress")
    assert session.progress == (["begin", "report", "end"] if shows_progress else [])
    assert {params.uri for params in session.editor.published} == {session.uri("twice.py")}
    (session.folder / "twice.py").unlink()
    session.changed("twice.py", types.FileChangeType.Deleted)
    await session.editor.publication(lambda params: params.uri == session.uri("twice.py") and not params.diagnostics)


async def check_workspace(session: Session) -> None:
    request = types.ExecuteCommandParams("gradpath.server.checkWorkspace")
    await asyncio.wait_for(session.editor.workspace_execute_command_async(request), 3 * PATIENCE)


def shown(session: Session) -> dict[str, list[object]]:
    """What a person sees listed: the codes by the names of files that have any."""
    found = {uri.rpartition("/")[2]: diagnostics for uri, diagnostics in session.editor.diagnostics.items()}
    return {name: [each.code for each in diagnostics] for name, diagnostics in found.items() if diagnostics}


async def until_shown(session: Session, expected: dict[str, list[object]]) -> None:
    async def wait() -> None:
        while shown(session) != expected:
            await asyncio.sleep(0.05)

    try:
        await asyncio.wait_for(wait(), 3 * PATIENCE)
    except TimeoutError:
        assert shown(session) == expected


@EACH_CLIENT
async def test_what_the_check_of_the_workspace_found_stays_when_a_file_is_looked_at_and_closed(
    session: Session, profile: str
) -> None:
    for name in ("one.py", "two.py"):
        session.write(name, TWICE)
    await session.begin(profile)
    await check_workspace(session)
    both: dict[str, list[object]] = {"one.py": ["double-backward"], "two.py": ["double-backward"]}
    uri = session.uri("one.py")
    session.editor.open(uri, TWICE)
    await session.editor.publication(lambda params: params.uri == uri and params.version == 1)
    session.editor.close(uri)
    await until_shown(session, both)
    session.editor.open(uri, RIGHT)  # Mended, and not saved.
    await session.editor.publication(lambda params: params.uri == uri and params.version and not params.diagnostics)
    session.editor.close(uri)
    await until_shown(session, both)


async def test_what_the_check_of_the_workspace_found_follows_what_changes_on_disk(session: Session) -> None:
    for name in ("one.py", "two.py", "three.py"):
        session.write(name, TWICE)
    await session.begin("visual_studio_code")
    await check_workspace(session)
    session.write("one.py", RIGHT)
    session.write("four.py", TWICE)
    (session.folder / "two.py").unlink()
    session.changed("one.py")
    session.changed("four.py", types.FileChangeType.Created)
    session.changed("two.py", types.FileChangeType.Deleted)
    await until_shown(session, {"three.py": ["double-backward"], "four.py": ["double-backward"]})
    session.write("one.py", TWICE + "# back on the other branch\n")
    session.changed("one.py")
    await until_shown(session, {name: ["double-backward"] for name in ("one.py", "three.py", "four.py")})


async def test_a_setting_keeps_the_whole_workspace_checked(session: Session) -> None:
    for name in ("one.py", "two.py"):
        session.write(name, TWICE)
    both: dict[str, list[object]] = {"one.py": ["double-backward"], "two.py": ["double-backward"]}
    await session.begin(
        types.ClientCapabilities(
            text_document=types.TextDocumentClientCapabilities(
                publish_diagnostics=types.PublishDiagnosticsClientCapabilities()
            )
        ),
        initialization_options={"diagnosticMode": "workspace"},
    )
    await until_shown(session, both)

    def mode(word: str) -> None:
        settings = {"gradpath": {"diagnosticMode": word}}
        session.editor.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))

    mode("openFilesOnly")
    await until_shown(session, {})
    mode("workspace")
    await until_shown(session, both)


async def test_a_check_of_the_workspace_can_be_cancelled(session: Session) -> None:
    for number in range(40):
        session.write(f"twice{number}.py", TWICE)
    await session.begin(PULLS)
    session.editor.progress_reports["t"] = []
    params = types.WorkspaceDiagnosticParams([], work_done_token="t")
    waiting = session.editor.protocol.send_request(types.WORKSPACE_DIAGNOSTIC, params, msg_id="slow")
    session.editor.cancel_request(types.CancelParams(id="slow"))
    with pytest.raises(JsonRpcException, match="cancel"):
        await asyncio.wait_for(asyncio.wrap_future(waiting), PATIENCE)
    assert len(await session.pull({})) == 40
    assert session.progress.count("begin") == session.progress.count("end")


@EACH_CLIENT
async def test_several_checks_of_the_workspace_at_once_are_all_answered(session: Session, profile: str) -> None:
    for number in range(10):
        session.write(f"twice{number}.py", TWICE)
    await session.begin(profile)
    editor = session.editor

    def ask(number: int) -> Any:
        request = types.ExecuteCommandParams("gradpath.server.checkWorkspace")
        return editor.protocol.send_request(types.WORKSPACE_EXECUTE_COMMAND, request, msg_id=f"check {number}")

    asked = {number: ask(number) for number in range(6)}
    for number in (1, 3, 0):
        editor.cancel_request(types.CancelParams(id=f"check {number}"))
    asked[6] = ask(6)
    for number, waiting in asked.items():
        answer = asyncio.wait_for(asyncio.wrap_future(waiting), 2 * PATIENCE)
        if number in (0, 1, 3):
            with pytest.raises(JsonRpcException, match="cancel"):
                await answer
        else:
            found = await answer
            assert (found["files"], found["diagnostics"]) == (10, 10)
    assert len(editor.diagnostics) == 10


async def test_several_clients_of_one_check_share_it(session: Session) -> None:
    session.write("twice.py", TWICE)
    await session.begin(PULLS)
    session.editor.set_trace(types.SetTraceParams(types.TraceValue.Off))
    found = await asyncio.gather(*(session.pull({}) for _ in range(8)))
    assert [codes(each["twice.py"]) for each in found] == [["double-backward"]] * 8
    # Each was cancelled but one.
    session.write("twice.py", TWICE + "# longer\n")
    waiting = [
        session.editor.protocol.send_request(
            types.WORKSPACE_DIAGNOSTIC, types.WorkspaceDiagnosticParams([]), msg_id=f"pull {number}"
        )
        for number in range(5)
    ]
    for number in range(4):
        session.editor.cancel_request(types.CancelParams(id=f"pull {number}"))
    report = await asyncio.wait_for(asyncio.wrap_future(waiting[-1]), PATIENCE)
    assert [codes(item) for item in report.items] == [["double-backward"]]


async def test_each_workspace_folder_has_its_own_configuration(session: Session) -> None:
    session.write("one/twice.py", TWICE)
    session.write("two/twice.py", TWICE)
    session.write("one/gradpath.toml", "ignore = ['double-backward']\n")
    session.write("two/gradpath.toml", "levels = {double-backward = 'hint'}\n")
    await session.begin(PULLS, "one", "two")
    request = types.WorkspaceDiagnosticParams([])
    report = await asyncio.wait_for(session.editor.workspace_diagnostic_async(request), PATIENCE)
    levels = {item.uri: [found.severity for found in item.items] for item in report.items}
    assert levels == {session.uri("one/twice.py"): [], session.uri("two/twice.py"): [types.DiagnosticSeverity.Hint]}


@EACH_CLIENT
async def test_each_workspace_folder_has_its_own_environment(session: Session, profile: str) -> None:
    for name, grown in (("one", "w.exp()"), ("two", "w + 1")):
        session.write(f"{name}/pyproject.toml", "")
        session.write(f"libraries/{name}/grown.py", f"def grow(w):\n    return {grown}\n")
        site = f"{name}/.venv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
        session.write(f"{site}/grown.pth", str(session.folder / "libraries" / name))
        session.write(f"{name}/.venv/pyvenv.cfg", "home = /nowhere\n")
        session.write(f"{name}/train.py", TWICE.replace("w.exp()", "grow(w)").replace("import torch\n", IMPORTS))
    await session.begin(profile, "one", "two")
    found = {}
    for name in ("one", "two"):
        uri = session.uri(f"{name}/train.py")
        session.editor.open(uri, (session.folder / name / "train.py").read_text())
        found[name] = [each.code for each in await session.editor.diagnostics_of(uri)]
    assert found == {"one": ["double-backward"], "two": []}


async def lenses(session: Session, uri: str) -> list[tuple[int, str]]:
    request = types.CodeLensParams(types.TextDocumentIdentifier(uri))
    found = await asyncio.wait_for(session.editor.text_document_code_lens_async(request), PATIENCE)
    return [(each.range.start.line, each.command.title) for each in found or () if each.command is not None]


async def hints(session: Session, uri: str) -> list[tuple[str, object]]:
    text = session.editor.texts[uri]
    span = types.Range(types.Position(0, 0), session.editor.position(uri, len(text)))
    request = types.InlayHintParams(types.TextDocumentIdentifier(uri), span)
    found = await asyncio.wait_for(session.editor.text_document_inlay_hint_async(request), PATIENCE)
    lines = text.splitlines()
    return [(lines[each.position.line][: each.position.character], each.label) for each in found or ()]


MARKED = RIGHT + "z = y.detach()\n🙂 = 1\n"


@EACH_CLIENT
async def test_a_lens_tells_what_a_backward_reaches(session: Session, profile: str) -> None:
    await session.begin(profile)
    uri = session.uri("x.py")
    session.editor.open(uri, MARKED)
    assert await lenses(session, uri) == [(5, "gradients for `w`"), (7, "gradients for `w`")]
    request = types.CodeLensParams(types.TextDocumentIdentifier(uri))
    [first, _] = await session.editor.text_document_code_lens_async(request) or ()
    assert first.command is not None
    assert (first.command.command, list(first.command.arguments or ())) == ("gradpath.graph", [uri, 5])


@EACH_CLIENT
async def test_hints_are_shown_where_they_are_wanted(session: Session, profile: str) -> None:
    await session.begin(profile)
    uri = session.uri("x.py")
    session.editor.open(uri, MARKED)
    assert await hints(session, uri) == []
    session.configure(inlayHints=True)
    for _ in range(1000):
        if found := await hints(session, uri):
            break  # The server has asked for the settings, where the client wants that.
    assert found == [
        ("loss.backward(retain_graph=True)", "graph kept"),
        ("y.mean().backward()", "freed here"),
        ("z = y.detach()", "detached"),
    ]
    assert [line.message for line in session.editor.log_messages] == []


@EACH_CLIENT
async def test_a_traced_session_is_told_of_each_check(session: Session, profile: str) -> None:
    await session.begin(profile)
    uri = session.uri("x.py")
    session.editor.open(uri, TWICE)
    await session.editor.diagnostics_of(uri)
    assert session.traces == []
    session.editor.set_trace(types.SetTraceParams(types.TraceValue.Verbose))
    session.editor.replace(uri, "w.grad = None", "w.grad = unknown(w)")
    await session.editor.diagnostics_of(uri)
    told, *_ = await _traces(session, 1)  # A check that was under way is told as well.
    assert told.message.startswith(str(session.folder / "x.py"))
    assert "1 report" in told.message
    session.editor.set_trace(types.SetTraceParams(types.TraceValue.Off))
    session.configure(trace="messages")
    [_, told, *_] = await _traces(session, 2)
    assert told.verbose is None


async def _traces(session: Session, count: int) -> list[types.LogTraceParams]:
    for _ in range(1000):
        if len(session.traces) >= count:
            break
        request = types.HoverParams(types.TextDocumentIdentifier(session.uri("x.py")), types.Position(0, 0))
        await session.editor.text_document_hover_async(request)  # Its answer comes behind what was sent before it.
    return session.traces


async def test_what_is_logged_goes_to_a_file_as_well(tmp_path: Path) -> None:
    log = tmp_path / "a log.txt"
    session = Session(tmp_path, "--log-file", str(log), "--stdio", "--clientProcessId=1")
    await session.begin(types.ClientCapabilities())
    session.write("gradpath.toml", "nonsense = 1\n")
    uri = session.uri("x.py")
    session.editor.open(uri, TWICE)
    await session.editor.diagnostics_of(uri)
    await session.editor.shutdown_session()
    text = log.read_text(encoding="utf-8")
    assert "WARNING" in text
    assert "unknown key `nonsense`" in text
    assert f"{session.folder / 'x.py'}: checked in" in text
    assert ["checked in" in line.message for line in session.editor.log_messages] == [False]


async def test_a_log_file_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    command, *arguments = REAL
    process = await asyncio.create_subprocess_exec(
        command,
        *arguments,
        "--log-file",
        str(tmp_path),
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=ENVIRONMENT,
    )
    assert await stderr_of(process) == b"gradpath server: Is a directory\n"
    assert await process.wait() == 2


async def test_the_newest_client_profile_gets_what_it_can_show(session: Session) -> None:
    capabilities = client_capabilities("neovim")
    await session.begin(capabilities)
    uri = session.uri("twice.py")
    session.editor.open(uri, TWICE)
    [found] = await session.editor.diagnostics_of(uri)
    assert found.code == "double-backward"
    assert session.progress == []


async def test_a_file_of_a_hundred_thousand_lines_holds_up_no_other(session: Session) -> None:
    await session.begin("visual_studio_code")
    editor, long, short = session.editor, session.uri("long.py"), session.uri("short.py")
    step = "def step_{}(w):\n    loss = w.exp().sum()\n    loss.backward()\n    return loss\n"
    editor.open(long, "import torch\n" + "".join(map(step.format, range(25_000))))
    editor.open(short, TWICE)
    for _ in range(3):
        assert [each.code for each in await editor.diagnostics_of(short)] == ["double-backward"]
        editor.replace(long, "def", "# a line\ndef")
        editor.replace(short, "w = ", "# a line\nw = ")
    hover = await editor.hover(short, "loss =")
    assert hover is not None
