"""A backward from a tensor that no graph leads back from."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.errors import MESSAGES, FaultKind
from gradpath.autograd.provenance import LOADED, Presumption
from gradpath.autograd.tensor import SWITCHED_OFF, Tensor
from gradpath.diagnostic import Advice, Fix, Level, Safety
from gradpath.findings import cuts
from gradpath.findings.graphs import reach
from gradpath.findings.parameters import ways_of
from gradpath.findings.rebinding import rebound_upstream
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import failures, name_of
from gradpath.findings.syntax import ancestry, call_of, statement_of
from gradpath.fixes import cut_fixes, edits, on_tensors, recomputation, requirement
from gradpath.fixes.substitution import substituted
from gradpath.interpreter.events import Bound, Built, Failed, Flagged, Named, Site
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import contents, holds, stored_names
from gradpath.support.fast_dataclasses import replace

_UNUSED = (
    "RuntimeError: The differentiated Tensor at index {} appears to not have been used in the graph. "
    "Set allow_unused=True if this is the desired behavior."
)


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Calls whose root has no graph; where a leaf was rebound, the fault is `rebound-parameter`."""
    for failure, error in failures(trace, FaultKind.NO_GRAD):
        root = error.tensor
        if root is None or rebound_upstream(trace, source, root) is not None:
            continue
        plain = cuts.cause_of(trace, root).how == "plain"
        if plain and _is_added_to_elsewhere(trace, root):
            continue
        report = _report(trace, source, failure, root)
        if plain and not isinstance(trace.entry, ast.Module):
            if not _is_of_what_was_made_here(trace, root):
                continue  # What a function is given, or finds on self, is presumed: another caller may give a graph.
            if not root.maker and isinstance(statement_of(trace, failure.site.node), ast.Return):
                continue  # `return torch.zeros(1)` says that there is nothing to learn from.
            report = replace(report, every_path=True)  # Its caller may see to it that a term with a graph is added.
        yield report
    for failure, error in failures(trace, FaultKind.INPUT_NO_GRAD):
        wanted = error.tensor
        if wanted is None or rebound_upstream(trace, source, wanted) is not None:
            continue
        cause = cuts.cause_of(trace, wanted)
        presumed = isinstance(wanted.provenance, Presumption)  # To be data; else the caller may have required one.
        if cause.how != "plain" or presumed or _made_here(trace, wanted) or _made_for_itself(trace, source, wanted):
            yield _of_input(trace, source, failure, wanted, cause)
    for failure, error in failures(trace, FaultKind.UNUSED):
        roots = () if error.call is None else error.call.roots
        if error.tensor is not None and not error.tensor.is_open and len(roots) == 1:
            yield _of_unused(trace, source, failure, error.tensor, roots[0])


def _is_added_to_elsewhere(trace: Trace, root: Tensor) -> bool:
    """True if a loop that sets what a loss is computed from ran no time: what it goes through was filled on other ways.

    So is a list of the outputs of layers, where a file says which layers there are.
    """
    below = set(map(id, root.lineage()))
    names = {each.name for each in trace.of(Bound) if id(each.tensor) in below}
    loops = (each for each in trace.visits if isinstance(each, ast.For) and each.body[0] not in trace.visits)
    return any(not names.isdisjoint(stored_names(statement)) for loop in loops for statement in loop.body)


def _is_of_what_was_made_here(trace: Trace, root: Tensor) -> bool:
    """True if the code that is judged made all that a tensor was computed from, or took it from a loader."""
    first = [each for each in root.lineage() if not each.maker]
    return all(each.operation or _is_loaded(each) for each in first) and all(_made_here(trace, each) for each in first)


def _is_loaded(tensor: Tensor) -> bool:
    """True if a tensor is what a loader gives; of others that are not seen a caller may know more."""
    return not isinstance(tensor.provenance, Presumption) or tensor.provenance.row == LOADED


def _made_here(trace: Trace, tensor: Tensor) -> bool:
    """True if the code that is judged made a tensor itself: no other code can have let it require a gradient before."""
    if isinstance(trace.entry, ast.Module):
        return tensor.shape is not None
    return any(holds(trace.entry, frame.node) for frame in tensor.origin.frames() if frame.node is not trace.entry)


def _made_for_itself(trace: Trace, source: Source, tensor: Tensor) -> bool:
    """True if the object whose method runs made a tensor for itself, and its file asks nothing to require a gradient.

    What `__init__` is given may require one already: a copy that it makes of that is of its own all the same.
    """
    cls = next((each for each in ancestry(trace, trace.entry) if isinstance(each, ast.ClassDef)), None)
    if cls is None or not tensor.operation or tensor.maker:
        return False
    makers = (each for each in cls.body if isinstance(each, ast.FunctionDef) and each.name == "__init__")
    made = any(holds(init, frame.node) for init in makers for frame in tensor.origin.frames())
    flags = (
        each
        for each in contents(source.tree(tensor.origin.path)).attributes
        if each.attr in ("requires_grad", "requires_grad_")
    )
    return made and not any(each.attr[-1] == "_" or not isinstance(each.ctx, ast.Load) for each in flags)


