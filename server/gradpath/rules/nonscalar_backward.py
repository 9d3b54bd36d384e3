"""A backward without `gradient=` from a tensor that certainly has more than one element."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.errors import MESSAGES, FaultKind
from gradpath.autograd.tensor import MANY, Tensor
from gradpath.diagnostic import Fix, Level, Safety
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import failures, made_near, name_of
from gradpath.findings.syntax import call_of, statement_of
from gradpath.fixes import edits
from gradpath.fixes.out_of_place import is_read_again
from gradpath.interpreter.events import Failed
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Calls whose root has more than one element."""
    for failure, error in failures(trace, FaultKind.NOT_SCALAR):
        if error.tensor is not None:
            yield _report(trace, source, failure, error.tensor)


def _report(trace: Trace, source: Source, failure: Failed, root: Tensor) -> Report:
    call = call_of(trace, failure.site.node)
    loss = _root(call)
    name = source.short(failure.site, loss, 30) if loss is not None else name_of(trace, source, root, failure.site)
    steps: list[Step] = []
    made = made_near(root, failure.site)
    unreduced = 'reduction="none"' in source.text(made).replace("'", '"')
    if made.node is not failure.site.node:
        steps.append(Step(made, "one loss for each element" if unreduced else f"has {_size(root)}"))
    steps.append(Step(failure.site, "needs a single number"))
    method = call is not None and isinstance(call.func, ast.Attribute) and loss is getattr(call.func, "value", None)
    mean, total = (edits.followed(name, loss, f".{way}()") if loss is not None else f".{way}()" for way in _WAYS)
    fixes = source.proposed(_fixes(trace, source, failure, loss, _WAYS if method else ("sum",)))
    needing = "`backward()`" if method or call is None else f"`{source.short(failure.site, call.func, 30)}`"
    return Report(
        failure.site,
        f"`{name}` has {_size(root)}, but {needing} needs a single number",
        tuple(steps),
        raised_at=failure.site,
        pytorch=f"RuntimeError: {MESSAGES[FaultKind.NOT_SCALAR]}",
        help=f"reduce it first: `{mean if method or loss is None else total}`",
        fixes=fixes,
    )


_WAYS = ("mean", "sum")


def _root(call: ast.Call | None) -> ast.expr | None:
    """The expression of the root: `loss` of `loss.backward()`, the first argument of `torch.autograd.grad`."""
    if call is None:
        return None
    if isinstance(call.func, ast.Attribute) and call.func.attr == "backward" and not call.args:
        return call.func.value
    return call.args[0] if call.args and not isinstance(call.args[0], (ast.Tuple, ast.List)) else None


def _size(root: Tensor) -> str:
    if root.shape is None or None in root.shape or MANY in root.shape:
        return "more than one element"
    total = 1
    for size in root.shape:
        total *= size or 0
    return f"{total} elements" if total != 0 else "no element"


def _fixes(
    trace: Trace, source: Source, failure: Failed, loss: ast.expr | None, ways: tuple[str, ...]
) -> Iterator[Fix]:
    """The loss is reduced where it is gone back from, or before that where the variable is read further down."""
    statement, document = statement_of(trace, failure.site.node), source.document(failure.site)
    if loss is None:
        return
    for way in ways:
        changes, repair = edits.append(document, loss, f".{way}()"), Repair(Way.REDUCE_BY, text=f".{way}()")
        if isinstance(loss, ast.Name) and is_read_again(trace, statement, loss.id):
            text = f"{loss.id} = {loss.id}.{way}()"
            edit = edits.insert_before(document, statement, text)
            changes = changes if edit is None else (edit,)
            repair = repair if edit is None else Repair(Way.REDUCE_BEFORE, lines=(statement.lineno,), text=text)
        yield Fix.by(repair, Safety.SAFE, changes, eligible=way == ways[0])


RULE = Rule(
    "nonscalar-backward",
    "detach",
    Level.ERROR,
    "`backward()` without `gradient=` on a tensor that certainly has more than one element",
    find,
    raises=(r"grad can be implicitly created only for scalar outputs",),
    pytorch=f"RuntimeError: {MESSAGES[FaultKind.NOT_SCALAR]}",
)
