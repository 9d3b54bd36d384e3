"""Replacements for broken statements: texts to try instead, best first.

No text moves the code after it: additions are at the end of the statement's last line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradpath.source.grammar import UNPARSED
from gradpath.source.logical import HEADERS, LogicalLine
from gradpath.support.lazy_regex import regex

# Syntax that an older Python than the user's cannot read; blanks in its place keep the columns.
_TYPE_PARAMETERS = regex(r"(\s*(?:async\s+)?(?:def|class)\s+\w+)(\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\])")
_TYPE_ALIAS = regex(r"(\s*)(type)(\s+\w+)(\[[^\[\]]*\])?(\s*=)")
_EXCEPT_STAR = regex(r"(\s*except)(\*)")

_LONGEST_TARGET = 200  # A bound for expressions whose time grows with the square of the length.
_METHOD = regex(r"(\s*[^\W\d][\w.]*)\.\w*\s*(?:\(.*)?\Z", re.DOTALL)
_NO_EFFECT = frozenset({"import", "from", "global", "nonlocal", "assert", "print"})
"""First words of statements that change no value; `print` is one of Python 2."""
_FOR_TARGET = regex(r"\s*(?:async\s+)?for\s+([\w\s,()*]+?)\s+in\b")
_NAME = regex(r"\s*(?:async\s+)?(?:def|class)\s+(\w+)")


def _blanked(match: re.Match[str], *groups: int) -> str:
    text = match.string
    for group in groups:
        if match[group] is not None:
            start, end = match.span(group)
            text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    return text


def _older(code: str) -> str | None:
    """The code without syntax of newer Pythons that means nothing to the analysis, or None where there is none."""
    if (match := _TYPE_PARAMETERS.match(code)) is not None:
        return _blanked(match, 2)
    if (match := _TYPE_ALIAS.match(code)) is not None:
        # A statement without effect, because white space in its place would be indentation.
        start, end = match.span(2)
        blanked = _blanked(match, 4)
        return f"{blanked[:start]}...;{blanked[end:]}"
    if (match := _EXCEPT_STAR.match(code)) is not None:
        return _blanked(match, 2)
    return None


def is_header(line: LogicalLine, code: str) -> bool:
    """True if a logical line opens a block, or was meant to."""
    return line.word in HEADERS and (line.word not in ("match", "case") or code.endswith(":"))


def statements_instead(line: LogicalLine, code: str) -> Iterator[str]:
    """The texts to try instead of a simple statement, if any.

    The result of a call depends on the arguments that are still to come. A method that is called, or will be, may do
    anything to what it belongs to; other code may do anything but change a variable.
    """
    indent = code[: len(code) - len(code.lstrip())]
    older = _older(code)
    if older is not None:
        yield older
    if line.word in ("return", "raise"):
        yield f"{indent}{line.word} {UNPARSED}"
    target = _target(code)
    if target is not None:
        yield f"{target} = {UNPARSED}"
    method = _METHOD.match(code)
    if method is not None and method[1].strip() != "self":  # Which nearly every statement of a method begins with.
        yield f"{method[1]} = {UNPARSED}"
    if line.word not in _NO_EFFECT:
        yield f"{indent}{UNPARSED}"


def _target(code: str) -> str | None:
    """The left side of an assignment, its indentation included; a guess, to be confirmed by the parser."""
    place = code.find("=", 0, _LONGEST_TARGET)
    if place <= 0 or code[place + 1 : place + 2] == "=" or code[place - 1] in "!:":
        return None
    left = code[:place].rstrip().rstrip("+-*/%@&|^<>").rstrip()
    annotated = left.partition(":")[0]
    return annotated if "[" not in annotated or annotated.count("[") == annotated.count("]") else left


def headers_instead(line: LogicalLine, code: str) -> Iterator[str]:
    """The texts to try instead of a header, its colon included; the last is always a header of the same kind."""
    older = _older(code)
    if older is not None:
        yield older
    colon = code.endswith(":")
    if line.closers:
        unfinished = code[:-1] if colon else code
        if line.word == "@":
            yield unfinished + line.closers
        elif line.word == "class":
            yield f"{unfinished}{line.closers}:"
        elif line.word == "def":
            comma = "" if unfinished.rstrip().endswith(("(", ",")) else ","
            yield f"{unfinished}{comma} *{UNPARSED}, **{UNPARSED}_{line.closers}:"
    elif not colon and line.word != "@":
        yield f"{code}:"
    yield _plainest(line, code)


def _plainest(line: LogicalLine, code: str) -> str:
    indent = code[: len(code) - len(code.lstrip())]
    name = _NAME.match(code)
    called = name[1] if name is not None else UNPARSED
    prefix = "async " if code.lstrip().startswith("async") else ""
    match line.word:
        case "def":
            return f"{indent}{prefix}def {called}(*{UNPARSED}, **{UNPARSED}_):"
        case "class":
            return f"{indent}class {called}:"
        case "@":
            return f"{indent}@{UNPARSED}"
        case "for":
            target = _FOR_TARGET.match(code, 0, _LONGEST_TARGET)
            return f"{indent}{prefix}for {target[1] if target is not None else UNPARSED} in {UNPARSED}:"
        case "with":
            return f"{indent}{prefix}with {UNPARSED}:"
        case "if" | "elif" | "while" | "match":
            return f"{indent}{line.word} {UNPARSED}:"
        case "else" | "try" | "finally":
            return f"{indent}{line.word}:"
        case "except":
            return f"{indent}except {UNPARSED}:"
        case "case":
            return f"{indent}case _ if {UNPARSED}:"
    return f"{indent}if {UNPARSED}:"


def header_trial(line: LogicalLine, header: str) -> str:
    """A whole program that parses exactly if the header does, with the block on its own line if it has one there."""
    header = header.lstrip()
    if header.endswith(":") and line.word not in ("@", "match"):
        header += " pass"
    match line.word:
        case "@":
            return f"{header}\ndef f(): pass\n"
        case "elif" | "else":
            return f"if 1: pass\n{header}\n"
        case "except" | "finally":
            return f"try: pass\n{header}\n"
        case "try":
            return f"{header}\nfinally: pass\n"
        case "case":
            return f"match 1:\n {header}\n"
        case "match":
            return f"{header}\n case _: pass\n"
    return f"{header}\n"


def orphan_header(line: LogicalLine, code: str) -> str:
    """A header that can be alone, in place of one that cannot, such as an `else` without its `if`."""
    indent = code[: len(code) - len(code.lstrip())]
    return f"{indent}if 1:" if line.word in ("try", "finally") else f"{indent}if {UNPARSED}:"
