"""Ways to give a tensor, or a term of a loss, back the graph that it was cut off from, or a form with a gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.tensor import REPARAMETRIZED
from gradpath.diagnostic import Edit, Fix, Position, Range, Safety
from gradpath.findings import cuts
from gradpath.findings.cuts import CASTS, Cause, Switch, checkpoint_of, creates_graph, is_checkpoint, switch_of
from gradpath.findings.definitions import is_read_out
from gradpath.findings.report import Source
from gradpath.findings.stories import lifted, short_operation
from gradpath.findings.syntax import ancestry, call_of, function_of, statement_of
from gradpath.fixes import edits
from gradpath.fixes.moving import removed
from gradpath.fixes.on_tensors import Rewriting, on_tensors, on_tensors_read
from gradpath.fixes.requirement import required_earlier, thawed, unfrozen
from gradpath.interpreter.events import Flagged, Site
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document
from gradpath.source.imports import is_of_torch
from gradpath.source.index import contents, holds, inside
from gradpath.source.nodes import last_name
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.words import words

CONVERSIONS = CASTS | {"float", "double", "half", "bfloat16", "type_as"}
"""Methods that give another type to what is chosen."""

MOST = 3
"""Uses of one choice that are tried."""


def straight_through(trace: Trace, source: Source, site: Site) -> Iterator[Fix]:
    """A straight-through estimate: `x + (q - x).detach()` has the value of `q`, the gradient of `x`.

    `q` is computed from `x`, chosen by it, or written into zeros like it; or they are in an estimate that is the wrong
    way round, or lacks its `.detach()`, or is detached as a whole.
    """
    node: ast.AST = site.node
    if isinstance(node, ast.Compare):
        node = ancestry(trace, node)[-2]
    whole = getattr(statement_of(trace, node), "value", None)
    form = node
    match node:
        case ast.Call(func=ast.Attribute(attr="detach", value=ast.BinOp() as summed)):
            form = summed
    match form:
        case ast.BinOp(left=value, right=ast.Call(func=ast.Attribute(attr="detach", value=ast.BinOp(left=lender)))):
            pass
        case ast.BinOp(left=lender, right=ast.BinOp(left=value, op=ast.Sub(), right=again)):
            if ast.dump(again) != ast.dump(lender):
                return
        case ast.Call(func=ast.Attribute(attr=name), args=[lender, *_]) if name.endswith("_like"):
            if whole is node or not isinstance(whole, ast.expr):
                return
            node = value = whole
        case (
            ast.Call(func=ast.Attribute(value=lender), args=[])
            | ast.Call(func=ast.Attribute(), args=[lender])
            | ast.Call(func=ast.Attribute(attr="where"), args=[ast.Compare(left=lender), _, _])
        ) as value:
            pass
        case _:
            return
    document = source.document(site)
    giver = edits.followed(edits.flat(document, lender), lender, "")
    text = f"{giver} + ({edits.flat(document, value)} - {giver}).detach()"
    named = last_name(value.func) if isinstance(value, ast.Call) else ""
    repair = Repair(Way.LEND_GRADIENT, (named or giver,), (site.line,), text)
    written = text if isinstance(node, ast.BinOp) or whole is node else f"({text})"
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
    last: str


def expected(trace: Trace, source: Source, cause: Cause) -> Iterator[Fix]:
    """What is done with a choice, done with the expectation: a code of it, a row of a table, a match, or the index."""
    choice = _choice(source, cause)
    if choice is None or cause.site is None:
        return
    document, probable, dim = choice.document, choice.probabilities, choice.dim
    made, given_to = _converted(trace, cause.site.node)
    match given_to:
        case ast.Assign(targets=[ast.Name(id=name) | ast.Tuple(elts=[ast.Name(), ast.Name(id=name)])]):
            uses, gone = _reads(trace, given_to, name), removed(trace, document, given_to) if name == probable else None
        case _:
            uses, gone = [made], None
    numbers: list[bool] = []
    for use in uses[:MOST]:
        whole, parent = _converted(trace, use)
        match parent:
            case ast.Call(func=ast.Name(id="one_hot") | ast.Attribute(attr="one_hot")):
                (whole, _), text = _converted(trace, parent), probable
            case ast.Subscript(value=table, slice=index) if index is whole:
                whole, text = parent, f"{choice.last} @ {edits.flat(document, table)}"
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                other = right if left is whole else left
                label = edits.followed(edits.flat(document, other), other, f".long().unsqueeze({dim})")
                whole, text = parent, f"{probable}.gather({dim}, {label}).squeeze({dim})"
            case _:
                around = ancestry(trace, whole)
                numbers.append(not any(isinstance(each, ast.Subscript) and holds(each.slice, whole) for each in around))
                continue
        numbers.append(False)
        changes = filter(None, (_put(trace, document, whole, text), gone))
        yield Fix.by(Repair(Way.EXPECTATION, text=text), Safety.UNSAFE, tuple(changes))
    if numbers and all(numbers):  # Not where it is an index elsewhere.
        yield from _number(trace, source, cause.site, choice, made)


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
    match [*given, *(each.value for each in options if each.arg in ("dim", "axis"))]:
        case [axis]:
            document = source.document(cause.site)
            dim, text = edits.flat(document, axis), edits.flat(document, scores)
            probable = text if is_probable(cause) else edits.followed(text, scores, f".softmax(dim={dim})")
            last = probable if dim == "-1" else f"{probable}.movedim({dim}, -1)"
            return _Choice(document, scores, dim, probable, last)
    return None


def is_probable(cause: Cause) -> bool:
    """True if a choice is made from probabilities, in whatever shape they are."""
    made = next(iter(cause.tensor.maker), None)
    while made is not None and short_operation(made.operation) in _SHAPING:
        made = next(iter(made.maker), None)
    return made is not None and short_operation(made.operation) in ("softmax", "sigmoid")


_SHAPING = words("view reshape flatten squeeze unsqueeze permute transpose contiguous")


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


_OF_NUMBERS = words("mse_loss MSELoss l1_loss L1Loss smooth_l1_loss SmoothL1Loss huber_loss HuberLoss")
"""Losses that compare numbers, so that the scores of each class are not what they take."""


def _number(trace: Trace, source: Source, site: Site, choice: _Choice, made: ast.AST) -> Iterator[Fix]:
    """The expected index where the index itself is taken for a number, or the scores, which a loss may take as well."""
    document, torch, statement = choice.document, source.called("torch", site.path), statement_of(trace, made)
    scores, dim, first = edits.flat(document, choice.scores), choice.dim, list[Edit | None]()
    probable, sized = choice.last, scores
    match choice.scores:
        case ast.Name() | ast.Attribute():
            pass
        case ast.Call(args=[ast.Name(id=sized), *_]) if choice.probabilities == scores:
            pass  # A softmax, whose argument has its size.
        case _ if not _OF_NUMBERS.isdisjoint(last_name(each.func) for each in contents(source.tree(site.path)).calls):
            sized = next(each for each in ("probabilities", "chances", "of_classes") if each not in document.text)
            first.append(edits.insert_before(document, statement, f"{sized} = {choice.probabilities}"))
            probable = choice.last.replace(choice.probabilities, sized, 1)
        case _:
            repair = Repair(Way.DROP_CUT, lines=(site.line,), text=edits.flat(document, made).removeprefix(scores))
            yield Fix.by(repair, Safety.UNSAFE, (edits.replace(document, made, scores),))
            return
    text = f"{probable} @ {torch}.arange({sized}.size({dim})).to({sized})"
    edit = _put(trace, document, made, text)
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id="_"), ast.Name(id=name)])]):
            edit = edits.replace(document, statement, f"{name} = {text}")
    yield from Fix.of(Repair(Way.EXPECTED_INDEX, lines=(site.line,), text=text), Safety.UNSAFE, *first, edit)


def _put(trace: Trace, document: Document, node: ast.AST, text: str) -> Edit:
    """Another expression in place of one, in parentheses if it needs them; what would give a variable itself goes."""
    *_, parent = (node, *ancestry(trace, node)[:-1])
    match parent:
        case ast.Assign(targets=[ast.Name(id=name)]) if name == text:
            return removed(trace, document, parent) or edits.replace(document, node, text)
    bare = isinstance(parent, ast.stmt) or isinstance(ast.parse(f"({text})", mode="eval").body, edits.ATOMS)
    return edits.replace(document, node, text if bare else f"({text})")


def undo(trace: Trace, source: Source, cause: Cause, near: Site) -> Iterator[Fix]:
    """Fixes that take the cut away, for a failure at `near`, best first."""
    site = cause.site
    if site is None:
        return
    match cause.how, site.node:
        case (("no_grad" | "inference_mode"), _):
            call = checkpoint_of(cause)  # No input of it requires a gradient.
            if call is not None:
                repair = Repair(Way.NOT_REENTRANT, lines=(call.line,))
                yield from _passing(source, call, repair, "use_reentrant", "False")
            yield from _switched_on(trace, source, cause, near)
        case "gradient", ast.Call(func=asked) if not creates_graph(cause):
            safety = Safety.UNSAFE if last_name(asked) == "backward" else Safety.SAFE
            yield from _passing(source, site, Repair(Way.CREATE, lines=(site.line,)), "create_graph", "True", safety)
        case (("detach" | "detach_" | "data" | "not differentiable"), _) if _is_taken(cause, site.node):
            yield from _dropped(trace, source, site)
        case "not differentiable", ast.Call(func=ast.Attribute() as name) if cause.detail == REPARAMETRIZED:
            document = source.document(site)
            end = document.range_of(name).end
            edit = Edit(document.path, Range(Position(end.line, end.column - len(name.attr)), end), "rsample")
            yield Fix.by(Repair(Way.DRAW, lines=(site.line,)), Safety.UNSAFE, (edit,))
        case ((cuts.STEP | "like"), _):
            yield from straight_through(trace, source, site)
        case "not differentiable", ast.Compare() as compared:
            yield from straight_through(trace, source, site)
            yield from undecided(trace, source, cause, compared)
        case "not differentiable", _:
            yield from expected(trace, source, cause)
        case (("torch.tensor" | "Variable" | "parameter" | "item" | "float" | "numpy"), _):
            yield from on_tensors(trace, source, cause)
        case "late", _:
            yield from required_earlier(trace, source, site)
            off = [each.site for each in trace.of(Flagged) if each.tensor is cause.tensor and not each.value]
            yield from unfrozen(trace, source, off[-1], near) if off else ()
        case "frozen", ast.Call(func=ast.Attribute(attr="from_pretrained"), args=[_]):
            yield from _passing(source, site, Repair(Way.NOT_FROZEN, lines=(site.line,)), "freeze", "False")
        case "frozen", _:
            yield from (*thawed(trace, source, near), *unfrozen(trace, source, site, near))


def _passing(
    source: Source, site: Site, repair: Repair, name: str, value: str, safety: Safety = Safety.SAFE
) -> Iterator[Fix]:
    """A keyword argument with which a call keeps the graph."""
    edit = edits.add_keyword(source.document(site), site.node, name, value) if isinstance(site.node, ast.Call) else None
    yield from Fix.of(repair, safety, edit)


def _is_taken(cause: Cause, node: ast.AST) -> bool:
    """True if the cut is a method or an attribute that can go: a cast, where it says nothing of another tensor."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name), args=args):
            return cause.how != "not differentiable" or (name in CASTS | {"detach"} and not args)
    return isinstance(node, ast.Attribute)


