"""An in-place operation that overwrites what a pending backward has saved."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.errors import MESSAGES, FaultKind
from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Fix, Level, Safety
from gradpath.interpreter.trace import Built, Site, Trace
from gradpath.rules import edits
from gradpath.rules.out_of_place import counterparts, module_of, write_text, written_name
from gradpath.rules.overwriting import Overwriting, overwritings, what, who_needs
from gradpath.rules.report import Report, Rule, Source, Step
from gradpath.rules.stories import following, lifted, lowered, name_of, short_operation, with_time
from gradpath.rules.syntax import ancestry, is_alone, statement_of


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Writes to saved tensors that are no parameters; those are `parameter-updated-before-backward`."""
    for found in overwritings(trace):
        if not found.is_update:
            yield _report(trace, source, found)


def _report(trace: Trace, source: Source, found: Overwriting) -> Report:
    fixes = tuple(_fixes(trace, source, found))
    return Report(
        RULE.id,
        found.site,
        _headline(trace, source, found),
        tuple(_steps(trace, source, found)),
        raised_at=found.failure.site,
        pytorch=f"RuntimeError: {MESSAGES[FaultKind.MODIFIED]}",
        help=_help(fixes),
        alternatives=tuple(lowered(fix.title) for fix in fixes[1:]),
        fixes=fixes,
    )


def _headline(trace: Trace, source: Source, found: Overwriting) -> str:
    write = write_text(trace, source, found.site, 34)
    if _same_call(found) and module_of(trace, found.site) is not None:
        return f"`{write}` overwrites what `{short_operation(found.node.name)}` before it saved for its gradient"
    if _same_call(found):
        return f"`{write}` overwrites {_saved_name(trace, source, found)}, which its own gradient needs"
    if found.is_result:
        return f"`{write}` overwrites {what(trace, source, found)}, which its gradient needs"
    needs = who_needs(source, found)
    headline = f"`{write}` overwrites {_saved_name(trace, source, found)}, which the gradient of {needs} needs"
    return headline if len(headline) <= 120 else f"`{write}` overwrites a value that the gradient of {needs} needs"


def _same_call(found: Overwriting) -> bool:
    """Whether the write is the very operation that saved."""
    site = found.saved_at
    return isinstance(site, Site) and site.node is found.site.node and site.loops == found.site.loops


def _saved_name(trace: Trace, source: Source, found: Overwriting) -> str:
    name = name_of(trace, source, found.saved.tensor, found.site)
    if found.written is found.saved.tensor:
        name = written_name(trace, source, found.site) or name
    return f"`{name}`" if name and len(name) <= 30 else "a value"


def _steps(trace: Trace, source: Source, found: Overwriting) -> Iterator[Step]:
    site = found.saved_at
    made = module_of(trace, found.site)
    if made is not None and made.made is not None:
        yield Step(made.made, "works in place")
    if isinstance(site, Site) and not _same_call(found):
        kept = "saves its result" if found.is_result else f"saves {_saved_name(trace, source, found)}"
        yield Step(site, f"{kept} for the backward")
    when = following(trace, found.site, site) if isinstance(site, Site) else ""
    yield Step(found.site, with_time(when, "changes it in place"))
    yield Step(found.failure.site, "finds it changed")


def _help(fixes: tuple[Fix, ...]) -> str:
    if not fixes:
        return "make a new tensor instead of writing into the old one"
    return lowered(fixes[0].title)


def _fixes(trace: Trace, source: Source, found: Overwriting) -> Iterator[Fix]:
    place = found.saved_at
    saved_at = lifted(place, found.site) if isinstance(place, Site) else None
    made = list(counterparts(trace, source, found.site, found.written, saved_at))
    copy = _copy(trace, source, found)
    safe = [fix for fix in made if fix.safety is Safety.SAFE]
    yield from safe
    if copy is not None:
        yield copy
    yield from (fix for fix in made if fix.safety is not Safety.SAFE)


