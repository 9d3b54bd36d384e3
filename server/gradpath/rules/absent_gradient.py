"""A use of a gradient that is None: no backward has left one there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Edit, Fix, Level, Range, Safety
from gradpath.findings.graphs import reached_leaves
from gradpath.findings.parameters import named
from gradpath.findings.rebinding import rebinding_of
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import name_of
from gradpath.findings.syntax import ancestry, statement_of
from gradpath.fixes import edits
from gradpath.interpreter.events import BackwardRan, Built, Cleared, Failed, GradientAbsent, GradientSet, Site
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import holds
from gradpath.support.fast_dataclasses import replace


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Statements that fail because a gradient is None that they ask for."""
    for failure in trace.failures():
        absent = _absent(trace, failure)
        if absent is not None and rebinding_of(trace, source, absent.tensor) is None:
            yield _report(trace, source, failure, absent)


def _absent(trace: Trace, failure: Failed) -> GradientAbsent | None:
    """The last gradient that was asked for in vain in a statement that fails."""
    if failure.exception not in ("TypeError", "AttributeError") or failure.error is not None:
        return None
    statement = statement_of(trace, failure.site.node)
    asked = (each for each in reversed(trace.of(GradientAbsent)) if holds(statement, each.site.node))
    return next((each for each in asked if each.site.caller == failure.site.caller), None)


def _report(trace: Trace, source: Source, failure: Failed, absent: GradientAbsent) -> Report:
    at = _asked_at(absent)
    steps, headline, help_text = _why(trace, source, absent)
    return Report(
        at,
        f"`{source.short(at, limit=40)}` is None: {headline}",
        (*steps, Step(at, "there is no gradient")),
        raised_at=failure.site,
        pytorch=f"{failure.exception}: {failure.message}",
        help=help_text,
        fixes=source.proposed(_fixes(trace, source, absent)),
    )


def _asked_at(absent: GradientAbsent) -> Site:
    """Where the gradient is asked for: the target of `p.grad /= 2`."""
    node = absent.site.node
    return replace(absent.site, node=node.target) if isinstance(node, ast.AugAssign) else absent.site


def _fixes(trace: Trace, source: Source, absent: GradientAbsent) -> Iterator[Fix]:
    tensor, ran = absent.tensor, trace.of(BackwardRan)
    if tensor.node is not None:
        yield from _asked_for(trace, source, absent, ran[-1].site if ran else None, Way.RETAIN_GRAD, "retain_grad")
    elif not tensor.flag:
        uses = (event.site for event in trace.of(Built) if any(tensor in each for each in event.inputs.values()))
        yield from _asked_for(trace, source, absent, next(uses, None), Way.REQUIRE_BEFORE, "requires_grad_")
    elif ran:
        yield from _left_out(trace, source, absent)


def _asked_for(
    trace: Trace, source: Source, absent: GradientAbsent, place: Site | None, way: Way, method: str
) -> Iterator[Fix]:
    """`y.retain_grad()` before a place, where the code that asks for the gradient has a name for the tensor."""
    name = name_of(trace, source, absent.tensor, absent.site)
    frames = () if place is None else place.frames()
    frame = next((each for each in frames if each.caller is absent.site.caller), None)
    if frame is None or not name:
        return
    statement = statement_of(trace, frame.node)
    text = f"{name}.{method}()"
    edit = edits.insert_before(source.document(frame), statement, text)
    yield from Fix.of(Repair(way, (name,), (statement.lineno,), text), Safety.SAFE, edit)


def _left_out(trace: Trace, source: Source, absent: GradientAbsent) -> Iterator[Fix]:
    """`if p.grad is not None:` around the statement, or at the end of the comprehension."""
    statement, document = statement_of(trace, absent.site.node), source.document(absent.site)
    test = f"if {source.text(_asked_at(absent))} is not None"
    around = [each for each in ancestry(trace, absent.site.node) if isinstance(each, ast.GeneratorExp | ast.ListComp)]
    edit: Edit | None = None
    if around:
        last = around[-1].generators[-1]
        end = document.range_of(last.ifs[-1] if last.ifs else last.iter).end
        edit = Edit(document.path, Range(end, end), f" {test.replace('if', 'and', 1) if last.ifs else test}")
    elif isinstance(statement, ast.Expr | ast.Assign | ast.AugAssign):
        edit = edits.wrap(document, statement, f"{test}:")
    yield from Fix.of(Repair(Way.WITH_GRADIENT, text=test), Safety.SAFE, edit)


def _why(trace: Trace, source: Source, absent: GradientAbsent) -> tuple[list[Step], str, str]:
    """The cause, as labels and in words, and the way out."""
    tensor = absent.tensor
    name = _name(trace, source, absent)
    ran = trace.of(BackwardRan)
    if tensor.node is not None:
        return (
            [],
            f"{name} is the result of a computation, and only leaves keep their gradient",
            ("`retain_grad()` on it before the backward keeps it, too"),
        )
    if not tensor.flag:
        return [], f"{name} requires no gradient", "call `requires_grad_()` on it before it is used"
    given = any(tensor in reached_leaves(each) for each in ran)
    given = given or any(each.tensor is tensor for each in trace.of(GradientSet))
    cleared = [each for each in trace.of(Cleared) if tensor in each.tensors]
    if given and cleared:
        return (
            [Step(cleared[-1].site, "sets it to None")],
            "it was cleared, and no backward has reached it since",
            ("ask for it before it is cleared, or clear with `set_to_none=False`"),
        )
    if ran:
        step = Step(ran[-1].site, "gives none to it")
        return [step], f"no backward has reached {name}", "leave out what has no gradient: `if ... .grad is not None`"
    return [], f"no backward has run that could reach {name}", "ask for it after the `backward()`"


def _name(trace: Trace, source: Source, absent: GradientAbsent) -> str:
    """The name of the tensor without a gradient: that of the parameter rather than that of a loop variable."""
    name = name_of(trace, source, absent.tensor, absent.site)
    return named(trace, source, [absent.tensor], f"`{name}`" if name else "it")[0]


RULE = Rule(
    "absent-gradient",
    "graph",
    Level.ERROR,
    "a `.grad` that is None is used: no backward has reached its tensor, or it was cleared since",
    find,
    raises=(
        r"unsupported operand type\(s\) for \S+ '\w+' and 'NoneType'",
        r"unsupported operand type\(s\) for \S+ 'NoneType' and '\w+'",
        r"'NoneType' object has no attribute "
        r"'(?:abs|add_|clamp_|clone|cpu|data|detach_?|div_|flatten|item|mean|mul_|norm|pow|sign_?|sum|view|zero_)'",
    ),
    pytorch="AttributeError: 'NoneType' object has no attribute 'data'",
)