def _of_unused(trace: Trace, source: Source, failure: Failed, wanted: Tensor, output: Tensor) -> Report:
    """`autograd.grad` with regard to a tensor that the output was not computed from."""
    name, result = _asked(trace, source, failure, wanted), _limited(name_of(trace, source, output, failure.site))
    late = _required_late(trace, wanted, output)
    if late is not None:
        why = f"it was computed before `{source.short(late.site, limit=34)}` on line {late.site.line}"
        steps = [Step(late.site, "too late: the output is computed already")]
        way = "require the gradient before computing with the tensor"
        fixes = source.proposed(requirement.required_earlier(trace, source, late.site))
    else:
        why = f"it was not computed from `{name}`"
        steps = [Step(wanted.made_at, "makes a tensor that the output does not depend on")]
        way = "compute with the tensor itself whose gradient is asked for, not with what it was taken from or copied to"
        found = (
            *_without_copy(trace, source, failure),
            *recomputation.rebuilt(trace, source, wanted),
            *_with_the_copy(trace, source, wanted, output),
            *_zeros(trace, source, failure),
        )
        fixes = source.proposed(found)
    return Report(
        failure.site,
        f"nothing leads back from `{result}` to `{name}`: {why}",
        (*steps, Step(failure.site, "finds no way to it")),
        raised_at=failure.site,
        pytorch=_UNUSED.format(0 if failure.error is None else failure.error.index),
        help=way,
        fixes=fixes,
    )


def _with_the_copy(trace: Trace, source: Source, wanted: Tensor, output: Tensor) -> Iterator[Fix]:
    """`fast(x)` for `model(x)`: the output is computed with the copy whose gradient is asked for."""
    names = {way: event.name for event in trace.of(Named) for way in ways_of(trace, event)}
    own, other = names.get(id(wanted)), names.get(id(wanted.copied))
    frames = (frame for each in output.lineage() if isinstance(each.origin, Site) for frame in each.origin.frames())
    calls = {call: frame for frame in frames for call in contents(statement_of(trace, frame.node)).calls}
    uses: dict[ast.AST, Site] = {call.func: frame for call, frame in calls.items() if ast.unparse(call.func) == other}
    if own:
        repair = Repair(Way.COMPUTE_WITH, (own,), tuple(sorted({getattr(each, "lineno", 0) for each in uses})))
        yield from substituted(source, repair, uses, own)


def _without_copy(trace: Trace, source: Source, failure: Failed) -> Iterator[Fix]:
    """`grad(loss, w)` where the gradient is asked for with regard to `w.clone()`, a tensor made for the question."""
    call = call_of(trace, failure.site.node)
    given = call.args[1] if call is not None and len(call.args) > 1 else None
    match given:
        case ast.Call(func=ast.Attribute(attr="clone", value=ast.expr() as own), args=[], keywords=[]):
            document = source.document(failure.site)
            text = edits.flat(document, own)
            repair = Repair(Way.ASK_ITSELF, (text,))
            yield Fix.by(repair, Safety.SAFE, (edits.replace(document, given, text),))


def _zeros(trace: Trace, source: Source, failure: Failed) -> Iterator[Fix]:
    """`materialize_grads=True` where the output was computed from others of the tensors that are asked for."""
    call, ran = call_of(trace, failure.site.node), None if failure.error is None else failure.error.call
    if call is not None and ran is not None and any(each in ran.givers for each in ran.targets or ()):
        edit = edits.add_keyword(source.document(failure.site), call, "materialize_grads", "True")
        yield from Fix.of(Repair(Way.ZEROS_FOR_UNUSED, lines=(failure.site.line,)), Safety.UNSAFE, edit)


def _required_late(trace: Trace, wanted: Tensor, output: Tensor) -> Flagged | None:
    """Where a tensor was made to require a gradient when the output was being computed already."""
    late: Flagged | None = None
    below = reach([output])
    for event in reversed(trace.events):
        if isinstance(event, Flagged) and event.tensor is wanted and event.value:
            late = event
        elif late is not None and isinstance(event, Built) and event.node in below:
            return late
    return None


def _of_input(trace: Trace, source: Source, failure: Failed, wanted: Tensor, cause: cuts.Cause) -> Report:
    """`autograd.grad` with regard to a tensor that requires no gradient."""
    name = _asked(trace, source, failure, wanted)
    why = "" if cause.how == "plain" else f": {cuts.verdict(trace, source, cause, failure.site)}"
    steps = cuts.steps(trace, source, cause) if cause.site is not None else ()
    return Report(
        failure.site,
        f"nothing can be differentiated with regard to `{name}`, which requires no gradient{why}",
        (*steps, Step(failure.site, "asks for its gradient")),
        raised_at=failure.site,
        pytorch="RuntimeError: One of the differentiated Tensors does not require grad",
        help=f"make it require one before it is used: `{name}.requires_grad_()`"
        if name.isidentifier()
        else "make it require a gradient before it is used",
        fixes=source.proposed(requirement.required_before(trace, source, failure, wanted)),
    )