def _copy(trace: Trace, source: Source, found: Overwriting) -> Fix | None:
    """`.clone()` where the operation saves: of its result, or of the one argument that is the saved value."""
    site = found.saved_at
    if not isinstance(site, Site) or site.node is found.site.node or isinstance(site.node, ast.stmt):
        return None
    if _may_be_saved_again(trace, found):
        return None
    document = source.document(site)
    if found.is_result:
        node = site.node
        if not isinstance(node, ast.expr) or not _gives_alone(trace, found):
            return None
    else:
        names = {name_of(trace, source, found.saved.tensor, site)}
        if found.written is found.saved.tensor:
            names.add(written_name(trace, source, found.site))
        reads: list[ast.expr] = [
            each
            for each in ast.walk(site.node)
            if isinstance(each, (ast.Name, ast.Attribute)) and source.text(site, each) in names - {""}
        ]
        origin = found.saved.tensor.origin
        if isinstance(origin, Site) and isinstance(origin.node, ast.Subscript):
            reads = [origin.node]
            site = next((frame for frame in site.frames() if origin.node in ast.walk(frame.node)), None)
        elif isinstance(origin, Site) and _is_alias(found, origin):
            site, reads = origin, [origin.node] if isinstance(origin.node, ast.expr) else []
        elif not reads:
            reads = _handed_over(found, site)
        if site is None or len(reads) != 1:
            return None
        document = source.document(site)
        node = _item(trace, reads[0])
    statement = statement_of(trace, node)
    if isinstance(statement, ast.Assign) and statement.value is node and isinstance(statement.targets[0], ast.Tuple):
        return None  # It gives several values.
    around = ancestry(trace, node)
    if len(around) > 1 and isinstance(around[-2], ast.Attribute) and around[-2].attr in ("values", "indices"):
        return None
    if len(around) > 1 and isinstance(node, ast.Call) and isinstance(around[-2], ast.Subscript):
        return None  # It may give several values: `gru(x)[0]`.
    text = edits.followed(source.text(site, node), node, ".clone()")
    where = f"on line {site.line}" if len(text) > 40 else f"on line {site.line}: `{text}`"
    return Fix(f"Save a copy {where}", Safety.SAFE, edits.append(document, node, ".clone()"), preferred=True)


def _may_be_saved_again(trace: Trace, found: Overwriting) -> bool:
    """Whether another operation may have saved the same memory: with one copy the backward would perhaps still fail."""
    return any(
        tensor.storage is found.saved.storage
        for event in trace.of(Built)
        if event.node.behaviour is not None
        for parameter in event.node.behaviour.maybe_saves
        for tensor in event.inputs.get(parameter, ())
    )


def _item(trace: Trace, read: ast.expr) -> ast.expr:
    """`cache[0]` where `cache` is read: the variable may be a list of tensors."""
    around = ancestry(trace, read)
    outer = around[-2] if len(around) > 1 else None
    named = isinstance(read, (ast.Name, ast.Attribute))
    return outer if named and isinstance(outer, ast.Subscript) and outer.value is read else read


def _handed_over(found: Overwriting, site: Site) -> list[ast.expr]:
    """`table.weight` in `self.project(table.weight)`: a parameter that a module is given for its input."""
    match site.node:
        case ast.Call(args=[ast.Name() | ast.Attribute() as given], keywords=[]):
            return [given] if found.saved.role == "input" and found.saved.tensor.is_parameter else []
        case _:
            return []


def _is_alias(found: Overwriting, origin: Site) -> bool:
    """Whether what was saved is a view or a `.detach()` of the written memory, made by a call of its own."""
    if not isinstance(origin.node, ast.Call) or origin.node is found.site.node:
        return False
    if found.written.base is found.saved.tensor:
        return False  # It is the written one that is a view.
    return found.written is not found.saved.tensor and origin.node is not getattr(found.saved_at, "node", None)


def _gives_alone(trace: Trace, found: Overwriting) -> bool:
    """Whether the expression that saves gives the saved tensor itself, as a call of an operation does."""
    node = found.saved_at.node if isinstance(found.saved_at, Site) else None
    statement = None if node is None else statement_of(trace, node)
    if node is None or found.node.name.endswith("_") or (statement is not None and is_alone(statement, node)):
        return False
    outputs: list[Tensor] = found.node.outputs
    if isinstance(statement, ast.Assign) and statement.value is node and isinstance(statement.targets[0], ast.Tuple):
        return False
    return found.saved.tensor in outputs and len([each for each in outputs if each is not found.written]) <= 1


RULE = Rule(
    "inplace-on-saved",
    "in-place",
    Level.ERROR,
    "an in-place operation overwrites a tensor that a pending `backward()` has saved",
    f"RuntimeError: {MESSAGES[FaultKind.MODIFIED]}",
    find,
)
