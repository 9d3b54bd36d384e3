"""The causes that cut tensors off from their graph, and their words."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile
from pathlib import PurePath

from gradpath.autograd.tensor import REPARAMETRIZED, SWITCHED_OFF, Cut, Tensor
from gradpath.findings.report import Source, Step
from gradpath.findings.stories import short_operation
from gradpath.findings.syntax import ancestry, function_of, withs_around
from gradpath.interpreter.events import CutOff, Flagged, Site, Switched
from gradpath.interpreter.trace import Trace
from gradpath.source.imports import meaning
from gradpath.source.index import contents, holds, inside
from gradpath.source.nodes import last_name
from gradpath.support.fast_dataclasses import dataclass, replace
from gradpath.support.traversal import reachable

COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "greater", "less", "isclose", "logical_and", "logical_or"})
_INDICES = frozenset({"indices", "argmax", "argmin", "argsort", "searchsorted", "nonzero", "bucketize", "multinomial"})
CASTS = frozenset({"long", "int", "short", "bool", "byte", "char", "to", "type"})
_BY_NAME = frozenset({"detach", "detach_", "data", "numpy", "item", "float", "int", "tolist"})


COPIES = frozenset({"torch.tensor", "item", "float", "numpy", "tolist"})

STEP = "step function"
"""The cause of a gradient that exists and is zero everywhere."""

DRAW = "draw"
"""The same of what is drawn: by another call it would be a function of what it is drawn by."""

COPY = "copy of a model"
"""The cause where a loss depends on the parameters of a copy."""

WITHHELD = "withheld"
"""The cause where the `backward` of a custom Function returned None for an input."""

MOST_CAUSES = 3
"""Causes besides the nearest one whose fixes are offered."""


@dataclass(frozen=True, slots=True)
class Cause:
    """The reason why a tensor has no graph.

    `how` is that of a `Cut`, or "gradient" (a gradient without create_graph), "late", "frozen", "plain". `site`
    is its place, if there is one; `tensor` is the tensor without a graph. `output` is that of a `Cut`.
    """

    how: str
    site: Site | None
    tensor: Tensor
    detail: str = ""
    output: str = ""


def cause_of(trace: Trace, root: Tensor, *, rewrapped: bool = False) -> Cause:
    """The nearest cause upstream of `root`, which has no graph; if it is `rewrapped`, it was made a leaf by force."""
    for tensor in (root, *_before_parameters(root)):
        cause = _own_cause(tensor)
        if cause is not None:
            return cause
        if tensor.flag and tensor.node is None and not rewrapped:
            late = next((event for event in reversed(trace.of(Flagged)) if event.tensor is tensor), None)
            if late is not None and late.value:
                return Cause("late", late.site, tensor)
    return frozen_upstream(trace, root) or _rebuilt(root) or Cause("plain", None, root)


def _rebuilt(root: Tensor) -> Cause | None:
    """Where the only tensors that `root` was computed from were made of arrays, whatever gave those."""
    first = [each for each in (root, *_before_parameters(root)) if not each.maker]
    if not first or not all(each.operation == "numpy" for each in first):
        return None
    site = first[0].origin
    return Cause("numpy", site, first[0])


def frozen_upstream(trace: Trace, root: Tensor) -> Cause | None:
    """The last place where something that `root` was computed from was frozen."""
    frozen = {id(each) for each in root.lineage() if not each.requires_grad}
    for event in reversed(trace.events):
        if isinstance(event, Flagged) and not event.value and id(event.tensor) in frozen:
            return Cause("frozen", event.site, event.tensor)
    return None


def _before_parameters(root: Tensor) -> Iterator[Tensor]:
    """The tensors that `root` was computed from, without those from which parameters were made."""
    return reachable(root.maker, lambda tensor: () if tensor.is_parameter else tensor.maker)


def other_causes(root: Tensor, first: Cause) -> list[Cause]:
    """Other places upstream of `root` where a tensor was cut off, the nearest first."""
    found: dict[int, Cause] = {}
    for tensor in _before_parameters(root):
        cause = _own_cause(tensor)
        if (
            cause is not None
            and cause.site is not None
            and (first.site is None or cause.site.node is not first.site.node)
        ):
            found.setdefault(id(cause.site.node), cause)
    return list(found.values())[:MOST_CAUSES]


def cause_of_tensor(tensor: Tensor) -> Cause:
    """The cause of a tensor that was itself cut off."""
    return _own_cause(tensor) or Cause("plain", None, tensor)


def _own_cause(tensor: Tensor) -> Cause | None:
    """What cut off the tensor itself, and none of those that it was computed from; None if nothing did."""
    if tensor.cut is not None:
        return _of_cut(tensor, tensor.cut)
    if tensor.operation == "gradient" and not tensor.requires_grad:
        return Cause("gradient", tensor.origin, tensor)
    return None


def _of_cut(tensor: Tensor, cut: Cut) -> Cause:
    name = short_operation(cut.how)
    detail = cut.detail or cut.how
    if name in _BY_NAME or cut.how == "torch.tensor":
        return Cause(cut.how if cut.how == "torch.tensor" else name, cut.site, tensor, detail)
    if cut.how == "torch.nn.Parameter":
        return Cause("parameter", cut.site, tensor, detail)
    how = "not differentiable" if cut.how.startswith("torch.") else cut.how
    return Cause(how, cut.site, tensor, detail, cut.output)


def line_of(cause: Cause, near: Site) -> str:
    """`on line 4`, with the name of the file where it is another: the label there has its path."""
    if cause.site is None:
        return ""
    other = f" of `{PurePath(cause.site.path).name}`" if cause.site.path != near.path else ""
    return f"on line {cause.site.line}{other}"


def verdict(trace: Trace, source: Source, cause: Cause, near: Site) -> str:
    """The cause as the second half of a headline."""
    where = line_of(cause, near)
    text = source.short(cause.site, limit=34) if cause.site is not None else ""
    if cause.how in SWITCHED_OFF:
        return _switched_off(source, cause, switch_of(trace, source, cause), f"`{text}` {where}")
    words = _words(cause).headline
    return words.format(operation=_operation(cause), text=text, where=where, output=cause.output)


def _switched_off(source: Source, cause: Cause, switch: Switch | None, operation: str) -> str:
    if switch is None and is_checkpoint(cause):
        return "no input of the reentrant checkpoint requires a gradient"
    if switch is None:
        return f"{operation} runs while gradients are off"
    if switch.lasting:
        return f"gradients are switched off for good on line {switch.site.line}"
    block = source.short(switch.site, limit=30)
    return (
        f"`{switch.decorated}` runs under `@{block}`"
        if switch.decorated is not None
        else f"{operation} runs under `{block}`"
    )


def is_checkpoint(cause: Cause) -> bool:
    """True if the cause is in a call of `torch.utils.checkpoint.checkpoint`."""
    return checkpoint_of(cause) is not None


def checkpoint_of(cause: Cause) -> Site | None:
    """The call of `torch.utils.checkpoint.checkpoint` that contains the cause."""
    for frame in cause.site.frames() if cause.site is not None else ():
        name = frame.node.func if isinstance(frame.node, ast.Call) else None
        if (isinstance(name, ast.Name) and name.id == "checkpoint") or (
            isinstance(name, ast.Attribute) and name.attr == "checkpoint"
        ):
            return frame
    return None


def creates_graph(cause: Cause) -> bool:
    """True if the gradient was asked for with `create_graph=True` already."""
    node = cause.site.node if cause.site is not None else None
    return isinstance(node, ast.Call) and any(each.arg == "create_graph" for each in node.keywords)


def _operation(cause: Cause) -> str:
    name = short_operation(cause.detail)
    if name in COMPARISONS:
        return "the comparison"
    return f"the cast `{name}`" if name in CASTS else f"`{name}`"


def steps(trace: Trace, source: Source, cause: Cause) -> Iterator[Step]:
    """The cause as labels."""
    if cause.site is None:
        return
    if cause.how in SWITCHED_OFF:
        switch = switch_of(trace, source, cause)
        if switch is not None:
            lasting = "switches gradients off for all that follows"
            yield Step(switch.site, lasting if switch.lasting else "no graph is built under this")
    yield from leaving(cause)
    yield Step(cause.site, label(cause))


def label(cause: Cause) -> str:
    """The words for the place of a cause."""
    return _words(cause).label.format(operation=_operation(cause), output=cause.output)


def leaving(cause: Cause) -> Iterator[Step]:
    """The place where a value left its graph for NumPy before it came back: an earlier `out.detach().numpy()`."""
    if cause.how != "numpy" or cause.site is None or cause.tensor.cut is None:
        return
    source = cause.tensor.cut.source
    before = () if source is None else source.lineage()
    for tensor in (*cause.tensor.ancestors(), *before):
        cut = tensor.cut
        if cut is not None and short_operation(cut.how) in ("detach", "data"):
            if not holds(cause.site.node, cut.site.node):
                yield Step(cut.site, "leaves the graph, for NumPy")
            return


def way_out(cause: Cause, *, for_array: bool = False) -> str:
    """The way out, as a help line."""
    if for_array:
        return _WORDS["numpy"].help
    if cause.how == "not differentiable":
        return _counterpart(cause)
    if is_checkpoint(cause) and cause.how in SWITCHED_OFF:
        return "use_reentrant=False builds the graph whatever the inputs are"
    return _words(cause).help


@dataclass(frozen=True, slots=True)
class _Words:
    """The words for a kind of cause: the second half of a headline, a label, and the way out."""

    headline: str
    label: str
    help: str


_TENSORS_THEMSELVES = "work with the tensors themselves: combine them with `+`, `torch.stack` or `torch.cat`"
_NUMBER = _Words(
    "`{text}` {where} is made of a plain number", "a tensor made of a number, without graph", _TENSORS_THEMSELVES
)
_OFF = _Words(
    "", "computed without a graph", "compute what is to be trained outside: `no_grad` is for evaluation and targets"
)
_CUT = _Words(
    "`{text}` {where} cuts it off",
    "cuts it off from its graph",
    "keep the graph: drop the cut, or back-propagate what was there before it",
)
_LINEAR = _Words(
    "`{text}` {where} is constant, the function linear",
    "the gradient of a linear function: a constant",
    "such a penalty has no gradient to give: differentiate something that is not linear",
)
_ONE_OF_SEVERAL = _Words(
    "{operation} {where} gives `{output}` without a gradient",
    "cuts the graph: what {operation} gives as `{output}` has no gradient",
    "",
)
_WORDS = {
    **dict.fromkeys(SWITCHED_OFF, _OFF),
    **dict.fromkeys(("item", "float", "int", "tolist", "bool"), _NUMBER),
    "not differentiable": _Words(
        "{operation} {where} has no gradient", "cuts the graph: what {operation} gives here has no gradient", ""
    ),
    STEP: _Words(
        "the derivative of {operation} {where} is zero",
        "hands on zeros: {operation} is constant between its jumps",
        "use a straight-through estimate: `x + (y - x).detach()` has the value of `y`, the gradient of `x`",
    ),
    DRAW: _Words(
        "the derivative of {operation} {where} is zero",
        "hands on zeros: {operation} draws a number, whatever it came from",
        "draw noise, and scale it: `mean + deviation * torch.randn_like(deviation)` has a gradient",
    ),
    WITHHELD: _Words(
        "the `backward` of {operation} returns None for it",
        "None in the place of a gradient: nothing goes on to that input",
        "return a gradient in its place: `backward` has to return one for each input that is to learn",
    ),
    "parameter": _Words(
        "`{text}` {where} is a new leaf",
        "a new leaf: no gradient goes on to what it was made from",
        "use the value itself: what is computed in each forward is no parameter",
    ),
    COPY: _Words(
        "`{text}` {where} has parameters of its own",
        "copies the values alone, into new leaves",
        "compute with the parameters themselves: `torch.func.functional_call` takes those of each step",
    ),
    "torch.tensor": _Words(
        "`{text}` {where} copies the value alone", "a new tensor, without the graph", _TENSORS_THEMSELVES
    ),
    "numpy": _Words(
        "`{text}` {where} comes back from NumPy without a graph",
        "from NumPy, without a graph",
        "stay in PyTorch: NumPy does not record what it computes (`np.exp` → `torch.exp`)",
    ),
    "gradient": _Words(
        "`{text}` {where} lacks `create_graph=True`",
        "a gradient without a graph of its own",
        "pass `create_graph=True`, so that the gradient can itself be back-propagated",
    ),
    "late": _Words(
        "it was computed before `{text}` {where}",
        "too late: the loss is computed already",
        "require the gradient before computing with the tensor",
    ),
    "frozen": _Words(
        "what it is computed from is frozen {where}", "freezes it", "leave what is to be trained unfrozen"
    ),
    "plain": _Words(
        "nothing that it is computed from requires a gradient",
        "",
        "back-propagate something that is computed from parameters",
    ),
    "like": _Words("`{text}` {where} takes over the shape alone", "the shape, not the graph", "use the tensor itself"),
}


def _words(cause: Cause) -> _Words:
    if cause.how == "not differentiable" and cause.output:
        return _ONE_OF_SEVERAL
    return _LINEAR if cause.how == "gradient" and creates_graph(cause) else _WORDS.get(cause.how, _CUT)


def is_copy(cause: Cause) -> bool:
    """True if a cut is a number or an array that was read, or a new tensor that was made of values."""
    return cause.how in COPIES


def is_for_array(trace: Trace, cause: Cause) -> bool:
    """True if a chain of calls goes on to `numpy()` from a cut: `x.detach().cpu().numpy()`.

    What gets such an array may look something up by it, which has no gradient anyway.
    """
    node = None if cause.site is None else cause.site.node
    around = () if node is None else ancestry(trace, node)
    chain = list(takewhile(lambda each: isinstance(each, ast.Attribute | ast.Call), reversed(around[:-1])))
    taken = next((each for each in chain if isinstance(each, ast.Attribute) and each.attr == "numpy"), None)
    function = None if taken is None or node is None else function_of(trace, node)
    if taken is None or function is None:
        return False
    names = {
        target.id
        for each in inside(function, ast.Assign)
        for target in each.targets
        if isinstance(target, ast.Name) and holds(each.value, taken)
    }
    return not any(
        holds(given, taken) or (isinstance(given, ast.Name) and given.id in names)
        for call in contents(function).calls
        if not meaning(call.func) and last_name(call.func) not in ("append", "extend")
        for given in (*call.args, *(each.value for each in call.keywords))
    )


def is_choice(cause: Cause) -> bool:
    """True if a cut is a choice or a comparison, which never has a gradient."""
    return (cause.output or short_operation(cause.detail)) in _INDICES | COMPARISONS


def _counterpart(cause: Cause) -> str:
    if cause.detail == REPARAMETRIZED:
        return "draw with `rsample()`: the numbers are the same, and the gradient runs on to the distribution"
    name = cause.output or short_operation(cause.detail)
    if name == "sample":
        return "choices have no gradient: draw a relaxed sample (F.gumbel_softmax), or weigh `log_prob` by the return"
    if name in _INDICES:
        return "compute the loss from the scores themselves (F.cross_entropy takes them); keep indices for metrics"
    if name in COMPARISONS:
        return "compare for metrics alone; a loss needs a smooth counterpart, such as torch.sigmoid of the difference"
    if name in CASTS:
        return "stay with floating point: integers and booleans carry no gradient"
    return "a loss needs operations that have a gradient"


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch that turns gradients off: the expression, and its `with` or the name of the decorated function.

    `lasting` is a bare `torch.set_grad_enabled(False)`, `named` one that does nothing else.
    """

    site: Site
    block: ast.With | ast.AsyncWith | None = None
    decorated: str | None = None
    lasting: bool = False
    named: bool = True


