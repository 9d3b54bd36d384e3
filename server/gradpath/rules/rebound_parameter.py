"""A leaf that a computation put out of its place: `w = w - lr * w.grad`, or a result that an optimizer is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from gradpath.autograd.errors import MESSAGES, FaultKind
from gradpath.autograd.provenance import OBSERVED
from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Fix, Level, Safety
from gradpath.findings.rebinding import gradients_of_results, lost_updates, rebinding_of, rebound_upstream
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import elsewhere, following, target_of, with_time
from gradpath.findings.syntax import statement_of
from gradpath.findings.untied import Untied, untied
from gradpath.fixes import edits
from gradpath.fixes.out_of_place import updated_in_place
from gradpath.interpreter.events import Bound, Failed, GradientAbsent, Held, Site
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import contents, holds, inside
from gradpath.support.fast_dataclasses import replace


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Gradients that are None, or backwards without a graph, because a leaf lost its name; and lost updates."""
    for failure in trace.failures():
        error = failure.error
        if error is not None and error.kind is FaultKind.OPTIMIZER_NON_LEAF and error.tensor is not None:
            yield _report_non_leaf(trace, source, failure, error.tensor)
            continue
        found = _rebound(trace, source, failure)
        if found is not None:
            yield _report(trace, source, failure, *found)
    for given in trace.of(Given):
        for tensor in given.parameters:
            if _was_moved(tensor):
                yield _report_moved(trace, source, given, tensor)
                break
    for absent in gradients_of_results(trace):
        yield _report_asked(trace, source, absent)
    for bound, statement in lost_updates(trace):
        yield _report_lost(trace, source, bound, statement)
    for each in untied(trace):
        yield _report_untied(trace, source, each)


def _rebound(trace: Trace, source: Source, failure: Failed) -> tuple[Bound, Tensor] | None:
    """The assignment that caused a failure, and the tensor that it put in the place of a leaf."""
    error = failure.error
    if error is not None:
        if error.tensor is None or error.kind not in (FaultKind.NO_GRAD, FaultKind.INPUT_NO_GRAD):
            return None
        return rebound_upstream(trace, source, error.tensor)
    for tensor in _without_gradient(trace, source, failure):
        found = rebinding_of(trace, source, tensor)
        if found is not None:
            return found[0], tensor
    return None


def _without_gradient(trace: Trace, source: Source, failure: Failed) -> Iterator[Tensor]:
    """The tensors whose gradient is None where a statement that fails uses it."""
    if failure.exception not in ("TypeError", "AttributeError"):
        return
    statement = statement_of(trace, failure.site.node)
    names = [
        source.text(failure.site, node.value)
        for around in (failure.site.node, statement)
        for node in contents(around).attributes
        if node.attr == "grad"
    ]
    last: dict[str, Tensor] = {}
    for event in trace.events:
        if isinstance(event, Bound) and event.tensor is not None:
            last[target_of(source, event)] = event.tensor
    yield from (last[name] for name in dict.fromkeys(names) if name in last and last[name].grad is None)


def _report(trace: Trace, source: Source, failure: Failed, bound: Bound, tensor: Tensor) -> Report:
    name = target_of(source, bound)
    statement = statement_of(trace, bound.site.node)
    at = _at(bound.site, statement)
    tracked = tensor.node is not None
    when = following(trace, failure.site, bound.site)
    if tracked:
        headline = f"`{name}` becomes the result of a computation here: it is not a leaf, and its `.grad` stays None"
        last = "the gradient is None"
        how = "a new tensor, on the graph of the old one"
    else:
        headline = f"`{name}` becomes a new tensor here, which requires no gradient"
        last = "nothing here requires a gradient"
        how = "a new tensor, which requires no gradient"
    fixes = source.proposed(_fixes(trace, source, at, statement, name, tracked, isinstance(bound.value, Held)))
    message = MESSAGES[FaultKind.NO_GRAD] if failure.error is not None else failure.message
    return Report(
        at,
        headline,
        (Step(at, how), Step(failure.site, with_time(when, last))),
        raised_at=failure.site,
        pytorch=f"{failure.exception}: {message}",
        help=f"update `{name}` in place under torch.no_grad()",
        fixes=fixes,
    )


