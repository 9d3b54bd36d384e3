"""The editor's settings over the configuration files of the project."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradpath.lsp.uris import path_of
from gradpath.records import replace

if TYPE_CHECKING:
    # Imported late, as is all that `initialize` can be answered without.
    from gradpath.config import Config

Settings = Mapping[str, Any]

OF_THE_EDITOR = frozenset({"codeLens", "diagnosticsInHover", "importStrategy", "inlayHints", "interpreter", "trace"})
"""Settings under `gradpath` that say how the client, or the server towards it, is to behave: no file has them."""


def section_of(options: object) -> Settings:
    """The settings of gradpath within what a client sends: under `gradpath`, under `settings`, or bare."""
    if not isinstance(options, Mapping):
        return {}
    for name in ("gradpath", "settings"):
        inner = options.get(name)
        if isinstance(inner, Mapping):
            return section_of(inner)
    return options


def merged(file: Config, editor: Config) -> Config:
    """A file's configuration with the editor's over it.

    An empty value counts as not set, because editors send the defaults of settings that nobody touched. Tables are
    merged entry by entry.
    """
    values: dict[str, Any] = {}
    for name in file.__match_args__:
        below, above = getattr(file, name), getattr(editor, name)
        if above:
            both = isinstance(below, Mapping) and isinstance(above, Mapping)
            values[name] = {**below, **above} if both else above
    return replace(file, **values)


class Configurations:
    """The configuration of each file; files are read when they are first needed, and again after `forget`.

    Safe to use from several threads. Complaints about a configuration go to `complain`, one line each and once.
    """

    def __init__(self, complain: Callable[[str], None]) -> None:
        self._complain = complain
        self._lock = threading.Lock()
        self._everywhere: Settings = {}
        self._by_folder: dict[str, Settings] = {}
        self._found: dict[str, Config] = {}
        self._told: set[str] = set()

    def set(self, everywhere: Settings, by_folder: Mapping[str, Settings]) -> bool:
        """Take new settings, those of workspace folders by URI; whether they differ from those before."""
        folders = {path_of(uri).rstrip("/\\"): settings for uri, settings in by_folder.items()}
        with self._lock:
            if (everywhere, folders) == (self._everywhere, self._by_folder):
                return False
            self._everywhere, self._by_folder = everywhere, folders
            self._found.clear()
            return True

    def forget(self) -> None:
        """Forget what was read from files, because one of them has changed."""
        with self._lock:
            self._found.clear()

    def of(self, path: str) -> Config:
        """The configuration for the file `path`, which need not exist."""
        folder = str(Path(path).parent)
        with self._lock:
            known = self._found.get(folder)
            if known is None:
                known = self._found[folder] = self._read(folder)
            return known

    def _read(self, folder: str) -> Config:
        from gradpath.config import Config, config_from, find_config
        from gradpath.rules import NAMES

        file, complaints = find_config(Path(folder), NAMES) if Path(folder).is_absolute() else (Config(), ())
        editor, more = config_from(_for_analysis(self._settings_of(folder)), NAMES)
        for complaint in (*complaints, *(f"editor settings: {complaint}" for complaint in more)):
            if complaint not in self._told:
                self._told.add(complaint)
                self._complain(complaint)
        return merged(file, editor)

    def switch(self, name: str, path: str, *, default: bool) -> bool:
        """Whether a setting such as `gradpath.inlayHints` is on for the file `path`."""
        with self._lock:
            value = self._settings_of(str(Path(path).parent)).get(name)
        return value if isinstance(value, bool) else default

    @property
    def trace(self) -> str | None:
        """What `gradpath.trace` says, where it is a word; `gradpath.trace.server` is the client's own."""
        value = self._everywhere.get("trace")
        return value if isinstance(value, str) else None

    def _settings_of(self, folder: str) -> Settings:
        """The settings of the innermost workspace folder that holds `folder`."""
        holders = [root for root in self._by_folder if Path(folder).is_relative_to(root)]
        return self._by_folder[max(holders, key=len)] if holders else self._everywhere


def _for_analysis(settings: Settings) -> Settings:
    """What is set, without the settings that are the client's own."""
    return {
        key: value
        for key, value in settings.items()
        if value not in (None, "", [], {}, ()) and key not in OF_THE_EDITOR
    }
