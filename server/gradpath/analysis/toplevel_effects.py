"""Which documents need no run of their module body: those whose top level only defines things.

A library's files import names, define classes and functions and set constants. Running that is most of the work that
such a file makes, since it leads into everything that it imports, and no rule can find anything there. What a rule
could speak of at a top level is stated here, and nowhere else: a loop, a block, a write into something, or a call that
leads into code of the project which has to do with tensors.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from gradpath.interpreter.modules import bound_by
from gradpath.names.files import Files
from gradpath.overlays.relevance import is_of_tensors
from gradpath.source.nodes import nodes, noted, parts
from gradpath.support.fast_dataclasses import dataclass

_DEEPEST = 30
"""Definitions that are followed from one to the next; what lies deeper is taken to be worth a run."""

_MOST = 200
"""Definitions that are looked at for one document; with more, it counts as one that does something."""

_CALLING = frozenset({"exec", "eval", "map", "filter", "__import__"})
"""Builtins that run code which is handed to them."""

_HARMLESS = (
    "torch.Size",
    "torch.backends",
    "torch.compile",
    "torch.cuda",
    "torch.device",
    "torch.distributed",
    "torch.finfo",
    "torch.iinfo",
    "torch.is_",
    "torch.jit",
    "torch.library",
    "torch.manual_seed",
    "torch.set_",
)
"""What libraries of tensors offer that makes no tensor."""

Origin = tuple[str, str]
"""Where an imported name comes from: the module as the import writes it, and the name there ("" for the module)."""


def only_defines(files: Files) -> bool:
    """Whether the top level of the checked document holds nothing that a rule could speak of."""
    top = _Top(files)
    return all(top.is_quiet(statement) for statement in files.checked.tree.body)


class _Top:
    """The top level of a document: what its names stand for."""

    def __init__(self, files: Files) -> None:
        tree = files.checked.tree
        self._files = files
        self._origins = dict(origins(tree.body))
        self._plain = _Plain(files)
        self._path = files.path_of(files.checked.document.path)
        self._functions = {each.name for each in tree.body if isinstance(each, _FUNCTIONS)}
        bound = {name for each in tree.body for name in bound_by(each)}
        self._variables = (
            bound
            - self._origins.keys()
            - self._functions
            - {each.name for each in tree.body if isinstance(each, ast.ClassDef)}
        )
        self._own = self._functions | {each.name for each in tree.body if isinstance(each, ast.ClassDef)}

    def is_quiet(self, statement: ast.stmt) -> bool:
        match statement:
            case ast.Import() | ast.ImportFrom() | ast.Pass() | ast.Global():
                return not (isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*")
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                defaults = [*statement.args.defaults, *(each for each in statement.args.kw_defaults if each)]
                return all(map(self._decorates_quietly, statement.decorator_list)) and all(
                    map(self._evaluates_quietly, defaults)
                )
            case ast.ClassDef():
                bases = (*statement.bases, *(each.value for each in statement.keywords))
                around = all(map(self._decorates_quietly, statement.decorator_list))
                return (
                    around
                    and all(map(self._evaluates_quietly, bases))
                    and all(map(self._is_quiet_in_class, statement.body))
                )
            case ast.If():
                inside = (*statement.body, *statement.orelse)
                return self._evaluates_quietly(statement.test) and all(map(self.is_quiet, inside))
            case ast.Try():
                handled = [each for handler in statement.handlers for each in handler.body]
                inside = (*statement.body, *handled, *statement.orelse, *statement.finalbody)
                return all(map(self.is_quiet, inside))
            case ast.Assign() | ast.AnnAssign():
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                value = statement.value
                return all(map(_only_binds, targets)) and (value is None or self._evaluates_quietly(value))
            case ast.AugAssign(target=ast.Name(id="__all__"), value=value) | ast.Expr(value=value):
                return self._evaluates_quietly(value)
            case ast.Assert() | ast.Raise() | ast.Delete():
                return all(self._evaluates_quietly(each) for each in ast.iter_child_nodes(statement))
            case _:
                return False

    def _is_quiet_in_class(self, statement: ast.stmt) -> bool:
        """Whether a statement of a class body is quiet; nobody uses there what an attribute of the class is made of."""
        match statement:
            case ast.Assign(value=ast.expr() as value) | ast.AnnAssign(value=ast.expr() as value):
                return self._evaluates_quietly(value, self._makes_a_record)
            case _:
                return self.is_quiet(statement)

    def _makes_a_record(self, call: ast.Call) -> bool:
        """Whether a call makes an instance of an imported class that only keeps what it is given."""
        if not isinstance(call.func, ast.Name) or call.func.id not in self._origins:
            return False
        module, name = self._origins[call.func.id]
        path = self._files.locate(module, self._files.checked.document.path)
        return path is not None and bool(name) and self._plain.only_keeps(path, name)

    def _decorates_quietly(self, decorator: ast.expr) -> bool:
        """Whether a decorator is another file's: what those do to a function or class is no work on tensors."""
        match decorator:
            case ast.Name(id=name):
                return name not in self._own or self._plain.has(self._path, name)
            case ast.Call(func=function, args=arguments, keywords=keywords):
                given = (*arguments, *(each.value for each in keywords))
                return self._decorates_quietly(function) and all(map(self._evaluates_quietly, given))
            case _:
                return self._evaluates_quietly(decorator)

    def _evaluates_quietly(self, expression: ast.AST, is_known: Callable[[ast.Call], bool] | None = None) -> bool:
        """Whether all calls of an expression are quiet, or known to be."""
        kind = type(expression)
        if kind is ast.Constant or kind is ast.Name or kind is ast.Lambda:
            return True
        calls = (each for each in nodes(expression, outside=(ast.Lambda,)) if isinstance(each, ast.Call))
        return all((is_known is not None and is_known(each)) or self._calls_quietly(each) for each in calls)

    def _calls_quietly(self, call: ast.Call) -> bool:
        names: list[str] = []
        root: ast.expr = call.func
        while not isinstance(root, ast.Name):
            match root:
                case ast.Attribute(value=value, attr=name):
                    names.insert(0, name)
                    root = value
                case ast.Call(func=value) | ast.Subscript(value=value):
                    names.clear()
                    root = value
                case _:
                    return isinstance(root, (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.Set))
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if root.id in self._own:
            return self._plain.has(self._path, root.id) and self._are_plain(given, self._path, root.id)
        if root.id in self._origins:
            return self._is_quiet_import(self._origins[root.id], names, given)
        if root.id in self._variables:
            return self._are_plain(given)
        return root.id not in _CALLING

    def _is_quiet_import(self, origin: Origin, names: Sequence[str], given: Sequence[ast.expr]) -> bool:
        """Whether calling what is imported from there leads into a library, or into code without tensors."""
        module, name = origin
        files = self._files
        path = files.locate(module, files.checked.document.path)
        if path is None:
            dotted = ".".join(part for part in (module, name, *names) if part)
            return not is_of_tensors(module) or dotted.startswith(_HARMLESS)
        for part in (name, *names):
            inner = files.member(path, part) if part else path
            if inner is None:
                return self._plain.has(path, part) and self._are_plain(given, path, part)
            path = inner
        return False

    def _are_plain(self, given: Sequence[ast.expr], path: Path | None = None, name: str = "") -> bool:
        """Whether arguments (of what the module at `path` calls `name`) hold no variable and lead to no tensors.

        A class may be handed to another that only keeps it.
        """
        keeps = path is not None and self._plain.only_keeps(path, name)
        for expression in given:
            for node in nodes(expression):
                if not isinstance(node, ast.Name):
                    continue
                if node.id in self._variables:
                    return False
                is_own = node.id in self._own and not (keeps and node.id not in self._functions)
                if is_own and not self._plain.has(self._path, node.id):
                    return False
                origin = None if keeps else self._origins.get(node.id)
                if origin is not None and not self._plain.leads_to_plain(self._path, origin, ()):
                    return False
        return True


