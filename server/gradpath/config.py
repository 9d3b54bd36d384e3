"""The project's configuration: `[tool.gradpath]` in `pyproject.toml`, or `gradpath.toml`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gradpath.diagnostic import Level

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Config:
    """What a project asks of gradpath; the empty configuration is the default."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    levels: Mapping[str, str] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    python: str | None = None
    assume: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def find_config(start: Path) -> tuple[Config, tuple[str, ...]]:
    """The nearest configuration at or above `start`, with complaints of one line each."""
    folder = start if start.is_dir() else start.parent
    for parent in (folder, *folder.parents):
        for name in ("gradpath.toml", "pyproject.toml"):
            file = parent / name
            if file.is_file():
                try:
                    data: Mapping[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
                except (OSError, ValueError) as error:
                    return Config(), (f"{file}: {error}",)
                if name == "pyproject.toml":
                    data = data.get("tool", {}).get("gradpath", {})
                return config_from(data)
    return Config(), ()


def config_from(data: Mapping[str, Any]) -> tuple[Config, tuple[str, ...]]:
    """A configuration from its table, with complaints of one line each; what is right still holds."""
    return Config(
        select=tuple(data.get("select", ())),
        ignore=tuple(data.get("ignore", ())),
        levels=dict(data.get("levels", {})),
        exclude=tuple(data.get("exclude", ())),
        per_file_ignores={key: tuple(value) for key, value in data.get("per-file-ignores", {}).items()},
        python=data.get("python"),
        assume={key: tuple(value) for key, value in data.get("assume", {}).items()},
    ), ()


def level_of(config: Config, rule: str, default: Level) -> Level | None:
    """The level a rule reports at, or None where it is off."""
    word = config.levels.get(rule)
    return default if word is None else None if word == "off" else Level(word)


def is_selected(config: Config, rule: str, family: str, path: str = "") -> bool:
    """Whether a rule reports in the file `path`."""
    names = {rule, family}
    return (not config.select or not names.isdisjoint(config.select)) and names.isdisjoint(config.ignore)
