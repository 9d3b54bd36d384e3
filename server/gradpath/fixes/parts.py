"""What was computed from a whole, computed from its parts instead: a gradient is asked for with regard to these."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Edit, Fix, Safety
from gradpath.findings.report import Source
from gradpath.findings.syntax import block_of, statement_of
from gradpath.fixes import edits
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import names_in, stored_names


def put_together(trace: Trace, source: Source, part: Tensor) -> Iterator[Fix]:
    """`points = torch.cat([x, t], dim=1)` after `x, t = points[:, :1], points[:, 1:]`."""
    site = part.origin
    if not isinstance(site.node, ast.Subscript):
        return
    whole, document = site.node.value, source.document(site)
    torch = edits.torch_in(document)
    block = block_of(trace, statement_of(trace, site.node))
    taken = [
        (each, *pair) for each in block for pair in _pairs(each) if ast.unparse(pair[1].value) == ast.unparse(whole)
    ]
    places = [_place(each.slice) for _, _, each in taken]
    if torch is None or not isinstance(whole, ast.Name) or len(taken) < 2 or not _follow(places):
        return
    names = ", ".join(name for _, name, _ in taken)
    dim = next(place[0] for place in places if place is not None)
    call = "stack" if all(place is not None and place[2] is None for place in places) else "cat"
    text = f"{whole.id} = {torch}.{call}([{names}], dim={dim})"
    taking = list(dict.fromkeys(each for each, *_ in taken))
    before = [each for each in block if each.lineno < taking[0].lineno and whole.id not in stored_names(each)]
    first = next((each for each in before if whole.id in names_in(each)), None)
    if first is None:
        change: Edit | Sequence[Edit] | None = edits.insert_after(document, taking[-1], text)
    else:  # What is computed from the whole comes later, then.
        change = edits.relocated(document, taking, lambda *lines: edits.insert_before(document, first, *lines, text))
    repair = Repair(Way.FROM_PARTS, (whole.id,), (taking[-1].lineno,), text)
    yield from Fix.of(repair, Safety.UNSAFE, change)


def _pairs(statement: ast.stmt) -> Iterator[tuple[str, ast.Subscript]]:
    """The names that a statement gives parts of something to, with these parts."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() as part):
            yield name, part
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(values):
            for target, value in zip(targets, values, strict=True):
                if isinstance(target, ast.Name) and isinstance(value, ast.Subscript):
                    yield target.id, value


def _place(index: ast.expr) -> tuple[int, int, int | None] | None:
    """The dimension of an index `[:, 1:2]`, and where it begins and ends in it; a column `[:, 1]` has no end."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    *before, last = parts
    if not all(isinstance(each, ast.Slice) and not (each.lower or each.upper or each.step) for each in before):
        return None
    match last:
        case ast.Constant(value=int(place)) if before:
            return len(before), place, None
        case ast.Slice(lower=None | ast.Constant() as low, upper=None | ast.Constant() as high, step=None):
            start, end = (each.value if each is not None else default for each, default in ((low, 0), (high, -1)))
            return (len(before), start, end) if isinstance(start, int) and isinstance(end, int) else None
        case _:
            return None


def _follow(places: Sequence[tuple[int, int, int | None] | None]) -> bool:
    """True if the parts follow each other from the first place on."""
    expected = 0
    for place in places:
        if place is None or place[0] != (places[0] or place)[0] or place[1] != expected:
            return False
        expected = place[1] + 1 if place[2] is None else place[2]
    return len({place[2] is None for place in places if place is not None}) == 1
