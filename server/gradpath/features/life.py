"""The history of a tensor at its name: where its graph was built, saved, freed, overwritten or cut."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.analysis.check import Analysis
from gradpath.autograd.tensor import Node, Tensor
from gradpath.diagnostic import Position, Range
from gradpath.features.graph.wording import short
from gradpath.interpreter.events import Bound, Built
from gradpath.interpreter.sites import line_of
from gradpath.interpreter.trace import Trace
from gradpath.support.fast_dataclasses import dataclass

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module


@dataclass(frozen=True, slots=True)
class Story:
    """The history of the value at `range`, for a hover: a title and its steps so far."""

    range: Range
    title: str
    lines: tuple[str, ...]


def story_at(analysis: Analysis, position: Position) -> Story | None:
    """The story of the tensor whose name is at `position`, as of that line; None where no tensor is known there."""
    found = name_at(analysis, position)
    if found is None:
        return None
    name, function, node = found
    for trace in analysis.traces:
        bound = _binding(trace, analysis.document.path, name, function, position.line)
        if bound is not None and bound.tensor is not None:
            lines = tuple(_lines(trace, bound.tensor))
            return Story(analysis.document.range_of(node), f"`{name}`: {kind_of(bound.tensor)}", lines)
    return None


def name_at(analysis: Analysis, position: Position) -> tuple[str, Function, ast.expr] | None:
    """The name (or `self.name`) under the position, with the function around it."""
    document = analysis.document
    best: tuple[str, Function, ast.expr] | None = None
    todo: list[tuple[ast.AST, Function]] = [(analysis.parsed.tree, analysis.parsed.tree)]
    while todo:
        node, function = todo.pop()
        inner: Function = node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) else function
        for child in ast.iter_child_nodes(node):
            last = getattr(child, "end_lineno", None)
            if last is None or child.lineno <= position.line <= last:  # type: ignore[attr-defined]
                todo.append((child, inner))
        if isinstance(node, ast.Name):
            place = document.range_of(node)
            if place.start <= position <= place.end:
                best = (node.id, function, node)
        elif isinstance(node, ast.Attribute) and best is None:
            place = document.range_of(node)
            if (
                place.end.line == position.line
                and place.end.column - len(node.attr) <= position.column <= place.end.column
            ):
                best = (node.attr, function, node)
    return best


def _binding(trace: Trace, path: str, name: str, function: Function, line: int) -> Bound | None:
    """The binding that the name has at `line`: the last one above it in the same function, else the first."""
    own = [
        event
        for event in trace.events
        if isinstance(event, Bound)
        and event.name == name
        and event.site.path == path
        and event.tensor is not None
        and _inside(function, event.site.line)
    ]
    before = [event for event in own if event.site.line <= line]
    return before[-1] if before else own[0] if own else None


def _inside(function: Function, line: int) -> bool:
    return isinstance(function, ast.Module) or function.lineno <= line <= (function.end_lineno or line)


def kind_of(tensor: Tensor) -> str:
    """The role of a tensor in autograd, in a few words."""
    if tensor.is_parameter:
        return "a parameter" if tensor.flag else "a frozen parameter"
    if tensor.node is not None:
        return f"a result of `{short(tensor.node.name)}`, on the graph"
    if tensor.flag:
        return "a leaf that requires grad"
    return "a tensor without a graph" if tensor.cut is None else "a tensor that is cut off from its graph"


def _lines(trace: Trace, tensor: Tensor) -> Iterator[str]:
    if tensor.node is not None:
        yield f"built on line {line_of(tensor.node.site)}"
    if tensor.cut is not None:
        yield f"cut by `{tensor.cut.how}` on line {line_of(tensor.cut.site)}"
    savers = [node for node in _nodes(trace) if any(saved.tensor is tensor for saved in node.saved)]
    for node in savers[:4]:
        yield f"saved for backward by `{short(node.name)}` on line {line_of(node.site)}"
    for write in tensor.storage.writes[-3:]:
        yield f"changed in place by `{short(write.operation)}` on line {line_of(write.site)}"
    if tensor.node is not None and tensor.node.freed_by is not None:
        yield f"its graph was freed by the backward on line {line_of(tensor.node.freed_by.site)}"
    if tensor.flag and tensor.grad is not None:
        yield "has a gradient at the end of the run"


def _nodes(trace: Trace) -> Iterator[Node]:
    return (event.node for event in trace.events if isinstance(event, Built))
