"""What the classes of a file have to offer: their attributes and methods, and how these may be called."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from gradpath.source.index import contents, inside
from gradpath.source.nodes import nodes, noted
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.lazy_regex import regex


@dataclass(frozen=True, slots=True)
class Profile:
    """The members of a class of the file, with those of its bases in the file.

    `roles` are those of what is only called: a module is a model, and a loss as well if it is called so or compares.
    """

    node: ast.ClassDef
    methods: Mapping[str, ast.FunctionDef | ast.AsyncFunctionDef]
    names: frozenset[str]
    is_module: bool
    roles: tuple[str, ...]


_LOSS = regex(r"(Loss|Criterion)(es)?[A-Z0-9]?$")


def _compares(methods: Mapping[str, ast.FunctionDef | ast.AsyncFunctionDef]) -> bool:
    """True if a module reduces two inputs, and keeps nothing that a call has made but for losses."""
    forward, initialiser = methods.get("forward"), methods.get("__init__")
    if forward is None or len(forward.args.args) - len(forward.args.defaults) != _COMPARED:
        return False
    if not any(_REDUCING.search(ast.unparse(each.func)) for each in contents(forward).calls):
        return False
    made = [] if initialiser is None else [each.value for each in inside(initialiser, ast.Assign)]
    calls = (each for value in made for each in nodes(value) if isinstance(each, ast.Call))
    return all(_LOSS.search(ast.unparse(each.func)) is not None for each in calls)


_COMPARED = 3
"""`self`, and what a loss compares."""

_REDUCING = regex(r"(mean|sum|loss|entropy)$")


@noted
def profiles_of(tree: ast.Module) -> tuple[Profile, ...]:
    """The classes at the top of a file of which all bases are known, and modules that have unseen bases as well."""
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
    is_module = is_open = False
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
                is_open = True
    if is_open and not is_module:
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
    stored = [each for each in contents(node).attributes if isinstance(each.ctx, ast.Store)]
    names.update(each.attr for each in stored if isinstance(each.value, ast.Name) and each.value.id == "self")
    names.update(
        each.args[0].value
        for each in contents(node).calls
        if isinstance(each.func, ast.Attribute)
        and each.func.attr in ("register_buffer", "register_parameter", "add_module")
        and each.args
        and isinstance(each.args[0], ast.Constant)
        and isinstance(each.args[0].value, str)
    )
    roles = ("model", "loss") if is_module and (_LOSS.search(node.name) or _compares(methods)) else ("model",)
    return Profile(node, methods, frozenset(names), is_module, roles if is_module else ("loss",))
