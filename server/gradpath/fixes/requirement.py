"""Gradients that nothing required in time: what is to be trained requires one before it is used, or is used again."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Fix, Safety
from gradpath.findings.cuts import Cause
from gradpath.findings.graphs import is_drawn, reached_leaves
from gradpath.findings.report import Source
from gradpath.findings.stories import lifted
from gradpath.findings.syntax import ancestry, block_of, function_of, statement_of
from gradpath.fixes import edits
from gradpath.fixes.moving import placed, removed, repair_of
from gradpath.interpreter.events import BackwardRan, Bound, Built, Failed, Kept, Site
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document
from gradpath.source.index import inside, names_in, stored_names


def optimizers(trace: Trace) -> dict[ast.Assign, Site]:
    """The statements that made optimizers, each with the place in it."""
    made = {statement_of(trace, event.site.node): event.site for event in reversed(trace.of(Given))}
    return {each: site for each, site in made.items() if isinstance(each, ast.Assign)}


def required_earlier(trace: Trace, source: Source, site: Site) -> Iterator[Fix]:
    """`x.requires_grad_()` at `site` moves before the first statement that computes with `x`."""
    statement = statement_of(trace, site.node)
    for first in block_of(trace, statement):
        shares = names_in(first) & names_in(statement)
        moved = placed(trace, source.document(site), [statement], first) if shares else None
        if moved is not None:
            yield Fix.by(repair_of(Way.MOVE_BEFORE, [statement], near=first.lineno), Safety.SAFE, moved, rewrite=True)
            return


def required_before(trace: Trace, source: Source, failure: Failed, wanted: Tensor) -> Iterator[Fix]:
    """`x.requires_grad_()` before the first statement that reads `x`, of those that lead to its use."""
    uses = [event.site for event in trace.of(Built) if any(wanted in each for each in event.inputs.values())]
    for site in (*uses, *_uses_without_graph(failure, wanted), failure.site):
        for frame in site.frames():
            kept = (each for each in failure.kept if each.caller is frame.caller and each.form.tensors == (wanted,))
            name = next((each.text for each in kept), None)
            if name is None:
                continue
            document, near = source.document(frame), statement_of(trace, frame.node)
            made = [each.site.line for each in trace.of(Bound) if each.tensor is wanted and each.name == name]
            later = (each for each in block_of(trace, near) if each.lineno > max(made, default=0))
            place = next((each for each in later if _reads(each, name)), near)
            text = f"{name}.requires_grad_()"
            repair = Repair(Way.REQUIRE_BEFORE, (name,), (place.lineno,), text)
            yield from Fix.of(repair, Safety.SAFE, edits.insert_before(document, place, text))
            return


def _reads(statement: ast.stmt, name: str) -> bool:
    """True if a statement reads a variable or an attribute."""
    return any(ast.unparse(each) == name for each in inside(statement, ast.Name, ast.Attribute))


def _uses_without_graph(failure: Failed, wanted: Tensor) -> list[Site]:
    """Where what is differentiated was computed from a tensor, with no graph as yet; earliest first."""
    roots = failure.error.call.roots if failure.error is not None and failure.error.call is not None else ()
    found = [each for root in roots for each in root.lineage() if any(one is wanted for one in each.maker)]
    return [each.origin for each in reversed(found)]


def thawed(
    trace: Trace,
    source: Source,
    near: Site,
    part: Tensor | None = None,
    kept: Sequence[Kept] = (),
    *,
    sure: bool = True,
) -> Iterator[Fix]:
    """`model.requires_grad_()` before the optimizer that is given frozen parameters.

    Or that of the layer with `part` alone, which the running bodies `kept`; unless it is `sure` that this is what is
    to be trained, a person decides.
    """
    for frame in near.frames():
        document = source.document(frame)
        held = (each.text for each in kept if each.caller is frame.caller and each.form.tensors[:1] == (part,))
        layer = next(held, "").rpartition(".")[0]
        for statement in optimizers(trace):
            if function_of(trace, statement) is function_of(trace, frame.node):
                names = _trained(document, statement) if part is None else [layer]
                edit = edits.insert_before(document, statement, *(f"{name}.requires_grad_()" for name in names))
                if any(names):
                    repair = Repair(Way.TRAIN, (names[0],), text=f"{names[0]}.requires_grad_()")
                    yield from Fix.of(repair, Safety.SAFE if sure else Safety.UNSAFE, edit, eligible=sure)
                return


def _trained(document: Document, made: ast.Assign) -> list[str]:
    """What an optimizer is given: `model` of `Adam(model.parameters())`, each of a list."""
    match made.value:
        case ast.Call(args=[ast.Call(func=ast.Attribute(attr="parameters", value=module), args=[]), *_]):
            return [edits.flat(document, module)]
        case ast.Call(args=[ast.List(elts=listed), *_]) if all(isinstance(e, ast.Name | ast.Attribute) for e in listed):
            return [edits.flat(document, each) for each in listed]
    return []


def put_in(root: Tensor) -> tuple[Tensor | None, bool]:
    """The last parameter before the loss, if it is frozen, and other statements made the rest of the frozen model.

    With True if calls made all of that, so that this layer alone was put in here.
    """
    frozen = [each for each in root.ancestors() if each.is_parameter and not each.requires_grad]
    last = frozen[0].origin if frozen else None
    made = [each.origin for each in frozen]
    if not isinstance(last, Site):
        return None, False
    beside = [any(f.caller is last.caller and f.node is not last.node for f in each.frames()) for each in made]
    if not any(beside):
        return None, False
    return frozen[0], all(each.node is last.node or each.caller is not last.caller for each in made)


def recomputed(trace: Trace, source: Source, cause: Cause, failure: Failed, root: Tensor) -> Iterator[Fix]:
    """What was computed while its parameters were frozen is computed again once they require a gradient."""
    if cause.how != "late" or cause.site is None:
        return
    near = failure.site
    changed, last = statement_of(trace, lifted(cause.site, near).node), statement_of(trace, near.node)
    upstream = tuple(root.lineage())
    stale = {id(each) for each in upstream if not each.requires_grad and cause.tensor in each.ancestors()}
    bound = [each for each in trace.of(Bound) if each.site.caller is near.caller and id(each.tensor) in stale]
    made = [statement_of(trace, each.site.node) for each in bound]
    statements = list(dict.fromkeys(each for each in made if each.lineno < changed.lineno))
    if not statements:
        return
    names = {name for each in statements for name in stored_names(each)}
    between = (each for each in block_of(trace, changed) if changed.lineno < each.lineno < last.lineno)
    reader = next((each for each in between if names_in(each) & names), last)
    again = placed(trace, source.document(near), statements, reader, again=True)
    if again is not None:
        repair = repair_of(Way.AGAIN_RECORDED, statements, near=again[0].range.start.line)
        drawn = any(is_drawn(each.operation) for each in upstream)
        yield Fix.by(repair, Safety.UNSAFE if drawn else Safety.SAFE, again, rewrite=True)


def is_trained_else(trace: Trace, root: Tensor) -> bool:
    """True if all that is frozen of what the loss was computed from has been trained before."""
    trained = {id(leaf) for event in trace.of(BackwardRan) for leaf in reached_leaves(event)}
    frozen = [each for each in root.lineage() if each.is_parameter and not each.requires_grad]
    return bool(frozen) and all(id(each) in trained for each in frozen)


def unfrozen(trace: Trace, source: Source, frozen: Site, near: Site) -> Iterator[Fix]:
    """The statement goes that froze what is needed at `near`, in the outermost body that has one for this."""
    shared = {frame.node for frame in near.frames()}
    for frame in (each for each in reversed(frozen.frames()) if each.node not in shared):
        document, statement = source.document(frame), statement_of(trace, frame.node)
        for outer in reversed(ancestry(trace, statement)[:-1]):
            if not isinstance(outer, ast.For) or outer.body != [statement]:
                break
            statement = outer
        match statement:
            case ast.For() | ast.Expr() | ast.Assign(targets=[ast.Attribute(attr="requires_grad")]):
                text = edits.flat(document, statement).partition(":")[0]
                repair = Repair(Way.DELETE_LINE, lines=(statement.lineno,), text=text)
                yield from Fix.of(repair, Safety.UNSAFE, removed(trace, document, statement))
                return
