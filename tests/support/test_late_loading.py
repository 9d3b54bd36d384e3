"""Modules that are loaded on the first use of their functions."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

from gradpath.support.late_loading import LateModule, load, load_late

SERVER = Path(__file__).parents[2] / "server"
LATE = ("gradpath.fixes", "gradpath.overlays.presumed")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A late package with a module `late`, which notes when it is executed, and a module that imports from it."""
    name = "of_" + "".join(each for each in request.node.name if each.isalnum())
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").write_text("EXECUTED = []\n")
    (folder / "late.py").write_text(
        f"from {name} import EXECUTED\n"
        "EXECUTED.append(__name__)\n"
        "LIMIT = 3\n"
        "class Thing:\n    pass\n"
        "def double(x):\n    'Twice as much.'\n    return 2 * x\n"
        "def count(n):\n    yield from range(n)\n"
    )
    (folder / "importer.py").write_text(f"from {name}.late import count, double as twice\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module(name)
    load_late(name)
    return name


def executed(package: str) -> list[str]:
    found: list[str] = importlib.import_module(package).EXECUTED
    return found


def test_an_import_of_functions_executes_nothing(package: str) -> None:
    importer = importlib.import_module(f"{package}.importer")
    load(importer)
    assert executed(package) == []
    assert importer.twice(21) == 42
    assert executed(package) == [f"{package}.late"]


def test_the_first_call_puts_the_functions_in_their_places(package: str) -> None:
    importer = importlib.import_module(f"{package}.importer")
    load(importer)
    assert list(importer.count(2)) == [0, 1]
    late = sys.modules[f"{package}.late"]
    assert (importer.twice, importer.count) == (late.double, late.count)
    assert isinstance(importer.twice, FunctionType)
    assert type(late) is ModuleType


def test_what_is_asked_of_a_function_is_asked_of_the_real_one(package: str) -> None:
    importer = importlib.import_module(f"{package}.importer")
    load(importer)
    assert importer.twice.__name__ == "double"


@pytest.mark.parametrize("name", ["Thing", "LIMIT"])
def test_a_class_or_a_constant_loads_its_module(package: str, name: str) -> None:
    late = importlib.import_module(f"{package}.late")
    assert executed(package) == []
    assert getattr(late, name) is late.__dict__[name]
    assert executed(package) == [f"{package}.late"]


def test_a_late_module_can_be_patched(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    late = importlib.import_module(f"{package}.late")
    monkeypatch.setattr(late, "double", lambda x: -x)
    assert late.double(1) == -1
    monkeypatch.undo()
    assert late.double(1) == 2


def test_a_name_that_a_module_lacks_is_missed_when_it_is_used(package: str) -> None:
    late = importlib.import_module(f"{package}.late")
    with pytest.raises(AttributeError, match="Missing"):
        _ = late.Missing
    assert not hasattr(late, "missing")  # Asked inside a function, this is a plain question.
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"{package}.nowhere")


def late_files() -> Iterator[Path]:
    for package in LATE:
        folder = SERVER / package.replace(".", "/")
        assert isinstance(importlib.import_module(package), ModuleType)
        yield from (file for file in folder.glob("*.py") if file.name != "__init__.py")


def test_late_modules_only_define() -> None:
    """Nothing else happens on import, so that nobody can tell when it happens; lower-case names are functions."""
    defining = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.If)
    for file in late_files():
        for statement in ast.parse(file.read_text(encoding="utf-8")).body:
            match statement:
                case ast.Expr(value=ast.Constant()):
                    pass
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    assert not name[:1].islower(), f"{file.name}: {name}"
                case _:
                    assert isinstance(statement, defining), f"{file.name}:{statement.lineno}"


def test_a_program_without_a_fault_loads_no_fix(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch\n\nx = torch.ones(3, requires_grad=True)\nloss = (x * x).sum()\nloss.backward()\n"
    )
    code = (
        "import sys\n"
        f"sys.path.insert(0, {str(SERVER)!r})\n"
        "from gradpath.cli import main\n"
        "from gradpath.support.late_loading import LateModule\n"
        "main(['check', '--quiet', 'train.py'])\n"
        "late = {name for name, module in sys.modules.items() if isinstance(module, LateModule)}\n"
        f"parts = [name for name in sys.modules if name.startswith({tuple(each + '.' for each in LATE)!r})]\n"
        "print(sorted(set(parts) - late))\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=60, check=True
    )
    loaded = set(ast.literal_eval(answer.stdout))
    needed = {"gradpath.fixes.on_tensors", "gradpath.fixes.recomputation"}  # Classes of theirs are used by rules.
    assert {each for each in loaded if each.startswith("gradpath.fixes")} <= needed
    assert len(loaded) < 10
    assert not isinstance(sys.modules["gradpath.fixes"], LateModule)
