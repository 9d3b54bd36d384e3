"""Runs every command of gradpath in a hostile tree, under limits, and says what went wrong."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.hostile.trees import make

SECONDS = 10
"""Of processor, for each command."""

PATIENCE = 60
"""Seconds of the clock, which runs on where the machine is busy: who waits for a pipe waits longer."""

MEMORY = 300_000
"""Kilobytes in memory."""

SERVER = Path(__file__).parents[2] / "server"
TRACEBACK = 'Traceback (most recent call last):\n  File "data.py", line 1, in f\nRuntimeError: Trying to backward'
COMMANDS = (
    ("check", ".", "--jobs", "1"),
    ("check", ".", "--jobs", "1", "--fix", "--unsafe-fixes"),
    ("check", ".", "--jobs", "1", "--add-ignores"),
    ("check", ".", "--jobs", "1", "--baseline", "known.json", "--write-baseline"),
    ("check", ".", "--jobs", "1", "--output-format", "github"),
    ("graph", "good.py:3"),
    ("flow", "good.py"),
    ("explain", "traceback.txt"),
)
_MEASURED = (
    "import sys; from gradpath.cli import main; answer = main(sys.argv[1:]); sys.stdout.flush(); "
    # What `getrusage` says begins with the memory of the process that has started this one.
    "peak = next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')); "
    "print('MEMORY', peak, file=sys.stderr); sys.exit(answer)"
)


def faults(seed: int, commands: Sequence[tuple[str, ...]] = COMMANDS) -> Iterator[str]:
    """What goes wrong in the tree of a seed, each in a line."""
    home = Path(tempfile.mkdtemp(prefix="gradpath-hostile-"))
    try:
        top, outside = home / "tree", home / "outside"
        top.mkdir()
        outside.mkdir()
        make(top, outside, seed)
        (top / "traceback.txt").write_text(TRACEBACK)
        before = _state(outside)
        for command in commands:
            for fault in _faults_of(command, top, home):
                yield f"seed {seed}: {' '.join(command)}: {fault}"
            if _state(outside) != before:
                yield f"seed {seed}: {' '.join(command)}: something was written outside of the tree"
                before = _state(outside)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _faults_of(command: Sequence[str], top: Path, home: Path) -> Iterator[str]:
    environment = {**os.environ, "PYTHONPATH": str(SERVER), "XDG_CACHE_HOME": str(home / "user")}
    try:
        ran = subprocess.run(
            [sys.executable, "-c", _MEASURED, *command],
            cwd=top,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS)),
        )
    except subprocess.TimeoutExpired:
        yield f"not done after {PATIENCE} s"
        return
    said = (ran.stdout + ran.stderr).decode("utf-8", "replace")
    if ran.returncode not in (0, 1, 2):
        yield f"exit status {ran.returncode}: {said[-300:]}"
    if "Traceback (most recent" in said or "itself failed" in said:
        yield f"a bug: {said[-600:]}"
    if "\x1b" in said:
        yield "a control character in the output"
    if command[-1] != "github" and any(line.lstrip().startswith("::") for line in said.splitlines()):
        yield "a line that is a workflow command"
    memory = [line.split()[1] for line in said.splitlines() if line.startswith("MEMORY ")]
    if memory and int(memory[0]) > MEMORY:
        yield f"{int(memory[0]) // 1000} MB in memory"
    if any(name.startswith(".gradpath-") for _, _, names in os.walk(top) for name in names):
        yield "a temporary file is left"


def _state(folder: Path) -> list[tuple[str, bytes]]:
    return sorted((str(each), each.read_bytes() if each.is_file() else b"") for each in folder.rglob("*"))
