"""What is asked of jedi in the background, where an environment has import hooks that are not executed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import gradpath.names.finder
from gradpath.analysis.check import check
from gradpath.names.environment import Environment, environment_of, hooked
from gradpath.names.finder import FAILURES, Finder
from gradpath.names.project import project_of
from gradpath.source.document import Document
from gradpath.support.isolation import isolated
from tests.names.test_modules import LOOP
from tests.names.trees import compiled_module, ran, touch, with_hooked_environment

PATIENCE = 60.0


@pytest.fixture
def train(tmp_path: Path) -> Path:
    """A program that imports a package which lies elsewhere, where only a hook of its environment finds it."""
    return with_hooked_environment(tmp_path, LOOP.format(imports="from mylib.net import Net", net="Net"))


@contextmanager
def finder(train: Path, *command: str, deadline: float = PATIENCE) -> Iterator[tuple[Finder, threading.Event]]:
    told = threading.Event()

    def found(importer: Path) -> None:
        assert importer == train
        told.set()

    made = Finder(found, command, deadline)
    try:
        yield made, told
    finally:
        made.stop()


def test_such_an_environment_is_known_by_its_files(train: Path) -> None:
    assert hooked(train.parent, None) is not None
    [site] = environment_of(train.parent, None).sites
    (site / "hook.pth").unlink()
    assert hooked(train.parent, None) is None


def test_the_hook_is_not_executed_by_asking(train: Path) -> None:
    subprocess.run([train.parent / ".venv/bin/python", "-c", "import mylib"], check=True)
    assert ran(train)
    for mark in train.parent.rglob("*.ran"):
        mark.unlink()
    with finder(train) as (asked, told):
        project = project_of(train, ask=asked.ask)
        document = Document(str(train), train.read_text())
        assert [found.rule for found in check(document, project=project).diagnostics] == []
        assert found_by_jedi(asked, told, train) == train.parent / "beside.py"
    assert not ran(train)


WORKER = isolated(str(Path(gradpath.names.finder.__file__).with_name("jedi_worker.py")))


def test_no_compiled_module_is_loaded_by_asking(train: Path, tmp_path: Path) -> None:
    mark = tmp_path / "loaded"
    environment = environment_of(train.parent, None)
    for folder in (train.parent, *environment.sites):
        module = compiled_module(folder, "compiled", mark)
    subprocess.run([sys.executable, "-c", "import compiled"], cwd=module.parent, check=False, stderr=subprocess.DEVNULL)
    assert mark.exists()
    mark.unlink()
    # jedi itself loads those that lie where it was imported from: gradpath may be installed in this environment.
    with finder(train, *WORKER, *map(str, environment.sites)) as (asked, told):
        assert asked.ask("compiled", train, environment) is None
        assert asked.ask("compiled.part", train, environment) is None
        assert found_by_jedi(asked, told, train) == train.parent / "beside.py"
    assert not mark.exists()


def test_the_process_does_not_outlive_the_one_that_asks(train: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "endless.py")  # Who opens it waits for a writer, and nobody writes.
    request = {"module": "endless", "importer": str(train), "root": str(tmp_path), "folders": [str(tmp_path)]}
    worker = subprocess.Popen(WORKER, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        assert worker.stdin is not None
        worker.stdin.write(json.dumps(request).encode() + b"\n")
        worker.stdin.close()
        assert worker.wait(PATIENCE) == 0
    finally:
        worker.kill()
        worker.wait()


def found_by_jedi(asked: Finder, told: threading.Event, train: Path) -> Path | None:
    """Where jedi finds a module, once it has answered all that was asked before."""
    touch(train.parent, "beside.py")
    return answered(asked, told, train, "beside")


def echo(*, before: str = "") -> tuple[str, ...]:
    """A process that answers each question with the module's name as a path."""
    code = f"import json, sys\n{before}\nfor line in sys.stdin:\n"
    code += "    print(json.dumps({'path': '/' + json.loads(line)['module']}), flush=True)"
    return sys.executable, "-c", code


def answered(asked: Finder, told: threading.Event, train: Path, module: str) -> Path | None:
    environment = Environment(train.parent / ".venv")
    assert asked.ask(module, train, environment) is None
    assert told.wait(PATIENCE)
    return asked.ask(module, train, environment)


def test_an_answer_is_asked_for_once(train: Path) -> None:
    with finder(train, *echo()) as (asked, told):
        assert answered(asked, told, train, "one") == Path("/one")
        told.clear()
        assert answered(asked, told, train, "two") == Path("/two")


def test_a_process_that_hangs_or_dies_is_replaced(train: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    hang = f"import os\nif not os.path.exists({str(mark)!r}):\n    open({str(mark)!r}, 'w'); input(); input()"
    die = f"import os\nif not os.path.exists({str(mark)!r}):\n    open({str(mark)!r}, 'w'); sys.exit()"
    for before, deadline in ((hang, 4.0), (die, PATIENCE)):
        mark.unlink(missing_ok=True)
        with finder(train, *echo(before=before), deadline=deadline) as (asked, told):
            assert asked.ask("lost", train, Environment(train.parent)) is None
            assert answered(asked, told, train, "kept") == Path("/kept")


def test_the_deadline_holds_though_a_child_of_the_process_keeps_its_pipe_open(train: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    child = f"import subprocess, sys\nif not __import__('os').path.exists({str(mark)!r}):\n"
    child += (
        f"    open({str(mark)!r}, 'w'); subprocess.Popen([sys.executable, '-c', 'input(); input()']); input(); input()"
    )
    with finder(train, *echo(before=child), deadline=4.0) as (asked, told):
        assert asked.ask("lost", train, Environment(train.parent)) is None
        assert answered(asked, told, train, "kept") == Path("/kept")


@pytest.mark.parametrize("line", ["", "no json", "[]", "{}", json.dumps({"path": 3})])
def test_nonsense_is_no_answer(train: Path, line: str) -> None:
    code = f"import sys\nfor _ in sys.stdin:\n    print({line!r}, flush=True)"
    with finder(train, sys.executable, "-c", code) as (asked, told):
        for number in range(FAILURES + 1):
            assert asked.ask(f"m{number}", train, Environment(train.parent)) is None
        assert not told.is_set()


def test_a_command_that_cannot_be_started_is_no_trouble(train: Path) -> None:
    with finder(train, "/no/such/program") as (asked, _):
        assert asked.ask("m", train, Environment(train.parent)) is None
