"""A copy where an operation saves, so that what it was made from may be written."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Fix, Safety
from gradpath.findings.overwriting import Overwriting
from gradpath.findings.report import Source
from gradpath.findings.stories import name_of
from gradpath.findings.syntax import ancestry, function_of, statement_of
from gradpath.fixes import edits
from gradpath.fixes.origins import given_to
from gradpath.fixes.out_of_place import written_name
from gradpath.interpreter.events import Built, Site
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import holds


def saved_copies(trace: Trace, source: Source, found: Overwriting) -> Iterator[Fix]:
    """`.clone()` where the operation saves: of its result, or of what it is given, each place in turn."""
    if _may_be_saved_again(trace, found):
        return
    for site, node in _places(trace, source, found):
        text = edits.followed(source.text(site, node), node, ".clone()")
        repair = Repair(Way.SAVE_COPY, lines=(node.lineno,), text=text if len(text) <= 40 else "")
        changes = edits.append(source.document(site), node, ".clone()")
        yield Fix.by(repair, Safety.SAFE, changes)


def _may_be_saved_again(trace: Trace, found: Overwriting) -> bool:
    """True if another operation may have saved the same memory: with one copy the backward would perhaps still fail."""
    return any(
        tensor.storage is found.saved.storage
        for event in trace.of(Built)
        if event.node.behaviour is not None
        for parameter in event.node.behaviour.maybe_saves
        for tensor in event.inputs.get(parameter, ())
    )


def _places(trace: Trace, source: Source, found: Overwriting) -> Iterator[tuple[Site, ast.expr]]:
    site, saved, origin = found.saved_at, found.saved.tensor, found.saved.tensor.origin
    if site.node is found.site.node or not isinstance(site.node, ast.expr):
        return
    if found.is_result:
        if not found.node.name.endswith("_"):
            yield site, site.node
        return
    if isinstance(origin.node, ast.expr) and found.written.base is not saved:
        frame = next((each for each in site.frames() if holds(each.node, origin.node)), origin)
        if isinstance(origin.node, ast.Subscript) or (found.written is not saved and origin.node is not site.node):
            yield frame, origin.node
            return
    names = {name_of(trace, source, saved, site)} - {""}
    names |= {written_name(trace, source, found.site)} if found.written is saved else set()
    reads = [
        each for each in ast.walk(site.node) if isinstance(each, ast.expr) and source.text(site, each) in names - {""}
    ]
    reads = [each for each in reads if not any(other is not each and holds(other, each) for other in reads)]
    if isinstance(site.node, ast.Call) and not reads and saved.is_parameter:
        reads = site.node.args[:1]
    for read in reads if len(reads) == 1 else ():
        around = ancestry(trace, read)
        outer = around[-2] if len(around) > 1 else None
        yield site, outer if isinstance(outer, ast.Subscript) and outer.value is read else read


def copied(trace: Trace, source: Source, site: Site) -> Iterator[Fix]:
    """A copy where the alias is made, and wherever else the function gives the same variable the same alias."""
    node, document = site.node, source.document(site)
    if not isinstance(node, ast.expr):
        return
    text, targets = edits.flat(document, node), getattr(statement_of(trace, node), "targets", ())
    parts = [part for each in targets for part in ast.walk(each) if isinstance(part, (ast.Name, ast.Attribute))]
    given = [each for part in parts for each in given_to(trace, ast.unparse(part))]
    here = [each for each in given if function_of(trace, each) is function_of(trace, node)]
    places = [each for each in here if ast.dump(each) == ast.dump(node)] or [node]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "state_dict":
        text = f"{{name: value.clone() for name, value in {text}.items()}}"
        changes = [edits.replace(document, each, text) for each in places]
    else:
        text = edits.followed(text, node, ".clone()")
        changes = [edit for each in places for edit in edits.append(document, each, ".clone()")]
    yield Fix.by(Repair(Way.USE_COPY, text=text), Safety.UNSAFE, tuple(changes))