class _Plain:
    """Definitions of other files that have to do with no tensors: neither they nor what they mention."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._seen: dict[tuple[Path, str], bool] = {}
        self._depth = 0

    def has(self, path: Path, name: str) -> bool:
        """Whether the name of the module at `path`, as it has it or re-exports it, is defined without tensors."""
        key = path, name
        if key not in self._seen:
            self._seen[key] = True  # What leads back to itself adds nothing.
            self._depth += 1
            try:
                within = len(self._seen) < _MOST and self._depth < _DEEPEST
                self._seen[key] = within and self._is_plain(path, name)
            finally:
                self._depth -= 1
        return self._seen[key]

    def only_keeps(self, path: Path, name: str) -> bool:
        """Whether a name stands for a class, or for a maker of functions, that does nothing with what it is given."""
        parsed = self._files.parsed(path)
        found = () if parsed is None else definitions(parsed.tree).get(name, ())
        return bool(found) and all(map(_only_keeps, found))

    def _is_plain(self, path: Path, name: str) -> bool:
        parsed = self._files.parsed(path)
        if parsed is None:
            return False
        found = definitions(parsed.tree).get(name, ())
        return (bool(found) or self._is_starred(path, parsed.tree, name)) and all(
            self._is_plain_statement(path, each, name) for each in found
        )

    def _is_starred(self, path: Path, tree: ast.Module, name: str) -> bool:
        """Whether `from module import *` brings something plain under a name."""
        modules = [origin for bound, origin in origins(tree.body) if bound == "*"]
        sources = [self._files.locate(module, self._files.shown(path)) for module, _ in modules]
        return any(source is not None and self.has(source, name) for source in sources)

    def _is_plain_statement(self, path: Path, statement: ast.stmt, name: str) -> bool:
        if isinstance(statement, _IMPORTS):
            return all(self.leads_to_plain(path, origin, ()) for bound, origin in origins([statement]) if bound == name)
        mentioned = _mentions(statement)
        if not all(self.leads_to_plain(path, origin, mentioned.attributes) for origin in mentioned.imports):
            return False
        parsed = self._files.parsed(path)
        known = {} if parsed is None else definitions(parsed.tree)
        for each in sorted(mentioned.names & known.keys()):
            imports = [found for found in known[each] if isinstance(found, _IMPORTS)]
            found = [origin for bound, origin in origins(imports) if bound == each]
            if not all(self.leads_to_plain(path, origin, mentioned.attributes) for origin in found):
                return False
            if len(imports) < len(known[each]) and not self.has(path, each):
                return False
        return True

    def leads_to_plain(self, path: Path, origin: Origin, attributes: Collection[str]) -> bool:
        """Whether an import in the module at `path` brings nothing of tensors, as far as its attributes are read."""
        module, name = origin
        source = self._files.locate(module, self._files.shown(path))
        if source is None:
            return not is_of_tensors(module)
        inner = self._files.member(source, name) if name else source
        if inner is None:
            return self.has(source, name)
        parsed = self._files.parsed(inner)
        known = {} if parsed is None else definitions(parsed.tree)
        return all(self.has(inner, each) for each in attributes if each in known)


def _only_keeps(made: ast.stmt) -> bool:
    """Whether making the instances of a class, or a function, calls nothing but Python's own functions."""
    match made:
        case ast.ClassDef(body=body):
            making = [each for each in body if isinstance(each, _FUNCTIONS) and each.name in _MAKING]
        case ast.FunctionDef():
            making = [made]
        case _:
            return False
    parts = (part for each in making for part in nodes(each, outside=_FUNCTIONS))
    return all(map(_is_pythons, (part.func for part in parts if isinstance(part, ast.Call))))


