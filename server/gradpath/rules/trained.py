"""Which parameters the steps behind a backward train, as an expression of the program."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.trace import Failed, Kept, Stepped, Trace
from gradpath.rules import edits
from gradpath.rules.report import Source
from gradpath.rules.syntax import block_of, function_of
from gradpath.source.index import methods_called

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
