"""A training loop in which nothing clears the gradients between two steps."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.diagnostic import Fix, Level, Safety
from gradpath.findings.gradient_flow import (
    Effect,
    Entry,
    flow_of,
    gradient_read,
    has_run_loops,
    optimizer_name,
    updated_by_hand,
)
from gradpath.findings.graphs import reached_leaves
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import following, same_activation, with_time
from gradpath.findings.syntax import ancestry, call_of, function_of, statement_of
from gradpath.fixes import edits
from gradpath.interpreter.events import (
    BackwardRan,
    Cleared,
    GradientSet,
    Mutated,
    Replaced,
    Site,
    Stepped,
    Stored,
    iterations_between,
)
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.rules.loops.handed_on import handed_on
from gradpath.rules.loops.kept_gradients import kept_gradients
from gradpath.rules.loops.repeated_terms import repeated_terms
from gradpath.rules.loops.stray_gradients import stray_gradients
from gradpath.rules.loops.summed_reads import summed_reads
from gradpath.source.index import contents, inside
from gradpath.support.fast_dataclasses import replace


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Gradients that a step has used and that the next step uses again, with more added."""
    if not has_run_loops(trace):
        return
    reported: set[ast.AST] = set()
    flow = flow_of(trace)
    concerning: dict[int, list[int]] = {
        tensor: [] for entry in flow if entry.effect is Effect.USED for tensor in entry.tensors or ()
    }
    for index, entry in enumerate(flow):
        for tensor in entry.among(concerning):
            concerning[tensor].append(index)
    for indices in dict.fromkeys(map(tuple, concerning.values())):  # Most tensors share the fate of others.
        for first, again, second in _added(trace, [flow[index] for index in indices]):
            if not _only_shows(trace, first, second) and not _is_for_others(trace, first, again, second):
                reported.add(again.site.node)
                yield _report(trace, source, first, again, second)
    for used, again, taken in handed_on(trace):
        if again.site.node not in reported:
            reported.add(again.site.node)
            yield _report(trace, source, used, again, taken)
    for read, again, sum_read in summed_reads(trace):
        if again.site.node not in reported:
            reported.add(again.site.node)
            yield _report(trace, source, read, again, sum_read)
    for repeated in repeated_terms(trace):
        if repeated.again.site.node not in reported:
            reported.add(repeated.again.site.node)
            fixes = source.proposed(_fixes(trace, source, repeated.step, repeated.again))
            yield replace(repeated.report(trace, source), fixes=fixes)
    for stray in stray_gradients(trace):
        if stray.own.site.node not in reported:
            fixes = source.proposed(_fixes(trace, source, stray.step, stray.own))
            yield replace(stray.report(trace, source), fixes=fixes)
    yield from kept_gradients(trace, source)


Update = Stepped | Mutated | Replaced
"""The step of an optimizer, or one by hand."""


def _added(trace: Trace, flow: Sequence[Entry]) -> Iterator[tuple[Update, BackwardRan, Update]]:
    """A step, a backward after it, and the same step or one of the same loop, with no clearing between the steps."""
    used: Update | None = None
    added: BackwardRan | None = None
    for entry in flow:
        match entry.effect, entry.event:
            case ((Effect.CLEARED | Effect.UNKNOWN), _):
                used = added = None
            case Effect.ARRIVES, BackwardRan() as event:
                added = event if used is not None else None
            case Effect.USED, Stepped() | Mutated() | Replaced() as step:
                if used is not None and added is not None and _is_again(trace, used, step):
                    yield used, added, step
                used, added = step, None


def _is_again(trace: Trace, first: Update, second: Update) -> bool:
    """True if it is one step of the program, in two iterations of a loop, or two of one optimizer in a loop.

    A function that nothing calls stands for a loop where it clears before it goes back the first time.

    A function that makes its own optimizer is called once for each: it takes two calls of one optimizer.
    """
    loop = iterations_between(first.site.loops, second.site.loops)
    if first.site.node is not second.site.node:
        if not isinstance(first, Stepped) or not isinstance(second, Stepped) or first.optimizer is not second.optimizer:
            return False
        if _is_in_loop(trace, first.site) and _is_in_loop(trace, second.site):
            return True
        before = (each for each in trace.of(Cleared) if trace.place_of(each) < trace.place_of(first))
        return not isinstance(trace.entry, ast.Module) and any(map(first.finds_none_after, before))
    if loop is None:
        return _asks_again(first, second)
    calls = isinstance(trace.loops.get(loop), ast.FunctionDef | ast.AsyncFunctionDef)
    return not calls or _optimizer_of(first) is _optimizer_of(second)


