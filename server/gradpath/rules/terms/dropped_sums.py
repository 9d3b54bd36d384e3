"""Sums of losses that one more term takes the place of: it is assigned where it was to be added."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from gradpath.findings.graphs import built_of, executed_nodes, is_sum, moves_any, of_one_element
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import bindings, lifted
from gradpath.findings.syntax import ancestry, statement_of
from gradpath.interpreter.events import BackwardRan, Bound
from gradpath.interpreter.trace import Trace, once
from gradpath.rules.terms.left_out_losses import is_passed_on, unread_nodes
from gradpath.rules.terms.overwritten_losses import is_loss
from gradpath.source.index import contents, inside, lines_of, names_in
from gradpath.source.nodes import Definition


def dropped_sums(trace: Trace, source: Source, ran: BackwardRan) -> Iterator[Report]:
    """The losses of a backward that replaced a sum of other losses, which nothing had read, under the same name."""
    for before, after in _replaced(trace):
        at, loss = after.site, after.tensor
        if loss is None or not is_loss(loss, ran) or not _is_left(trace, before):
            continue
        if not _is_read_between(trace, source, before, after):
            yield Report(
                at,
                f"this term takes the place of the sum in `{after.name}`: what was added up before teaches nothing",
                (
                    Step(before.site, "adds up other terms"),
                    Step(at, "puts one term in their place"),
                    Step(lifted(ran.site, at), "goes back through that one alone"),
                ),
                help=f"add it: `{after.name} = {after.name} + ...`",
            )


@once
def _replaced(trace: Trace) -> list[tuple[Bound, Bound]]:
    """The sums in variables with what took their place, in the same iteration, and not as a choice between the two."""
    found: list[tuple[Bound, Bound]] = []
    held: dict[tuple[str, object, str], list[Bound]] = {}
    for event in (each for each in trace.of(Bound) if not isinstance(each.site.node, ast.Attribute)):
        before = held.setdefault((event.site.path, event.site.caller, event.name), [])
        statement = statement_of(trace, event.site.node)
        if isinstance(statement, ast.AugAssign) or _adds_up(statement, event.name):
            before.append(event)
            continue
        around = event.site.loops
        places = [each.site.node for each in before]
        again = bool(before) and before[-1].site.loops[: len(around)] == around
        if again and isinstance(statement, ast.Assign) and _is_slip(trace, places, statement):
            found.append((before[-1], event))
        held[event.site.path, event.site.caller, event.name] = [event]
    return found


def _is_slip(trace: Trace, before: Sequence[ast.AST], statement: ast.Assign) -> bool:
    """True if an assignment is no choice between a sum and another loss.

    It runs whenever the sum was made; or its condition asks for what it is scaled by, or for what it calls, as the
    condition of a term that was added before does.
    """
    within = [_blocks(trace, each) for each in before]
    around = [each for each in _blocks(trace, statement) if each not in within[-1]]
    if len(around) != 1:
        return not around
    if _asks_for(around[0], _factors(statement.value)):
        return True
    own = [
        each for blocks in within for each in blocks[-1:] if each is not around[0] and _asks_for(each, _called(each))
    ]
    return bool(own) and _asks_for(around[0], _called(around[0]))


def _blocks(trace: Trace, node: ast.AST) -> list[ast.AST]:
    """What has blocks around a node, in its function, outermost first."""
    around = ancestry(trace, statement_of(trace, node))[:-1]
    first = next((place for place, each in enumerate(reversed(around)) if isinstance(each, Definition)), len(around))
    return [each for each in around[len(around) - first :] if isinstance(each, ast.stmt)]


def _asks_for(condition: ast.AST, parts: Iterable[ast.expr]) -> bool:
    """True if a condition asks whether one of these is there: `weight > 0`, `part is not None`, `weight`."""
    if not isinstance(condition, ast.If):
        return False
    test = condition.test
    asked = set[str]()
    for each in test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else (test,):
        match each:
            case ast.Compare(left=left, ops=[ast.Gt() | ast.NotEq() | ast.IsNot()], comparators=[ast.Constant()]):
                asked.add(ast.dump(left))
            case ast.Name() | ast.Attribute() | ast.Subscript():
                asked.add(ast.dump(each))
    return any(ast.dump(each) in asked for each in parts)


def _factors(value: ast.expr) -> Iterator[ast.expr]:
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult | ast.Div):
        yield from _factors(value.left)
        yield from _factors(value.right)
    else:
        yield value


def _called(condition: ast.AST) -> list[ast.expr]:
    """What an arm calls."""
    body = condition.body if isinstance(condition, ast.If) else ()
    return [call.func for each in body for call in contents(each).calls]


def _adds_up(statement: ast.stmt, name: str) -> bool:
    """True if a statement adds something to a variable."""
    match statement:
        case ast.AugAssign(op=ast.Add() | ast.Sub()):
            return True
        case ast.Assign(value=ast.BinOp(op=ast.Add() | ast.Sub()) as value):
            return name in names_in(value)
    return False


def _is_read_between(trace: Trace, source: Source, before: Bound, after: Bound) -> bool:
    """True if the text between two bindings of a variable, the value of the second included, reads or binds it."""
    statements = (statement_of(trace, each.site.node) for each in (before, after))
    (_, first), (_, last) = (lines_of(each) for each in statements)
    names = (each for each in inside(source.tree(after.site.path), ast.Name) if each.id == after.name)
    others = [each for each in names if first < each.lineno <= last]
    grown = {id(each.target) for each in inside(source.tree(after.site.path), ast.AugAssign)}
    return last <= first or len([each for each in others if id(each) not in grown]) > 1


def _is_left(trace: Trace, bound: Bound) -> bool:
    """True if a variable held a sum of losses that learn, of which nothing else makes any use."""
    value = bound.tensor
    if value is None or value.node is None or value.node not in unread_nodes(trace) or not moves_any(value.node):
        return False
    zone, built, run = of_one_element([value.node]), built_of(trace), executed_nodes(trace)
    if not any(is_sum(node) for node in zone) or is_passed_on(trace, value):
        return False
    operands = [each for node in zone if node in built for each in built[node].operands]
    terms = [each for each in operands if each.node is not None and each.node not in zone]
    grown = _adds_up(statement_of(trace, bound.site.node), bound.name)
    if not grown and (len(terms) < 2 or not all(bindings(trace, each) for each in terms)):
        return False
    same = all(each.name == bound.name for each in bindings(trace, value))
    return bool(terms) and same and not any(each.node in run for each in terms)
