"""Ways to let what goes into a loss by its value alone be trained by it; other parameters learn then: none is safe."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Fix, Safety
from gradpath.findings.cuts import Cause
from gradpath.findings.report import Source
from gradpath.findings.syntax import call_of
from gradpath.fixes import cut_fixes, edits, on_tensors
from gradpath.fixes.origins import is_read_out
from gradpath.interpreter.trace import Site, Trace
from gradpath.repairs import Repair, Way


def undone(trace: Trace, source: Source, cause: Cause, near: Site, added: Site) -> Iterator[Fix]:
    """Fixes that take a cut away whose value is `added` to the loss of the backward at `near`, best first."""
    site = cause.site
    if site is None:
        return
    found = list(cut_fixes.undo(trace, source, cause, near))
    if cause.how == "numpy":
        found += on_tensors.on_tensors_read(trace, source, site, added)
    for fix in found:
        yield Fix.by(fix.repairs, Safety.UNSAFE, fix.edits)
    if not found and isinstance(site.node, ast.Call) and is_read_out(site.node):
        edit = edits.drop_method(source.document(site), site.node)
        yield from Fix.of(Repair(Way.DROP_CUT, lines=(site.line,), text=".item()"), Safety.UNSAFE, edit)


def added(trace: Trace, source: Source, backward: Site, loss: str) -> Iterator[Fix]:
    """Add a loss that is not back-propagated, by its name in the same function, to the one that is."""
    match call_of(trace, backward.node):
        case ast.Call(func=ast.Attribute(value=root, attr="backward"), args=[], keywords=[]):
            document = source.document(backward)
            text = f"({edits.flat(document, root)} + {loss})"
            repair = Repair(Way.SUM_UNUSED, (loss,), text=f"{text}.backward()")
            yield Fix.by(repair, Safety.UNSAFE, (edits.replace(document, root, text),))
