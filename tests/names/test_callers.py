"""Who calls a function: the files that import it, in whichever way."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradpath.names.callers import callers_of
from gradpath.names.project import Project
from tests.names.trees import write


def callers(root: Path, file: str, *names: str, limit: int = 5) -> list[str]:
    write(root, {"pyproject.toml": ""})
    found = callers_of(Project(root), root / file, names, limit)
    return [path.relative_to(root).as_posix() for path in found]


@pytest.mark.parametrize(
    "line",
    [
        "from engine import fit",
        "from .engine import fit as f",
        "from lib.engine import (\n    other,\n    fit,  # it\n)",
        "import engine",
        "import lib.engine as e",
        "if True:\n    from lib import fit",
        "try:\n    from lib import *\n    import engine\nexcept ImportError:\n    pass",
    ],
)
def test_files_that_import_it_are_found(tmp_path: Path, line: str) -> None:
    write(
        tmp_path, {"lib/engine.py": "def fit(): ...", "run.py": line, "other.py": "import os  # engine\nfit = 'engine'"}
    )
    assert callers(tmp_path, "lib/engine.py", "fit") == ["run.py"]


def test_programs_come_first_then_the_nearest(tmp_path: Path) -> None:
    use = "from engine import fit\n"
    guard = "if __name__ == '__main__':\n    fit()\n"
    write(tmp_path, {"a/b/far.py": use + guard, "engine.py": "", "near.py": use, "a/main.py": use + guard})
    assert callers(tmp_path, "engine.py", "fit") == ["a/main.py", "a/b/far.py", "near.py"]
    assert callers(tmp_path, "engine.py", "fit", limit=1) == ["a/main.py"]


def test_a_package_is_imported_by_its_folders_name(tmp_path: Path) -> None:
    write(tmp_path, {"engine/__init__.py": "", "run.py": "import engine"})
    assert callers(tmp_path, "engine/__init__.py") == ["run.py"]


def test_other_peoples_folders_are_left_out(tmp_path: Path) -> None:
    use = "import engine\n"
    names = (".venv/x.py", "build/x.py", "node_modules/x.py", "own/lib/site-packages/x.py", "elsewhere/x.py")
    write(tmp_path, {"engine.py": "", "elsewhere/pyvenv.cfg": "", **dict.fromkeys(names, use)})
    assert callers(tmp_path, "engine.py") == []


def test_a_changed_file_is_read_again_and_the_editors_text_counts_first(tmp_path: Path) -> None:
    write(tmp_path, {"engine.py": "", "run.py": "import os"})
    assert callers(tmp_path, "engine.py") == []
    write(tmp_path, {"run.py": "import engine"})
    assert callers(tmp_path, "engine.py") == ["run.py"]
    project = Project(tmp_path, None, lambda path: "" if path.name == "run.py" else None)
    assert callers_of(project, tmp_path / "engine.py", (), 5) == ()


def test_below_a_folder_that_is_no_project_nothing_is_looked_for(tmp_path: Path) -> None:
    write(tmp_path, {"engine.py": "", "run.py": "import engine", "deep/run.py": "import engine"})
    assert callers_of(Project(tmp_path), tmp_path / "engine.py", (), 5) == (tmp_path / "run.py",)
