"""The body of a loop as pieces of text, one for each statement, to be put together in another order."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence

from gradpath.diagnostic import Edit
from gradpath.fixes.edits import drop_keyword, indent_unit, newline, stands_alone
from gradpath.fixes.lessons import Taught
from gradpath.repairs import Repair
from gradpath.source.document import Document
from gradpath.source.index import names_in, names_of, stored_names
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Call:
    """A statement of a body that goes back, steps, or clears gradients: `how` is the method, `owner` its object."""

    index: int
    how: str
    owner: ast.expr
    node: ast.Call


@dataclass(frozen=True, slots=True)
class Body:
    """The statements of a loop, each with the comments and the blank lines above it."""

    document: Document
    loop: ast.For | ast.While
    pieces: tuple[str, ...]
    starts: tuple[int, ...]

    @property
    def statements(self) -> list[ast.stmt]:
        return self.loop.body

    @property
    def indent(self) -> str:
        """The indentation of the loop itself."""
        return _indent(self.document.line(self.loop.lineno))

    @property
    def unit(self) -> str:
        """One level of indentation."""
        return indent_unit(self.document)

    def calls(self, how: str) -> list[Call]:
        """The statements that are a call of this method, in their order."""
        return calls_in(self.statements, how)

    def needed(self, index: int) -> set[int]:
        """The statements that what a statement reads comes from, itself included."""
        found, reads = {index}, _reads(self.statements[index])
        for each in reversed(range(index)):
            if stored_names(self.statements[each]) & reads:
                found.add(each)
                reads |= _reads(self.statements[each])
        return found

    def text_of(self, node: ast.AST) -> str:
        return self.document.slice(self.document.range_of(node))

    def piece(self, index: int, edits: Iterable[Edit] = ()) -> str:
        """A statement with some edits inside it."""
        text, start = self.pieces[index], self.starts[index]
        for edit in sorted(edits, key=lambda each: each.range.start, reverse=True):
            first, last = (self.document.offset(each) - start for each in (edit.range.start, edit.range.end))
            if 0 <= first <= last <= len(text):
                text = text[:first] + edit.new_text + text[last:]
        return text

    def without_kept_graph(self, call: Call) -> str:
        """The statement of a backward that keeps no graph."""
        dropped = drop_keyword(self.document, call.node, "retain_graph")
        return self.piece(call.index, () if dropped is None else (dropped,))

    def deeper(self, text: str) -> str:
        """Some statements one level further in."""
        lines = text.splitlines(keepends=True)
        return "".join(self.unit + line if line.strip() else line for line in lines)

    def line(self, text: str) -> str:
        """A new statement of the body."""
        return f"{self.indent}{self.unit}{text}{newline(self.document)}"

    def written(
        self, body: Sequence[str], *, header: str = "", before: Sequence[str] = (), without: Sequence[ast.stmt] = ()
    ) -> str:
        """The document with another body, perhaps under another header, with lines before the loop.

        The statements `without` go, which come right after it.
        """
        text, end = self.document.text, newline(self.document)
        last = self.starts[-1] + len(self.pieces[-1])
        rest = text[last:]
        if without:
            first, final = (self.document.offset_of_line(line) for line in (without[0].lineno, _next_line(without[-1])))
            rest = text[last:first] + text[final:]
        top = self.document.offset_of_line(self.loop.lineno)
        shown = f"{self.indent}{header}{end}" if header else text[top : self.starts[0]]
        above = "".join(f"{self.indent}{line}{end}" for line in before)
        return text[:top] + above + shown + "".join(body) + rest


def body_of(document: Document, loop: ast.For | ast.While) -> Body | None:
    """The body of a loop; None where its lines do not belong to one statement each."""
    if loop.orelse or loop.body[0].lineno == loop.lineno or not all(stands_alone(document, each) for each in loop.body):
        return None
    firsts = [_first_line(document, each, loop) for each in loop.body]
    lasts = [each.end_lineno or each.lineno for each in loop.body]
    starts = [document.offset_of_line(firsts[0]), *(document.offset_of_line(each + 1) for each in lasts[:-1])]
    end = len(document.text) if lasts[-1] >= document.line_count else document.offset_of_line(lasts[-1] + 1)
    if not document.text[:end].endswith("\n") or any(_breaks_out(each) for each in loop.body):
        return None
    ends = [*starts[1:], end]
    return Body(document, loop, tuple(document.text[a:b] for a, b in zip(starts, ends, strict=True)), tuple(starts))


def calls_in(statements: Sequence[ast.stmt], how: str) -> list[Call]:
    """The statements that are a call of this method, in their order."""
    calls: list[Call] = []
    for index, statement in enumerate(statements):
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=name)) as node) if name == how:
                calls.append(Call(index, how, owner, node))
    return calls


def _next_line(statement: ast.stmt) -> int:
    return (statement.end_lineno or statement.lineno) + 1


def _first_line(document: Document, statement: ast.stmt, loop: ast.For | ast.While) -> int:
    """The first line of a statement with the comments above it that stand as far in."""
    line = statement.lineno
    while line - 1 > loop.lineno and document.line(line - 1).strip().startswith("#"):
        line -= 1
    return line


def _breaks_out(statement: ast.stmt) -> bool:
    """True if a statement may leave the rest of the body out."""
    return any(isinstance(each, ast.Continue | ast.Break | ast.Return) for each in ast.walk(statement))


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _reads(statement: ast.stmt) -> set[str]:
    """The variables that a statement reads, also of what it changes in place."""
    names = names_of(statement)
    return names_in(statement) if isinstance(statement, ast.Assign) else names


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Another form of a loop: the `text` of the document, and what has to hold of the lessons of its paths."""

    repair: Repair
    text: str
    holds: Callable[[Taught], bool] = lambda _taught: True


@dataclass(frozen=True, slots=True)
class Counter:
    """What counts the iterations of a loop: the `number` of this one, the `count` of all, and the header it needs."""

    number: str
    count: str
    header: str

    def every(self, several: int) -> str:
        """The test for each so many iterations, and for the last one."""
        number = f"({self.number})" if " " in self.number else self.number
        return f"{number} % {several} == 0 or {self.number} == {self.count}"


def counter_of(body: Body) -> Counter | None:
    """The counter of a loop whose length is known before it ends; None where nothing says that."""
    match body.loop:
        case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=[stop], keywords=[])):
            return Counter(f"{name} + 1", body.text_of(stop), "")
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=name), _]),
            iter=ast.Call(func=ast.Name(id="enumerate"), args=[ast.Name() | ast.Attribute() as every], keywords=[]),
        ):
            return Counter(f"{name} + 1", f"len({body.text_of(every)})", "")
        case ast.For(target=target, iter=ast.Name() | ast.Attribute() as every):
            number = next(
                each for each in ("number", "batch_number", "iteration_number") if each not in body.document.text
            )
            text, shown = body.text_of(every), body.text_of(target)
            shown = f"({shown})" if isinstance(target, ast.Tuple) and not shown.startswith("(") else shown
            return Counter(number, f"len({text})", f"for {number}, {shown} in enumerate({text}, 1):")
    return None
