"""Nothing of a workspace is executed, whatever gradpath is asked for in it, and however it is started there."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest
from websockets.sync.client import connect

from gradpath.lsp.jupyter import specification
from tests.names.trees import compiled_module
from tests.trust.conversation import PATIENCE, Conversation, Message, framed, read_frames
from tests.trust.traps import SHADOWS, TRACEBACK, fired, workspace

SERVER = Path(__file__).parents[2] / "server"
BUNDLED = Path(__file__).parents[2] / "client-vscode" / "bundled" / "server.py"
MAIN = str(SERVER / "gradpath" / "__main__.py")
STRACE = shutil.which("strace")

CONSOLE_SCRIPT = """\
import re
import sys
from gradpath.__main__ import program
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\\\.pyw|\\\\.exe)?$', '', sys.argv[0])
    sys.exit(program())
"""
SEVERAL = """\
import multiprocessing
import sys
from gradpath.__main__ import program
if __name__ == '__main__':
    multiprocessing.set_start_method(sys.argv.pop(1))
    program()
"""


@dataclass(frozen=True)
class Trapped:
    """A workspace with traps, where they leave marks, and the programs that start gradpath."""

    root: Path
    marks: Path
    programs: Path

    @property
    def script(self) -> list[str]:
        """The command as pip installs it."""
        return [sys.executable, str(self.programs / "gradpath")]


def environment(*, relative: bool = False) -> dict[str, str]:
    """The environment of a process; one with an empty entry is what `PYTHONPATH=$PYTHONPATH:folder` often leaves."""
    names = ("PATH", "HOME", "LANG", "TMPDIR", "SYSTEMROOT")
    found = {name: os.environ[name] for name in names if name in os.environ}
    return {**found, "PYTHONPATH": f"{SERVER}{os.pathsep}" if relative else str(SERVER), "PYTHONUTF8": "1"}


@pytest.fixture
def trapped(tmp_path: Path) -> Trapped:
    marks, programs = tmp_path / "marks", tmp_path / "programs"
    root = workspace(tmp_path / "workspace", marks)
    programs.mkdir()
    (programs / "gradpath").write_text(CONSOLE_SCRIPT)
    (programs / "several").write_text(SEVERAL)
    (programs / "libs").mkdir()
    (programs / "libs" / "gradpath").symlink_to(SERVER / "gradpath")
    shutil.copy(BUNDLED, programs / "server.py")
    with suppress(pytest.skip.Exception):  # Without a compiler there is no such trap.
        module = compiled_module(root, "compiled", marks / "compiled")
        shutil.copy(module, next(root.glob(".venv/lib/*/site-packages")))
    (marks / "compiled.c").unlink(missing_ok=True)
    return Trapped(root, marks, programs)


# The traps are live

IMPORT_ALL = """\
import _imp, os, sys
sys.path.insert(0, "")
given = (*sys.modules, *sys.builtin_module_names)
for name in sys.argv[1:]:
    if name not in given and not _imp.is_frozen(name):
        print(name)
        try:
            __import__(name)
        except Exception:
            pass
