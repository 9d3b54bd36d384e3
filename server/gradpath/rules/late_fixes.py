"""Gradients that were asked for too late: what was computed before is computed again, or the question comes earlier."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Fix, Safety
from gradpath.interpreter.trace import BackwardRan, Bound, Built, Failed, Flagged, Site, Stepped, Trace
from gradpath.repairs import Repair, Way
from gradpath.rules import edits
from gradpath.rules.cut_fixes import makes_optimizer
from gradpath.rules.cuts import Cause
from gradpath.rules.graphs import is_drawn, reached_leaves
from gradpath.rules.rebuilding import run_again, written_again
from gradpath.rules.report import Source
from gradpath.rules.stories import lifted
from gradpath.rules.syntax import block_of, function_of, statement_of
from gradpath.source.index import names_in


def recomputed(trace: Trace, source: Source, cause: Cause, failure: Failed, root: Tensor) -> Iterator[Fix]:
    """What was computed while its parameters were frozen is computed again once they require a gradient."""
    if cause.how != "late" or cause.site is None:
        return
    near = failure.site
    thawed, last = statement_of(trace, lifted(cause.site, near).node), statement_of(trace, near.node)
    if thawed is None or last is None:
        return
    stale = {
        id(each) for each in (root, *root.ancestors()) if not each.requires_grad and cause.tensor in each.ancestors()
    }
    before: dict[ast.stmt, Tensor] = {}
    for event in trace.of(Bound):
        if event.site.caller is not near.caller or event.tensor is None or id(event.tensor) not in stale:
            continue
        statement = statement_of(trace, event.site.node)
        if isinstance(statement, ast.Assign) and statement.lineno < thawed.lineno:
            before[statement] = event.tensor
    readers = [each for each in _body(trace, near) if each.lineno > thawed.lineno and _reads(each, before)]
    first = min([*readers, last], key=lambda each: each.lineno)
    statements = sorted(before, key=lambda each: each.lineno)
    if not 0 < len(statements) <= 3:
        return
    again = written_again(trace, source.document(near), statements, thawed, first)
    if again is not None:
        edit, target, _ = again
        repair = run_again(Way.AGAIN_RECORDED, statements, target.lineno)
        safety = Safety.SAFE if _is_the_same(trace, list(before.values())) else Safety.UNSAFE
        yield Fix.by(repair, safety, (edit,), preferred=True, rewrite=True)


def _body(trace: Trace, near: Site) -> list[ast.stmt]:
    return [each for each in trace.visits if isinstance(each, (ast.Assign, ast.AugAssign, ast.Expr, ast.Return))]


def _reads(statement: ast.stmt, made: dict[ast.stmt, Tensor]) -> bool:
    names = {
        part.id
        for each in made
        for part in ast.walk(each)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
    return bool(names & names_in(statement))


def _is_the_same(trace: Trace, tensors: list[Tensor]) -> bool:
    """Whether what is computed again has the values that it had: nothing is drawn, no parameter was updated."""
    behind = [each for tensor in tensors for each in (tensor, *tensor.ancestors())]
    updated = {each.storage for step in trace.of(Stepped) for each in step.updated}
    if any(is_drawn(each.operation) for each in behind):
        return False
    return not any(each.is_parameter and each.storage in updated for each in behind)


def asked_in_time(trace: Trace, source: Source, failure: Failed, wanted: Tensor) -> Iterator[Fix]:
    """`x.requires_grad_()` before the first statement that computes with `x` what is then differentiated."""
    uses = [event.site for event in trace.of(Built) if any(wanted in each for each in event.inputs.values())]
    uses = uses or _uses_without_graph(failure, wanted)
    for frame in failure.site.frames():
        kept = next(
            (
                each
                for each in failure.kept
                if each.caller is frame.caller and each.form.kind == "tensor" and each.form.tensors[0] is wanted
            ),
            None,
        )
        use = next((site for each in uses for site in each.frames() if site.caller is frame.caller), None)
        statement = None if use is None else statement_of(trace, use.node)
        if kept is None or statement is None or use is None or use.node is failure.site.node:
            continue
        text = f"{kept.text}.requires_grad_()"
        edit = edits.insert_before(source.document(use), statement, text)
        if edit is not None:
            repair = Repair(Way.REQUIRE_BEFORE, (kept.text,), (statement.lineno,), text)
            yield Fix.by(repair, Safety.SAFE, (edit,), preferred=True)
            return


def _uses_without_graph(failure: Failed, wanted: Tensor) -> list[Site]:
    """Where what is differentiated was computed from a tensor, with no graph as yet; earliest first."""
    roots = failure.error.call.roots if failure.error is not None and failure.error.call is not None else ()
    behind = [each for root in roots for each in (root, *root.ancestors()) if any(one is wanted for one in each.maker)]
    return [each.origin for each in reversed(behind) if isinstance(each.origin, Site)]


def thawed_again(trace: Trace, source: Source, failure: Failed, root: Tensor) -> Iterator[Fix]:
    """`requires_grad(critic, True)` before the loss, where the iteration before has ended with the same and `False`."""
    near = failure.site
    last = statement_of(trace, near.node)
    block = block_of(trace, last) if last is not None else None
    trained = {id(leaf) for event in trace.of(BackwardRan) for leaf in reached_leaves(event)}
    frozen = [each for each in root.ancestors() if each.is_parameter and not each.requires_grad]
    switch = _switch_beside(trace, block or [], frozen)
    if block is None or switch is None or not all(id(each) in trained for each in frozen):
        return
    stale = [each for each in (root, *root.ancestors()) if any(one in frozen for one in each.ancestors())]
    made = [lifted(each.origin, near) for each in stale if isinstance(each.origin, Site)]
    lines = [site.line for site in made if site.caller is near.caller]
    first = next((each for each in block if any(each.lineno <= line <= (each.end_lineno or 0) for line in lines)), None)
    document = source.document(near)
    texts = edits.lines_to_move(document, switch)
    if first is None or texts is None or first.lineno >= switch.lineno or len(" ".join(texts).split("False")) != 2:
        return
    edit = edits.insert_before(document, first, *(text.replace("False", "True") for text in texts))
    if edit is not None:
        text = texts[-1].strip().replace("False", "True")
        repair = Repair(Way.UNDO_BEFORE, lines=(switch.lineno,), text=text, near=first.lineno)
        yield Fix.by(repair, Safety.SAFE, (edit,), preferred=True)


def _switch_beside(trace: Trace, block: list[ast.stmt], frozen: list[Tensor]) -> ast.stmt | None:
    """The one statement of a block that made parameters require no gradient."""
    flagged = [event for event in trace.of(Flagged) if not event.value and any(event.tensor is one for one in frozen)]
    nodes = {id(frame.node) for event in flagged for frame in event.site.frames()}
    found = [each for each in block if any(id(part) in nodes for part in ast.walk(each))]
    return found[0] if len(found) == 1 and isinstance(found[0], (ast.Expr, ast.For)) else None


def thawed_part(trace: Trace, source: Source, cause: Cause, failure: Failed, root: Tensor) -> Iterator[Fix]:
    """`model.fc.requires_grad_()` before the optimizer, for a layer that was put into a model that is frozen since.

    It is the last layer before the loss, and it was made outside of the model's own `__init__`.
    """
    if cause.how != "frozen":
        return
    last = next((each for each in root.ancestors() if each.is_parameter and not each.requires_grad), None)
    if last is None or not isinstance(last.origin, Site):
        return
    maker = function_of(trace, last.origin.node)
    if (maker is not None and maker.name == "__init__") or not _was_put_in(last.origin, root):
        return
    for frame in failure.site.frames():
        kept = next((each for each in failure.kept if each.caller is frame.caller and last in each.form.tensors), None)
        layer = kept.text.rpartition(".")[0] if kept is not None and kept.form.kind == "tensor" else ""
        function = function_of(trace, frame.node)
        for statement in trace.visits if layer else ():
            if (
                isinstance(statement, ast.Assign)
                and makes_optimizer(statement.value)
                and not _is_listed(statement.value)
                and function_of(trace, statement) is function
            ):
                edit = edits.insert_before(source.document(frame), statement, f"{layer}.requires_grad_()")
                if edit is not None:
                    repair = Repair(Way.TRAIN, (layer,), text=f"{layer}.requires_grad_()")
                    yield Fix.by(repair, Safety.SAFE, (edit,), preferred=True)
                return


def _was_put_in(origin: Site, root: Tensor) -> bool:
    """Whether other frozen parameters were made by another statement than the last one."""
    others = [each.origin for each in root.ancestors() if each.is_parameter and not each.requires_grad]
    frames = [frame for each in others if isinstance(each, Site) for frame in each.frames()]
    return any(frame.caller is origin.caller and frame.node is not origin.node for frame in frames)


def _is_listed(call: ast.expr) -> bool:
    """Whether an optimizer is given a list of parameters, which says itself what is to be trained."""
    return isinstance(call, ast.Call) and bool(call.args) and isinstance(call.args[0], ast.List)
