"""What has no gradient, in a form that has one: a straight-through estimate, an expectation, or no threshold."""

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
from gradpath.interpreter.events import Site
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document
from gradpath.source.imports import is_of_torch
from gradpath.source.index import contents
from gradpath.source.nodes import last_name
from gradpath.support.fast_dataclasses import dataclass

CONVERSIONS = CASTS | {"float", "double", "half", "bfloat16", "type_as"}
"""Methods that give another type to what is chosen."""

MOST = 3
"""Uses of one choice that are tried."""


def straight_through(trace: Trace, source: Source, site: Site) -> Iterator[Fix]:
    """A straight-through estimate: `x + (q - x).detach()` has the value of `q`, the gradient of `x`.

    `q` is computed from `x`, chosen by it, or written into zeros like it; or they are in an estimate that is the wrong
    way round, or lacks its `.detach()`.
    """
    node: ast.AST = site.node
    if isinstance(node, ast.Compare):
        node = ancestry(trace, node)[-2]
    match node, getattr(statement_of(trace, node), "value", None):
        case (
            ast.BinOp(
                left=value,
                op=ast.Add(),
                right=ast.Call(func=ast.Attribute(attr="detach", value=ast.BinOp(left=lender, op=ast.Sub()))),
            ),
            _,
        ):
            pass
        case ast.BinOp(left=lender, op=ast.Add(), right=ast.BinOp(left=value, op=ast.Sub(), right=again)), _ if (
            ast.dump(again) == ast.dump(lender)
        ):
            pass
        case ast.Call(func=ast.Attribute(attr=name), args=[lender, *_]), ast.expr() as value if name.endswith("_like"):
            if value is node:
                return
            node = value
        case (
            (
                ast.Call(func=ast.Attribute(value=lender), args=[])
                | ast.Call(func=ast.Attribute(), args=[lender])
                | ast.Call(func=ast.Attribute(attr="where"), args=[ast.Compare(left=lender), _, _])
            ) as value,
            _,
        ):
            pass
        case _:
            return
    document = source.document(site)
    giver = edits.followed(edits.flat(document, lender), lender, "")
    text = f"{giver} + ({edits.flat(document, value)} - {giver}).detach()"
    named = last_name(value.func) if isinstance(value, ast.Call) else ""
    repair = Repair(Way.LEND_GRADIENT, (named or giver,), (site.line,), text)
    written = text if isinstance(node, ast.BinOp) else f"({text})"
    yield Fix.by(repair, Safety.UNSAFE, (edits.replace(document, node, written),))


def undecided(trace: Trace, source: Source, cause: Cause, compared: ast.Compare) -> Iterator[Fix]:
    """The probability itself instead of what is decided from it: `p > 0.5`; or how much one value exceeds another."""
    if cause.site is None or isinstance(ancestry(trace, compared)[-2], ast.Subscript | ast.BoolOp | ast.Call):
        return  # A choice is wanted, and no probability.
    document, (outer, _) = source.document(cause.site), _converted(trace, compared)
    match compared:
        case ast.Compare(left=high, ops=[ast.Gt() | ast.GtE()], comparators=[low]):
            kept = document.slice(document.range_of(high))
            kept = kept if is_probable(cause) else edits.followed(kept, high, ".sigmoid()")
            shown = " ".join(kept.split())
            repair = Repair(Way.NO_THRESHOLD, text=shown) if len(shown) <= 40 else Repair(Way.THE_PROBABILITY)
            yield Fix.by(repair, Safety.UNSAFE, (_put(trace, document, outer, kept),))
        case ast.Compare(left=low, ops=[ast.Lt() | ast.LtE()], comparators=[high]):
            pass
        case _:
            return
    if not isinstance(low, ast.Constant) and not isinstance(high, ast.Constant):
        more, less = (edits.followed(edits.flat(document, each), each, "") for each in (high, low))
        text = f"({more} - {less}).sigmoid()"
        yield Fix.by(Repair(Way.SMOOTH, text=text), Safety.UNSAFE, (_put(trace, document, outer, text),))


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
            gone = removed(trace, document, given_to) if name == choice.probabilities else None
        case _:
            uses, gone = [made], None
    numbers = False
    for use in uses[:MOST]:
        whole, parent = _converted(trace, use)
        match parent:
            case ast.Call(func=ast.Name(id="one_hot") | ast.Attribute(attr="one_hot")):
                (whole, _), text = _converted(trace, parent), choice.probabilities
            case ast.Subscript(value=table, slice=index) if index is whole:
                whole, text = parent, f"{choice.last} @ {edits.flat(document, table)}"
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                other, dim = right if left is whole else left, choice.dim
                label = edits.followed(edits.flat(document, other), other, f".long().unsqueeze({dim})")
                whole, text = parent, f"{choice.probabilities}.gather({dim}, {label}).squeeze({dim})"
            case _:
                numbers = True
                continue
        changes = filter(None, (_put(trace, document, whole, text), gone))
        yield Fix.by(Repair(Way.EXPECTATION, text=text), Safety.UNSAFE, tuple(changes))
    if numbers:
        yield _number(trace, source, cause.site, choice, made)


def _choice(source: Source, cause: Cause) -> _Choice | None:
    """The choice that a cut is, along one dimension."""
    if cause.site is None or short_operation(cause.detail) not in ("argmax", "max"):
        return None
    match cause.site.node:
        case ast.Call(func=ast.Attribute(value=scores), args=given, keywords=options):
            if is_of_torch(scores, source.names(cause.site.path)):
                scores, given = given[0], given[1:]
        case _:
            return None
    axes = [*given, *(each.value for each in options if each.arg in ("dim", "axis"))]
    if len(axes) != 1:
        return None
    document = source.document(cause.site)
    dim, text = edits.flat(document, axes[0]), edits.flat(document, scores)
    probable = text if is_probable(cause) else edits.followed(text, scores, f".softmax(dim={dim})")
    return _Choice(document, scores, dim, probable)


def is_probable(cause: Cause) -> bool:
    """True if a choice is made from probabilities, in whatever shape they are."""
    made = next(iter(cause.tensor.maker), None)
    while made is not None and short_operation(made.operation) in _SHAPING:
        made = next(iter(made.maker), None)
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
    if not sized:
        repair = Repair(Way.DROP_CUT, lines=(site.line,), text=edits.flat(document, made).removeprefix(scores))
        return Fix.by(repair, Safety.UNSAFE, (edits.replace(document, made, scores),))
    text = f"{choice.last} @ {torch}.arange({sized}.size({choice.dim})).to({sized})"
    repair = Repair(Way.EXPECTED_INDEX, lines=(site.line,), text=text)
    match statement_of(trace, made):
        case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id="_"), ast.Name(id=name)])]) as statement:
            return Fix.by(repair, Safety.UNSAFE, (edits.replace(document, statement, f"{name} = {text}"),))
    return Fix.by(repair, Safety.UNSAFE, (_put(trace, document, made, text),))


def _put(trace: Trace, document: Document, node: ast.AST, text: str) -> Edit:
    """Another expression in place of one, in parentheses if it needs them; what would give a variable itself goes."""
    *_, parent = (node, *ancestry(trace, node)[:-1])
    match parent:
        case ast.Assign(targets=[ast.Name(id=name)]) if name == text:
            return removed(trace, document, parent) or edits.replace(document, node, text)
    bare = isinstance(parent, ast.stmt) or isinstance(ast.parse(f"({text})", mode="eval").body, edits.ATOMS)
    return edits.replace(document, node, text if bare else f"({text})")
