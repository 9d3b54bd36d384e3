"""Reads the template tables: weights, paragraphs, and one row for each shape that T stands for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .draft import Template

WEIGHT = re.compile(r"^(\d+(?:\.\d+)?)\| ")


def rows(family: str, text: str, shapes: str = "SVM") -> tuple[Template, ...]:
    """One template a line; `3| ` before it is its weight (1 otherwise)."""
    return _all(family, [line for line in text.strip().split("\n") if line], shapes)


def paragraphs(family: str, text: str, shapes: str = "VM") -> tuple[Template, ...]:
    """One template a paragraph; each begins with its weight, behind an empty line."""
    return _all(family, [part.strip("\n") for part in re.split(r"\n\n(?=[\d.]+\| )", text.strip("\n"))], shapes)


def expressions(family: str, kinds: str, text: str) -> dict[str, tuple[Template, ...]]:
    """One expression a line, for each of the kinds; T in it is that kind."""
    return {kind: rows(family, text, kind) for kind in kinds}


def merged(*tables: dict[str, tuple[Template, ...]]) -> dict[str, tuple[Template, ...]]:
    """All tables as one."""
    out: dict[str, tuple[Template, ...]] = {}
    for table in tables:
        for kind, found in table.items():
            out[kind] = out.get(kind, ()) + found
    return out


def _all(family: str, texts: Sequence[str], shapes: str) -> tuple[Template, ...]:
    out: list[Template] = []
    for text in texts:
        weight = 1.0
        if match := WEIGHT.match(text):
            weight, text = float(match.group(1)), text[match.end() :]
        if re.search(r"\{T\b|\bT\b(?= )|\{s(?:ize|hape)\}", text):
            out += [Template(family, weight / len(shapes), _shaped(text, shape)) for shape in shapes]
        else:
            out.append(Template(family, weight, text))
    return tuple(out)


def _shaped(text: str, shape: str) -> str:
    """Let T be `shape`; `{size}` and `{shape}` are then the text of that shape, bare and as a tuple."""
    text = re.sub(r"\{T\b", "{" + shape, text)
    text = re.sub(r"(?m)^(\s*@(?:call|name)) T ", rf"\1 {shape} ", text)
    text = text.replace("{shape}", {"S": "()", "V": "(3,)", "M": "(3, 3)"}[shape])
    return text.replace("{size}", {"S": "()", "V": "3", "M": "3, 3"}[shape])