def _dropped(trace: Trace, source: Source, site: Site) -> Iterator[Fix]:
    """`.detach()`, `.data` or a cast goes; the value is named where the line has several such cuts."""
    node = site.node
    written = Rewriting(trace, source, site)
    read = node.func if isinstance(node, ast.Call) else node
    if not isinstance(read, ast.Attribute) or not written.takes_from(node):
        return
    cut = f".{read.attr}()" if isinstance(node, ast.Call) else f".{read.attr}"
    repair = Repair(Way.DROP_CUT, lines=(site.line,), text=cut)
    if read.attr == "detach_":
        repair = Repair(Way.DROP_CUT_HERE, text=cut)
    elif source.document(site).line(site.line).count(cut) > 1:
        repair = Repair(Way.DROP_CUT_OF, (source.short(site, read.value, 30),), (site.line,), cut)
    yield Fix.by(repair, Safety.UNSAFE if read.attr in CASTS else Safety.SAFE, tuple(written.changes))


def _switched_on(trace: Trace, source: Source, cause: Cause, near: Site) -> Iterator[Fix]:
    switch = switch_of(trace, source, cause)
    if switch is None or not switch.lasting:
        yield from _recorded(trace, source, cause, near, switch)
    if switch is None:
        return
    document, text, line = source.document(switch.site), source.short(switch.site), switch.site.line
    if switch.block is not None:
        edit = edits.unwrap_block(document, switch.block)
        repair = Repair(Way.WITHOUT_MODE, lines=(line,), text=f"with {text}:")
        yield from Fix.of(repair, Safety.SAFE if switch.named else Safety.UNSAFE, edit)  # It may freeze the rest.
    elif switch.decorated is not None:
        edit = Edit(document.path, Range(Position(line, 1), Position(line + 1, 1)), "")
        yield Fix.by(Repair(Way.WITHOUT_MODE, lines=(line,), text=f"@{text}"), Safety.SAFE, (edit,))
    elif switch.lasting:
        yield from _decorated(trace, source, switch)


