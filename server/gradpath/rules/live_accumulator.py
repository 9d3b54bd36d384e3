"""A total, list or dict that keeps the graphs of all iterations alive."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.diagnostic import Fix, Level, Safety
from gradpath.findings.gradient_flow import has_run_loops
from gradpath.findings.graphs import reach
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.rewrapping import rewrappings
from gradpath.findings.stories import lifted, turn_of
from gradpath.findings.syntax import function_of, statement_of
from gradpath.fixes import edits
from gradpath.interpreter.events import BackwardRan, Bound, Held, Site, Stored
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.rules.loops.filled_lists import lists
from gradpath.rules.loops.kept_graphs import counts, is_number
from gradpath.rules.loops.outliving import Growing, outliving
from gradpath.rules.loops.sums import sums
from gradpath.rules.loops.totals import is_join, reads_total
from gradpath.source.index import contents, holds, methods_called, names_in
from gradpath.support.fast_dataclasses import replace


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Places where a tensor with its graph joins those of earlier iterations."""
    if has_run_loops(trace):
        for found in _growing(trace, source):
            yield _report(trace, source, found)


def _growing(trace: Trace, source: Source) -> Iterator[Growing]:
    """The places that keep the graphs of several iterations, none of which is back-propagated from there."""
    executed = {node for event in trace.own(BackwardRan) for node in event.executed}
    executed -= counts(trace)
    kept = [*sums(trace, executed)]
    if not any(rewrappings(trace)):  # A list of losses that were rebuilt as numbers is what `rewrapped-loss` is about.
        kept += [*lists(trace, executed, source), *outliving(trace, executed, source)]
    places = set[ast.AST]()
    for each in kept:
        below = reach([each.tensor])
        nodes = {each.site.node, *(node.site.node for node in below)}
        if places.isdisjoint(nodes):
            places.add(each.site.node)
            yield each


def _report(trace: Trace, source: Source, found: Growing) -> Report:
    statement = statement_of(trace, found.site.node)
    at = found.site
    if isinstance(found.site.node, (ast.BinOp, ast.Subscript)) and isinstance(statement, (ast.Assign, ast.AnnAssign)):
        at = replace(found.site, node=statement)
    text = source.short(at, limit=44)
    steps: list[Step] = []
    if found.tensor.node is not None:
        made = lifted(found.tensor.node.site, found.site)
        if made.node is not at.node and made not in found.site.frames():
            steps.append(Step(made, "comes with a graph of its own"))
    loops = found.site.loops
    turn = turn_of(trace.loops[loops[-1][0]]) if loops else "iteration"
    steps.append(Step(at, f"keeps it, {turn} after {turn}"))
    if found.trained is not None:
        steps.append(Step(found.trained, "trains, and does not run through what is kept"))
    value = _value(trace, found)
    fixes = source.proposed(_fixes(trace, source, found, value, statement))
    number = _is_kept_as_number(trace, found)
    way = ".item()" if number else ".detach()"
    wanted = edits.followed(source.short(*value, limit=30), value[1], way) if value is not None else ""
    return Report(
        at,
        f"`{text}` keeps the graph of every {turn} in memory",
        tuple(steps),
        help=f"keep the value alone: `{wanted}`" if value is not None else "keep the value alone, without its graph",
        fixes=fixes,
        through=_trained_by(found),
    )


def _is_kept_as_number(trace: Trace, found: Growing) -> bool:
    """True if the number alone tells what is kept: a total or a loss, and not what an agent remembers to learn from."""
    return found.trained is None and is_number(trace, found.tensor) and not is_join(trace, found.site.node)


def _trained_by(found: Growing) -> tuple[Site, ...]:
    """The backwards through what is kept: a path of an evaluation, which has none, says nothing of a training."""
    freed = (each.freed_by.site for each in reach([found.tensor]) if each.freed_by is not None)
    return tuple(dict.fromkeys(each for each in freed))


