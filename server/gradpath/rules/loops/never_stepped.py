"""Gradients that each iteration, or call, clears and nothing ever uses: an optimizer that clears, and never steps."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from gradpath.diagnostic import Edit, Fix, Range, Safety
from gradpath.findings.gradient_flow import HARMLESS, Effect, flow_of, lent, looks_at_gradients
from gradpath.findings.graphs import reached_leaves
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import same_activation
from gradpath.findings.syntax import ancestry, assigned_to, call_of, function_of, statement_of
from gradpath.fixes import edits
from gradpath.interpreter.events import (
    BackwardRan,
    Cleared,
    Clipped,
    Discarded,
    Lent,
    Site,
    Stepped,
    iterations_between,
)
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import contents, inside, lines_of, methods_called, variables
from gradpath.source.nodes import statements
from gradpath.support.fast_dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, eq=False)
class NeverStepped:
    """A backward of which the gradients are `cleared` in the next iteration, unused; `last` is what changed them last.

    `name` is what the program calls the optimizer, and `instead` the step of another one, which has its own elsewhere.
    `branch` is the step of something else, such as a schedule, which a branch takes in place of that of the optimizer.
    `shared` says that another optimizer steps with gradients of the same backward; `aside`, that only the other arm of
    a branch has a step.
    """

    backward: BackwardRan
    cleared: Cleared
    last: Site
    name: str
    instead: Stepped | None = None
    branch: Site | None = None
    shared: bool = False
    aside: bool = False

    @property
    def site(self) -> Site:
        """Where it is reported: at what steps in its place, else at the backward that the step should follow."""
        return self.instead.site if self.instead is not None else self.branch or self.backward.site

    def _clears(self, trace: Trace) -> str:
        loop = iterations_between(self.backward.site.loops, self.cleared.site.loops)
        if loop is None:
            return "clears them, and nothing has used them"
        in_call = isinstance(trace.loops.get(loop), ast.FunctionDef | ast.AsyncFunctionDef)
        return f"clears them in the next {'call' if in_call else 'iteration'}, and nothing has used them"

    def report(self, trace: Trace, source: Source) -> Report:
        backward = source.short(self.backward.site, limit=32)
        if self.instead is not None:
            step, owner = self.site, _stepped(self.site)
            mended = source.text(step) if owner is None else source.text(step).replace(ast.unparse(owner), self.name)
            return Report(
                step,
                f"`{source.short(step, limit=32)}` comes after `{backward}`, and `{self.name}` never steps",
                (
                    Step(self.backward.site, f"computes the gradients for `{self.name}`"),
                    Step(step, "steps another optimizer, which steps elsewhere as well"),
                    Step(self.cleared.site, self._clears(trace)),
                ),
                help=f"call `{mended}` here",
                fixes=source.proposed(_stepping_instead(source, self, step)),
            )
        if self.branch is not None:
            branch = source.short(self.branch, limit=32)
            return Report(
                self.branch,
                f"`{branch}` runs in place of `{self.name}.step()`: nothing uses the gradients",
                (
                    Step(self.backward.site, f"computes the gradients for `{self.name}`"),
                    Step(self.branch, "the other branch steps"),
                    Step(self.cleared.site, "clears them in the next iteration, and nothing has used them"),
                ),
                help=f"call `{self.name}.step()` in both branches",
                fixes=source.proposed(_stepping_as_well(trace, source, self, self.branch)),
            )
        whose = f"the gradients that `{backward}` gives it" if self.shared else f"the gradients of `{backward}`"
        return Report(
            self.site,
            f"nothing uses {whose}: `{self.name}` {'steps in the other branch alone' if self.aside else 'never steps'}",
            (
                Step(self.backward.site, "computes the gradients"),
                Step(self.cleared.site, self._clears(trace)),
            ),
            help=f"call `{self.name}.step()` after the backward",
            fixes=source.proposed(_stepping(trace, source, self)),
        )


def never_stepped(trace: Trace, source: Source) -> Iterator[NeverStepped]:
    """The clearings in a loop that throw away what a backward gave, by optimizers that step on no path.

    Other code that has the optimizer cannot help it: the gradients are gone before the loop ends. A backward that is
    for another optimizer, too, is told only where no backward is for this one alone.
    """
    cleared = [event for event in trace.of(Cleared) if event.site.loops]
    found: dict[tuple[ast.AST, int], NeverStepped] = {}
    for event in cleared:
        key = event.site.node, id(event.owner)
        if key not in found and not _may_be_used(trace, event):
            each = _thrown_away(trace, source, event)
            if each is not None and not looks_at_gradients(trace) and not _is_being_written(trace, source, each):
                found[key] = each
    alone = {each.name for each in found.values() if not each.shared}
    yield from (each for each in found.values() if not each.shared or each.name not in alone)


def _is_being_written(trace: Trace, source: Source, found: NeverStepped) -> bool:
    """True if nothing but a bare name follows in the file: the step may be what is typed next."""
    statement = statement_of(trace, found.last.node)
    end = statement.end_lineno or statement.lineno
    return all(
        each.lineno <= end or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Name | ast.Attribute))
        for each in statements(source.tree(found.last.path).body)
    )


def _may_be_used(trace: Trace, cleared: Cleared) -> bool:
    """True if a step, be it of another optimizer, has or may have what is cleared."""
    own = _cleared_by(trace, cleared)
    for step in trace.of(Stepped):
        theirs = set(map(id, step.held))
        seen = (step.known or bool(step.unseen)) and bool(own)
        if step.optimizer is cleared.owner or not seen or not own.isdisjoint(theirs):
            return True
    return False


def _cleared_by(trace: Trace, cleared: Cleared) -> set[int]:
    """What is cleared, by identity; empty where it is not known.

    What a model that is not seen has is known once it was called, which may be after the first clearing.
    """
    same = [each for each in trace.of(Cleared) if each.owner is cleared.owner and each.owner is not None] or [cleared]
    return {id(tensor) for each in same for tensor in each.tensors} if any(each.known for each in same) else set()


def _is_called_for_effect(trace: Trace, run: BackwardRan, cleared: Cleared) -> bool:
    """True if something unseen is called between a backward and a clearing, without an argument: `trainer.update()`."""
    events = trace.among(BackwardRan, Cleared, Discarded)
    between = events[events.index(run) : events.index(cleared)]
    unseen = (each for each in between if isinstance(each, Discarded) and each.unseen not in _NO_STEPS)
    called = (each.site.node for each in unseen if not each.library.startswith(HARMLESS))
    return any(isinstance(each, ast.Call) and not each.args and not each.keywords for each in called)


_NO_STEPS = frozenset({"", "backward", "empty_cache", "eval", "flush", "refresh", "synchronize", "train", "zero_grad"})


def _is_made_here(trace: Trace, cleared: Cleared) -> bool:
    return any(given.optimizer is cleared.owner for given in trace.of(Given))


def _is_for_another(trace: Trace, cleared: Cleared, run: BackwardRan, instead: Stepped | None) -> bool:
    """True if another optimizer steps with the gradients of a backward, and the one that clears belongs to other code.

    A program that steps it in another phase clears it here, so that the gradients of this phase do not pile up. So it
    does with a model, whoever trains it; but the step of another optimizer `instead` may be meant to use this backward.
    """
    if not cleared.steps and instead is None:
        return _serves_another(trace, cleared, run)
    meant = instead is None or _was_cleared_for_it(trace, instead, run)
    return meant and not _is_made_here(trace, cleared) and _serves_another(trace, cleared, run)


def _serves_another(trace: Trace, cleared: Cleared, run: BackwardRan) -> bool:
    """True if another optimizer than the one that clears steps with gradients of a backward."""
    reached = set(map(id, reached_leaves(run)))
    steps = (each for each in trace.of(Stepped) if each.optimizer is not cleared.owner)
    return any(not reached.isdisjoint(map(id, each.updated)) for each in steps)


def _thrown_away(trace: Trace, source: Source, first: Cleared) -> NeverStepped | None:
    """The backward whose gradients a repeated clearing discards: the one between two of its runs."""
    name = _name_of(trace, source, first)
    if name is None:
        return None
    others = _steps_elsewhere(trace, source, first, name)
    branches = {each: _in_its_place(trace, each) for each in others}
    arrived: BackwardRan | None = None
    begun, made = False, _is_made_here(trace, first)
    shared = not made or any(event.reaches(first.owner) for event in lent(trace))
    again = [each for each in trace.of(Cleared) if each.site.node is first.site.node and each.owner is first.owner]
    for entry in flow_of(trace):
        event = entry.event
        if event is first:
            begun, arrived = True, None
        elif not begun:
            continue
        elif isinstance(event, BackwardRan) and entry.effect is Effect.ARRIVES:
            arrived = event if arrived is None and _gives_any(trace, event, first) else arrived
        elif isinstance(event, Cleared) and event.site.node is first.site.node:
            if len(again) > 1 and (event.owner is not first.owner or (arrived is None and not first.steps)):
                continue  # One of several models that a loop clears, or each phase before its own backward.
            loop = iterations_between(first.site.loops, event.site.loops)
            around = trace.loops.get(loop) if loop is not None else None
            other = None if arrived is None else _stepped_instead(trace, arrived, alone=not first.steps)
            # What calls a method again may step in between: not where another optimizer does so in the method.
            within = arrived is not None and iterations_between(arrived.site.loops, event.site.loops) is None
            whole = within or isinstance(around, ast.For | ast.While) or other is not None
            if arrived is None or not whole or event.owner is not first.owner:
                return None
            if _is_for_another(trace, first, arrived, other):
                return None
            if shared and not branches and _is_called_for_effect(trace, arrived, event):
                return None
            if not all(found or _is_for_the_other_arm(trace, step, arrived) for step, found in branches.items()):
                return None
            clips = [each.site for each in trace.of(Clipped) if each.site.loops == arrived.site.loops]
            last = clips[-1] if clips else arrived.site
            instead = next(filter(None, branches.values()), None)
            branch = None if instead is None else replace(arrived.site, node=instead)
            serves = _serves_another(trace, first, arrived)
            aside = bool(branches) and branch is None
            return NeverStepped(arrived, event, last, name, other, branch, serves, aside)
        elif isinstance(event, Lent):
            if arrived is not None and (not made or event.reaches(first.owner)):
                return None  # It may step it.
        elif entry.effect is Effect.UNKNOWN and not isinstance(event, Cleared):
            return None
    return None


def _stepped_instead(trace: Trace, run: BackwardRan, *, alone: bool) -> Stepped | None:
    """The step after a backward of an optimizer that has one after another backward as well.

    That is the one right after it, or one that gets nothing of it beside one that does; `alone` takes only the latter.
    """
    events = trace.among(BackwardRan, Stepped)
    after = takewhile(lambda each: isinstance(each, Stepped), events[events.index(run) + 1 :])
    reached = set(map(id, reached_leaves(run)))
    for index, each in enumerate(after):
        if not isinstance(each, Stepped) or not same_activation(each.site, run.site):
            return None
        sites = {step.site.node for step in trace.of(Stepped) if step.optimizer is each.optimizer}
        gets_none = each.known and reached.isdisjoint(map(id, each.held))
        if len(sites) > 1 and (gets_none or (index == 0 and not alone)):
            return each
    return None


def _was_cleared_for_it(trace: Trace, step: Stepped, run: BackwardRan) -> bool:
    """True if an optimizer has cleared its gradients for a backward, so that its step is meant to use that one."""
    events = trace.among(BackwardRan, Cleared, Stepped)
    for event in reversed(events[: events.index(run)]):
        match event:
            case Cleared(owner=owner) if owner is step.optimizer:
                return True
            case Stepped(optimizer=optimizer) if optimizer is step.optimizer:
                return False
    return True


def _gives_any(trace: Trace, run: BackwardRan, cleared: Cleared) -> bool:
    """True if a backward gives a gradient to what is cleared; to any parameter, where it is not known what that is."""
    own = _cleared_by(trace, cleared)
    reached = reached_leaves(run)
    if own:
        return any(id(leaf) in own for leaf in reached)
    return any(leaf.is_weight for leaf in reached)


def _name_of(trace: Trace, source: Source, cleared: Cleared) -> str | None:
    """The program's name for the optimizer that clears, or that has all parameters that a module clears."""
    call = call_of(trace, cleared.site.node)
    if call is None or not isinstance(call.func, ast.Attribute):
        return None
    if cleared.steps:
        owner = call.func.value
        return source.text(cleared.site, owner) if isinstance(owner, ast.Name | ast.Attribute | ast.Subscript) else None
    own = {id(cleared.owner), *map(id, cleared.tensors)}
    makers = [each for each in trace.of(Given) if each.known and own & set(map(id, (*each.parameters, *each.models)))]
    if cleared.owner is None or len({id(each.optimizer) for each in makers}) != 1:
        return None
    return _assigned_to(source, makers[0].site, statement_of(trace, makers[0].site.node)) or None


