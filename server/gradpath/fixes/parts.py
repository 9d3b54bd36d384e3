"""What was computed from a whole, computed from its parts instead: a gradient is asked for with regard to these."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Edit, Fix, Safety
from gradpath.findings.parameters import ways_of
from gradpath.findings.report import Source
from gradpath.findings.syntax import block_of, statement_of
from gradpath.fixes import edits
from gradpath.interpreter.events import Named, Site
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import contents, names_in, pairs_of


def put_together(trace: Trace, source: Source, part: Tensor) -> Iterator[Fix]:
    """After `x, t = points[:, :1], points[:, 1:]` comes `points = torch.cat([x, t], dim=1)`, which is computed with."""
    site = part.origin
    match site.node:
        case ast.Subscript(value=ast.Name(id=whole), slice=index):
            document, (dim, is_column) = source.document(site), _dimension(index)
        case _:
            return
    block, torch = block_of(trace, statement_of(trace, site.node)), source.called("torch", document.path)
    parts = {name: each for each in block for name, taken in _pairs(each) if ast.unparse(taken.value) == whole}
    if not parts:
        return
    taking = list(dict.fromkeys(parts.values()))
    text = f"{whole} = {torch}.{'stack' if is_column else 'cat'}([{', '.join(parts)}], dim={dim})"
    first = next((each for each in block if each.lineno < taking[0].lineno and whole in names_in(each)), None)
    if first is None:
        change: Edit | Sequence[Edit] | None = edits.insert_after(document, taking[-1], text)
    else:  # What is computed from the whole comes later, then.
        change = edits.relocated(document, taking, lambda *lines: edits.insert_before(document, first, *lines, text))
    repair = Repair(Way.FROM_PARTS, (whole,), (taking[-1].lineno,), text)
    yield from Fix.of(repair, Safety.UNSAFE, change)


def computed_with(trace: Trace, source: Source, wanted: Tensor, output: Tensor) -> Iterator[Fix]:
    """`fast(x)` for `model(x)`: the output is computed with the copy whose gradient is asked for."""
    names = {way: event.name for event in trace.of(Named) for way in ways_of(trace, event)}
    own, other = names.get(id(wanted)), names.get(id(wanted.copied))
    frames = (frame for each in output.lineage() if isinstance(each.origin, Site) for frame in each.origin.frames())
    calls = {call: frame for frame in frames for call in contents(statement_of(trace, frame.node)).calls}
    uses = {call.func: frame for call, frame in calls.items() if ast.unparse(call.func) == other}
    if own and uses:
        repair = Repair(Way.COMPUTE_WITH, (own,), tuple(sorted({each.lineno for each in uses})))
        changes = tuple(edits.replace(source.document(frame), each, own) for each, frame in uses.items())
        yield Fix.by(repair, Safety.UNSAFE, changes)


def _pairs(statement: ast.stmt) -> Iterator[tuple[str, ast.Subscript]]:
    """The names that a statement gives parts of something to, with these parts."""
    for target, value in pairs_of(statement):
        if isinstance(target, ast.Name) and isinstance(value, ast.Subscript):
            yield target.id, value


def _dimension(index: ast.expr) -> tuple[int, bool]:
    """The dimension in which an index `[:, 1:2]` takes a part, and whether it takes a column out of it, as `[:, 1]`."""
    *before, last = index.elts if isinstance(index, ast.Tuple) else [index]
    return len(before), not isinstance(last, ast.Slice)