def _value(trace: Trace, found: Growing) -> tuple[Site, ast.expr] | None:
    """The expression that gives the tensor: at the place itself, or the argument that its caller passes."""
    own = _operand(trace, found.site.node, statement_of(trace, found.site.node))
    stored = [event.tensor for event in trace.of(Stored) if event.site.node is found.site.node]
    if own is None or (isinstance(own, ast.Call) and stored and not any(stored)):  # A record: `dict(loss=loss)`.
        kept = getattr(statement_of(trace, found.site.node), "value", None)
        named = [each for each in _parts_stored(found.site.node, kept) if _names(trace, each, found)]
        own = named[0] if len(named) == 1 else None
    elif isinstance(own, ast.Name) and _is_record(trace, own.id, found):
        return None
    caller = found.site.caller
    here = None if own is None else (found.site, own)
    if own is None or caller is None or not isinstance(caller.node, ast.Call) or _is_made_here(trace, found, own):
        return here
    arguments = [*caller.node.args, *(each.value for each in caller.node.keywords)]
    passed = [each for each in arguments if isinstance(each, ast.Name) and _stands_for(trace, each.id, caller, found)]
    return (caller, passed[0]) if len(passed) == 1 else here


def _operand(trace: Trace, node: ast.AST, statement: ast.stmt | None) -> ast.expr | None:
    """The added expression: the right side of `+=`, the argument of `append`, the operand that is no total."""
    match node:
        case ast.Subscript() if isinstance(statement, ast.Assign) and node in statement.targets:
            return None if isinstance(statement.value, _SEVERAL) else statement.value
        case ast.AugAssign(value=value):
            return _without_factor(value)
        case ast.BinOp() if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.IfExp):
            return None  # The other arm keeps a graph as well.
        case ast.BinOp(left=left, right=right):
            return _without_factor(left if _holds_total(right, statement) else right)
        case ast.Call(args=[ast.List(elts=[*_, last]) | ast.Tuple(elts=[*_, last]), *_]) if is_join(trace, node):
            return last
        case ast.Call(args=[argument]):
            return None if isinstance(argument, _SEVERAL) else argument
    return None


_SEVERAL = ast.Dict | ast.Tuple | ast.List | ast.Set
"""Records of several values, of which one is the tensor."""


def _is_record(trace: Trace, name: str, found: Growing) -> bool:
    """True if what the function has by a name is no tensor, but has the tensor as an item, like a step's outputs."""
    bound = [each for each in trace.of(Bound) if each.name == name and each.site.caller is found.site.caller]
    return bool(bound) and all(each.tensor is None and not isinstance(each.value, Held) for each in bound)


def _parts_stored(node: ast.AST, kept: ast.expr | None) -> Sequence[ast.expr]:
    """The values of one record that a call puts into a container, or that an item is given: what is `kept`."""
    match node.args[0] if isinstance(node, ast.Call) and node.args else kept:
        case ast.Dict(values=values):
            return values
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return parts
        case ast.Call(args=positional, keywords=keywords):
            return [*positional, *(each.value for each in keywords)]
    return ()


def _names(trace: Trace, part: ast.expr, found: Growing) -> bool:
    return isinstance(part, ast.Name) and _stands_for(trace, part.id, found.site, found)


