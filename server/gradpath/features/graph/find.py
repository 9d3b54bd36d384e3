"""Which graph is meant by a line, and what there is to say of each of its nodes."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from gradpath.analysis.check import Analysis
from gradpath.autograd.tensor import Node, Tensor
from gradpath.features.graph import Arrow, Kind, Picture, Vertex
from gradpath.features.graph.moment import Moment, name_of_saved
from gradpath.features.graph.wording import short
from gradpath.findings.parameters import holders
from gradpath.findings.report import Source
from gradpath.interpreter.events import BackwardRan, Bound, Built, Failed, ReadOut, Site, iterations_between
from gradpath.interpreter.trace import Trace
from gradpath.source.cells import CellsDocument, lines_in_cells
from gradpath.support.fast_dataclasses import replace

MOST = 120
"""Vertices of one picture; of a larger graph those nearest to the loss are shown."""

_LONGEST_TITLE = 48

_MOST_NAMES = 3

Asked = tuple[Trace, tuple[Tensor, ...], Site, int]
"""The path, the tensors whose graph is meant, the place, and the number of the event there."""


def picture_at(analysis: Analysis, line: int | None = None) -> Picture | None:
    """The graph of the loss on a line (from 1); without a line, of the first faulty backward, else of the last one.

    On a line with a `backward()` it is the graph that this call runs through, as the call finds it; else that of the
    last value bound there, as it was then. None where no graph is known.
    """
    asked = _asked(analysis, line)
    if asked is None:
        return None
    trace, roots, site, index = asked
    return _Drawing(analysis, trace, site, index).picture(roots)


def _asked(analysis: Analysis, line: int | None) -> Asked | None:
    path = analysis.document.path
    calls: list[Asked] = []
    for trace in analysis.traces:
        for index, event in enumerate(trace.events):
            found = _backward(event)
            if found is None or not _is_at(found[1], path, line):
                continue
            asked = trace, *found, index
            if isinstance(event, Failed):
                return asked
            calls.append(asked)
    if calls:
        return calls[-1] if line is None else calls[0]
    return _bound(analysis, line)


def _backward(event: object) -> tuple[tuple[Tensor, ...], Site] | None:
    """The roots and the place of a backward, if the event is one, or a failure to call one."""
    match event:
        case BackwardRan(call=call, site=site):
            return call.roots, site
        case Failed(error=error, site=site, caught=False) if error is not None and error.call is not None:
            return error.call.roots, site
        case Failed(read=ReadOut() as read, site=site, caught=False):  # `loss.item().backward()`
            return (read.tensor,), site
    return None


def _bound(analysis: Analysis, line: int | None) -> Asked | None:
    """The last value with a graph, or cut off from one, that was bound on the line."""
    for trace in analysis.traces:
        for index in range(len(trace.events) - 1, -1, -1):
            event = trace.events[index]
            if isinstance(event, Bound) and _is_at(event.site, analysis.document.path, line):
                tensor = event.tensor
                if tensor is not None and (tensor.node is not None or tensor.cut is not None):
                    return trace, (tensor,), event.site, index
    return None


def _is_at(site: Site, path: str, line: int | None) -> bool:
    """True if something happened on a line, or in a call on it."""
    if line is None:
        return True
    return any(each.path == path and each.line <= line <= _last_line(each.node) for each in site.frames())


def _last_line(node: ast.AST) -> int:
    last = getattr(node, "end_lineno", None)
    return int(last if last is not None else getattr(node, "lineno", 0))


class _Drawing:
    """Collects vertices and arrows, breadth first from the roots."""

    def __init__(self, analysis: Analysis, trace: Trace, site: Site, index: int) -> None:
        self._analysis = analysis
        self._site = site
        self._moment = Moment.before(trace.events, index)
        self._ways = _ways(trace, Source(dict(analysis.documents)))
        self._own_names = {key: way.rpartition(".")[2] for key, way in self._ways.items()}
        self._built = {event.node: event for event in trace.events if isinstance(event, Built)}
        self._numbers: dict[object, int] = {}
        self._vertices: list[Vertex] = []
        self._arrows: dict[Arrow, None] = {}
        self._todo: list[Node] = []
        self._left_out = 0

    def picture(self, roots: Sequence[Tensor]) -> Picture:
        for root in roots:
            if root.node is not None:
                self._visit(root.node)
                number = self._numbers[root.node]
                self._vertices[number] = replace(self._vertices[number], kind=Kind.ROOT)
            else:
                self._without_node(root)
        while self._todo:
            self._inputs(self._todo.pop(0))
        if self._left_out:
            self._add(object(), Vertex(0, Kind.MORE, f"and {self._left_out} more"))
        document = self._analysis.document
        if isinstance(document, CellsDocument):
            self._vertices = [
                replace(vertex, notes=tuple(lines_in_cells(note, document) for note in vertex.notes))
                for vertex in self._vertices
            ]
        name = next((root.label for root in roots if root.label), "")
        return Picture(f"Graph of {name or 'the loss'}", tuple(self._vertices), tuple(self._arrows))

    def _add(self, key: object, vertex: Vertex) -> int:
        number = self._numbers[key] = len(self._vertices)
        self._vertices.append(replace(vertex, number=number))
        return number

    def _visit(self, node: Node) -> int | None:
        """The number of a node's vertex, which is made where there is none; None beyond the largest picture."""
        if node in self._numbers:
            return self._numbers[node]
        if len(self._vertices) >= MOST:
            self._left_out += 1
            return None
        self._todo.append(node)
        return self._add(node, replace(self._operation(node), earlier=self._is_earlier(node)))

    def _operation(self, node: Node) -> Vertex:
        site = node.site
        label = next((output.label for output in node.outputs if output.label), "")
        path, line = self._place(site)
        saved = tuple(dict.fromkeys(name_of_saved(each, self._own_names) for each in node.saved))
        if len(saved) > _MOST_NAMES + 1:
            saved = (*saved[:_MOST_NAMES], f"{len(saved) - _MOST_NAMES} more")
        notes = tuple(self._moment.notes(node, self._own_names))
        title = label or self._text(site) or short(node.name)
        operation, broken = short(node.name), self._moment.is_broken(node)
        return Vertex(
            0, Kind.OPERATION, title, operation, path, line, False, saved, notes, broken, self._owner(node.edges)
        )

    def _owner(self, edges: Sequence[Node]) -> str:
        """The one module that has all parameters among the inputs of an operation."""
        leaves = [edge.accumulates for edge in edges if edge.accumulates is not None]
        owners = {self._ways.get(id(leaf), "").rpartition(".")[0] for leaf in leaves if leaf.is_parameter}
        return owners.pop() if len(owners) == 1 else ""

    def _is_earlier(self, node: Node) -> bool:
        return iterations_between(node.site.loops, self._site.loops) is not None

    def _inputs(self, node: Node) -> None:
        """The arrows from a node: to the nodes that its inputs came from, to leaves, and to where inputs were cut."""
        start = self._numbers[node]
        event = self._built.get(node)
        inputs = {} if event is None else event.inputs
        names = {id(tensor.accumulator): name for name, tensors in inputs.items() for tensor in tensors}
        self._parameters(node, [edge for edge in node.edges if id(edge) in names], names)
        for edge in node.edges:
            end = self._visit(edge) if edge.accumulates is None else self._leaf(edge, edge.accumulates)
            if end is not None:
                self._arrows[Arrow(start, end)] = None
        for tensors in inputs.values():
            for tensor in tensors:
                if tensor.node is None and not tensor.flag and tensor.cut is not None:
                    self._arrows[Arrow(start, self._cut(tensor), cut=True)] = None

    def _parameters(self, user: Node, edges: Sequence[Node], names: Mapping[int, str]) -> None:
        """One vertex for the parameters of a layer, which have no names of their own."""
        leaves = [(edge, edge.accumulates) for edge in edges if edge not in self._numbers]
        layer = {edge: leaf for edge, leaf in leaves if leaf and leaf.is_parameter and not leaf.label}
        if not layer or len(self._vertices) >= MOST:
            return
        first = next(iter(layer.values()))
        path, line = self._place(first.origin)
        own = list(dict.fromkeys(self._own_names.get(id(leaf), names[id(edge)]) for edge, leaf in layer.items()))
        called = ", ".join(own) if len(own) <= _MOST_NAMES else f"{len(layer)} parameters"
        owner = self._owner(list(layer))
        title = f"{owner}.{called}" if owner and len(own) == 1 else f"{called} of {owner or short(user.name)}"
        number = self._add(next(iter(layer)), Vertex(0, Kind.PARAMETER, title, "", path, line))
        self._numbers.update(dict.fromkeys(layer, number))

    def _leaf(self, key: Node, leaf: Tensor) -> int | None:
        if key in self._numbers:
            return self._numbers[key]
        if len(self._vertices) >= MOST:
            self._left_out += 1
            return None
        path, line = self._place(leaf.origin)
        kind = Kind.PARAMETER if leaf.is_parameter else Kind.LEAF
        return self._add(key, Vertex(0, kind, leaf.label or self._ways.get(id(leaf), "a leaf"), "", path, line))

    def _without_node(self, root: Tensor) -> None:
        """The loss itself depends on nothing: a leaf, or a value that was cut off."""
        path, line = self._place(root.origin)
        note = () if root.flag else ("it has no graph: `backward()` has nowhere to go",)
        vertex = Vertex(0, Kind.ROOT, root.label or "the loss", "", path, line, notes=note, broken=not root.flag)
        number = self._add(root, vertex)
        if root.cut is not None:
            self._arrows[Arrow(number, self._cut(root), cut=True)] = None

    def _cut(self, tensor: Tensor) -> int:
        """The place where a value was taken off its graph, with an arrow to the graph that it would have had."""
        if tensor.cut in self._numbers:
            return self._numbers[tensor.cut]
        cut = tensor.cut
        assert cut is not None
        path, line = self._place(cut.site)
        site = cut.site
        number = self._add(cut, Vertex(0, Kind.CUT, self._text(site) or short(cut.how), short(cut.how), path, line))
        if cut.source is not None and cut.source.node is not None:
            end = self._visit(cut.source.node)
            if end is not None:
                self._arrows[Arrow(number, end, cut=True)] = None
        return number

    def _place(self, site: Site) -> tuple[str, int]:
        """The file and line of a site: the innermost one in the document where there is one."""
        own = self._analysis.document.path
        here = next((each for each in site.frames() if each.path == own), None)
        if here is None:
            return site.path, site.line
        document = self._analysis.document
        if not isinstance(document, CellsDocument):
            return "", here.line
        cell, local = document.in_cell(document.range_of(here.node))
        return f"cell {cell.number}", local.start.line

    def _text(self, site: Site) -> str:
        """The expression at a site of the document, on one line."""
        document = self._analysis.document
        if site.path != document.path or not isinstance(site.node, ast.expr):
            return ""
        text = " ".join(document.slice(document.range_of(site.node)).split())
        return text if len(text) <= _LONGEST_TITLE else text[: _LONGEST_TITLE - 1] + "…"


def _ways(trace: Trace, source: Source) -> dict[int, str]:
    """The whole names of the parameters of modules, by identity: the variable of the largest module, and the way on."""
    ways: dict[int, str] = {}
    for holder in holders(trace, source):
        for way, tensor in holder.tensors:
            ways.setdefault(id(tensor), f"{holder.name}.{way}")
    return ways
