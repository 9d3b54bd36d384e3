"""Groups of parameters that a function puts together for its optimizer, and gives to none."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.diagnostic import Fix, Safety
from gradpath.findings.report import Source
from gradpath.findings.syntax import call_of, function_of, statement_of
from gradpath.fixes import edits
from gradpath.interpreter.events import Site
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import index_of, inside, pairs_of
from gradpath.source.nodes import Definition
from gradpath.support.fast_dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A group that is filled with parameters and never read, in the function that makes an optimizer, at `site`."""

    name: str
    group: Site
    site: Site


def forgotten(trace: Trace) -> Iterator[Forgotten]:
    """The groups, and the lists beside groups, that the functions of optimizers fill in vain."""
    reported: set[ast.AST] = set()
    for given in trace.of(Given):
        function, call = function_of(trace, given.site.node), call_of(trace, given.site.node)
        if function is None or call is None or not call.args or function in reported:
            continue
        reported.add(function)
        for name, binding, value, uses in _candidates(function):
            if binding.lineno < call.lineno and _is_only_filled(function, value, uses):
                group = replace(given.site, node=binding)
                yield Forgotten(name, group, replace(given.site, node=call.args[0]))


def _candidates(function: Definition) -> Iterator[tuple[str, ast.Assign, ast.expr, Sequence[ast.Name]]]:
    """The variables that may be groups: where each is bound, to what, and what reads it until the next binding.

    In a loop any read of it may come after any binding.
    """
    grouped = any(_is_group(each) for each in inside(function, ast.Dict, ast.Call))
    names: dict[str, list[ast.Name]] = {}
    for each in inside(function, ast.Name):
        names.setdefault(each.id, []).append(each)
    for binding, target, value in ((each, *pair) for each in inside(function, ast.Assign) for pair in pairs_of(each)):
        filled = _is_group(value) or (grouped and isinstance(value, ast.ListComp | ast.List))
        if not filled or not isinstance(target, ast.Name):
            continue
        uses = names[target.id]
        if not any(isinstance(each, ast.For | ast.While) for each in index_of(function).way_to(binding)):
            later = [each for each in uses if each.lineno > binding.lineno]
            ends = (_end(function, each) for each in later if isinstance(each.ctx, ast.Store))
            end = min((each for each in ends if each is not None), default=None)
            uses = [each for each in later if end is None or each.lineno <= end]
        yield target.id, binding, value, [each for each in uses if isinstance(each.ctx, ast.Load)]


def _end(function: Definition, stored: ast.Name) -> int | None:
    """The last line of the statement that binds a variable again, in which the old value may be read; none for `+=`."""
    statement = next(each for each in reversed(index_of(function).way_to(stored)) if isinstance(each, ast.stmt))
    return None if isinstance(statement, ast.AugAssign) else statement.end_lineno or statement.lineno


def _is_group(value: ast.expr) -> bool:
    """True if an expression is a dict that has parameters, or options of an optimizer for what is put in later."""
    keys: set[object] = set()
    match value:
        case ast.Dict(keys=named):
            keys = {each.value for each in named if isinstance(each, ast.Constant)}
        case ast.Call(func=ast.Name(id="dict"), keywords=options):
            keys = {each.arg for each in options}
    return bool(keys & {"params", "lr", "weight_decay"})


def _is_only_filled(function: Definition, value: ast.expr, uses: Sequence[ast.Name]) -> bool:
    """True if all that is done with a variable is to put parameters into it, and these are not frozen there."""
    filled = _holds_parameters(function, value)
    for use in uses:
        way = index_of(function).way_to(use)
        statement = next(each for each in reversed(way) if isinstance(each, ast.stmt))
        put = _put_by(statement, use)
        if put is None:
            return False
        loops = [block for block in way if isinstance(block, ast.For)]
        drawn = [inside(loop.target, ast.Name)[-1:] for loop in loops if _mentions_parameters(loop.iter)]
        asked = isinstance(put, ast.Name) and any(put.id == each.id for last in drawn for each in last)
        filled = filled or asked or _holds_parameters(function, put)
        if any(_freezes(each) for loop in loops for each in inside(loop, ast.Assign)):
            return False
    return filled


def _put_by(statement: ast.stmt, use: ast.Name) -> ast.expr | None:
    """What a statement puts into a variable, or into the parameters of the group that it is."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=into, attr="append" | "extend"), args=[put])):
            pass
        case ast.Assign(targets=[ast.Subscript(value=into)], value=put) | ast.AugAssign(target=into, value=put):
            pass
        case _:
            return None
    if isinstance(into, ast.Subscript):
        into = into.value
    return put if into is use else None


def _holds_parameters(function: Definition, value: ast.expr) -> bool:
    """True if an expression has the parameters of a model, asked for here or in another statement of the function."""
    if isinstance(value, ast.Dict):
        return any(_holds_parameters(function, each) for each in value.values)
    if not isinstance(value, ast.ListComp | ast.Call):
        return False
    read = {each.id for each in inside(value, ast.Name)}
    bound = (
        each.value
        for each in inside(function, ast.Assign)
        if isinstance(each.targets[0], ast.Name) and each.targets[0].id in read
    )
    return _mentions_parameters(value) or (isinstance(value, ast.ListComp) and any(map(_mentions_parameters, bound)))


def _mentions_parameters(value: ast.expr) -> bool:
    return any(each.attr in ("parameters", "named_parameters") for each in inside(value, ast.Attribute))


def _freezes(statement: ast.Assign) -> bool:
    return any(isinstance(each, ast.Attribute) and each.attr == "requires_grad" for each in statement.targets)


def appending(trace: Trace, source: Source, found: Forgotten) -> Iterator[Fix]:
    """Append the group to the list that the optimizer is given."""
    groups, value = found.site.node, found.group.node
    if not isinstance(groups, ast.Name) or not isinstance(value, ast.Assign) or not isinstance(value.value, ast.Dict):
        return
    line = f"{groups.id}.append({found.name})"
    edit = edits.insert_before(source.document(found.site), statement_of(trace, groups), line)
    yield from Fix.of(Repair(Way.ADD_GROUP, (found.name,), text=line), Safety.UNSAFE, edit)
