"""Which functions write in place into what PyTorch may refuse to have written into, as far as their text tells.

That is a write into a leaf or a view of one, into one of several views, or into a view from under `no_grad`. What an
operation has just computed is none of these, nor is a counter, a list, or what a `forward` is given. A call of a
function of the same file is followed to what that returns. Where the text does not tell, the answer is that it may.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from gradpath.source.nodes import Noted, nodes

_COUNTING = frozenset(
    """bool dict enumerate float frozenset int isinstance len list print range repr round set sorted str sum
    type""".split()  # noqa: SIM905 - a table of words.
)
"""Builtins that give numbers, texts or containers, or compute something new."""

VIEWING = frozenset(
    """as_strided conj contiguous cpu cuda diagonal double expand_as flatten float half movedim moveaxis narrow permute
    ravel reshape select squeeze swapaxes swapdims t to transpose type type_as unflatten unfold unsqueeze view
    view_as""".split()  # noqa: SIM905 - a table of words.
)
"""Methods that may give their own tensor, or one view of it."""

_GIVING = frozenset(
    """apply buffers children chunk dsplit expand forward get getattr hsplit items modules named_buffers
    named_modules named_parameters parameters pop popitem popleft requires_grad_ setdefault split split_with_sizes
    state_dict tensor_split unbind values vsplit""".split()  # noqa: SIM905 - a table of words.
)
"""Methods that may give a leaf, several views, or what somebody else made."""

_PLAIN_ATTRIBUTES = frozenset({"data", "device", "dtype", "ndim", "shape"})
_PARAMETERS = frozenset({"bias", "weight"})
_ASKING = frozenset({"named_parameters", "parameters"})
_ALIASES = frozenset({"H", "T", "imag", "mH", "mT", "real"})

_MAKING_LEAVES = frozenset({"Parameter", "inference_mode", "requires_grad_"})
"""Names in whose presence any tensor may be a leaf that requires a gradient, or refuse all writes."""

_SWITCHING = frozenset({"enable_grad", "no_grad", "set_grad_enabled"})
"""Names in whose presence a view may be from another grad mode."""

_WITHOUT_GRAD = frozenset({"inference_mode", "no_grad"})
"""Decorators under which nothing is refused."""

_LIBRARIES = frozenset({"F", "functional", "init", "nn", "torch"})
"""Names whose attributes are functions of a library; what those compute is new."""

_FOLLOWED = 3
"""How many calls one within the other are followed."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Defined = Mapping[str, Sequence[Function]]
"""The functions and methods of a file by their names."""

_known: Noted[tuple[Defined, bool]] = Noted("_writes_known")
"""The last answer for each function, and the `defined` that it was given with."""


def may_be_refused(function: Function, defined: Defined) -> bool:
    """Whether a write of a function may be refused; `defined` are the functions in its file."""
    known = _known.get(function)
    if known is None or known[0] != defined:
        known = _known[function] = defined, _may_be_refused(function, defined)
    return known[1]


def _may_be_refused(function: Function, defined: Defined) -> bool:
    if is_without_grad(function):
        return False
    body = nodes(function)
    targets = [target for node in body for target in written(node)]
    if not targets or mentions(body, _MAKING_LEAVES) or any(map(_asks_for_grad, body)):
        return bool(targets)
    origins = _Origins(function, body, defined)
    return any(map(origins.may_refuse, targets)) and not _is_called_without_grad(function, defined)


def _is_called_without_grad(function: Function, defined: Defined) -> bool:
    """Whether functions of the file call it, each of them where gradients are off."""
    calls, off = 0, 0
    for caller in {each for functions in defined.values() for each in functions}:
        everywhere = _calls_of(function.name, nodes(caller))
        calls += len(everywhere)
        if everywhere and is_without_grad(caller):
            off += len(everywhere)
        elif everywhere:
            blocks = [each for each in nodes(caller) if isinstance(each, ast.With) and _switches_off(each)]
            off += len({call for block in blocks for call in _calls_of(function.name, nodes(block))})
    return 0 < calls == off


def _calls_of(name: str, body: Collection[ast.AST]) -> set[ast.Call]:
    """The calls of a function or a method with a name."""
    found = set()
    for node in body:
        match node:
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)) if called == name:
                found.add(node)
            case _:
                pass
    return found


def _switches_off(block: ast.With) -> bool:
    return any(mentions(nodes(item.context_expr), _WITHOUT_GRAD) for item in block.items)