def _report_non_leaf(trace: Trace, source: Source, failure: Failed, tensor: Tensor) -> Report:
    """The report of an optimizer that is given a result: on the assignment that made the variable one."""
    what = "is the result of a computation, not a leaf: an optimizer cannot train it"
    return replace(_not_a_leaf(trace, source, failure.site, tensor, what), raised_at=failure.site)


def _report_asked(trace: Trace, source: Source, absent: GradientAbsent) -> Report:
    """The report of a gradient that is asked for of a result, and that only a leaf without a name has."""
    what = "is the result of a computation, not a leaf: its `.grad` stays None"
    report = _not_a_leaf(trace, source, absent.site, absent.tensor, what)
    last = Step(absent.site, "is None: the gradient is that of the leaf")
    help_text = "make the leaf of this first, and let it require a gradient last"
    return replace(report, steps=(*report.steps[:-1], last), help=help_text, pytorch=_NOT_POPULATED, silent=True)


_NOT_POPULATED = "UserWarning: The .grad attribute of a Tensor that is not a leaf Tensor is being accessed."


def _was_moved(tensor: Tensor) -> bool:
    """True if a tensor is a copy, unless the place that its leaf was moved to is the CPU, where the leaf was made."""
    if not tensor.aliasing_unsure or tensor.left is not None or len(tensor.maker) != 1:
        return False
    (leaf,) = tensor.maker
    return leaf.requires_grad and leaf.node is None and leaf.device == "cpu" and leaf.provenance is OBSERVED


def _report_moved(trace: Trace, source: Source, given: Given, tensor: Tensor) -> Report:
    """The report of an optimizer that is given what `.to(device)` made of a leaf: nothing is raised on the CPU."""
    what = f"is a copy and not a leaf if {elsewhere(source, tensor)}: an optimizer cannot train it"
    return replace(_not_a_leaf(trace, source, given.site, tensor, what), silent=True)


def _not_a_leaf(trace: Trace, source: Source, site: Site, tensor: Tensor, what: str) -> Report:
    """The report of a tensor that an optimizer at `site` cannot take, on the assignment that made it `what` it is."""
    bound = next((each for each in reversed(trace.of(Bound)) if each.tensor is tensor), None)
    statement = None if bound is None else statement_of(trace, bound.site.node)
    fixes: tuple[Fix, ...] = ()
    made_here = holds(statement, tensor.origin.node) if isinstance(statement, ast.Assign) else False
    if tensor.aliasing_unsure and not made_here and isinstance(tensor.origin.node, ast.Call):
        at, name = tensor.origin, f"`{source.short(tensor.origin, limit=32)}`"  # It was taken out of a container since.
        steps = [Step(at, "a result, on the graph of what it came from"), Step(site, "takes leaves alone")]
    elif bound is None or not isinstance(statement, ast.Assign):
        at, name = site, "this"
        steps = [Step(at, "is given the result of a computation")]
    else:
        at, name = _at(bound.site, statement), f"`{target_of(source, bound)}`"
        steps = [Step(at, "a result, on the graph of what it came from"), Step(site, "takes leaves alone")]
        made = edits.append(source.document(at), statement.value, _LEAF)
        if made and not isinstance(bound.value, Held):
            fix = Fix.by(Repair(Way.LEAF_AGAIN, (name.strip("`"),), text=_LEAF), Safety.SAFE, made)
            fixes = (fix,)
    return Report(
        at,
        f"{name} {what}",
        tuple(steps),
        pytorch=f"ValueError: {MESSAGES[FaultKind.OPTIMIZER_NON_LEAF]}",
        help="give it the leaf that the result is computed from",
        fixes=fixes,
    )


