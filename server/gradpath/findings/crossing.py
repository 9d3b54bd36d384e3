"""Where a later backward enters the graph of an earlier one, and where the program can name what it enters."""

from __future__ import annotations

import ast

from gradpath.autograd.tensor import Node, Tensor
from gradpath.findings.report import Source
from gradpath.findings.stories import bindings, name_of, target_of
from gradpath.findings.syntax import joins, reads_of, statement_of
from gradpath.interpreter.events import Bound, Built, Held, Kept, Site
from gradpath.interpreter.trace import Trace
from gradpath.source.index import inside
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Crossing:
    """How a later backward, at `near`, enters an old graph: by `edges` from a node of its own to an old one.

    `loop` is what runs again in between, under its `number`; None for what stands in a line. `kept` is what the running
    bodies held when it failed.
    """

    trace: Trace
    source: Source
    edges: tuple[tuple[Node, Node], ...]
    near: Site
    kept: tuple[Kept, ...]
    loop: ast.For | ast.AsyncFor | ast.While | ast.FunctionDef | ast.AsyncFunctionDef | None = None
    number: int | None = None

    @property
    def entered(self) -> tuple[Node, ...]:
        """The old nodes by which it is entered, each once."""
        return tuple(dict.fromkeys(edge for _, edge in self.edges))


def continuing(crossing: Crossing) -> list[tuple[Site, str, Bound]]:
    """Where bodies read what is entered by names that have kept it since; empty where one does not."""
    found = [_continuing(crossing, node, edge) for node, edge in crossing.edges]
    return [] if None in found else [each for each in found if each is not None]


def _continuing(crossing: Crossing, node: Node, edge: Node) -> tuple[Site, str, Bound] | None:
    """Where a body reads the value by the name that has kept it since, and the binding to that."""
    for tensor in (each for each in inputs_of(crossing.trace, node) if each.node is edge):
        for bound in reversed(bindings(crossing.trace, tensor)):
            name = target_of(crossing.source, bound)
            for use in node.site.frames():
                lives = "." in name if use.caller is not bound.site.caller else crossing.number is not None
                if lives and any(crossing.source.text(use, each) == name for each in reads_of(use.node)):
                    return use, name, bound
    return None


def readings(crossing: Crossing) -> list[tuple[Site, ast.expr]]:
    """The expressions that read what is entered, each with the place in its body; empty where one is not found."""
    takings = [_takings(crossing, node, edge) for node, edge in crossing.edges]
    found = {id(read): (frame, read) for each in takings for frame, read in each}
    return list(found.values()) if all(takings) else []


def _takings(crossing: Crossing, node: Node, edge: Node) -> list[tuple[Site, ast.expr]]:
    """Where `node` takes the result of `edge`: in the outermost body, from that of `near` inwards, that names it."""
    trace, source = crossing.trace, crossing.source
    tensors = [each for each in inputs_of(trace, node) if each.node is edge] or list(edge.outputs)
    callers = {id(frame.caller) for frame in crossing.near.frames()}
    frames = node.site.frames()
    outermost = next((index for index, each in enumerate(frames) if id(each.caller) in callers), len(frames) - 1)
    for frame in reversed(frames[: outermost + 1]):
        for tensor in tensors[:1]:
            reads = reads_at(trace, source, tensor, frame)
            if reads:
                return [(frame, read) for read in reads]
    return []


def reads_at(trace: Trace, source: Source, tensor: Tensor, frame: Site) -> list[ast.expr]:
    """Where the expression of a frame reads a tensor: by its name, or as the item of a list or dict."""
    known = bindings(trace, tensor)
    held = {target_of(source, each) for each in known if isinstance(each.value, Held) and each.value.kind != "tuple"}
    made = tensor.origin
    match statement_of(trace, made.node):
        case ast.Assign(targets=targets, value=value) if value is made.node:
            stored = {source.text(made, each) for each in targets if isinstance(each, ast.Subscript)}
        case _:
            stored = set()

    def _is_item(node: ast.expr) -> bool:
        match node:
            case ast.Subscript(ctx=ast.Load(), slice=key, value=owner) if not isinstance(key, ast.Slice):
                return source.text(frame, node) in stored or source.text(frame, owner) in held
            case ast.Call(args=[given, *_]):
                return joins(node, given) and source.text(frame, given) in held
        return False

    name = name_of(trace, source, tensor, frame) if any(each.tensor is tensor for each in known) else ""
    reads = [each for each in reads_of(frame.node) if name and source.text(frame, each) == name]
    items = [each for each in inside(frame.node, ast.Subscript, ast.Call) if _is_item(each)]
    return reads or items


def inputs_of(trace: Trace, node: Node) -> list[Tensor]:
    """The tensors that a node was built from."""
    event = next((each for each in trace.of(Built) if each.node is node), None)
    return [] if event is None else event.operands
