"""Parameters without an annotation whose uses only one class of the file fits.

`memory.get(nodes)` and `memory.update(nodes, messages)` are calls of the class that has both methods, and a model that
is called as the only network of a file can be called is that network. What follows from it is presumed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.interpreter.values import UNDEFINED, Class, Function
from gradpath.overlays.presumed import uses
from gradpath.overlays.presumed.parameter_uses import (
    Shape,
    Usage,
    arguments_of,
    handed_on,
    usage_in,
    usage_of,
    usage_of_items,
)
from gradpath.overlays.presumed.presumed_methods import METHODS
from gradpath.overlays.presumed.profiles import Profile, profiles_of
from gradpath.overlays.presumed.roles import role_of_name
from gradpath.overlays.torch.nn import MODULE
from gradpath.source.index import contents, inside
from gradpath.source.nodes import is_static, nodes, noted

_SHARED = frozenset({*METHODS, *dir(dict), *dir(list), *dir(str), "sample", "step", "close", "push", "write", "log"})
"""Common methods: one of these alone does not identify a class."""

_OTHER_ROLES = frozenset({"loader", "optimizer"})

_TRAINING = frozenset({"train", "parameters", "named_parameters"})
"""What a function asks of the model that it trains, and not of another that it only calls."""


def fitting_class(function: Function, tree: ast.Module, argument: ast.arg) -> Class | None:
    """The only class of the file `tree` that a parameter of a function in it can be an instance of."""
    if function.owner is not None and argument is arguments_of(function.node)[0]:
        return None
    profiles = profiles_of(tree)
    if not profiles:
        return None
    usage = usage_in(function, argument.arg, tree)
    role = uses.role_of_parameter(function, argument.arg) or role_of_name(argument.arg)
    if role in _OTHER_ROLES:
        return None
    inside = function.owner.node if function.owner is not None else None
    made = _made_in(tree)
    handed = handed_on(function.node, inside, argument.arg, tree)
    beside = _made_in(inside or function.node).union(*(_made_in(code) for each in handed for code in each.reads))
    found = [
        each
        for each in profiles
        if each.node is not inside
        and each.node.name not in beside  # That is another one.
        and not (each.is_module and function.name in _made_in(each.node))  # It hands over what it has itself.
        and _fits(usage, each, "loss" if _is_kind_of(argument.arg, each) else role)
        and (_is_whole(usage, each, role) or each.node.name not in made)  # What the file makes, it calls itself.
    ]
    chosen = _chosen(found, argument.arg)
    if chosen is None or not (_is_telling(usage, chosen, role) or _is_alone(function, chosen, argument, tree)):
        return None
    cls = function.scope.get(chosen.node.name)
    return cls if isinstance(cls, Class) and cls.node is chosen.node else None


def class_of_items(function: Function, tree: ast.Module, argument: ast.arg) -> Class | None:
    """The only class of the file `tree` that the items of a parameter can be instances of: `for agent in agents`."""
    if function.owner is not None and argument is arguments_of(function.node)[0]:
        return None
    inside = function.owner.node if function.owner is not None else None
    usage = usage_of_items(function.node, inside, argument.arg)
    found = [each for each in profiles_of(tree) if each.node is not inside and _fits(usage, each, "model")]
    chosen = _chosen(found, "")
    if chosen is None or not _is_telling(usage, chosen, "model"):
        return None
    cls = function.scope.get(chosen.node.name)
    return cls if isinstance(cls, Class) and cls.node is chosen.node else None


def is_used_by_its_methods(function: Function, tree: ast.Module, argument: ast.arg, cls: Class) -> bool:
    """True if all that a function does with a parameter is what a class of the file `tree` has methods for."""
    usage = usage_in(function, argument.arg, tree)
    return not usage.calls and any(each.node is cls.node and _fits(usage, each, "model") for each in profiles_of(tree))


def _is_whole(usage: Usage, profile: Profile, role: str) -> bool:
    """True if something is more than called, or may be a network of which the file makes the parts."""
    return not usage.calls or (profile.is_module and not usage.is_part and role != "loss")


def read_for(function: Function, tree: ast.Module) -> Iterator[ast.AST]:
    """The definitions that the answer depends on: the methods of candidate classes, and the functions that get them."""
    if profiles_of(tree):
        yield from _in_profiles(tree)
        inside = None if function.owner is None else function.owner.node
        handed = (handed_on(function.node, inside, each.arg, tree) for each in arguments_of(function.node))
        yield from (code for every in handed for each in every for code in each.reads)


@noted
def _in_profiles(tree: ast.Module) -> Sequence[ast.stmt]:
    """What is defined in the candidate classes of a file."""
    return [statement for each in profiles_of(tree) for statement in each.node.body]


def _chosen(found: Sequence[Profile], name: str) -> Profile | None:
    """The class that fits: the one of this name or with it in its own, or the only one that is no part of another."""
    same = [each for each in found if each.node.name.lower() == name.replace("_", "").lower()]
    for named in (same, [each for each in found if _is_in_name(name, each)]):
        if len(named) == 1:
            return named[0]
    made = {made for each in found for made in _made_in(each.node)}
    whole = [each for each in found if each.node.name not in made]
    taken = [(each, usage) for each in whole for usage in _taken(each)]
    parts = {id(part) for each, usage in taken for part in whole if part is not each and _fits(usage, part, "")}
    whole = [each for each in whole if id(each) not in parts] or whole
    return whole[0] if len(whole) == 1 else None


def _taken(profile: Profile) -> list[Usage]:
    """The uses of what a class is given, and keeps and calls: a part of it."""
    initialiser = profile.methods.get("__init__")
    if initialiser is None or not profile.is_module:
        return []
    usages = (usage_of(initialiser, profile.node, each.arg, is_module=True) for each in arguments_of(initialiser)[1:])
    return [usage for usage in usages if usage.calls]


@noted
def _made_in(node: ast.AST) -> frozenset[str]:
    """The names that a part of the file calls, and those that its classes inherit from."""
    called = (each.func.id for each in contents(node).calls if isinstance(each.func, ast.Name))
    bases = (base for each in inside(node, ast.ClassDef) for base in each.bases)
    return frozenset((*called, *(base.id for base in bases if isinstance(base, ast.Name))))


def _is_telling(usage: Usage, profile: Profile, role: str) -> bool:
    """True if the uses include a member of the class that is not common."""
    own = [name for name in usage.methods if name in profile.methods and name != "forward"]
    rare = [name for name in own if name not in _SHARED and MODULE.find(name) is UNDEFINED]
    return bool(rare) and (len(own) > 1 or role == "model" or not profile.is_module)


def _is_alone(function: Function, profile: Profile, argument: ast.arg, tree: ast.Module) -> bool:
    """True if no other parameter is called like that, or is trained as this one is, so that the class is this one's.

    Of several the class is that of the one whose name is in its own: a `Generator3D` is the `generator`.
    """
    is_trained = _is_trained(usage_in(function, argument.arg, tree))
    is_named = _is_in_name(argument.arg, profile)
    for other in arguments_of(function.node):
        if other is argument or (function.owner is not None and other is arguments_of(function.node)[0]):
            continue
        role = uses.role_of_parameter(function, other.arg) or role_of_name(other.arg)
        usage = usage_in(function, other.arg, tree)
        is_named_too = _is_in_name(other.arg, profile)
        if is_named > is_named_too or (is_named == is_named_too and is_trained and not _is_trained(usage)):
            continue
        if role not in _OTHER_ROLES and _fits(usage, profile, role):
            return False
    return True


def _is_in_name(parameter: str, profile: Profile) -> bool:
    """True if the name of a class has that of a parameter in it; one of a letter or two says nothing."""
    name = parameter.replace("_", "").rstrip("0123456789").lower()
    return len(name) >= _TELLING and name in profile.node.name.lower()


def _is_kind_of(parameter: str, profile: Profile) -> bool:
    """True if a class is no module, and its name ends with that of a parameter: a `MaskedActor` is an `actor`."""
    name = parameter.replace("_", "").lower()
    return not profile.is_module and len(name) >= _TELLING and profile.node.name.lower().endswith(name)


_TELLING = 3
"""Letters in the name of a parameter that says what it is."""


def _is_trained(usage: Usage) -> bool:
    return not usage.names.isdisjoint(_TRAINING)


def _fits(usage: Usage, profile: Profile, role: str) -> bool:
    own = any(name in profile.methods and name != "forward" for name in usage.methods)  # That is to call it.
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
    places = [each.arg for each in (*given.posonlyargs, *given.args)][0 if is_static(method) else 1 :]
    required = places[: len(places) - len(given.defaults)]
    names = {*places, *(each.arg for each in given.kwonlyargs)}
    if shape.keywords - names and given.kwarg is None:
        return False
    if shape.results is not None:
        counts = _returned(method)
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


@noted
def _returned(method: ast.AST) -> frozenset[int | None]:
    """The numbers of values that the `return`s of a method give."""
    return frozenset(_length(each.value) for each in nodes(method) if isinstance(each, ast.Return))