def _report_lost(trace: Trace, source: Source, bound: Bound, statement: ast.Assign) -> Report:
    at = _at(bound.site, statement)
    fixes = source.proposed(updated_in_place(trace, source, at, bound.name, Safety.UNSAFE, lost=True))
    other = isinstance(statement.value, ast.Name)
    return Report(
        at,
        f"`{bound.name}` is {'another' if other else 'a new'} tensor from here on, which nothing reads: "
        "the parameter stays as it is",
        (Step(at, "gives the variable of the loop another value"),),
        help=f"update `{bound.name}` in place under torch.no_grad()",
        fixes=fixes,
        silent=True,
    )


def _report_untied(trace: Trace, source: Source, found: Untied) -> Report:
    statement = statement_of(trace, found.lost.site.node)
    at = _at(found.lost.site, statement)
    name = source.short(at, statement.targets[0]) if isinstance(statement, ast.Assign) else source.short(at)
    return Report(
        at,
        f"`{name}` is another parameter from here on: what shares the old one keeps that",
        (
            Step(found.tied, "makes one parameter of two"),
            Step(at, "puts another one in one of its places"),
            Step(found.step.site, "trains both, apart from each other"),
        ),
        help="write the values in place, under torch.no_grad(), or share the new parameter after this",
        silent=True,
    )


def _at(site: Site, statement: ast.stmt) -> Site:
    return Site(site.path, statement, site.caller, site.loops)


def _fixes(
    trace: Trace, source: Source, at: Site, statement: ast.stmt | None, name: str, tracked: bool, held: bool
) -> Iterator[Fix]:
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    document = source.document(at)
    updates = list(updated_in_place(trace, source, at, name, Safety.SAFE, tracked=tracked))
    if updates:
        yield from updates
        return
    parts = _parts(statement.value, held)
    cuts = [each for part in parts for each in inside(part, ast.Call, ast.Attribute) if _is_cut(each)]
    kept = tuple(edit for each in cuts if (edit := edits.drop_method(document, each)) is not None)
    if kept and not tracked:
        what = tuple(dict.fromkeys(f".{name}" for name in map(_cutting, cuts)))
        yield Fix.by(Repair(Way.KEEP_GRAPH, what, (at.line,)), Safety.SAFE, kept)
    again = tuple(edit for part in parts for edit in edits.append(document, part, _LEAF))
    if again:
        yield Fix.by(Repair(Way.LEAF_AGAIN, (name,), text=_LEAF), Safety.SAFE, again)


_LEAF = ".detach().requires_grad_()"


def _parts(value: ast.expr, held: bool) -> list[ast.expr]:
    """The expressions that give the new tensors: the items of a tuple, the element of a comprehension.

    `held` says that they are in a container, which is none of them itself.
    """
    match value:
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return items
        case ast.ListComp(elt=item) | ast.DictComp(value=item):
            return [item]
        case ast.Call(args=[ast.GeneratorExp(elt=ast.Tuple(elts=[_, item]))]):
            return [item]
    return [] if held else [value]


def _is_cut(node: ast.AST) -> TypeGuard[ast.Call | ast.Attribute]:
    """True if an expression is `x.detach()` or `x.data`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="detach"), args=[]) | ast.Attribute(attr="data"):
            return True
    return False


def _cutting(node: ast.Call | ast.Attribute) -> str:
    return "detach()" if isinstance(node, ast.Call) else "data"


RULE = Rule(
    "rebound-parameter",
    "in-place",
    Level.ERROR,
    "an update such as `w = w - lr * w.grad` makes `w` a new tensor that is not a leaf: its next gradient is None",
    find,
    raises=(
        r"unsupported operand type\(s\) for \S+ '\w+' and 'NoneType'",
        r"unsupported operand type\(s\) for \S+ 'NoneType' and '\w+'",
        r"'NoneType' object has no attribute '(?:zero_|data|detach_?|norm|add_|mul_|clone)'",
        r"can't optimize a non-leaf Tensor",
    ),
    pytorch="TypeError: unsupported operand type(s) for *: 'float' and 'NoneType'",
)
