"""Modules of the program in other files: each definition is evaluated when it is first used.

Importing a module runs nothing yet. The first time that a name is asked of it, its top level is run; but a statement
that only defines a name (a class, a function, an import, a variable) waits until that name is asked for, and so does
`from module import *` for the names that the other module offers. So the cost of a check depends on what it uses, not
on what it could reach. Loops at the top level are left out, a statement that raises is skipped (it is that file's own
fault), and undecided branches go the likelier way.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from gradpath.autograd.errors import AutogradError
from gradpath.interpreter.bounds import TOO_MUCH
from gradpath.interpreter.budget import Exhausted
from gradpath.interpreter.containers import List
from gradpath.interpreter.endings import Raised
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Member
from gradpath.interpreter.paths import Path
from gradpath.interpreter.scope import Deferred, Frame, Scope
from gradpath.interpreter.values import UNDEFINED, Object, Value
from gradpath.source.nodes import nodes, noted, parts
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.lazy_regex import regex

STEPS = 10_000
"""Statements that all imports of one path may execute together."""

_PYTHONS = frozenset(dir(builtins))

_REGISTERS = regex("regist", re.IGNORECASE)
"""Calls with a side effect, such as registration: a definition with one is run in order."""


@dataclass(slots=True)
class Allowance:
    """The remaining steps for the imports of one path; `active` while one of them runs."""

    steps: float = STEPS
    active: bool = False


class Module(Object):
    """A module of the program, whose file is shown as `path`.

    `read` gives its tree when it is needed, `member` the modules in a package (or `UNDEFINED`), and `is_opaque` says
    which definitions are not to be followed.
    """

    __slots__ = ("_allowance", "_is_opaque", "_late", "_loaded", "_read", "_stars", "member", "name", "path", "scope")
    kind_name = "module"

    def __init__(
        self,
        name: str,
        path: str,
        read: Callable[[], ast.Module],
        is_opaque: Callable[[ast.stmt], bool],
        member: Callable[[Machine, str], Value],
        allowance: Allowance,
        scope: Scope | None = None,
    ) -> None:
        self.name = name
        self.path = path
        self.member = member
        self.scope = Scope() if scope is None else scope
        self._read = read
        self._is_opaque = is_opaque
        self._allowance = allowance
        self._late: dict[str, tuple[ast.stmt, ...]] = {}
        self._stars: list[ast.ImportFrom] = []
        self._loaded = scope is not None
        """Whether the top level has been run, or is being run further up; a scope passed in is filled by its owner."""

    def decision_key(self) -> object:
        return ("module", self.path)

    def attribute(self, machine: Machine, name: str) -> Value:
        self.load(machine)
        value = self.scope.get(name)
        if value is UNDEFINED:
            value = self.member(machine, name)
        if value is not UNDEFINED:
            return value
        return self._unknown(machine, "name that its module does not define", name)

    def _unknown(self, machine: Machine, cause: str, name: str) -> Value:
        return machine.unknown_from(Member(self.path, name, cause), ("member", self.path, name))

    def set_attribute(self, machine: Machine, name: str, value: Value) -> None:
        self.load(machine)
        self.scope.set(name, value)

    def late(self, machine: Machine, name: str) -> Deferred:
        """A name of the module that is not asked for before it is used."""
        return Deferred(lambda: self.attribute(machine, name))

    def star(self, machine: Machine) -> dict[str, Value]:
        """The names that `from module import *` imports, with their values."""
        self.load(machine)
        names = self._listed()
        if names is None:
            for module in self._starred(machine):
                self.scope.variables |= {**module.star(machine), **self.scope.variables}
            names = [each for each in {**self._late, **self.scope.variables} if not each.startswith("_")]
        variables = self.scope.variables
        return {name: variables[name] if name in variables else self.late(machine, name) for name in names}

    def _listed(self) -> list[str] | None:
        """The names in `__all__`, as far as they are known; None where there is none."""
        listed = self.scope.own("__all__")
        if isinstance(listed, List):
            listed = tuple(listed.items)
        return [each for each in listed if isinstance(each, str)] if isinstance(listed, tuple) else None

    def _offers(self, machine: Machine, name: str, asked: tuple[Module, ...]) -> bool:
        """True if `from module import *` brings a name; `asked` are the modules that wait for the answer."""
        self.load(machine)
        names = self._listed()
        if names is not None:
            return name in names
        if name.startswith("_"):
            return False
        own = name in self._late or name in self.scope.variables
        return own or self._source(machine, name, (*asked, self)) is not None

    def _source(self, machine: Machine, name: str, asked: tuple[Module, ...] = ()) -> Module | None:
        """The module that a name comes from by `from module import *`."""
        for module in self._starred(machine) if self._stars else ():
            if module not in asked and module._offers(machine, name, asked):
                return module
        return None

    def _starred(self, machine: Machine) -> Iterator[Module]:
        """The modules of which this one imports `*`, the last one first."""
        for statement in reversed(self._stars):
            with self._entered(machine):
                found = machine.library.module(machine, "." * statement.level + (statement.module or ""))
            if isinstance(found, Module):
                yield found

    def load(self, machine: Machine) -> None:
        """Run what the top level does at once, unless that has been done or is under way further up."""
        if self._loaded:
            return
        self._loaded = True
        outline = outline_of(self._read())
        self._late = dict(outline.late)
        self._stars = list(outline.stars)
        self.scope.variables.update({"__name__": self.name, "__file__": self.path})
        self.scope.missing = lambda name: self._define(machine, name)
        if not outline.now:
            return
        with self._entered(machine):
            for statement in outline.now:
                try:
                    _drain(machine, statement)
                except (Raised, AutogradError):
                    del machine.frame.loops[:]
                except (Exhausted, *TOO_MUCH):
                    return

    def _define(self, machine: Machine, name: str) -> Value:
        """Run the statements that define a name, whose turn has come."""
        statements = self._late.pop(name, ())
        if not statements:
            return self._from_stars(machine, name)
        if self._is_opaque(statements[-1]):
            self.scope.variables[name] = made = self._unknown(machine, "function that is not followed", name)
            return made
        with self._entered(machine):
            try:
                for statement in statements:
                    _drain(machine, statement)
            except (Raised, AutogradError, Exhausted, *TOO_MUCH):
                return UNDEFINED
        return self.scope.own(name)

    def _from_stars(self, machine: Machine, name: str) -> Value:
        """A name that `from module import *` brings.

        The names of Python's own functions, of what it sets itself, and of the modules in a package are not looked for:
        they are asked for all the time, and hardly ever come that way.
        """
        if not self._stars or name in _PYTHONS or name.startswith("__") or self.member(machine, name) is not UNDEFINED:
            return UNDEFINED
        source = self._source(machine, name, (self,))
        if source is None:
            return UNDEFINED
        self.scope.variables[name] = found = source.attribute(machine, name)
        return found

    @contextmanager
    def _entered(self, machine: Machine) -> Iterator[None]:
        """Let the machine run this module's top level as if it had been imported before all else."""
        budget, allowance = machine.budget, self._allowance
        before = machine.frame, machine.node, machine.path, budget.steps, allowance.active
        around = budget.apart()
        frame = Frame(self.path, self.scope)
        frame.depth = machine.frame.depth + 1
        machine.frame = frame
        if not allowance.active:
            machine.path, budget.steps, allowance.active = Path(), allowance.steps, True
        try:
            with machine.autograd.mode(grad=True, inference=False), machine.beforehand():
                yield
        finally:
            if not before[4]:
                allowance.steps = budget.steps
                machine.path, budget.steps = before[2], before[3]
            budget.end(around)
            machine.frame, machine.node, allowance.active = before[0], before[1], before[4]


