"""Which parameters the steps after a backward train, also as an expression of the program."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from gradpath.autograd.tensor import BackwardCall, Node, Tensor
from gradpath.findings.graphs import leaves
from gradpath.findings.stories import stepped_since
from gradpath.findings.syntax import function_of, statement_of
from gradpath.interpreter.events import Failed, Kept, Site, Stepped
from gradpath.interpreter.trace import Trace
from gradpath.source.index import contents

LONGEST = 90
"""Characters that such an expression may have."""

MOST = 2
"""Modules that are named one by one."""


def trained_after(step: Stepped, failure: Failed, trace: Trace) -> str | None:
    """`list(G.parameters())` where the steps that follow a failing backward train `G`, and nothing that `step` updated.

    None where that is not seen.
    """
    kept = [each for each in failure.kept if each.caller is failure.site.caller or each.caller is None]
    trained = trained_next(trace, failure.site, failure.kept)
    if not trained or {id(tensor) for tensor in step.updated} & {id(tensor) for tensor in trained}:
        return None
    written = _written(kept, trained)
    return written if written is not None and len(written) <= LONGEST else None


def _is_below(text: str, module: str) -> bool:
    return text.startswith((f"{module}.", f"{module}["))


def _written(kept: Sequence[Kept], trained: Sequence[Tensor]) -> str | None:
    """`[*G.parameters(), scale]`: the modules whose parameters these are, and other parameters, all and no others."""
    left = {id(tensor) for tensor in trained}
    ways = [(each.text, {id(tensor) for tensor in each.form.tensors}) for each in kept if each.form.kind != "optimizer"]
    parts: list[str] = []
    for text, held in ways:
        if not held or not held <= left:
            continue
        prefixes = [text[: found.start()] for found in re.finditer(r"[.\[]", text)]
        inside = [(each, set().union(*(own for other, own in ways if _is_below(other, each)))) for each in prefixes]
        module, covered = next((each for each in inside if each[1] <= left), ("", held))
        parts.append(f"*{module}.parameters()" if module else text)
        left -= covered
    if left or not 0 < len(parts) <= MOST:
        return None
    alone = len(parts) == 1 and parts[0].startswith("*")
    return f"list({parts[0][1:]})" if alone else f"[{', '.join(parts)}]"


def trains_nothing(trace: Trace, node: Node, call: BackwardCall) -> bool:
    """True if the steps after `call` leave the parameters upstream of `node` alone; False where that is unknown."""
    steps = stepped_since(trace, call)
    owned = {id(leaf) for leaf in leaves([node])}
    updated = {id(tensor) for step in steps for tensor in step.updated}
    return bool(owned and updated) and all(step.updated for step in steps) and not owned & updated


def trains_nothing_upstream(trace: Trace, nodes: Sequence[Node], near: Site, kept: Sequence[Kept]) -> bool:
    """True if the step that follows `near` in the program leaves all parameters upstream of `nodes` alone."""
    trained = trained_next(trace, near, kept)
    upstream = {id(leaf) for leaf in leaves(nodes)}
    return bool(trained and upstream) and not upstream & {id(each) for each in trained}


def trained_next(trace: Trace, near: Site, kept: Sequence[Kept]) -> tuple[Tensor, ...]:
    """The parameters of the optimizers whose `step()` follows a call in the program, until another backward does.

    Empty where none is seen.
    """
    for frame in near.frames():
        found: dict[Tensor, None] = {}
        for call in _calls_after(trace, frame):
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


def _calls_after(trace: Trace, frame: Site) -> Iterator[ast.Call]:
    """The calls that follow the statement of a site in its body, as the text goes, nearest first."""
    statement = statement_of(trace, frame.node)
    function = function_of(trace, frame.node)
    roots: Sequence[ast.AST] = function.body if function is not None else list(trace.visits)
    last = statement.end_lineno or statement.lineno, statement.end_col_offset or 0
    calls = {
        id(each): each for root in roots for each in contents(root).calls if (each.lineno, each.col_offset) >= last
    }
    yield from sorted(calls.values(), key=lambda each: (each.lineno, each.col_offset))
