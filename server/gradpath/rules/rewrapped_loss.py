"""A loss that is cut off and made to require a gradient by force: the backward runs, and nothing learns."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Advice, Edit, Fix, Level, Reason, Safety
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.rules import cut_fixes, cuts, edits
from gradpath.rules.moving import removed
from gradpath.rules.report import Report, Rule, Source, Step
from gradpath.rules.rewrapping import Rewrapping, rewrapped_terms, rewrappings
from gradpath.rules.stories import name_of
from gradpath.rules.syntax import statement_of
from gradpath.source.index import contents, holds
from gradpath.support.fast_dataclasses import replace

_WHOLE = "the loss: the backward runs, and no parameter gets a gradient"


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """One report for each place that rewraps a loss."""
    seen: set[ast.AST] = set()
    for found in (*rewrappings(trace), *rewrapped_terms(trace)):
        if found.site.node not in seen:
            seen.add(found.site.node)
            yield _report(trace, source, found)


def _report(trace: Trace, source: Source, found: Rewrapping) -> Report:
    cause = cuts.cause_of(trace, found.loss, rewrapped=True)
    statement = statement_of(trace, found.site.node)
    at = found.site
    if isinstance(statement, ast.Assign) and isinstance(found.site.node, ast.Attribute):
        at = replace(found.site, node=statement)
    wrap = source.short(at, limit=40)
    name = name_of(trace, source, found.loss, found.ran.site)
    same = cause.site is None or holds(found.site.node, cause.site.node)
    steps = list(cuts.leaving(cause) if same else cuts.steps(trace, source, cause))
    fixes = tuple(_fixes(trace, source, found, cause, statement))
    return Report(
        RULE.id,
        at,
        f"`{wrap}` makes a leaf of " + ("a term of the loss: no parameter learns from it" if found.is_term else _WHOLE),
        (
            *steps,
            Step(at, f"makes {f'`{name}`' if name and len(name) < 20 else 'it'} a leaf, cut off from the model"),
            Step(
                found.ran.site, "leads no further than to it" if found.is_term else "gives a gradient to the loss alone"
            ),
        ),
        help=Advice(_help(source, cause, same, found), next(iter(fixes), None), reason=Reason.DESIGN),
        fixes=fixes,
    )


def _help(source: Source, cause: cuts.Cause, same: bool, found: Rewrapping) -> str:
    if same and cause.how == "numpy":
        return cuts.way_out(cause)
    if same:
        return f"{'add the term' if found.is_term else 'back-propagate the loss'} itself, not a copy of its value"
    return f"remove it, and fix the cut on line {cause.site.line if cause.site else 0}: {cuts.way_out(cause)}"


def _fixes(
    trace: Trace, source: Source, found: Rewrapping, cause: cuts.Cause, statement: ast.stmt | None
) -> Iterator[Fix]:
    drop = _without_wrap(trace, source, found, statement)
    if cause.site is not None and holds(found.site.node, cause.site.node):
        loss = _uncut(found.site.node, cause.site.node)
        if loss is not None and isinstance(found.site.node, ast.Call) and _copies(found.site.node, cause.site.node):
            document = source.document(found.site)
            text = edits.flat(document, loss)
            if (
                isinstance(statement, ast.Assign)
                and statement.value is found.site.node
                and [edits.flat(document, each) for each in statement.targets] == [text]
            ):
                gone = removed(trace, document, statement)
                if gone is not None:
                    yield Fix.by(Repair(Way.DELETE_COPY), Safety.UNSAFE, (gone,))
                return
            kept = document.slice(document.range_of(loss))
            if isinstance(loss, _EXPRESSIONS):
                computed = _computed(kept, loss, cause)
                if computed is None:
                    return
                whole = getattr(statement, "value", None) is found.site.node or not isinstance(loss, ast.BinOp)
                kept = computed if whole else f"({computed})"
            elif _is_list(trace, loss) and isinstance(found.site.node.func, ast.Attribute):
                kept = f"{edits.flat(document, found.site.node.func.value)}.stack({kept})"
            edit = edits.replace(document, found.site.node, kept)
            yield Fix.by(Repair(Way.USE_ITSELF, (source.short(found.site, loss, 30),)), Safety.UNSAFE, (edit,))
        return
    for fix in cut_fixes.undo(trace, source, cause, found.ran.site):
        if drop is not None:
            yield Fix.by((*fix.repairs, Repair(Way.NO_FORCE)), Safety.UNSAFE, (*fix.edits, drop))


def _copies(wrap: ast.expr, cut: ast.AST) -> bool:
    """True if nothing is computed between the cut and the leaf: `x.detach().max().requires_grad_()` is no copy."""
    inner: ast.AST = wrap
    while inner is not cut:
        match inner:
            case ast.Call(func=ast.Attribute(value=value, attr="detach" | "clone" | "cpu" | "item" | "requires_grad_")):
                inner = value
            case ast.Attribute(value=value, attr="data") | ast.Call(args=[value, *_]):
                inner = value
            case _:
                return False
    return True


def _is_list(trace: Trace, loss: ast.expr) -> bool:
    """True if a variable is bound to a list somewhere."""
    names = ast.unparse(loss)
    return any(
        isinstance(each, ast.Assign)
        and isinstance(each.value, (ast.List, ast.ListComp))
        and names in [ast.unparse(target) for target in each.targets]
        for each in trace.visits
    )


def _uncut(wrap: ast.AST, cut: ast.AST) -> ast.expr | None:
    """The loss before the copy: `loss` of `torch.tensor(loss.item(), ...)`, of `loss.detach()` or of `loss.data`."""
    inner: ast.AST = cut
    if isinstance(cut, ast.Call) and (cut is wrap or _makes_tensor(cut)):
        if not cut.args:
            return None
        inner = cut.args[0]
        if isinstance(inner, _EXPRESSIONS) and _makes_tensor(cut) and not _takes_value(inner):
            return inner
    match inner:
        case ast.Call(func=ast.Attribute(value=value, attr="item" | "detach" | "cpu" | "clone"), args=[]):
            return value
        case ast.Attribute(value=value, attr="data"):
            return value
        case ast.Name() | ast.Attribute():
            return inner
        case _:
            return None


_EXPRESSIONS = (ast.BinOp, ast.Call, ast.List)
"""Expressions that compute the value that `torch.tensor` copies."""


def _makes_tensor(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in ("tensor", "as_tensor")


def _takes_value(node: ast.expr) -> bool:
    """True if an expression as a whole is the value of a tensor, as `loss.item()` is."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _READING


