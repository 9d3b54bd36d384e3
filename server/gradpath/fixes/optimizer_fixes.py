"""An optimizer that no backward reaches: made later, made of other parameters, or what cuts it off is undone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Fix, Safety
from gradpath.findings.cuts import cause_of_tensor
from gradpath.findings.graphs import reached_leaves
from gradpath.findings.report import Source
from gradpath.findings.syntax import ancestry, function_of
from gradpath.fixes import edits
from gradpath.fixes.cut_fixes import undo
from gradpath.fixes.moving import removed
from gradpath.fixes.requirement import optimizers
from gradpath.interpreter.trace import BackwardRan, Built, CutOff, Site, Stepped, Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import contents, names_in
from gradpath.source.nodes import nodes

MOST_CUTS = 4
"""Cuts that one fix undoes."""


def reached(trace: Trace, source: Source, step: Stepped, near: Site | None) -> Iterator[Fix]:
    """Fixes after which the parameters of the optimizer that steps get gradients; `near` is the backward."""
    makers = list(optimizers(trace))
    if len(makers) == 1:
        yield from _made_later(trace, source, step, makers[0])
        yield from _of_others(trace, source, near, makers[0])
    yield from _joined(trace, source, step, near)


def requiring(source: Source, step: Stepped) -> Iterator[Fix]:
    """`requires_grad=True` for the one new tensor that an optimizer has."""
    if len(step.parameters) == 1 and not step.parameters[0].maker and isinstance(step.parameters[0].origin, Site):
        made = step.parameters[0].origin
        change = None
        if isinstance(made.node, ast.Call):
            change = edits.add_keyword(source.document(made), made.node, "requires_grad", "True")
        if change is not None:
            yield Fix.by(Repair(Way.REQUIRE, text="requires_grad=True"), Safety.UNSAFE, (change,))


def _made_later(trace: Trace, source: Source, step: Stepped, made: ast.Assign) -> Iterator[Fix]:
    """The optimizer is made after what makes its model again, or gives it a new part: `model.fc = nn.Linear(8, 3)`."""
    document, function, names = source.document(step.site), function_of(trace, made), names_in(made.value)
    given = [
        (each, target)
        for each in trace.visits
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call) and each.lineno > made.lineno
        for target in each.targets
        if names & {part.id for part in contents(target).names} and function_of(trace, each) is function
    ]
    gone, lines = removed(trace, document, made), edits.lines_to_move(document, made)
    for last, target in given[-1:]:
        new = edits.insert_after(document, last, *lines) if lines is not None else None
        if gone is not None and new is not None:
            way = Way.OPTIMIZER_WHERE_MADE if isinstance(target, ast.Name) else Way.OPTIMIZER_WHERE_REPLACED
            repair = Repair(way, (edits.flat(document, target),), (last.lineno,))
            yield Fix.by(repair, Safety.UNSAFE, (gone, new), rewrite=True)


def _given(made: ast.Assign) -> ast.expr | None:
    """`model` in `optimizer = Adam(model.parameters(), lr=0.1)`."""
    match made.value:
        case ast.Call(args=[ast.Call(func=ast.Attribute(attr="parameters", value=module), args=[]), *_]):
            return module
        case _:
            return None


def _of_others(trace: Trace, source: Source, near: Site | None, made: ast.Assign) -> Iterator[Fix]:
    """`Adam(student.parameters())` instead of `Adam(teacher.parameters())`, where the backward reaches the student."""
    module = _given(made)
    if near is None or module is None:
        return
    called = {text for leaf in _missed(trace) for text in _modules(trace, source, near, leaf)}
    if len(called) != 1:
        return
    (name,) = called
    user = function_of(trace, near.node)
    attribute = name.startswith("self.") and _owner(trace, made) is not None
    here = function_of(trace, made) is user or (attribute and _owner(trace, made) is _owner(trace, near.node))
    document = source.document(near)
    if here and name != edits.flat(document, module):
        yield Fix.by(Repair(Way.PARAMETERS_OF, (name,)), Safety.UNSAFE, (edits.replace(document, module, name),))


def _missed(trace: Trace) -> list[Tensor]:
    """The parameters that a backward gives gradients to and that no optimizer steps."""
    owned = {id(tensor) for event in trace.of(Stepped) for tensor in event.parameters}
    found = {id(leaf): leaf for run in trace.of(BackwardRan) for leaf in reached_leaves(run) if leaf.is_parameter}
    return [leaf for leaf in found.values() if id(leaf) not in owned]


def _modules(trace: Trace, source: Source, near: Site, leaf: Tensor) -> Iterator[str]:
    """What the function of the backward calls the module that computes with a parameter: `net` where it is `net(x)`."""
    user = function_of(trace, near.node)
    given = () if user is None else (*user.args.args, *user.args.kwonlyargs)
    homes = _homes(trace, leaf) | {each.arg for each in given}
    for event in trace.of(Built):
        if not any(leaf is each for each in event.operands):
            continue
        for frame in event.site.frames():
            match frame.node:
                case ast.Call(func=ast.Name() | ast.Attribute() as called) if frame.caller is near.caller:
                    if ast.unparse(called) in homes:
                        yield source.text(frame, called)


def _homes(trace: Trace, leaf: Tensor) -> set[str]:
    """The variables and attributes that were bound to what was made together with a parameter: its module, perhaps."""
    made = {id(frame.node) for frame in leaf.origin.frames()} if isinstance(leaf.origin, Site) else set()
    return {
        ast.unparse(target)
        for each in trace.visits
        if isinstance(each, ast.Assign) and any(id(node) in made for node in nodes(each.value))
        for target in each.targets
    }


def _owner(trace: Trace, node: ast.AST) -> ast.ClassDef | None:
    return next((each for each in reversed(ancestry(trace, node)[:-1]) if isinstance(each, ast.ClassDef)), None)


def _joined(trace: Trace, source: Source, step: Stepped, near: Site | None) -> Iterator[Fix]:
    """What the backward uses of these parameters is no longer cut off: `.detach()` and `.data` go."""
    if near is None:
        return
    own = {id(each) for each in step.parameters}
    executed = {node for event in trace.of(BackwardRan) for node in event.executed}
    used = [each for event in trace.of(Built) if event.node in executed for each in event.operands]
    after_it = {id(one) for each in used for one in (each, *each.ancestors())}
    fixes: dict[int, Fix] = {}
    for event in trace.of(CutOff):
        cause = cause_of_tensor(event.tensor)
        below = any(id(each) in own for each in event.tensor.ancestors())
        if cause.how not in ("detach", "detach_", "data") or not below or id(event.tensor) not in after_it:
            continue
        found = next(undo(trace, source, cause, near), None)
        if found is not None and cause.site is not None:
            fixes.setdefault(id(cause.site.node), found)
    if 0 < len(fixes) <= MOST_CUTS:
        repairs = tuple(dict.fromkeys(repair for fix in fixes.values() for repair in fix.repairs))
        changes = {edit: None for fix in fixes.values() for edit in fix.edits}
        yield Fix.by(repairs, Safety.UNSAFE, tuple(changes))
