"""Pictures for clients that open them with another program: files in a folder that is removed after the session."""

from __future__ import annotations

import tempfile
from pathlib import Path


class Pictures:
    """The files of a session's pictures; there is no folder before there is a picture."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def write(self, name: str, svg: str) -> Path:
        """Write a picture in the place of any earlier one of that name; raises OSError where that cannot be done."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="gradpath-", ignore_cleanup_errors=True)
        file = Path(self._folder.name, f"{name}.svg")
        file.write_text(svg, encoding="utf-8")
        return file

    def remove(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
