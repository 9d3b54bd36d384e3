"""Operations that PyTorch refuses: a deep copy, an array, a flag or a hook of a tensor, an optimizer of nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.errors import MESSAGES, AutogradError, FaultKind
from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Fix, Level, Safety
from gradpath.findings.gradient_flow import trains
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import failures, made_near, name_of
from gradpath.findings.syntax import statement_of
from gradpath.fixes import edits
from gradpath.fixes.detachment import detached_for, operand_of, rewritten
from gradpath.fixes.moving import removed
from gradpath.fixes.requirement import registered, required_before
from gradpath.interpreter.events import Failed, Flagged, Site
from gradpath.interpreter.ownership import Overlooked
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Refusal:
    """The words for a refusal: what is wrong with the tensor `{name}`, what made it so, and the way out."""

    headline: str
    made: str
    help: str


_ON_GRAPH = "a result, on the graph of what it came from"

_REFUSALS = {
    FaultKind.DEEPCOPY: _Refusal(
        "{name} is the result of a computation, and `deepcopy` copies leaves alone",
        _ON_GRAPH,
        "keep a result as `.detach()`, which can be copied",
    ),
    FaultKind.NUMPY: _Refusal(
        "{name} requires a gradient, which an array cannot have", _ON_GRAPH, "`.detach()` before it leaves the graph"
    ),
    FaultKind.NON_LEAF_FLAG: _Refusal(
        "{name} is the result of a computation: only a leaf can be set to require a gradient, or not to",
        _ON_GRAPH,
        "`.detach()` returns a tensor without the graph, `torch.no_grad()` builds none",
    ),
    FaultKind.DTYPE_FLAG: _Refusal(
        "{name} holds no floating point numbers, and only these have gradients",
        "of a dtype without gradients",
        "convert it first: `.float()`",
    ),
    FaultKind.RETAIN_NO_GRAD: _Refusal(
        "{name} requires no gradient, so there will be none to retain",
        "requires no gradient",
        "ask for the gradient of a tensor that is on the graph",
    ),
    FaultKind.PARAMETER_ASSIGNMENT: _Refusal(
        "{name} is no `nn.Parameter`, and a parameter of a module can be replaced by nothing else",
        "a plain tensor",
        "copy the values under `torch.no_grad()`: `.copy_()` on the parameter",
    ),
    FaultKind.HOOK_NO_GRAD: _Refusal(
        "{name} requires no gradient, so its hook would never be called",
        "requires no gradient",
        "register the hook on a tensor that is on the graph",
    ),
}

_WITHOUT_GRAPH = (
    FaultKind.DTYPE_FLAG,
    FaultKind.RETAIN_NO_GRAD,
    FaultKind.HOOK_NO_GRAD,
    FaultKind.PARAMETER_ASSIGNMENT,
)
"""Operations that are refused whether gradients are on or off."""


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Operations that are refused where gradients are on."""
    for failure, error in failures(trace, *_REFUSALS):
        if error.tensor is not None and (error.kind in _WITHOUT_GRAPH or trains(trace)):
            yield _report(trace, source, failure, error, error.tensor)
    hidden = [event for event in trace.of(Overlooked) if not event.found]
    for failure, _ in failures(trace, FaultKind.OPTIMIZER_EMPTY) if hidden else ():
        yield _of_nothing(trace, source, failure.site, hidden[-1])


def _of_nothing(trace: Trace, source: Source, site: Site, hidden: Overlooked) -> Report:
    """The report of an optimizer that is given no parameters, as the module holds all in a plain container.

    A module without any may get some from code that did not run.
    """
    name = source.short(hidden.site, limit=30)
    return Report(
        site,
        f"`{source.short(site, limit=40)}` has no parameters: `{name}` is a plain {hidden.kind}, "
        "in which `parameters()` finds nothing",
        (Step(hidden.site, f"a plain {hidden.kind}"), Step(site, "finds no parameter to optimize")),
        raised_at=site,
        pytorch=f"ValueError: {MESSAGES[FaultKind.OPTIMIZER_EMPTY]}",
        help="hold them in an `nn.ModuleList` or the like",
        fixes=source.proposed(registered(trace, source, hidden)),
    )