_READING = frozenset({"item", "detach", "cpu", "clone", "numpy", "tolist"})


def _computed(text: str, loss: ast.expr, cause: cuts.Cause) -> str | None:
    """`a + b` for `a.item() + b.item()`, `torch.stack([a, b])` for a list; None where numbers come from elsewhere."""
    reads = [each for each in contents(loss).calls if _takes_value(each)]
    live = cause.how == "torch.tensor" or (cause.how == "item" and reads)
    if not live or text.count(".item()") != len(reads):
        return None
    text = text.replace(".item()", "")
    if not isinstance(loss, ast.List):
        return text
    return None if any(isinstance(each, ast.Constant) for each in loss.elts) else f"torch.stack({text})"


def _without_wrap(trace: Trace, source: Source, found: Rewrapping, statement: ast.stmt | None) -> Edit | None:
    """Remove the statement `loss.requires_grad_()`, or the call in an expression: `Variable(loss)` becomes `loss`."""
    document = source.document(found.site)
    node = found.site.node
    if isinstance(statement, ast.Assign) and node in statement.targets:
        return removed(trace, document, statement)
    if not isinstance(node, ast.Call):
        return None
    if isinstance(statement, ast.Expr) and statement.value is node:
        return removed(trace, document, statement)
    if ast.unparse(node.func).endswith("Variable") and node.args:
        return edits.replace(document, node, document.slice(document.range_of(node.args[0])))
    is_method = isinstance(node.func, ast.Attribute) and node.func.attr == "requires_grad_"
    return edits.drop_method(document, node) if is_method else None


RULE = Rule(
    "rewrapped-loss",
    "detach",
    Level.WARNING,
    "a loss without a graph is made to require a gradient: `backward()` runs, and no parameter learns",
    None,
    find,
    idle=True,
)
