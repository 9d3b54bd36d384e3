"""A copy where an operation saves, so that what it was made from may be written."""

from __future__ import annotations

import ast

from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Fix, Safety
from gradpath.interpreter.trace import Built, Site, Trace
from gradpath.repairs import Repair, Way
from gradpath.rules import edits
from gradpath.rules.out_of_place import written_name
from gradpath.rules.overwriting import Overwriting
from gradpath.rules.report import Source
from gradpath.rules.stories import name_of
from gradpath.rules.syntax import ancestry, is_alone, statement_of
from gradpath.source.index import holds


def saved_copy(trace: Trace, source: Source, found: Overwriting) -> Fix | None:
    """`.clone()` where the operation saves: of its result, or of the one argument that is the saved value."""
    site = found.saved_at
    if not isinstance(site, Site) or site.node is found.site.node or isinstance(site.node, ast.stmt):
        return None
    if _may_be_saved_again(trace, found):
        return None
    document = source.document(site)
    if found.is_result:
        node = site.node
        if not isinstance(node, ast.expr) or not _gives_alone(trace, found):
            return None
    else:
        names = {name_of(trace, source, found.saved.tensor, site)}
        if found.written is found.saved.tensor:
            names.add(written_name(trace, source, found.site))
        reads: list[ast.expr] = [
            each
            for each in ast.walk(site.node)
            if isinstance(each, (ast.Name, ast.Attribute)) and source.text(site, each) in names - {""}
        ]
        origin = found.saved.tensor.origin
        if isinstance(origin, Site) and isinstance(origin.node, ast.Subscript):
            reads = [origin.node]
            site = next((frame for frame in site.frames() if holds(frame.node, origin.node)), None)
        elif isinstance(origin, Site) and _is_alias(found, origin):
            site, reads = origin, [origin.node] if isinstance(origin.node, ast.expr) else []
        elif not reads:
            reads = _handed_over(found, site)
        if site is None or len(reads) != 1:
            return None
        document = source.document(site)
        node = _item(trace, reads[0])
    statement = statement_of(trace, node)
    if isinstance(statement, ast.Assign) and statement.value is node and isinstance(statement.targets[0], ast.Tuple):
        return None  # It gives several values.
    around = ancestry(trace, node)
    if len(around) > 1 and isinstance(around[-2], ast.Attribute) and around[-2].attr in ("values", "indices"):
        return None
    if len(around) > 1 and isinstance(node, ast.Call) and isinstance(around[-2], ast.Subscript):
        return None  # It may give several values: `gru(x)[0]`.
    text = edits.followed(source.text(site, node), node, ".clone()")
    repair = Repair(Way.SAVE_COPY, lines=(site.line,), text=text if len(text) <= 40 else "")
    return Fix.by(repair, Safety.SAFE, edits.append(document, node, ".clone()"), preferred=True)


def _may_be_saved_again(trace: Trace, found: Overwriting) -> bool:
    """Whether another operation may have saved the same memory: with one copy the backward would perhaps still fail."""
    return any(
        tensor.storage is found.saved.storage
        for event in trace.of(Built)
        if event.node.behaviour is not None
        for parameter in event.node.behaviour.maybe_saves
        for tensor in event.inputs.get(parameter, ())
    )


def _item(trace: Trace, read: ast.expr) -> ast.expr:
    """`cache[0]` where `cache` is read: the variable may be a list of tensors."""
    around = ancestry(trace, read)
    outer = around[-2] if len(around) > 1 else None
    named = isinstance(read, (ast.Name, ast.Attribute))
    return outer if named and isinstance(outer, ast.Subscript) and outer.value is read else read


def _handed_over(found: Overwriting, site: Site) -> list[ast.expr]:
    """`table.weight` in `self.project(table.weight)`: a parameter that a module is given for its input."""
    match site.node:
        case ast.Call(args=[ast.Name() | ast.Attribute() as given], keywords=[]):
            return [given] if found.saved.role == "input" and found.saved.tensor.is_parameter else []
        case _:
            return []


def _is_alias(found: Overwriting, origin: Site) -> bool:
    """Whether what was saved is a view or a `.detach()` of the written memory, made by a call of its own."""
    if not isinstance(origin.node, ast.Call) or origin.node is found.site.node:
        return False
    if found.written.base is found.saved.tensor:
        return False  # It is the written one that is a view.
    return found.written is not found.saved.tensor and origin.node is not getattr(found.saved_at, "node", None)


def _gives_alone(trace: Trace, found: Overwriting) -> bool:
    """Whether the expression that saves gives the saved tensor itself, as a call of an operation does."""
    node = found.saved_at.node if isinstance(found.saved_at, Site) else None
    statement = None if node is None else statement_of(trace, node)
    if node is None or found.node.name.endswith("_") or (statement is not None and is_alone(statement, node)):
        return False
    outputs: list[Tensor] = found.node.outputs
    if isinstance(statement, ast.Assign) and statement.value is node and isinstance(statement.targets[0], ast.Tuple):
        return False
    return found.saved.tensor in outputs and len([each for each in outputs if each is not found.written]) <= 1
