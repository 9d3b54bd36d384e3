"""What code does with a parameter, or with the items of one: attributes, calls, and how it calls them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gradpath.interpreter.values import Function
from gradpath.overlays.presumed.places import kept_as, place_of
from gradpath.overlays.torch.nn import MODULE
from gradpath.source.index import contents, inside
from gradpath.source.nodes import Noted, is_static, nodes, noted
from gradpath.support.fast_dataclasses import dataclass, field, replace

_MOST_HELPERS = 12
"""Functions that a parameter is followed into."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The form of a call: arguments by position (None: unknown), keywords, and the number of used `results`."""

    count: int | None
    keywords: frozenset[str]
    results: int | None = None


@dataclass(slots=True)
class Usage:
    """The uses of a place in a function or class: attributes, method calls, and calls of the place itself.

    `is_part` says that it is kept as a part of a network.
    """

    is_part: bool = False
    names: set[str] = field(default_factory=set)
    methods: dict[str, list[Shape]] = field(default_factory=dict)
    calls: list[Shape] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Handed:
    """A function of the file that is handed a variable, and what it calls that; of an initialiser, its `classes`."""

    helper: ast.FunctionDef
    name: str
    classes: tuple[ast.ClassDef, ...] = ()

    @property
    def reads(self) -> tuple[ast.FunctionDef | ast.ClassDef, ...]:
        """The code that may use the variable, or the attribute in which it is kept."""
        return self.classes or (self.helper,)

    @property
    def usage(self) -> Usage:
        """The uses of the variable there, and those of the attribute in which it is kept."""
        if not self.classes:
            return _usages_of(self.helper).get(self.name, Usage())
        used = (usage_of(self.helper, each, self.name, is_module=False) for each in self.classes)
        return _merged(used, is_part=False)


_handed: Noted[dict[tuple[ast.AST, str], Sequence[Handed]]] = Noted("_fitting_handed")


def usage_of_items(body: ast.AST, inside: ast.ClassDef | None, name: str) -> Usage:
    """The uses of what loops take from a parameter, also from the attribute of `self` that it is stored in."""
    places = [(body, name)]
    methods = () if inside is None else [each for each in inside.body if isinstance(each, ast.FunctionDef)]
    places += [(method, kept) for method in methods for kept in kept_as(body, name)]
    return _merged(
        (
            _usages_of(code)[item]
            for code, place in places
            for item in _items_of(code, place)
            if item in _usages_of(code)
        ),
        is_part=False,
    )


def _items_of(code: ast.AST, place: str) -> set[str]:
    """What a piece of code calls the items of a place: `agent` in `for i, agent in enumerate(self.agents)`."""
    loops: list[ast.For | ast.comprehension] = [*inside(code, ast.For), *inside(code, ast.comprehension)]
    found = {name for each in loops for name in _taken_from(each.target, each.iter, place)}
    return {f"{place}[]", *found}


def _taken_from(target: ast.expr, source: ast.expr, place: str) -> Iterator[str]:
    match target, source:
        case ast.Name(id=name), _ if place_of(source) == place:
            yield name
        case ast.Tuple(elts=[_, second]), ast.Call(func=ast.Name(id="enumerate"), args=[within, *_]):
            yield from _taken_from(second, within, place)
        case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=sources):
            for each, within in zip(targets, sources, strict=False):
                yield from _taken_from(each, within, place)


def usage_in(function: Function, name: str, tree: ast.Module) -> Usage:
    """The uses of a parameter in a function, and in the functions of the file to which it is passed on."""
    owner = function.owner
    inside = None if owner is None else owner.node
    own = usage_of(function.node, inside, name, is_module=owner is not None and MODULE in owner.mro)
    handed = [each.usage for each in handed_on(function.node, inside, name, tree)]
    return _merged((own, *handed), is_part=own.is_part)


def handed_on(body: ast.AST, owner: ast.ClassDef | None, name: str, tree: ast.Module) -> Sequence[Handed]:
    """The functions and classes of the file, and methods of the class, that are handed a variable."""
    known = _handed.get(tree)
    if known is None:
        known = _handed[tree] = {}
    if (body, name) not in known:
        functions, methods = _functions_of(tree), {} if owner is None else _functions_of(owner)
        found: list[Handed] = []
        todo = [(body, name)]
        while todo:
            inside, variable = todo.pop()
            for call in contents(inside).calls:
                classes: tuple[ast.ClassDef, ...] = ()
                match call.func:
                    case ast.Name(id=called):
                        classes = _made_by(tree, called)
                        helper = _functions_of(classes[-1])["__init__"] if classes else functions.get(called)
                        skipped = 1 if classes else 0
                    case ast.Attribute(value=ast.Name(id="self"), attr=called):
                        helper = methods.get(called)
                        skipped = 0 if helper is None or is_static(helper) else 1
                    case _:
                        continue
                taken = "" if helper is None else _taken_as(helper, call, variable, skipped)
                if helper is None or not taken or len(found) >= _MOST_HELPERS:
                    continue
                if not any(each.helper is helper and each.name == taken for each in found):
                    found.append(Handed(helper, taken, classes))
                    if not classes:
                        todo.append((helper, taken))
        known[body, name] = found
    return known[body, name]


