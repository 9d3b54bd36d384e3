"""A backward through a graph that an earlier backward has freed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradpath.autograd.errors import MESSAGES, AutogradError, FaultKind
from gradpath.autograd.tensor import BackwardCall, Node
from gradpath.diagnostic import Fix, Level, Safety
from gradpath.interpreter.trace import Bound, Cleared, Failed, Site, Stepped, Trace, iterations_between
from gradpath.rules import edits
from gradpath.rules.graphs import entrances, meeting, nodes_of, reach, surely_leads
from gradpath.rules.moving import into_block, is_built_by, removed
from gradpath.rules.report import Report, Rule, Source, Step
from gradpath.rules.stories import (
    clears,
    failures,
    lifted,
    lowered,
    name_of,
    occasion,
    operation,
    same_activation,
    since,
    stepped_since,
    trains_nothing,
    with_time,
)
from gradpath.rules.syntax import Compound, block_of, call_of, function_of, names_in, statement_of


@dataclass(frozen=True, slots=True)
class Case:
    """A second call: the two calls and the node where their graphs meet."""

    trace: Trace
    source: Source
    failure: Failed
    call: BackwardCall | None
    earlier: BackwardCall
    before: Site
    shared: Node

    @property
    def again(self) -> Site:
        """The call that raises."""
        return self.failure.site

    @property
    def raising(self) -> Site:
        """The call of the engine that raises; `again` lies in the `backward` of a custom Function now and then."""
        return self.again if isinstance(self.again.node, ast.Call) else lifted(self.again, self.before)

    @property
    def same_root(self) -> bool:
        """Whether both calls start from the same tensors."""
        return self.call is not None and self.call.roots == self.earlier.roots

    @property
    def same_place(self) -> bool:
        """Whether it is one call of the program that runs twice."""
        return self.before.node is self.again.node


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Second calls in the same iteration; those of a later one are `carried-graph`."""
    for failure, error in failures(trace, FaultKind.TWICE):
        case = _case(trace, source, failure, error)
        if case is not None and iterations_between(case.before.loops, failure.site.loops) is None:
            yield _report(case)


def _case(trace: Trace, source: Source, failure: Failed, error: AutogradError) -> Case | None:
    earlier, node = error.earlier, error.node
    if earlier is None or node is None or not isinstance(earlier.site, Site):
        return None
    roots = error.call.roots if error.call is not None else ()
    if roots and not surely_leads(nodes_of(roots), node):
        return None
    shared = meeting(nodes_of(earlier.roots), nodes_of(roots), node)
    return Case(trace, source, failure, error.call, earlier, earlier.site, shared)


def _report(case: Case) -> Report:
    fixes = tuple(_fixes(case))
    return Report(
        RULE.id,
        case.raising,
        _headline(case),
        tuple(_steps(case)),
        raised_at=case.again,
        pytorch=f"RuntimeError: {MESSAGES[FaultKind.TWICE]}",
        help=_help(case, fixes),
        alternatives=tuple(_alternatives(case, fixes)),
        fixes=fixes,
    )


def _what(case: Case) -> str:
    """The shared value in backticks, as the function of the later call names it."""
    outputs = case.shared.outputs
    name = name_of(case.trace, case.source, outputs[0], case.again) if outputs else ""
    return f"`{name}`" if name and len(name) <= 40 else operation(case.source, case.shared)


def _headline(case: Case) -> str:
    return next((text for text in (_said(case, limit) for limit in (30, 22)) if len(text) <= 120), _said(case, 16))


def _said(case: Case, limit: int) -> str:
    """The headline with calls cut to `limit` characters."""
    again = case.source.short(case.raising, limit=limit)
    if case.same_place:
        return f"`{again}` runs a second time through the graph of {_what(case)}, which is built only once"
    if case.same_root:
        root = name_of(case.trace, case.source, case.earlier.roots[0], case.again)
        line = case.before.line
        return f"the graph of `{_cut(root)}` is back-propagated twice, and the call on line {line} has freed it"
    before = case.source.short(case.before, limit=limit)
    return f"`{again}` goes back through the graph of {_what(case)}, which `{before}` has freed"


