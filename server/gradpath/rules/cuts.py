"""What cut a tensor off from its graph: the nearest cause behind it, in words, and how to undo it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gradpath.autograd.tensor import Cut, Tensor
from gradpath.diagnostic import Edit, Fix, Position, Range, Safety
from gradpath.interpreter.trace import CutOff, Flagged, Site, Switched, Trace
from gradpath.rules import edits
from gradpath.rules.report import Source, Step
from gradpath.rules.stories import name_of, same_activation, short_operation
from gradpath.rules.syntax import function_of, statement_of, withs_around
from gradpath.source.document import Document

_COMPARISONS = frozenset(
    {"eq", "ne", "lt", "le", "gt", "ge", "greater", "less", "isclose", "logical_and", "logical_or"}
)
_INDICES = frozenset(
    {"argmax", "argmin", "argsort", "topk", "sort", "searchsorted", "nonzero", "bucketize", "multinomial"}
)
_CASTS = frozenset({"long", "int", "short", "bool", "byte", "char", "to", "type"})
_BY_NAME = frozenset({"detach", "detach_", "data", "numpy", "item", "float", "int", "tolist"})


@dataclass(frozen=True, slots=True)
class Cause:
    """Why nothing leads back from a tensor.

    `how` is that of a `Cut`, or "gradient" (a gradient without create_graph), "late", "frozen", "plain". `site`
    is where it happened, None where there is no such place; `tensor` is what has no graph.
    """

    how: str
    site: Site | None
    tensor: Tensor
    detail: str = ""


def cause_of(trace: Trace, root: Tensor, *, rewrapped: bool = False) -> Cause:
    """The nearest cause behind `root`, which has no graph; where it is `rewrapped`, it was made a leaf by force."""
    for tensor in (root, *root.ancestors()):
        cut = tensor.cut
        if cut is not None and isinstance(cut.site, Site):
            return _of_cut(tensor, cut)
        if tensor.operation == "gradient" and not tensor.requires_grad and isinstance(tensor.origin, Site):
            return Cause("gradient", tensor.origin, tensor)
        if tensor.flag and tensor.node is None and not rewrapped:
            late = next(
                (event for event in trace.events if isinstance(event, Flagged) and event.tensor is tensor), None
            )
            if late is not None and late.value:
                return Cause("late", late.site, tensor)
    frozen = {id(each) for each in (root, *root.ancestors()) if not each.requires_grad}
    for event in reversed(trace.events):
        if isinstance(event, Flagged) and not event.value and id(event.tensor) in frozen:
            return Cause("frozen", event.site, event.tensor)
    return Cause("plain", None, root)


def cause_of_tensor(tensor: Tensor) -> Cause:
    """The cause of a tensor that was itself cut off."""
    return _of_cut(tensor, tensor.cut) if tensor.cut is not None else Cause("plain", None, tensor)


def _of_cut(tensor: Tensor, cut: Cut) -> Cause:
    assert isinstance(cut.site, Site)
    name = short_operation(cut.how)
    detail = cut.detail or cut.how
    if name in _BY_NAME or cut.how == "torch.tensor":
        return Cause(cut.how if cut.how == "torch.tensor" else name, cut.site, tensor, detail)
    if cut.how == "not differentiable" and short_operation(detail) == "detach":
        return Cause("detach", cut.site, tensor, detail)
    return Cause("not differentiable" if cut.how.startswith("torch.") else cut.how, cut.site, tensor, detail)


def line_of(cause: Cause, near: Site) -> str:
    """`on line 4`, with the file where it is another."""
    if cause.site is None:
        return ""
    other = f" of {cause.site.path}" if cause.site.path != near.path else ""
    return f"on line {cause.site.line}{other}"


def verdict(trace: Trace, source: Source, cause: Cause, near: Site) -> str:
    """The cause as the second half of a headline."""
    where = line_of(cause, near)
    text = source.short(cause.site, limit=34) if cause.site is not None else ""
    match cause.how:
        case "no_grad" | "inference_mode":
            switch = switch_of(trace, source, cause)
            if switch is None and _is_checkpoint(cause):
                return "no input of the reentrant checkpoint requires a gradient"
            if switch is None:
                return f"`{text}` {where} runs while gradients are off"
            if switch.lasting:
                return f"gradients are switched off for good {_on(switch.site)}"
            if switch.decorated is not None:
                return f"`{switch.decorated}` runs under `@{source.short(switch.site, limit=30)}`"
            return f"`{text}` {where} runs under `{source.short(switch.site, limit=30)}`"
        case "not differentiable":
            return f"{_operation(cause)} {where} has no gradient"
        case "torch.tensor":
            return f"`{text}` {where} copies the value alone"
        case "numpy":
            return f"`{text}` {where} comes back from NumPy without a graph"
        case "item" | "float" | "int" | "tolist" | "bool":
            return f"`{text}` {where} is made of a plain number"
        case "gradient":
            if _creates_graph(cause):
                return f"`{text}` {where} is constant, the function linear"
            return f"`{text}` {where} lacks `create_graph=True`"
        case "late":
            return f"it was computed before `{text}` {where}"
        case "frozen":
            return f"what it is computed from is frozen {where}"
        case "plain":
            return "nothing that it is computed from requires a gradient"
        case "like":
            return f"`{text}` {where} takes over the shape alone"
        case _:
            return f"`{text}` {where} cuts it off"


def _on(site: Site) -> str:
    return f"on line {site.line}"


def _is_checkpoint(cause: Cause) -> bool:
    for frame in cause.site.frames() if cause.site is not None else ():
        name = frame.node.func if isinstance(frame.node, ast.Call) else None
        if (isinstance(name, ast.Name) and name.id == "checkpoint") or (
            isinstance(name, ast.Attribute) and name.attr == "checkpoint"
        ):
            return True
    return False


def _creates_graph(cause: Cause) -> bool:
    """Whether the gradient was asked for with `create_graph=True` already."""
    node = cause.site.node if cause.site is not None else None
    return isinstance(node, ast.Call) and any(each.arg == "create_graph" for each in node.keywords)


def _operation(cause: Cause) -> str:
    name = short_operation(cause.detail)
    if name in _COMPARISONS:
        return "the comparison"
    return f"the cast `{name}`" if name in _CASTS else f"`{name}`"


def steps(trace: Trace, source: Source, cause: Cause) -> Iterator[Step]:
    """The cause as labels."""
    if cause.site is None:
        return
    match cause.how:
        case "no_grad" | "inference_mode":
            switch = switch_of(trace, source, cause)
            if switch is not None:
                lasting = "switches gradients off for all that follows"
                yield Step(switch.site, lasting if switch.lasting else "no graph is built under this")
            yield Step(cause.site, "computed without a graph")
        case "not differentiable":
            yield Step(cause.site, f"cuts the gradient: {_operation(cause)} has none")
        case "torch.tensor":
            yield Step(cause.site, "a new tensor, without the graph")
        case "numpy":
            yield Step(cause.site, "from NumPy, without a graph")
        case "item" | "float" | "int" | "tolist" | "bool":
            yield Step(cause.site, "a tensor made of a number, without graph")
        case "gradient":
            constant = "the gradient of a linear function: a constant"
            yield Step(cause.site, constant if _creates_graph(cause) else "a gradient without a graph of its own")
        case "late":
            yield Step(cause.site, "too late: the loss is computed already")
        case "frozen":
            yield Step(cause.site, "freezes it")
        case "like":
            yield Step(cause.site, "the shape, not the graph")
        case _:
            yield Step(cause.site, "cuts it off from its graph")


def way_out(cause: Cause) -> str:
    """What to do instead, as a help line."""
    match cause.how:
        case "no_grad" | "inference_mode":
            if _is_checkpoint(cause):
                return "use_reentrant=False builds the graph whatever the inputs are"
            return "compute what is to be trained outside: `no_grad` is for evaluation and targets"
        case "not differentiable":
            return _counterpart(short_operation(cause.detail))
        case "torch.tensor" | "item" | "float" | "int" | "tolist" | "bool":
            return "work with the tensors themselves: combine them with `+`, `torch.stack` or `torch.cat`"
        case "numpy":
            return "stay in PyTorch: NumPy does not record what it computes (`np.exp` → `torch.exp`)"
        case "gradient":
            if _creates_graph(cause):
                return "such a penalty has no gradient to give: differentiate something that is not linear"
            return "pass `create_graph=True`, so that the gradient can itself be back-propagated"
        case "late":
            return "require the gradient before computing with the tensor"
        case "frozen":
            return "leave what is to be trained unfrozen"
        case "plain":
            return "back-propagate something that is computed from parameters"
        case "like":
            return "use the tensor itself"
        case _:
            return "keep the graph: drop the cut, or back-propagate what was there before it"


def _counterpart(name: str) -> str:
    if name in _INDICES:
        return "compute the loss from the scores themselves (F.cross_entropy takes them); keep indices for metrics"
    if name in _COMPARISONS:
        return "compare for metrics alone; a loss needs a smooth counterpart, such as torch.sigmoid of the difference"
    if name in _CASTS:
        return "stay with floating point: integers and booleans carry no gradient"
    return "a loss needs operations that have a gradient"


@dataclass(frozen=True, slots=True)
class Switch:
    """What switches gradients off: the expression, the `with` that holds it or the name of the decorated function.

    `lasting` is a bare `torch.set_grad_enabled(False)`.
    """

    site: Site
    block: ast.With | ast.AsyncWith | None = None
    decorated: str | None = None
    lasting: bool = False


def switch_of(trace: Trace, source: Source, cause: Cause) -> Switch | None:
    """The `with` or decorator under which the cause happened; None where the switch is elsewhere."""
    if cause.site is None:
        return None
    around = switch_around(trace, source, cause.site)
    if around is not None:
        return around
    last: Switched | None = None
    for event in trace.events:
        if isinstance(event, Switched):
            last = event
        elif isinstance(event, CutOff) and event.tensor is cause.tensor:
            break
    return Switch(last.site, lasting=True) if last is not None and not last.grad else None


def switch_around(trace: Trace, source: Source, site: Site) -> Switch | None:
    """The innermost `with` or decorator around a site, through its callers, that switches gradients off."""
    for frame in site.frames():
        for block in withs_around(trace, frame.node):
            for item in block.items:
                if _switches(source.text(frame, item.context_expr)):
                    return Switch(replace(frame, node=item.context_expr), block)
        function = function_of(trace, frame.node)
        for decorator in function.decorator_list if function is not None else ():
            if function is not None and _switches(source.text(frame, decorator)):
                return Switch(replace(frame, node=decorator), decorated=function.name)
    return None


def _switches(text: str) -> bool:
    return any(word in text for word in ("no_grad", "inference_mode", "set_grad_enabled"))


def undo(trace: Trace, source: Source, cause: Cause, near: Site) -> Iterator[Fix]:
    """Fixes that take the cut away; safe where it stands in the function that fails: nobody else relies on it."""
    site = cause.site
    if site is None:
        return
    document = source.document(site)
    safety = Safety.SAFE if same_activation(site, near) else Safety.UNSAFE
    node = site.node
    text = source.short(site)
    match cause.how, node:
        case (("no_grad" | "inference_mode"), _):
            yield from _switched_on(trace, source, cause, near)
        case "gradient", ast.Call() if not _creates_graph(cause):
            edit = edits.add_keyword(document, node, "create_graph", "True")
            if edit is not None:
                own = isinstance(node.func, ast.Attribute) and node.func.attr == "backward"
                title = f"Pass `create_graph=True` on line {site.line}"
                yield Fix(title, Safety.UNSAFE if own else Safety.SAFE, (edit,), preferred=True)
        case "detach_", ast.Call():
            statement = statement_of(trace, node)
            alone = isinstance(statement, ast.Expr) and statement.value is node
            edit = edits.delete_statement(document, statement) if statement is not None and alone else None
            edit = edit if alone else edits.drop_method(document, node)
            if edit is not None:
                yield Fix("Drop `.detach_()`", safety, (edit,), preferred=True)
        case (("detach" | "not differentiable"), ast.Call(func=ast.Attribute(attr=name))) if name == "detach" or (
            name in _CASTS and not node.args
        ):
            edit = edits.drop_method(document, node)
            if edit is not None:
                kept = safety if name == "detach" else Safety.UNSAFE
                yield Fix(f"Drop `.{name}()` on line {site.line}", kept, (edit,), preferred=True)
        case "data", ast.Attribute(attr="data"):
            yield Fix(
                f"Drop `.data` on line {site.line}", safety, (edits.drop_attribute(document, node),), preferred=True
            )
        case (("torch.tensor" | "Variable" | "item" | "float"), ast.Call()):
            edit = _without_copy(trace, source, document, node, cause)
            if edit is not None:
                yield Fix(f"Use the tensor itself instead of `{text}`", safety, (edit,), preferred=True)


def _without_copy(trace: Trace, source: Source, document: Document, call: ast.Call, cause: Cause) -> Edit | None:
    first = call.args[0] if call.args else None
    match first:
        case ast.Call(func=ast.Attribute(attr="item", value=value), args=[]) | ast.Attribute(attr="data", value=value):
            return edits.replace(document, call, document.slice(document.range_of(value)))
        case ast.Name() | ast.Attribute() | ast.BinOp() | ast.Subscript() | ast.List():
            if cause.how == "Variable" or _is_tensor(trace, source, first, cause):
                return edits.unwrap_call(document, call)
            listed = isinstance(first, (ast.Name, ast.Attribute)) or (
                isinstance(first, ast.List) and all(isinstance(each, (ast.Name, ast.Attribute)) for each in first.elts)
            )
            if listed and isinstance(call.func, ast.Attribute) and cause.how == "torch.tensor":
                name = edits.flat(document, call.func.value)
                return edits.replace(document, call, f"{name}.stack({edits.flat(document, first)})")
    return None


def _is_tensor(trace: Trace, source: Source, argument: ast.expr, cause: Cause) -> bool:
    """Whether the argument of `torch.tensor` is itself a tensor, not a list of tensors."""
    maker = cause.tensor.maker
    if len(maker) != 1 or cause.site is None:
        return False
    text = source.text(cause.site, argument)
    return text in (name_of(trace, source, maker[0], cause.site), text if isinstance(argument, ast.BinOp) else "")


def _switched_on(trace: Trace, source: Source, cause: Cause, near: Site) -> Iterator[Fix]:
    switch = switch_of(trace, source, cause)
    if switch is None:
        return
    document = source.document(switch.site)
    text = source.short(switch.site)
    if switch.block is not None and len(switch.block.items) == 1:
        edit = edits.unwrap_block(document, switch.block)
        plain = all(isinstance(each, (ast.Assign, ast.AnnAssign)) for each in switch.block.body)
        safety = Safety.SAFE if plain and same_activation(switch.site, near) else Safety.UNSAFE
        if edit is not None:
            yield Fix(f"Take `with {text}:` on line {switch.site.line} away", safety, (edit,), preferred=True)
    elif switch.decorated is not None:
        line = switch.site.line
        whole = document.line(line).strip()
        if whole.startswith("@") and getattr(switch.site.node, "end_lineno", line) == line:
            edit = Edit(document.path, Range(Position(line, 1), Position(line + 1, 1)), "")
            yield Fix(f"Take `@{text}` on line {line} away", Safety.UNSAFE, (edit,))
