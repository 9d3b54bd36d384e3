"""Walking syntax trees, several times as fast as `ast.walk`: most of what a check looks at is never run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import wraps
from typing import Generic, TypeVar

_LEAVES = frozenset(
    {
        *("ctx", "op", "ops"),  # Without a place and without parts.
        *("asname", "attr", "conversion", "id", "is_async", "kind", "level", "lineno", "module", "n", "name", "rest"),
        *("kwd_attrs", "s", "simple", "str", "tag", "type_comment", "type_ignores"),
    }
)
"""Fields without nodes, or with nodes that are of no interest."""

_GAPPED = frozenset({"keys", "kw_defaults"})
"""Lists with None for a missing node: the key of `{**rest}`, the default of `def f(*, a)`."""


Definition = ast.FunctionDef | ast.AsyncFunctionDef

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
"""The nodes whose bodies have a scope of their own."""


class _Parts(dict[type, tuple[str, ...]]):
    """The fields of each kind of node that contain other nodes, one or a list of them."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        fields: tuple[str, ...] = getattr(kind, "_fields", ())
        self[kind] = found = tuple(each for each in fields if each not in _LEAVES)
        return found


PARTS = _Parts({ast.Constant: (), ast.Global: (), ast.Nonlocal: (), ast.MatchSingleton: (), ast.keyword: ("value",)})
PARTS[ast.arg] = ("annotation",)
"""The fields of each kind of node that contain other nodes."""


def nodes(root: ast.AST, *, outside: tuple[type[ast.AST], ...] = ()) -> list[ast.AST]:
    """The nodes of a tree, level by level as `ast.walk` gives them, without contexts and operators.

    Below nodes of the kinds `outside` nothing is looked at, unless it is the root.
    """
    found: list[ast.AST] = [root]
    add = found.append
    for node in found:
        kind = node.__class__
        if kind in outside and node is not root:
            continue
        for name in PARTS[kind]:
            part = getattr(node, name, None)
            if part.__class__ is list:
                found += part if name not in _GAPPED else [each for each in part if each is not None]
            elif part is not None:
                add(part)
    return found


def parts(node: ast.AST, without: Collection[str] = ()) -> list[ast.AST]:
    """The nodes right below a node, as `nodes` has them, but for those in the fields `without`."""
    found: list[ast.AST] = []
    for name in PARTS[node.__class__]:
        part = None if name in without else getattr(node, name, None)
        if part.__class__ is list:
            found += [each for each in part if each is not None]
        elif part is not None:
            found.append(part)
    return found


BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""The fields in which statements hold others."""


def last_name(node: ast.AST) -> str:
    """The last part of a dotted name (`b` of `a.b`); empty for any other expression."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def place_in_text(node: ast.AST | None) -> tuple[int, int]:
    """The line and the column of a node, which trees of the same text share; zeros for none."""
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Some statements and those in their blocks, in no order."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.stmt):
            yield node
        for field in BLOCKS:
            children = getattr(node, field, None)
            if isinstance(children, list):
                stack += children


N = TypeVar("N", bound=ast.AST)
T = TypeVar("T")


class Noted(Generic[T]):
    """A fact about nodes, kept on the nodes themselves and released with them.

    A dictionary with weak keys would do as well, and takes several times as long. `name` is a unique attribute.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def get(self, node: ast.AST) -> T | None:
        """The fact about a node; None where it is not known."""
        return getattr(node, self._name, None)

    def __setitem__(self, node: ast.AST, value: T) -> None:
        setattr(node, self._name, value)


def noted(find: Callable[[N], T]) -> Callable[[N], T]:
    """Find out something about each node once, whatever paths and checks ask; never None, and of the node alone."""
    name = f"_{find.__module__}.{find.__qualname__}"

    @wraps(find)
    def known(node: N) -> T:
        found: T | None = getattr(node, name, None)
        if found is None:
            found = find(node)
            setattr(node, name, found)
        return found

    return known


def forget_notes(tree: ast.AST) -> None:
    """Forget what was found out about the nodes of a tree that nobody needs any more.

    Many notes lead back to their own node, so that only the garbage collector would find what is left of the tree.
    """
    for node in nodes(tree):
        facts = vars(node)
        while facts and next(reversed(facts))[0] == "_":  # They came after what the parser has set.
            facts.popitem()


@noted
def is_generator(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    """True if the body of a function yields, functions inside it left aside."""
    if isinstance(node, ast.Lambda):
        return False
    kinds = {each.__class__ for each in nodes(ast.Module(node.body, []), outside=SCOPES)}
    return ast.Yield in kinds or ast.YieldFrom in kinds


def is_static(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """True if a method is static, as the `forward` of an `autograd.Function` is."""
    return any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in method.decorator_list)
