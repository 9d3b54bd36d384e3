"""Custom Functions that are given what was cut off from its graph right there: their `backward` never runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.findings.cuts import cause_of_tensor
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import short_operation
from gradpath.findings.syntax import ancestry
from gradpath.fixes.cut_fixes import undone
from gradpath.interpreter.events import BackwardRan, Built, CutOff
from gradpath.interpreter.trace import Trace, once
from gradpath.source.index import inside
from gradpath.source.nodes import last_name


def idle_functions(trace: Trace, source: Source, ran: BackwardRan) -> Iterator[Report]:
    """The applications that have recorded nothing, of Functions of the file that compute a gradient."""
    upstream = {id(each) for root in ran.call.roots for each in root.ancestors()} if _applied(trace) else ()
    for cut, name in _applied(trace):
        if id(cut.tensor) in upstream and _computes_gradient(source.tree(cut.site.path), name):
            text = source.short(cut.site)
            yield Report(
                cut.site,
                f"`{name}.backward` never runs: `{text}` has no graph to hand its gradient to",
                (
                    Step(cut.site, "takes the value and leaves the graph"),
                    Step(ran.site, f"goes back no further than `{name}`"),
                ),
                help="give the Function the tensor itself",
                fixes=source.proposed(undone(trace, source, cause_of_tensor(cut.tensor), ran.site, cut.site)),
            )


@once
def _applied(trace: Trace) -> list[tuple[CutOff, str]]:
    """What is cut off in the arguments of an `apply` that records nothing, with the class that is applied."""
    cuts = [each for each in trace.of(CutOff) if short_operation(each.cut.how) in ("detach", "data")]
    built = {event.site.node for event in trace.of(Built)} if cuts else ()
    found: list[tuple[CutOff, str]] = []
    for cut in cuts:
        around = ancestry(trace, cut.site.node)
        match around[-2] if len(around) > 1 else None:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="apply")) as call if call not in built:
                found.append((cut, name))
    return found


def _computes_gradient(tree: ast.Module, name: str) -> bool:
    """True if a class is a custom Function whose `backward` gives back something else than None."""
    for cls in (each for each in inside(tree, ast.ClassDef) if each.name == name):
        if any(last_name(base) == "Function" for base in cls.bases):
            backward = (each for each in inside(cls, ast.FunctionDef) if each.name == "backward")
            given = [one.value for each in backward for one in inside(each, ast.Return)]
            return any(each is not None and not isinstance(each, ast.Constant) for each in given)
    return False
