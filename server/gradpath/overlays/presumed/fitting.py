"""Parameters without an annotation whose uses only one class of the file fits.

`memory.get(nodes)` and `memory.update(nodes, messages)` are calls of the class that has both methods, and a model that
is called as the only network of a file can be called is that network. What follows from it is presumed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gradpath.interpreter.values import UNDEFINED, Class, Function
from gradpath.overlays.presumed import uses
from gradpath.overlays.presumed.places import place_of
from gradpath.overlays.presumed.presumed_methods import METHODS
from gradpath.overlays.presumed.roles import role_of_name
from gradpath.overlays.torch.nn import MODULE
from gradpath.source.nodes import Noted, nodes, noted
from gradpath.support.fast_dataclasses import dataclass, field
from gradpath.support.lazy_regex import regex

_SHARED = frozenset({*METHODS, *dir(dict), *dir(list), *dir(str), "sample", "step", "close", "push", "write", "log"})
"""Common methods: one of these alone does not identify a class."""

_MOST_HELPERS = 12
"""Functions that a parameter is followed into."""

_OTHER_ROLES = frozenset({"loader", "optimizer"})


_TRAINING = frozenset({"train", "parameters", "named_parameters"})
"""What a function asks of the model that it trains, and not of another that it only calls."""


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
class Profile:
    """The members of a class of the file, with those of its bases in the file."""

    node: ast.ClassDef
    methods: Mapping[str, ast.FunctionDef | ast.AsyncFunctionDef]
    names: frozenset[str]
    is_module: bool

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of what is only called: a module is a model, and a loss as well if it is called so or compares."""
        if not self.is_module:
            return ("loss",)
        return ("model", "loss") if _LOSS.search(self.node.name) or _compares(self) else ("model",)


_LOSS = regex(r"(Loss|Criterion)(es)?[A-Z0-9]?$")


def _compares(profile: Profile) -> bool:
    """True if a module reduces two inputs, and keeps nothing that a call has made but for losses."""
    forward, initialiser = profile.methods.get("forward"), profile.methods.get("__init__")
    if forward is None or len(forward.args.args) - len(forward.args.defaults) != _COMPARED:
        return False
    called = [ast.unparse(each.func) for each in nodes(forward) if isinstance(each, ast.Call)]
    if not any(_REDUCING.search(each) for each in called):
        return False
    made = [] if initialiser is None else [each.value for each in nodes(initialiser) if isinstance(each, ast.Assign)]
    calls = (each for value in made for each in nodes(value) if isinstance(each, ast.Call))
    return all(_LOSS.search(ast.unparse(each.func)) is not None for each in calls)


_COMPARED = 3
"""`self`, and what a loss compares."""

_REDUCING = regex(r"(mean|sum|loss|entropy)$")


_handed: Noted[dict[tuple[ast.AST, str], Sequence[tuple[ast.FunctionDef, str]]]] = Noted("_fitting_handed")


def fitting_class(function: Function, tree: ast.Module, argument: ast.arg) -> Class | None:
    """The only class of the file `tree` that a parameter of a function in it can be an instance of."""
    if function.owner is not None and argument is _arguments(function.node)[0]:
        return None
    profiles = _profiles_of(tree)
    if not profiles:
        return None
    usage = _usage_in(function, argument.arg, tree)
    role = uses.role_of_parameter(function, argument.arg) or role_of_name(argument.arg)
    if role in _OTHER_ROLES:
        return None
    inside = function.owner.node if function.owner is not None else None
    made = _made_in(tree)
    beside = _made_in(inside or function.node)
    found = [
        each
        for each in profiles
        if each.node is not inside
        and each.node.name not in beside  # That is another one.
        and _fits(usage, each, role)
        and (_is_whole(usage, each, role) or each.node.name not in made)  # What the file makes, it calls itself.
    ]
    chosen = _chosen(found, argument.arg)
    if chosen is None or not (_is_telling(usage, chosen, role) or _is_alone(function, chosen, argument, tree)):
        return None
    cls = function.scope.get(chosen.node.name)
    return cls if isinstance(cls, Class) and cls.node is chosen.node else None


