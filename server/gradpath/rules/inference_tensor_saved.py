"""A tensor from `inference_mode` that a graph needs, or that is changed outside."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.errors import MESSAGES, AutogradError, FaultKind
from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Edit, Fix, Level, Safety
from gradpath.findings.cuts import Switch, switch_around
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import failures, name_of
from gradpath.fixes import edits
from gradpath.interpreter.events import Failed, Site
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import variables
from gradpath.source.nodes import last_name

KINDS = (FaultKind.INFERENCE_SAVED, FaultKind.INFERENCE_INPLACE)


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Operations that PyTorch refuses because an inference tensor takes part."""
    for failure, error in failures(trace, *KINDS):
        if error.tensor is not None:
            yield _report(trace, source, failure, error, error.tensor)


def _report(trace: Trace, source: Source, failure: Failed, error: AutogradError, tensor: Tensor) -> Report:
    site = failure.site
    switch = _switch_of(trace, source, tensor)
    name = name_of(trace, source, tensor, site)
    short = f"`{name}`" if name and len(name) <= 30 else "a tensor"
    steps: list[Step] = []
    if switch is not None:
        steps.append(Step(switch.site, "tensors made under this stay out of graphs"))
    steps += [Step(tensor.origin, f"makes {short}"), Step(site, _last(error))]
    call = source.short(site, limit=34)
    return Report(
        site,
        f"`{call}` {_verb(error)} {short}, which was made under `inference_mode`",
        tuple(steps),
        raised_at=site,
        pytorch=f"RuntimeError: {MESSAGES[error.kind]}",
        help="`torch.no_grad()` instead of `inference_mode` makes tensors that can be used anywhere",
        fixes=source.proposed(_fixes(source, site, switch, name if error.kind is FaultKind.INFERENCE_SAVED else "")),
    )


def _switch_of(trace: Trace, source: Source, tensor: Tensor) -> Switch | None:
    """The switch under which the tensor, or the one that it is a part of, was made."""
    for each in tensor.lineage():
        switch = switch_around(trace, source, each.origin)
        if switch is not None:
            return switch
    return None


def _verb(error: AutogradError) -> str:
    return "has to save" if error.kind is FaultKind.INFERENCE_SAVED else "changes"


def _last(error: AutogradError) -> str:
    saves = error.kind is FaultKind.INFERENCE_SAVED
    return "has to save it for the backward" if saves else "changes it outside of inference mode"


def _fixes(source: Source, site: Site, switch: Switch | None, name: str) -> Iterator[Fix]:
    if switch is not None:
        yield from Fix.of(Repair(Way.NO_GRAD_ON, lines=(switch.site.line,)), Safety.SAFE, _as_no_grad(source, switch))
    reads = [each for each in variables(site.node) if source.text(site, each) == name]
    if len(reads) == 1 and isinstance(site.node, ast.expr) and site.node is not reads[0]:
        edit_clone = edits.append(source.document(site), reads[0], ".clone()")
        yield Fix.by(Repair(Way.USE_COPY, (name,), text=f"{name}.clone()"), Safety.SAFE, edit_clone)


def _as_no_grad(source: Source, switch: Switch) -> Edit | None:
    node = switch.site.node
    function = node.func if isinstance(node, ast.Call) else node
    document = source.document(switch.site)
    torch = source.called("torch", document.path)
    if torch is None or last_name(function) != "inference_mode":
        return None
    return edits.replace(document, node, f"{torch}.no_grad()")


RULE = Rule(
    "inference-tensor-saved",
    "detach",
    Level.ERROR,
    "a tensor that was made under `inference_mode` is saved for a backward, or changed outside",
    find,
    raises=(
        r"view was created in (?:no_grad|inference) mode",
        r"Inference tensors cannot be saved for backward",
        r"(?:Inplace update to|requires_grad=True on) inference tensor",
    ),
    pytorch=f"RuntimeError: {MESSAGES[FaultKind.INFERENCE_SAVED]}",
)
