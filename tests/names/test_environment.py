"""Packages that the user's environment imports from their sources."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gradpath.names.environment import hooked
from gradpath.names.project import project_of
from tests.names.trees import touch, write

SITE = "lib/python3.11/site-packages"


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A package with sources of its own, next to the project."""
    return touch(tmp_path / "elsewhere", "src/mylib/__init__.py", "src/mylib/net.py", "src/single.py")


@pytest.fixture
def train(tmp_path: Path) -> Path:
    return touch(tmp_path / "app", "pyproject.toml", "train.py") / "train.py"


INSTALLED = Path(__file__).parent / "installed"
"""What `pip install -e` left of a package with each build back end: files of the environment and of the build."""


def left_by_pip(library: Path, how: str) -> dict[str, str]:
    """What an editable installation leaves among the installed packages; what it leaves of a build is put in place."""
    if how == "develop":
        return {"mylib.egg-link": f"{library}/src\n../\n", "easy-install.pth": f"# made by hand\n{library}/src\n"}
    texts = {
        str(file.relative_to(INSTALLED / how).with_suffix("")): file.read_text().replace("@SOURCE@", str(library))
        for file in (INSTALLED / how).rglob("*.txt")
    }
    write(library, {name: text for name, text in texts.items() if name.startswith("build")})
    return {name.removeprefix("site/"): text for name, text in texts.items() if name.startswith("site")}


@pytest.mark.parametrize("how", ["develop", *sorted(each.name for each in INSTALLED.iterdir())])
@pytest.mark.parametrize("site", [SITE, "Lib/site-packages"])
def test_editable_packages_are_found(library: Path, train: Path, how: str, site: str) -> None:
    touch(train.parent, ".venv/pyvenv.cfg")
    write(train.parent / ".venv" / site, left_by_pip(library, how))
    project = project_of(train)
    assert project.locate("mylib", train) == library / "src/mylib/__init__.py"
    assert project.locate("mylib.net", train) == library / "src/mylib/net.py"
    assert project.locate("mylib.missing", train) is None
    assert hooked(train.parent, None) is None


@pytest.mark.parametrize("how", ["setuptools-mapping", "develop"])
def test_single_modules_are_found(library: Path, train: Path, how: str) -> None:
    touch(train.parent, ".venv/pyvenv.cfg")
    write(train.parent / ".venv" / SITE, left_by_pip(library, how))
    assert project_of(train).locate("single", train) == library / "src/single.py"


@pytest.mark.parametrize("shared", [True, False])
def test_packages_of_the_python_below_count_where_they_are_shared(
    library: Path, train: Path, tmp_path: Path, shared: bool
) -> None:
    settings = f"home = {tmp_path / 'python/bin'}\ninclude-system-site-packages = {str(shared).lower()}\n"
    write(train.parent / ".venv", {"pyvenv.cfg": settings, f"{SITE}/other.py": ""})
    write(tmp_path / "python" / SITE, left_by_pip(library, "hatchling"))
    found = project_of(train).locate("mylib", train)
    assert found == (library / "src/mylib/__init__.py" if shared else None)


HOSTILE = {
    "repeated": "x.map_module('" * 20_000,
    "nested": "MAPPING = " + "{" * 100_000,
    "deep": "MAPPING = {'mylib': " + "-" * 100_000 + "1}",
    "large": "#" * 2_000_000,
    "another kind": "MAPPING = {1: 2, 'mylib': 3, 'a b': '/', 'relative': 'src'}\nMAPPING = {**x}\ninstall()",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_hook_costs_no_time(train: Path, text: str) -> None:
    site = write(train.parent / ".venv", {"pyvenv.cfg": "", f"{SITE}/hook.pth": "import hook", f"{SITE}/hook.py": text})
    began = time.process_time()
    assert project_of(train).locate("mylib", train) is None
    assert time.process_time() - began < 2
    os.remove(site / SITE / "hook.py")
    os.mkfifo(site / SITE / "hook.py")
    os.utime(site / SITE)
    assert project_of(train).locate("mylib", train) is None


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_the_active_environment_counts(
    library: Path, train: Path, tmp_path: Path, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "env" / SITE, left_by_pip(library, "hatchling"))
    monkeypatch.setenv(variable, str(tmp_path / "env"))
    assert project_of(train).locate("mylib.net", train) == library / "src/mylib/net.py"


@pytest.mark.parametrize("setting", ["../env/bin/python", "../env/Scripts/python.exe", "../env/python.exe", "../env"])
def test_the_setting_wins(library: Path, train: Path, tmp_path: Path, setting: str) -> None:
    touch(train.parent, f".venv/{SITE}/nothing.py", ".venv/pyvenv.cfg")
    write(tmp_path / "env" / SITE, left_by_pip(library, "hatchling"))
    touch(tmp_path, setting.removeprefix("../")) if setting != "../env" else None
    assert project_of(train).locate("mylib", train) is None
    assert project_of(train, setting).locate("mylib", train) == library / "src/mylib/__init__.py"
    assert project_of(train, str(tmp_path / setting[3:])).locate("mylib", train) is not None


def test_what_the_project_has_itself_comes_first(library: Path, train: Path) -> None:
    touch(train.parent, ".venv/pyvenv.cfg", "mylib.py")
    write(train.parent / ".venv" / SITE, left_by_pip(library, "hatchling"))
    assert project_of(train).locate("mylib", train) == train.parent / "mylib.py"


def test_a_later_installation_counts_at_once(library: Path, train: Path) -> None:
    touch(train.parent, ".venv/pyvenv.cfg", f".venv/{SITE}/other.py")
    assert project_of(train).locate("mylib", train) is None
    write(train.parent / ".venv" / SITE, left_by_pip(library, "hatchling"))
    assert project_of(train).locate("mylib", train) == library / "src/mylib/__init__.py"


def test_a_missing_environment_is_no_trouble(train: Path) -> None:
    assert project_of(train, "/no/such/python").locate("mylib", train) is None
