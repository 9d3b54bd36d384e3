"""A tree for a text that does not parse: every statement that can be read is in it, at its place.

The text is cut into logical lines, and these by their indentation into statements and blocks. Runs of statements go
through CPython's parser as they are. Where that fails, the headers of a compound statement are parsed alone and each of
its blocks is recovered by itself, down to the single statements that cannot be parsed, which are replaced by something
plain.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gradpath.diagnostic import Position, Range
from gradpath.source.document import Document
from gradpath.source.grammar import SyntaxProblem, Unparsable, parse_text
from gradpath.source.logical import Lines, LogicalLine, indentation_of, width
from gradpath.source.repair import header_trial, headers_instead, is_header, orphan_header, statements_instead
from gradpath.support.fast_dataclasses import dataclass

_DEEPEST_BLOCK = 100
_FIRST_RUN = 256
_LINES_WORTH_PADDING = 500
_EFFORT = 12
_RESERVE = 1_000_000
_COST_OF_A_CALL = 200
_MOST_HEADERS = 150

_CONTINUES = {
    "elif": frozenset({"if"}),
    "else": frozenset({"if", "for", "while", "try"}),
    "except": frozenset({"try"}),
    "finally": frozenset({"try"}),
}
_BLOCK_FIELDS = ("body", "handlers", "cases", "orelse", "finalbody")


@dataclass(frozen=True, slots=True)
class _Part:
    """One header of a compound statement, as an index into the logical lines, and the span of its block."""

    header: int
    low: int
    high: int


class Recovery:
    """The state of one recovery: the logical lines, the problems so far, and how much may still be parsed."""

    def __init__(self, document: Document, lines: Lines, found: Sequence[LogicalLine]) -> None:
        self.document = document
        self.lines = lines
        self.found = found
        self.levels = self.levels_of(found)
        self.torn = [index for index, line in enumerate(found) if line.torn]
        self.problems: list[SyntaxProblem] = []
        self.budget = _EFFORT * len(lines.text) + _RESERVE
        self.gave_up = False

    def levels_of(self, found: Sequence[LogicalLine]) -> list[int]:
        """The indentation level of each logical line.

        A simple statement with too little indentation is taken as a part of the block that continues after it.
        """
        levels: list[int] = []
        open_levels: list[int] = []
        for index, line in enumerate(found):
            level = line.indent
            following = found[index + 1].indent if index + 1 < len(found) else 0
            opened = index > 0 and levels[-1] < following and is_header(found[index - 1], ":")
            if following > level and (following in open_levels or opened):
                code = self.code(line)
                if not is_header(line, code) and not code.endswith(":"):
                    level = following
            while open_levels and open_levels[-1] > level:
                open_levels.pop()
            if not open_levels or open_levels[-1] < level:
                open_levels.append(level)
            levels.append(level)
        return levels

    def block(self, low: int, high: int, depth: int = 0, suspect_line: int | None = None) -> list[ast.stmt]:
        """The statements of the logical lines `low` to `high`, exclusive; a broken one may be at `suspect_line`."""
        if low >= high:
            return []
        if depth > _DEEPEST_BLOCK:
            self.report(low, high - 1, "nested too deeply")
            return []
        groups = self.groups(low, high)
        suspect = self.group_at(groups, suspect_line)
        statements: list[ast.stmt] = []
        most = _FIRST_RUN
        index = 0
        while index < len(groups):
            if index == suspect or self.gave_up or self.budget < 0:
                statements += self.group(*groups[index], depth, suspect_line)
                index += 1
                continue
            until = min(index + most, len(groups))
            if suspect is not None and index < suspect:
                until = min(until, suspect)
            try:
                statements += self.run(groups[index][0], groups[until - 1][1])
            except Unparsable as error:
                most = max(8, most // 4)
                if until == index + 1:
                    suspect, suspect_line = index, error.line
                else:
                    suspect = self.group_at(groups, error.line)
                    suspect_line = error.line
                    if suspect is None or not index <= suspect < until:
                        suspect, most = None, max(1, (until - index) // 2)
            else:
                most *= 2
                index = until
        return statements

    def run(self, low: int, high: int) -> list[ast.stmt]:
        """The statements of logical lines that need no repair; raises `Unparsable` if they do."""
        torn = bisect_left(self.torn, low)
        if torn < len(self.torn) and self.torn[torn] < high:
            raise Unparsable(self.found[self.torn[torn]].first, "invalid syntax")
        first, last = self.found[low], self.found[high - 1]
        return self.fragment(self.lines.between(first.first, last.last), first)

    def fragment(self, code: str, at: LogicalLine) -> list[ast.stmt]:
        """Parse whole lines of code that begin where `at` does; raises `Unparsable`."""
        nested = at.indent > 0
        before = at.first - 1 - nested
        wrapped = f"if 1:\n{code}" if nested else code
        # Empty lines in front give the right line numbers, and cost less than walking the tree, but not for few lines
        # far down.
        padded = 0 <= before <= _LINES_WORTH_PADDING * (code.count("\n") + 1)
        self.budget -= len(code) + _COST_OF_A_CALL
        if self.budget < 0:
            raise Unparsable(at.first, "too many errors")
        try:
            tree = parse_text("\n" * before + wrapped if padded else wrapped)
        except Unparsable as error:
            if error.line is not None and not padded:
                error.line += before
            raise
        if not padded:
            _shift(tree, before)
        if not nested:
            return tree.body
        match tree.body:
            case [ast.If(body=body, orelse=[]), *others]:
                return body + others
        raise Unparsable(at.first, "invalid syntax")

    def groups(self, low: int, high: int) -> list[tuple[int, int]]:
        """The spans of logical lines that belong to one statement each, blocks and further headers included."""
        groups: list[tuple[int, int]] = []
        base = self.levels[low]
        head, decorated = "", False
        for index in range(low, high):
            if self.levels[index] > base and index > low:
                groups[-1] = (groups[-1][0], index + 1)
                continue
            word = self.found[index].word
            if (decorated and word in ("@", "def", "class")) or (groups and head in _CONTINUES.get(word, ())):
                groups[-1] = (groups[-1][0], index + 1)
            else:
                groups.append((index, index + 1))
                head = word
            decorated = word == "@"
        return groups

    def group_at(self, groups: Sequence[tuple[int, int]], line: int | None) -> int | None:
        """The index of the group that holds a line."""
        if line is None:
            return None
        index = bisect_left(groups, line, key=lambda group: self.found[group[1] - 1].last)
        return index if index < len(groups) else None

    def group(self, low: int, high: int, depth: int, suspect_line: int | None) -> list[ast.stmt]:
        """One statement, as far as it can be read."""
        if self.budget < 0 and not self.gave_up:
            # From now on, definitions are read that need no repair, and nothing else.
            self.gave_up = True
            self.budget = 2 * len(self.lines.text) + _RESERVE
        head = self.found[low]
        if self.gave_up:
            if head.word in ("def", "class", "@"):
                try:
                    return self.run(low, high)
                except Unparsable:
                    pass
            self.report(low, high - 1, "too many errors")
            return []
        code = self.code(head)
        if not is_header(head, code):
            if high == low + 1:
                return self.simple(low)
            statements = self.readable(head, code)
            if statements:
                self.report(low + 1, low + 1, "unexpected indent")
                return statements + self.block(low + 1, high, depth + 1, suspect_line)
        return self.compound(self.parts(low, high), depth, suspect_line)

    def readable(self, head: LogicalLine, code: str) -> list[ast.stmt]:
        """The statements above a block that is indented for no reason; empty if they end in a half-typed header."""
        if code.strip().isidentifier():
            return []
        try:
            return self.fragment(code, head)
        except Unparsable:
            return []

    def simple(self, index: int) -> list[ast.stmt]:
        """A statement without a block, or its replacement."""
        line = self.found[index]
        code = self.code(line)
        try:
            return self.fragment(code, line)
        except Unparsable as error:
            self.report(index, index, error.message)
        return self.torn_apart(line) or self.stand_in(line, code)

    def torn_apart(self, line: LogicalLine) -> list[ast.stmt]:
        """The statements of a torn logical line that swallowed others, if they begin on its second line."""
        if not line.torn or line.last == line.first:
            return []
        swallowed = self.lines.between(line.first + 1, line.last)
        start = len(swallowed) - len(swallowed.lstrip("\n"))
        if width(indentation_of(swallowed[start:])) != line.indent:
            return []
        try:
            statements = self.fragment(swallowed, line._replace(first=line.first + 1))
        except Unparsable:
            return []
        first = self.lines.between(line.first, line.first).rstrip()
        alone = line._replace(last=line.first, code_end=len(first))
        return self.stand_in(alone, first) + statements

    def stand_in(self, line: LogicalLine, code: str) -> list[ast.stmt]:
        """The replacement for a broken statement, at least `pass`."""
        for instead in statements_instead(line, code):
            try:
                statements = self.fragment(instead, line)
            except Unparsable:
                continue
            self.clamp(statements)
            return statements
        start = self.document.line(line.first)
        column = len(start) - len(start.lstrip())
        place = {"lineno": line.first, "col_offset": column, "end_lineno": line.first, "end_col_offset": column}
        return [ast.Pass(**place)]

    def parts(self, low: int, high: int) -> list[_Part]:
        """The headers from `low` to `high` with their blocks; the cases of a `match` are headers like others."""
        starts = [index for index in range(low, high) if index == low or self.levels[index] <= self.levels[low]]
        parts = []
        for start, end in zip(starts, [*starts[1:], high], strict=True):
            if self.found[start].word == "match" and end > start + 1 and self.found[start + 1].word == "case":
                parts.append(_Part(start, start + 1, start + 1))
                parts += self.parts(start + 1, end)
            else:
                parts.append(_Part(start, start + 1, end))
        return parts

    def compound(self, parts: Sequence[_Part], depth: int, suspect_line: int | None) -> list[ast.stmt]:
        """A statement with blocks: its headers first, then each block by itself."""
        if len(parts) > _MOST_HEADERS:
            self.report(parts[_MOST_HEADERS].header, parts[-1].header, "nested too deeply to analyse")
            parts = parts[:_MOST_HEADERS]
        headers = {part.header: self.code(self.found[part.header]) for part in parts}
        try:
            statements, bodies = self.skeleton(parts, headers)
        except Unparsable as error:
            troubles = len(self.problems)
            for index, code in headers.items():
                headers[index] = self.repaired_header(index, code)
            try:
                statements, bodies = self.skeleton(parts, headers)
            except Unparsable:
                if len(self.problems) == troubles:
                    self.report(parts[0].header, parts[0].header, error.message)
                return self.separated(parts, headers, depth, suspect_line)
        blocks = {}
        for line, part in bodies.items():
            if part.low == part.high:
                self.report(part.header, part.header, "expected an indented block")
            within = suspect_line is not None and self.holds(part, suspect_line)
            blocks[line] = self.block(part.low, part.high, depth + 1, suspect_line if within else None)
        _fill(statements, blocks)
        return statements

    def holds(self, part: _Part, line: int) -> bool:
        """True if a line is in the block of a header."""
        return part.low < part.high and self.found[part.low].first <= line <= self.found[part.high - 1].last

    def repaired_header(self, index: int, code: str) -> str:
        """The header itself if it parses, else its best replacement."""
        line = self.found[index]
        instead = [code, *headers_instead(line, code)] if is_header(line, code) else [code]
        for header in instead:
            try:
                self.budget -= len(header) + _COST_OF_A_CALL
                parse_text(header_trial(line, header))
            except Unparsable as error:
                if header is code:
                    self.report(index, index, error.message)
            else:
                return header
        return orphan_header(line, code)

    def separated(
        self, parts: Sequence[_Part], headers: Mapping[int, str], depth: int, suspect_line: int | None
    ) -> list[ast.stmt]:
        """The blocks of headers that do not go together, each under a header of its own."""
        statements: list[ast.stmt] = []
        for part in parts:
            if part.low == part.high:
                continue
            orphan = orphan_header(self.found[part.header], headers[part.header])
            for header in (headers[part.header], orphan):
                try:
                    alone, bodies = self.skeleton([part], {part.header: header})
                except Unparsable:
                    continue
                within = suspect_line if suspect_line is not None and self.holds(part, suspect_line) else None
                _fill(alone, {line: self.block(part.low, part.high, depth + 1, within) for line in bodies})
                statements += alone
                break
        return statements

    def skeleton(self, parts: Sequence[_Part], headers: Mapping[int, str]) -> tuple[list[ast.stmt], dict[int, _Part]]:
        """The statement with `pass` for each block, and the part whose block it is for each line of such a `pass`."""
        text = ""
        bodies = {}
        line = self.found[parts[0].header].first
        for part in parts:
            header = headers[part.header]
            start = self.found[part.header].first
            text += "\n" * (start - line) + header
            line = start + header.count("\n")
            opens = header.endswith(":") and self.found[part.header].word not in ("@", "match")
            if opens or part.low < part.high:
                text += " pass"
                bodies[line] = part
        statements = self.fragment(text, self.found[parts[0].header])
        self.clamp(statements)
        return statements, bodies

    def code(self, line: LogicalLine) -> str:
        """The text of a logical line with its indentation and without a comment after it."""
        return self.lines.text[self.lines.start_of(line.first) : self.lines.start_of(line.last) + line.code_end]

    def report(self, low: int, high: int, message: str) -> None:
        """Note that the logical lines `low` to `high`, inclusive, could not be read."""
        first, last = self.found[low], self.found[high]
        line = self.document.line(first.first)
        start = Position(first.first, len(line) - len(line.lstrip()) + 1)
        end = Position(last.last, min(last.code_end, len(self.document.line(last.last))) + 1)
        self.problems.append(SyntaxProblem(Range(start, max(start, end)), message))

    def clamp(self, statements: Iterable[ast.stmt]) -> None:
        """Move what a repair added after the end of its line to that end."""
        ends: dict[int, int] = {}
        for node in _nodes(statements):
            lineno = getattr(node, "lineno", None)
            if lineno is None:
                continue
            located: ast.expr = node  # type: ignore[assignment]
            for number in (located.lineno, located.end_lineno or located.lineno):
                if number not in ends:
                    ends[number] = len(self.document.line(number).rstrip().encode("utf-8", "surrogatepass"))
            located.col_offset = min(located.col_offset, ends[located.lineno])
            if located.end_lineno is not None and located.end_col_offset is not None:
                located.end_col_offset = min(located.end_col_offset, ends[located.end_lineno])


def _nodes(statements: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    for statement in statements:
        yield from ast.walk(statement)


def _shift(tree: ast.Module, lines: int) -> None:
    for node in ast.walk(tree):
        if isinstance(getattr(node, "lineno", None), int):
            located: ast.expr = node  # type: ignore[assignment]
            located.lineno += lines
            if located.end_lineno is not None:
                located.end_lineno += lines


def _fill(nodes: Iterable[ast.AST], blocks: Mapping[int, list[ast.stmt]]) -> None:
    """Put the blocks in the place of the `pass` on their line, and let each node end where its last statement does."""
    for node in nodes:
        last: ast.AST | None = None
        for field in _BLOCK_FIELDS:
            children = getattr(node, field, None)
            if not isinstance(children, list) or not children:
                continue
            if isinstance(children[0], ast.Pass) and len(children) == 1 and children[0].lineno in blocks:
                block = blocks[children[0].lineno]
                if block:
                    children[:] = block
            else:
                _fill(children, blocks)
            last = children[-1]
        while isinstance(last, ast.match_case):
            last = last.body[-1]
        if last is not None and hasattr(node, "end_lineno"):
            node.end_lineno = getattr(last, "end_lineno", None)
            node.end_col_offset = getattr(last, "end_col_offset", None)  # type: ignore[attr-defined]
