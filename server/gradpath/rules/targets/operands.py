"""The operands of an expression that a loss computes, one of which should have been detached."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Fix, Safety
from gradpath.findings.report import Source
from gradpath.fixes import edits
from gradpath.interpreter.events import Site
from gradpath.repairs import Repair, Way


def detached(source: Source, site: Site, index: int, way: Way) -> Iterator[Fix]:
    """Detach an operand, or an argument, where it is used."""
    node = site.node
    given = [node.left, node.right] if isinstance(node, ast.BinOp) else node.args if isinstance(node, ast.Call) else []
    if len(given) > index:
        edit = edits.append(source.document(site), given[index], ".detach()")
        yield Fix.by(Repair(way), Safety.UNSAFE, edit)


def detached_result(source: Source, site: Site) -> Iterator[Fix]:
    """Detach what a call gives."""
    if isinstance(site.node, ast.Call):
        repair = Repair(Way.DETACH_RESULT, (source.short(site, limit=40),))
        yield Fix.by(repair, Safety.UNSAFE, edits.append(source.document(site), site.node, ".detach()"))