def switch_of(trace: Trace, source: Source, cause: Cause) -> Switch | None:
    """The `with` or decorator under which the cause happened; None where the switch is elsewhere."""
    if cause.site is None:
        return None
    around = switch_around(trace, source, cause.site)
    if around is not None:
        return around
    last: Switched | None = None
    for event in trace.events:
        if isinstance(event, Switched) and not event.block:
            last = event
        elif isinstance(event, CutOff) and event.tensor is cause.tensor:
            break
    return Switch(last.site, lasting=True) if last is not None and not last.grad else None


def switch_around(trace: Trace, source: Source, site: Site) -> Switch | None:
    """The innermost `with` or decorator around a site, through its callers, that switches gradients off."""
    off = {id(each.site.node) for each in trace.of(Switched) if each.block}
    for frame in site.frames():
        for block in withs_around(trace, frame.node):
            for item in block.items:
                if id(item.context_expr) in off:
                    named = _switches(source.text(frame, item.context_expr))
                    return Switch(replace(frame, node=item.context_expr), block, named=named)
        function = function_of(trace, frame.node)
        for decorator in function.decorator_list if function is not None else ():
            if function is not None and _switches(source.text(frame, decorator)):
                return Switch(replace(frame, node=decorator), decorated=function.name)
    return None


def _switches(text: str) -> bool:
    return any(word in text for word in ("no_grad", "inference_mode", "set_grad_enabled"))