def _drain(machine: Machine, statement: ast.stmt) -> None:
    for _ in machine.run_block([statement]):
        pass


@dataclass(frozen=True, slots=True)
class Outline:
    """The statements that an import runs at once, in order, and those that wait until their name is asked for."""

    now: tuple[ast.stmt, ...]
    stars: tuple[ast.ImportFrom, ...]
    late: Mapping[str, tuple[ast.stmt, ...]]


@noted
def outline_of(tree: ast.Module) -> Outline:
    """The outline of a module."""
    statements = [(statement, _waits_for(statement)) for statement in _statements(tree.body)]
    urgent = _urgent(statements)
    announced = _announced(tree.body)
    now: list[ast.stmt] = []
    stars: list[ast.ImportFrom] = []
    late: dict[str, tuple[ast.stmt, ...]] = {}
    for statement, name in statements:
        if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
            stars.append(statement)
        elif (
            not name
            or name in urgent
            or name in announced
            or (urgent and not urgent.isdisjoint(_read_at_once(statement)))
        ):
            now.append(statement)
        else:
            late[name] = (*late.get(name, ()), statement)
    return Outline(tuple(now), tuple(stars), late)


def _announced(body: Sequence[ast.stmt]) -> set[str]:
    """The classes of which a metaclass, or a base with an `__init_subclass__`, hears at once and may keep a list."""
    found: set[str] = set()
    for each in body:
        if isinstance(each, ast.ClassDef):
            metaclasses = [keyword.value for keyword in each.keywords if keyword.arg == "metaclass"]
            hears = any(getattr(part, "name", "") == "__init_subclass__" for part in each.body)
            inherits = any(isinstance(base, ast.Name) and base.id in found for base in each.bases)
            if hears or inherits or any(getattr(meta, "id", "") not in ("", "ABCMeta") for meta in metaclasses):
                found.add(each.name)
    return found


