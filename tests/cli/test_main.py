"""The program as a process: its name, its help, and how it ends when it is interrupted or nobody reads on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import gradpath
from gradpath.cli import main
from tests.cli.conftest import Run, Write

SERVER = Path(__file__).parents[2] / "server"
PROGRAM = [sys.executable, "-m", "gradpath"]


def environment(**more: str) -> dict[str, str]:
    paths = os.pathsep.join([str(SERVER), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": paths, **more}


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments], capture_output=True, text=True, cwd=folder, env=environment(), timeout=60
    )


def test_python_m_gradpath_is_the_program(project: Path) -> None:
    result = run("--version", folder=project)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"gradpath {gradpath.__version__}\n", "")


def test_the_process_answers_with_the_exit_status(project: Path, write: Write) -> None:
    write("clean.py", "x = 1\n")
    assert run("check", "clean.py", folder=project).returncode == 0
    missing = run("check", "absent.py", folder=project)
    assert (missing.returncode, missing.stderr) == (2, "gradpath: absent.py: no such file or folder\n")


COMMANDS = ("check", "rule", "explain", "run", "graph", "flow", "why", "debug", "guide", "schema", "server")


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
def test_every_command_has_help(gradpath_main: Run, command: tuple[str, ...]) -> None:
    result = gradpath_main(*command, "--help")
    assert (result.status, result.err) == (0, "")
    assert result.out.startswith(" ".join(["usage: gradpath", *command]))


def test_without_a_command_the_help_is_shown_as_a_mistake(gradpath_main: Run) -> None:
    result = gradpath_main()
    assert (result.status, result.out) == (2, "")
    assert "check" in result.err


@pytest.mark.parametrize(
    ("word", "hint"), [("chekc", "did you mean `check`?"), ("train.py", "did you mean `gradpath check train.py`?")]
)
def test_an_unknown_command_is_one_line_with_the_right_word(gradpath_main: Run, word: str, hint: str) -> None:
    result = gradpath_main(word)
    assert (result.status, result.out) == (2, "")
    assert hint in result.err
    assert result.err.count("\n") == 1


def test_an_interrupt_is_quiet(monkeypatch: pytest.MonkeyPatch, gradpath_main: Run, write: Write) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    write("train.py", "x = 1\n")
    monkeypatch.setattr("gradpath.analysis.check.check", interrupt)
    result = gradpath_main("check", "train.py")
    assert (result.status, result.out, result.err) == (130, "", "")


@pytest.mark.skipif(os.name == "nt", reason="signals and pipes work otherwise there")
def test_ctrl_c_ends_several_processes_without_a_word(project: Path, write: Write) -> None:
    code = (
        "import os, signal, sys, threading, gradpath.analysis.check\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # Who runs the tests may ignore it.\n"
        "def check(document, config, **more):\n"
        "    os.write(1, b'started ')\n"
        "    threading.Event().wait(60)\n"
        "gradpath.analysis.check.check = check\n"
        "from gradpath.cli import main\n"
        "sys.exit(main(['check', '--jobs', '2', '.']))\n"
    )
    for number in range(20):
        write(f"train{number}.py", "x = 1\n")
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=project,
        env=environment(),
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read(8) == "started "
        os.killpg(process.pid, signal.SIGINT)
        _, complaints = process.communicate(timeout=30)
    assert (process.returncode, complaints) == (130, "")


@pytest.mark.skipif(os.name == "nt", reason="signals and pipes work otherwise there")
def test_no_process_stays_where_the_main_one_is_killed(project: Path, write: Write) -> None:
    code = (
        "import os, sys, time, gradpath.analysis.check\n"
        "check = gradpath.analysis.check.check\n"
        "def slow(document, config, **more):\n"
        "    os.write(1, b'.')\n"
        "    return check(document, config)\n"
        "gradpath.analysis.check.check = slow\n"
        "from gradpath.cli import main\n"
        "sys.exit(main(['check', '--jobs', '3', '--no-cache', '.']))\n"
    )
    for number in range(60):
        write(f"train{number}.py", "import torch\n")
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=project, env=environment()
    ) as process:
        assert process.stdout is not None
        process.stdout.read(6)
        process.kill()
        process.communicate(timeout=30)  # Each process that is left would keep its output open.
    assert process.returncode == -signal.SIGKILL


@pytest.mark.skipif(os.name == "nt", reason="signals and pipes work otherwise there")
def test_a_process_that_dies_costs_one_file(project: Path, write: Write) -> None:
    code = (
        "import os, sys, gradpath.analysis.check\n"
        "check = gradpath.analysis.check.check\n"
        "def dying(document, config, **more):\n"
        "    if 'die' in document.text:\n"
        "        os.abort()\n"
        "    return check(document, config)\n"
        "gradpath.analysis.check.check = dying\n"
        "from gradpath.cli import main\n"
        "sys.exit(main(['check', '--jobs', '2', '.']))\n"
    )
    for number in range(20):
        write(f"train{number:02}.py", "die\n" if number % 5 == 3 else "x = 1\n")
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=project, env=environment(), timeout=60
    )
    assert (result.returncode, result.stdout) == (2, "No mistakes found in 16 files\n")
    assert [line for line in result.stderr.splitlines() if line.startswith("gradpath: ")] == [
        f"gradpath: train{number:02}.py: not checked: the process that checked it has died" for number in (3, 8, 13, 18)
    ]


@pytest.mark.skipif(os.name == "nt", reason="signals and pipes work otherwise there")
def test_a_reader_that_goes_away_is_no_error(project: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        result = subprocess.run(
            [*PROGRAM, "rule"], stdout=pipe, stderr=subprocess.PIPE, cwd=project, env=environment(), timeout=60
        )
    assert result.stderr == b""
    assert result.returncode == 141


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the device exists on Linux only")
def test_a_full_disk_under_the_output_is_one_line(project: Path) -> None:
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            [*PROGRAM, "rule"], stdout=full, stderr=subprocess.PIPE, cwd=project, env=environment(), timeout=60
        )
    assert (result.returncode, result.stderr) == (2, b"gradpath: No space left on device\n")


@pytest.mark.skipif(os.name == "nt", reason="there is no shell that closes streams")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-"])
def test_closed_streams_do_not_stop_the_program(project: Path, write: Write, closed: str) -> None:
    write("train.py", "x = 1\n")
    result = subprocess.run(
        ["sh", "-c", f'"$0" -m gradpath check absent.py {closed}; "$0" -m gradpath check - {closed}', sys.executable],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        cwd=project,
        env=environment(),
        timeout=60,
    )
    assert b"Traceback" not in result.stderr
    assert result.returncode == 0


def test_words_that_a_terminal_encoding_lacks_do_not_stop_the_program(project: Path, write: Write) -> None:
    write("ž字.py", "x = 1\n")
    result = subprocess.run(
        [*PROGRAM, "check", "--config", "ž字.toml"],
        capture_output=True,
        cwd=project,
        env=environment(PYTHONIOENCODING="ascii:strict", PYTHONUTF8="0"),
        timeout=60,
    )
    assert result.returncode == 2
    assert b"Traceback" not in result.stderr


def test_main_takes_the_arguments_of_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["gradpath", "--version"])
    assert main() == 0
    assert capsys.readouterr().out == f"gradpath {gradpath.__version__}\n"


@pytest.mark.parametrize("failure", [MemoryError(), RecursionError("too deep"), AssertionError("two\nlines \x1b")])
def test_whatever_fails_is_one_line_and_answers_2(
    gradpath_main: Run, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr("gradpath.cli.check.find_files", fail)
    result = gradpath_main("check", ".")
    assert (result.status, result.err.count("\n"), "\x1b" in result.err) == (2, 1, False)
    assert f"gradpath itself failed: {type(failure).__name__}" in result.err


@pytest.mark.parametrize("place", [f"x.py:{'9' * 5000}", f"n.ipynb:{'9' * 5000}:1"])
def test_a_line_that_no_file_has_is_refused_in_a_line(gradpath_main: Run, place: str) -> None:
    result = gradpath_main("graph", place)
    assert (result.status, result.err.count("\n")) == (2, 1)


@pytest.mark.skipif(os.name == "nt", reason="a folder that is in use cannot be removed there")
def test_a_removed_folder_and_a_closed_input_are_told_in_a_line(tmp_path: Path) -> None:
    code = (
        "import os, sys; os.rmdir(os.getcwd()); os.execv(sys.executable, [sys.executable, '-m', 'gradpath', 'check'])"
    )
    folder = tmp_path / "gone"
    folder.mkdir()
    command = [sys.executable, "-c", code, *PROGRAM, "check"]
    gone = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment())
    assert (gone.returncode, gone.stderr) == (2, "gradpath: the current folder has been removed\n")
    for name in ("mcp", "server"):
        shell = ["sh", "-c", f'"$0" -m gradpath {name} <&-', sys.executable]
        done = subprocess.run(shell, capture_output=True, text=True, cwd=tmp_path, env=environment(), timeout=60)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert f"gradpath {name}: standard input is closed" in done.stderr
