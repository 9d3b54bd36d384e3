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
from gradpath.interpreter.trace import Site, Trace
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document
from gradpath.source.index import contents
from gradpath.support.fast_dataclasses import dataclass

CONVERSIONS = CASTS | {"float", "double", "half", "bfloat16", "type_as"}
"""Methods that give another type to what is chosen."""

MOST = 3
"""Uses of one choice that are tried."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """`scores.argmax(dim)`, or `scores.max(dim)` of which the indices are taken."""

    document: Document
    scores: ast.expr
    dim: str
    keeps: bool
    probable: bool

    @property
    def text(self) -> str:
        """What the choice is made from."""
        return edits.flat(self.document, self.scores)

    @property
    def probabilities(self) -> str:
        """The probabilities of the choices."""
        return self.text if self.probable else edits.followed(self.text, self.scores, f".softmax(dim={self.dim})")

    @property
    def last(self) -> str:
        """The same with those of one choice after the other in the last dimension."""
        return self.probabilities if self.dim == "-1" else f"{self.probabilities}.movedim({self.dim}, -1)"


def expected(trace: Trace, source: Source, cause: Cause) -> Iterator[Fix]:
    """What the program does with a choice, done with the expectation: a code of it, a row of a table, or the index."""
    choice = _choice(source, cause)
    if choice is None or cause.site is None:
        return
    site, document = cause.site, choice.document
    node, name = _index(trace, site)
    uses = [node] if node is not None and not name else _reads(trace, site, name)
    numbers = False
    for use in uses[:MOST]:
        whole, parent = _converted(trace, use)
        match parent:
            case ast.Call(func=ast.Name(id="one_hot") | ast.Attribute(attr="one_hot")):
                whole, _ = _converted(trace, parent)
                yield _fix(choice.probabilities, edits.replace(document, whole, choice.probabilities))
            case ast.Subscript(value=table, slice=index) if index is whole:
                text = f"{choice.last} @ {edits.flat(document, table)}"
                yield _fix(text, _put(trace, document, parent, text))
            case ast.Compare() | ast.Subscript() | ast.Slice() | ast.Tuple() | None:
                pass
            case _:
                numbers = True
    if numbers:
        yield from list(_number(trace, site, choice, node, name)) or _scores(trace, site, choice, node)


def _choice(source: Source, cause: Cause) -> _Choice | None:
    """The choice that a cut is, along one dimension."""
    match cause.site and cause.site.node:
        case ast.Call(func=ast.Attribute(attr="argmax" | "max", value=scores), args=given, keywords=options):
            if isinstance(scores, ast.Name) and scores.id == "torch" and given:
                scores, given = given[0], given[1:]
        case _:
            return None
    named = {each.arg: each.value for each in options}
    axis, keeps = next(iter(given), named.get("dim")), next(iter(given[1:]), named.get("keepdim"))
    if axis is None or cause.site is None or short_operation(cause.detail) not in ("argmax", "max"):
        return None
    document, kept = source.document(cause.site), isinstance(keeps, ast.Constant) and keeps.value is True
    return _Choice(document, scores, edits.flat(document, axis), kept, is_probable(cause))


def is_probable(cause: Cause) -> bool:
    """True if a choice is made from probabilities, in whatever shape they are."""
    made = next(iter(cause.tensor.maker), None)
    while made is not None and made.maker and short_operation(made.operation) in _SHAPING:
        made = made.maker[0]
    return made is not None and short_operation(made.operation) in ("softmax", "sigmoid")


_SHAPING = frozenset({"view", "reshape", "flatten", "squeeze", "unsqueeze", "permute", "transpose", "contiguous"})


def _index(trace: Trace, site: Site) -> tuple[ast.AST | None, str]:
    """The expression that gives the index, if there is one, and the variable that a statement gives it to, if any."""
    node: ast.AST = site.node
    around = [*ancestry(trace, node)[:-1]] or [node]
    match node, around[-1]:
        case ast.Call(func=ast.Attribute(attr="max")), ast.Subscript() | ast.Attribute():
            node = around[-1]
        case ast.Call(func=ast.Attribute(attr="max")), ast.Assign(targets=[ast.Tuple(elts=[_, ast.Name(id=name)])]):
            return None, name
    whole, parent = _converted(trace, node)
    match parent:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is whole:
            return node, name
        case _:
            return node, ""


def _converted(trace: Trace, node: ast.AST) -> tuple[ast.AST, ast.AST | None]:
    """An expression with the conversions that follow it, and what that is a part of."""
    around = [*ancestry(trace, node)[:-1]]
    while around and isinstance(around[-1], ast.Attribute) and around[-1].attr in CONVERSIONS:
        around.pop()
        node = around.pop()
    return node, around[-1] if around else None


def _reads(trace: Trace, site: Site, name: str) -> list[ast.AST]:
    """Where the function reads a variable after a site."""
    statement, function = statement_of(trace, site.node), function_of(trace, site.node)
    roots: tuple[ast.AST, ...] = (function,) if function is not None else tuple(trace.visits)
    last = statement.end_lineno or statement.lineno
    found = [each for root in roots for each in contents(root).names if each.id == name and each.lineno > last]
    return [each for each in found if isinstance(each.ctx, ast.Load)]


def _number(trace: Trace, site: Site, choice: _Choice, node: ast.AST | None, name: str) -> Iterator[Fix]:
    """The expected index, where the index itself is taken for a number."""
    torch, statement = edits.torch_in(choice.document), statement_of(trace, site.node)
    match choice.scores:
        case ast.Name() | ast.Attribute() as alike:
            pass
        case ast.Call(args=[ast.Name() as alike, *_]) if choice.probable:
            pass  # A softmax, whose argument has its size.
        case _:
            return
    if torch is None:
        return
    sized = edits.flat(choice.document, alike)
    text = f"{choice.last} @ {torch}.arange({sized}.size({choice.dim})).to({sized})"
    if choice.keeps:
        text = f"({text}).unsqueeze({choice.dim})"
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id="_"), _])]) if node is None:
            edit = edits.replace(choice.document, statement, f"{name} = {text}")
        case _ if node is not None:
            edit = _put(trace, choice.document, node, text)
        case _:
            return
    yield Fix.by(Repair(Way.EXPECTED_INDEX, lines=(site.line,), text=text), Safety.UNSAFE, (edit,))


def _scores(trace: Trace, site: Site, choice: _Choice, node: ast.AST | None) -> Iterator[Fix]:
    """The scores themselves, as a loss takes them that compares them with classes."""
    whole, _ = _converted(trace, node) if node is not None else (None, None)
    text = "" if whole is None else edits.flat(choice.document, whole)
    if whole is not None and text.startswith(choice.text):
        repair = Repair(Way.DROP_CUT, lines=(site.line,), text=text.removeprefix(choice.text))
        yield Fix.by(repair, Safety.UNSAFE, (edits.replace(choice.document, whole, choice.text),))


def _put(trace: Trace, document: Document, node: ast.AST, text: str) -> Edit:
    """An operation in place of an expression, in parentheses unless that is all that a statement gives."""
    *_, parent = (node, *ancestry(trace, node)[:-1])
    return edits.replace(document, node, text if isinstance(parent, ast.stmt) else f"({text})")


def _fix(text: str, edit: Edit) -> Fix:
    return Fix.by(Repair(Way.EXPECTATION, text=text), Safety.UNSAFE, (edit,))
