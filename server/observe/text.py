"""The op table as text: JSON with one entry a line, so that a reader finds an entry without reading all others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def as_text(table: Mapping[str, Any]) -> str:
    """The table, always the same for the same entries."""
    return "{\n" + ",\n".join(f"{_json(name)}:{_part(part)}" for name, part in sorted(table.items())) + "\n}\n"


def _part(part: object) -> str:
    if not isinstance(part, Mapping):
        return _json(part)
    return "{\n" + ",\n".join(f"{_json(name)}:{_json(entry)}" for name, entry in sorted(part.items())) + "\n}"


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
