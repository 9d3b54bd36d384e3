"""Which parameters the steps behind a backward train, as an expression of the program."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from gradpath.autograd.tensor import Node, Tensor
from gradpath.interpreter.trace import Failed, Kept, Site, Stepped, Trace
from gradpath.rules import edits
from gradpath.rules.graphs import leaves
from gradpath.rules.report import Source
from gradpath.rules.syntax import block_of, function_of, statement_of
from gradpath.source.index import contents, methods_called

LONGEST = 90
"""Characters that such an expression may have."""

MOST = 2
"""Modules that are named one by one."""


def trained_behind(trace: Trace, source: Source, step: Stepped, last: ast.stmt, failure: Failed) -> str | None:
    """`list(G.parameters())` where all steps that follow `last` in its block train `G`, and none what `step` updated.

    None where that is not seen.
    """
    document = source.document(failure.site)
    block = block_of(trace, last) or []
    later = block[next((i for i, each in enumerate(block) if each is last), 0) + 1 :]
    names = [edits.flat(document, each) for each in _stepped_by(later)]
    kept = [each for each in failure.kept if each.caller is failure.site.caller or each.caller is None]
    owners = [
        next((each for each in kept if each.form.kind == "optimizer" and each.text == name), None) for name in names
    ]
    stepped = {id(tensor) for tensor in step.updated}
    trained = [tensor for each in owners if each is not None for tensor in each.form.tensors]
    if not trained or None in owners or stepped & {id(tensor) for tensor in trained}:
        return None
    written = _as_given(trace, last, names)
    if written is None:
        written = _by_module(kept, trained)
    return written if written is not None and len(written) <= LONGEST else None


def is_for_others(given: ast.expr, step: Stepped, failure: Failed) -> bool:
    """Whether the `inputs` of a backward, `list(G.parameters())`, are seen to be none that a step has updated."""
    stepped = {id(tensor) for tensor in step.updated}
    modules = [ast.unparse(owner) for owner, method, _ in methods_called(given) if method == "parameters"]
    inside = [
        {id(tensor) for kept in failure.kept if _is_below(kept.text, each) for tensor in kept.form.tensors}
        for each in modules
    ]
    return bool(inside) and all(each and not each & stepped for each in inside)


def _is_below(text: str, module: str) -> bool:
    return text.startswith((f"{module}.", f"{module}["))


def _stepped_by(statements: Sequence[ast.stmt]) -> Iterator[ast.expr]:
    """The optimizers of the `opt.step()` and `scaler.step(opt)` among statements, up to the next backward."""
    for statement in statements:
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="step"), args=[optimizer, *_])):
                yield optimizer
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="step", value=optimizer))):
                yield optimizer
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="backward"))):
                return


def _as_given(trace: Trace, last: ast.stmt, names: Sequence[str]) -> str | None:
    """What the only optimizer was made with, where that means the same beside `last`."""
    if len(names) != 1:
        return None
    for statement in trace.visits:
        match statement:
            case ast.Assign(targets=[target], value=ast.Call(args=[first, *_])) if ast.unparse(target) == names[0]:
                own = names[0].startswith("self.") or function_of(trace, statement) is function_of(trace, last)
                return f"list({ast.unparse(first)})" if own else None
    return None


def _by_module(kept: Sequence[Kept], trained: Sequence[Tensor]) -> str | None:
    """`[*G.parameters(), *E.parameters()]`: the modules whose parameters these are, all of them and no others."""
    left = {id(tensor) for tensor in trained}
    ways = [(each.text, {id(tensor) for tensor in each.form.tensors}) for each in kept if each.form.kind != "optimizer"]
    modules: list[str] = []
    while left and len(modules) <= MOST:
        text = next((text for text, held in ways if held <= left), None)
        ends = [] if text is None else [match.start() for match in re.finditer(r"[.\[]", text)]
        for end in ends:
            prefix = text[:end] if text is not None else ""
            inside = set().union(*(held for other, held in ways if _is_below(other, prefix)))
            if inside and inside <= left:
                modules.append(prefix)
                left -= inside
                break
        else:
            return None
    if left or not 0 < len(modules) <= MOST:
        return None
    if len(modules) == 1:
        return f"list({modules[0]}.parameters())"
    return f"[{', '.join(f'*{each}.parameters()' for each in modules)}]"


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
        id(each): each for root in roots for each in contents(root).calls if (each.lineno, each.col_offset) >= last
    }
    yield from sorted(calls.values(), key=lambda each: (each.lineno, each.col_offset))
