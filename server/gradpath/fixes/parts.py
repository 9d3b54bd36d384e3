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
from gradpath.interpreter.trace import Named, Site, Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import contents, inside, names_in, pairs_of, stored_names


def put_together(trace: Trace, source: Source, part: Tensor) -> Iterator[Fix]:
    """After `x, t = points[:, :1], points[:, 1:]` they are used, or `points = torch.cat([x, t], dim=1)` is made."""
    site = part.origin
    if not isinstance(site.node, ast.Subscript):
        return
    whole, document = site.node.value, source.document(site)
    torch = source.called("torch", document.path)
    block, flat = block_of(trace, statement_of(trace, site.node)), ast.unparse(whole)
    taken = [(each, *pair) for each in block for pair in _pairs(each) if ast.unparse(pair[1].value) == flat]
    known = {ast.unparse(each): name for _, name, each in taken}
    last = max((each.lineno for each, *_ in taken), default=0)
    later = (one for each in block if each.lineno > last for one in inside(each, ast.Subscript))
    again = [each for each in later if ast.unparse(each) in known]
    if again:
        used, lines = (known[ast.unparse(each)] for each in again), sorted({each.lineno for each in again})
        repair = Repair(Way.USE_PARTS, tuple(dict.fromkeys(used)), tuple(lines))
        changes = tuple(edits.replace(document, each, known[ast.unparse(each)]) for each in again)
        yield Fix.by(repair, Safety.SAFE, changes)
    dims = {_dimension(each.slice) for _, _, each in taken}
    if torch is None or not isinstance(whole, ast.Name) or len(taken) < 2 or len(dims) > 1:
        return
    names, [(dim, is_column)] = ", ".join(name for _, name, _ in taken), dims
    text = f"{whole.id} = {torch}.{'stack' if is_column else 'cat'}([{names}], dim={dim})"
    taking = list(dict.fromkeys(each for each, *_ in taken))
    before = [each for each in block if each.lineno < taking[0].lineno and whole.id not in stored_names(each)]
    first = next((each for each in before if whole.id in names_in(each)), None)
    if first is None:
        change: Edit | Sequence[Edit] | None = edits.insert_after(document, taking[-1], text)
    else:  # What is computed from the whole comes later, then.
        change = edits.relocated(document, taking, lambda *lines: edits.insert_before(document, first, *lines, text))
    repair = Repair(Way.FROM_PARTS, (whole.id,), (taking[-1].lineno,), text)
    yield from Fix.of(repair, Safety.UNSAFE, change)


def computed_with(trace: Trace, source: Source, wanted: Tensor, output: Tensor) -> Iterator[Fix]:
    """`fast(x)` for `model(x)`: the output is computed with the copy whose gradient is asked for."""
    names: dict[int, str] = {}
    for event in trace.of(Named):
        names |= dict.fromkeys(ways_of(trace, event), event.name)
    own, other = names.get(id(wanted)), names.get(id(wanted.copied))
    if own is None or other is None or all(each is not wanted.copied for each in output.ancestors()):
        return
    made = (each for each in output.lineage() if isinstance(each.origin, Site) and each.origin.node is not None)
    frames = [frame for each in made for frame in each.origin.frames()]
    calls = {each: frame for frame in frames for each in contents(statement_of(trace, frame.node)).calls}
    uses = {each.func: frame for each, frame in calls.items() if ast.unparse(each.func) == other}
    if uses:
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
