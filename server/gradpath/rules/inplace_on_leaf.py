"""An in-place operation on a leaf that requires grad, or on a view of one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.errors import MESSAGES, AutogradError, FaultKind
from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Fix, Level, Safety
from gradpath.findings.gradient_flow import trains
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import failures, said
from gradpath.findings.syntax import ancestry, block_of, function_of, statement_of
from gradpath.fixes import edits
from gradpath.fixes.moving import placed
from gradpath.fixes.out_of_place import augmented, counterparts, is_read_again, write_text, written_name
from gradpath.interpreter.events import Failed, Flagged, Site
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Transformation, Way
from gradpath.source.document import Document
from gradpath.source.index import methods_called
from gradpath.support.fast_dataclasses import replace

KINDS = (FaultKind.LEAF_INPLACE, FaultKind.VIEW_OF_LEAF)


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Writes that PyTorch refuses because a leaf is written."""
    for failure, error in failures(trace, *KINDS):
        if error.tensor is not None:
            yield _report(trace, source, failure, error, error.tensor)


def _report(trace: Trace, source: Source, failure: Failed, error: AutogradError, tensor: Tensor) -> Report:
    site = failure.site
    leaf = tensor.base if error.kind is FaultKind.VIEW_OF_LEAF and tensor.base is not None else tensor
    variable = written_name(trace, source, site)
    name = f"`{variable}`" if variable and len(variable) <= 40 else said(trace, source, leaf, site, "a leaf")
    write = write_text(trace, source, site, 34)
    what = f"a view of {name}" if leaf is not tensor else name
    kind = "a parameter" if leaf.is_parameter else "a leaf that requires a gradient"
    steps: list[Step] = []
    asked = [event.site for event in trace.of(Flagged) if event.tensor is leaf and event.value]
    if asked:
        steps.append(Step(asked[-1], "asks for its gradient"))
    elif leaf.origin.node is not site.node:
        steps.append(Step(leaf.origin, f"makes {kind}"))
    steps.append(Step(site, "writes into it, which PyTorch refuses to record"))
    fixes = source.proposed(_fixes(trace, source, site, leaf, recorded=_is_recorded(error)))
    return Report(
        site,
        f"`{write}` writes into {what}, {kind}",
        tuple(steps),
        raised_at=site,
        pytorch=f"RuntimeError: {MESSAGES[error.kind]}",
        help="make a new tensor instead, or write under `torch.no_grad()` what is no part of the computation",
        fixes=fixes,
        why=_why,
        condition=None if _is_recording(trace, site, leaf) else "if gradients are on",
    )


def _is_recording(trace: Trace, site: Site, leaf: Tensor) -> bool:
    """True if gradients are on where a leaf is written: a function that converts weights may be called without them.

    Not one that asks for a leaf's gradient, nor one that makes a module, or that a module computes with.
    """
    names = {getattr(function_of(trace, each.node), "name", "") for each in site.frames()}
    made = not names.isdisjoint({"__init__", "forward", *_called_by_constructors(trace)})
    return made or not leaf.is_parameter or trains(trace)


def _called_by_constructors(trace: Trace) -> Iterator[str]:
    """The methods that the constructor of a class calls of which a method was entered."""
    for owner in (each for each in ancestry(trace, trace.entry) if isinstance(each, ast.ClassDef)):
        for each in owner.body:
            if isinstance(each, ast.FunctionDef) and each.name == "__init__":
                yield from (name for _, name, _ in methods_called(each))


def _why(fix: Fix) -> str:
    if fix.does(Transformation.OUT_OF_PLACE):
        return f"{fix.said}; under `torch.no_grad()` what is added would get no gradient"
    return f"{fix.said}, because an update is no part of what is differentiated"


def _fixes(trace: Trace, source: Source, site: Site, leaf: Tensor, *, recorded: bool) -> Iterator[Fix]:
    statement = statement_of(trace, site.node)
    document = source.document(site)
    into = list(_into_the_dict(trace, document, statement))
    if recorded:
        yield from into  # The update itself is differentiated, like that of fast weights.
        if not leaf.is_parameter or _is_variable(trace, statement):
            yield from _out_of_place(trace, source, site, leaf)
            return
    torch = source.called("torch", document.path)
    edit = edits.wrap(document, statement, f"with {torch}.no_grad():")
    if edit is not None and torch is not None:
        yield Fix.by(Repair(Way.UNRECORDED), Safety.SAFE, (edit,))
        yield from _put_off(trace, document, statement, torch)
    if not recorded:
        yield from into
    if not leaf.is_parameter:
        yield from _out_of_place(trace, source, site, leaf)


def _out_of_place(trace: Trace, source: Source, site: Site, leaf: Tensor) -> Iterator[Fix]:
    for fix in counterparts(trace, source, site, leaf):
        if not fix.does(Transformation.CLONE):
            yield Fix.by(fix.repairs, Safety.UNSAFE, fix.edits)


def _is_variable(trace: Trace, statement: ast.stmt) -> bool:
    """True if a statement writes into what a variable names, which is read further down."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=name)):
            return is_read_again(trace, statement, name)
    return False


def _is_recorded(error: AutogradError) -> bool:
    """True if something that was to be written into a leaf certainly has a graph: a step times a gradient has none."""
    return any(each is not error.tensor and each.node is not None and not each.node.is_open for each in error.inputs)


def _put_off(trace: Trace, document: Document, statement: ast.stmt, torch: str) -> Iterator[Fix]:
    """The write under `torch.no_grad()` after the backward in its block, which still needs the old value."""
    block = block_of(trace, statement)
    last = next((each for each in reversed(block) if _goes_back(each)), None)
    if last is not None:
        moved = placed(trace, document, [statement], last, f"with {torch}.no_grad():", after=True)
        yield from Fix.of(Repair(Way.UNRECORDED_AFTER, lines=(last.lineno,)), Safety.SAFE, moved, rewrite=True)


def _goes_back(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="backward"))):
            return True
    return False


def _into_the_dict(trace: Trace, document: Document, statement: ast.stmt) -> Iterator[Fix]:
    """`for k, v in fast.items(): v -= g` becomes `fast[k] = v - g`: the dict holds the result, not the leaf."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=name)):
            edit = augmented(document, statement)
        case _:
            return
    for loop in reversed(ancestry(trace, statement)):
        for target, every in _pairs(loop) if isinstance(loop, ast.For) else ():
            match target, every:
                case (
                    ast.Tuple(elts=[ast.Name(id=key), ast.Name(id=value)]),
                    ast.Call(func=ast.Attribute(attr="items", value=ast.Name(id=owner)), args=[]),
                ) if value == name and edit is not None:
                    text = edit.new_text.replace(f"{name} =", f"{owner}[{key}] =", 1)
                    changed = replace(edit, new_text=text)
                    repair = Repair(Way.NEW_IN_DICT, (owner,), text=text)
                    yield Fix.by(repair, Safety.SAFE, (changed,))
                    return


def _pairs(loop: ast.For) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The pairs of a loop's target and iterable, one by one for a `zip`."""
    match loop.target, loop.iter:
        case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=given) if len(targets) == len(given):
            yield from zip(targets, given, strict=True)
        case target, every:
            yield target, every


RULE = Rule(
    "inplace-on-leaf",
    "in-place",
    Level.ERROR,
    "an in-place operation on a leaf that requires a gradient, or on a view of one",
    find,
    raises=(r"leaf Variable that requires grad (?:is being used|has been used) in an in-place operation",),
    pytorch=f"RuntimeError: {MESSAGES[FaultKind.LEAF_INPLACE]}",
)
