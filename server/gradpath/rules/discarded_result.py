"""A call or a sum that gives a new tensor, written as if it changed the old one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Edit, Fix, Level, Range, Safety
from gradpath.findings.lost_gradients import is_expected, lost_gradients
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.syntax import ancestry, statement_of
from gradpath.fixes import edits
from gradpath.fixes.substitution import substituted
from gradpath.interpreter.events import Discarded, Site
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.rules.ownership.unloaded_states import unloaded
from gradpath.rules.terms.left_out_losses import left_out_losses
from gradpath.source.imports import worked_on
from gradpath.source.index import contents, names_of
from gradpath.support.words import words

METHODS = words(
    """abs add clamp clamp_max clamp_min clip clone contiguous cpu cuda detach div exp fill flatten flip float half
    index_add index_copy index_fill long masked_fill masked_scatter mean mul neg permute relu reshape round scatter
    scatter_add sigmoid squeeze sub sum swapaxes t tanh to transpose tril triu unsqueeze view"""
)
"""Methods whose names read as if they changed their tensor, and which leave it as it is."""

_NOT_IN_PLACE = words("clone contiguous cpu cuda flatten flip float half long mean permute reshape sum to view")
"""Methods among them that have no in-place variant."""

_MOVES = frozenset({"cpu", "cuda", "to"})
"""Methods among them that may return the tensor itself."""

_REDUCTIONS = frozenset({"mean", "sum"})
"""Those of them that other objects have as well, which are handed what they reduce: `metric.mean(values)`."""

_TENSORS_ALONE = frozenset({"clamp_max", "clamp_min", "index_fill", "masked_fill", "unsqueeze"})
"""Methods among them that only tensors have."""


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Statements that are nothing but such a call."""
    for event in trace.of(Discarded):
        match event.site.node:
            case ast.Call(func=ast.Attribute() as method) as call if _is_slip(trace, event, call):
                yield _report(trace, source, event, call, method)
            case ast.BinOp(left=ast.Name() | ast.Attribute() as left) as added if _is_lost_sum(
                trace, source, event, added
            ):
                yield _of_sum(trace, source, event, left)
    for run in lost_gradients(trace):
        if isinstance(run.site.node, ast.Call):
            yield _of_gradients(source, run.site, run.site.node)
    yield from unloaded(trace, source)


def _is_lost_sum(trace: Trace, source: Source, event: Discarded, added: ast.BinOp) -> bool:
    """True if a term is added to a tensor on a graph, and the sum is thrown away.

    Where it is seen what learns nothing by that, `unreached-parameter` tells it.
    """
    is_sum = isinstance(added.op, (ast.Add, ast.Sub)) and event.tensor is not None and event.tensor.requires_grad
    if not is_sum or is_expected(trace, added) or not _is_repeated(trace, added):
        return False
    return all(each.site.node is not added for each in left_out_losses(trace, source))


def _is_repeated(trace: Trace, node: ast.AST) -> bool:
    """True for what a function or a loop does; at the top level, a notebook shows a value by its name alone."""
    repeated = (ast.FunctionDef, ast.AsyncFunctionDef, ast.For, ast.While)
    return any(isinstance(each, repeated) for each in ancestry(trace, node))


def _of_sum(trace: Trace, source: Source, event: Discarded, left: ast.Name | ast.Attribute) -> Report:
    name, text = source.short(event.site, left, 30), source.short(event.site, limit=40)
    return Report(
        event.site,
        f"`{text}` computes a new tensor, which is thrown away: `{name}` stays as it was",
        (Step(event.site, "its result is thrown away"),),
        help=f"assign it: `{name} = {text}`",
        fixes=source.proposed(_assigned(trace, source, event, left)),
    )


def _is_slip(trace: Trace, event: Discarded, call: ast.AST) -> bool:
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr not in METHODS:
        return False
    if any(keyword.arg == "out" for keyword in call.keywords):
        return False  # The result is written where `out` says.
    if call.func.attr in _REDUCTIONS and not all(map(_is_dimension, call.args)):
        return False
    receiver = _start(call.func)
    if not isinstance(receiver, (ast.Name, ast.Attribute, ast.Subscript)) or is_expected(trace, call):
        return False
    result = event.tensor
    if result is None:
        alone = _is_of_tensors(call, call.func.attr) or _is_gradient(receiver) or event.is_of_tensor
        return (event.unseen == call.func.attr and alone) or receiver is not call.func.value
    own = result.operation.rpartition(".")[2] == call.func.attr and result.maker
    if not own and call.func.attr not in _MOVES:
        return False
    return _is_repeated(trace, call)


