"""The editor's settings over the configuration files of the project."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gradpath import rules
from gradpath.analyst.messages import Settings
from gradpath.config import Config, config_from, find_config
from gradpath.support.fast_dataclasses import replace
from gradpath.support.words import words

OF_THE_EDITOR = words(
    "codeLens diagnosticMode diagnosticsInHover documentation importStrategy inlayHints interpreter trace"
)
"""Settings under `gradpath` that say how the client, or the server towards it, is to behave: no file has them."""


def merged(file: Config, editor: Config) -> Config:
    """A file's configuration with the editor's over it.

    An empty value counts as not set, because editors send the defaults of untouched settings. Tables are
    merged entry by entry.
    """
    values: dict[str, Any] = {}
    for name in file.__match_args__:
        below, above = getattr(file, name), getattr(editor, name)
        if above:
            both = isinstance(below, Mapping) and isinstance(above, Mapping)
            values[name] = {**below, **above} if both else above
    return replace(file, **values)


def innermost(folder: str, by_folder: Mapping[str, Any]) -> str | None:
    """The innermost of some workspace folders that holds `folder`; None where none does."""
    return max((root for root in by_folder if Path(folder).is_relative_to(root)), key=len, default=None)


class Configurations:
    """The configuration of each file; files are read when they are first needed, and again after `forget`.

    Safe to use from several threads. Complaints about a configuration go to `complain`, one line each and once.
    """

    def __init__(self, complain: Callable[[str], None]) -> None:
        self._complain = complain
        self._lock = threading.Lock()
        self._settings = Settings({}, {}, 0)
        self._found: dict[str, Config] = {}
        self._states = 0
        """How often the sources of the configurations have changed."""
        self._told: set[str] = set()

    def set(self, settings: Settings) -> None:
        """Take new settings."""
        with self._lock:
            self._settings = settings
            self._found.clear()
            self._states += 1

    def forget(self) -> None:
        """Forget what was read from files, because one of them has changed."""
        with self._lock:
            self._found.clear()
            self._states += 1

    def of(self, path: str) -> Config:
        """The configuration for the file `path`, which need not exist."""
        folder = str(Path(path).parent)
        with self._lock:
            known = self._found.get(folder)
            settings, state = self._settings, self._states
        if known is None:
            known = self._read(folder, settings)
            with self._lock:
                if state == self._states:  # A file that changed while it was read is read again the next time.
                    self._found[folder] = known
        return known

    def _read(self, folder: str, settings: Settings) -> Config:
        file, complaints = find_config(Path(folder), rules.NAMES) if Path(folder).is_absolute() else (Config(), ())
        holder = innermost(folder, settings.by_folder)
        set_there = settings.everywhere if holder is None else settings.by_folder[holder]
        editor, more = config_from(_for_analysis(set_there), rules.NAMES)
        for complaint in (*complaints, *(f"editor settings: {complaint}" for complaint in more)):
            if complaint not in self._told:
                self._told.add(complaint)
                self._complain(complaint)
        if editor.baseline and holder is not None:
            editor = replace(editor, baseline=str(Path(holder, editor.baseline)))
        return merged(file, editor)


def _for_analysis(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings without those that are the client's own."""
    return {
        key: value
        for key, value in settings.items()
        if value not in (None, "", [], {}, ()) and key not in OF_THE_EDITOR
    }