def _report(trace: Trace, source: Source, failure: Failed, error: AutogradError, tensor: Tensor) -> Report:
    refusal = _REFUSALS[error.kind]
    site = failure.site
    flagged = _asked_at(trace, tensor) if error.kind is FaultKind.DTYPE_FLAG else None
    if flagged is not None:
        return _of_positions(trace, source, failure, tensor, flagged)
    given = operand_of(site.node)
    match site.node:
        case ast.Call(func=ast.Attribute(value=value)) if error.kind is FaultKind.HOOK_NO_GRAD:
            given = value
    inside = error.kind in (FaultKind.DEEPCOPY, FaultKind.PARAMETER_ASSIGNMENT)  # Of what is copied, or set.
    itself = isinstance(given, ast.Attribute) and not inside
    name = source.text(site, given) if itself else name_of(trace, source, tensor, site)
    said = f"`{name}`" if name and len(name) <= _LONGEST else "this"
    made = made_near(tensor, site)
    how = "requires a gradient" if refusal.made == _ON_GRAPH and tensor.node is None else refusal.made
    steps = [Step(made, how)] if made.node is not site.node else []
    return Report(
        site,
        refusal.headline.format(name=said),
        (*steps, Step(site, "is refused")),
        raised_at=site,
        pytorch=f"{failure.exception}: {MESSAGES[error.kind]}",
        help=refusal.help,
        fixes=source.proposed(_fixes(trace, source, failure, error.kind, tensor)),
    )


def _asked_at(trace: Trace, tensor: Tensor) -> Site | None:
    """Where a tensor was asked to require a gradient, and was not refused as its dtype is not known."""
    return next((each.site for each in trace.of(Flagged) if each.tensor is tensor and each.value), None)


def _of_positions(trace: Trace, source: Source, failure: Failed, tensor: Tensor, flagged: Site) -> Report:
    """The report of positions that are asked to require a gradient."""
    match flagged.node:
        case ast.Call(func=ast.Attribute(value=given)) | ast.Attribute(value=given):
            name = source.text(flagged, given)
        case _:
            name = name_of(trace, source, tensor, flagged)
    refusal = _REFUSALS[FaultKind.DTYPE_FLAG]
    return Report(
        flagged,
        refusal.headline.format(name=f"`{name}`" if name and len(name) <= _LONGEST else "this"),
        (Step(flagged, "is refused for whole numbers"), Step(failure.site, "takes whole numbers alone, for positions")),
        raised_at=failure.site,
        pytorch=f"{failure.exception}: {MESSAGES[FaultKind.DTYPE_FLAG]}",
        help="ask for the gradient of what is looked up",
    )


def _fixes(trace: Trace, source: Source, failure: Failed, kind: FaultKind, tensor: Tensor) -> Iterator[Fix]:
    if kind is FaultKind.NON_LEAF_FLAG:
        yield from _deleted(trace, source, failure.site)
    if kind not in _WITHOUT_GRAPH:
        yield from detached_for(trace, source, tensor, failure.site, failure.kept)
    elif kind is FaultKind.DTYPE_FLAG:
        yield from _as_numbers(trace, source, failure.site)
    elif kind is not FaultKind.PARAMETER_ASSIGNMENT:
        yield from required_before(trace, source, failure, tensor)


def _deleted(trace: Trace, source: Source, site: Site) -> Iterator[Fix]:
    """Do not ask a result that has a gradient to require one."""
    statement = statement_of(trace, site.node)
    repair = Repair(Way.DELETE_LINE, lines=(statement.lineno,), text=source.short(site, statement))
    yield from Fix.of(repair, Safety.SAFE, removed(trace, source.document(site), statement))


def _as_numbers(trace: Trace, source: Source, site: Site) -> Iterator[Fix]:
    """`x.float()` where only floating point numbers will do."""
    document, node = source.document(site), site.node
    torch = source.called("torch", document.path)
    if isinstance(node, ast.Call) and any(each.arg == "requires_grad" for each in node.keywords) and torch is not None:
        edit = edits.add_keyword(document, node, "dtype", f"{torch}.float32")
        yield from Fix.of(Repair(Way.AS_FLOAT, text=f"dtype={torch}.float32"), Safety.SAFE, edit)
        return
    yield from rewritten(trace, source, site, ".float()", Way.AS_FLOAT)


_LONGEST = 40
"""Characters of a name in a headline."""


RULE = Rule(
    "refused-operation",
    "graph",
    Level.ERROR,
    "a deep copy, an array or another flag is asked of a tensor with a graph, or an optimizer is made of nothing",
    find,
    raises=(
        r"\(graph leaves\) support the deepcopy protocol",
        r"Can't call numpy\(\) on Tensor that requires grad",
        r"can only change requires_grad flags of leaf variables",
        r"floating point and complex dtype can require gradients",
        r"can't retain_grad on Tensor that has requires_grad=False",
        r"cannot register a hook on a tensor that doesn't require gradient",
        r"optimizer got an empty parameter list",
        r"as parameter '\w+' \(torch\.nn\.Parameter or None expected\)",
    ),
    pytorch=f"RuntimeError: {MESSAGES[FaultKind.NON_LEAF_FLAG]}",
)