def _assigned_to(source: Source, made: Site, statement: ast.AST | None) -> str:
    """The variable that a statement assigns something to, or its place in a dict that the statement makes."""
    match statement:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=ast.Dict(keys=keys, values=values)):
            key = next((key for key, value in zip(keys, values, strict=True) if value is made.node), None)
            return "" if key is None else f"{ast.unparse(target)}[{source.text(made, key)}]"
    return assigned_to(statement)


def _steps_elsewhere(trace: Trace, source: Source, cleared: Cleared, name: str) -> list[ast.AST]:
    """The code that did not run and that may step or take the gradients.

    That is a call of `step` on the same name, in the same function or, for an attribute, anywhere; a generator, whose
    user runs in between; and a method that is meant to be overridden.
    """
    functions = [function_of(trace, frame.node) for frame in cleared.site.frames()]
    for function in functions:
        if function is not None and inside(function, ast.Yield, ast.YieldFrom):
            return [function]
    name = ast.unparse(ast.parse(name, mode="eval"))
    tree = source.tree(cleared.site.path)
    way = ancestry(trace, cleared.site.node)
    around = [each for each in way if isinstance(each, ast.FunctionDef)]
    others = [each for each in tree.body if not way or lines_of(each) != lines_of(way[0])]
    where: Sequence[ast.AST] = around[:1] if around and "." not in name else [*way[:1], *others]
    empty = {each.name for each in inside(tree, ast.FunctionDef) if _is_empty(each.body)}
    found: list[ast.AST] = []
    for call in (call for each in where for call in contents(each).calls):
        match call.func:
            case ast.Attribute(attr=method, value=owner):
                given = [ast.unparse(each) for each in call.args]
                if method in empty or ("step" in method and name in (ast.unparse(owner), *given)):
                    found.append(call)
            case ast.Name(id=function_name) if function_name in empty:
                found.append(call)
    return found


