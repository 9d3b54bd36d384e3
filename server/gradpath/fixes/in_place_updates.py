"""Updates of a leaf that bind its name to a result, written into the leaf itself: `w -= lr * w.grad`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Edit, Fix, Safety
from gradpath.findings.carrying import Case
from gradpath.findings.cuts import switch_around
from gradpath.findings.rebinding import rebinding_of
from gradpath.findings.report import Source
from gradpath.findings.syntax import statement_of
from gradpath.fixes import edits
from gradpath.interpreter.trace import Site, Trace
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document

_OPERATORS = {ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.Div: "/="}


def projected(case: Case) -> Iterator[Fix]:
    """`with torch.no_grad(): w.copy_(torch.clamp(w, min=0))` for a parameter that is put through a function.

    Unsafe: the gradient of the iteration that ran before the failure went through the function.
    """
    bound = case.carried[0].bound
    if bound is None or bound.tensor is None or case.carried[0].held is not None:
        return
    found = rebinding_of(case.trace, case.source, bound.tensor)
    statement = None if found is None else statement_of(case.trace, found[0].site.node)
    match statement:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]) if found is not None:
            site, name = found[0].site, edits.flat(case.source.document(found[0].site), target)
            yield from updated_in_place(case.trace, case.source, site, statement, name, Safety.UNSAFE, lost=True)


def updated_in_place(
    trace: Trace,
    source: Source,
    at: Site,
    statement: ast.Assign,
    name: str,
    safety: Safety,
    *,
    tracked: bool = False,
    lost: bool = False,
) -> Iterator[Fix]:
    """The update in place: as it stands where gradients are off, unless its result is `tracked`, else without them.

    A `lost` value of any kind is copied.
    """
    document = source.document(at)
    update = _in_place(document, statement, name)
    if update is None and lost:
        update = f"{name}.copy_({edits.flat(document, statement.value)})"
    if update is None:
        return
    if not tracked and switch_around(trace, source, at) is not None:
        direct = edits.replace(document, statement, update)
        yield Fix.by(Repair(Way.UPDATE_IN_PLACE, (name,), text=update), safety, (direct,))
        return
    torch = edits.torch_in(document)
    if torch is not None and edits.stands_alone(document, statement):
        edit = edits.wrap(document, statement, f"with {torch}.no_grad():")
        if edit is not None:
            old = document.slice(document.range_of(statement))
            edit = Edit(edit.path, edit.range, edit.new_text.replace(old, update, 1))
            repair = Repair(Way.UPDATE_IN_PLACE, (name,), text=f"with torch.no_grad(): {update}")
            yield Fix.by(repair, safety, (edit,))


def _in_place(document: Document, statement: ast.Assign, name: str) -> str | None:
    """`w = w - lr * w.grad` as `w -= lr * w.grad`."""
    value = statement.value
    if not isinstance(value, ast.BinOp) or type(value.op) not in _OPERATORS:
        return None
    if edits.flat(document, value.left) != name:
        return None
    return f"{name} {_OPERATORS[type(value.op)]} {edits.flat(document, value.right)}"
