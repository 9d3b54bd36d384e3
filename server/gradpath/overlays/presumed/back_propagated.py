"""The calls between a function's inputs and a backward: what gives a loss its graph is a module or a loss.

Read off the syntax alone, without regard to the order of statements. Functions of the program are followed: a
parameter that one of them calls is the argument of the call. The result of a `forward` leads to a backward, too.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import TypeAlias

from gradpath.overlays.presumed.compared import compared_values, given_to
from gradpath.overlays.presumed.places import place_of
from gradpath.overlays.presumed.roles import role_of_name
from gradpath.source.nodes import is_static, nodes, noted, parts
from gradpath.support.fast_dataclasses import dataclass, field
from gradpath.support.fast_enums import Enum

_CUTTING = frozenset({"clone_", "detach", "item", "numpy", "requires_grad_", "size", "tolist"})
_BOUNDING = frozenset({"clamp", "clamp_", "clamp_max", "clamp_min", "clip", "clip_"})
"""Functions that take bounds beside a tensor, which are numbers as a rule and do not lead to a model."""

_GOING_THROUGH = frozenset({"enumerate", "iter", "tqdm", "zip", "cycle", "islice", "track"})
_STORING = frozenset({"add", "append", "extend", "insert"})

_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

_GRAD_MODES = frozenset({"enable_grad", "inference_mode", "no_grad", "set_grad_enabled"})

Definition = ast.FunctionDef


class Left(Enum):
    """Stands for what a fragment leaves out."""

    OUT = "a name that nothing binds"


Found: TypeAlias = "Definition | Left | None"
Find = Callable[[str], Found]
"""Gives the definition that the place of a callee names, `f` or `self.f`."""

_Names = Mapping[str, Sequence[ast.expr]]
_Scoped = tuple[ast.AST, "Definition | None"]
"""A node of the program with the function that it is in; None for the body that is analysed."""

_MOST = 50
"""Names that are looked for from one body."""


@dataclass(frozen=True, slots=True)
class LeadingCall:
    """A call that leads to a backward: the places of its arguments, and the callees that gave those.

    `repeated` says that it is in a loop, or in a function that was followed, and so may be called again with the same
    arguments.
    """

    arguments: Set[str]
    results: Set[str]
    count: int
    repeated: bool


@dataclass(frozen=True, slots=True)
class Chain:
    """All calls on the way to a backward, by the places of their callees.

    Batches are `iterated` over; `fixed` are the variables that no loop fills again. `followed` are the names that were
    looked for, with what was found: definitions of the program, or that they are left out. `methods` are those that the
    body calls of something that it holds, in the innermost loop of a backward, or to hand it what they give:
    `model.encode`. `leading` are the calls of the body itself whose results lead to a backward. `compared` are the
    callees of what is handed to a function that is called a loss, or subtracted from something in a squared difference.
    """

    calls: Mapping[str, Sequence[LeadingCall]]
    iterated: Set[str]
    fixed: Set[str]
    followed: Mapping[str, Found] = field(default_factory=dict)
    methods: Set[str] = frozenset()
    leading: Set[ast.Call] = frozenset()
    compared: Set[str] = frozenset()


_NOTHING = Chain({}, frozenset(), frozenset())


def back_propagated(body: ast.AST, every: Sequence[ast.AST], find: Find) -> Chain:
    """The calls on the way to the backwards among the nodes of a body."""
    roots: list[_Scoped] = [(root, None) for root in _roots(body, every)]
    if not roots:
        return _NOTHING
    own = _read_body(every)
    slices = _Slices(own, find)
    calls: dict[str, list[LeadingCall]] = {}
    looped = {each for loop in every if isinstance(loop, _LOOPS) for each in _nodes_in(loop)}
    for callee, found in slices.calls(roots).items():
        for node, scope in found:
            given = given_to(node)
            repeated = scope is not None or node in looped
            if given:
                places = {place for each in given for place in slices.outside(place_of(each), scope)}
                results = slices.calls([(each, scope) for each in given]).keys()
                calls.setdefault(callee, []).append(LeadingCall(places - {""}, results, len(given), repeated))
    fed = {place for each in calls.values() for call in each for place in call.arguments} | slices.handed
    near = _around([root for root, _ in roots], every)
    # What a step computes itself, before its backward, are no batches; a loop around that of the step may make them.
    step = _around([root for root, _ in roots if root in looped], every) & looped
    batches = {
        place
        for name, sources in own.items.items()
        if name in fed and name not in calls
        for place in sources
        if step.isdisjoint(own.values.get(place, ()))
        and not any(_is_computed(each, calls) for each in own.values.get(place, ()))
    }
    again = _read_body([node for node in every if node in looped])
    fixed = (own.names | slices.left_out(fed)) - again.values.keys() - again.items.keys()
    pairs = [*compared_values(slices.leading, every)]
    compared = slices.calls([(each, None) for pair in pairs for each in pair]).keys()
    targets = {node for pair in pairs for node in _targets(own, find, pair)}
    methods = {
        f"{place}.{name}"
        for place, name, node in slices.methods
        if node not in targets and (node in near or _is_for_itself(place, node, own, slices.methods, calls))
    }
    return Chain(calls, batches - calls.keys(), fixed, slices.followed, methods, slices.leading, compared)


def _targets(own: _Body, find: Find, pair: Sequence[ast.expr]) -> Set[ast.Call]:
    """The calls of methods that give all of what the result of others, which work on what they give, is compared with.

    What gives a model its input and its target gives data.
    """
    if len(pair) != 2:
        return frozenset()
    ways = [_Slices(own, find) for _ in pair]
    for each, way in zip(pair, ways, strict=True):
        way.calls([(each, None)])
    one, other = ({node for _, _, node in way.methods} for way in ways)
    return one if one < other else other if other < one else frozenset()


def _is_for_itself(
    place: str,
    node: ast.Call,
    own: _Body,
    methods: Sequence[tuple[str, str, ast.Call]],
    calls: Mapping[str, Sequence[LeadingCall]],
) -> bool:
    """True if what a method gives is the input of other methods or parts of the same thing: `net.head(net.body(x))`.

    One that gives several values, or what is only an option of the others, may be a rollout without gradients.
    """
    names = [name for name, values in own.values.items() if node in values]
    if len(names) != 1:
        return False
    for owner, _, other in methods:
        if owner == place and other.args and place_of(other.args[0]) == names[0]:
            return True
    within = f"{place}."
    return any(
        any(each.startswith(within) for each in (callee, *own.items.get(callee, ())))
        and any(names[0] in call.arguments for call in found)
        for callee, found in calls.items()
    )


def _is_computed(value: ast.expr, calls: Mapping[str, Sequence[LeadingCall]]) -> bool:
    """True if a leading callee gives a value that is a model, or is also handed what another one gave: no batches."""
    callee = place_of(value.func) if isinstance(value, ast.Call) else ""
    if callee not in calls:
        return False
    return role_of_name(callee.rpartition(".")[2]) == "model" or any(each.results for each in calls[callee])


@noted
def _nodes_in(loop: ast.AST) -> frozenset[ast.AST]:
    return frozenset(nodes(loop))


def _around(roots: Sequence[ast.AST], every: Sequence[ast.AST]) -> Set[ast.AST]:
    """The nodes of the innermost loops around some expressions; of the whole body where one is in no loop."""
    loops = [_nodes_in(each) for each in every if isinstance(each, (ast.For, ast.AsyncFor, ast.While))]
    near: set[ast.AST] = set()
    for root in roots:
        near |= min((each for each in loops if root in each), key=len, default=frozenset(every))
    return near


def _roots(body: ast.AST, every: Sequence[ast.AST]) -> Iterator[ast.expr]:
    """The roots of backwards: the receiver of `loss.backward()`, or the argument of `engine.backward(loss)`.

    `x = layer.backward(x)` is not one: the backward of a tensor or an engine has no result to use.
    """
    if isinstance(body, ast.FunctionDef) and body.name == "forward" and not is_static(body):
        yield from _read_definition(body).returns
    unused = {node.value for node in every if isinstance(node, ast.Expr)}
    for node in every:
        match node:
            case ast.Call(func=ast.Attribute(value=receiver, attr="backward"), args=given) if (
                not given or node in unused
            ):
                yield receiver
                yield from given[:1]
            case ast.Call(func=ast.Name(id="grad") | ast.Attribute(attr="grad"), args=[first, *_]):
                yield first


@dataclass(frozen=True, slots=True)
class _Body:
    """The bindings of a body: the expressions assigned to each place, and the places that loop variables iterate over.

    `names` are the parameters and all that is bound, `returns` the returned expressions.
    """

    values: _Names
    items: Mapping[str, Sequence[str]]
    names: Set[str]
    returns: Sequence[ast.expr]


@noted
def _read_definition(definition: Definition) -> _Body:
    return _read_body(nodes(definition))


def _read_body(every: Sequence[ast.AST]) -> _Body:
    values, items = _assigned(every)
    names = {node.arg for node in every if isinstance(node, ast.arg)} | values.keys() | items.keys()
    returns = [
        node.value
        for node in every
        if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom)) and node.value is not None
    ]
    return _Body(values, items, names, returns)


def _assigned(every: Sequence[ast.AST]) -> tuple[dict[str, list[ast.expr]], dict[str, list[str]]]:
    """The expressions assigned to each place, and the places that loop variables iterate over.

    What a list is given is no value of its name where the name stands for something else in another place.
    """
    values: dict[str, list[ast.expr]] = {}
    items: dict[str, list[str]] = {}
    bound: dict[str, list[ast.expr]] = {}
    stored: dict[str, list[ast.expr]] = {}
    for node in every:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    _fill(bound, target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                _fill(bound, target, value)
            case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                _fill(values, target, value)
            case ast.Call(func=ast.Attribute(value=holder, attr=method), args=[*_, last]) if method in _STORING:
                _fill(stored, holder, last)
            case ast.For(target=target, iter=over) | ast.comprehension(target=target, iter=over):
                for name in _names(target):
                    items.setdefault(name, []).extend(gone_through(over))
                if not isinstance(over, (ast.Name, ast.Attribute)):
                    _fill(values, target, over)
    for place, given in bound.items():
        values.setdefault(place, []).extend(given)
    for place, given in stored.items():
        if not _stands_for_two(place, bound.get(place, ()), items):
            values.setdefault(place, []).extend(given)
    return values, items


def _stands_for_two(place: str, bound: Sequence[ast.expr], items: Mapping[str, Sequence[str]]) -> bool:
    """True if a place is an empty list at first here, and there what is not made of it: `images = batch["images"]`."""
    others = [each for each in bound if not (isinstance(each, ast.List) and not each.elts)]
    if len(others) == len(bound):
        return False
    return place in items or not all(_reads(each, place) for each in others)


def _reads(value: ast.expr, place: str) -> bool:
    return any(isinstance(each, ast.expr) and place_of(each) == place for each in nodes(value))


def _fill(values: dict[str, list[ast.expr]], target: ast.expr, value: ast.expr) -> None:
    if isinstance(target, (ast.Tuple, ast.List)):
        parts_ = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts) else None
        for index, each in enumerate(target.elts):
            _fill(values, each, value if parts_ is None else parts_[index])
        return
    place = place_of(target).removesuffix("[]")
    if place:
        values.setdefault(place, []).append(value)


def _names(target: ast.expr) -> list[str]:
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for each in target.elts for name in _names(each)]
    return [target.id] if isinstance(target, ast.Name) else []


def gone_through(over: ast.expr) -> list[str]:
    """The places that a loop iterates over, through wrappers such as `enumerate`, `islice` and progress bars."""
    match over:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if name in _GOING_THROUGH:
            return [place for each in args for place in gone_through(each)]
    return [place] if (place := place_of(over)) else []


class _Slices:
    """The calls of parameters and variables on which expressions depend."""

    def __init__(self, own: _Body, find: Find) -> None:
        self.followed: dict[str, Found] = {}
        self.handed: set[str] = set()
        self.methods: list[tuple[str, str, ast.Call]] = []
        self.leading: set[ast.Call] = set()
        self._own, self._find = own, find
        self._bound: dict[tuple[Definition, str], list[_Scoped]] = {}
        self._known: dict[ast.AST, _Read] = {}
        self._entered: dict[Definition, tuple[ast.Call, Definition | None]] = {}

    def calls(self, roots: Sequence[_Scoped]) -> Mapping[str, Sequence[tuple[ast.Call, Definition | None]]]:
        """All calls on the ways into some expressions, by the places of their callees in the body itself."""
        found: list[tuple[str, ast.Call, Definition | None]] = []
        seen: set[tuple[str, Definition | None]] = set()
        read: set[ast.AST] = set()
        rest = list(roots)
        while rest:
            expression, scope = rest.pop()
            if expression in read:
                continue
            read.add(expression)
            here = self._read(expression, scope)
            if scope is None:
                self.leading.update(here.leading)
            found += ((callee, node, scope) for callee, node in here.calls)
            for definition, call in here.followed:
                rest += ((each, definition) for each in _read_definition(definition).returns)
                rest += ((value, scope) for name, value in _arguments(definition, call) if (name, definition) in seen)
            for place in here.places:
                within = None if place.startswith("self.") else scope
                if (place, within) not in seen:
                    seen.add((place, within))
                    rest += self._sources(place, scope)
        calls: dict[str, list[tuple[ast.Call, Definition | None]]] = {}
        for callee, node, scope in found:
            for place in self.outside(callee, scope):
                calls.setdefault(place, []).append((node, scope))
        return calls

    def outside(self, place: str, scope: Definition | None, depth: int = 5) -> Iterator[str]:
        """The place in the body itself that a place in a followed function refers to."""
        name = _first_name(place)
        if scope is None or name == "self" or not place:
            yield place
        elif depth:
            for value, around in self._bound.get((scope, name), ()):
                handed = place_of(value) if isinstance(value, ast.expr) else ""
                if handed:
                    yield from self.outside(handed + place[len(name) :], around, depth - 1)

    def _sources(self, place: str, scope: Definition | None) -> Iterator[_Scoped]:
        """The expressions that fill a place."""
        body = self._own if scope is None else _read_definition(scope)
        yield from ((each, scope) for each in body.values.get(place, ()))
        if scope is not None:
            yield from self._bound.get((scope, place), ())

    def _read(self, expression: ast.AST, scope: Definition | None) -> _Read:
        """The calls in an expression itself, and the places that it reads."""
        known = self._known.get(expression)
        if known is None:
            known = self._known[expression] = self._look(expression, scope)
        return known

    def _look(self, expression: ast.AST, scope: Definition | None) -> _Read:
        found = _Read([], [], [], [])
        rest = [expression]
        while rest:
            node = rest.pop()
            if isinstance(node, ast.Call):
                found.leading.append(node)
            match node:
                case ast.Call(func=ast.Attribute(attr=method)) if method in _CUTTING:
                    continue
                case ast.Call(func=func) if (definition := self._definition(place_of(func), scope)) is not None:
                    self._bind(definition, node, scope)
                    self._entered.setdefault(definition, (node, scope))
                    found.followed.append((definition, node))
                case ast.Call(func=func) if self._is_own(callee := place_of(func), scope):
                    found.calls.append((callee, node))
                    rest += [*node.args, *node.keywords]
                case ast.Call(func=ast.Attribute(value=receiver, attr=method)) if method in _BOUNDING:
                    place = place_of(receiver)
                    rest += [receiver] if not place or self._is_own(place, scope) else node.args[:1]
                case ast.Call(func=ast.Attribute(value=receiver, attr=method)):
                    place = place_of(receiver)
                    if place and (scope is None or place.startswith("self.")) and self._is_own(place, scope):
                        self.methods.append((place, method, self._in_body(node, scope)))
                    rest += [receiver, *node.args, *node.keywords]
                case ast.Call():
                    rest += [*node.args, *node.keywords]
                case ast.Name() | ast.Attribute():
                    found.places.extend([place] if (place := place_of(node)) else [])
                    if isinstance(node, ast.Attribute):
                        rest.append(node.value)
                case ast.Lambda() | ast.IfExp():
                    rest += parts(node, ("test", "args"))
                case _:
                    rest += parts(node)
        return found

    def _in_body(self, call: ast.Call, scope: Definition | None) -> ast.Call:
        """The call in the body itself that leads to a call in a followed function."""
        while scope is not None:
            call, scope = self._entered[scope]
        return call

    def _definition(self, callee: str, scope: Definition | None) -> Definition | None:
        """The function of the program that a callee names, unless a decorator wraps it that may do anything."""
        is_method = callee.startswith("self.")
        if not callee or callee.endswith("[]") or (not is_method and self._is_own(callee, scope)):
            return None
        found = self._found(callee)
        return found if isinstance(found, Definition) and all(map(_is_grad_mode, found.decorator_list)) else None

    def _found(self, callee: str) -> Found:
        if callee not in self.followed:
            if len(self.followed) >= _MOST:
                return None
            self.followed[callee] = self._find(callee)
        return self.followed[callee]

    def left_out(self, places: Set[str]) -> set[str]:
        """The places whose names a fragment leaves out."""
        held = self._own.names | {"self"}
        names = {place: _first_name(place) for place in places}
        return {place for place, name in names.items() if name not in held and self._found(name) is Left.OUT}

    def _bind(self, definition: Definition, call: ast.Call, scope: Definition | None) -> None:
        for name, value in _arguments(definition, call):
            bound = self._bound.setdefault((definition, name), [])
            if all(each is not value for each, _ in bound):
                bound.append((value, scope))
        if scope is None:
            self.handed.update(filter(None, map(place_of, given_to(call))))

    def _is_own(self, callee: str, scope: Definition | None) -> bool:
        """True if a callee is held by the function or its object, not a function of the file or of a library.

        What a fragment leaves out may be held as well.
        """
        name, _, attribute = callee.removesuffix("[]").partition(".")
        if attribute:
            return name == "self"
        return name in (self._own if scope is None else _read_definition(scope)).names or (
            name != "" and self._found(name) is Left.OUT
        )


@dataclass(frozen=True, slots=True)
class _Read:
    """The content of an expression: unseen calls, calls of functions of the program, places, and all calls."""

    calls: list[tuple[str, ast.Call]]
    followed: list[tuple[Definition, ast.Call]]
    places: list[str]
    leading: list[ast.Call]


def _is_grad_mode(decorator: ast.expr) -> bool:
    """True if a decorator switches gradients: what a function calls under it, it calls without it."""
    callee = decorator.func if isinstance(decorator, ast.Call) else decorator
    return place_of(callee).rpartition(".")[2] in _GRAD_MODES


def _first_name(place: str) -> str:
    return place.removesuffix("[]").partition(".")[0]


def _arguments(definition: Definition, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The parameters of a function with what a call hands to them; what is starred may go to any that is left."""
    names = [each.arg for each in (*definition.args.posonlyargs, *definition.args.args)]
    rest = iter(names[1:] if names[:1] == ["self"] else names)
    for value in call.args:
        if isinstance(value, ast.Starred):
            yield from ((name, value.value) for name in rest)
        elif (name := next(rest, None)) is not None:
            yield name, value
    yield from ((each.arg, each.value) for each in call.keywords if each.arg is not None)
