"""Colour for terminals that have it, and nothing for all others."""

from __future__ import annotations

from gradpath.diagnostic import Level
from gradpath.support.fast_dataclasses import dataclass

BOLD = "1"
DIM = "2"
RED = "1;31"
GREEN = "1;32"
YELLOW = "1;33"
BLUE = "34"
CYAN = "36"

LEVEL_COLOURS = {Level.ERROR: RED, Level.WARNING: YELLOW, Level.HINT: CYAN}


@dataclass(frozen=True, slots=True)
class Style:
    """Whether to colour, and the columns that lines may take; the default does not colour, and wraps nothing."""

    colour: bool = False
    width: int | None = None

    def paint(self, text: str, code: str) -> str:
        """`text` in the colour of an SGR code such as `"1;31"`."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text


PLAIN = Style()