def _recorded(trace: Trace, source: Source, cause: Cause, near: Site, switch: Switch | None = None) -> Iterator[Fix]:
    """`with torch.enable_grad():` around the last statement that computes without a graph.

    Under a `switch` that is the call that computes the loss and goes back from it, or, if other code chooses what the
    `with` enters, the statement in it.
    """
    if cause.site is None or is_checkpoint(cause):
        return
    place = lifted(cause.site, near)
    if switch is not None:
        theirs = {id(frame.node) for frame in near.frames()}
        inside = (each for each in cause.site.frames() if each.caller is switch.site.caller)
        place = next((each for each in inside if not switch.named or id(each.node) in theirs), near)
    statement, document = statement_of(trace, place.node), source.document(place)
    torch = source.called("torch", document.path)
    simple = isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign | ast.AugAssign)
    if simple and torch is not None and place.node is not near.node:
        edit = edits.wrap(document, statement, f"with {torch}.enable_grad():")
        yield from Fix.of(Repair(Way.RECORD, lines=(place.line,)), Safety.SAFE, edit)


def _decorated(trace: Trace, source: Source, switch: Switch) -> Iterator[Fix]:
    """`torch.set_grad_enabled(False)` in a function becomes a decorator of it, which holds for this function alone.

    In the module's own body it goes.
    """
    statement, function = statement_of(trace, switch.site.node), function_of(trace, switch.site.node)
    document, torch = source.document(switch.site), source.called("torch", switch.site.path)
    off = removed(trace, document, statement) if isinstance(statement, ast.Expr) and torch is not None else None
    if function is None:
        repair = Repair(Way.DELETE_MODE, lines=(switch.site.line,), text=edits.flat(document, statement))
        yield from Fix.of(repair, Safety.SAFE, off)
    elif inside(function, ast.Yield):  # What is done while it waits is not done in it.
        waits = [each for each in function.body if isinstance(each, ast.Expr) and isinstance(each.value, ast.Yield)]
        new = edits.wrap(document, waits[0], f"with {torch}.no_grad():") if len(waits) == 1 else None
        lines = tuple(each.lineno for each in waits)
        yield from Fix.of(Repair(Way.NO_GRAD_ON, lines=lines), Safety.SAFE, new, off)
    elif any(each is statement for each in function.body):
        new = edits.insert_before(document, function, f"@{torch}.no_grad()")
        yield from Fix.of(Repair(Way.MODE_OF_FUNCTION, (function.name,)), Safety.SAFE, new, off)


def undone(trace: Trace, source: Source, cause: Cause, near: Site, added: Site) -> Iterator[Fix]:
    """Fixes that take a cut away whose value is `added` to the loss of the backward at `near`, best first."""
    site = cause.site
    if site is None:
        return
    found = [*undo(trace, source, cause, near)]
    if cause.how == "numpy":
        found += on_tensors_read(trace, source, site, added)
    if is_read_out(site.node):
        found = found or [*_dropped(trace, source, site)]
    for fix in found:
        yield Fix.by(fix.repairs, Safety.UNSAFE, fix.edits)


def added(trace: Trace, source: Source, backward: Site, loss: str) -> Iterator[Fix]:
    """Add a loss that is not back-propagated, by its name in the same function, to the one that is."""
    match call_of(trace, backward.node):
        case ast.Call(func=ast.Attribute(value=root, attr="backward"), args=[], keywords=[]):
            document = source.document(backward)
            text = f"({edits.flat(document, root)} + {loss})"
            repair = Repair(Way.SUM_UNUSED, (loss,), text=f"{text}.backward()")
            yield Fix.by(repair, Safety.UNSAFE, (edits.replace(document, root, text),))
