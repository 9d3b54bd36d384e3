"""What a function calls on the way to a backward: whatever gives a loss its graph is a module or a loss.

Read off the syntax alone, without regard to the order of statements.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence, Set

from gradpath.overlays.places import place_of
from gradpath.records import dataclass
from gradpath.source.nodes import parts

_CUTTING = frozenset({"clone_", "detach", "item", "numpy", "requires_grad_", "size", "tolist"})
_GOING_THROUGH = frozenset({"enumerate", "iter", "tqdm", "zip", "cycle", "islice", "track"})
_STORING = frozenset({"add", "append", "extend", "insert"})

_Names = Mapping[str, Sequence[ast.expr]]


@dataclass(frozen=True, slots=True)
class Call:
    """A call on the way: the places that are its arguments, and the callees whose results those came from."""

    arguments: Set[str]
    results: Set[str]
    count: int


@dataclass(frozen=True, slots=True)
class Chain:
    """All calls on the way to a backward, by the places of their callees.

    Batches are `iterated` over; `fixed` are the parameters that stand for the same thing all the time.
    """

    calls: Mapping[str, Sequence[Call]]
    iterated: Set[str]
    fixed: Set[str]


_NOTHING = Chain({}, frozenset(), frozenset())


def back_propagated(body: ast.AST, every: Sequence[ast.AST]) -> Chain:
    """The calls on the way to the backwards among the nodes of a body."""
    roots = list(_roots(every))
    if not roots:
        return _NOTHING
    values, items = _assigned(every)
    changing = values.keys() | items.keys()
    own = _parameters(every) | changing
    slices = _Slices(values, own)
    calls: dict[str, list[Call]] = {}
    for callee, nodes_ in slices.calls(roots).items():
        for node in nodes_:
            given = [*node.args, *(each.value for each in node.keywords)]
            if given:
                places = {place_of(each) for each in given} - {""}
                calls.setdefault(callee, []).append(Call(places, slices.calls(given).keys(), len(given)))
    fed = {place for each in calls.values() for call in each for place in call.arguments}
    batches = {place for name, sources in items.items() if name in fed and name not in calls for place in sources}
    return Chain(calls, batches - calls.keys(), own - changing)


def _roots(every: Sequence[ast.AST]) -> Iterator[ast.expr]:
    """What backwards begin at: the receiver of `loss.backward()`, or what `engine.backward(loss)` is handed.

    `x = layer.backward(x)` is none: neither a tensor's nor an engine's has a result that is used.
    """
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


def _parameters(every: Sequence[ast.AST]) -> set[str]:
    return {node.arg for node in every if isinstance(node, ast.arg)}


def _assigned(every: Sequence[ast.AST]) -> tuple[dict[str, list[ast.expr]], dict[str, list[str]]]:
    """The expressions that fill each place, and the places whose items variables of loops stand for."""
    values: dict[str, list[ast.expr]] = {}
    items: dict[str, list[str]] = {}
    for node in every:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    _fill(values, target, value)
            case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                _fill(values, target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                _fill(values, target, value)
            case ast.Call(func=ast.Attribute(value=holder, attr=method), args=[*_, last]) if method in _STORING:
                _fill(values, holder, last)
            case ast.For(target=target, iter=over) | ast.comprehension(target=target, iter=over):
                for name in _names(target):
                    items.setdefault(name, []).extend(_gone_through(over))
                if not isinstance(over, (ast.Name, ast.Attribute)):
                    _fill(values, target, over)
    return values, items


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


def _gone_through(over: ast.expr) -> list[str]:
    """The places that a loop goes through, whatever counts, shortens or shows its progress on the way."""
    match over:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if name in _GOING_THROUGH:
            return [place for each in args for place in _gone_through(each)]
        case _:
            return [place] if (place := place_of(over)) else []


class _Slices:
    """What leads into expressions: the calls of things that the function was given or holds."""

    def __init__(self, values: _Names, own: Set[str]) -> None:
        self._values, self._own = values, own
        self._known: dict[ast.AST, tuple[Sequence[tuple[str, ast.Call]], Sequence[str]]] = {}

    def calls(self, roots: Sequence[ast.AST]) -> Mapping[str, Sequence[ast.Call]]:
        """All calls on the ways into some expressions, by the places of their callees."""
        found: dict[str, list[ast.Call]] = {}
        seen: set[str] = set()
        rest = list(roots)
        while rest:
            calls, places = self._read(rest.pop())
            for callee, node in calls:
                found.setdefault(callee, []).append(node)
            for place in places:
                if place not in seen:
                    seen.add(place)
                    rest += self._values.get(place, ())
        return found

    def _read(self, expression: ast.AST) -> tuple[Sequence[tuple[str, ast.Call]], Sequence[str]]:
        """The calls that stand in an expression itself, and the places that it reads."""
        known = self._known.get(expression)
        if known is None:
            known = self._known[expression] = self._look(expression)
        return known

    def _look(self, expression: ast.AST) -> tuple[Sequence[tuple[str, ast.Call]], Sequence[str]]:
        calls: list[tuple[str, ast.Call]] = []
        places: list[str] = []
        rest = [expression]
        while rest:
            node = rest.pop()
            match node:
                case ast.Call(func=ast.Attribute(attr=method)) if method in _CUTTING:
                    continue
                case ast.Call(func=func) if self._is_own(callee := place_of(func)):
                    calls.append((callee, node))
                    rest += [*node.args, *node.keywords]
                case ast.Call(func=ast.Attribute(value=receiver)):
                    rest += [receiver, *node.args, *node.keywords]
                case ast.Call():
                    rest += [*node.args, *node.keywords]
                case ast.Name() | ast.Attribute():
                    places += [place] if (place := place_of(node)) else []
                    if isinstance(node, ast.Attribute):
                        rest.append(node.value)
                case ast.Lambda() | ast.IfExp():
                    rest += parts(node, ("test", "args"))
                case _:
                    rest += parts(node)
        return calls, places

    def _is_own(self, callee: str) -> bool:
        """Whether a callee is held by the function or its object, not a function of the file or of a library."""
        name, _, attribute = callee.removesuffix("[]").partition(".")
        return name == "self" if attribute else name in self._own
