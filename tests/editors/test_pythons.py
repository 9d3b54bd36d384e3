"""Every Python that gradpath promises to run on and that is found here runs it, whichever has built the bundle.

The bundled server is that of `client-vscode/bundled`, which `npm run package` fills.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gradpath import __version__
from tests.trust.conversation import PATIENCE, Conversation, framed, read_frames

ROOT = Path(__file__).parents[2]
BUNDLED = ROOT / "client-vscode" / "bundled"
OLDEST = (3, 10)
NEWEST = (3, 15)
TELL = "import sys; print(sys.version_info[0], sys.version_info[1], sys.executable)"
PROGRAM = """\
import torch

w = torch.randn(3, requires_grad=True)
loss = w.exp().sum()
loss.backward()
loss.backward()
"""
TRACEBACK = """\
Traceback (most recent call last):
  File "train.py", line 6, in <module>
    loss.backward()
RuntimeError: Trying to backward through the graph a second time
"""


def pythons() -> dict[str, str]:
    """A Python of each version that counts, by the version: on the PATH or installed by pyenv."""
    names = [f"python3.{minor}" for minor in range(OLDEST[1], NEWEST[1] + 1)]
    here = [found for name in ("python3", *names) if (found := shutil.which(name))]
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: dict[str, str] = {}
    for python in (sys.executable, *map(str, sorted(root.glob("*/bin/python"))), *here):
        told = subprocess.run([python, "-I", "-c", TELL], capture_output=True, text=True, check=False)
        if told.returncode == 0:
            major, minor, program = told.stdout.split(maxsplit=2)
            if (int(major), int(minor)) >= OLDEST:
                found.setdefault(f"{major}.{minor}", program.strip())
    return found


PYTHONS = pythons()

pytestmark = [
    pytest.mark.skipif(not os.environ.get("GRADPATH_EDITORS"), reason="only where the editors are tested"),
    pytest.mark.parametrize("version", PYTHONS),
]


def test_others_than_the_one_that_built_the_bundle_are_here(version: str) -> None:
    if len(PYTHONS) == 1:
        pytest.skip(f"there is no other Python than {version}")


def test_the_bundled_server_works(version: str, tmp_path: Path) -> None:
    if not (BUNDLED / "libs").is_dir():
        pytest.skip("there is no bundle: `npm run package` makes it")
    (tmp_path / "inner").mkdir()
    for file in (tmp_path / "train.py", tmp_path / "inner" / "train.py"):
        file.write_text(PROGRAM)
    process = subprocess.Popen(
        [PYTHONS[version], str(BUNDLED / "server.py"), "--untrusted"],
        cwd=BUNDLED,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        writer, reader = process.stdin, process.stdout
        assert writer is not None
        assert reader is not None

        def send(message: dict[str, object]) -> None:
            writer.write(framed(message))
            writer.flush()

        client = Conversation(send, read_frames(reader))
        assert client.visit(tmp_path, TRACEBACK) == ["double-backward"] * 2
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.communicate()


def test_the_installed_program_works(version: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    environment = tmp_path / "environment"
    subprocess.run([PYTHONS[version], "-m", "venv", environment], check=True)
    install = [environment / "bin" / "pip", "--disable-pip-version-check", "install", "--quiet", ROOT]
    subprocess.run(install, check=True, timeout=300)
    gradpath = environment / "bin" / "gradpath"
    told = subprocess.run([gradpath, "--version"], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout, told.stderr) == (0, f"gradpath {__version__}\n", "")
    checked = subprocess.run(
        [gradpath, "check", "--output-format", "concise", "train.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stderr) == (1, "")
    assert "double-backward" in checked.stdout
    ends_when_it_is_told(gradpath)


def ends_when_it_is_told(gradpath: Path) -> None:
    """A server on a port ends with its session, whether or not the client stays."""
    with subprocess.Popen([gradpath, "server", "--tcp", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            host, _, port = process.stdout.readline().split()[-1].rpartition(":")
            with socket.create_connection((host, int(port))) as client, client.makefile("rb") as answers:
                frames = read_frames(answers)
                for message in (
                    {"id": 1, "method": "initialize", "params": {"capabilities": {}}},
                    {"id": 2, "method": "shutdown"},
                ):
                    client.sendall(framed({"jsonrpc": "2.0", **message}))
                    while json.loads(next(frames)).get("id") != message["id"]:
                        pass
                client.sendall(framed({"jsonrpc": "2.0", "method": "exit"}))
                assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