def _made_by(tree: ast.Module, name: str) -> tuple[ast.ClassDef, ...]:
    """A class of the file and its bases, up to that which has the initialiser; none where that is not in the file."""
    classes, found = _classes_of(tree), list[ast.ClassDef]()
    while (cls := classes.get(name)) is not None and cls not in found:
        found.append(cls)
        if "__init__" in _functions_of(cls):
            return tuple(found)
        name = next((each.id for each in cls.bases if isinstance(each, ast.Name)), "")
    return ()


@noted
def _classes_of(tree: ast.Module) -> Mapping[str, ast.ClassDef]:
    return {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}


@noted
def _functions_of(block: ast.Module | ast.ClassDef) -> Mapping[str, ast.FunctionDef]:
    return {each.name: each for each in block.body if isinstance(each, ast.FunctionDef)}


def _taken_as(helper: ast.FunctionDef, call: ast.Call, variable: str, skipped: int) -> str:
    """The parameter of a function that a call gives a variable for; "" where it gives it for none that is seen.

    The first ones are `skipped`: the `self` of a method.
    """
    places = [each.arg for each in (*helper.args.posonlyargs, *helper.args.args)][skipped:]
    for place, each in zip(places, call.args, strict=False):
        match each:
            case ast.Starred():
                break
            case ast.Name(id=given) if given == variable:
                return place
    given_by_name = (each for each in call.keywords if isinstance(each.value, ast.Name) and each.value.id == variable)
    return next((each.arg for each in given_by_name if each.arg is not None), "")


def usage_of(body: ast.AST, inside: ast.ClassDef | None, name: str, *, is_module: bool) -> Usage:
    """The uses of a parameter, also as the attribute of `self` that it is stored in."""
    usage = _usages_of(body).get(name, Usage())
    if inside is None:
        return usage
    kept = kept_as(body, name)
    every = [usage, *(_usages_of(inside)[place] for place in kept if place in _usages_of(inside))]
    return _merged(every, is_part=bool(kept) and is_module)


def _merged(every: Iterable[Usage], *, is_part: bool) -> Usage:
    merged = Usage(is_part)
    for each in every:
        merged.names |= each.names
        merged.calls += each.calls
        for method, shapes in each.methods.items():
            merged.methods.setdefault(method, []).extend(shapes)
    return merged


@noted
def _usages_of(body: ast.AST) -> dict[str, Usage]:
    found: dict[str, Usage] = {}
    every = nodes(body)
    unpacked, whole = dict(_unpacked(every)), dict(_whole(every))
    used_as_one = _used_as_one(every)
    for node in every:
        match node:
            case ast.Attribute(value=value, attr=name) if place := place_of(value):
                found.setdefault(place, Usage()).names.add(name)
            case ast.Call():
                starred = any(isinstance(each, ast.Starred) for each in node.args)
                keywords = frozenset(each.arg for each in node.keywords if each.arg is not None)
                splat = len(keywords) < len(node.keywords)
                shape = Shape(None if starred or splat else len(node.args), keywords, unpacked.get(id(node)))
                place = place_of(node.func)
                if place:
                    results = shape.results or whole.get(id(node))
                    found.setdefault(place, Usage()).calls.append(replace(shape, results=results))
                if isinstance(node.func, ast.Attribute) and (holder := place_of(node.func.value)):
                    if id(node) in used_as_one:
                        shape = replace(shape, results=1)
                    found.setdefault(holder, Usage()).methods.setdefault(node.func.attr, []).append(shape)
    return found


def _unpacked(every: Sequence[ast.AST]) -> Iterator[tuple[int, int]]:
    """The number of values into which the result of each expression is unpacked, by the id of the expression."""
    for node in every:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=parts), *_], value=value):
                if not any(isinstance(each, ast.Starred) for each in parts):
                    yield id(value), len(parts)


def _whole(every: Sequence[ast.AST]) -> Iterator[tuple[int, int]]:
    """The expressions whose result is handed on or kept as it is, as that of a network is to a loss."""
    taken = {each.value.id for each in every if isinstance(each, ast.Subscript) and isinstance(each.value, ast.Name)}
    taken |= {each.value.id for each in every if isinstance(each, ast.Starred) and isinstance(each.value, ast.Name)}
    for node in every:
        match node:
            case ast.Assign(targets=[ast.Tuple(), *_], value=ast.Name(id=name)):
                taken.add(name)
    for node in every:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in taken:
                yield id(value), 1
            case ast.Call(args=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
                yield from ((id(each), 1) for each in parts)
            case ast.BinOp(left=left, right=right):
                yield from ((id(left), 1), (id(right), 1))


def _used_as_one(every: Sequence[ast.AST]) -> frozenset[int]:
    """The ids of expressions whose result is computed with, or has members: no tuple, which may be logged and kept."""
    used = [part for each in every if isinstance(each, ast.BinOp) for part in (each.left, each.right)]
    used += [each.value for each in every if isinstance(each, ast.Attribute | ast.AugAssign)]
    named = {each.id for each in used if isinstance(each, ast.Name)}
    bound = (each for each in every if isinstance(each, ast.Assign))
    of_names = (each for each in bound if isinstance(each.targets[0], ast.Name) and each.targets[0].id in named)
    return frozenset((*map(id, used), *(id(each.value) for each in of_names)))


def arguments_of(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.arg]:
    """The parameters of a function that have a place."""
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