def _cut(text: str, limit: int = 40) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _steps(case: Case) -> Iterator[Step]:
    if isinstance(case.shared.site, Site):
        shared = lifted(case.shared.site, case.again)
        yield Step(shared, f"the graph of {_what(case)} is built" if not case.same_root else "the graph is built")
    taken = _taken(case)
    if taken is not None:
        yield Step(taken[0], f"hangs on it: {_what(case)} is not detached")
    yield Step(case.before, with_time(occasion(case.trace, case.before, case.again), "frees it"))
    yield Step(case.raising, with_time(occasion(case.trace, case.again, case.before), "needs it again"))


def _taken(case: Case) -> tuple[Site, ast.expr] | None:
    """The call by which the first loss alone takes the shared value, and the argument that is the value.

    None unless the value belongs to parameters that the steps in between leave alone, as the generator's do in a GAN.
    """
    if case.same_root or not case.shared.outputs:
        return None
    if not trains_nothing(case.trace, case.shared, case.earlier):
        return None
    later = nodes_of(case.call.roots) if case.call is not None else []
    for node, edge in entrances(nodes_of(case.earlier.roots), later):
        if edge is not case.shared or not isinstance(node.site, Site):
            continue
        site = lifted(node.site, case.again)
        name = name_of(case.trace, case.source, case.shared.outputs[0], case.again)
        reads = [
            each
            for each in ast.walk(site.node)
            if isinstance(each, (ast.Name, ast.Attribute)) and case.source.text(site, each) == name
        ]
        return (site, reads[0]) if len(reads) == 1 else None
    return None


def _help(case: Case, fixes: tuple[Fix, ...]) -> str:
    stepped = stepped_since(case.trace, case.earlier)
    if case.same_place:
        function = function_of(case.trace, case.again.node)
        when = occasion(case.trace, case.again, case.before)
        if when.startswith("called"):
            return f"compute {_what(case)} again before {when.removeprefix('called from ')}"
        where = f"inside `{function.name}`" if function is not None else "before each call"
        return f"compute {_what(case)} {where}, so that each call has a graph of its own"
    taken = _taken(case)
    if taken is not None:
        call = case.source.short(case.before)
        value = case.source.text(taken[0], taken[1])
        line = taken[0].line
        return f"`{call}` trains nothing behind `{value}`: `{value}.detach()` on line {line} leaves its graph whole"
    if case.same_root:
        if stepped:
            return "compute the loss again after the step: its old graph speaks of the old parameters"
        return "one call is enough: the gradients of the first are in `.grad` already"
    if fixes:
        return lowered(fixes[0].title)
    return f"compute {_what(case)} again before the second call"


def _alternatives(case: Case, fixes: tuple[Fix, ...]) -> Iterator[str]:
    for fix in fixes[1:] if fixes and not case.same_place else fixes:
        cost = " (costs memory until then)" if "retain_graph" in fix.title else ""
        yield f"{lowered(fix.title)}{cost}"
    if case.same_root and not case.same_place and not stepped_since(case.trace, case.earlier):
        yield "for twice the gradient, scale the loss"


def _fixes(case: Case) -> Iterator[Fix]:
    taken = _taken(case)
    document = case.source.document(case.again)
    if taken is not None:
        value = case.source.text(taken[0], taken[1])
        title = f"Detach `{value}` on line {taken[0].line}"
        detached = edits.append(case.source.document(taken[0]), taken[1], ".detach()")
        kept = clears(case.trace, case.shared, case.earlier)
        yield Fix(title, Safety.SAFE, detached, preferred=True, if_certain=not kept)
    if case.same_root and not case.same_place and not stepped_since(case.trace, case.earlier):
        statement = statement_of(case.trace, case.again.node)
        if isinstance(statement, ast.Expr):
            edit = removed(case.trace, document, statement)
            if edit is not None:
                yield Fix("Delete the second call", Safety.SAFE, (edit,), preferred=True)
    if case.same_place:
        yield from _into_function(case)
    summed = _summed(case)
    if summed is not None:
        yield summed
    if not case.same_place and not _is_stale(case):
        call = call_of(case.trace, case.before.node)
        edit = (
            None if call is None else edits.add_keyword(case.source.document(case.before), call, "retain_graph", "True")
        )
        if edit is not None:
            title = f"Keep the graph: `retain_graph=True` on line {case.before.line}"
            yield Fix(title, Safety.SAFE, (edit,), preferred=True)


