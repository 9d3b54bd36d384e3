"""Which configuration holds for a file, with what the command line says on top."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gradpath.cli.status import UsageError
from gradpath.config import BrokenConfiguration, Config, config_from, find_config, table_in
from gradpath.render.report import Problem
from gradpath.rules import NAMES
from gradpath.support.fast_dataclasses import dataclass, field, replace
from gradpath.support.renamed_rules import RENAMED, now
from gradpath.support.suggestions import did_you_mean

_NAMES = ("gradpath.toml", "pyproject.toml")


def rule_names(values: Sequence[str], option: str) -> tuple[str, ...]:
    """Rule ids and families from an option's comma-separated values; raises `UsageError` for an unknown one."""
    names = [name.strip() for value in values for name in value.split(",")]
    for name in names:
        if name not in NAMES and name not in RENAMED:
            raise UsageError(f"{option}: unknown rule or family `{name}`{did_you_mean(name, NAMES)}")
    return tuple(each for name in names for each in now(name))


@dataclass(slots=True)
class Settings:
    """Looks up configurations, each once, and collects what is wrong with them in `problems`.

    `file` is the configuration that was named on the command line and then holds for all files. `select` given on the
    command line replaces the configuration's `select` and `ignore`; `ignore` and `exclude` are added to
    whatever holds.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    file: Path | None = None
    exclude: tuple[str, ...] = ()
    problems: list[Problem] = field(default_factory=list)
    _homes: dict[str, str] = field(default_factory=dict)
    _by_home: dict[str, Config] = field(default_factory=dict)

    def of_file(self, path: Path) -> Config:
        return self._of_folder(path.absolute().parent)[1]

    def excludes(self, folder: Path) -> tuple[Path, tuple[str, ...]]:
        """The folder of the configuration that holds for `folder`, and its `exclude` patterns."""
        home, config = self._of_folder(folder)
        return home, config.exclude

    def files(self) -> tuple[str, ...]:
        """The files where the configurations stand, or would stand, of all that was asked for so far."""
        if self.file is not None:
            return (str(self.file),)
        return tuple(os.path.join(home, name) for home in self._by_home if home for name in _NAMES)

    def _of_folder(self, folder: Path) -> tuple[Path, Config]:
        home = str(self.file.absolute().parent) if self.file else self._home(str(folder))
        known = self._by_home.get(home)
        if known is None:
            config, complaints = _read(self.file) if self.file else _found(home)
            shown = str(self.file or home)
            self.problems += [_problem(shown, complaint) for complaint in complaints]
            known = self._by_home[home] = self._with_options(config)
        return Path(home or folder), known

    def _home(self, folder: str) -> str:
        """The nearest folder, at or above another, that has a configuration file; empty where none has.

        Each folder is asked once: trees may be deep.
        """
        way: list[str] = []
        home = self._homes.get(folder)
        while home is None:
            way.append(folder)
            above = os.path.dirname(folder)
            if any(os.path.exists(os.path.join(folder, name)) for name in _NAMES):
                home = folder
            else:
                home = "" if above == folder else self._homes.get(above)
            folder = above
        self._homes.update(dict.fromkeys(way, home))
        return home

    def _with_options(self, config: Config) -> Config:
        config = replace(config, exclude=(*config.exclude, *self.exclude))
        if self.select:
            return replace(config, select=self.select, ignore=self.ignore)
        return replace(config, ignore=(*config.ignore, *self.ignore))


def _found(home: str) -> tuple[Config, tuple[str, ...]]:
    return find_config(Path(home), NAMES) if home else (Config(), ())


def _read(file: Path) -> tuple[Config, tuple[str, ...]]:
    try:
        table = table_in(file)
    except BrokenConfiguration as error:
        raise UsageError(f"--config {file}: {error}") from error
    config, complaints = config_from(table or {}, NAMES)
    return replace(config, baseline=config.baseline and str(file.parent / config.baseline)), complaints


def _problem(shown: str, complaint: str) -> Problem:
    """A complaint may begin with the file that it is about."""
    path, colon, message = complaint.partition(": ")
    return Problem(path, message) if colon and path.endswith(".toml") else Problem(shown, complaint)
