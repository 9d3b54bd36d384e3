"""A parameter that is put through a function and bound again: `w = torch.clamp(w, min=0)` after the step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Edit, Fix, Safety
from gradpath.findings.carrying import Case
from gradpath.findings.graphs import leaves
from gradpath.findings.rebinding import rebinding_of
from gradpath.findings.syntax import statement_of
from gradpath.fixes import edits
from gradpath.interpreter.trace import Stepped
from gradpath.repairs import Repair, Way


def projected(case: Case) -> Iterator[Fix]:
    """`with torch.no_grad(): w.copy_(torch.clamp(w, min=0))`, where an optimizer has the old `w`.

    Unsafe: the gradient of the iteration that ran before the failure went through the function.
    """
    bound = case.carried[0].bound
    if bound is None or bound.tensor is None or case.carried[0].held is not None:
        return
    found = rebinding_of(case.trace, case.source, bound.tensor)
    if found is None:
        return
    rebound, leaf = found
    trained = {id(each) for event in case.trace.of(Stepped) for each in event.parameters}
    alone = [id(each) for each in leaves([bound.tensor])] == [id(leaf)]
    document = case.source.document(rebound.site)
    statement, torch = statement_of(case.trace, rebound.site.node), edits.torch_in(document)
    if id(leaf) not in trained or not alone or leaf.shape != bound.tensor.shape or leaf.shape is None or torch is None:
        return
    match statement:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]) if edits.stands_alone(document, statement):
            pass
        case _:
            return
    edit = edits.wrap(document, statement, f"with {torch}.no_grad():")
    if edit is not None:
        name, old = edits.flat(document, target), document.slice(document.range_of(statement))
        text = f"{name}.copy_({edits.flat(document, statement.value)})"
        edit = Edit(edit.path, edit.range, edit.new_text.replace(old, text, 1))
        repair = Repair(Way.WRITE_INTO, (name,), text=f"with {torch}.no_grad(): {text}")
        yield Fix.by(repair, Safety.UNSAFE, (edit,))