def _holds_total(node: ast.expr, statement: ast.stmt | None) -> bool:
    """True if an operand reads what the statement assigns: `decay * total` in `total = loss + decay * total`."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    parts = [part for each in targets for part in (each.elts if isinstance(each, ast.Tuple) else [each])]
    return isinstance(statement, ast.Assign) and any(reads_total(node, each, statement.value) for each in parts)


def _without_factor(node: ast.expr) -> ast.expr:
    """`loss` in `0.1 * loss` and in `loss * x.size(0)`."""
    match node:
        case ast.BinOp(op=ast.Mult() | ast.Div(), left=left, right=right) if _counts(right):
            return left
        case ast.BinOp(op=ast.Mult(), left=left, right=right) if _counts(left):
            return right
    return node


def _counts(node: ast.expr) -> bool:
    match node:
        case ast.Constant() | ast.Call(func=ast.Name(id="len")) | ast.Call(func=ast.Attribute(attr="size")):
            return True
        case ast.BinOp(left=ast.Constant(), op=ast.Sub(), right=ast.Name() | ast.Attribute()):
            return True  # `(1 - beta) * loss`, of a running mean.
    return False


def _is_made_here(trace: Trace, found: Growing, own: ast.expr) -> bool:
    """True if it is a tensor on every call: made or named in the function that accumulates it, not passed to it."""
    if isinstance(own, ast.Name):
        return _stands_for(trace, own.id, found.site, found)
    function = function_of(trace, found.site.node)
    spec = function.args if function is not None else None
    passed = {each.arg for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)} if spec is not None else set()
    made = holds(own, lifted(found.tensor.made_at, found.site).node)
    return made and not {each.id for each in _operands(own) if isinstance(each, ast.Name)} & passed


def _is_always_tensor(trace: Trace, found: Growing) -> bool:
    """True if each run of the statement, in functions that the module runs, has put a tensor into a container."""
    statement = statement_of(trace, found.site.node)
    tensors = [event for event in trace.of(Stored) if event.site.node is found.site.node and event.tensor is not None]
    return isinstance(trace.entry, ast.Module) and len(tensors) >= trace.visits[statement]


def _operands(node: ast.expr) -> list[ast.expr]:
    """The operands of arithmetic, what stands inside calls left aside."""
    match node:
        case ast.BinOp(left=left, right=right):
            return [*_operands(left), *_operands(right)]
        case ast.UnaryOp(operand=operand):
            return _operands(operand)
    return [node]


def _stands_for(trace: Trace, name: str, near: Site, found: Growing) -> bool:
    """True if the function of `near` bound `name` to the tensor, or to one that it was computed from."""
    upstream = set(map(id, found.tensor.lineage()))
    return any(
        isinstance(event, Bound)
        and event.name == name
        and event.site.caller is near.caller
        and event.tensor is not None
        and event.tensor.requires_grad
        and id(event.tensor) in upstream
        for event in trace.events
    )


def _fixes(
    trace: Trace, source: Source, found: Growing, value: tuple[Site, ast.expr] | None, statement: ast.stmt | None
) -> Iterator[Fix]:
    if value is None:
        return
    site, node = value
    document = source.document(site)
    number = _is_kept_as_number(trace, found) and not _is_put_together(trace, found)
    ways = (".item()", ".detach()") if number else (".detach()",)
    for way in ways:
        number = way == ".item()"
        sure = _is_made_here(trace, found, node) or isinstance(node, ast.Name) or _is_always_tensor(trace, found)
        kept = not number or _is_only_a_number(trace, statement)
        if not kept and isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            continue  # The total is used as a tensor.
        safety = Safety.SAFE if sure and kept else Safety.UNSAFE
        repair = Repair(Way.KEEP_NUMBER if number else Way.KEEP_VALUE)
        yield Fix.by(repair, safety, edits.append(document, node, way))


def _is_put_together(trace: Trace, found: Growing) -> bool:
    """True if the list is made one tensor later, which takes tensors alone."""
    node = found.site.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    name = ast.unparse(node.func.value)
    return any(
        method in ("stack", "cat", "concat", "hstack", "vstack") and name in map(ast.unparse, call.args)
        for statement in trace.visits
        for _, method, call in methods_called(statement)
    )


def _is_only_a_number(trace: Trace, statement: ast.stmt | None) -> bool:
    """True if the total is never used as a tensor: no attribute of it is read, and no caller is given it."""
    if not isinstance(statement, ast.AugAssign) or not isinstance(statement.target, ast.Name):
        return False
    name = statement.target.id
    for each in trace.visits:
        if any(isinstance(node.value, ast.Name) and node.value.id == name for node in contents(each).attributes):
            return False
        if isinstance(each, ast.Return) and each.value is not None and name in names_in(each.value):
            return False
    return True


RULE = Rule(
    "live-accumulator",
    "graph",
    Level.WARNING,
    "a total, list or dict that outlives the iteration keeps every iteration's graph alive",
    find,
    uncovered_by="detach",
)
