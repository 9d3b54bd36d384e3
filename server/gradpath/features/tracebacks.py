"""Tracebacks as people have them: plain, of IPython, pytest and rich, with log prefixes, chained, in anomaly mode."""

from __future__ import annotations

import re

from gradpath.support.fast_dataclasses import dataclass, field, replace
from gradpath.support.lazy_regex import regex


@dataclass(frozen=True, slots=True)
class Frame:
    """A call on the stack: `line` counts from 1 in the file, or in the cell that was run as number `execution`."""

    path: str
    line: int
    function: str = ""
    code: str = ""
    execution: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception with its stack, outermost call first; `forward` is where anomaly mode saw the operation made."""

    kind: str
    message: str
    frames: tuple[Frame, ...]
    forward: tuple[Frame, ...] = ()


_ANSI = regex(r"\x1b\[[0-9;?]*[A-Za-z]")
_BOX = " \t\r\n\f\v\xa0│|╮╯─"
_PLAIN = regex(r'File "(?P<path>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')
_CELL = regex(
    r"^(?:Cell|Input) In ?\[(?P<number>\d+)\](?:, line (?P<line>\d+))?(?:,? in (?P<function>.+?))?:?$"
    r"|^<ipython-input-(?P<older>\d+)-[^>]*> in (?P<name>.+)$"
)
_IPYTHON = regex(r"^File (?P<path>.+?):(?P<line>\d+)(?:, in (?P<function>.+))?$")
_OLDER_IPYTHON = regex(r"^(?P<path>\S+\.py) in (?P<function>.+)$")
_PYTEST = regex(r"^(?P<path>\S+\.py):(?P<line>\d+):(?: in (?P<function>.+)| \w+)?$")
_RICH = regex(r"^(?P<path>\S+\.py):(?P<line>\d+) in (?P<function>.+)$")
_ARROW = regex(r"^-*> ?(?P<line>\d+)(?: (?P<code>.*))?$")
_PYTEST_CODE = regex(r"^> {2,}(?P<code>\S.*)$")
_START = regex(r"Traceback \(most recent call last\)")
_FORWARD = regex(r"Traceback of forward call that caused the error")
_END_OF_FORWARD = regex(r"^\s*\(Triggered internally|^\s*return Variable\._execution_engine")
_EXCEPTION = regex(
    r"(?:^|[\s|])(?:[A-Za-z_]\w*\.)*(?P<kind>[A-Z]\w*(?:Error|Exception|Exit|Interrupt)): (?P<message>.*)$"
)


_DIGITS = 12


@dataclass(slots=True)
class _Reader:
    """The state of reading: the current stack, and the completed failures."""

    failures: list[Failure] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    forward: list[Frame] = field(default_factory=list)
    in_forward: bool = False
    awaits_code: bool = False
    pytest_code: str = ""

    def start(self) -> None:
        """A new traceback begins; a stack without an exception at its end was cut off."""
        self.frames = []
        self.in_forward = self.awaits_code = False

    def frame(self, frame: Frame, *, code_follows: bool = False) -> None:
        (self.forward if self.in_forward else self.frames).append(frame)
        self.awaits_code = code_follows

    def code(self, text: str) -> None:
        """The source of the last frame."""
        stack = self.forward if self.in_forward else self.frames
        stack[-1] = replace(stack[-1], code=text.strip())
        self.awaits_code = False

    def exception(self, kind: str, message: str) -> None:
        self.failures.append(Failure(kind, message.strip(), tuple(self.frames), tuple(self.forward)))
        self.frames, self.forward = [], []
        self.in_forward = self.awaits_code = False


def mentions_a_traceback(text: str) -> bool:
    """True if there may be any; quick, where most texts have none."""
    return "Error" in text


def failures(text: str) -> list[Failure]:
    """The exceptions in a text, in its order; each of a chain is one."""
    reader = _Reader()
    for raw in _ANSI.sub("", text).splitlines():
        line = raw.rstrip()
        if line:
            _read(reader, line)
    if reader.forward and reader.failures:  # pytest shows warnings after what failed.
        reader.failures[-1] = replace(reader.failures[-1], forward=tuple(reader.forward))
    return reader.failures


def _read(reader: _Reader, line: str) -> None:
    plain = _PLAIN.search(line)
    if plain is not None:
        reader.frame(_frame(plain), code_follows=True)
        return
    if _FORWARD.search(line):
        reader.in_forward, reader.forward = True, []
        return
    if _END_OF_FORWARD.search(line):
        reader.in_forward = reader.awaits_code = False
        return
    if _START.search(line):
        reader.start()
        return
    if reader.awaits_code and not _EXCEPTION.match(line):
        reader.code(line)
        return
    if not _read_other(reader, line):
        found = _EXCEPTION.search(_unboxed(line.removeprefix("E ")))
        if found is not None and (reader.frames or line.startswith("E ")):
            reader.exception(found["kind"], found["message"])


def _read_other(reader: _Reader, line: str) -> bool:
    """Read a line of another writer than Python itself; whether it was one."""
    bare = _unboxed(line)
    cell = _CELL.match(bare)
    if cell is not None:
        number = _number(cell["number"] or cell["older"])
        reader.frame(Frame("", _number(cell["line"]), cell["function"] or cell["name"] or "", execution=number))
        return True
    code = _PYTEST_CODE.match(line)
    if code is not None:
        reader.pytest_code = code["code"]
        return True
    arrow = _ARROW.match(bare.replace("❱", ">", 1).replace("│", "", 1))
    if arrow is not None and reader.frames:
        reader.frames[-1] = replace(reader.frames[-1], line=_number(arrow["line"]), code=(arrow["code"] or "").strip())
        return True
    for pattern in (_IPYTHON, _RICH, _OLDER_IPYTHON):
        found = pattern.match(bare)
        if found is not None:
            reader.frame(_frame(found))
            return True
    found = _PYTEST.match(line)
    if found is None:
        return False
    frame = replace(_frame(found), code=reader.pytest_code)
    reader.pytest_code = ""
    last = reader.failures[-1] if reader.failures and not reader.frames else None
    if last is not None and re.search(r": \w+$", line):  # The place that raised is below what it raised.
        reader.failures[-1] = replace(last, frames=(*last.frames, frame))
    else:
        reader.frame(frame)
    return True


def _frame(found: re.Match[str]) -> Frame:
    groups = found.groupdict()
    return Frame(groups["path"], _number(groups.get("line")), groups.get("function") or "")


def _number(digits: str | None) -> int:
    """The number of a line or cell, 0 for none; of one that nothing has, the first digits."""
    return int((digits or "0")[:_DIGITS])


def _unboxed(line: str) -> str:
    """A line without the frame that rich draws around it."""
    return line.lstrip(_BOX + "╭╰").rstrip(_BOX)
