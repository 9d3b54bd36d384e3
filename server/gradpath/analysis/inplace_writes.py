"""Which functions write in place into what may be a tensor, by their text: PyTorch refuses some of that."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from gradpath.autograd.tensor import SWITCHED_OFF
from gradpath.source.imports import meaning, worked_on
from gradpath.source.index import contents, inside, names_of
from gradpath.source.nodes import Definition, last_name, nodes, noted
from gradpath.support.words import words

Defined = Mapping[str, Sequence[Definition]]
"""The functions and methods of a file by their names."""

PARTING = words("chunk dsplit hsplit split split_with_sizes tensor_split unbind unsafe_chunk vsplit")
"""Methods, and functions, that give several views of one tensor."""

_WEIGHTS = frozenset({"bias", "weight"})
_PARAMETERS = frozenset({"named_parameters", "parameters"})

Names = Mapping[str, str]
"""What the names of a file mean by its imports."""


@noted
def is_without_grad(function: Definition) -> bool:
    """True if a decorator switches gradients off."""
    return any(_mentions(each, SWITCHED_OFF) for each in function.decorator_list)


@noted
def changes_what_was_inferred(function: Definition) -> bool:
    """True if a variable that a block of `inference_mode` adds to is changed in place outside, as a mean is taken."""
    blocks = [each for each in inside(function, ast.With) if _switches_off(each, {"inference_mode"})]
    within = {part for block in blocks for part in inside(block, ast.AugAssign)}
    added = {name for part in within for name in names_of(part.target)}
    outside = (each for each in inside(function, ast.AugAssign) if each not in within)
    return any(not added.isdisjoint(names_of(each.target)) for each in outside)


@noted
def asks_for_parameters(function: Definition) -> bool:
    """True if a function asks for the parameters of something."""
    return _mentions(function, _PARAMETERS)


@noted
def assigns_to_parameters(function: Definition) -> bool:
    """True if a function of parameters assigns to the variable of a loop, where it was to write: `p = p - g`."""
    return _mentions(function, {*_PARAMETERS, "state_dict"}) and any(
        isinstance(loop, ast.For) and _assigns_to_own(loop) for loop in nodes(function)
    )


def _assigns_to_own(loop: ast.For) -> bool:
    names = {each.id for each in nodes(loop.target) if isinstance(each, ast.Name)}
    assigned = (each.targets for each in nodes(loop) if isinstance(each, ast.Assign))
    return any(isinstance(target, ast.Name) and target.id in names for targets in assigned for target in targets)


@noted
def names_weights(function: Definition) -> bool:
    """True if a function names the weight or the bias of something."""
    return _mentions(function, _WEIGHTS)


@noted
def takes_apart(function: Definition) -> bool:
    """True if a function asks for several views of one tensor; a text is split at a text."""
    return any(
        last_name(call.func) in PARTING and not (_is_text(call.args[0]) if call.args else not call.keywords)
        for call in contents(function).calls
    )


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def may_be_refused(function: Definition, names: Names) -> bool:
    """True if PyTorch may refuse a write of a function, at once or in a backward."""
    if is_without_grad(function):
        return False
    unsure = _given_by_layers(function) | _never_tensors(function)
    return any(not (isinstance(each, ast.Name) and each.id in unsure) for each in _written_in(function, names))


def _written_in(function: Definition, names: Names) -> Iterator[ast.expr]:
    return (each for node in _writes(function) for each in _written(node, names))


@noted
def _writes(function: Definition) -> Sequence[ast.AST]:
    """The nodes of a function that may write in place, whatever its names mean."""
    return [node for node in nodes(function) if any(_written(node, {}))]


def written_inputs(function: Definition, names: Names) -> frozenset[str]:
    """The parameters of a function that it writes in place as they were given: `x /= x.norm()`."""
    spec = function.args
    required = [*spec.posonlyargs, *spec.args][: len(spec.posonlyargs) + len(spec.args) - len(spec.defaults)]
    given = {each.arg for each in required if each.arg not in ("self", "cls")}
    rebound: dict[str, int] = {}
    for statement in nodes(function):
        if isinstance(statement, ast.Assign):
            bound = [target for each in statement.targets for target in nodes(each)]
            for name in (each.id for each in bound if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)):
                rebound[name] = min(rebound.get(name, statement.lineno), statement.lineno)
    return frozenset(
        target.id
        for target in _written_in(function, names)
        if isinstance(target, ast.Name) and target.id in given
        if rebound.get(target.id, target.lineno) >= target.lineno
    )


@noted
def _given_by_layers(function: Definition) -> set[str]:
    """The variables that a loop over layers hands from one to the next: what the last one saves is not known."""
    layers = {each.id for loop in inside(function, ast.For) for each in inside(loop.target, ast.Name)}
    found: set[str] = set()
    for node in inside(function, ast.Assign):
        match node:
            case ast.Assign(targets=[target], value=ast.Call(func=ast.Name(id=name))) if name in layers:
                found |= names_of(target)
    return found


@noted
def _never_tensors(function: Definition) -> set[str]:
    """The variables that only get containers, or only counts: `parts = {}`, `count = 0` and `count += 1`."""
    bound = Counter(each.id for each in contents(function).names if isinstance(each.ctx, ast.Store))
    containers, counts = Counter[str](), Counter[str]()
    for node in inside(function, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ):
                containers[name] += _is_container(value)
                counts[name] += _is_count(value)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                containers[name] += containers[name] > 0
                counts[name] += _is_count(value)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"))):
                counts[name] += 1
            case ast.For(target=ast.Tuple(elts=[ast.Name(id=name), _]), iter=ast.Call(func=ast.Name(id="enumerate"))):
                counts[name] += 1
    given = {each.arg for each in inside(function, ast.arg)}
    return {name for name, times in bound.items() if times in (containers[name], counts[name])} - given


def _is_container(value: ast.expr | None) -> bool:
    match value:
        case ast.Dict() | ast.List() | ast.Set() | ast.DictComp() | ast.ListComp() | ast.SetComp() | ast.JoinedStr():
            return True
        case ast.BinOp(left=ast.List(), op=ast.Mult()):
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _CONTAINERS
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _is_count(value: ast.expr | None) -> bool:
    match value:
        case ast.Call(func=ast.Name(id="len" | "int")):
            return True
    return isinstance(value, ast.Constant) and isinstance(value.value, int | float)


_CONTAINERS = frozenset({"Counter", "OrderedDict", "defaultdict", "deque", "dict", "list", "set"})


def is_called_without_grad(function: Definition, defined: Defined, depth: int = 3) -> bool:
    """True if functions of the file call it, each of them where gradients are off, be it for its own callers.

    What calls a method of its own name hands on what it was called for.
    """
    every, off = set[ast.Call](), set[ast.Call]()
    for caller in {each for functions in defined.values() for each in functions}:
        calls = _calls_in(caller).get(function.name)
        if calls is None or caller.name == function.name:
            continue
        every |= calls
        blocks = filter(_switches_off, inside(caller, ast.With))
        switched = {call for each in blocks for call in _calls_in(each).get(function.name, ())}
        outer = switched != calls and depth > 1 and is_called_without_grad(caller, defined, depth - 1)
        off |= calls if outer or is_without_grad(caller) else switched
    return bool(every) and every == off


@noted
def _calls_in(body: ast.AST) -> dict[str, set[ast.Call]]:
    """The calls in a piece of code, by the name of what they call."""
    found: dict[str, set[ast.Call]] = {}
    for call in contents(body).calls:
        found.setdefault(last_name(call.func), set()).add(call)
    return found


def _switches_off(block: ast.With, modes: Collection[str] = SWITCHED_OFF) -> bool:
    return any(_mentions(item.context_expr, modes) for item in block.items)


def hands_on_weights(function: Definition, defined: Defined, names: Names) -> bool:
    """True if a function calls one of `defined`, the functions of its file, with a weight, and that writes in place."""
    handed = (last_name(call.func) for call in contents(function).calls if _has_weight(call))
    return any(may_be_refused(each, names) for name in handed for each in defined.get(name, ()))


def _has_weight(call: ast.Call) -> bool:
    given = (*call.args, *(each.value for each in call.keywords))
    return any(isinstance(each, ast.Attribute) and each.attr in _WEIGHTS for each in given)


SIGNS_OF_LAYERS = ("inplace", "LU(True)", "max_norm")
"""What the text of a file has in which a layer may be made that writes in place."""


@noted
def makes_writing_layer(owner: ast.ClassDef) -> bool:
    """True if a class makes an attribute of a layer that writes in place: `self.act = nn.ReLU(inplace=True)`."""
    return any(
        isinstance(each, ast.Assign)
        and isinstance(each.targets[0], ast.Attribute)
        and isinstance(each.value, ast.Call)
        and _writes_in_place(each.value)
        for each in nodes(owner)
    )


def _writes_in_place(layer: ast.Call) -> bool:
    match layer:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[ast.Constant(value=True)]):
            return name.endswith("LU")
        case _:
            return any(_asks_in_place(each) or each.arg == "max_norm" for each in layer.keywords)


def _mentions(root: ast.AST, names: Collection[str]) -> bool:
    """True if one of some names, or an attribute of that name, is in a tree."""
    inside = contents(root)
    return any(each.id in names for each in inside.names) or any(each.attr in names for each in inside.attributes)


def _written(node: ast.AST, names: Names) -> Iterator[ast.expr]:
    """The targets of in-place writes of a node, whether tensors or not."""
    match node:
        case ast.AugAssign(value=ast.Tuple() | ast.List() | ast.JoinedStr() | ast.Constant(value=str())):
            return  # Sequences grow that way; a tensor refuses.
        case ast.AugAssign(target=target):
            yield target
        case ast.Assign(targets=targets, value=value) if not _is_no_number(value):
            for target in targets:
                yield from _subscripted(target)
        case ast.For(target=target) | ast.AnnAssign(target=target):
            yield from _subscripted(target)
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if _is_in_place(name):
            if meaning(owner, names) == "torch.nn.init":
                return  # Gradients are off there.
            yield from filter(None, (worked_on(node, names),))
        case ast.Call(args=arguments, keywords=keywords) if any(map(_asks_in_place, keywords)):
            yield from arguments[:1] or [node]


def _subscripted(target: ast.expr) -> Iterator[ast.expr]:
    match target:
        case ast.Subscript(slice=ast.Constant(value=str()) | ast.JoinedStr()):
            return  # An entry of a dict.
        case ast.Subscript(value=value):
            yield value
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _subscripted(part)
        case _:
            return


def _is_in_place(method: str) -> bool:
    return method.endswith("_") and not method.startswith("_") and method != "requires_grad_"


def _asks_in_place(keyword: ast.keyword) -> bool:
    return keyword.arg == "inplace" and not (isinstance(keyword.value, ast.Constant) and not keyword.value.value)


def _is_no_number(value: ast.expr) -> bool:
    """True if no tensor with a gradient takes a value: only masks take True and False."""
    return isinstance(value, (ast.Compare, ast.Dict, ast.JoinedStr)) or (
        isinstance(value, ast.Constant) and isinstance(value.value, (bool, str, type(None)))
    )
