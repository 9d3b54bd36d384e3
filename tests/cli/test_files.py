"""Which files a walk finds, and how they are named."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Run, Write
from tests.cli.made_up import ERROR


def checked(run: Run, *arguments: str) -> list[str]:
    """The paths of the files that were checked, each of which has something to report."""
    result = run("check", "--output-format", "json", *arguments)
    return [diagnostic["path"] for diagnostic in json.loads(result.out)["diagnostics"]]


@pytest.fixture
def tree(write: Write) -> Write:
    def tree(*names: str) -> None:
        for name in names:
            write(name, ERROR)

    return tree


def test_no_path_means_the_current_folder(gradpath_main: Run, tree: Write) -> None:
    tree("b.py", "a/z.py", "a/b/c.py", "notes.txt", "stub.pyi")
    assert checked(gradpath_main) == ["a/b/c.py", "a/z.py", "b.py"]
    assert checked(gradpath_main, ".") == ["a/b/c.py", "a/z.py", "b.py"]


def test_paths_are_named_as_they_were_given(gradpath_main: Run, tree: Write, project: Path) -> None:
    tree("src/train.py")
    assert checked(gradpath_main, "src") == ["src/train.py"]
    assert checked(gradpath_main, "./src/") == ["./src/train.py"]
    assert checked(gradpath_main, "../project/src") == ["../project/src/train.py"]
    assert checked(gradpath_main, str(project)) == [str(project / "src" / "train.py")]


def test_a_file_that_is_named_twice_is_checked_once(gradpath_main: Run, tree: Write) -> None:
    tree("src/train.py")
    assert checked(gradpath_main, "src/train.py", "src", ".") == ["src/train.py"]


def test_a_named_file_needs_no_suffix(gradpath_main: Run, tree: Write) -> None:
    tree("train")
    assert checked(gradpath_main, "train") == ["train"]


def test_folders_of_tools_are_left_out_unless_they_are_named(gradpath_main: Run, tree: Write) -> None:
    tree(
        "a.py",
        ".venv/b.py",
        "venv/b.py",
        "node_modules/b.py",
        "build/b.py",
        "dist/b.py",
        "__pycache__/b.py",
        ".git/b.py",
        "deep/site-packages/b.py",
        "my-env/pyvenv.cfg",
        "my-env/b.py",
    )
    assert checked(gradpath_main) == ["a.py"]
    assert checked(gradpath_main, "build") == ["build/b.py"]


def test_gitignore_holds_as_in_git(gradpath_main: Run, tree: Write, write: Write) -> None:
    tree("a.py", "out/b.py", "data/c.py", "data/keep.py", "data/deep/c.py", "scratch_1.py", "src/scratch_2.py")
    write(".gitignore", "out/\nscratch_*.py\n/data/*\n!/data/keep.py\n")
    write("src/.gitignore", "!scratch_2.py\n")
    assert checked(gradpath_main) == ["a.py", "data/keep.py", "src/scratch_2.py"]


def test_gitignore_of_the_repository_holds_below_it(gradpath_main: Run, tree: Write, write: Write) -> None:
    tree("src/a.py", "src/generated/b.py", "out/c.py")
    write(".gitignore", "generated/\nout/\n")
    write(".git/HEAD")
    assert checked(gradpath_main, "src") == ["src/a.py"]
    assert checked(gradpath_main, "out") == ["out/c.py"]
    assert checked(gradpath_main, "src/generated/b.py") == ["src/generated/b.py"]


def test_a_broken_gitignore_is_passed_over(gradpath_main: Run, tree: Write, write: Write) -> None:
    tree("a.py", "b.py")
    write(".gitignore", b"\xff\xfe\n!\n///\n[\nb.py\n")
    assert checked(gradpath_main) == ["a.py"]


def test_exclude_of_the_configuration_counts_from_its_folder(gradpath_main: Run, tree: Write, write: Write) -> None:
    tree("a.py", "old/b.py", "src/old/c.py", "src/d_test.py")
    write("pyproject.toml", '[tool.gradpath]\nexclude = ["/old", "*_test.py"]\n')
    assert checked(gradpath_main) == ["a.py", "src/old/c.py"]
    assert checked(gradpath_main, "src") == ["src/old/c.py"]
    assert checked(gradpath_main, "old/b.py") == ["old/b.py"]


def test_exclude_of_the_command_line_is_added_to_that_of_the_configuration(
    gradpath_main: Run, tree: Write, write: Write
) -> None:
    tree("a.py", "old/b.py", "src/c.py", "src/d_test.py")
    write("pyproject.toml", '[tool.gradpath]\nexclude = ["/old"]\n')
    assert checked(gradpath_main, "--exclude", "*_test.py") == ["a.py", "src/c.py"]
    assert checked(gradpath_main, "--exclude", "*_test.py", "--exclude", "a.py") == ["src/c.py"]


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_a_circle_of_links_ends_and_a_dangling_link_is_no_file(gradpath_main: Run, tree: Write, project: Path) -> None:
    tree("src/a.py")
    (project / "src" / "again").symlink_to(project, target_is_directory=True)
    (project / "src" / "dangling.py").symlink_to(project / "nowhere.py")
    (project / "src" / "itself.py").symlink_to(project / "src" / "itself.py")
    assert checked(gradpath_main) == ["src/a.py"]


def test_a_folder_called_like_a_file_is_walked(gradpath_main: Run, tree: Write) -> None:
    tree("package.py/a.py")
    assert checked(gradpath_main) == ["package.py/a.py"]


def test_a_very_deep_tree_is_walked(gradpath_main: Run, tree: Write) -> None:
    deep = "/".join("d" for _ in range(300)) + "/a.py"
    tree(deep)
    assert checked(gradpath_main) == [deep]


def test_a_huge_file_and_a_deep_expression_are_checked(gradpath_main: Run, write: Write) -> None:
    write("huge.py", "x = 1\n" * 50_000 + ERROR)
    write("deep.py", "x = " + "(" * 5000 + ")" * 5000 + "\n" + ERROR)
    assert checked(gradpath_main) == ["deep.py", "huge.py"]


def test_standard_input_has_the_name_it_is_given(gradpath_main: Run) -> None:
    for arguments, name in (((), "-"), (("--stdin-filename", "src/train.py"), "src/train.py")):
        result = gradpath_main("check", "-", *arguments, "--output-format", "json", stdin=ERROR.encode())
        assert result.status == 1
        assert [diagnostic["path"] for diagnostic in json.loads(result.out)["diagnostics"]] == [name]


def test_standard_input_that_is_no_text_answers_2(gradpath_main: Run) -> None:
    result = gradpath_main("check", "-", stdin=b"\0\1")
    assert result.status == 2
    assert result.err.startswith("gradpath: -: ")
    assert result.err.count("\n") == 1


def test_the_parts_of_a_tree_have_each_file_once_and_a_file_stays_in_its_part(gradpath_main: Run, tree: Write) -> None:
    tree(*(f"{folder}/{number}.py" for folder in "abc" for number in range(8)))
    parts = [checked(gradpath_main, "--shard", f"{number}/3") for number in (1, 2, 3)]
    assert all(parts)
    assert sorted(path for part in parts for path in part) == checked(gradpath_main)
    tree("a/more.py")
    assert all(
        set(before) <= set(checked(gradpath_main, "--shard", f"{number}/3")) for number, before in enumerate(parts, 1)
    )


@pytest.mark.parametrize("part", ["0/3", "4/3", "1/0", "2", "x/3", "1/3/2"])
def test_a_part_that_there_is_not_is_refused(gradpath_main: Run, part: str) -> None:
    result = gradpath_main("check", "--shard", part)
    assert (result.status, result.err.count("\n")) == (2, 1)
    assert "is not a part such as 2/8" in result.err


def test_a_part_is_not_written_to(gradpath_main: Run) -> None:
    for option in ("--fix", "--add-ignores"):
        result = gradpath_main("check", "--shard", "1/2", option)
        assert (result.status, result.err.count("\n")) == (2, 1)


@pytest.mark.skipif(os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root opens all")
def test_a_closed_folder_is_named(gradpath_main: Run, project: Path) -> None:
    (project / "closed").mkdir(mode=0)
    assert gradpath_main("check", "closed").err.startswith("gradpath: closed: Permission denied\n")
