"""The expectation over the probabilities in place of the most likely choice, whose index has no gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Edit, Fix, Safety
from gradpath.findings.cuts import CASTS, Cause
from gradpath.findings.report import Source
from gradpath.findings.stories import short_operation
from gradpath.findings.syntax import ancestry, function_of, statement_of
from gradpath.fixes import edits
from gradpath.fixes.moving import removed
from gradpath.interpreter.trace import Site, Trace
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document
from gradpath.source.imports import is_of_torch
from gradpath.source.index import contents
from gradpath.support.fast_dataclasses import dataclass

CONVERSIONS = CASTS | {"float", "double", "half", "bfloat16", "type_as"}
"""Methods that give another type to what is chosen."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """`scores.argmax(dim)`, and the probabilities that it chooses by; `last` has `dim` as their last dimension."""

    document: Document
    scores: ast.expr
    dim: str
    probabilities: str

    @property
    def last(self) -> str:
        return self.probabilities if self.dim == "-1" else f"{self.probabilities}.movedim({self.dim}, -1)"


def expected(trace: Trace, source: Source, cause: Cause) -> Iterator[Fix]:
    """What is done with a choice, done with the expectation: a code of it, a row of a table, a match, or the index."""
    choice = _choice(source, cause)
    if choice is None or cause.site is None:
        return
    document = choice.document
    made, given_to = _converted(trace, cause.site.node)
    match given_to:
        case ast.Assign(targets=[ast.Name(id=name) | ast.Tuple(elts=[ast.Name(), ast.Name(id=name)])]):
            uses = _reads(trace, given_to, name)
        case _:
            name, uses = "", [made]
    gone = (
        removed(trace, document, given_to) if name == choice.probabilities and isinstance(given_to, ast.stmt) else None
    )
    rest = () if gone is None else (gone,)
    numbers = False
    for use in uses[:MOST]:
        whole, parent = _converted(trace, use)
        match parent:
            case ast.Call(func=ast.Name(id="one_hot") | ast.Attribute(attr="one_hot")):
                whole, _ = _converted(trace, parent)
                yield _fix(choice.probabilities, edits.replace(document, whole, choice.probabilities), *rest)
            case ast.Subscript(value=table, slice=index) if index is whole:
                text = f"{choice.last} @ {edits.flat(document, table)}"
                yield _fix(text, _put(trace, document, parent, text), *rest)
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                other, dim = right if left is whole else left, choice.dim
                label = edits.followed(edits.flat(document, other), other, f".long().unsqueeze({dim})")
                text = f"{choice.probabilities}.gather({dim}, {label}).squeeze({dim})"
                yield _fix(text, edits.replace(document, parent, text), *rest)
            case ast.Compare() | ast.Subscript() | ast.Slice() | ast.Tuple() | None:
                pass
            case _:
                numbers = True
    if numbers:
        yield _number(trace, source, cause.site, choice, made)


MOST = 3
"""Uses of one choice that are tried."""


def _choice(source: Source, cause: Cause) -> _Choice | None:
    """The choice that a cut is, along one dimension."""
    match cause.site and cause.site.node:
        case ast.Call(func=ast.Attribute(attr="argmax" | "max", value=scores), args=given, keywords=options) if (
            cause.site
        ):
            if is_of_torch(scores, source.names(cause.site.path)) and given:
                scores, given = given[0], given[1:]
        case _:
            return None
    if short_operation(cause.detail) not in ("argmax", "max"):
        return None
    axes = [*given, *(each.value for each in options if each.arg in ("dim", "axis"))]
    document = source.document(cause.site)
    if len(axes) != 1 or len(given) + len(options) > 1:
        return None
    dim, text = edits.flat(document, axes[0]), edits.flat(document, scores)
    return _Choice(
        document, scores, dim, text if is_probable(cause) else edits.followed(text, scores, f".softmax(dim={dim})")
    )


def is_probable(cause: Cause) -> bool:
    """True if a choice is made from probabilities, in whatever shape they are."""
    made = next(iter(cause.tensor.maker), None)
    while made is not None and made.maker and short_operation(made.operation) in _SHAPING:
        made = made.maker[0]
    return made is not None and short_operation(made.operation) in ("softmax", "sigmoid")


_SHAPING = frozenset({"view", "reshape", "flatten", "squeeze", "unsqueeze", "permute", "transpose", "contiguous"})


def _converted(trace: Trace, node: ast.AST) -> tuple[ast.AST, ast.AST | None]:
    """An expression with the conversions that follow it, and what that is a part of."""
    around = [*ancestry(trace, node)[:-1]]
    while around:
        match node, around[-1]:
            case (
                ast.Call(func=ast.Attribute(attr="max")),
                ast.Attribute(attr="indices") | ast.Subscript(slice=ast.Constant(value=1)),
            ):
                node = around.pop()
            case _, ast.Attribute(attr=name) if name in CONVERSIONS:
                around.pop()
                node = around.pop()
            case _, parent:
                return node, parent
    return node, None


def _reads(trace: Trace, statement: ast.stmt, name: str) -> list[ast.AST]:
    """Where the function reads a variable after a statement."""
    function = function_of(trace, statement)
    roots: tuple[ast.AST, ...] = (function,) if function is not None else tuple(trace.visits)
    found = [each for root in roots for each in contents(root).names if each.id == name]
    return [each for each in found if isinstance(each.ctx, ast.Load) and each.lineno > statement.lineno]


def _number(trace: Trace, source: Source, site: Site, choice: _Choice, made: ast.AST) -> Fix:
    """The expected index where the index itself is taken for a number, or the scores, which a loss may take as well."""
    document, torch = choice.document, source.called("torch", site.path)
    scores = edits.flat(document, choice.scores)
    match choice.scores:
        case ast.Name() | ast.Attribute():
            sized = scores
        case ast.Call(args=[ast.Name(id=sized), *_]) if choice.probabilities == scores:
            pass  # A softmax, whose argument has its size.
        case _:
            sized = ""
    if torch is None or not sized:
        repair = Repair(Way.DROP_CUT, lines=(site.line,), text=edits.flat(document, made).removeprefix(scores))
        return Fix.by(repair, Safety.UNSAFE, (edits.replace(document, made, scores),))
    text = f"{choice.last} @ {torch}.arange({sized}.size({choice.dim})).to({sized})"
    repair = Repair(Way.EXPECTED_INDEX, lines=(site.line,), text=text)
    match statement_of(trace, made):
        case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id="_"), ast.Name(id=name)])]) as statement:
            return Fix.by(repair, Safety.UNSAFE, (edits.replace(document, statement, f"{name} = {text}"),))
    return Fix.by(repair, Safety.UNSAFE, (_put(trace, document, made, text),))


def _put(trace: Trace, document: Document, node: ast.AST, text: str) -> Edit:
    """An operation in place of an expression, in parentheses unless that is all that a statement gives."""
    *_, parent = (node, *ancestry(trace, node)[:-1])
    return edits.replace(document, node, text if isinstance(parent, ast.stmt) else f"({text})")


def _fix(text: str, *changes: Edit) -> Fix:
    return Fix.by(Repair(Way.EXPECTATION, text=text), Safety.UNSAFE, changes)