def _is_pythons(function: ast.expr) -> bool:
    """Whether a call is one of Python's own functions, or of a method that looks into a dict."""
    match function:
        case ast.Name(id=name):
            return name in _PYTHONS - _CALLING
        case ast.Attribute(attr=name):
            return name in _LOOKING
        case _:
            return False


_LOOKING = frozenset({"get", "items", "keys", "values"})
_PYTHONS = frozenset(dir(builtins))
_MAKING = frozenset({"__init__", "__new__", "__post_init__"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _only_binds(target: ast.expr) -> bool:
    """Whether assigning to a target writes into no tensor."""
    match target:
        case ast.Name() | ast.Attribute() | ast.Subscript(slice=ast.Constant(value=str())):
            return True
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return all(map(_only_binds, parts))
        case _:
            return False


def origins(body: Sequence[ast.stmt]) -> Iterator[tuple[str, Origin]]:
    """The names that some statements import, each with where it comes from; "*" for all that a module has."""
    for statement in body:
        match statement:
            case ast.Import():
                for alias in statement.names:
                    first = alias.name.partition(".")[0]
                    yield (alias.asname, (alias.name, "")) if alias.asname else (first, (first, ""))
            case ast.ImportFrom():
                module = "." * statement.level + (statement.module or "")
                yield from ((alias.asname or alias.name, (module, alias.name)) for alias in statement.names)
            case ast.If() | ast.Try():
                yield from origins([each for each in nodes(statement) if isinstance(each, _IMPORTS)])


_IMPORTS = (ast.Import, ast.ImportFrom)


@noted
def definitions(tree: ast.Module) -> Mapping[str, Sequence[ast.stmt]]:
    """The statements of a top level by the names that they bind."""
    found: dict[str, list[ast.stmt]] = {}
    for statement in _open(tree.body):
        for name in bound_by(statement):
            found.setdefault(name, []).append(statement)
    return found


def _open(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, (ast.If, ast.Try, ast.With)):
            handlers = [each for handler in getattr(statement, "handlers", ()) for each in handler.body]
            yield from _open([*statement.body, *getattr(statement, "orelse", ()), *handlers])
        else:
            yield statement


@dataclass(frozen=True, slots=True)
class _Mentioned:
    """The names and attributes that stand in a statement, and what it imports."""

    names: frozenset[str]
    attributes: frozenset[str]
    imports: tuple[Origin, ...]


@noted
def _mentions(statement: ast.stmt) -> _Mentioned:
    executed = _executed(statement)
    return _Mentioned(
        frozenset(each.id for each in executed if isinstance(each, ast.Name)),
        frozenset(each.attr for each in executed if isinstance(each, ast.Attribute)),
        tuple(origin for _, origin in origins([each for each in executed if isinstance(each, _IMPORTS)])),
    )


def _executed(statement: ast.stmt) -> list[ast.AST]:
    """All nodes of a statement but annotations, which nobody evaluates."""
    found: list[ast.AST] = [statement]
    for node in found:
        found += parts(node, _ANNOTATIONS)
    return found


_ANNOTATIONS = ("annotation", "returns")
