"""Detaching where a later loss takes a value whose graph is spent: for those that do not train what is behind it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from gradpath.autograd.tensor import Node, Tensor
from gradpath.diagnostic import Edit, Fix, Safety
from gradpath.interpreter.trace import Built, Held, Kept, Site, Trace
from gradpath.repairs import Repair, Way
from gradpath.rules import edits
from gradpath.rules.graphs import leaves, nodes_of, terms_of
from gradpath.rules.report import Source
from gradpath.rules.stories import bindings, name_of, target_of
from gradpath.rules.syntax import function_of, reads_of, statement_of
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Taking:
    """A place that reads a value with a spent graph: the `expression` in the body of `site`."""

    site: Site
    expression: ast.expr


def detached_at(
    trace: Trace,
    source: Source,
    crossings: Iterable[tuple[Node, Node]],
    near: Site,
    roots: Iterable[Tensor],
) -> Iterator[Fix]:
    """`critic(fake.detach())` at each place by which the graph of the failing call at `near` is entered.

    `crossings` are the edges into what is spent. A whole term of the loss, whose `roots` these are, would no longer be
    trained by it.
    """
    pairs, terms = list(crossings), terms_of(nodes_of(roots))
    takings = [_taking(trace, source, node, edge, near) for node, edge in pairs]
    found = {id(each.expression): each for each in takings if each is not None}
    if not found or None in takings:
        return
    changes: list[Edit] = []
    for each in found.values():
        changes += edits.append(source.document(each.site), each.expression, ".detach()")
    names = dict.fromkeys(source.text(each.site, each.expression) for each in found.values())
    lines = sorted({each.site.line for each in found.values()})
    if len(names) <= 3 and len(lines) <= 3:
        safety = Safety.UNSAFE if any(node in terms for node, _ in pairs) else Safety.SAFE
        yield Fix.by(Repair(Way.DETACH_ON, tuple(names), tuple(lines)), safety, tuple(changes), preferred=True)


def _taking(trace: Trace, source: Source, node: Node, edge: Node, near: Site) -> Taking | None:
    """Where `node` takes the result of `edge`: the outermost body, from that of `near` inwards, that names it once."""
    if not isinstance(node.site, Site):
        return None
    tensors = [each for each in inputs_of(trace, node) if each.node is edge] or list(edge.outputs)
    callers = {id(frame.caller) for frame in near.frames()}
    frames = node.site.frames()
    outermost = next((index for index, each in enumerate(frames) if id(each.caller) in callers), len(frames) - 1)
    for frame in reversed(frames[: outermost + 1]):
        item = _item(trace, source, edge, frame)
        if item is not None:
            return Taking(frame, item)
        for tensor in tensors[:1]:
            name = name_of(trace, source, tensor, frame)
            if not any(each.tensor is tensor for each in bindings(trace, tensor)):
                continue  # The name is that of a container.
            reads = [each for each in reads_of(frame.node) if name and source.text(frame, each) == name]
            if len(reads) == 1:
                return Taking(frame, reads[0])
        items = _items_of(trace, source, tensors[:1], frame)
        if len(items) == 1:
            return Taking(frame, items[0])
    return None


def _items_of(trace: Trace, source: Source, tensors: Sequence[Tensor], frame: Site) -> list[ast.Subscript]:
    """`logits[i]` in the expression of a frame, where the variable holds a list or dict with the tensor."""
    held = {
        target_of(source, bound)
        for tensor in tensors
        for bound in bindings(trace, tensor)
        if isinstance(bound.value, Held) and bound.value.kind != "tuple"
    }
    return [
        each
        for each in ast.walk(frame.node)
        if isinstance(each, ast.Subscript)
        and isinstance(each.ctx, ast.Load)
        and not isinstance(each.slice, ast.Slice)
        and source.text(frame, each.value) in held
    ]


def _item(trace: Trace, source: Source, edge: Node, frame: Site) -> ast.Subscript | None:
    """`stats[0]` in the expression of a frame, where a statement of the same function puts the result of `edge`."""
    made = edge.site
    statement = statement_of(trace, made.node) if isinstance(made, Site) else None
    if not isinstance(statement, ast.Assign) or not isinstance(made, Site) or statement.value is not made.node:
        return None
    if function_of(trace, statement) is not function_of(trace, frame.node):
        return None
    targets = [source.text(made, each) for each in statement.targets if isinstance(each, ast.Subscript)]
    reads = [
        each
        for each in ast.walk(frame.node)
        if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Load) and source.text(frame, each) in targets
    ]
    return reads[0] if len(reads) == 1 else None


def inputs_of(trace: Trace, node: Node) -> list[Tensor]:
    """The tensors that a node was built from."""
    event = next((each for each in trace.of(Built) if each.node is node), None)
    return [] if event is None else [tensor for tensors in event.inputs.values() for tensor in tensors]


def trains_nothing_behind(trace: Trace, nodes: Sequence[Node], near: Site, kept: Sequence[Kept]) -> bool:
    """Whether the step that follows `near` in the program leaves all parameters behind `nodes` alone."""
    trained = trained_next(trace, near, kept)
    behind = {id(leaf) for leaf in leaves(nodes)}
    return bool(trained and behind) and not behind & {id(each) for each in trained}


def trained_next(trace: Trace, near: Site, kept: Sequence[Kept]) -> tuple[Tensor, ...]:
    """The parameters of the optimizers whose `step()` follows a call in the program, until another backward does.

    Empty where none is seen.
    """
    for frame in near.frames():
        found: dict[Tensor, None] = {}
        for call in _calls_behind(trace, frame):
            if isinstance(call.func, ast.Attribute) and call.func.attr == "backward":
                return tuple(found)
            if isinstance(call.func, ast.Attribute) and call.func.attr == "step":
                stepped = (_owned(kept, frame, ast.unparse(each)) for each in (*call.args[:1], call.func.value))
                found |= dict.fromkeys(next(filter(None, stepped), ()))
        if found:
            return tuple(found)
    return ()


def _owned(kept: Sequence[Kept], frame: Site, text: str) -> tuple[Tensor, ...]:
    """The parameters of the optimizer that the body of a frame calls so."""
    for each in kept:
        same = each.form.kind == "optimizer" and each.caller is frame.caller
        if same and ast.unparse(ast.parse(each.text, mode="eval").body) == text:
            return each.form.tensors
    return _in_module(kept, text)


def _in_module(kept: Sequence[Kept], text: str) -> tuple[Tensor, ...]:
    for each in kept:
        if each.caller is None and each.form.kind == "optimizer" and each.text == text:
            return each.form.tensors
    return ()


def _calls_behind(trace: Trace, frame: Site) -> Iterator[ast.Call]:
    """The calls that follow the statement of a site in its body, as the text goes, nearest first."""
    statement = statement_of(trace, frame.node)
    function = function_of(trace, frame.node)
    roots: Sequence[ast.AST] = function.body if function is not None else list(trace.visits)
    if statement is None:
        return
    last = statement.end_lineno or statement.lineno, statement.end_col_offset or 0
    calls = {
        id(each): each
        for root in roots
        for each in ast.walk(root)
        if isinstance(each, ast.Call) and (each.lineno, each.col_offset) >= last
    }
    yield from sorted(calls.values(), key=lambda each: (each.lineno, each.col_offset))
