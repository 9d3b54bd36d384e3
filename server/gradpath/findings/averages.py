"""Writes into parameters of what mixes them with others: the average that a target network is of a trained one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.aliases import memory_of
from gradpath.autograd.tensor import Tensor
from gradpath.findings.syntax import ancestry, statement_of
from gradpath.interpreter.events import Bound, Mutated, Replaced, Site
from gradpath.interpreter.ownership import Overwritten
from gradpath.interpreter.trace import Trace, once
from gradpath.source.index import inside
from gradpath.support.fast_dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """A write into the parameter `own` of what was computed of it, and of the parameters `others`.

    `names` are the variables in its statement that are this parameter. One is `loaded` where nothing of it is left.
    """

    own: Tensor
    others: tuple[Tensor, ...]
    names: tuple[str, ...]
    site: Site
    loaded: bool = False


@once
def mixtures(trace: Trace) -> list[Mixture]:
    """The mixtures on a path; what is a gradient times a number is none."""
    return list(_mixtures(trace))


def _mixtures(trace: Trace) -> Iterator[Mixture]:
    bound: dict[str, Bound] = {}
    scaled: set[int] = set()
    for event in trace.among(Bound, Mutated, Replaced, Overwritten):
        match event:
            case Bound(name=name):
                bound[name] = event
            case Overwritten(tensor=own, other=other, site=site):
                yield Mixture(own, (other,), (), replace(site, node=statement_of(trace, site.node)), loaded=True)
            case Mutated(site=site) | Replaced(site=site):
                own = memory_of(event.tensor)
                if not own.is_parameter:
                    continue
                statement = statement_of(trace, site.node)
                here = _parameters(bound, statement, site)
                names = tuple(name for name, tensor in here.items() if tensor is own)
                others = {id(each): each for each in (*here.values(), *_written(event)) if each is not own}
                mixes = _mixes(event, statement, names, scaled=id(own) in scaled)
                if mixes and (len(names) < 2 or not _are_items(trace, statement)):
                    yield Mixture(own, tuple(others.values()), names, replace(site, node=statement))
                if isinstance(event, Mutated) and event.write.operation.endswith("mul_"):
                    scaled.add(id(own))


def _parameters(bound: dict[str, Bound], statement: ast.AST, site: Site) -> dict[str, Tensor]:
    """The variables in a statement that are parameters, bound in the running body in this iteration of its loops."""
    found: dict[str, Tensor] = {}
    for each in inside(statement, ast.Name):
        at = bound.get(each.id)
        if at is not None and at.is_leaf and at.site.caller is site.caller and at.site.loops == site.loops:
            tensor = at.tensor
            if tensor is not None and tensor.is_parameter:
                found[each.id] = tensor
    return found


def _written(event: Mutated | Replaced) -> Iterator[Tensor]:
    """The parameters of which something was computed at a place to be written there."""
    sources = event.sources if isinstance(event, Mutated) else () if event.source is None else (event.source,)
    values = (memory_of(value) for source in sources for value in values_of(source, event.site))
    return (each for each in values if each.is_parameter)


def _mixes(event: Mutated | Replaced, statement: ast.AST, names: tuple[str, ...], *, scaled: bool) -> bool:
    """True if what a parameter was counts in what is written: in a part of the way to another, or in a sum with it."""
    if any(each.attr == "grad" for each in inside(statement, ast.Attribute)):
        return False
    operation = event.write.operation if isinstance(event, Mutated) else ""
    if operation.endswith(("mul_", "div_")):
        return False
    read = sum(each.id in names for each in inside(statement, ast.Name)) > 1
    return read or operation.endswith("lerp_") or (scaled and operation.endswith("add_"))


def _are_items(trace: Trace, statement: ast.AST) -> bool:
    """True if a loop around goes through items of one list side by side: each may stand for all of them here."""
    for loop in ancestry(trace, statement):
        if isinstance(loop, ast.For):
            keys: dict[str, set[str]] = {}
            for each in inside(loop.iter, ast.Subscript):
                keys.setdefault(ast.dump(each.value), set()).add(ast.dump(each.slice))
            if any(len(each) > 1 for each in keys.values()):
                return True
    return False


def values_of(tensor: Tensor, site: Site) -> Iterator[Tensor]:
    """The tensors whose values a tensor is computed from at a place, back to aliases and to what was there before."""
    return (each for each in computed_at(tensor, site) if _is_value(each, site))


def computed_at(tensor: Tensor, site: Site, seen: set[int] | None = None) -> Iterator[Tensor]:
    """A tensor, and all that it is computed from at a place, back to such values, without what was `seen` there."""
    seen = set() if seen is None else seen
    todo = [] if id(tensor) in seen else [tensor]
    seen.add(id(tensor))
    while todo:
        each = todo.pop()
        yield each
        fresh = [] if _is_value(each, site) else [maker for maker in each.maker if id(maker) not in seen]
        seen.update(map(id, fresh))
        todo += fresh


def _is_value(tensor: Tensor, site: Site) -> bool:
    """True if a tensor is a parameter or an alias, or was there before a place was come to."""
    origin = tensor.origin
    here = origin.loops == site.loops and origin.caller is site.caller
    return tensor.is_parameter or memory_of(tensor) is not tensor or not tensor.maker or not here
