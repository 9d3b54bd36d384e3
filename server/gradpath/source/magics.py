"""A notebook cell as Python: what only IPython understands is masked, and nothing moves.

The masked text has the length and the lines of the cell, so that every position holds for both.
"""

from __future__ import annotations

from gradpath.support.lazy_regex import regex
from gradpath.support.words import words

CODE_MAGICS = words(
    """capture debug filprofile heat ipytest lprun memit mprun notify prun pyinstrument scalene snakeviz time timeit
    wandb"""
)
"""Cell magics whose body runs as Python among the names of the notebook."""

UNKNOWN = "ǃ"
"""The character (a letter, no exclamation mark) that replaces a value which a command or a magic returns."""

_HINT = regex(r"(?m)^[ \t]*[%!?,;/]|\?[ \t]*$|=[ \t]*[%!]")
_PASTED = regex(r"(?m)^[ \t]*(?:%{1,2}|!)[ \t]*[^\W\d]")
_LINE = regex(r"[^\r\n]*(?:\r\n?|\n|\Z)")
_CELL_MAGIC = regex(r"%%(\w+)")
_COMMAND = regex(r"[ \t]*(?:!|%{1,2}(?=\w)|\?{1,2}(?=[\w.*%])|[,;](?=[^\W\d])|/(?=[^\W\d]))")
_TIMED = regex(r"[ \t]*(%time[ \t])[ \t]*\S")
_HELP = regex(r"[ \t]*(?:%{0,2}(?!\d)[\w*]+(?:\.[\w*]+|\[-?\d+\])*|[\w.]+\([^)]*\))\?{1,2}[ \t]*;?[ \t]*$")
_ASSIGNED = regex(r"([ \t]*[^\W\d][\w., \t\[\]\"'()*]*=[ \t]*)(?:!|%(?=\w))")
_ASSIGNED_TIME = regex(r"%time[ \t]+(?=\S)")
_STRING = regex(r"(\"\"\"|'''|\"|')|#|[(\[{]|[)\]}]|\\$")
_ENDINGS = {quote: regex(rf"(?s)(?:\\.|(?!{quote}).)*(?:(?P<end>{quote})|\\?\Z)") for quote in ('"""', "'''", '"', "'")}


def python_of(cell: str) -> str:
    """The cell as Python text; a cell that is none at all becomes comments."""
    if _HINT.search(cell) is None:
        return cell
    lines = [line for line in _LINE.findall(cell) if line]
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    magic = _CELL_MAGIC.match(first)
    if magic is not None and magic[1] not in CODE_MAGICS:
        return "".join(map(_commented, lines))
    return "".join(_masked(lines))


def pasted(text: str) -> str:
    """A text that Python cannot read, without the `%magics` and `!commands` of the cells that it was pasted from."""
    if _PASTED.search(text) is None:
        return text
    return "".join(_masked([line for line in _LINE.findall(text) if line]))


def _masked(lines: list[str]) -> list[str]:
    masked: list[str] = []
    state = _State()
    continued = False
    for line in lines:
        body = line.rstrip("\r\n")
        if continued:
            masked.append(_commented(line))
            continued = body.endswith("\\")
        elif state.inside:
            masked.append(line)
            state.read(body)
        else:
            changed = _without_magic(body)
            text, is_code = (body, True) if changed is None else changed
            masked.append(text + line[len(body) :])
            if is_code:
                state.read(text)
            else:
                continued = body.endswith("\\")
    return masked


def _without_magic(line: str) -> tuple[str, bool] | None:
    """A line that begins a statement, masked; whether what is left is code that may go on in the next line."""
    if timed := _TIMED.match(line):
        # The code after the magic runs unchanged.
        start, end = timed.span(1)
        return f"{line[:start]}0;{' ' * (end - start - 2)}{line[end:]}", True
    if _COMMAND.match(line) or _HELP.match(line):
        indent = len(line) - len(line.lstrip())
        return line[:indent] + _unknown(line[indent:], "0" if indent else "#"), False
    if assigned := _ASSIGNED.match(line):
        end = assigned.end(1)
        if timed := _ASSIGNED_TIME.match(line, end):
            return line[:end] + " " * (timed.end() - end) + line[timed.end() :], True
        return line[:end] + _unknown(line[end:], UNKNOWN), False
    return None


def _unknown(text: str, stand_in: str) -> str:
    """`text` as a placeholder of one character and a comment after it."""
    rest = text[1:]
    if stand_in == "#" or not rest:
        return stand_in + rest
    return f"{stand_in}#{rest[1:]}"


def _commented(line: str) -> str:
    """A line as a comment of the same length; an empty one stays."""
    body = line.rstrip("\r\n")
    indent = len(body) - len(body.lstrip())
    return line if indent == len(body) else line[:indent] + "#" + line[indent + 1 :]


class _State:
    """True if the next line continues a string, a bracket or a backslash of the lines before."""

    def __init__(self) -> None:
        self.quote = ""
        self.depth = 0
        self.joined = False

    @property
    def inside(self) -> bool:
        return bool(self.quote) or self.depth > 0 or self.joined

    def read(self, line: str) -> None:
        """Read one line without its line ending."""
        self.joined = False
        at = 0
        while at <= len(line):
            if self.quote:
                ending = _ENDINGS[self.quote].match(line, at)
                if ending is None or ending["end"] is None:
                    if len(self.quote) == 1 and not line.endswith("\\"):
                        self.quote = ""  # It never ends, which costs its own line.
                    return
                self.quote, at = "", ending.end()
                continue
            found = _STRING.search(line, at)
            if found is None or found[0] == "#":
                return
            if found[1]:
                self.quote = found[1]
            elif found[0] == "\\":
                self.joined = True
            else:
                self.depth = max(self.depth + (1 if found[0] in "([{" else -1), 0)
            at = found.end()