def _in_its_place(trace: Trace, call: ast.AST) -> ast.Call | None:
    """The call of `step` in the arm of a branch that ran, where the other arm has this one.

    What steps there is a schedule: the function has no other use for it, as it would for an engine.
    """
    way = ancestry(trace, call)
    function = function_of(trace, call)
    for outer, inner in pairwise(way):
        if isinstance(outer, ast.If) and (inner in outer.body or inner in outer.orelse):
            taken = outer.orelse if inner in outer.body else outer.body
            steps = (step for each in taken for _, method, step in methods_called(each) if method == "step")
            run = (step for step in steps if statement_of(trace, step) in trace.visits)
            return next((step for step in run if function is not None and _only_steps(function, step)), None)
    return None


def _is_for_the_other_arm(trace: Trace, step: ast.AST, run: BackwardRan) -> bool:
    """True if a step is in the arm of a branch that has a backward of its own, and the other arm has this one."""
    here = ancestry(trace, run.site.node)
    for outer, inner in pairwise(ancestry(trace, step)):
        if isinstance(outer, ast.If) and (inner in outer.body or inner in outer.orelse):
            own, other = (outer.body, outer.orelse) if inner in outer.body else (outer.orelse, outer.body)
            runs = (method for each in own for _, method, _ in methods_called(each))
            if "backward" in runs and any(each in here for each in other):
                return True
    return False