def _is_for_others(trace: Trace, first: Update, again: BackwardRan, second: Update) -> bool:
    """True if a backward between two steps of the program is for other parameters, which are cleared right before it.

    Whether these two are to learn from it is another question, of gradients that are left where they are not for.
    """
    if first.site.node is second.site.node:
        return False
    since, until = trace.place_of(first), trace.place_of(again)
    reached = {id(each) for each in reached_leaves(again)}
    cleared = (each for each in trace.of(Cleared) if since < trace.place_of(each) < until)
    return any(not reached.isdisjoint(map(id, each.tensors)) for each in cleared)


def _is_in_loop(trace: Trace, site: Site) -> bool:
    """True if something happens in a loop of the program, and not just in one of several calls."""
    return any(isinstance(trace.loops.get(loop), ast.For | ast.AsyncFor | ast.While) for loop, _ in site.loops)


def _optimizer_of(update: Update) -> object:
    return update.optimizer if isinstance(update, Stepped) else None


def _asks_again(first: Update, second: Update) -> bool:
    """True if one call of `step` asked its closure twice, as LBFGS does."""
    return isinstance(first, Stepped) and first is not second and same_activation(first.site, second.site)


def _only_shows(trace: Trace, first: Update, second: Update) -> bool:
    """True if an update by hand is made two or three times at all, as where one is shown."""
    loop = iterations_between(first.site.loops, second.site.loops)
    match trace.loops.get(loop) if loop is not None and not isinstance(second, Stepped) else None:
        case ast.For(iter=ast.Call(func=ast.Name("range"), args=[ast.Constant(2 | 3)])):
            return True
    return False


def _report(
    trace: Trace,
    source: Source,
    first: Update | Stored,
    again: BackwardRan,
    second: Update | Stored | GradientSet,
) -> Report:
    match first:
        case Mutated():
            whole = updated_by_hand(trace, first) is None
        case _:
            whole = not isinstance(first, Stepped)
    update = statement_of(trace, first.site.node) if whole else None
    backward, step = source.short(again.site, limit=32), source.short(first.site, update, limit=32)
    at_once = iterations_between(first.site.loops, second.site.loops) is None
    asked = at_once and first.site.node is second.site.node
    when = "asked again" if asked else following(trace, again.site, first.site)
    both = "both" if at_once else "all iterations' gradients"
    place = "between the two steps" if at_once else "once in each iteration, before the backward"
    place = "once in each call of the closure, before the backward" if asked else place
    return Report(
        again.site,
        f"`{backward}` adds to gradients that `{step}` has used already: nothing clears them",
        (
            Step(first.site, "uses the gradients"),
            Step(again.site, with_time(when, "adds to the old ones")),
            *([] if asked else [Step(second.site, f"uses the sum of {both}")]),
        ),
        help=f"clear the gradients {place}",
        fixes=source.proposed(_fixes_of(trace, source, first if isinstance(second, GradientSet) else second, again)),
    )


def _fixes_of(trace: Trace, source: Source, second: Update | Stored, again: BackwardRan) -> Iterator[Fix]:
    match second:
        case Stepped():
            yield from _fixes(trace, source, second, again)
        case Mutated() | Replaced() if updated_by_hand(trace, second) is not None:
            yield from _clearing(trace, source)
        case _:
            yield from _cleared_once_read(trace, source, second.site)


def _cleared_once_read(trace: Trace, source: Source, site: Site) -> Iterator[Fix]:
    """`x.grad = None` after the statement that keeps it, where that names one leaf."""
    statement = statement_of(trace, site.node)
    scopes = inside(statement, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)
    passing = (each for scope in scopes for each in contents(scope).attributes)
    names = {source.text(site, each) for each in contents(statement).attributes if each.attr == "grad"}
    if len(names) == 1 and names.isdisjoint(source.text(site, each) for each in passing):
        line = f"{names.pop()} = None"
        edit = edits.insert_after(source.document(site), statement, line)
        yield from Fix.of(Repair(Way.CLEAR_LATER, text=line), Safety.UNSAFE, edit)


