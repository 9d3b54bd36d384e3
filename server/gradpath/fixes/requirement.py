"""What is to be trained: it requires a gradient in time, is used again, and an optimizer has it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import partial

from gradpath.autograd.tensor import UNSEEN, Tensor
from gradpath.diagnostic import Edit, Fix, Range, Safety
from gradpath.findings.cuts import Cause
from gradpath.findings.definitions import given_to
from gradpath.findings.graphs import is_drawn, reached_leaves
from gradpath.findings.parameters import ways_of
from gradpath.findings.report import Source
from gradpath.findings.stories import lifted, target_of
from gradpath.findings.syntax import ancestry, block_of, call_of, function_of, statement_of
from gradpath.fixes import edits
from gradpath.fixes.moving import placed, removed, repair_of
from gradpath.fixes.substitution import substituted
from gradpath.interpreter.events import BackwardRan, Bound, Built, Failed, Kept, Site, Stepped
from gradpath.interpreter.ownership import Given, Named, Overlooked
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document
from gradpath.source.index import holds, inside, names_in, pairs_of, stored_names


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
    sites = (*uses, *_uses_without_graph(failure, wanted), failure.site)
    for frame in (each for site in sites for each in site.frames()):
        for name in (e.text for e in failure.kept if e.caller is frame.caller and e.form.tensors == (wanted,)):
            near = statement_of(trace, frame.node)
            made = [each.site.line for each in trace.of(Bound) if each.tensor is wanted and each.name == name]
            later = (each for each in block_of(trace, near) if each.lineno > max(made, default=0))
            reads = ((e, [ast.unparse(one) for one in inside(e, ast.Name, ast.Attribute)]) for e in later)
            place, text = next((each for each, read in reads if name in read), near), f"{name}.requires_grad_()"
            repair = Repair(Way.REQUIRE_BEFORE, (name,), (place.lineno,), text)
            yield from Fix.of(repair, Safety.SAFE, edits.insert_before(source.document(frame), place, text))
            return


def _uses_without_graph(failure: Failed, wanted: Tensor) -> list[Site]:
    """Where what is differentiated was computed from a tensor, with no graph as yet; earliest first."""
    roots = failure.error.call.roots if failure.error is not None and failure.error.call is not None else ()
    found = [each for root in roots for each in root.lineage() if any(one is wanted for one in each.maker)]
    return [each.origin for each in reversed(found)]


def thawed(
    trace: Trace, source: Source, at: Site, part: Tensor | None = None, kept: Sequence[Kept] = (), *, sure: bool = True
) -> Iterator[Fix]:
    """`model.requires_grad_()` before the optimizer that is given frozen parameters.

    Or that of the layer with `part` alone, which the running bodies `kept`; unless it is `sure` that this is what is
    to be trained, a person decides.
    """
    for frame in at.frames():
        document = source.document(frame)
        held = (each.text for each in kept if each.caller is frame.caller and each.form.tensors[:1] == (part,))
        layer = next(held, "").rpartition(".")[0]
        for statement in optimizers(trace):
            if function_of(trace, statement) is function_of(trace, frame.node):
                names = _trained(document, statement) if part is None else [layer]
                lines = [f"{name}.requires_grad_()" for name in names if name]
                repair = Repair(Way.TRAIN, tuple(names[:1]), text=lines[0] if lines else "")
                edit = edits.insert_before(document, statement, *lines) if lines else None
                yield from Fix.of(repair, Safety.SAFE if sure else Safety.UNSAFE, edit, eligible=sure)
                return


def _trained(document: Document, made: ast.Assign) -> list[str]:
    """What an optimizer is given: `model` of `Adam(model.parameters())`, each of a list."""
    match made.value:
        case ast.Call(args=[ast.Call(func=ast.Attribute(attr="parameters", value=module), args=[]), *_]):
            return [edits.flat(document, module)]
        case ast.Call(args=[ast.List(elts=listed), *_]):
            return [edits.flat(document, e) for e in listed if isinstance(e, ast.Name | ast.Attribute)]
    return []


def put_in(root: Tensor) -> tuple[Tensor | None, bool]:
    """The last parameter before the loss, if it is frozen, and other statements made the rest of the frozen model.

    With True if calls made all of that, so that this layer alone was put in here.
    """
    frozen = [each for each in root.ancestors() if each.is_parameter and not each.requires_grad]
    last, made = frozen[0].origin if frozen else None, [each.origin for each in frozen]
    if not isinstance(last, Site):
        return None, False
    beside = any(f.caller is last.caller and f.node is not last.node for each in made for f in each.frames())
    alone = all(each.node is last.node or each.caller is not last.caller for each in made)
    return (frozen[0], alone) if beside else (None, False)


def recomputed(trace: Trace, source: Source, cause: Cause, failure: Failed, root: Tensor) -> Iterator[Fix]:
    """What was computed while its parameters were frozen is computed again once they require a gradient."""
    if cause.how != "late" or cause.site is None:
        return
    near = failure.site
    changed, last = statement_of(trace, lifted(cause.site, near).node), statement_of(trace, near.node)
    upstream = tuple(root.lineage())
    stale = {id(each) for each in upstream if not each.requires_grad and cause.tensor in each.ancestors()}
    bound = (each.site for each in trace.of(Bound) if each.site.caller is near.caller and id(each.tensor) in stale)
    made = dict.fromkeys(statement_of(trace, each.node) for each in bound)
    statements = [each for each in made if each.lineno < changed.lineno]
    names = {name for each in statements for name in stored_names(each)}
    between = (each for each in block_of(trace, changed) if changed.lineno < each.lineno < last.lineno)
    reader = next((each for each in between if names_in(each) & names), last)
    again = placed(trace, source.document(near), statements, reader, again=True) if statements else None
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
            if isinstance(outer, ast.For) and outer.body == [statement]:
                statement = outer
        match statement:
            case ast.For() | ast.Expr() | ast.Assign(targets=[ast.Attribute(attr="requires_grad")]):
                text = edits.flat(document, statement).partition(":")[0]
                repair = Repair(Way.DELETE_LINE, lines=(statement.lineno,), text=text)
                yield from Fix.of(repair, Safety.UNSAFE, removed(trace, document, statement))
                return


def reached(trace: Trace, source: Source, step: Stepped) -> Iterator[Fix]:
    """Fixes after which the parameters of the optimizer that steps get gradients.

    It is made after what last makes its model again, or gives it a new part: `model.fc = nn.Linear(8, 3)`.
    """
    for making, site in optimizers(trace).items() if len(optimizers(trace)) == 1 else ():
        names = {ast.unparse(each) for each in inside(making.value, ast.Name, ast.Attribute)} - {"self"}
        owners = tuple(f"{name}." for name in names)
        later = (each for each in trace.visits if isinstance(each, ast.Assign) and each.lineno > making.lineno)
        bindings = [each for each in later if any(f"{ast.unparse(one)}.".startswith(owners) for one in each.targets)]
        for binding in bindings[-1:]:
            yield from _remade(trace, source.document(step.site), making, binding)
        yield from of_others(trace, source, site)


def given_too(
    trace: Trace, source: Source, given: Given, made: Site | None, part: str = "", *, is_leaf: bool = False
) -> Iterator[Fix]:
    """The optimizer gets a `part`, which the statement at `made` binds: when it is made, later, again, or by itself.

    Where nothing binds it, the part is an argument of the function. A leaf is given itself.
    """
    part = re.sub(r"\.(\d+)", r"[\1]", part)
    parameters = f"[{part}]" if is_leaf else f"{part}.parameters()"
    call, document = call_of(trace, given.site.node), source.document(given.site)
    if call is not None and call.args and part:
        text, item = edits.flat(document, call.args[0]), part if is_leaf else f"*{parameters}"
        match call.args[0]:
            case ast.List(elts=[ast.Dict(), *_] as groups):  # A parameter by itself is no group.
                end = document.range_of(groups[-1]).end
                change = Edit(document.path, Range(end, end), f', {{"params": {parameters}}}')
            case ast.BinOp() | ast.List():
                more = parameters if is_leaf else f"list({parameters})"
                change = edits.replace(document, call.args[0], f"{text} + {more}")
            case _:
                change = edits.replace(document, call.args[0], f"[*{text}, {item}]")
        yield Fix.by(Repair(Way.LEAF_TOO if is_leaf else Way.PARAMETERS_TOO, (part,)), Safety.UNSAFE, (change,))
    making = (statement_of(trace, frame.node) for frame in given.site.frames())
    for own in [each for each in making if isinstance(each, ast.Assign)][:1]:
        for frame in () if made is None else made.frames():
            binding = statement_of(trace, frame.node)
            if isinstance(binding, ast.Assign | ast.Expr) and given.site.path == frame.path:
                yield from _remade(trace, source.document(frame), own, binding, part and parameters, part)


def _remade(
    trace: Trace, document: Document, making: ast.Assign, binding: ast.stmt, parameters: str = "", part: str = ""
) -> Iterator[Fix]:
    """The optimizer is made after the statement that binds what it lacks, gets its `parameters`, or is made again."""
    optimizer = edits.flat(document, making.targets[0])
    bound = edits.flat(document, binding.targets[0] if isinstance(binding, ast.Assign) else binding)
    chosen = set[str]()
    changed: ast.AST = binding.targets[0] if isinstance(binding, ast.Assign) else getattr(binding, "value", binding)
    changed = changed.func if isinstance(changed, ast.Call) else changed
    for outer in reversed(ancestry(trace, binding)[:-1]):  # What is done to each parameter is done after the loop.
        if isinstance(outer, ast.For) and stored_names(outer.target) & names_in(changed) and not holds(outer, making):
            binding, changed, chosen = outer, outer.iter, chosen | stored_names(outer.target)
    if function_of(trace, making) is function_of(trace, binding):
        after = edits.relocated(document, [making], partial(edits.insert_after, document, binding))
        yield from Fix.of(Repair(Way.OPTIMIZER_AFTER, (optimizer,), text=bound), Safety.UNSAFE, after)
    had = bound != part and parameters in ast.unparse(making)
    known = had or chosen & set(re.findall(r"\w+", part))
    if part and not known:  # Else it has some of these already, or they are more than one part.
        group = f'{optimizer}.add_param_group({{"params": {parameters}}})'
        added = edits.insert_after(document, binding, group)
        yield from Fix.of(Repair(Way.ADD_GROUP, (part,), text=group), Safety.UNSAFE, added)
    same = not chosen or "parameters(" in ast.unparse(making)  # Else it is made of what was put together before.
    again = edits.insert_after(document, binding, edits.flat(document, making)) if same else None
    yield from Fix.of(Repair(Way.OPTIMIZER_AGAIN, (optimizer,), text=bound), Safety.UNSAFE, again)


def of_others(trace: Trace, source: Source, made: Site) -> Iterator[Fix]:
    """`Adam(student.parameters())` for `Adam(teacher.parameters())`: of a module with gradients that nothing steps."""
    match call_of(trace, made.node):
        case ast.Call(args=[ast.Call(func=ast.Attribute(attr="parameters", value=module)), *_]):
            given = source.text(made, module)
        case _:
            return
    owned = {id(each) for event in trace.of(Stepped) for each in event.held}
    missed = {id(leaf): leaf for run in trace.of(BackwardRan) for leaf in reached_leaves(run) if id(leaf) not in owned}
    names = [leaf.label for leaf in missed.values() if leaf.operation == UNSEEN]
    found = (event for event in trace.of(Named) if not missed.keys().isdisjoint(ways_of(trace, event)))
    names += [target_of(source, event) for event in found]
    for name in dict.fromkeys(names):
        if name and name != given:
            yield from substituted(source, Repair(Way.PARAMETERS_OF, (name,)), {module: made}, name)


def registered(trace: Trace, source: Source, overlooked: Overlooked) -> Iterator[Fix]:
    """`nn.ModuleList` (or its kin) around what is put into an attribute, so that `parameters()` finds it."""
    statement, document = statement_of(trace, overlooked.site.node), source.document(overlooked.site)
    nn = source.called("torch.nn", document.path)
    pairs = {id(target): value for target, value in pairs_of(statement)}
    made = pairs.get(id(overlooked.site.node), getattr(statement, "value", None))
    if nn is None or made is None or not isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return
    kind = "Parameter" if overlooked.bare else "Module"
    wrapper = f"{nn}.{kind}{'Dict' if overlooked.kind == 'dict' else 'List'}"
    new = edits.put_into(document, made, wrapper)
    for each in _lists_in(trace, statement, made):
        new += edits.put_into(document, each, f"{nn}.{kind}List")
    yield Fix.by(Repair(Way.HOLD_IN, text=wrapper), Safety.UNSAFE, new)


def _lists_in(trace: Trace, statement: ast.Assign | ast.AnnAssign, made: ast.expr) -> Iterator[ast.expr]:
    """The lists that a function puts into the list that a statement has made: written in it, or appended."""
    targets = [target for target, value in pairs_of(statement) if value is made] or [getattr(statement, "target", made)]
    for each in given_to(trace, ast.unparse(targets[0])):
        match each:
            case ast.List(elts=items) if each is made:
                pass
            case ast.ListComp(elt=item) if each is made:
                items = [item]
            case _:
                items = [each] if function_of(trace, each) is function_of(trace, statement) else []
        yield from (item for item in items if isinstance(item, (ast.List, ast.ListComp)))
