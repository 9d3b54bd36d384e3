"""Wording of stories: the name of a value, the time of an event, the call that it belongs to."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from gradpath.autograd.errors import AutogradError, FaultKind
from gradpath.autograd.tensor import BackwardCall, Node, Tensor
from gradpath.findings.report import Source
from gradpath.interpreter.events import (
    BackwardRan,
    Bound,
    Event,
    Failed,
    Held,
    Named,
    Site,
    Stepped,
    iterations_between,
)
from gradpath.interpreter.trace import Trace, once
from gradpath.source.index import contents


def failures(trace: Trace, *kinds: FaultKind) -> Iterator[tuple[Failed, AutogradError]]:
    """The uncaught errors of these kinds."""
    for failure in trace.failures():
        if failure.error is not None and failure.error.kind in kinds:
            yield failure, failure.error


# Names


def target_of(source: Source, bound: Bound | Named) -> str:
    """The target of a binding as the program writes it (`h`, `self.h`)."""
    node = bound.site.node
    if isinstance(node, ast.AugAssign):
        node = node.target
    if isinstance(node, ast.Attribute) and node.attr == bound.name:
        return source.text(bound.site, node)
    return bound.name


def bindings(trace: Trace, tensor: Tensor) -> list[Bound]:
    """The times that `tensor` itself, or a container with it, was given a name; the earliest first."""
    return _bindings(trace).get(id(tensor), [])


@once
def _bindings(trace: Trace) -> dict[int, list[Bound]]:
    """The bindings of all tensors, each by its identity, which the events keep as long as the trace lives."""
    found: dict[int, list[Bound]] = {}
    for event in trace.of(Bound):
        held = event.value.tensors if isinstance(event.value, Held) else ()
        for each in {id(tensor) for tensor in (event.tensor, *held) if tensor is not None}:
            found.setdefault(each, []).append(event)
    return found


def name_of(trace: Trace, source: Source, tensor: Tensor, near: Site | None = None) -> str:
    """The name of a tensor: that which `near` has for it, or its function, else any, else what made it."""
    own = [bound for bound in bindings(trace, tensor) if bound.tensor is tensor]
    if near is not None:
        callers = {id(frame.caller) for frame in near.frames()}
        own = [bound for bound in own if id(bound.site.caller) in callers] or own
        if len(own) > 1:
            here = {each.id for each in contents(near.node).names}
            own = [bound for bound in own if bound.name in here] or own
    if own:
        return target_of(source, own[-1])
    if tensor.label:
        return tensor.label
    if isinstance(tensor.origin.node, ast.expr):
        return source.short(tensor.origin, limit=30)
    return ""


def said(trace: Trace, source: Source, tensor: Tensor | None, near: Site | None = None, otherwise: str = "it") -> str:
    """The name in backticks, or `otherwise`; parameters of a built-in layer are called its weights."""
    if tensor is None:
        return otherwise
    named = any(bound.tensor is tensor for bound in bindings(trace, tensor)) or tensor.label
    if tensor.is_parameter and not named:
        return f"a weight of `{source.short(tensor.origin, limit=30)}`"
    name = name_of(trace, source, tensor, near)
    return f"`{name}`" if name else otherwise


def operation(source: Source, node: Node, limit: int = 26) -> str:
    """The operation of a node, in backticks: the expression where it is short, else the operation's name."""
    if isinstance(node.site.node, (ast.Call, ast.BinOp, ast.UnaryOp, ast.AugAssign)):
        text = source.text(node.site)
        if len(text) <= limit:
            return f"`{text}`"
    return f"`{short_operation(node.name)}`"


@lru_cache(2048)
def short_operation(name: str) -> str:
    """`sigmoid` for `torch.Tensor.sigmoid`."""
    return _IN_WORDS.get(name, name.rpartition(".")[2])


_IN_WORDS = {"call": "the call", "CopySlices": "a write into a slice", "as_strided": "a view", "index": "indexing"}


def elsewhere(source: Source, copy: Tensor) -> str:
    """The condition, in words, on which `x.to(device)` gave another tensor than `x`."""
    move = copy.origin.node
    where = move.args[0] if isinstance(move, ast.Call) and move.args else None
    if isinstance(where, (ast.Name, ast.Attribute)):
        return f"`{source.text(copy.origin, where)}` is not the CPU"
    return "it moves to another device"


# Times


def nth(count: int) -> str:
    """An ordinal in words."""
    words = ("first", "second", "third", "fourth", "fifth", "sixth")
    return words[count - 1] if 1 <= count <= len(words) else f"{count}th"


def occasion(trace: Trace, site: Site, other: Site) -> str:
    """The difference in time between `site` and `other`: its iteration, or the line that the call came from."""
    loop = iterations_between(site.loops, other.loops)
    if loop is not None:
        count = next(iteration for number, iteration in site.loops if number == loop)
        if site.loops[-1][0] == loop:
            return f"in the {nth(count)} {turn_of(trace.loops[loop])}"
        return f"in line {getattr(trace.loops[loop], 'lineno', 0)}'s {nth(count)} iteration"
    if site.node is other.node:
        for mine, theirs in zip(reversed(site.frames()), reversed(other.frames()), strict=False):
            if mine.node is not theirs.node:
                return f"called from line {mine.line}"
    return ""


def following(trace: Trace, site: Site, earlier: Site) -> str:
    """The same for the later of two, by distance: `in the next iteration`."""
    loop = iterations_between(earlier.loops, site.loops)
    if loop is None or site.loops[-1][0] != loop:
        return occasion(trace, site, earlier)
    before = next(iteration for number, iteration in earlier.loops if number == loop)
    after = next(iteration for number, iteration in site.loops if number == loop)
    turn = turn_of(trace.loops[loop])
    return f"in the next {turn}" if after == before + 1 else f"in the {nth(after)} {turn}"


def turn_of(loop: ast.AST) -> str:
    """The word for one run of repeated code: an iteration of a loop, or a call of a function."""
    return "call" if isinstance(loop, (ast.FunctionDef, ast.AsyncFunctionDef)) else "iteration"


def with_time(when: str, what: str) -> str:
    """A label: what happened, with its time in front where it needs one."""
    return f"{when}, {what}" if when else what


# Places


def lifted(site: Site, near: Site) -> Site:
    """The call, among those that led to `site`, in the function that contains `near` (or a caller of it).

    The place in the body of that function, if it has no caller that is seen.
    """
    callers = {id(frame.caller) for frame in near.frames()}
    inner = site
    for frame in site.frames():
        if id(frame.caller) in callers:
            return inner if isinstance(frame.node, ast.FunctionDef | ast.AsyncFunctionDef) else frame
        inner = frame
    return site


def made_near(tensor: Tensor, near: Site) -> Site:
    """Where a tensor was computed, in the function that contains `near`."""
    return lifted(tensor.made_at, near)


def same_activation(one: Site, other: Site) -> bool:
    """True if both sites are in the same run of the same function body."""
    return one.caller is other.caller


def since(trace: Trace, call: BackwardCall) -> Iterator[Event]:
    """The events after a run of the engine."""
    inside = False
    for event in trace.events:
        if inside:
            yield event
        inside = inside or (isinstance(event, BackwardRan) and event.call is call)


def stepped_since(trace: Trace, call: BackwardCall) -> list[Stepped]:
    """The steps of optimizers after a run of the engine."""
    return [event for event in since(trace, call) if isinstance(event, Stepped)]
