"""Which configuration holds for a file, with what the command line says on top."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gradpath.cli.status import UsageError
from gradpath.config import BrokenConfiguration, Config, config_from, find_config, table_in
from gradpath.nearest import did_you_mean
from gradpath.records import dataclass, field, replace
from gradpath.render.report import Problem
from gradpath.rules import NAMES

_NAMES = ("gradpath.toml", "pyproject.toml")


def rule_names(values: Sequence[str], option: str) -> tuple[str, ...]:
    """Rule ids and families from an option's comma-separated values; raises `UsageError` for an unknown one."""
    names = [name.strip() for value in values for name in value.split(",")]
    for name in names:
        if name not in NAMES:
            raise UsageError(f"{option}: unknown rule or family `{name}`{did_you_mean(name, NAMES)}")
    return tuple(names)


@dataclass(slots=True)
class Settings:
    """Looks up configurations, each once, and collects what is wrong with them in `problems`.

    `file` is the configuration that was named on the command line and then holds for all files. `select` given on the
    command line stands instead of the configuration's `select` and `ignore`; `ignore` is added to whatever holds.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    file: Path | None = None
    problems: list[Problem] = field(default_factory=list)
    _homes: dict[Path, Path] = field(default_factory=dict)
    _by_home: dict[Path, Config] = field(default_factory=dict)

    def of_file(self, path: Path) -> Config:
        """What holds for a file."""
        return self._of_folder(path.absolute().parent)[1]

    def excludes(self, folder: Path) -> tuple[Path, tuple[str, ...]]:
        """The folder of the configuration that holds for `folder`, and its `exclude` patterns."""
        home, config = self._of_folder(folder)
        return home, config.exclude

    def _of_folder(self, folder: Path) -> tuple[Path, Config]:
        home = self._homes.get(folder)
        if home is None:
            home = self._homes[folder] = self.file.absolute().parent if self.file else _home(folder)
        known = self._by_home.get(home)
        if known is None:
            config, complaints = _read(self.file) if self.file else find_config(home, NAMES)
            shown = str(self.file or home)
            self.problems += [_problem(shown, complaint) for complaint in complaints]
            known = self._by_home[home] = self._with_options(config)
        return home, known

    def _with_options(self, config: Config) -> Config:
        if self.select:
            return replace(config, select=self.select, ignore=self.ignore)
        return replace(config, ignore=(*config.ignore, *self.ignore))


def _home(folder: Path) -> Path:
    """The nearest folder, at or above `folder`, that has a configuration file; `folder` itself where none has."""
    for parent in (folder, *folder.parents):
        if any((parent / name).is_file() for name in _NAMES):
            return parent
    return folder


def _read(file: Path) -> tuple[Config, tuple[str, ...]]:
    try:
        table = table_in(file)
    except BrokenConfiguration as error:
        raise UsageError(f"--config {file}: {error}") from error
    return config_from(table or {}, NAMES)


def _problem(shown: str, complaint: str) -> Problem:
    """A complaint may begin with the file that it is about."""
    path, colon, message = complaint.partition(": ")
    return Problem(path, message) if colon and path.endswith(".toml") else Problem(shown, complaint)
