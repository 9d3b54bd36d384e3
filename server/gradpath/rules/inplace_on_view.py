"""An in-place operation that PyTorch refuses on a view: one of several, one made under `no_grad`, or `detach_()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain

from gradpath.autograd.errors import MESSAGES, AutogradError, FaultKind
from gradpath.autograd.tensor import HOOKED, Tensor
from gradpath.diagnostic import Fix, Level, Safety
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import failures, said, short_operation
from gradpath.findings.syntax import block_of, statement_of
from gradpath.fixes import edits
from gradpath.fixes.out_of_place import counterparts, write_text
from gradpath.interpreter.events import Failed, Site
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way

KINDS = (
    FaultKind.MULTIPLE_VIEWS,
    FaultKind.VIEW_NO_GRAD,
    FaultKind.VIEW_INFERENCE,
    FaultKind.CUSTOM_VIEW,
    FaultKind.DETACH_VIEW,
)


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Writes that PyTorch refuses because of how a view was made, at the write or when the view is next read."""
    for failure, error in failures(trace, *KINDS):
        if error.tensor is not None:
            yield _report(trace, source, failure, error, error.tensor)


def _report(trace: Trace, source: Source, failure: Failed, error: AutogradError, view: Tensor) -> Report:
    late = error.write is not None
    site = error.write.site if error.write is not None else failure.site
    written = error.write.owner if error.write is not None else view
    write = write_text(trace, source, site, 34)
    name = said(trace, source, view, failure.site, "a view")
    first = view if error.kind is FaultKind.DETACH_VIEW else _first_of(view)
    steps = [
        Step(first.origin, _origin(error, view)),
        Step(site, "changes the memory of them all" if late else _deed(error)),
    ]
    if late:
        steps.append(Step(failure.site, f"reads {name}, which is changed"))
    ways = (
        _detached(trace, source, site)
        if error.kind is FaultKind.DETACH_VIEW
        else chain(_unrecorded(trace, source, site, error, view), counterparts(trace, source, site, written))
    )
    fixes = source.proposed(ways)
    return Report(
        site,
        f"`{write}` {_deed(error, name)}, {_kind(error, view)}"
        if not late
        else f"`{write}` changes what {name} shows, {_kind(error, view)}",
        tuple(steps),
        raised_at=failure.site,
        pytorch=f"RuntimeError: {MESSAGES[error.kind]}",
        help=_way_out(error, view),
        fixes=fixes,
    )


def _way_out(error: AutogradError, view: Tensor) -> str:
    if error.kind is FaultKind.DETACH_VIEW:
        return "`.detach()` gives a tensor without a graph, which can be bound in its place"
    if _is_hooked(view):
        return "leave what goes into and out of a module with a backward hook as it is: `inplace=False` next to it"
    return "make a new tensor instead of writing into the view"


def _detached(trace: Trace, source: Source, site: Site) -> Iterator[Fix]:
    """`hidden = hidden.detach()` in place of each `hidden[i].detach_()` of its block."""
    statement = statement_of(trace, site.node)
    name = _taken_off(statement)
    if name is None:
        return
    document = source.document(site)
    alike = [each for each in block_of(trace, statement) if _taken_off(each) == name]
    dropped = [edits.delete_statement(document, each) for each in alike if each is not statement]
    changes = [edits.replace(document, statement, f"{name} = {name}.detach()"), *filter(None, dropped)]
    if len(changes) == len(alike):
        repair = Repair(Way.DETACH_ON, (name,), (statement.lineno,))
        yield Fix.by(repair, Safety.SAFE, tuple(changes))


def _taken_off(statement: ast.stmt) -> str | None:
    """The variable of a statement `name.detach_()` or `name[...].detach_()`."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="detach_", value=view), args=[])):
            while isinstance(view, ast.Subscript):
                view = view.value
            return ast.unparse(view) if isinstance(view, (ast.Name, ast.Attribute)) else None
    return None


def _deed(error: AutogradError, what: str = "it") -> str:
    return f"detaches {what} in place" if error.kind is FaultKind.DETACH_VIEW else f"writes into {what}"


def _first_of(view: Tensor) -> Tensor:
    """The view that the function with several outputs gave, of which another view may have been taken."""
    while len(view.maker) == 1 and view.maker[0].creation is view.creation and view.maker[0].storage is view.storage:
        view = view.maker[0]
    return view


def _unrecorded(trace: Trace, source: Source, site: Site, error: AutogradError, view: Tensor) -> Iterator[Fix]:
    """A write into a view of a parameter goes under `torch.no_grad()`, where the view was made."""
    document = source.document(site)
    torch = source.called("torch", document.path)
    if error.kind is FaultKind.VIEW_NO_GRAD and view.base is not None and view.base.is_parameter and torch is not None:
        edit = edits.wrap(document, statement_of(trace, site.node), f"with {torch}.no_grad():")
        yield from Fix.of(Repair(Way.UNRECORDED), Safety.SAFE, edit)


def _kind(error: AutogradError, view: Tensor) -> str:
    match error.kind:
        case FaultKind.MULTIPLE_VIEWS:
            return f"one of several views that `{short_operation(_first_of(view).operation)}` gave"
        case FaultKind.VIEW_NO_GRAD:
            return "a view that was made under `no_grad`"
        case FaultKind.VIEW_INFERENCE:
            return "a view that was made under `inference_mode`"
        case FaultKind.DETACH_VIEW:
            return "a view of another tensor"
    return "a view that a full backward hook put around its module" if _is_hooked(view) else _CUSTOM


_CUSTOM = "a view that a custom Function gave"


def _is_hooked(view: Tensor) -> bool:
    return _first_of(view).operation == HOOKED


def _origin(error: AutogradError, view: Tensor) -> str:
    match error.kind:
        case FaultKind.MULTIPLE_VIEWS:
            return "returns several views of one tensor"
        case FaultKind.VIEW_NO_GRAD:
            return "a view whose base was not recorded"
        case FaultKind.VIEW_INFERENCE:
            return "a view that inference mode made"
        case FaultKind.DETACH_VIEW:
            return "a view of another tensor"
    return "a view, for the full backward hook of a module" if _is_hooked(view) else "a view from a custom Function"


RULE = Rule(
    "inplace-on-view",
    "in-place",
    Level.ERROR,
    "an in-place operation on one of several views (`chunk`, `split`, `unbind`), on a view made under `no_grad`, or "
    "`detach_()` of a view",
    find,
    raises=(
        r"is a view and is being modified inplace",
        r"output of a function that returns multiple views",
        r"view was created in (?:no_grad|inference) mode",
        r"Can't detach views in-place",
    ),
    pytorch=f"RuntimeError: {MESSAGES[FaultKind.MULTIPLE_VIEWS]}",
)
