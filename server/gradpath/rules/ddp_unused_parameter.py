"""`DistributedDataParallel` around a module of which a loss leaves parameters out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.autograd.errors import MESSAGES, AutogradError, FaultKind
from gradpath.diagnostic import Fix, Level, Safety
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import failures, following, with_time
from gradpath.findings.syntax import call_of, statement_of
from gradpath.fixes import edits
from gradpath.interpreter.events import Failed
from gradpath.interpreter.ownership import Wrapped
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Forwards that find the gradients of the backward before them incomplete."""
    for failure, error in failures(trace, FaultKind.REDUCTION):
        wrapped = [each for each in trace.of(Wrapped) if any(error.tensor is tensor for tensor in each.tensors)]
        if wrapped:
            yield _report(trace, source, failure, error, wrapped[-1])


def _report(trace: Trace, source: Source, failure: Failed, error: AutogradError, wrapped: Wrapped) -> Report:
    missing = set(map(id, error.inputs))
    names = [name for name, tensor in zip(wrapped.names, wrapped.tensors, strict=True) if id(tensor) in missing]
    left_out = _said(names)
    steps = [Step(wrapped.site, "waits for gradients of all its parameters")]
    if error.tensor is not None:
        steps.insert(0, Step(error.tensor.origin, "parameters that get no gradient"))
    if error.earlier is not None:
        steps.append(Step(error.earlier.site, f"gives none to {left_out}"))
        steps.append(
            Step(failure.site, with_time(following(trace, failure.site, error.earlier.site), "finds them missing"))
        )
    fixes = source.proposed(_fixes(trace, source, wrapped, names))
    return Report(
        wrapped.site,
        f"`{source.short(wrapped.site, limit=40)}` waits for {left_out}, which the loss leaves out",
        tuple(steps),
        raised_at=failure.site,
        pytorch=f"RuntimeError: {MESSAGES[FaultKind.REDUCTION]}",
        help="let all parameters take part in the loss",
        fixes=fixes,
    )


def _said(names: Sequence[str]) -> str:
    """The parameters in words: the module that all are of, or the first of them."""
    owner = _owner(names)
    if owner and len(names) > 1:
        return f"the parameters of `{owner}`"
    return f"`{names[0]}`" if len(names) == 1 else f"`{names[0]}` and {len(names) - 1} more"


def _owner(names: Sequence[str]) -> str:
    """The submodule that parameters are of, all of them: `head` for `head.0.weight` and `head.0.bias`."""
    common = names[0].split(".")[:-1]
    for name in names[1:]:
        parts = name.split(".")
        common = [one for one, other in zip(common, parts[:-1], strict=False) if one == other]
    return ".".join(common)


def _fixes(trace: Trace, source: Source, wrapped: Wrapped, names: Sequence[str]) -> Iterator[Fix]:
    call = call_of(trace, wrapped.site.node)
    if call is None:
        return
    document = source.document(wrapped.site)
    added = edits.add_keyword(document, call, "find_unused_parameters", "True")
    yield from Fix.of(Repair(Way.FIND_UNUSED), Safety.UNSAFE, added)
    statement, owner = statement_of(trace, wrapped.site.node), _owner(names)
    others = [name for name in wrapped.names if name.startswith(f"{owner}.") and name not in names]
    if not owner or others or not call.args:
        return
    if not isinstance(call.args[0], ast.Name | ast.Attribute):
        return
    parts = (f"[{part}]" if part.isdecimal() else f".{part}" for part in owner.split("."))
    line = f"{edits.flat(document, call.args[0])}{''.join(parts)}.requires_grad_(False)"
    yield from Fix.of(Repair(Way.FREEZE, text=line), Safety.UNSAFE, edits.insert_before(document, statement, line))


RULE = Rule(
    "ddp-unused-parameter",
    "graph",
    Level.ERROR,
    "`DistributedDataParallel` waits for gradients of parameters that the loss leaves out",
    find,
    pytorch=f"RuntimeError: {MESSAGES[FaultKind.REDUCTION]}",
)
