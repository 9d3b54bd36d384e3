"""The project's configuration: where it is found, what holds, and what is said of mistakes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gradpath.config import Config, config_from, find_config, is_selected, level_of, read_config
from gradpath.diagnostic import Level

NAMES = {"double-backward", "detached-loss", "inplace-on-leaf", "graph", "detach", "in-place", "loop"}


def test_all_keys_of_the_table_are_read() -> None:
    config, complaints = config_from(
        {
            "select": ["graph", "detached-loss"],
            "ignore": ["loop"],
            "levels": {"double-backward": "warning", "detached-loss": "off"},
            "exclude": ["third_party/"],
            "per-file-ignores": {"tests/**": ["graph"]},
            "python": ".venv/bin/python",
            "assume": {"differentiable": ["my.op"], "pure": ["log"], "backward": ["scaled_backward"]},
        },
        NAMES,
    )
    assert complaints == ()
    assert config == Config(
        select=("graph", "detached-loss"),
        ignore=("loop",),
        levels={"double-backward": "warning", "detached-loss": "off"},
        exclude=("third_party/",),
        per_file_ignores={"tests/**": ("graph",)},
        python=".venv/bin/python",
        assume={"differentiable": ("my.op",), "pure": ("log",), "backward": ("scaled_backward",)},
    )


def test_an_empty_table_is_the_default() -> None:
    assert config_from({}) == (Config(), ())


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({"selct": []}, "unknown key `selct`; did you mean `select`?"),
        ({"per_file_ignores": {}}, "unknown key `per_file_ignores`; did you mean `per-file-ignores`?"),
        ({"zzz": 1}, "unknown key `zzz`"),
        ({"select": "graph"}, "`select` must be a list of strings"),
        ({"exclude": [1]}, "`exclude` must hold strings, not `1`"),
        ({"ignore": ["grpah"]}, "`ignore`: unknown rule or family `grpah`; did you mean `graph`?"),
        (
            {"select": ["doubel-backward"]},
            "`select`: unknown rule or family `doubel-backward`; did you mean `double-backward`?",
        ),
        ({"levels": ["graph"]}, "`levels` must be a table"),
        (
            {"levels": {"double-backward": "eror"}},
            "`levels.double-backward`: unknown level `eror`; did you mean `error`?",
        ),
        (
            {"levels": {"double-backward": 3}},
            "`levels.double-backward`: unknown level `3`; a level is one of off, hint, warning, error",
        ),
        (
            {"levels": {"detachedloss": "off"}},
            "`levels`: unknown rule or family `detachedloss`; did you mean `detached-loss`?",
        ),
        ({"per-file-ignores": 1}, "`per-file-ignores` must be a table"),
        ({"per-file-ignores": {"a.py": "graph"}}, "`per-file-ignores.a.py` must be a list of strings"),
        (
            {"per-file-ignores": {"a.py": ["lop"]}},
            "`per-file-ignores.a.py`: unknown rule or family `lop`; did you mean `loop`?",
        ),
        ({"python": 3}, "`python` must be a string, not `3`"),
        ({"assume": {"pur": []}}, "`assume`: unknown key `pur`; did you mean `pure`?"),
        (
            {"assume": {"zzz": []}},
            "`assume`: unknown key `zzz`; it may be one of differentiable, pure, backward",
        ),
        ({"assume": {"pure": "log"}}, "`assume.pure` must be a list of strings"),
    ],
)
def test_a_mistake_draws_one_line_and_the_rest_still_holds(table: dict[str, Any], complaint: str) -> None:
    rest = {"select": ["graph"], "python": "python3", "levels": {"detached-loss": "hint"}}
    config, complaints = config_from(rest | table, NAMES)
    assert complaints == (complaint,)
    for key, expected in (("select", ("graph",)), ("python", "python3"), ("levels", {"detached-loss": "hint"})):
        if key not in table:
            assert getattr(config, key) == expected


def test_without_the_catalogue_any_rule_is_taken() -> None:
    config, complaints = config_from({"select": ["zzz"], "levels": {"zzz": "off"}})
    assert (config.select, config.levels, complaints) == (("zzz",), {"zzz": "off"}, ())


def test_the_good_values_of_a_list_hold() -> None:
    config, complaints = config_from({"select": ["graph", "zzz", "loop"]}, NAMES)
    assert config.select == ("graph", "loop")
    assert len(complaints) == 1


def test_an_unknown_rule_alone_in_select_leaves_all_rules_on() -> None:
    config, complaints = config_from({"select": ["double-backwards"]}, NAMES)
    assert is_selected(config, "detached-loss", "detach")
    assert complaints == ("`select`: unknown rule or family `double-backwards`; did you mean `double-backward`?",)


def test_a_level_of_a_family_holds_for_its_rules_but_for_those_with_one_of_their_own() -> None:
    config = Config(levels={"graph": "off", "double-backward": "hint"})
    assert level_of(config, "double-backward", "graph", Level.ERROR) is Level.HINT
    assert level_of(config, "carried-graph", "graph", Level.ERROR) is None


@pytest.mark.parametrize(
    ("value", "told"),
    [([[]], "a list"), ([{}], "a table"), ([16**9999], "a giant number"), ([1.5], "`1.5`"), ([True], "`True`")],
)
def test_a_value_of_any_size_is_told_in_a_few_words(value: object, told: str) -> None:
    assert config_from({"exclude": value})[1] == (f"`exclude` must hold strings, not {told}",)


def test_thousands_of_mistakes_are_told_in_few_lines_at_once() -> None:
    _, complaints = config_from({"select": [f"rule-{number}" * 9 for number in range(50_000)]}, NAMES)
    assert len(complaints) == 21
    assert complaints[-1] == "49980 more mistakes like these"
    assert max(map(len, complaints)) < 200


def write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_the_nearest_configuration_above_a_file_holds(tmp_path: Path) -> None:
    write(tmp_path, "pyproject.toml", '[tool.gradpath]\nselect = ["graph"]\n')
    write(tmp_path / "a" / "b", "pyproject.toml", '[tool.gradpath]\nselect = ["loop"]\n')
    train = write(tmp_path / "a" / "b" / "c", "train.py", "")
    assert find_config(train)[0].select == ("loop",)
    assert find_config(train.parent)[0].select == ("loop",)
    assert find_config(tmp_path / "a")[0].select == ("graph",)
    assert find_config(tmp_path / "a" / "missing.py")[0].select == ("graph",)


def test_a_file_of_our_own_holds_before_the_project_file_beside_it(tmp_path: Path) -> None:
    write(tmp_path, "pyproject.toml", '[tool.gradpath]\nselect = ["graph"]\n')
    write(tmp_path, "gradpath.toml", 'select = ["loop"]\n')
    assert find_config(tmp_path)[0].select == ("loop",)


def test_a_project_file_that_says_nothing_about_gradpath_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "pyproject.toml", '[tool.gradpath]\nselect = ["graph"]\n')
    write(tmp_path / "a", "pyproject.toml", "[tool.ruff]\nline-length = 99\n")
    assert find_config(tmp_path / "a")[0].select == ("graph",)


def test_the_root_is_the_folder_of_the_file(tmp_path: Path) -> None:
    write(tmp_path, "pyproject.toml", "[tool.gradpath]\n")
    assert find_config(tmp_path / "a" / "b.py")[0] == Config(root=str(tmp_path))


def test_a_relative_path_is_looked_up_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "pyproject.toml", '[tool.gradpath]\nselect = ["graph"]\n')
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    assert find_config(Path("train.py"))[0].select == ("graph",)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[tool.gradpath\n", "not valid TOML"),
        ("x = = 1\n", "not valid TOML"),
        ("[tool]\ngradpath = 3\n", "`tool.gradpath` must be a table"),
        ("x = " + "[" * 5_000, "not valid TOML"),
    ],
)
def test_a_broken_file_is_one_clear_line(tmp_path: Path, text: str, reason: str) -> None:
    file = write(tmp_path, "pyproject.toml", text)
    config, [complaint] = find_config(tmp_path)
    assert complaint.startswith(f"{file}: {reason}")
    assert "\n" not in complaint
    assert config.select == ()


def test_a_file_in_another_encoding_is_one_clear_line(tmp_path: Path) -> None:
    file = tmp_path / "gradpath.toml"
    file.write_bytes('python = "é"\n'.encode("latin-1"))
    assert find_config(tmp_path) == (Config(), (f"{file}: not UTF-8 text",))
    file.write_bytes(b"\xef\xbb\xbfpython = 'python3'\n")
    assert find_config(tmp_path)[0].python == "python3"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="needs a user who may not read everything")
def test_a_file_that_may_not_be_read_is_one_clear_line(tmp_path: Path) -> None:
    file = write(tmp_path, "gradpath.toml", "")
    file.chmod(0)
    assert find_config(tmp_path)[1] == (f"{file}: Permission denied",)


def test_complaints_name_the_file(tmp_path: Path) -> None:
    file = write(tmp_path, "gradpath.toml", "selct = []\n")
    assert find_config(tmp_path)[1] == (f"{file}: unknown key `selct`; did you mean `select`?",)


def test_a_named_file_may_hold_the_table_bare_or_under_tool(tmp_path: Path) -> None:
    for text in ('select = ["graph"]\n', '[tool.gradpath]\nselect = ["graph"]\n'):
        found = read_config(write(tmp_path, "strict.toml", text))
        assert found is not None
        assert found[0].select == ("graph",)
    assert read_config(write(tmp_path, "pyproject.toml", 'select = ["graph"]\n')) is None


@pytest.mark.parametrize(
    ("select", "ignore", "selected"),
    [
        ((), (), True),
        (("graph",), (), True),
        (("double-backward",), (), True),
        (("loop",), (), False),
        ((), ("graph",), False),
        ((), ("double-backward",), False),
        ((), ("loop", "detached-loss"), True),
        (("graph",), ("double-backward",), False),
        (("double-backward",), ("graph",), True),
        (("graph",), ("graph",), False),
    ],
)
def test_rules_and_families_select_and_ignore(select: tuple[str, ...], ignore: tuple[str, ...], selected: bool) -> None:
    config = Config(select=select, ignore=ignore)
    assert is_selected(config, "double-backward", "graph", "train.py") is selected


def test_levels_replace_the_default() -> None:
    config = Config(levels={"double-backward": "hint", "detached-loss": "off"})
    assert level_of(config, "double-backward", "graph", Level.ERROR) is Level.HINT
    assert level_of(config, "detached-loss", "detach", Level.ERROR) is None
    assert level_of(config, "inplace-on-leaf", "in-place", Level.WARNING) is Level.WARNING


PATTERNS = [
    ("tests/**", "tests/a/test_x.py", True),
    ("tests/", "tests/a/test_x.py", True),
    ("tests", "tests/a/test_x.py", True),
    ("tests/*.py", "tests/a/test_x.py", False),
    ("tests/*.py", "tests/test_x.py", True),
    ("*.py", "tests/a/test_x.py", True),
    ("test_*.py", "tests/a/test_x.py", True),
    ("**/a/*.py", "tests/a/test_x.py", True),
    ("*.ipynb", "tests/a/test_x.py", False),
    ("a/test_x.py", "tests/a/test_x.py", False),
    ("/tests/a/test_x.py", "tests/a/test_x.py", True),
]


@pytest.mark.parametrize(("pattern", "path", "matches"), PATTERNS)
def test_patterns_are_those_of_gitignore_from_the_root(tmp_path: Path, pattern: str, path: str, matches: bool) -> None:
    config = Config(per_file_ignores={pattern: ("graph",)}, root=str(tmp_path))
    absolute = str(tmp_path / path)
    assert is_selected(config, "double-backward", "graph", absolute) is not matches
    assert is_selected(config, "detached-loss", "detach", absolute)


def test_a_path_as_the_user_gave_it_is_seen_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tests").mkdir()
    monkeypatch.chdir(tmp_path / "tests")
    config = Config(per_file_ignores={"tests/*.py": ("double-backward",)}, root=str(tmp_path))
    for path in ("x.py", "./x.py", "../tests/x.py"):
        assert not is_selected(config, "double-backward", "graph", path)
    assert is_selected(config, "double-backward", "graph", "../x.py")


def test_without_a_root_patterns_match_anywhere_in_a_path() -> None:
    config = Config(per_file_ignores={"tests/*.py": ("graph",)})
    assert not is_selected(config, "double-backward", "graph", "project/tests/x.py")
    assert not is_selected(config, "double-backward", "graph", "/project/tests/x.py")
    assert is_selected(config, "double-backward", "graph", "/project/src/x.py")
