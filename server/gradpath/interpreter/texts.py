"""Texts that a program puts together: `"conv{}".format(i)`, `"%s_%d" % (name, i)`, `"_".join(names)`.

Attributes and modules are found by them. They stay within the bounds of other values: a width of three digits is not
computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gradpath.interpreter.bounds import LONGEST, is_affordable, is_small
from gradpath.support.lazy_regex import regex

_SPEC = regex(r"[<>^+ -]?0?\d{0,2}(\.\d{1,2})?[a-zA-Z%]?")


def spelled(value: object, spec: str = "") -> str | None:
    """`format(value, spec)` of a text or number; None where it is no such value, or not computed."""
    if not isinstance(value, (str, int, float)) or not is_small(value) or _SPEC.fullmatch(spec) is None:
        return None
    try:
        return format(value, spec)
    except (ValueError, OverflowError):  # An error of Python's own, or of a number with very many digits.
        return None


def filled_in(template: str, positional: Sequence[object], keywords: Mapping[str, object]) -> str | None:
    """`template.format(...)`; None where a field asks for more than one of the arguments as it is."""
    made: list[str] = []
    length = count = 0
    if not is_small(template):
        return None
    from string import Formatter  # Few programs get here, and it compiles patterns as it is loaded.

    try:
        for literal, field, spec, conversion in Formatter().parse(template):
            text: str | None = ""
            if field is not None:
                if field == "":
                    field, count = str(count), count + 1
                if conversion is not None:
                    return None
                given = positional[int(field)] if field.isdecimal() else keywords[field]
                text = spelled(given, spec or "")
            if text is None:
                return None
            made += (literal, text)
            length += len(literal) + len(text)
            if length > LONGEST:
                return None
    except (ValueError, IndexError, KeyError):
        return None
    return "".join(made)


def joined(separator: str, parts: Sequence[object]) -> str | None:
    """`separator.join(parts)`; None where a part is no text, or all are too long together."""
    texts = [each for each in parts if isinstance(each, str)]
    if len(texts) != len(parts) or sum(map(len, texts)) + len(separator) * len(texts) > LONGEST:
        return None
    return separator.join(texts)


def inserted(template: str, values: tuple[object, ...]) -> str | None:
    """`template % values`; None where a value is no text or number, or the result would be too long."""
    if not all(isinstance(each, (str, int, float)) and is_small(each) for each in values):
        return None
    texts = sum(len(each) for each in values if isinstance(each, str))
    if not is_affordable("mod", template, values) or len(template) + texts > LONGEST:
        return None
    try:
        return template % values
    except (TypeError, ValueError, OverflowError):
        return None