def _only_steps(function: ast.AST, call: ast.Call) -> bool:
    """True if a function does nothing with an object but to step it, without arguments, and to ask if it is there."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    name = ast.unparse(owner)
    stepped = {id(of) for of, method, each in methods_called(function) if method == "step" and not each.args}
    asked = {id(each) for block in inside(function, ast.If) for each in variables(block.test)}
    uses = (each for each in variables(function) if isinstance(each.ctx, ast.Load) and ast.unparse(each) == name)
    return all(id(each) in stepped | asked for each in uses)


def _is_empty(body: Sequence[ast.stmt]) -> bool:
    """True if a function does nothing, so that it is meant to be overridden or replaced."""
    return all(
        isinstance(each, ast.Pass | ast.Raise) or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        for each in body
    )


def _stepping_as_well(trace: Trace, source: Source, found: NeverStepped, branch: Site) -> Iterator[Fix]:
    """Step the optimizer before what a branch calls in its place."""
    statement = statement_of(trace, branch.node)
    line = f"{found.name}.step()"
    edit = edits.insert_before(source.document(branch), statement, line)
    yield from Fix.of(Repair(Way.STEP_AFTER, (found.name,), (statement.lineno - 1,), line), Safety.UNSAFE, edit)


def _stepping_instead(source: Source, found: NeverStepped, step: Site) -> Iterator[Fix]:
    """Step the optimizer itself where another one steps in its place."""
    owner = _stepped(step)
    if owner is not None:
        edit = edits.replace(source.document(step), owner, found.name)
        text = source.text(step).replace(ast.unparse(owner), found.name)
        yield Fix.by(Repair(Way.STEP_INSTEAD, (found.name,), (step.line,), text), Safety.UNSAFE, (edit,))


def _stepped(step: Site) -> ast.expr | None:
    """The optimizer in `optimizer.step()` and in `scaler.step(optimizer)`."""
    match step.node:
        case ast.Call(func=ast.Attribute(attr="step", value=owner), args=[]):
            return owner
        case ast.Call(func=ast.Attribute(attr="step"), args=[ast.Name() | ast.Attribute() as owner]):
            return owner
    return None


def _stepping(trace: Trace, source: Source, found: NeverStepped) -> Iterator[Fix]:
    """Call `optimizer.step` where it is only named, else insert the call after the backward, or the clip after that."""
    document = source.document(found.backward.site)
    for each in trace.visits:
        match each:
            case ast.Expr(value=ast.Attribute(attr="step", value=owner) as named) if ast.unparse(owner) == found.name:
                end = document.range_of(named).end
                repair = Repair(Way.CALL_IT, text=f"{source.short(found.backward.site, named)}()")
                yield Fix.by(repair, Safety.UNSAFE, (Edit(document.path, Range(end, end), "()"),))
                return
    body = function_of(trace, found.cleared.site.node)
    near = next((frame for frame in found.last.frames() if function_of(trace, frame.node) is body), None)
    if near is None:
        return
    statement = statement_of(trace, near.node)
    scaler = _scaler(found.backward)
    line = f"{found.name}.step()" if scaler is None else f"{scaler}.step({found.name})"
    edit = edits.insert_after(source.document(near), statement, line)
    repair = Repair(Way.STEP_AFTER, (found.name,), (statement.lineno,), line)
    yield from Fix.of(repair, Safety.UNSAFE, edit)


def _scaler(run: BackwardRan) -> str | None:
    """The gradient scaler that took the loss, as the program writes it."""
    for root in run.call.roots:
        match root.node.site.node if root.node is not None else None:
            case ast.Call(func=ast.Attribute(attr="scale", value=owner)):
                return ast.unparse(owner)
    return None
