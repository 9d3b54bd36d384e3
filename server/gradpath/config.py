"""The project's configuration: `[tool.gradpath]` in `pyproject.toml`, or `gradpath.toml`."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gradpath.diagnostic import Level
from gradpath.support import toml
from gradpath.support.fast_dataclasses import dataclass, field, replace
from gradpath.support.gitignore import pattern_of
from gradpath.support.reading import CONFIGURATION, read_text
from gradpath.support.renamed_rules import RENAMED, now
from gradpath.support.suggestions import did_you_mean

OFF = "off"
"""The level of a rule that does not report."""

ASSUMPTIONS = ("differentiable", "pure", "backward")
"""The assumptions about calls: that gradients flow through, that nothing changes, that they are a `backward()`."""

_FILES = ("gradpath.toml", "pyproject.toml")
_KEYS = ("select", "ignore", "levels", "exclude", "per-file-ignores", "python", "assume", "baseline")
LEVELS = (OFF, *(level.value for level in Level))
_MOST_COMPLAINTS = 20
"""The most mistakes of one configuration that are listed one by one."""

_LONGEST_WORD = 60


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of a project; the empty configuration is the default.

    `select` and `ignore` hold rule ids and families; nothing selected means all. `levels` maps the same to `off` or a
    level's name, `per_file_ignores` patterns to rule ids and families, `assume` one of `ASSUMPTIONS` to dotted names of
    calls. Patterns are those of `.gitignore`, relative to `root`, the folder of the configuration file; without a root
    they match anywhere in a path. `python` is the interpreter whose libraries the project uses, `baseline` the file
    with the mistakes that are known, whole where a file names it.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    levels: Mapping[str, str] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    python: str | None = None
    assume: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    baseline: str | None = None
    root: str = ""


def find_config(start: Path, names: Collection[str] = ()) -> tuple[Config, tuple[str, ...]]:
    """The nearest configuration at or above a file or folder, and complaints of one line each, which name the file.

    A `pyproject.toml` without the table `tool.gradpath` is passed over. For `names` see `config_from`.
    """
    folder = Path(os.path.abspath(start))
    for parent in (folder, *folder.parents):
        for name in _FILES:
            file = parent / name
            if os.path.exists(file):
                found = read_config(file, names)
                if found is not None:
                    return found
    return Config(), ()


def read_config(file: Path, names: Collection[str] = ()) -> tuple[Config, tuple[str, ...]] | None:
    """The configuration in a file, and complaints which name it; None where the file says nothing about gradpath."""
    try:
        table = table_in(file)
    except BrokenConfiguration as error:
        return Config(), (f"{file}: {error}",)
    if table is None:
        return None
    config, complaints = config_from(table, names)
    root = os.path.dirname(os.path.abspath(file))
    baseline = config.baseline and os.path.join(root, config.baseline)
    return replace(config, root=root, baseline=baseline), tuple(f"{file}: {complaint}" for complaint in complaints)


class BrokenConfiguration(Exception):
    """A file of which nothing can be taken; the text is the reason, in one line."""


def table_in(file: Path) -> Mapping[str, Any] | None:
    """The table of gradpath in a file, None where it has none; raises `BrokenConfiguration`."""
    try:
        data: object = toml.loads(read_text(file, CONFIGURATION))
    except OSError as error:
        raise BrokenConfiguration(error.strerror or type(error).__name__) from error
    except UnicodeDecodeError as error:
        raise BrokenConfiguration("not UTF-8 text") from error
    except ValueError as error:
        raise BrokenConfiguration(f"not valid TOML: {error}") from error
    nested = file.name == "pyproject.toml" or (isinstance(data, Mapping) and "tool" in data)
    for key in ("tool", "gradpath") if nested else ():
        if not isinstance(data, Mapping) or key not in data:
            return None
        data = data[key]
    if not isinstance(data, Mapping):
        raise BrokenConfiguration("`tool.gradpath` must be a table")
    return data


def config_from(data: Mapping[str, Any], names: Collection[str] = ()) -> tuple[Config, tuple[str, ...]]:
    """A configuration from its table, and complaints of one line each: what is right still holds.

    `names` are the ids of all rules and families; where given, other names draw a complaint and are left out.
    """
    reader = _Reader(names)
    for key in data:
        if key not in _KEYS:
            reader.complain(f"unknown key `{_brief(key)}`", key, _KEYS)
    config = Config(
        select=tuple(reader.rules(data, "select")),
        ignore=tuple(reader.rules(data, "ignore")),
        levels=dict(reader.levels(data)),
        exclude=tuple(reader.strings(data.get("exclude", ()), "exclude")),
        per_file_ignores={
            pattern: tuple(reader.rules(ignores, pattern, "per-file-ignores."))
            for ignores in [reader.table(data, "per-file-ignores")]
            for pattern in ignores
        },
        python=reader.string(data, "python"),
        assume=dict(reader.assumptions(data)),
        baseline=reader.string(data, "baseline"),
    )
    return config, reader.told()


def level_of(config: Config, rule: str, family: str, default: Level) -> Level | None:
    """The level a rule reports at, None where it is off; its own id outweighs its family."""
    word = config.levels.get(rule, config.levels.get(family))
    if word is None:
        return default
    return None if word == OFF else Level(word)


def is_selected(config: Config, rule: str, family: str, path: str = "") -> bool:
    """True if a rule may report in the file `path`.

    A rule's own id outweighs its family; where both lists name the same, `ignore` wins.
    """
    if rule in config.ignore:
        return False
    if rule not in config.select:
        if family in config.ignore:
            return False
        if config.select and family not in config.select:
            return False
    return not any(
        (rule in ignored or family in ignored) and _matches(pattern, path, config.root)
        for pattern, ignored in config.per_file_ignores.items()
    )


def _matches(line: str, path: str, root: str) -> bool:
    pattern = pattern_of(line)
    if pattern is None or pattern.negated:
        return False
    parts = Path(os.path.abspath(path)).parts if root else tuple(path.replace(os.sep, "/").strip("/").split("/"))
    base = Path(root).parts
    if root and parts[: len(base)] == base:
        return pattern.covers(parts[len(base) :])
    return any(pattern.covers(parts[index:]) for index in range(len(parts)))


class _Reader:
    """Takes what is right from the tables of a configuration, and complains about the rest."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names
        self.complaints: list[str] = []
        self.more = 0

    def complain(self, complaint: str, word: str = "", known: Iterable[str] = (), otherwise: str = "") -> None:
        """Note a complaint; its end is the word among some `known` ones that is nearest to a mistyped one."""
        if len(self.complaints) < _MOST_COMPLAINTS:
            self.complaints.append(complaint + (did_you_mean(word, known) or otherwise))
        else:
            self.more += 1

    def told(self) -> tuple[str, ...]:
        return (*self.complaints, f"{self.more} more mistakes like these") if self.more else tuple(self.complaints)

    def strings(self, values: object, shown: str) -> Iterator[str]:
        if not isinstance(values, list | tuple):
            self.complain(f"`{shown}` must be a list of strings")
            return
        for value in values:
            if isinstance(value, str):
                yield value
            else:
                self.complain(f"`{shown}` must hold strings, not {_told(value)}")

    def rules(self, data: Mapping[str, Any], key: str, within: str = "") -> Iterator[str]:
        shown = f"{within}{_brief(key)}"
        for name in self.strings(data.get(key, ()), shown):
            if not self.names or name in self.names or name in RENAMED:
                yield from now(name)
            else:
                self.complain(f"`{shown}`: unknown rule or family `{_brief(name)}`", name, self.names)

    def table(self, data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        value = data.get(key, {})
        if isinstance(value, Mapping):
            return value
        self.complain(f"`{key}` must be a table")
        return {}

    def string(self, data: Mapping[str, Any], key: str) -> str | None:
        value = data.get(key)
        if value is None or isinstance(value, str):
            return value or None
        self.complain(f"`{key}` must be a string, not {_told(value)}")
        return None

    def levels(self, data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        table = self.table(data, "levels")
        for rule, level in sorted(table.items(), key=lambda each: each[0] not in RENAMED):  # The new name outweighs.
            if self.names and rule not in self.names and rule not in RENAMED:
                self.complain(f"`levels`: unknown rule or family `{_brief(rule)}`", rule, self.names)
            elif isinstance(level, str) and level in LEVELS:
                yield from ((name, level) for name in now(rule))
            else:
                word = level if isinstance(level, str) else ""
                levels = f"; a level is one of {', '.join(LEVELS)}"
                self.complain(f"`levels.{_brief(rule)}`: unknown level {_told(level)}", word, LEVELS, levels)

    def assumptions(self, data: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
        for kind, calls in self.table(data, "assume").items():
            if kind in ASSUMPTIONS:
                yield kind, tuple(self.strings(calls, f"assume.{kind}"))
            else:
                kinds = f"; it may be one of {', '.join(ASSUMPTIONS)}"
                self.complain(f"`assume`: unknown key `{_brief(kind)}`", kind, ASSUMPTIONS, kinds)


def _told(value: object) -> str:
    """A value of the wrong kind, in a few words: it may be of any size."""
    match value:
        case str():
            return f"`{_brief(value)}`"
        case Mapping():
            return "a table"
        case list() | tuple():
            return "a list"
        case int() if abs(value) >= 10**_LONGEST_WORD:
            return "a giant number"
    return f"`{value}`"


def _brief(word: str) -> str:
    return word if len(word) <= _LONGEST_WORD else f"{word[: _LONGEST_WORD - 1]}…"