def is_without_grad(function: Function) -> bool:
    """Whether a decorator switches gradients off."""
    return any(mentions(nodes(each), _WITHOUT_GRAD) for each in function.decorator_list)


_asking: Noted[bool] = Noted("_writes_asking")


def asks_for_parameters(function: Function) -> bool:
    """Whether a function goes through the parameters of something."""
    asks = _asking.get(function)
    if asks is None:
        asks = _asking[function] = mentions(nodes(function), _ASKING)
    return asks


_naming: Noted[bool] = Noted("_writes_naming")


def names_weights(function: Function) -> bool:
    """Whether a function names the weight or the bias of something."""
    named = _naming.get(function)
    if named is None:
        named = _naming[function] = mentions(nodes(function), _PARAMETERS)
    return named


def mentions(body: Collection[ast.AST], names: Collection[str]) -> bool:
    """Whether one of some names, or an attribute of that name, is among some nodes."""
    for node in body:
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) if name in names:
                return True
            case _:
                pass
    return False


def _asks_for_grad(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr="requires_grad", ctx=ast.Store()):
            return True
        case ast.keyword(arg="requires_grad", value=value):
            return not (isinstance(value, ast.Constant) and not value.value)
        case _:
            return False


def written(node: ast.AST) -> Iterator[ast.expr]:
    """What a node writes into in place, be it a tensor or not."""
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
        case ast.Call(func=ast.Attribute(value=receiver, attr=name), args=arguments) if _is_in_place(name):
            yield from arguments[:1] if _is_library(receiver) else (receiver,)
        case ast.Call(args=arguments, keywords=keywords) if any(map(_asks_in_place, keywords)):
            yield from arguments[:1] or [node]
        case _:
            pass


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
    """Whether no tensor with a gradient takes a value: only masks take True and False."""
    return isinstance(value, (ast.Compare, ast.Dict, ast.JoinedStr)) or (
        isinstance(value, ast.Constant) and isinstance(value.value, (bool, str, type(None)))
    )


