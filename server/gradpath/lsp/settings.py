"""The editor's settings, as far as they are about how the server behaves towards it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gradpath.lsp.uris import path_of

Settings = Mapping[str, Any]


def section_of(options: object) -> Settings:
    """The settings of gradpath within what a client sends: under `gradpath`, under `settings`, or bare."""
    if not isinstance(options, Mapping):
        return {}
    for name in ("gradpath", "settings"):
        inner = options.get(name)
        if isinstance(inner, Mapping):
            return section_of(inner)
    return options


class EditorSettings:
    """The settings as such, and those of workspace folders, where they count instead.

    Those for the analysis, together with the configuration files, are handled by the analysis process.
    """

    def __init__(self) -> None:
        self.everywhere: Settings = {}
        self.by_folder: dict[str, Settings] = {}

    def set(self, everywhere: Settings, by_folder: Mapping[str, Settings]) -> bool:
        """Take new settings, those of workspace folders by URI; whether they differ from those before."""
        folders = {path_of(uri).rstrip("/\\"): settings for uri, settings in by_folder.items()}
        if (everywhere, folders) == (self.everywhere, self.by_folder):
            return False
        self.everywhere, self.by_folder = everywhere, folders
        return True

    def switch(self, name: str, path: str, *, default: bool) -> bool:
        """True if a setting such as `gradpath.inlayHints` is on for the file `path`."""
        holders = [root for root in self.by_folder if Path(path).parent.is_relative_to(root)]
        settings = self.by_folder[max(holders, key=len)] if holders else self.everywhere
        value = settings.get(name)
        return value if isinstance(value, bool) else default

    @property
    def trace(self) -> str | None:
        """The value of `gradpath.trace`, if it is a word; `gradpath.trace.server` is the client's own."""
        value = self.everywhere.get("trace")
        return value if isinstance(value, str) else None