def _urgent(statements: Sequence[tuple[ast.stmt, str]]) -> set[str]:
    """The names that change their meaning while the top level runs, so that who reads one has to run in its place.

    Where only definitions of a name itself read it (`f = wrapped(f)`), they can wait together. `statements` come with
    the names for which they can wait.
    """
    bound = Counter(name for statement, _ in statements for name in bound_by(statement))
    rebound = {name for name, count in bound.items() if count > 1}
    if not rebound:
        return rebound
    urgent: set[str] = set()
    reads = [(name, set(bound_by(statement)), _read_at_once(statement)) for statement, name in statements]
    more = True
    while more:
        more = False
        for name, binds, read in reads:
            lost = binds if not name or not urgent.isdisjoint(read) else set[str]()
            found = ((read - {name}) | lost) & rebound - urgent
            more = more or bool(found)
            urgent |= found
    return urgent


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module that an import runs, with one import statement for each imported name.

    Loops are left out. Imports under TYPE_CHECKING count as well: packages that load their modules lazily say only
    there where their names come from.
    """
    for statement in body:
        match statement:
            case _ if is_left_out(statement):
                continue
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()])):
                yield from _statements(statement.orelse)
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                imports = [each for each in statement.body if isinstance(each, (ast.Import, ast.ImportFrom))]
                yield from _statements([*imports, *statement.orelse])
            case ast.Import():
                yield from (ast.copy_location(ast.Import([alias]), statement) for alias in statement.names)
            case ast.ImportFrom():
                for alias in statement.names:
                    single = ast.ImportFrom(statement.module, [alias], statement.level)
                    yield ast.copy_location(single, statement)
            case _:
                yield statement


def is_left_out(statement: ast.stmt) -> bool:
    """True for a loop at the top level, and for what is done only where the file is the program."""
    match statement:
        case ast.For() | ast.AsyncFor() | ast.While():
            return True
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()]), orelse=[]):
            return True
    return False


def bound_by(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of the top level binds, those inside of `if`, `try` and `with` included.

    `import a.b` only adds to what `import a` binds, and does not count.
    """
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield statement.name
        case ast.Import() | ast.ImportFrom():
            for alias in statement.names:
                if alias.asname is not None or isinstance(statement, ast.ImportFrom) or "." not in alias.name:
                    yield alias.asname or alias.name
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            yield from (node.id for target in targets for node in nodes(target) if isinstance(node, ast.Name))
        case ast.AugAssign(target=ast.Name(id=name)) | ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.If() | ast.Try() | ast.With():
            for child in ast.iter_child_nodes(statement):
                if isinstance(child, ast.stmt):
                    yield from bound_by(child)
                elif isinstance(child, ast.ExceptHandler):
                    for inner in child.body:
                        yield from bound_by(inner)


def _waits_for(statement: ast.stmt) -> str:
    """The name that a statement defines and can wait for; "" where it has to run in its place."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            name = statement.name
            does: list[ast.expr] = statement.decorator_list
        case ast.Import(names=[alias]):
            return alias.asname or alias.name.partition(".")[0]
        case ast.ImportFrom(names=[alias]):
            name, does = "" if alias.name == "*" else alias.asname or alias.name, []
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value)
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
        ):
            does = [value.func] if isinstance(value, ast.Call) else []
        case _:
            return ""
    return "" if any(_REGISTERS.search(ast.dump(each)) for each in does) else name


def _read_at_once(statement: ast.stmt) -> set[str]:
    """The names that a statement reads when it runs, those inside of functions that it makes left aside."""
    found: set[str] = set()
    todo: list[ast.AST] = [statement]
    for node in todo:
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            todo += [*node.decorator_list, *node.args.defaults, *(each for each in node.args.kw_defaults if each)]
        elif isinstance(node, ast.Lambda):
            todo += [*node.args.defaults, *(each for each in node.args.kw_defaults if each)]
        else:
            todo += parts(node)
    return found