class _Origins:
    """Where the local names of a function get their values from.

    `refusing` are the parameters that are given what may be refused, `within` the functions that wait for what this
    one returns, and `returning` says of those that have been followed whether they return what may be refused.
    """

    def __init__(
        self,
        function: Function,
        body: Collection[ast.AST],
        defined: Defined,
        refusing: Collection[str] = (),
        within: Sequence[Function] = (),
        returning: dict[tuple[Function, frozenset[str]], bool] | None = None,
    ) -> None:
        arguments = function.args
        given = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)} - {"self"}
        self._defined = defined
        self._within = (*within, function)
        self._returning = {} if returning is None else returning
        self._given = given.difference(refusing)
        self._rest = {each.arg for each in (arguments.vararg, arguments.kwarg) if each is not None}
        self._views_differ = mentions(body, _SWITCHING)
        self._values: dict[str, list[ast.expr | None]] = {}
        """The values of each name; None for one of which nothing is known."""
        for node in body:
            self._note(node)
        self._refusing: set[str] = set()
        more = True
        while more:
            found = {
                name
                for name, values in self._values.items()
                if (not values and name not in self._given) or name in refusing or any(map(self.may_refuse, values))
            }
            more = found != self._refusing
            self._refusing = found

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                self._bind(target, value)
            case ast.AugAssign(target=ast.Name() as target, value=value):
                self._bind(target, ast.BinOp(target, node.op, value))
            case ast.For(target=target, iter=iterated) | ast.comprehension(target=target, iter=iterated):
                self._bind_each(target, iterated)
            case ast.Name(id=name, ctx=ast.Store()):
                self._values.setdefault(name, [])
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                for name in names:
                    self._values.setdefault(name, []).append(None)
            case _:
                pass

    def _bind(self, target: ast.expr, value: ast.expr | None) -> None:
        match target:
            case ast.Name(id=name):
                self._values.setdefault(name, []).append(value)
            case ast.Starred(value=inner):
                self._bind(inner, None)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part, one in zip(parts, self._unpacked(value, len(parts)), strict=True):
                    self._bind(part, one)
            case _:
                pass

    def _bind_each(self, target: ast.expr, iterated: ast.expr) -> None:
        """Bind what a loop runs over: the rows of a tensor are views, numbers are none."""
        match iterated, target:
            case ast.Call(func=ast.Name(id="range")), _:
                self._bind(target, iterated)
            case ast.Call(func=ast.Name(id="enumerate")), ast.Tuple(elts=[count, inner]):
                self._bind(count, iterated)
                self._bind(inner, None)
            case _:
                self._bind(target, None)

    def _unpacked(self, value: ast.expr | None, count: int) -> list[ast.expr | None]:
        """The parts of a value; a tensor comes apart into several views, and a function may give such."""
        match value:
            case ast.Tuple(elts=parts) | ast.List(elts=parts) if len(parts) == count:
                return list(parts)
            case ast.Attribute(attr="shape") | ast.Call(func=ast.Attribute(attr="size")):
                return [value] * count
            case ast.Call(func=ast.Attribute(value=receiver, attr=name)):
                is_module = is_own(receiver) or _is_library(receiver)
                if is_module and name in self._defined and not _is_library(receiver):
                    return [value if self._returns_tuples(name, count) else None] * count
                return [value if is_module else None] * count
            case ast.Call(func=ast.Name(id=name)) if name in self._defined:
                return [value if self._returns_tuples(name, count) else None] * count
            case ast.Call(func=ast.Name(id=name)) if name in self._values:
                return [value] * count  # A module: `for layer in self.layers`.
            case _:
                return [None] * count

    def may_refuse(self, expression: ast.expr | None) -> bool:
        """Whether a value may be a leaf, a view of one, or one of several views."""
        match expression:
            case ast.Name(id=name):
                return name in self._refusing or not (name in self._given or name in self._values)
            case ast.Attribute(value=value, attr=name):
                if name in _PLAIN_ATTRIBUTES:
                    return False
                own = name in _PARAMETERS or is_own(value)
                return own or (name in _ALIASES and self._views_differ) or self.may_refuse(value)
            case ast.Subscript(value=value):
                return self._views_differ or self.may_refuse(value) or self._may_hold(value)
            case ast.IfExp(body=body, orelse=orelse):
                return self.may_refuse(body) or self.may_refuse(orelse)
            case ast.BoolOp(values=values):
                return any(map(self.may_refuse, values))
            case ast.NamedExpr(value=value):
                return self.may_refuse(value)
            case ast.Call(func=ast.Name(id=name)):
                if name in _COUNTING or name[:1].isupper():
                    return False
                return self._may_return(expression, name) if name in self._defined else self._hands_on(expression)
            case ast.Call(func=ast.Attribute(value=receiver, attr=name)):
                return self._method_gives(expression, receiver, name)
            case ast.Call():
                return self._hands_on(expression)
            case _:
                return not isinstance(expression, _NEW)

    def _may_hold(self, value: ast.expr) -> bool:
        """Whether a value may be a container, which holds what others have made."""
        if not isinstance(value, ast.Name):
            return not isinstance(value, (ast.Attribute, ast.Call, ast.Subscript))
        return any(isinstance(each, _HOLDING) or self._is_copied(each) for each in self._values.get(value.id, ()))

    def _method_gives(self, call: ast.Call, receiver: ast.expr, name: str) -> bool:
        """Whether the result of a method, or of a function of a library, may be refused to be written into."""
        in_library = _is_library(receiver)
        if name in _GIVING:
            return True
        if name in self._defined and not in_library:
            return self._may_return(call, name) or (not isinstance(receiver, ast.Name) and self._hands_on(call))
        if name in VIEWING or _is_in_place(name):
            return self._views_differ or self.may_refuse(call.args[0] if in_library and call.args else receiver)
        if any(map(_asks_in_place, call.keywords)):
            return True
        return not in_library and (name.startswith("get") or (is_own(receiver) and self._hands_on(call)))

    def _is_copied(self, value: ast.expr | None) -> bool:
        """Whether a value is another container in a new one: `list(parts)`."""
        match value:
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return name in _COUNTING and not (arguments and self._is_shape(arguments[0]))
            case _:
                return False

    def _is_shape(self, value: ast.expr | None) -> bool:
        """Whether a value is the shape of a tensor, whose items are numbers."""
        match value:
            case ast.Attribute(attr="shape") | ast.Call(func=ast.Attribute(attr="size")):
                return True
            case ast.Subscript(value=inner):
                return self._is_shape(inner)
            case ast.Name(id=name):
                values = self._values.get(name, [])
                return bool(values) and all(each is not value and self._is_shape(each) for each in values)
            case _:
                return False

    def _may_return(self, call: ast.Call, name: str) -> bool:
        """Whether a function of the file, or one of several that have this name, may return what may be refused."""
        for each in self._defined[name]:
            key = each, frozenset(self._refusing_parameters(each, call))
            if key not in self._returning:
                self._returning[key] = self._may_return_from(*key)
            if self._returning[key]:
                return True
        return False

    def _may_return_from(self, function: Function, refusing: Collection[str]) -> bool:
        if len(self._within) > _FOLLOWED or function in self._within:
            return True
        body = nodes(function)
        around = [node for each in function.decorator_list for node in nodes(each)]
        if mentions(body, _MAKING_LEAVES) or any(map(_asks_for_grad, body)) or mentions(around, _SWITCHING):
            return True
        origins = _Origins(function, body, self._defined, refusing, self._within, self._returning)
        return any(origins.may_hold_refused(each) for each in map(_handed_out, body) if each is not None)

    def _refusing_parameters(self, function: Function, call: ast.Call) -> set[str]:
        """The parameters that a call gives what may be refused; all of them where it does not tell which."""
        arguments = function.args
        names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
        names = names[1:] if names[:1] in (["self"], ["cls"]) else names
        every = {*names, *(each.arg for each in arguments.kwonlyargs)}
        found: set[str] = set()
        for index, given in enumerate(call.args):
            if isinstance(given, ast.Starred):
                if not self._hands_rest_on(given.value):
                    return every
            elif index < len(names) and self.may_refuse(given):
                found.add(names[index])
        for keyword in call.keywords:
            if keyword.arg is None:
                if not self._hands_rest_on(keyword.value):
                    return every
            elif self.may_refuse(keyword.value):
                found.add(keyword.arg)
        return found

    def _hands_rest_on(self, given: ast.expr) -> bool:
        """Whether `*args` or `**kwargs` in a call are those that the function itself is given."""
        return isinstance(given, ast.Name) and given.id in self._rest and given.id not in self._values

    def may_hold_refused(self, returned: ast.expr) -> bool:
        """Whether what a function returns may be refused, or be a container with something that may."""
        match returned:
            case (
                ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Call(func=ast.Name(id="tuple" | "list"), args=parts)
            ):
                return any(map(self.may_hold_refused, parts))
            case ast.Dict(values=parts):
                return any(map(self.may_hold_refused, parts))
            case ast.Call(func=ast.Name(id=name), args=[], keywords=keywords) if name[:1].isupper():
                return any(self.may_hold_refused(each.value) for each in keywords)
            case ast.ListComp() | ast.DictComp() | ast.GeneratorExp() | ast.Starred():
                return True
            case ast.Name():
                return self.may_refuse(returned) or self._may_hold(returned)
            case _:
                return self.may_refuse(returned)

    def _returns_tuples(self, name: str, count: int) -> bool:
        """Whether the functions with a name return so many values, each for itself."""
        returned = [_handed_out(node) for each in self._defined[name] for node in nodes(each)]
        return all(isinstance(each, ast.Tuple) and len(each.elts) == count for each in returned if each is not None)

    def _hands_on(self, call: ast.Call) -> bool:
        """Whether a call may give what it is given, as `nn.Identity` does, or, given nothing, what it has."""
        match call.args:
            case []:
                return not call.keywords
            case [ast.Name(id="self"), *_]:
                return False  # A module is no tensor.
            case [ast.Name() | ast.Attribute() as first, *_]:
                return self.may_refuse(first)
            case _:
                return False