def _into_function(case: Case) -> Iterator[Fix]:
    """The statement that builds the graph moves into the closure that is called again and again."""
    function = function_of(case.trace, case.again.node)
    site = case.shared.site
    if function is None or not isinstance(site, Site) or occasion(case.trace, case.again, case.before):
        return
    made = lifted(site, case.again)
    statement = statement_of(case.trace, made.node)
    if not isinstance(statement, ast.Assign) or not all(isinstance(each, ast.Name) for each in statement.targets):
        return
    names = {each.id for each in statement.targets if isinstance(each, ast.Name)}
    inside = {id(each) for each in ast.walk(function)}
    for other in case.trace.visits:
        if other is statement or id(other) in inside or isinstance(other, Compound):
            continue
        if any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(other)):
            return
    if not is_built_by(case.trace, case.shared, statement):
        return
    moved = into_block(case.trace, case.source.document(made), [statement], function, function.body)
    if moved is not None:
        title = f"Move line {statement.lineno} into `{function.name}`"
        yield Fix(title, Safety.SAFE, moved, preferred=True, rewrite=True)


def _is_stale(case: Case) -> bool:
    """Whether a step in between wrote something that the graph of the second call has saved."""
    updated = {tensor.storage for step in stepped_since(case.trace, case.earlier) for tensor in step.updated}
    unknown = any(not step.updated for step in stepped_since(case.trace, case.earlier))
    later = reach(nodes_of(case.call.roots)) if case.call is not None else ()
    return unknown or any(saved.storage in updated for node in later for saved in node.saved)


def _summed(case: Case) -> Fix | None:
    """`a.backward()` and `b.backward()` in one block become `(a + b).backward()` at the place of the second."""
    if case.same_root or case.same_place or not same_activation(case.before, case.again):
        return None
    first, second = _plain(case, case.before), _plain(case, case.again)
    if first is None or second is None:
        return None
    one, two = statement_of(case.trace, case.before.node), statement_of(case.trace, case.again.node)
    if not isinstance(one, ast.Expr) or not isinstance(two, ast.Expr):
        return None
    block = block_of(case.trace, one)
    if block is None or not any(each is two for each in block):
        return None
    read = names_in(first)
    for event in since(case.trace, case.earlier):
        if isinstance(event, (Stepped, Cleared)) or (isinstance(event, Bound) and event.name in read):
            return None
    document = case.source.document(case.again)
    left, right = edits.flat(document, first), edits.flat(document, second)
    if isinstance(second, ast.BinOp):
        right = f"({right})"
    if left == right or not isinstance(first, (*edits.ATOMS, ast.BinOp)):
        return None
    gone = removed(case.trace, document, one)
    if gone is None:
        return None
    text = f"({left} + {right}).backward()"
    return Fix(f"Add the losses: `{text}`", Safety.SAFE, (gone, edits.replace(document, two, text)), preferred=True)


def _plain(case: Case, site: Site) -> ast.expr | None:
    """The loss of a `loss.backward()` without arguments."""
    call = call_of(case.trace, site.node)
    if call is None or call.args or call.keywords or not isinstance(call.func, ast.Attribute):
        return None
    return call.func.value if call.func.attr == "backward" else None


RULE = Rule(
    "double-backward",
    "graph",
    Level.ERROR,
    "`backward()` or `autograd.grad` reaches a part of the graph that an earlier call freed",
    f"RuntimeError: {MESSAGES[FaultKind.TWICE]}",
    find,
)
