"""Changes of a training script after which it is at fault, as far as reading one function tells."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

CLEARED = "a `zero_grad()` taken out"
FAKE = "a `detach()` taken from a fake"
STATE = "a `detach()` taken from a carried state"
TOTAL = "a total made live"
STEP = "a `step()` moved before the backward"

_SPENT = frozenset({"carried-graph", "double-backward", "parameter-updated-before-backward"})

RULES = {
    CLEARED: frozenset({"missing-zero-grad"}),
    FAKE: _SPENT,
    STATE: _SPENT | {"live-accumulator"},
    TOTAL: frozenset({"live-accumulator"}),
    STEP: frozenset({"clip-without-gradient", "parameter-updated-before-backward", "step-without-backward"}),
}
"""Which rules speak of the fault that a kind of mutation makes."""

_Loop = ast.For | ast.While
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True)
class Mutation:
    """A text with a fault that `before` does not have."""

    kind: str
    path: str
    line: int
    before: str
    text: str


def mutations(path: str, text: str) -> Iterator[Mutation]:
    """All that can be made of a file; none of one that does not parse."""
    if ".backward(" not in text:
        return
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    bodies = [tree, *(node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS))]
    for body in map(_Body, bodies):
        for kind, find in _KINDS.items():
            for node, changed in find(body, text):
                if changed != text and _parses(changed):
                    yield Mutation(kind, path, node.lineno, text, changed)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


class _Body:
    """A function, or the body of the module, without the functions inside it."""

    def __init__(self, tree: ast.AST) -> None:
        self.nodes: list[ast.AST] = []
        self.loops: dict[ast.AST, list[_Loop]] = {}
        self.blocks: dict[ast.AST, list[ast.stmt]] = {}
        self._read(tree, [])
        self.calls = [node for node in self.nodes if isinstance(node, ast.Call)]
        self.names = [node for node in self.nodes if isinstance(node, ast.Name)]

    def _read(self, tree: ast.AST, loops: list[_Loop]) -> None:
        inside = [*loops, tree] if isinstance(tree, _Loop) else loops
        for _, field in ast.iter_fields(tree):
            for child in field if isinstance(field, list) else [field]:
                if not isinstance(child, ast.AST) or isinstance(child, _SCOPES):
                    continue
                self.nodes.append(child)
                self.loops[child] = inside
                if isinstance(child, ast.stmt) and isinstance(field, list):
                    self.blocks[child] = field
                self._read(child, inside)

    def called(self, method: str, within: _Loop | None = None) -> list[ast.Call]:
        """The calls of a method, in a loop or anywhere."""
        found = [each for each in self.calls if isinstance(each.func, ast.Attribute) and each.func.attr == method]
        return [each for each in found if within is None or within in self.loops[each]]

    def assigned(self, name: str, within: _Loop) -> list[ast.stmt]:
        """The statements of a loop that bind a name."""
        statements = (each for each in self.nodes if isinstance(each, ast.stmt) and within in self.loops[each])
        return [each for each in statements if name in _bound(each)]


def _receiver(call: ast.Call) -> str:
    return ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def _bound(statement: ast.stmt) -> set[str]:
    match statement:
        case ast.Assign(targets=targets):
            parts = targets
        case ast.For(target=target):
            parts = [target]
        case _:
            return set()
    return {each.id for part in parts for each in ast.walk(part) if isinstance(each, ast.Name)}


def _cleared(body: _Body, text: str) -> Iterator[tuple[ast.stmt, str]]:
    """The only call that clears what an optimizer steps in a loop."""
    if ".grad = None" in text or ".grad.zero_(" in text or ".grad.data.zero_(" in text:
        return
    clears = [_receiver(each) for each in body.called("zero_grad")]
    for statement in body.nodes:
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="zero_grad")) as call) if body.loops[statement]:
                loop = body.loops[statement][-1]
                steps = {_receiver(each) for each in body.called("step", loop)}
                if body.called("backward", loop) and set(clears) <= steps and clears.count(_receiver(call)) == 1:
                    yield statement, _replaced(text, statement, "pass")


def _fake(body: _Body, text: str) -> Iterator[tuple[ast.expr, str]]:
    """`d(fake.detach())`, where a later backward goes through `fake` after the next one has freed its graph."""
    if "retain_graph" in text or "no_grad" in text or "create_graph" in text:
        return
    for call in body.calls:
        for argument in call.args:
            match argument:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="detach"), args=[]):
                    backwards = sorted(each.lineno for each in body.called("backward") if each.lineno > call.lineno)
                    uses = [each.lineno for each in _handed_on(body, name)]
                    bound = [each.lineno for each in body.names if each.id == name and isinstance(each.ctx, ast.Store)]
                    first, last = (backwards[0], backwards[-1]) if len(backwards) > 1 else (0, 0)
                    again = any(first < line < last for line in uses)
                    if again and not any(call.lineno < line < last for line in bound):
                        yield argument, _replaced(text, argument, name)
                case _:
                    pass


def _handed_on(body: _Body, name: str) -> Iterator[ast.expr]:
    for call in body.calls:
        yield from (each for each in call.args if isinstance(each, ast.Name) and each.id == name)


def _state(body: _Body, text: str) -> Iterator[tuple[ast.stmt, str]]:
    """`h = h.detach()` in a loop that hands `h` to a model, and back-propagates."""
    for statement in body.nodes:
        name = _detached(statement)
        if not name or not isinstance(statement, ast.stmt) or not body.loops[statement]:
            continue
        loop = body.loops[statement][-1]
        others = [each for each in body.assigned(name, loop) if each is not statement]
        if others and body.called("backward", loop) and all(_comes_of_itself(each, name) for each in others):
            yield statement, _replaced(text, statement, "pass")


def _detached(statement: ast.AST) -> str:
    """The name that a statement does nothing to but detach it."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            inside = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
            calls = [each.func for each in ast.walk(value) if isinstance(each, ast.Call)]
            detaches = any(isinstance(each, ast.Attribute) and each.attr == "detach" for each in calls)
            repackages = any(isinstance(each, ast.Name) and "repackage" in each.id for each in calls)
            return name if name in inside and (detaches or repackages) and len(calls) <= 2 else ""
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="detach_"))):
            return name
        case _:
            return ""


