"""`gradpath run`: a program that it attends behaves as if it ran alone, and gets its story where autograd ends it."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.cli.test_main import PROGRAM, environment
from tests.documents.claims import annotated
from tests.documents.grammar import Raise, Report, read_source

SAMPLES = Path(__file__).parents[2] / "samples" / "faulty"
RAISING = sorted(
    (path for path in SAMPLES.glob("*.py") if "# raises:" in annotated(path)), key=lambda path: path.stat().st_size
)[:3]
"""The shortest samples: what is told of the others is that of `gradpath explain`, which reads all of them."""
TWICE = """\
import sys, torch
w = torch.ones(2, requires_grad=True)
loss = w.exp().sum()
print("begin")
loss.backward()
loss.backward()
"""
SEEDED = "import runpy, sys, torch; torch.manual_seed(0); runpy.run_path(sys.argv[1], run_name='__main__')"


def attended(*command: str | Path, folder: Path, **more: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*PROGRAM, "run", *map(str, command)], capture_output=True, cwd=folder, env=environment(), timeout=120, **more
    )


def alone(*command: str | Path, folder: Path, **more: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*map(str, command)], capture_output=True, cwd=folder, timeout=120, **more)


@pytest.mark.parametrize("path", RAISING, ids=lambda path: path.stem)
def test_a_program_that_dies_ends_with_its_story(path: Path, tmp_path: Path) -> None:
    (tmp_path / path.name).write_text(path.read_text())
    claims = read_source(path.name, annotated(path), path.name).claims
    result = attended(sys.executable, path.name, folder=tmp_path)
    program, _, story = result.stderr.decode().partition("\n\n")
    raised = next(claim for claim in claims if isinstance(claim, Raise))
    assert result.returncode == 1
    assert f'{path.name}", line {raised.place.line}' in program
    assert f"raised at {path.name}:{raised.place.line}" in story
    assert any(
        f"{path.name}:{claim.place.line}:" in story and f"[{claim.rule}]: " in story
        for claim in claims
        if isinstance(claim, Report)
    )
    assert "More: gradpath rule " in story


@pytest.mark.parametrize("path", RAISING[:1], ids=lambda path: path.stem)
def test_what_a_program_writes_is_unchanged(path: Path, tmp_path: Path) -> None:
    (tmp_path / path.name).write_text(path.read_text())
    command = (sys.executable, "-c", SEEDED, path.name)
    expected, result = alone(*command, folder=tmp_path), attended(*command, folder=tmp_path)
    assert (result.returncode, result.stdout) == (expected.returncode, expected.stdout)
    assert result.stderr.startswith(expected.stderr)
    assert re.match(rb"\n\w+Error: ", result.stderr[len(expected.stderr) :])


WRITING = {
    "nothing": "pass",
    "bytes that are no text": r"import os; os.write(1, bytes(range(256)) * 3); os.write(2, b'\xff\xfe\r\n\x1b[31m')",
    "a lot": "import os\nfor n in range(200): os.write(1, b'x' * 70_000); os.write(2, b'y' * 1_000)",
    "another error": "import sys; print('out'); sys.stdout.flush(); 1 / 0",
    "a status": "import sys; sys.stderr.write('no line break'); sys.exit(7)",
    "a caught error": "try:\n    raise RuntimeError('backward through the graph a second time')\nexcept RuntimeError:\n"
    "    import traceback; traceback.print_exc()",
    "a closed stream": "import os; os.close(2); os.write(1, b'on')",
}


@pytest.mark.parametrize("code", WRITING.values(), ids=WRITING)
def test_a_program_without_an_autograd_error_is_left_alone(code: str, tmp_path: Path) -> None:
    expected = alone(sys.executable, "-c", code, folder=tmp_path)
    result = attended(sys.executable, "-c", code, folder=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (
        expected.returncode,
        expected.stdout,
        expected.stderr,
    )


def test_two_streams_into_one_file_keep_their_order(tmp_path: Path) -> None:
    code = "import os\nfor n in range(2000): os.write(1 + n % 2, b'%d\\n' % n)"
    with (tmp_path / "log").open("wb") as log:
        subprocess.run([*PROGRAM, "run", sys.executable, "-c", code], stdout=log, stderr=log, env=environment())
    assert (tmp_path / "log").read_text().split() == [str(n) for n in range(2000)]


def test_standard_input_reaches_the_program(tmp_path: Path) -> None:
    code = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()[::-1])"
    assert attended(sys.executable, "-c", code, folder=tmp_path, input=b"abc\x00\xff").stdout == b"\xff\x00cba"


def test_options_belong_to_the_program(tmp_path: Path) -> None:
    code = "import sys; print(sys.argv[1:])"
    result = attended(sys.executable, "-c", code, "--help", "--", "-x", folder=tmp_path)
    assert result.stdout.decode() == "['--help', '--', '-x']\n"


def test_a_program_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TWICE)
    result = attended("train.py", "--fast", folder=tmp_path)
    assert (result.returncode, result.stderr.decode()) == (
        127,
        "gradpath run: train.py: there is no such program; did you mean `gradpath run python train.py --fast`?\n",
    )
    assert attended(tmp_path / "train.py", folder=tmp_path).returncode == 126
    assert attended(folder=tmp_path).returncode == 2


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGUSR1"])
def test_a_signal_reaches_the_program_and_its_status_comes_back(name: str, tmp_path: Path) -> None:
    number = getattr(signal, name)
    code = (
        "import signal, sys, time\n"
        f"signal.signal(signal.{name}, lambda number, _: (print('got', number, flush=True), sys.exit(9)))\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    with started([*PROGRAM, "run", sys.executable, "-c", code]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.communicate(timeout=30)[0].decode() == f"got {int(number)}\n"
    assert process.returncode == 9


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGTERM"])
def test_a_program_that_a_signal_ends_is_seen_to_end_by_it(name: str, tmp_path: Path) -> None:
    code = f"import os, signal; os.kill(os.getpid(), signal.{name})"
    assert attended(sys.executable, "-c", code, folder=tmp_path).returncode == -getattr(signal, name)


def test_a_process_that_is_left_behind_is_not_waited_for_and_goes_on_writing(tmp_path: Path) -> None:
    left = "import time; print('early', flush=True); time.sleep(1.5); print('late', flush=True)"
    code = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {left!r}]); time.sleep(0.5)"
    log = tmp_path / "log"
    with log.open("wb") as out:
        before = time.monotonic()
        subprocess.run([*PROGRAM, "run", sys.executable, "-c", code], stdout=out, stderr=out, env=environment())
        assert "late" not in log.read_text() or time.monotonic() - before > 1.5
    deadline = time.monotonic() + 20
    while "late" not in log.read_text() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert log.read_text() == "early\nlate\n"


def test_nobody_reading_ends_the_program_as_it_would_alone(tmp_path: Path) -> None:
    code = "import os\nwhile True: os.write(1, b'x' * 1000)"
    with started([*PROGRAM, "run", sys.executable, "-c", code]) as process:
        assert process.stdout is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.wait(30) == 1


def test_on_a_terminal_the_program_has_a_terminal_of_the_same_size(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "print(sys.stdin.isatty(), sys.stdout.isatty(), sys.stderr.isatty(), *os.get_terminal_size(2))\n"
        "os.write(2, b'bar\\r')\n"
    )
    assert on_a_terminal([sys.executable, "-c", code]) == "True True True 91 33\r\nbar\r"


def test_the_keys_of_a_terminal_reach_the_program_once(tmp_path: Path) -> None:
    code = (
        "import signal, sys, time\n"
        "seen = []\n"
        "signal.signal(signal.SIGINT, lambda *_: seen.append(1))\n"
        "print('ready', flush=True)\n"
        "until = time.monotonic() + 1.5\n"
        "while time.monotonic() < until: time.sleep(0.1)\n"
        "print('times', len(seen), input())\n"
    )
    assert "times 1 typed" in on_a_terminal([sys.executable, "-c", code], [("ready", b"\x03"), ("^C", b"typed\n")])


def test_a_story_on_a_terminal_is_coloured(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TWICE)
    shown = on_a_terminal([sys.executable, "train.py"], folder=tmp_path)
    assert "More: gradpath rule double-backward" in shown
    assert "\x1b[" in shown.partition("More:")[0].partition("raised at")[2]


@contextlib.contextmanager
def started(command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own, so that no terminal's keys are meant.

    What a shell starts in the background inherits ignored interrupts: here they count again.
    """
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(),
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def on_a_terminal(command: Sequence[str], keys: Sequence[tuple[str, bytes]] = (), folder: Path | None = None) -> str:
    """What a terminal of 91 columns shows of `gradpath run`; a key is pressed after the text before it."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder or Path.cwd())
        os.execve(sys.executable, [*PROGRAM, "run", *command], environment(TERM="xterm"))
    termios.tcsetwinsize(terminal, (33, 91)) if sys.version_info >= (3, 11) else None
    shown = b""
    waiting = list(keys)
    with contextlib.suppress(OSError):
        while piece := os.read(terminal, 1000):
            shown += piece
            if waiting and waiting[0][0].encode() in shown:
                os.write(terminal, waiting.pop(0)[1])
    os.waitpid(child, 0)
    os.close(terminal)
    return shown.decode()