def class_of_items(function: Function, tree: ast.Module, argument: ast.arg) -> Class | None:
    """The only class of the file `tree` that the items of a parameter can be instances of: `for agent in agents`."""
    if function.owner is not None and argument is _arguments(function.node)[0]:
        return None
    inside = function.owner.node if function.owner is not None else None
    usage = _usage_of_items(function.node, inside, argument.arg)
    found = [each for each in _profiles_of(tree) if each.node is not inside and _fits(usage, each, "model")]
    chosen = _chosen(found, "")
    if chosen is None or not _is_telling(usage, chosen, "model"):
        return None
    cls = function.scope.get(chosen.node.name)
    return cls if isinstance(cls, Class) and cls.node is chosen.node else None


def _usage_of_items(body: ast.AST, inside: ast.ClassDef | None, name: str) -> Usage:
    """The uses of what loops take from a parameter, also from the attribute of `self` that it is stored in."""
    places = [(body, name)]
    methods = () if inside is None else [each for each in inside.body if isinstance(each, ast.FunctionDef)]
    places += [(method, kept) for method in methods for kept in uses.kept_as(body, name)]
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
    loops = [each for each in nodes(code) if isinstance(each, ast.For | ast.comprehension)]
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


def _is_whole(usage: Usage, profile: Profile, role: str) -> bool:
    """True if something is more than called, or may be a network of which the file makes the parts."""
    return not usage.calls or (profile.is_module and not usage.is_part and role != "loss")


def read_for(function: Function, tree: ast.Module) -> Iterator[ast.AST]:
    """The definitions that the answer depends on: the methods of candidate classes, and the functions that get them."""
    profiles = _profiles_of(tree)
    for each in profiles:
        yield from each.node.body
    if profiles:
        inside = None if function.owner is None else function.owner.node
        handed = (_handed_on(function.node, inside, each.arg, tree) for each in _arguments(function.node))
        yield from (helper for each in handed for helper, _ in each)


def _chosen(found: Sequence[Profile], name: str) -> Profile | None:
    """The class that fits: the one of this name, or the only one that is not a part of another."""
    named = [each for each in found if each.node.name.lower() == name.replace("_", "").lower()]
    if len(named) == 1:
        return named[0]
    made = {made for each in found for made in _made_in(each.node)}
    whole = [each for each in found if each.node.name not in made]
    parts = {id(part) for each in whole for part in whole if part is not each and _takes(each, part)}
    whole = [each for each in whole if id(each) not in parts] or whole
    return whole[0] if len(whole) == 1 else None


def _takes(profile: Profile, part: Profile) -> bool:
    """True if a class is given something that it keeps and calls, and `part` may be that."""
    initialiser = profile.methods.get("__init__")
    if initialiser is None or not profile.is_module:
        return False
    usages = (_usage(initialiser, profile.node, each.arg, is_module=True) for each in _arguments(initialiser)[1:])
    return any(usage.calls and _fits(usage, part, "") for usage in usages)


@noted
def _made_in(node: ast.AST) -> frozenset[str]:
    """The names that a part of the file calls, and those that its classes inherit from."""
    every = nodes(node)
    called = (each.func.id for each in every if isinstance(each, ast.Call) and isinstance(each.func, ast.Name))
    bases = (base for each in every if isinstance(each, ast.ClassDef) for base in each.bases)
    return frozenset((*called, *(base.id for base in bases if isinstance(base, ast.Name))))


def _is_telling(usage: Usage, profile: Profile, role: str) -> bool:
    """True if the uses include a member of the class that is not common."""
    own = [name for name in usage.methods if name in profile.methods]
    rare = [name for name in own if name not in _SHARED and MODULE.find(name) is UNDEFINED]
    return bool(rare) and (len(own) > 1 or role == "model" or not profile.is_module)


