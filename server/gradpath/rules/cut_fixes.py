"""Ways to give a tensor back the graph that it was cut off from."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.tensor import REPARAMETRIZED
from gradpath.diagnostic import Edit, Fix, Position, Range, Safety
from gradpath.interpreter.trace import BackwardRan, Site, Trace
from gradpath.repairs import Repair, Way
from gradpath.rules import edits
from gradpath.rules.cuts import CASTS, Cause, Switch, creates_graph, is_checkpoint, switch_of
from gradpath.rules.moving import moved_before, removed
from gradpath.rules.outside_fixes import on_tensors
from gradpath.rules.report import Source
from gradpath.rules.stories import lifted, name_of
from gradpath.rules.syntax import ancestry, block_of, function_of, statement_of
from gradpath.source.document import Document
from gradpath.source.index import names_in
from gradpath.source.nodes import nodes

_COPYING = ("tensor", "as_tensor", "Tensor", "FloatTensor")
"""Functions of torch that make a tensor of a list, of the type that the numbers in it most likely had."""

_SMOOTH = ("sigmoid", "softmax")
"""Functions whose result, a probability, can stand for the comparison or the choice that is made from it."""


def undo(trace: Trace, source: Source, cause: Cause, near: Site) -> Iterator[Fix]:  # noqa: C901, PLR0912, PLR0915
    """Fixes that take the cut away, for a failure at `near`, best first."""
    site = cause.site
    if site is None:
        return
    document = source.document(site)
    node = site.node
    match cause.how, node:
        case (("no_grad" | "inference_mode"), _):
            yield from _reentrant(source, cause)
            yield from _switched_on(trace, source, cause, near)
        case "gradient", ast.Call() if not creates_graph(cause) and not _is_perhaps_freed(trace, cause):
            edit = edits.add_keyword(document, node, "create_graph", "True")
            if edit is not None:
                own = isinstance(node.func, ast.Attribute) and node.func.attr == "backward"
                repair = Repair(Way.CREATE, lines=(site.line,))
                yield Fix.by(repair, Safety.UNSAFE if own else Safety.SAFE, (edit,), preferred=True)
        case "detach_", ast.Call():
            statement = statement_of(trace, node)
            alone = isinstance(statement, ast.Expr) and statement.value is node
            edit = edits.delete_statement(document, statement) if statement is not None and alone else None
            edit = edit if alone else edits.drop_method(document, node)
            if edit is not None:
                repair = Repair(Way.DROP_CUT_HERE, text=".detach_()")
                yield Fix.by(repair, Safety.SAFE, (edit,), preferred=True)
        case (("detach" | "not differentiable"), ast.Call(func=ast.Attribute(attr=name))) if name == "detach" or (
            name in CASTS and not node.args
        ):
            edit = _not_reassigned(trace, document, node) or edits.drop_method(document, node)
            if edit is not None:
                kept = Safety.SAFE if name == "detach" else Safety.UNSAFE
                repair = _dropping(source, site, node, f".{name}()")
                yield Fix.by(repair, kept, (edit,), preferred=True)
        case "not differentiable", ast.Call(func=ast.Attribute(attr="sample") as name) if (
            cause.detail == REPARAMETRIZED
        ):
            end = document.range_of(name).end
            start = Position(end.line, end.column - len(name.attr))
            edit = Edit(document.path, Range(start, end), "rsample")
            yield Fix.by(Repair(Way.DRAW, lines=(site.line,)), Safety.UNSAFE, (edit,))
        case "not differentiable", _:
            yield from _smooth(trace, source, cause)
        case "data", ast.Attribute(attr="data"):
            repair = _dropping(source, site, node, ".data")
            edit = edits.drop_attribute(document, node)
            yield Fix.by(repair, Safety.SAFE, (edit,), preferred=True)
        case (("torch.tensor" | "Variable" | "item" | "float"), ast.Call()):
            edit = _without_copy(trace, source, document, node, cause)
            if edit is not None:
                repair = Repair(Way.USE_TENSOR, (source.short(site),))
                yield Fix.by(repair, Safety.SAFE, (edit,), preferred=True)
            yield from on_tensors(trace, source, cause)
        case "late", _:
            yield from required_earlier(trace, source, site)
        case "frozen", ast.Call(func=ast.Attribute(attr="from_pretrained")):
            edit = edits.add_keyword(document, node, "freeze", "False") if len(node.args) < 2 else None
            if edit is not None:
                yield Fix.by(Repair(Way.NOT_FROZEN, lines=(site.line,)), Safety.SAFE, (edit,), preferred=True)
        case "frozen", _:
            yield from _thawed(trace, source, near)


def _is_perhaps_freed(trace: Trace, cause: Cause) -> bool:
    """Whether the graph that a gradient would have, if it is sure to have one at all, is freed before it is needed."""
    runs = [event for event in trace.events if isinstance(event, BackwardRan)]
    made = next((each for each in runs if each.call.site == cause.site), None)
    if made is None or all(each.behaviour is not None and not each.behaviour.maybe_second for each in made.executed):
        return False
    later = runs[runs.index(made) + 1 :]
    return any(cause.tensor in root.ancestors() for each in later if not each.call.retain for root in each.call.roots)


def _not_reassigned(trace: Trace, document: Document, call: ast.Call) -> Edit | None:
    """`x = x.detach()` goes as a whole."""
    match statement_of(trace, call), call.func:
        case ast.Assign(targets=[target], value=value) as statement, ast.Attribute(value=owner) if value is call:
            same = edits.flat(document, target) == edits.flat(document, owner)
            return removed(trace, document, statement) if same else None
        case _:
            return None


def _reentrant(source: Source, cause: Cause) -> Iterator[Fix]:
    """`use_reentrant=False` where no input of a checkpoint requires a gradient."""
    if not is_checkpoint(cause) or cause.site is None:
        return
    for frame in cause.site.frames():
        call = frame.node
        if not isinstance(call, ast.Call) or not _is_named(call.func, "checkpoint"):
            continue
        edit = edits.add_keyword(source.document(frame), call, "use_reentrant", "False")
        if edit is not None:
            yield Fix.by(Repair(Way.NOT_REENTRANT, lines=(frame.line,)), Safety.SAFE, (edit,), preferred=True)
        return


def _is_named(function: ast.expr, name: str) -> bool:
    return (isinstance(function, ast.Name) and function.id == name) or (
        isinstance(function, ast.Attribute) and function.attr == name
    )


def _switched_on(trace: Trace, source: Source, cause: Cause, near: Site) -> Iterator[Fix]:
    switch = switch_of(trace, source, cause)
    if switch is None:
        yield from _recorded(trace, source, cause, near)
        return
    yield from _enabled(trace, source, cause, switch, near)
    document = source.document(switch.site)
    text = source.short(switch.site)
    line = switch.site.line
    if switch.block is not None and len(switch.block.items) == 1:
        edit = edits.unwrap_block(document, switch.block)
        if edit is not None:
            repair = Repair(Way.WITHOUT_MODE, lines=(line,), text=f"with {text}:")
            yield Fix.by(repair, Safety.SAFE, (edit,), preferred=True)
    elif switch.decorated is not None:
        whole = document.line(line).strip()
        if whole.startswith("@") and getattr(switch.site.node, "end_lineno", line) == line:
            edit = Edit(document.path, Range(Position(line, 1), Position(line + 1, 1)), "")
            repair = Repair(Way.WITHOUT_MODE, lines=(line,), text=f"@{text}")
            yield Fix.by(repair, Safety.SAFE, (edit,), preferred=True)
    elif switch.lasting:
        yield from _decorated(trace, source, switch)


def _recorded(trace: Trace, source: Source, cause: Cause, near: Site) -> Iterator[Fix]:
    """`with torch.enable_grad():` around the last statement that computes without a graph, whoever switched it off."""
    place = lifted(cause.site, near) if cause.site is not None else near
    statement = statement_of(trace, place.node)
    document = source.document(place)
    torch = edits.torch_in(document)
    edit = None if statement is None or torch is None else _wrapped(document, statement, f"{torch}.enable_grad()")
    if edit is not None and place.node is not near.node and not is_checkpoint(cause):
        yield Fix.by(Repair(Way.RECORD, lines=(place.line,)), Safety.SAFE, (edit,), preferred=True)


def _enabled(trace: Trace, source: Source, cause: Cause, switch: Switch, near: Site) -> Iterator[Fix]:
    """`with torch.enable_grad():` around the call under the switch that computes the loss and goes back from it."""
    if cause.site is None or switch.lasting:
        return
    theirs = {id(frame.node) for frame in near.frames()}
    for frame in cause.site.frames():
        if frame.caller is not switch.site.caller or id(frame.node) not in theirs or frame.node is near.node:
            continue
        statement = statement_of(trace, frame.node)
        document = source.document(frame)
        torch = edits.torch_in(document)
        edit = None if statement is None or torch is None else _wrapped(document, statement, f"{torch}.enable_grad()")
        if edit is not None:
            yield Fix.by(Repair(Way.RECORD, lines=(frame.line,)), Safety.SAFE, (edit,), preferred=True)
        return


def _wrapped(document: Document, statement: ast.stmt, manager: str) -> Edit | None:
    simple = isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign))
    return edits.wrap(document, statement, f"with {manager}:") if simple else None


def _decorated(trace: Trace, source: Source, switch: Switch) -> Iterator[Fix]:
    """`torch.set_grad_enabled(False)` in a function becomes a decorator of it, which holds for this function alone.

    In the module's own body it goes.
    """
    statement = statement_of(trace, switch.site.node)
    function = function_of(trace, switch.site.node)
    document = source.document(switch.site)
    torch = edits.torch_in(document)
    if not isinstance(statement, ast.Expr) or torch is None:
        return
    if function is None:
        off = removed(trace, document, statement)
        if off is not None:
            repair = Repair(Way.DELETE_MODE, lines=(switch.site.line,), text=edits.flat(document, statement))
            yield Fix.by(repair, Safety.SAFE, (off,), preferred=True)
        return
    gone = edits.delete_statement(document, statement) if len(function.body) > 1 else None
    new = edits.insert_before(document, function, f"@{torch}.no_grad()")
    if gone is not None and new is not None and any(each is statement for each in function.body):
        yield Fix.by(Repair(Way.MODE_OF_FUNCTION, (function.name,)), Safety.SAFE, (new, gone), preferred=True)


def _dropping(source: Source, site: Site, node: ast.Call | ast.Attribute, cut: str) -> Repair:
    """Dropping a cut; the cut value is named where the line has several such cuts."""
    read = node.func if isinstance(node, ast.Call) else node
    several = source.document(site).line(site.line).count(cut) > 1
    if several and isinstance(read, ast.Attribute):
        return Repair(Way.DROP_CUT_OF, (source.short(site, read.value, 30),), (site.line,), cut)
    return Repair(Way.DROP_CUT, lines=(site.line,), text=cut)


def _without_copy(trace: Trace, source: Source, document: Document, call: ast.Call, cause: Cause) -> Edit | None:
    first = call.args[0] if call.args else None
    match first:
        case ast.Call(func=ast.Attribute(attr="item", value=value), args=[]) | ast.Attribute(attr="data", value=value):
            return edits.replace(document, call, document.slice(document.range_of(value)))
        case ast.Name() | ast.Attribute() | ast.BinOp() | ast.Subscript() | ast.List():
            if cause.how == "Variable" or _is_tensor(trace, source, first, cause):
                return edits.unwrap_call(document, call)
            listed = isinstance(first, (ast.Name, ast.Attribute)) or (
                isinstance(first, ast.List) and all(isinstance(each, (ast.Name, ast.Attribute)) for each in first.elts)
            )
            if listed and isinstance(call.func, ast.Attribute) and call.func.attr in _COPYING:
                name = edits.flat(document, call.func.value)
                return edits.replace(document, call, f"{name}.stack({edits.flat(document, first)})")
    return None


def _is_tensor(trace: Trace, source: Source, argument: ast.expr, cause: Cause) -> bool:
    """Whether the argument of `torch.tensor` is itself a tensor, not a list of tensors."""
    maker = cause.tensor.maker
    if len(maker) != 1 or cause.site is None:
        return False
    if cause.tensor.shape is not None and cause.tensor.shape == maker[0].shape:
        return True  # A list of one tensor has a dimension more.
    text = source.text(cause.site, argument)
    return text in (name_of(trace, source, maker[0], cause.site), text if isinstance(argument, ast.BinOp) else "")


def _selects(trace: Trace, mask: ast.Compare) -> bool:
    """Whether items are picked by what is decided, or by the variable that is bound to it: `x[p > 0.5]`."""
    statement = statement_of(trace, mask)
    names = {each.id for each in getattr(statement, "targets", ()) if isinstance(each, ast.Name)}
    keys: list[ast.expr] = []
    for each in (each for visit in trace.visits for each in nodes(visit)):
        match each:
            case ast.Subscript(slice=key):
                keys.append(key)
            case ast.Call(
                func=ast.Attribute(attr="masked_fill" | "masked_fill_" | "masked_select" | "where"), args=args
            ):
                keys += args
    return any(each is mask or getattr(each, "id", None) in names for key in keys for each in nodes(key))


def _smooth(trace: Trace, source: Source, cause: Cause) -> Iterator[Fix]:
    """The probability itself instead of what is decided from it: `p > 0.5`, `F.one_hot(scores.argmax(1))`."""
    site = cause.site
    if site is None:
        return
    document = source.document(site)
    node = site.node
    around = ancestry(trace, node)
    if len(around) > 1 and _wants_choices(around[-2]):
        return
    match node:
        case ast.Compare(left=left, ops=[ast.Gt() | ast.GtE()], comparators=[ast.Constant()]):
            if _selects(trace, node):
                return
            outer: ast.AST = node
            if len(around) > 2 and isinstance(around[-2], ast.Attribute) and isinstance(around[-3], ast.Call):
                outer = around[-3] if around[-2].attr in ("float", "double", "type_as", "to") else node
            smooth = isinstance(left, ast.Call) and any(_is_named(left.func, name) for name in _SMOOTH)
            kept = document.slice(document.range_of(left))
            kept = kept if smooth else edits.followed(kept, left, ".sigmoid()")
            shown = " ".join(kept.split())
            repair = Repair(Way.NO_THRESHOLD, text=shown) if len(shown) <= 40 else Repair(Way.THE_PROBABILITY)
            yield Fix.by(repair, Safety.UNSAFE, (edits.replace(document, outer, kept),))
        case ast.Call(func=ast.Attribute(attr="argmax", value=value)) if value is not None:
            given = list(node.args)
            if isinstance(value, ast.Name) and value.id == "torch" and given:
                value, given = given[0], given[1:]
            hot = around[-2] if len(around) > 1 else None
            if not isinstance(hot, ast.Call) or not _is_named(hot.func, "one_hot") or hot.args[:1] != [node]:
                return
            if isinstance(value, ast.Name) and value.id in ("torch", "np"):
                return
            axis = next((each.value for each in node.keywords if each.arg == "dim"), given[0] if given else None)
            if axis is None:
                return
            outer = hot
            if len(around) > 3 and isinstance(around[-3], ast.Attribute) and isinstance(around[-4], ast.Call):
                outer = around[-4]
            text = edits.followed(edits.flat(document, value), value, f".softmax(dim={edits.flat(document, axis)})")
            repair = Repair(Way.PROBABILITIES, text=text)
            yield Fix.by(repair, Safety.UNSAFE, (edits.replace(document, outer, text),))


def _wants_choices(around: ast.AST) -> bool:
    """Whether an expression takes booleans alone: an index, `torch.where`, `and`."""
    if isinstance(around, (ast.Subscript, ast.BoolOp)):
        return True
    return isinstance(around, ast.Call) and any(
        _is_named(around.func, name) for name in ("where", "masked_fill", "masked_fill_", "masked_select")
    )


def required_earlier(trace: Trace, source: Source, site: Site) -> Iterator[Fix]:
    """`x.requires_grad_()` at `site` moves before the first statement that computes with `x`."""
    statement = statement_of(trace, site.node)
    block = None if statement is None else block_of(trace, statement)
    if statement is None or block is None:
        return
    names = names_in(statement)
    last = next((index for index, each in enumerate(block) if each is statement), 0)
    made = [
        index
        for index, each in enumerate(block[:last])
        if names
        & {part.id for part in ast.walk(each) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    ]
    start = made[-1] + 1 if made else 0
    first = next((each for each in block[start:last] if names_in(each) & names), None)
    moved = None if first is None else moved_before(trace, source.document(site), statement, first)
    if first is not None and moved is not None:
        repair = Repair(Way.MOVE_BEFORE, lines=(statement.lineno,), near=first.lineno)
        yield Fix.by(repair, Safety.SAFE, moved, preferred=True, rewrite=True)


def _thawed(trace: Trace, source: Source, near: Site) -> Iterator[Fix]:
    """`model.requires_grad_()` before the optimizer that is given `model.parameters()`, all of which are frozen."""
    for frame in near.frames():
        owner = function_of(trace, frame.node) or trace.entry
        document = source.document(frame)
        for statement in ast.walk(owner):
            match statement:
                case ast.Assign(
                    value=ast.Call(args=[ast.Call(func=ast.Attribute(attr="parameters", value=module), args=[]), *_])
                ) if statement in trace.visits and makes_optimizer(statement.value):
                    names = [edits.flat(document, module)]
                case ast.Assign(value=ast.Call(args=[ast.List(elts=listed), *_])) if (
                    statement in trace.visits and listed and makes_optimizer(statement.value)
                ):
                    names = [
                        edits.flat(document, each) for each in listed if isinstance(each, (ast.Name, ast.Attribute))
                    ]
                    if len(names) < len(listed) or len(names) > 3:
                        continue
                case _:
                    continue
            edit = edits.insert_before(document, statement, *(f"{name}.requires_grad_()" for name in names))
            if edit is not None:
                repair = Repair(Way.TRAIN, (names[0],), text=f"{names[0]}.requires_grad_()")
                yield Fix.by(repair, Safety.SAFE, (edit,), preferred=True)
            return


def makes_optimizer(call: ast.expr) -> bool:
    """Whether a call looks like the constructor of an optimizer, by its name or by its learning rate."""
    if not isinstance(call, ast.Call) or not call.args:
        return False
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    options = {each.arg for each in call.keywords}
    return "lr" in options or name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "LBFGS")
