"""One piece of code in place of others: what is computed with, given or called is another one from there on."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from gradpath.diagnostic import Fix, Safety
from gradpath.findings.report import Source
from gradpath.findings.syntax import statement_of
from gradpath.fixes import edits
from gradpath.interpreter.events import Site
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import contents
from gradpath.source.nodes import last_name


def substituted(source: Source, repair: Repair, places: Mapping[ast.AST, Site], text: str) -> Iterator[Fix]:
    """A text in place of each of some expressions or statements, which the sites are the files of."""
    changes = tuple(edits.replace(source.document(site), node, text) for node, site in places.items())
    if changes:
        yield Fix.by(repair, Safety.UNSAFE, changes)


def applied_last(trace: Trace, source: Source, at: Site, maker: str, way: Way) -> Iterator[Fix]:
    """`nn.Parameter(x) * 0.1` becomes `nn.Parameter(x * 0.1)`: what a statement computes it makes in the end."""
    document, whole = source.document(at), getattr(statement_of(trace, at.node), "value", None)
    if whole is None:
        return
    match [each for each in contents(whole).calls if last_name(each.func) == maker and each is not whole]:
        case [ast.Call(args=[made]) as call] if not isinstance(made, ast.Starred):
            code, own, given = (document.slice(document.range_of(each)) for each in (whole, call, made))
            text = own.replace(given, code.replace(own, edits.followed(given, made, ""), 1), 1)
            repair = Repair(way, text=" ".join(text.split()))
            yield Fix.by(repair, Safety.SAFE, (edits.replace(document, whole, text),))