def _is_alone(function: Function, profile: Profile, argument: ast.arg, tree: ast.Module) -> bool:
    """True if no other parameter is called like that, or is trained as this one is, so that the class is this one's."""
    is_trained = _is_trained(_usage_in(function, argument.arg, tree))
    for other in _arguments(function.node):
        if other is argument or (function.owner is not None and other is _arguments(function.node)[0]):
            continue
        role = uses.role_of_parameter(function, other.arg) or role_of_name(other.arg)
        usage = _usage_in(function, other.arg, tree)
        if is_trained and not _is_trained(usage):
            continue
        if role not in _OTHER_ROLES and _fits(usage, profile, role):
            return False
    return True


def _is_trained(usage: Usage) -> bool:
    return not usage.names.isdisjoint(_TRAINING)


def _fits(usage: Usage, profile: Profile, role: str) -> bool:
    own = any(name in profile.methods for name in usage.methods)
    if not own and not (usage.calls and (role in profile.roles or usage.is_part)):
        return False
    if any(name not in profile.names and not (profile.is_module and _is_native(name)) for name in usage.names):
        return False
    for name, shapes in usage.methods.items():
        method = profile.methods.get(name)
        if method is not None and not all(_accepts(method, shape) for shape in shapes):
            return False
    method = profile.methods.get("forward" if profile.is_module else "__call__")
    return not usage.calls or (method is not None and all(_accepts(method, shape) for shape in usage.calls))


def _is_native(name: str) -> bool:
    return MODULE.find(name) is not UNDEFINED or name in _NATIVE


_NATIVE = ("training", "forward", "module", "no_sync")
"""What every module has as well, or a wrapper around one."""


def _accepts(method: ast.FunctionDef | ast.AsyncFunctionDef, shape: Shape) -> bool:
    """True if a method can be called like that, and gives as much as is unpacked."""
    given = method.args
    places = [each.arg for each in (*given.posonlyargs, *given.args)][0 if _is_static(method) else 1 :]
    required = places[: len(places) - len(given.defaults)]
    names = {*places, *(each.arg for each in given.kwonlyargs)}
    if shape.keywords - names and given.kwarg is None:
        return False
    if shape.results is not None:
        counts = {_length(each.value) for each in _returns(method)}
        if None not in counts and counts and shape.results not in counts:
            return False
    if shape.count is None:
        return True
    if shape.count > len(places) and given.vararg is None:
        return False
    return all(name in shape.keywords for name in required[shape.count :])


def _length(value: ast.expr | None) -> int | None:
    """The number of values that a `return` of this expression gives, if it is apparent: a computed value is one."""
    match value:
        case ast.Tuple():
            return len(value.elts)
        case ast.BinOp() | ast.UnaryOp():
            return 1
    return None


def _is_static(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in method.decorator_list)


def _returns(method: ast.AST) -> list[ast.Return]:
    return [each for each in nodes(method) if isinstance(each, ast.Return)]


def _usage_in(function: Function, name: str, tree: ast.Module) -> Usage:
    """The uses of a parameter in a function, and in the functions of the file to which it is passed on."""
    owner = function.owner
    inside = None if owner is None else owner.node
    own = _usage(function.node, inside, name, is_module=owner is not None and MODULE in owner.mro)
    handed = [_usages_of(helper).get(taken, Usage()) for helper, taken in _handed_on(function.node, inside, name, tree)]
    return _merged((own, *handed), is_part=own.is_part)


def _handed_on(
    body: ast.AST, owner: ast.ClassDef | None, name: str, tree: ast.Module
) -> Sequence[tuple[ast.FunctionDef, str]]:
    """The functions of the file, and methods of the class, that are handed a variable, and what they call it."""
    known = _handed.get(tree)
    if known is None:
        known = _handed[tree] = {}
    if (body, name) not in known:
        functions, methods = _functions_of(tree), _functions_of(owner)
        found: list[tuple[ast.FunctionDef, str]] = []
        todo = [(body, name)]
        while todo:
            inside, variable = todo.pop()
            for call in (each for each in nodes(inside) if isinstance(each, ast.Call)):
                match call.func:
                    case ast.Name(id=called):
                        helper, skipped = functions.get(called), 0
                    case ast.Attribute(value=ast.Name(id="self"), attr=called):
                        helper = methods.get(called)
                        skipped = 0 if helper is None or _is_static(helper) else 1
                    case _:
                        continue
                taken = "" if helper is None else _taken_as(helper, call, variable, skipped)
                if helper is not None and taken and (helper, taken) not in found and len(found) < _MOST_HELPERS:
                    found.append((helper, taken))
                    todo.append((helper, taken))
        known[body, name] = found
    return known[body, name]


