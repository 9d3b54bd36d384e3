"""Which file an import means, in the ways that projects are laid out."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from gradpath.names.project import Project, project_of
from tests.names.trees import touch, write


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)


def located(root: Path, module: str, importer: str) -> str | None:
    """What an import leads to, from the root on."""
    found = project_of(root / importer).locate(module, root / importer)
    return None if found is None else found.relative_to(root).as_posix()


# Scripts


def test_a_script_imports_its_neighbour(tmp_path: Path) -> None:
    touch(tmp_path, "train.py", "model.py")
    assert located(tmp_path, "model", "train.py") == "model.py"


def test_a_script_imports_from_a_package_beside_it(tmp_path: Path) -> None:
    touch(tmp_path, "train.py", "models/__init__.py", "models/net.py")
    assert located(tmp_path, "models", "train.py") == "models/__init__.py"
    assert located(tmp_path, "models.net", "train.py") == "models/net.py"


def test_folders_without_init_are_packages_too(tmp_path: Path) -> None:
    touch(tmp_path, "train.py", "models/vision/net.py")
    assert located(tmp_path, "models", "train.py") == "models"
    assert located(tmp_path, "models.vision.net", "train.py") == "models/vision/net.py"


def test_a_script_in_a_subfolder_finds_its_neighbour_before_the_root(tmp_path: Path) -> None:
    touch(tmp_path, "pyproject.toml", "models.py", "experiments/train.py", "experiments/models.py")
    assert located(tmp_path, "models", "experiments/train.py") == "experiments/models.py"


def test_a_script_in_a_subfolder_finds_what_lies_at_the_root(tmp_path: Path) -> None:
    touch(tmp_path, "pyproject.toml", "models/net.py", "scripts/deep/train.py")
    assert located(tmp_path, "models.net", "scripts/deep/train.py") == "models/net.py"


def test_the_repository_is_the_root_even_where_a_part_has_its_own_project_file(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    touch(tmp_path, "shared/losses.py", "apps/one/pyproject.toml", "apps/one/train.py")
    assert located(tmp_path, "shared.losses", "apps/one/train.py") == "shared/losses.py"


@pytest.mark.parametrize("note", ["README.md", "LICENSE", ".gitignore", "environment.yml"])
def test_a_folder_that_was_unpacked_is_known_by_what_lies_in_it(tmp_path: Path, note: str) -> None:
    touch(tmp_path, f"unpacked/{note}", "unpacked/src/nets.py", "unpacked/training/run/train.py")
    assert located(tmp_path / "unpacked", "src.nets", "training/run/train.py") == "src/nets.py"
    assert located(tmp_path / "unpacked", "nets", "training/run/train.py") == "src/nets.py"


def test_a_note_in_a_part_of_a_project_makes_no_root_of_it(tmp_path: Path) -> None:
    touch(tmp_path, "setup.py", "shared/losses.py", "chapters/one/README.md", "chapters/one/train.py")
    assert located(tmp_path, "shared.losses", "chapters/one/train.py") == "shared/losses.py"


def test_nothing_is_looked_for_above_the_root(tmp_path: Path) -> None:
    touch(tmp_path, "outside.py", "repo/pyproject.toml", "repo/train.py")
    assert project_of(tmp_path / "repo/train.py").locate("outside", tmp_path / "repo/train.py") is None


def test_a_program_inside_a_package_finds_its_neighbours(tmp_path: Path) -> None:
    touch(tmp_path, "pkg/__init__.py", "pkg/train.py", "pkg/net.py", "pkg/logging.py")
    importer = tmp_path / "pkg/train.py"
    project = project_of(importer)
    assert project.locate("net", importer) is None
    as_program = project.roots(importer, script=True)
    assert project.locate("net", importer, as_program) == tmp_path / "pkg/net.py"
    assert project.locate("logging", importer, as_program) is None


def test_imports_begin_at_a_root_that_is_a_package(tmp_path: Path) -> None:
    touch(
        tmp_path, "repo/README.md", "repo/__init__.py", "repo/train.py", "repo/miscc/__init__.py", "repo/miscc/utils.py"
    )
    touch(tmp_path, "repo/logging.py", "repo/models/__init__.py", "repo/models/net.py")
    for importer in ("train.py", "models/net.py"):
        assert located(tmp_path / "repo", "miscc.utils", importer) == "miscc/utils.py"
        assert located(tmp_path / "repo", "logging", importer) is None
    assert located(tmp_path, "repo.miscc.utils", "repo/train.py") == "repo/miscc/utils.py"


def test_a_folder_that_no_import_can_name_is_no_package(tmp_path: Path) -> None:
    touch(tmp_path, "README.md", "stage-1/__init__.py", "stage-1/train.py", "stage-1/miscc/utils.py")
    assert located(tmp_path, "miscc.utils", "stage-1/train.py") == "stage-1/miscc/utils.py"


# Packages


def test_absolute_imports_begin_outside_of_the_package(tmp_path: Path) -> None:
    touch(tmp_path, "pkg/__init__.py", "pkg/utils.py", "pkg/models/__init__.py", "pkg/models/net.py", "utils.py")
    assert located(tmp_path, "pkg.utils", "pkg/models/net.py") == "pkg/utils.py"
    assert located(tmp_path, "utils", "pkg/models/net.py") == "utils.py"


@pytest.mark.parametrize(
    ("module", "file"),
    [
        (".net", "pkg/models/net.py"),
        (".", "pkg/models/__init__.py"),
        ("..losses", "pkg/losses.py"),
        ("..", "pkg/__init__.py"),
        ("..data.loader", "pkg/data/loader.py"),
        (".missing", None),
        (".....far", None),
    ],
)
@pytest.mark.parametrize("importer", ["pkg/models/__init__.py", "pkg/models/unet.py"])
def test_relative_imports(tmp_path: Path, module: str, file: str | None, importer: str) -> None:
    touch(tmp_path, "pkg/__init__.py", "pkg/losses.py", "pkg/data/loader.py")
    touch(tmp_path, "pkg/models/__init__.py", "pkg/models/net.py", "pkg/models/unet.py")
    assert located(tmp_path, module, importer) == file


def test_relative_imports_in_a_folder_without_init(tmp_path: Path) -> None:
    touch(tmp_path, "models/net.py", "models/layers.py", "models.py")
    assert located(tmp_path, ".layers", "models/net.py") == "models/layers.py"
    assert located(tmp_path, ".", "models/net.py") == "models"


def test_a_package_comes_before_a_module_of_its_name(tmp_path: Path) -> None:
    touch(tmp_path, "train.py", "net.py", "net/__init__.py")
    assert located(tmp_path, "net", "train.py") == "net/__init__.py"


def test_a_module_comes_before_a_folder_of_its_name(tmp_path: Path) -> None:
    touch(tmp_path, "train.py", "data.py", "data/images/one.txt")
    assert located(tmp_path, "data", "train.py") == "data.py"


def test_what_lies_below_a_module_is_nothing(tmp_path: Path) -> None:
    touch(tmp_path, "train.py", "net.py")
    assert located(tmp_path, "net.inner", "train.py") is None


def test_members_of_packages(tmp_path: Path) -> None:
    touch(tmp_path, "pkg/__init__.py", "pkg/net.py", "space/net.py", "alone.py")
    project = Project(tmp_path)
    assert project.member(tmp_path / "pkg/__init__.py", "net") == tmp_path / "pkg/net.py"
    assert project.member(tmp_path / "space", "net") == tmp_path / "space/net.py"
    assert project.member(tmp_path / "pkg/__init__.py", "missing") is None
    assert project.member(tmp_path / "alone.py", "net") is None


# Libraries


def test_the_standard_library_is_not_looked_for_in_folders(tmp_path: Path) -> None:
    touch(tmp_path, "train.py", "code/x.py", "typing.py", "pkg/__init__.py", "pkg/logging.py", "pkg/run.py")
    assert located(tmp_path, "code", "train.py") is None
    assert located(tmp_path, "typing", "train.py") is None
    assert located(tmp_path, "logging", "pkg/run.py") is None


def test_a_module_named_after_the_library_that_it_wraps_does_not_import_itself(tmp_path: Path) -> None:
    touch(tmp_path, "loggers/wandb.py")
    assert located(tmp_path, "wandb", "loggers/wandb.py") is None


def test_installed_copies_are_other_peoples_code(tmp_path: Path) -> None:
    site = ".venv/lib/python3.12/site-packages"
    touch(tmp_path, "train.py", ".venv/pyvenv.cfg", f"{site}/timm/__init__.py", f"{site}/one.py")
    assert located(tmp_path, "timm", "train.py") is None
    assert located(tmp_path, "one", "train.py") is None


def test_within_an_installed_package_its_own_modules_are_found(tmp_path: Path) -> None:
    site = ".venv/lib/python3.12/site-packages"
    touch(tmp_path, f"{site}/timm/__init__.py", f"{site}/timm/layers.py", f"{site}/timm/vit.py", f"{site}/other.py")
    assert located(tmp_path, "timm.layers", f"{site}/timm/vit.py") == f"{site}/timm/layers.py"
    assert located(tmp_path, ".layers", f"{site}/timm/vit.py") == f"{site}/timm/layers.py"
    assert located(tmp_path, "other", f"{site}/timm/vit.py") is None


# Configured folders


def test_src_layout(tmp_path: Path) -> None:
    touch(tmp_path, "pyproject.toml", "src/pkg/__init__.py", "src/pkg/net.py", "tests/test_net.py", "train.py")
    assert located(tmp_path, "pkg.net", "tests/test_net.py") == "src/pkg/net.py"
    assert located(tmp_path, "pkg", "train.py") == "src/pkg/__init__.py"
    assert located(tmp_path, "pkg.net", "src/pkg/__init__.py") == "src/pkg/net.py"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", '[tool.setuptools.packages.find]\nwhere = ["python"]'),
        ("pyproject.toml", '[tool.setuptools.package-dir]\n"" = "python"'),
        ("pyproject.toml", '[tool.setuptools.package-dir]\npkg = "python/pkg"'),
        ("pyproject.toml", '[tool.hatch.build.targets.wheel]\npackages = ["python/pkg"]'),
        ("pyproject.toml", '[tool.poetry]\npackages = [{ include = "pkg", from = "python" }]'),
        ("pyproject.toml", '[tool.pdm.build]\npackage-dir = "python"'),
        ("pyproject.toml", '[tool.uv.build-backend]\nmodule-root = "python"'),
        ("pyproject.toml", '[tool.pytest.ini_options]\npythonpath = ["python", "."]'),
        ("pyproject.toml", '[tool.pyright]\nextraPaths = ["python"]'),
        ("setup.cfg", "[options]\npackage_dir =\n    = python\n"),
        ("setup.cfg", "[options.packages.find]\nwhere = python\n"),
        ("setup.py", 'setup(package_dir={"": "python"}, packages=find_packages("python"))'),
        ("setup.py", 'setup(packages=find_packages(where="python"))'),
        ("setup.py", 'setup(package_dir={"pkg": "python/pkg"})'),
        ("setup.py", 'package_dir = {"": "python"}\nsetup(package_dir=package_dir)'),
        ("setup.py", 'setuptools.setup(packages=setuptools.find_namespace_packages(where="python"))'),
    ],
)
def test_where_a_projects_configuration_puts_its_packages(tmp_path: Path, name: str, text: str) -> None:
    touch(write(tmp_path, {name: text}), "python/pkg/__init__.py", "python/pkg/net.py", "scripts/train.py")
    assert located(tmp_path, "pkg.net", "scripts/train.py") == "python/pkg/net.py"
    assert located(tmp_path, "pkg", "scripts/train.py") == "python/pkg/__init__.py"


@pytest.mark.parametrize("text", ["package_dir={" * 60_000, "package_dir=dict(" * 40_000, "{" * 900_000])
def test_a_hostile_setup_script_costs_no_time(tmp_path: Path, text: str) -> None:
    touch(write(tmp_path, {"setup.py": text}), "net.py", "train.py")
    began = time.process_time()
    assert located(tmp_path, "net", "train.py") == "net.py"
    assert time.process_time() - began < 2


def test_a_changed_configuration_counts_at_once(tmp_path: Path) -> None:
    write(tmp_path, {"pyproject.toml": "", "lib/pkg/__init__.py": "", "train.py": ""})
    assert located(tmp_path, "pkg", "train.py") is None
    write(tmp_path, {"pyproject.toml": '[tool.pyright]\nextraPaths = ["lib"]'})
    assert located(tmp_path, "pkg", "train.py") == "lib/pkg/__init__.py"


@pytest.mark.parametrize(
    "text", ["[tool", "[tool]\nsetuptools = 3", '[tool.ruff]\nsrc = 7\n[tool.poetry]\npackages = ""']
)
def test_broken_configuration_is_passed_over(tmp_path: Path, text: str) -> None:
    touch(write(tmp_path, {"pyproject.toml": text, "setup.cfg": "no section"}), "net.py", "train.py")
    assert located(tmp_path, "net", "train.py") == "net.py"


def test_a_file_that_only_the_editor_has_counts(tmp_path: Path) -> None:
    touch(tmp_path, "train.py")
    unsaved = tmp_path / "net.py"
    project = project_of(tmp_path / "train.py", None, lambda path: "" if path == unsaved else None)
    assert project.locate("net", tmp_path / "train.py") == unsaved
