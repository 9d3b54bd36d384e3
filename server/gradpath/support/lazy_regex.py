"""Regular expressions that are compiled when they are first used: a check needs few, and compiling one takes long."""

from __future__ import annotations

import re
from typing import Any, cast


def regex(expression: str, flags: int = 0) -> re.Pattern[str]:
    """A substitute for the result of `re.compile`, with its attributes; the functions of `re` do not accept it."""
    return cast("re.Pattern[str]", _Pattern(expression, flags))


class _Pattern:
    def __init__(self, expression: str, flags: int) -> None:
        self._expression = expression
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """An attribute of the compiled expression, which from then on is found without a call of this."""
        value = getattr(re.compile(self._expression, self._flags), name)
        setattr(self, name, value)
        return value