def _report(trace: Trace, source: Source, failure: Failed, root: Tensor) -> Report:
    cause = cuts.cause_of(trace, root)
    if cause.how != "late" and requirement.is_trained_else(trace, root):
        cause = cuts.frozen_upstream(trace, root) or cause
    name = _loss(trace, source, failure, root)
    fixes = source.proposed(_fixes(trace, source, cause, failure, root))
    return Report(
        failure.site,
        f"nothing leads back from `{name}`: {cuts.verdict(trace, source, cause, failure.site)}",
        (*cuts.steps(trace, source, cause), Step(failure.site, "there is no graph to back-propagate through")),
        raised_at=failure.site,
        pytorch=f"RuntimeError: {MESSAGES[FaultKind.NO_GRAD]}",
        help=cuts.way_out(cause),
        alternatives=source.proposed(_forced(trace, source, failure)),
        fixes=fixes,
    )


def _fixes(trace: Trace, source: Source, cause: cuts.Cause, failure: Failed, root: Tensor) -> Iterator[Fix]:
    """The fixes for the nearest cut, and for others upstream of it, each once."""
    part, sure = requirement.put_in(root)
    given = _is_given(trace, root)
    part = None if given else part
    layer = requirement.thawed(trace, source, failure.site, part, failure.kept, sure=sure or given)
    others = [each for each in cuts.other_causes(root, cause) if each.how not in SWITCHED_OFF]
    found = [
        *(layer if given or (cause.how == "frozen" and part is not None) else ()),
        *cut_fixes.undo(trace, source, cause, failure.site),
        *(on_tensors.on_tensors(trace, source, cause) if cause.how == "plain" else ()),
        *requirement.recomputed(trace, source, cause, failure, root),
    ]
    for each in others:
        found += cut_fixes.undo(trace, source, each, failure.site)
    first = {fix.edits: fix for fix in reversed(found)}
    yield from reversed(first.values())


def _is_given(trace: Trace, root: Tensor) -> bool:
    """True if an optimizer has a tensor that the loss was computed from, and that requires no gradient."""
    given = {id(each) for event in trace.of(Given) for each in event.parameters if not each.is_parameter}
    return any(id(each) in given and not each.requires_grad for each in root.lineage())


def _forced(trace: Trace, source: Source, failure: Failed) -> Iterator[Advice]:
    """The advice against what only silences the error."""
    call, statement = call_of(trace, failure.site.node), statement_of(trace, failure.site.node)
    if call is None or not isinstance(call.func, ast.Attribute):
        return
    document = source.document(failure.site)
    text = f"{edits.flat(document, call.func.value)}.requires_grad_()"
    edit = edits.insert_before(document, statement, text)
    refuted = Fix.by(Repair(Way.REQUIRE, text=text), Safety.UNSAFE, () if edit is None else (edit,))
    said = "not a way out: requires_grad_() on the loss silences the error, and no parameter learns"
    yield Advice(said, refuted=refuted)


def _loss(trace: Trace, source: Source, failure: Failed, root: Tensor) -> str:
    """The program's name for the loss at the call that fails."""
    call = call_of(trace, failure.site.node)
    if call is not None and isinstance(call.func, ast.Attribute) and call.func.attr == "backward" and not call.args:
        return source.short(failure.site, call.func.value, 30)
    name = name_of(trace, source, root, failure.site)
    return _limited(name)


def _asked(trace: Trace, source: Source, failure: Failed, wanted: Tensor) -> str:
    """The program's name for the tensor whose gradient is asked for, or for the list that it is in."""
    name = name_of(trace, source, wanted, failure.site)
    call = call_of(trace, failure.site.node)
    given = next((each.value for each in call.keywords if each.arg == "inputs"), None) if call is not None else None
    if given is None and call is not None and len(call.args) > 1:
        given = call.args[1]
    if isinstance(given, (ast.Name, ast.Attribute)) and source.text(failure.site, given) != name:
        name = source.text(failure.site, given)
    return _limited(name)


def _limited(name: str) -> str:
    return name if len(name) <= 30 else name[:29] + "…"


RULE = Rule(
    "detached-loss",
    "detach",
    Level.ERROR,
    "`backward()` on a tensor that is cut off from every parameter, or was never computed from one",
    find,
    raises=(
        r"does not require grad and does not have a grad_fn",
        r"differentiated Tensors? .*(?:not have been used in the graph|does not require grad)",
    ),
    pytorch=f"RuntimeError: {MESSAGES[FaultKind.NO_GRAD]}",
)
