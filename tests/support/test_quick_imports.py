"""Modules that are found quickly are those that Python finds, with the code of their source as it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gradpath.support import quick_imports

QUICKLY = "from gradpath.support.quick_imports import import_quickly; import_quickly(); "
SAME = """
import importlib.machinery, sys
import gradpath.cli.check, gradpath.rules.terms
for name, module in list(sys.modules.items()):
    if name.startswith("gradpath."):
        above = sys.modules[name.rpartition(".")[0]]
        plain = importlib.machinery.PathFinder.find_spec(name, above.__path__)
        ours = module.__spec__
        for what in ("name", "origin", "cached", "has_location", "submodule_search_locations", "parent"):
            assert getattr(ours, what) == getattr(plain, what), (name, what)
        assert module.__file__ == plain.origin
        assert ours.loader.get_source(name) == plain.loader.get_source(name)
print(type(sys.modules["gradpath.rules"].__loader__).__module__)
"""


def run(code: str, folder: Path, *options: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONPYCACHEPREFIX": str(folder / "kept")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, *options, "-c", f"{QUICKLY}{code}"]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=True, timeout=120).stdout


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of the same name with one module, `probe`, and what finds it."""
    inside = tmp_path / "gradpath" / "support"
    inside.mkdir(parents=True)
    shutil.copy(quick_imports.__file__, inside / "quick_imports.py")
    for each in (inside.parent, inside):
        (each / "__init__.py").touch()
    return inside.parent


def test_modules_are_as_python_makes_them() -> None:
    assert run(SAME, Path(quick_imports.__file__).parents[2]) == "gradpath.support.quick_imports\n"


@pytest.mark.parametrize("options", [(), ("-O",), ("-B",)])
def test_the_code_is_that_of_the_source(package: Path, options: tuple[str, ...]) -> None:
    probe = package / "probe.py"
    for number in (1, 1, 22, 22):
        probe.write_text(f"VALUE = {number}\n")
        told = run("import gradpath.probe; print(gradpath.probe.VALUE)", package.parent, *options)
        assert told == f"{number}\n"


def test_bytecode_of_another_kind_is_left_alone(package: Path) -> None:
    (package / "probe.py").write_text("VALUE = 1\n")
    code = "import gradpath.probe; print(gradpath.probe.VALUE, gradpath.probe.__cached__)"
    first = run(code, package.parent)
    kept = Path(first.split()[1])
    for data in (b"", b"\0" * 40):
        kept.write_bytes(data)
        assert run(code, package.parent) == first


def test_a_module_that_is_not_there_is_missed_as_usual(package: Path) -> None:
    code = "\ntry:\n    import gradpath.nothing\nexcept ModuleNotFoundError as error:\n    print(error.name)\n"
    assert run(code, package.parent) == "gradpath.nothing\n"


def test_a_folder_is_a_package_only_with_its_file(package: Path) -> None:
    (package / "plain").mkdir()
    (package / "plain" / "probe.py").write_text("VALUE = 1\n")
    assert run("import gradpath.plain.probe; print(gradpath.plain.probe.VALUE)", package.parent) == "1\n"
