"""Cuts that a setting of the program decides on: whoever runs it has chosen them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.autograd.tensor import SWITCHED_OFF
from gradpath.findings import cuts
from gradpath.findings.report import Source
from gradpath.findings.syntax import ancestry, function_of
from gradpath.findings.ways import Severed
from gradpath.interpreter.events import Switched
from gradpath.interpreter.trace import Trace
from gradpath.source.index import inside


def is_by_setting(trace: Trace, source: Source, severed: Severed) -> bool:
    """True if whether a cut is made is decided by something that a run leaves as it is, such as an argument."""
    site = severed.site
    if severed.cause.how in SWITCHED_OFF:
        switch = cuts.switch_of(trace, source, severed.cause)
        if switch is None and cuts.is_checkpoint(severed.cause):
            return False
        if switch is None or not switch.named or _is_chosen(trace, switch.site.node):
            return True
        site = switch.site
    around = ancestry(trace, site.node)
    return any(
        (isinstance(each, ast.If) and not (_is_run(each, around) or _asks_for_turn(trace, each)))
        or (isinstance(each, ast.For) and _counts_layers(each))
        for each in _of_function(around)
    )


def _counts_layers(loop: ast.For) -> bool:
    """True if a loop counts up to a setting, and calls what has its number: the first layers are frozen."""
    match loop:
        case ast.For(target=ast.Name(id=number), iter=ast.Call(func=ast.Name(id="range"), args=bounds)):
            called = (each.func.slice for each in inside(loop, ast.Call) if isinstance(each.func, ast.Subscript))
            chosen = any(isinstance(each, ast.Name | ast.Attribute) for each in bounds)
            return chosen and any(isinstance(each, ast.Name) and each.id == number for each in called)
    return False


def _is_chosen(trace: Trace, switch: ast.AST) -> bool:
    """True if a switch of gradients depends on something: `torch.set_grad_enabled(tune)`.

    The phase of a run is no setting where the run itself goes through several: `set_grad_enabled(phase == "train")`.
    """
    given = [*switch.args, *(each.value for each in switch.keywords)] if isinstance(switch, ast.Call) else []
    chosen = isinstance(switch, ast.IfExp) or any(not isinstance(each, ast.Constant) for each in given)
    return chosen and len({event.asked for event in trace.of(Switched) if event.site.node is switch} - {""}) < 2


def _of_function(around: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The nodes around a node in its own function."""
    for each in reversed(around):
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return
        yield each


def _is_run(branch: ast.If, inside: Sequence[ast.AST]) -> bool:
    """True if a branch is no matter of settings: it asks whether the file is run, or is what training takes."""
    match branch.test:
        case ast.Compare(left=ast.Name(id="__name__")):
            return True
        case ast.Attribute(attr="training"):
            return any(each in branch.body for each in inside)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Attribute(attr="training")):
            return any(each in branch.orelse for each in inside)
    return False


def _asks_for_turn(trace: Trace, branch: ast.If) -> bool:
    """True if a branch asks for a number, and calls of its function take it at some times and not at others."""
    function = function_of(trace, branch) if _is_of_numbers(branch.test) else None
    calls = 0 if function is None else trace.visits.get(function.body[0], 0)
    return 0 < trace.visits.get(branch.body[0], 0) < calls


def _is_of_numbers(test: ast.expr) -> bool:
    """True if a condition asks for certain numbers alone: `turn == 0 or turn == 1`, `turn in (0, 1)`.

    What is compared by size is a schedule, as in `step < 100`, and chosen on purpose.
    """
    match test:
        case ast.BoolOp(values=conditions):
            return all(map(_is_of_numbers, conditions))
        case ast.UnaryOp(op=ast.Not(), operand=condition):
            return _is_of_numbers(condition)
        case ast.Compare(left=ast.Name(), ops=[ast.Eq() | ast.NotEq()], comparators=given):
            return all(map(_is_number, given))
        case ast.Compare(
            left=ast.Name(), ops=[ast.In() | ast.NotIn()], comparators=[ast.Tuple() | ast.List() as given]
        ):
            return all(map(_is_number, given.elts))
    return False


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int