def _functions_of(block: ast.Module | ast.ClassDef | None) -> dict[str, ast.FunctionDef]:
    return {} if block is None else {each.name: each for each in block.body if isinstance(each, ast.FunctionDef)}


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


def _usage(body: ast.AST, inside: ast.ClassDef | None, name: str, *, is_module: bool) -> Usage:
    """The uses of a parameter, also as the attribute of `self` that it is stored in."""
    usage = _usages_of(body).get(name, Usage())
    if inside is None:
        return usage
    kept = uses.kept_as(body, name)
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
    unpacked = dict(_results(every))
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
                    found.setdefault(place, Usage()).calls.append(shape)
                if isinstance(node.func, ast.Attribute) and (holder := place_of(node.func.value)):
                    found.setdefault(holder, Usage()).methods.setdefault(node.func.attr, []).append(shape)
    return found


def _results(every: Sequence[ast.AST]) -> Iterator[tuple[int, int]]:
    """The number of values into which the result of each expression is unpacked, by the id of the expression."""
    taken = {each.value.id for each in every if isinstance(each, ast.Subscript) and isinstance(each.value, ast.Name)}
    taken |= {each.value.id for each in every if isinstance(each, ast.Starred) and isinstance(each.value, ast.Name)}
    for node in every:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=parts), *_], value=value):
                if isinstance(value, ast.Name):
                    taken.add(value.id)
                if not any(isinstance(each, ast.Starred) for each in parts):
                    yield id(value), len(parts)
    for node in every:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in taken:
                yield id(value), 1
            case ast.Call(args=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
                yield from ((id(each), 1) for each in parts)
            case ast.BinOp(left=left, right=right):
                yield from ((id(left), 1), (id(right), 1))


@noted
def _profiles_of(tree: ast.Module) -> tuple[Profile, ...]:
    """The classes at the top of a file of which all bases are known."""
    made: dict[str, Profile] = {}
    for each in tree.body:
        if isinstance(each, ast.ClassDef):
            profile = _profile(each, made)
            made.pop(each.name, None)
            if profile is not None:
                made[each.name] = profile
    return tuple(made.values())


def _profile(node: ast.ClassDef, made: Mapping[str, Profile]) -> Profile | None:
    methods: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
    names: set[str] = set()
    is_module = False
    for base in node.bases:
        match base:
            case ast.Name(id=name) if name in made:
                methods.update(made[name].methods)
                names |= made[name].names
                is_module = is_module or made[name].is_module
            case ast.Name(id="Module") | ast.Attribute(attr="Module"):
                is_module = True
            case ast.Name(id="object"):
                pass
            case _:
                return None
    for each in node.body:
        match each:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
                if not any(isinstance(one, ast.Name) and one.id == "property" for one in each.decorator_list):
                    methods[name] = each
            case ast.Assign(targets=targets):
                names.update(one.id for one in targets if isinstance(one, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
    stored = [each for each in nodes(node) if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)]
    names.update(each.attr for each in stored if isinstance(each.value, ast.Name) and each.value.id == "self")
    registered = [each for each in nodes(node) if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)]
    names.update(
        each.args[0].value
        for each in registered
        if isinstance(each.func, ast.Attribute)
        and each.func.attr in ("register_buffer", "register_parameter", "add_module")
        and each.args
        and isinstance(each.args[0], ast.Constant)
        and isinstance(each.args[0].value, str)
    )
    return Profile(node, methods, frozenset(names), is_module)


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
