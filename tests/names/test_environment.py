"""Packages that the user's environment imports from their sources."""

from __future__ import annotations

from pathlib import Path

import pytest

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


def left_by_pip(library: Path, how: str) -> dict[str, str]:
    """What an editable installation leaves among the installed packages, as the build backends write it."""
    source = library / "src"
    return {
        "a path": {"__editable__.mylib-1.0.pth": f"{source}\n"},
        "develop": {"mylib.egg-link": f"{source}\n../\n", "easy-install.pth": f"# made by hand\n{source}\n"},
        "setuptools": {
            "__editable__.mylib-1.0.pth": "import __editable___mylib_1_0_finder as f; f.install()",
            "__editable___mylib_1_0_finder.py": (
                "from __future__ import annotations\n"
                f"MAPPING: dict[str, str] = { {name: str(source / name) for name in ('mylib', 'single')} }\n"
                "NAMESPACES: dict[str, list[str]] = {}\n"
            ),
        },
        "editables": {
            "_mylib.pth": "import _mylib",
            "_mylib.py": (
                "from editables.redirector import RedirectingFinder as F\nF.install()\n"
                f"F.map_module('mylib', {str(source / 'mylib' / '__init__.py')!r})\n"
                f"F.map_module('single', {str(source / 'single.py')!r})\n"
            ),
        },
    }[how]


@pytest.mark.parametrize("how", ["a path", "develop", "setuptools", "editables"])
@pytest.mark.parametrize("site", [SITE, "Lib/site-packages"])
def test_editable_packages_are_found(library: Path, train: Path, how: str, site: str) -> None:
    touch(train.parent, ".venv/pyvenv.cfg")
    write(train.parent / ".venv" / site, left_by_pip(library, how))
    project = project_of(train)
    assert project.locate("mylib", train) == library / "src/mylib/__init__.py"
    assert project.locate("mylib.net", train) == library / "src/mylib/net.py"
    assert project.locate("single", train) == library / "src/single.py"
    assert project.locate("mylib.missing", train) is None


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_the_active_environment_counts(
    library: Path, train: Path, tmp_path: Path, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "env" / SITE, left_by_pip(library, "a path"))
    monkeypatch.setenv(variable, str(tmp_path / "env"))
    assert project_of(train).locate("mylib.net", train) == library / "src/mylib/net.py"


@pytest.mark.parametrize("setting", ["../env/bin/python", "../env/Scripts/python.exe", "../env/python.exe", "../env"])
def test_the_setting_wins(library: Path, train: Path, tmp_path: Path, setting: str) -> None:
    touch(train.parent, f".venv/{SITE}/nothing.py", ".venv/pyvenv.cfg")
    write(tmp_path / "env" / SITE, left_by_pip(library, "a path"))
    touch(tmp_path, setting.removeprefix("../")) if setting != "../env" else None
    assert project_of(train).locate("mylib", train) is None
    assert project_of(train, setting).locate("mylib", train) == library / "src/mylib/__init__.py"
    assert project_of(train, str(tmp_path / setting[3:])).locate("mylib", train) is not None


def test_what_the_project_has_itself_comes_first(library: Path, train: Path) -> None:
    touch(train.parent, ".venv/pyvenv.cfg", "mylib.py")
    write(train.parent / ".venv" / SITE, left_by_pip(library, "a path"))
    assert project_of(train).locate("mylib", train) == train.parent / "mylib.py"


def test_a_later_installation_counts_at_once(library: Path, train: Path) -> None:
    touch(train.parent, ".venv/pyvenv.cfg", f".venv/{SITE}/other.py")
    assert project_of(train).locate("mylib", train) is None
    write(train.parent / ".venv" / SITE, left_by_pip(library, "a path"))
    assert project_of(train).locate("mylib", train) == library / "src/mylib/__init__.py"


def test_a_missing_environment_is_no_trouble(train: Path) -> None:
    assert project_of(train, "/no/such/python").locate("mylib", train) is None
