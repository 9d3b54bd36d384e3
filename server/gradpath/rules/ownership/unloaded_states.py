"""Entries of a state dict that are bound to new tensors, though nothing loads the state: no module gets them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.findings.report import Report, Source, Step
from gradpath.findings.syntax import function_of, statement_of
from gradpath.interpreter.events import Site
from gradpath.interpreter.ownership import Taken
from gradpath.interpreter.trace import Trace
from gradpath.source.index import inside
from gradpath.support.fast_dataclasses import replace

_READING = frozenset({"get", "items", "keys", "values"})


def unloaded(trace: Trace, source: Source) -> Iterator[Report]:
    """The assignments to entries of a state that its function only reads besides: `state[name] = value`."""
    found: dict[ast.AST, tuple[Site, ast.Assign, str]] = {}
    for taken in trace.of(Taken):
        statement = statement_of(trace, taken.site.node)
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is taken.site.node:
                code = function_of(trace, statement) or trace.entry
                for each in _stores(trace, code, name):
                    found.setdefault(each, (taken.site, each, name))
    for taken_at, statement, name in found.values():
        at = replace(taken_at, node=statement)
        yield Report(
            at,
            f"`{source.short(at, limit=40)}` changes no module: nothing loads `{name}`",
            (
                Step(taken_at, "gives a dict of its own"),
                Step(at, "binds an entry to another tensor: the parameter stays as it is"),
            ),
            help=f"write into the entry, `{name}[...].copy_(...)`, or load `{name}` by `load_state_dict()`",
        )


def _stores(trace: Trace, code: ast.AST, name: str) -> list[ast.Assign]:
    """The statements that a path came to which bind an entry of a variable, if nothing else is done with that."""
    every = [each for each in inside(code, ast.Name) if each.id == name]
    entries = {id(each.value): each for each in inside(code, ast.Subscript)}
    asked = {id(each.value) for each in inside(code, ast.Attribute) if each.attr in _READING}
    asked |= {id(each.iter) for each in inside(code, ast.For)} | {
        id(each.iter) for each in inside(code, ast.comprehension)
    }
    asked |= {id(side) for each in inside(code, ast.Compare) for side in each.comparators}
    stores: list[ast.Assign] = []
    for each in every:
        entry = entries.get(id(each))
        if isinstance(each.ctx, ast.Store) or id(each) in asked:
            continue
        if entry is None:
            return []
        statement = statement_of(trace, entry) if isinstance(entry.ctx, ast.Store) else None
        if isinstance(statement, ast.Assign) and statement in trace.visits:
            stores.append(statement)
    return stores