"""


def test_every_trap_is_live(trapped: Trapped) -> None:
    python, root = sys.executable, trapped.root
    [site] = root.glob(".venv/lib/*/site-packages")
    told = subprocess.run(
        [python, "-I", "-S", "-c", IMPORT_ALL, *SHADOWS, "gradpath", "compiled"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    assert len(told.stdout.split()) > 150
    assert set(told.stdout.split()) - {"compiled"} <= fired(trapped.marks)
    if list(root.glob("compiled*.so")):
        assert "compiled" in fired(trapped.marks)
    subprocess.run([python, "-I", "-c", f"import site; site.addsitedir({str(site)!r})"], check=True)
    subprocess.run([root / ".venv/bin/python"], check=True)
    subprocess.run([root / "evil/bin/python"], check=True)
    assert {"installed hooked", "environment", "configured"} <= fired(trapped.marks)


@pytest.mark.parametrize("arguments", [("-m", "gradpath", "rule"), ("-c", "import gradpath")], ids=" ".join)
def test_python_itself_looks_into_the_current_folder(trapped: Trapped, arguments: Sequence[str]) -> None:
    subprocess.run(
        [sys.executable, *arguments], cwd=trapped.root, env=environment(), check=False, stderr=subprocess.DEVNULL
    )
    assert fired(trapped.marks)


# The command line

COMMANDS = (
    ("check", "."),
    ("check", "--jobs", "2", "."),
    ("check", "--fix", "--unsafe-fixes", "."),
    ("check", "--statistics", "--output-format", "json", "train.py"),
    ("graph", "train.py:6", "--format", "svg"),
    ("flow", "train.py"),
    ("why", "train.py", "loss"),
    ("explain", "traceback.txt"),
    ("rule", "double-backward"),
)


_SILENT = ("graph", "flow", "why")
"""Commands that tell of no fault."""


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_command_executes_nothing(trapped: Trapped, arguments: Sequence[str], tmp_path: Path) -> None:
    finished = run([*trapped.script, *arguments], trapped.root, environment(), tmp_path / "trace")
    assert finished.returncode in (0, 1), finished.stderr
    assert "double-backward" in finished.stdout or arguments[0] in _SILENT or "--fix" in arguments
    assert fired(trapped.marks) == set()


@pytest.mark.parametrize("how", ["by its path", "by its name", "through an empty entry of PYTHONPATH"])
def test_the_program_is_started_in_other_ways(trapped: Trapped, how: str, tmp_path: Path) -> None:
    command = [sys.executable, MAIN] if how == "by its path" else [sys.executable, "-m", "gradpath"]
    if how != "by its path":  # Nobody can keep Python itself from these.
        shutil.rmtree(trapped.root / "gradpath")
        for name in loaded_by_python(tmp_path):
            (trapped.root / f"{name}.py").unlink(missing_ok=True)
    assert (trapped.root / "argparse.py").exists()
    surroundings = environment(relative=how.startswith("through"))
    finished = run([*command, "check", "train.py"], trapped.root, surroundings, tmp_path / "trace")
    assert finished.returncode == 1, finished.stderr
    assert "double-backward" in finished.stdout
    assert fired(trapped.marks) == set()


def loaded_by_python(folder: Path) -> set[str]:
    """What Python itself has imported before the first line of a program that `-m` names."""
    (folder / "seen.py").write_text("import sys; print(*sys.modules)")
    command = [sys.executable, "-m", "seen"]
    told = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=True)
    return {"sitecustomize", "usercustomize", *(name.partition(".")[0] for name in told.stdout.split())}


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_that_are_no_forks_execute_nothing(trapped: Trapped, method: str, tmp_path: Path) -> None:
    if method == "forkserver" and os.name == "nt":
        pytest.skip("Windows has no fork")
    command = [sys.executable, str(trapped.programs / "several"), method, "check", "--jobs", "2", "."]
    finished = run(command, trapped.root, environment(), tmp_path / "trace", only_gradpath=False)
    assert finished.returncode == 1, finished.stderr
    assert "double-backward" in finished.stdout
    assert fired(trapped.marks) == set()


# The server

SERVERS = (
    "stdio",
    "untrusted",
    "tcp",
    "ws",
    "as VS Code does",
    "as VS Code does where it trusts",
    "as JupyterLab does",
)


@pytest.mark.parametrize("how", SERVERS)
def test_a_server_executes_nothing(trapped: Trapped, how: str, tmp_path: Path) -> None:
    with conversation(trapped, how, tmp_path / "trace") as client:
        assert client.visit(trapped.root, TRACEBACK) == ["double-backward"] * 2
    assert fired(trapped.marks) == set()


@contextmanager
def conversation(trapped: Trapped, how: str, trace: Path) -> Iterator[Conversation]:
    """A client of a server that is started in the workspace; looks afterwards at what the server did."""
    jupyter: list[str] = specification(None)["gradpath"]["argv"]
    bundled = [sys.executable, str(trapped.programs / "server.py")]
    command = {
        "untrusted": [*trapped.script, "server", "--untrusted"],
        "tcp": [*trapped.script, "server", "--tcp", "127.0.0.1:0"],
        "ws": [*trapped.script, "server", "--ws", "127.0.0.1:0"],
        "as VS Code does": [*bundled, "--untrusted"],
        "as VS Code does, trusted": [*bundled, "--from-environment"],
        "as JupyterLab does": jupyter,
    }.get(how, [*trapped.script, "server"])
    process = subprocess.Popen(
        [*traced(trace), *command],
        cwd=trapped.root,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        if how in ("tcp", "ws"):
            host, _, port = process.stdout.readline().decode().split()[-1].rpartition(":")
            with connected(host, int(port), how) as client:
                yield client
        else:
            yield over_streams(process.stdin, process.stdout)
        assert process.wait(PATIENCE) == 0
        only_gradpath_was_started(trace)
    finally:
        process.kill()
        process.communicate()


def over_streams(writer: IO[bytes], reader: IO[bytes]) -> Conversation:
    def send(message: Message) -> None:
        writer.write(framed(message))
        writer.flush()

    return Conversation(send, read_frames(reader))


@contextmanager
def connected(host: str, port: int, how: str) -> Iterator[Conversation]:
    if how == "ws":
        with connect(f"ws://{host}:{port}") as web:
            yield Conversation(lambda message: web.send(json.dumps(message)), map(str, web))
    else:
        with socket.create_connection((host, port)) as plain, plain.makefile("rwb") as stream:
            yield over_streams(stream, stream)


# What the system saw


def traced(trace: Path) -> list[str]:
    """The beginning of a command that notes in a file which programs are started and which addresses are used."""
    if STRACE is None:
        return []
    return [STRACE, "-f", "-qq", "-e", "trace=execve,connect,bind", "-e", "signal=none", "-o", str(trace)]


def run(
    command: Sequence[str], folder: Path, around: dict[str, str], trace: Path, *, only_gradpath: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; looks afterwards at what it did, where the system tells."""
    finished = subprocess.run(
        [*(traced(trace) if only_gradpath else ()), *command],
        cwd=folder,
        env=around,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        stdin=subprocess.DEVNULL,
    )
    only_gradpath_was_started(trace)
    return finished


def only_gradpath_was_started(trace: Path) -> None:
    """No program but this Python, on gradpath's own files, and no address but loopback's."""
    if not trace.exists():
        return
    for line in trace.read_text().splitlines()[1:]:  # The first is the test's own.
        if started := re.search(r'execve\("([^"]*)", \[(.*?)\]', line):
            assert os.path.realpath(started[1]) == os.path.realpath(sys.executable), line
            assert '"-m"' not in started[2], line
        elif "AF_INET" in line:
            assert "bind" in line, line
            assert "127.0.0.1" in line or "::1" in line, line
