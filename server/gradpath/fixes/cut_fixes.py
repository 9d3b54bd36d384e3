"""Ways to give a tensor, or a term of a loss, back the graph that it was cut off from."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.tensor import REPARAMETRIZED
from gradpath.diagnostic import Edit, Fix, Position, Range, Safety
from gradpath.findings import cuts
from gradpath.findings.cuts import CASTS, Cause, Switch, checkpoint_of, creates_graph, is_checkpoint, switch_of
from gradpath.findings.report import Source
from gradpath.findings.stories import lifted
from gradpath.findings.syntax import call_of, function_of, statement_of
from gradpath.fixes import edits
from gradpath.fixes.moving import removed
from gradpath.fixes.on_tensors import Rewriting, on_tensors, on_tensors_read
from gradpath.fixes.origins import is_read_out
from gradpath.fixes.relaxation import expected, straight_through, undecided
from gradpath.fixes.requirement import required_earlier, thawed, unfrozen
from gradpath.interpreter.events import Flagged, Site
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way


def undo(trace: Trace, source: Source, cause: Cause, near: Site) -> Iterator[Fix]:
    """Fixes that take the cut away, for a failure at `near`, best first."""
    site = cause.site
    if site is None:
        return
    match cause.how, site.node:
        case (("no_grad" | "inference_mode"), _):
            yield from _reentrant(source, cause)
            yield from _switched_on(trace, source, cause, near)
        case "gradient", ast.Call() as call if not creates_graph(cause):
            own = isinstance(call.func, ast.Attribute) and call.func.attr == "backward"
            yield from _passing(
                source, site, Repair(Way.CREATE, lines=(site.line,)), "create_graph", "True", safe=not own
            )
        case (("detach" | "detach_" | "data" | "not differentiable"), _) if _is_taken(cause, site.node):
            yield from _dropped(trace, source, cause, site)
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


def _passing(source: Source, site: Site, repair: Repair, name: str, value: str, *, safe: bool = True) -> Iterator[Fix]:
    """A keyword argument with which a call keeps the graph."""
    edit = edits.add_keyword(source.document(site), site.node, name, value) if isinstance(site.node, ast.Call) else None
    yield from Fix.of(repair, Safety.SAFE if safe else Safety.UNSAFE, edit)


def _is_taken(cause: Cause, node: ast.AST) -> bool:
    """True if the cut is a method or an attribute that can go: a cast, where it says nothing of another tensor."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name), args=args):
            return cause.how != "not differentiable" or (name in CASTS | {"detach"} and not args)
    return isinstance(node, ast.Attribute)


def _dropped(trace: Trace, source: Source, cause: Cause, site: Site) -> Iterator[Fix]:
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
    safety = Safety.UNSAFE if read.attr in CASTS else Safety.SAFE
    yield Fix.by(repair, safety, tuple(written.changes))


def _reentrant(source: Source, cause: Cause) -> Iterator[Fix]:
    """`use_reentrant=False` where no input of a checkpoint requires a gradient."""
    call = checkpoint_of(cause)
    if call is not None:
        yield from _passing(source, call, Repair(Way.NOT_REENTRANT, lines=(call.line,)), "use_reentrant", "False")


def _switched_on(trace: Trace, source: Source, cause: Cause, near: Site) -> Iterator[Fix]:
    switch = switch_of(trace, source, cause)
    if switch is None or not switch.lasting:
        yield from _recorded(trace, source, cause, near, switch)
    if switch is None:
        return
    document = source.document(switch.site)
    text = source.short(switch.site)
    line = switch.site.line
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
    if (
        place.node is not near.node
        and torch is not None
        and isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign | ast.AugAssign)
    ):
        edit = edits.wrap(document, statement, f"with {torch}.enable_grad():")
        yield from Fix.of(Repair(Way.RECORD, lines=(place.line,)), Safety.SAFE, edit)


def _decorated(trace: Trace, source: Source, switch: Switch) -> Iterator[Fix]:
    """`torch.set_grad_enabled(False)` in a function becomes a decorator of it, which holds for this function alone.

    In the module's own body it goes.
    """
    statement = statement_of(trace, switch.site.node)
    function = function_of(trace, switch.site.node)
    document = source.document(switch.site)
    torch = source.called("torch", document.path)
    if not isinstance(statement, ast.Expr) or torch is None:
        return
    if function is None:
        off = removed(trace, document, statement)
        repair = Repair(Way.DELETE_MODE, lines=(switch.site.line,), text=edits.flat(document, statement))
        yield from Fix.of(repair, Safety.SAFE, off)
        return
    gone = edits.delete_statement(document, statement) if len(function.body) > 1 else None
    new = edits.insert_before(document, function, f"@{torch}.no_grad()")
    if any(each is statement for each in function.body):
        yield from Fix.of(Repair(Way.MODE_OF_FUNCTION, (function.name,)), Safety.SAFE, new, gone)


def undone(trace: Trace, source: Source, cause: Cause, near: Site, added: Site) -> Iterator[Fix]:
    """Fixes that take a cut away whose value is `added` to the loss of the backward at `near`, best first."""
    site = cause.site
    if site is None:
        return
    found = list(undo(trace, source, cause, near))
    if cause.how == "numpy":
        found += on_tensors_read(trace, source, site, added)
    for fix in found:
        yield Fix.by(fix.repairs, Safety.UNSAFE, fix.edits)
    written = Rewriting(trace, source, site)
    if not found and is_read_out(site.node) and written.takes_from(site.node):
        repair = Repair(Way.DROP_CUT, lines=(site.line,), text=".item()")
        yield Fix.by(repair, Safety.UNSAFE, tuple(written.changes))


def added(trace: Trace, source: Source, backward: Site, loss: str) -> Iterator[Fix]:
    """Add a loss that is not back-propagated, by its name in the same function, to the one that is."""
    match call_of(trace, backward.node):
        case ast.Call(func=ast.Attribute(value=root, attr="backward"), args=[], keywords=[]):
            document = source.document(backward)
            text = f"({edits.flat(document, root)} + {loss})"
            repair = Repair(Way.SUM_UNUSED, (loss,), text=f"{text}.backward()")
            yield Fix.by(repair, Safety.UNSAFE, (edits.replace(document, root, text),))