def _comes_of_itself(statement: ast.stmt, name: str) -> bool:
    """Whether a statement is like `out, h = model(x, h)`."""
    match statement:
        case ast.Assign(targets=[ast.Tuple()], value=ast.Call(args=arguments)):
            return any(isinstance(each, ast.Name) and each.id == name for each in arguments)
        case _:
            return False


def _total(body: _Body, text: str) -> Iterator[tuple[ast.expr, str]]:
    """`total += loss.item()`, and `losses.append(loss.item())`, where the loop back-propagates `loss`."""
    for statement in body.nodes:
        match statement:
            case ast.AugAssign(target=ast.Name(id=name) | ast.Attribute(attr=name), op=ast.Add(), value=value):
                pass
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[value])):
                pass
            case _:
                continue
        item = value.left if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult | ast.Div) else value
        match item:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=loss), attr="item"), args=[]) if body.loops[statement]:
                loop = body.loops[statement][-1]
                losses = {_receiver(each) for each in body.called("backward", loop)}
                if loss in losses and not body.assigned(name, loop):
                    yield item, _replaced(text, item, loss)
            case _:
                pass


def _step(body: _Body, text: str) -> Iterator[tuple[ast.stmt, str]]:
    """`loss.backward()` and a `step()` after it in the same block, of an optimizer that the function clears."""
    optimizers = {_receiver(each) for each in body.called("zero_grad")}
    for statement, block in body.blocks.items():
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="backward"), args=[], keywords=[])):
                later = block[block.index(statement) + 1 :]
            case _:
                continue
        if not body.loops[statement]:
            continue
        for step in later[:4]:
            match step:
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr="step")) as call) if _receiver(call) in optimizers:
                    yield step, _moved(text, step, statement)
                    break
                case _:
                    pass


_KINDS = {CLEARED: _cleared, FAKE: _fake, STATE: _state, TOTAL: _total, STEP: _step}


def _replaced(text: str, node: ast.stmt | ast.expr, new: str) -> str:
    lines = text.encode().splitlines(keepends=True)
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    before, after = lines[node.lineno - 1][: node.col_offset], lines[node.end_lineno - 1][node.end_col_offset :]
    lines[node.lineno - 1 : node.end_lineno] = [before + new.encode() + after]
    return b"".join(lines).decode()


def _moved(text: str, statement: ast.stmt, before: ast.stmt) -> str:
    """The text with a statement, which has lines of its own, moved before another one of the same block."""
    lines = text.splitlines(keepends=True)
    first, last = statement.lineno - 1, statement.end_lineno or statement.lineno
    moved: Sequence[str] = lines[first:last]
    del lines[first:last]
    lines[before.lineno - 1 : before.lineno - 1] = moved
    return "".join(lines)
