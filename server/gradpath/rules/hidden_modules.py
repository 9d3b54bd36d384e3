"""Modules in plain containers of a class that is not seen to be trained."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.interpreter.ownership import Given, Overlooked
from gradpath.interpreter.trace import Built, Stepped, Trace
from gradpath.rules.gradient_flow import is_whole
from gradpath.rules.report import Source
from gradpath.rules.syntax import ancestry
from gradpath.source.index import contents
from gradpath.source.parse import parse
from gradpath.support.lazy_regex import regex

_COLLECTING = regex(r"parameters\(|register_|add_module|setattr|ModuleList\(self\.|ModuleDict\(self\.")
"""Code of a class that registers its modules by itself, or exposes them."""


def hidden(trace: Trace, source: Source) -> Iterator[Overlooked]:
    """The modules that a `forward` without a caller computes with, and that `parameters()` leaves out.

    A file that runs a backward may not make an object of the class, unless as a part of another. No file may use the
    attribute from outside, and the class may not handle its modules itself.
    """
    alone = isinstance(trace.entry, ast.FunctionDef) and trace.entry.name == "forward"
    if not alone or not is_whole(trace) or trace.among(Given, Stepped):
        return
    used = {id(tensor) for event in trace.of(Built) for tensors in event.inputs.values() for tensor in tensors}
    for event in trace.of(Overlooked):
        owner = next((each for each in ancestry(trace, event.site.node) if isinstance(each, ast.ClassDef)), None)
        place = event.site.node
        if owner is None or not isinstance(place, ast.Attribute) or used.isdisjoint(map(id, event.tensors)):
            continue
        document = source.document(event.site)
        own = document.slice(document.range_of(owner))
        trains = "backward" in document.text
        if not _COLLECTING.search(own) and not _is_used_outside(parse(document).tree, owner, place.attr, trains):
            yield event


def _is_used_outside(tree: ast.Module, owner: ast.ClassDef, attribute: str, trains: bool) -> bool:
    """True if code outside of a class reads the attribute anywhere, or makes an object of it and `trains`."""
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef) and statement.name == owner.name:
            continue
        if any(each.attr == attribute for each in contents(statement).attributes):
            return True
        made = (each.func.id for each in contents(statement).calls if isinstance(each.func, ast.Name))
        if trains and owner.name in made and not isinstance(statement, ast.ClassDef):
            return True
    return False
