"""Patterns mean what they mean to git, and none takes long."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from gradpath.config import Config, is_selected
from gradpath.names.walk import walk
from gradpath.support.gitignore import pattern_of

TREES = 60
PIECES = (
    "a",
    "b",
    "ab",
    "*",
    "**",
    "?",
    "[ab]",
    "[!a]",
    "[a-b]",
    "[[:alpha:]]",
    "\\a",
    "\\*",
    "x",
    "a*",
    "*b",
    "[",
    "]",
)
NAMES = ("a", "b", "ab", "ba", "x", "aab", "xb")


def made_up_line(dice: random.Random) -> str:
    segments = ["".join(dice.choices(PIECES, k=dice.choice((1, 1, 2, 3)))) for _ in range(dice.choice((1, 1, 2, 3)))]
    line = "/".join(segments)
    line = dice.choice(("", "", "", "/", "!", "!/", "**/", "\\!")) + line
    line += dice.choice(("", "", "/", "/**", ".py", "*.py", "  ", "\\ "))
    return dice.choice((line, line, line, "#" + line, "", "*.py", "!*.py"))


def made_up_tree(top: Path, dice: random.Random) -> None:
    folders = [top]
    for _ in range(6):
        folders.append(dice.choice(folders) / dice.choice(NAMES))
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        for name in dice.sample(NAMES, 3):
            (folder / f"{name}.py").touch()
        if folder is top or dice.random() < 0.3:
            lines = [made_up_line(dice) for _ in range(dice.randint(1, 5))]
            (folder / ".gitignore").write_text("\n".join(lines) + "\n")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not here")
@pytest.mark.parametrize("seed", range(TREES))
def test_a_walk_finds_what_git_finds(tmp_path: Path, seed: int) -> None:
    made_up_tree(tmp_path, random.Random(seed))
    git = ["git", "-c", "core.excludesFile=", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    listed = subprocess.run(
        [*git, "ls-files", "-z", "--others", "--exclude-standard"], check=True, capture_output=True, text=True
    )
    expected = {name for name in listed.stdout.split("\0") if name.endswith(".py")}
    found = walk(str(tmp_path), lambda _: (tmp_path, ()), lambda *_: None)
    assert {Path(name).relative_to(tmp_path).as_posix() for name in found} == expected


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("a*" * 30 + "b", "a" * 255),
        ("*a" * 100 + "b", "a" * 255),
        ("[ab]*" * 800 + "c", "ab" * 120),
        ("?*" * 2000 + "c", "a" * 255),
        ("**/a/" * 800 + "b", "/".join("a" * 1000)),
        ("**/*a*/" * 500 + "b", "/".join("a" * 1000)),
        ("[[:" * 1300, "a" * 255),
        ("\\" * 4000, "a" * 255),
    ],
)
def test_no_pattern_takes_long(line: str, name: str) -> None:
    began = time.process_time()
    pattern = pattern_of(line)
    assert pattern is None or not pattern.matches(name.split("/"), folder=False)
    config = Config(per_file_ignores={line: ("graph",)}, root="/")
    assert is_selected(config, "double-backward", "graph", "/" + name)
    assert time.process_time() - began < 2


def test_a_line_longer_than_any_path_is_no_pattern() -> None:
    assert pattern_of("[[:" * 300_000) is None


@pytest.mark.parametrize(
    ("pattern", "path", "root", "covered"),
    [
        ("tests/", "tests/a/b.py", "", True),
        ("/tests/**", "project/tests/a/b.py", "", True),
        ("tests/**", "/project/tests/a/b.py", "/project", True),
        ("tests/**", "/project/x/tests/b.py", "/project", False),
        ("tests", "/elsewhere/tests/b.py", "/project", True),
        ("b.py/", "/project/tests/b.py", "/project", False),
        ("!b.py", "/project/tests/b.py", "/project", False),
    ],
)
def test_a_pattern_of_a_configuration_covers_what_lies_in_a_folder_that_it_names(
    pattern: str, path: str, root: str, covered: bool
) -> None:
    config = Config(per_file_ignores={pattern: ("graph",)}, root=root)
    assert is_selected(config, "double-backward", "graph", path) is not covered