def _fixes(trace: Trace, source: Source, step: Stepped, again: BackwardRan) -> Iterator[Fix]:
    """Clear before the backward, for all optimizers of a loop or for this one, or else after the step."""
    frames = again.site.frames()
    near = next((each for each in frames if optimizer_name(trace, source, step.site, each) is not None), again.site)
    backward, stepping = statement_of(trace, near.node), statement_of(trace, step.site.node)
    call, name = call_of(trace, step.site.node), optimizer_name(trace, source, step.site, near)
    if name is not None:
        line = f"{name}.zero_grad()"
        edit = edits.insert_before(source.document(near), backward, line)
        yield from Fix.of(Repair(Way.CLEAR_BEFORE_BACKWARD, (name,), text=line), Safety.UNSAFE, edit)
    if call is None or not isinstance(call.func, ast.Attribute):
        return
    owner = name or source.text(step.site, call.func.value)
    line = f"{owner}.zero_grad()"
    yield from _each_cleared(trace, source, near, backward, stepping, line)
    edit = edits.insert_after(source.document(step.site), stepping, line)
    if edit is not None:  # Gradients of several backwards may be meant to add up until the step.
        yield Fix.by(Repair(Way.CLEAR_AFTER_STEP, (owner,), text=line), Safety.UNSAFE, (edit,))


def _each_cleared(
    trace: Trace, source: Source, near: Site, backward: ast.stmt, stepping: ast.stmt, line: str
) -> Iterator[Fix]:
    """`for optim in optims:` and `optim.zero_grad()` before the backward, if a loop after it steps each of them."""
    around = ancestry(trace, stepping)
    loop = around[-2] if len(around) > 1 else None
    function = function_of(trace, backward)
    if not isinstance(loop, ast.For) or function_of(trace, loop) is not function or loop.lineno < backward.lineno:
        return
    document = source.document(near)
    header = f"for {edits.flat(document, loop.target)} in {edits.flat(document, loop.iter)}:"
    edit = edits.insert_before(document, backward, header, f"{edits.indent_unit(document)}{line}")
    yield from Fix.of(Repair(Way.CLEAR_BEFORE_BACKWARD, text=f"{header} {line}"), Safety.UNSAFE, edit)


def _clearing(trace: Trace, source: Source) -> Iterator[Fix]:
    """Clear the gradients after each update by hand, or after the last one of a block that updates one leaf."""
    found: dict[tuple[str, ast.AST], tuple[Site, ast.stmt]] = {}
    for event in trace.among(Mutated, Replaced):
        assert isinstance(event, Mutated | Replaced)
        statement = statement_of(trace, event.site.node)
        gradient = _gradient_in(trace, source, event)
        if gradient is None or updated_by_hand(trace, event) is None:
            continue
        around = (trace.entry, *ancestry(trace, statement)[:-1])
        found[f"{gradient} = None", around[-1]] = event.site, statement
    made = [
        edits.insert_after(source.document(site), statement, line) for (line, _), (site, statement) in found.items()
    ]
    certain = tuple(edit for edit in made if edit is not None)
    if certain and len(certain) == len(made):
        yield Fix.by(Repair(Way.CLEAR_AFTER_UPDATE, text=next(iter(found))[0]), Safety.UNSAFE, certain)


def _gradient_in(trace: Trace, source: Source, event: Mutated | Replaced) -> str | None:
    """The gradient that an update by hand uses, as its statement writes it, or by the name of what it updates."""
    read = gradient_read(trace, event)
    if read is not None:
        return source.text(event.site, read)
    match event.site.node:
        case (
            ast.Attribute(value=ast.Name() | ast.Attribute() as leaf, attr="data")
            | ast.Subscript(value=ast.Attribute(value=ast.Name() | ast.Attribute() as leaf, attr="data"))
        ):
            return f"{source.text(event.site, leaf)}.grad"
    return None


RULE = Rule(
    "missing-zero-grad",
    "loop",
    Level.WARNING,
    "a loop steps again and again, and nothing clears the gradients in between",
    find,
)