def _of_gradients(source: Source, site: Site, call: ast.Call) -> Report:
    text = source.short(site, limit=40)
    loss = call.args[0] if call.args and isinstance(call.args[0], ast.Name | ast.Attribute) else None
    alone = loss is not None and len(call.args) < 3 and not call.keywords
    backward = f"{source.text(site, loss)}.backward()" if alone else ""
    repair = Repair(Way.CALL_BACKWARD, text=backward)
    return Report(
        site,
        f"`{text}` returns the gradients, which are thrown away: no `.grad` is filled",
        (Step(site, "its result is thrown away"),),
        help="call `backward()`, which fills `.grad`, or use what `torch.autograd.grad` returns",
        fixes=source.proposed(substituted(source, repair, {call: site}, backward)) if backward else (),
    )


def _is_dimension(argument: ast.expr) -> bool:
    """True if an argument is written as dimensions are: `0`, `-1`, `(0, 1)`."""
    match argument:
        case ast.Constant() | ast.UnaryOp(operand=ast.Constant()):
            return True
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return all(map(_is_dimension, parts))
    return False


def _start(method: ast.Attribute) -> ast.expr:
    """The receiver of a call, without a `detach()`, which only tensors have: `loss` in `loss.detach().cpu()`."""
    match method.value:
        case ast.Call(func=ast.Attribute(value=value, attr="detach"), args=[]):
            return value
        case other:
            return other


def _is_gradient(receiver: ast.expr) -> bool:
    """True if it is `p.grad` or `p.grad.data`, which only tensors have."""
    match receiver:
        case ast.Attribute(attr="grad") | ast.Attribute(value=ast.Attribute(attr="grad"), attr="data"):
            return True
    return False


def _is_of_tensors(call: ast.Call, name: str) -> bool:
    """True if only tensors have such a method; also `clamp` has bounds of these names nowhere else."""
    return name in _TENSORS_ALONE or (name == "clamp" and any(each.arg in ("min", "max") for each in call.keywords))


def _subject(source: Source, event: Discarded, call: ast.Call, method: ast.Attribute) -> ast.expr:
    """The tensor that seems to be changed."""
    found = worked_on(call, source.names(event.site.path))
    return _start(method) if found is None or found is method.value else found


def _report(trace: Trace, source: Source, event: Discarded, call: ast.Call, method: ast.Attribute) -> Report:
    subject = _subject(source, event, call, method)
    name = source.short(event.site, subject, 30)
    called = source.short(event.site, method, 30)
    text = source.short(event.site, limit=40)
    return Report(
        event.site,
        f"`{text}` returns a new tensor, which is thrown away: `{name}` stays as it was",
        (Step(event.site, "its result is thrown away"),),
        help=f"assign it: `{name} = {called}(…)`" if call.args else f"assign it: `{name} = {text}`",
        fixes=source.proposed(_fixes(trace, source, event, call, method)),
    )


def _fixes(trace: Trace, source: Source, event: Discarded, call: ast.Call, method: ast.Attribute) -> Iterator[Fix]:
    subject = _subject(source, event, call, method)
    if not isinstance(subject, (ast.Name, ast.Attribute)):
        return
    if event.tensor is not None and any(each.is_parameter for each in event.tensor.maker):
        return  # A module takes no tensor in the place of a parameter.
    document = source.document(event.site)
    if subject is _start(method) and _is_of_loop(trace, subject):
        if subject is not method.value or method.attr in _NOT_IN_PLACE:
            return
        end = document.range_of(method).end
        repair = Repair(Way.DO_IN_PLACE, text=f"{edits.flat(document, method)}_")
        yield Fix.by(repair, Safety.UNSAFE, (Edit(document.path, Range(end, end), "_"),))
        return
    yield from _assigned(trace, source, event, subject)


def _assigned(trace: Trace, source: Source, event: Discarded, subject: ast.Name | ast.Attribute) -> Iterator[Fix]:
    document = source.document(event.site)
    variable = edits.flat(document, subject)
    start = document.range_of(statement_of(trace, event.site.node)).start
    edit = Edit(document.path, Range(start, start), f"{variable} = ")
    yield Fix.by(Repair(Way.ASSIGN_TO, (variable,)), Safety.UNSAFE, (edit,))


def _is_of_loop(trace: Trace, subject: ast.expr) -> bool:
    """True if a variable is that of the loop around it, so that binding it again would have no effect."""
    loop = next((each for each in reversed(ancestry(trace, subject)) if isinstance(each, (ast.For, ast.While))), None)
    if not isinstance(loop, ast.For) or not isinstance(subject, ast.Name):
        return False
    return subject.id in names_of(loop.target) and [each.id for each in contents(loop).names].count(subject.id) == 2


RULE = Rule(
    "discarded-result",
    "detach",
    Level.WARNING,
    "the result of `detach()`, `masked_fill()`, `clamp()` or the like is thrown away, as if they worked in place",
    find,
)