def _handed_out(node: ast.AST) -> ast.expr | None:
    """What a statement gives to the caller of the function around it."""
    match node:
        case ast.Return(value=ast.expr() as value):
            return value
        case ast.Yield() | ast.YieldFrom():
            return node  # Of a generator nothing is known.
        case _:
            return None


def root_of(expression: ast.AST) -> str:
    """The variable that an expression begins with: `x` of `x.data[0]`, "" where it begins with none."""
    while isinstance(expression, (ast.Attribute, ast.Subscript)):
        expression = expression.value
    return expression.id if isinstance(expression, ast.Name) else ""


def is_own(receiver: ast.expr) -> bool:
    """Whether an expression begins with `self`."""
    return root_of(receiver) == "self"


def _is_library(receiver: ast.expr) -> bool:
    match receiver:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in _LIBRARIES
        case _:
            return False


_HOLDING = (ast.Dict, ast.DictComp, ast.List, ast.ListComp, ast.Tuple)
_NEW = (
    *(ast.BinOp, ast.Compare, ast.Constant, ast.JoinedStr, ast.Lambda, ast.UnaryOp),
    *(ast.Dict, ast.DictComp, ast.GeneratorExp, ast.List, ast.ListComp, ast.Set, ast.SetComp, ast.Tuple),
)
"""Expressions that make something new: no leaf that requires a gradient, and no view."""
