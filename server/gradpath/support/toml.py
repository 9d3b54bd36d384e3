"""Reading TOML, with a reader that is loaded when there is a file to read."""

from __future__ import annotations

import sys
from typing import Any

from gradpath.support.lazy_regex import regex

_LONGEST_KEY = 100
"""Parts of a dotted key: the reader takes quadratic time for more."""

_TOKEN = regex(
    r'"""(?:[^"\\]|\\.|"(?!""))*(?:""")?|'
    r"'''(?:[^']|'(?!''))*(?:''')?|"
    r'"(?:[^"\\\n]|\\.)*"?|'
    r"'[^'\n]*'?|#[^\n]*|[\w \t-]+|(?s:.)"
)
"""The tokens of a text; no alternative backtracks, so that a text is read once."""


def loads(text: str) -> dict[str, Any]:
    """The table that a text holds; raises ValueError, with one line, where it is not TOML or nested too deeply."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    if _has_endless_key(text):
        raise ValueError(f"a key has more than {_LONGEST_KEY} parts")
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except (RecursionError, MemoryError):
        raise ValueError("nested too deeply") from None
    except ValueError as error:
        raise ValueError(" ".join(str(error).split())) from error
    return table


def _has_endless_key(text: str) -> bool:
    if not any(line.count(".") > _LONGEST_KEY for line in text.split("\n")):
        return False
    parts = 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == ".":
            parts += 1
            if parts > _LONGEST_KEY:
                return True
        elif not token.startswith(('"', "'")) and not token[0].isalnum() and token[0] not in "_- \t":
            parts = 0
    return False
