"""The arguments of a command that is given no option: `argparse` and its parser take longer than a short file does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

_DEFAULTS = {"store_true": False, "store": None, "append": None}
"""What an option is that is not given, by its action."""


class _Declared:
    """Takes the place of a parser: only the defaults are of interest, and where words that are no options go."""

    def __init__(self) -> None:
        self.epilog = ""
        self.defaults: dict[str, object] = {}
        self.rest: list[str] = []
        self.plain = True

    def add_argument(self, *names: str, action: str = "store", nargs: str | None = None, **how: Any) -> None:
        """Note the default of an option, or the name of what takes all other words."""
        if not names[0].startswith("-"):
            self.rest.append(names[0])
            self.plain = self.plain and nargs == "*" and "type" not in how
            return
        name = next(name for name in names if name.startswith("--"))
        self.defaults[name[2:].replace("-", "_")] = how.get("default", _DEFAULTS.get(action))
        self.plain = self.plain and action in _DEFAULTS and "dest" not in how


def plainly_parsed(configure: Callable[[Any], None], words: Sequence[str]) -> SimpleNamespace | None:
    """What `argparse` makes of words none of which is an option; None where it has to be asked."""
    if any(word.startswith("-") and word != "-" for word in words):
        return None
    declared = _Declared()
    try:
        configure(declared)
    except AttributeError:  # A command that asks more of its parser.
        return None
    if not declared.plain or len(declared.rest) != 1:
        return None
    return SimpleNamespace(**declared.defaults, **{declared.rest[0]: list(words)})
