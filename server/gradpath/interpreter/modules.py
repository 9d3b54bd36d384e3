"""Modules of the program in other files: what they define is worked out when it is first used.

Importing a module runs nothing yet. The first time that a name is asked of it, its top level is run; classes and
functions are passed over then and defined in their turn when somebody asks for them. So a check costs what it uses, not
what it could reach. Loops at the top level are left out, a statement that raises is skipped (it is that file's own
fault), and undecided branches go the likelier way.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from weakref import WeakKeyDictionary

from gradpath.autograd.errors import AutogradError
from gradpath.interpreter.containers import List
from gradpath.interpreter.machine import Cancelled, Exhausted, Machine, Raised
from gradpath.interpreter.paths import Path
from gradpath.interpreter.scope import Deferred, Frame, Scope
from gradpath.interpreter.values import UNDEFINED, Object, Unknown, Value

STEPS = 10_000
"""Statements that all imports of one path may execute together."""

_REGISTERS = re.compile("regist", re.IGNORECASE)
"""Decorators that leave a trace where they are applied, so that what they decorate is defined in its place."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(slots=True)
class Allowance:
    """What is left for the imports of one path; `active` while one of them runs."""

    steps: int = STEPS
    active: bool = False


class Module(Object):
    """A module of the program, whose file is shown as `path`.

    `read` gives its tree when it is needed; `member` the modules in a package, or `UNDEFINED`.
    """

    __slots__ = ("_allowance", "_loaded", "_read", "member", "name", "path", "scope")

    def __init__(
        self,
        name: str,
        path: str,
        read: Callable[[], ast.Module],
        member: Callable[[Machine, str], Value],
        allowance: Allowance,
        scope: Scope | None = None,
    ) -> None:
        self.name = name
        self.path = path
        self.member = member
        self.scope = Scope() if scope is None else scope
        self._read = read
        self._allowance = allowance
        self._loaded = scope is not None
        """Whether the top level has been run, or is being run further up; a given scope is filled by somebody else."""

    def type_name(self) -> str:
        return "module"

    def decision_key(self) -> object:
        return ("module", self.path)

    def attribute(self, machine: Machine, name: str) -> Value:
        self.load(machine)
        value = self.scope.get(name)
        if value is UNDEFINED:
            value = self.member(machine, name)
        if value is not UNDEFINED:
            return value
        made = machine.unknown("name that its module does not define", ("member", self.path, name))
        if isinstance(made, Unknown):
            made.name = name
        return made

    def set_attribute(self, machine: Machine, name: str, value: Value) -> None:
        self.load(machine)
        self.scope.set(name, value)

    def late(self, machine: Machine, name: str) -> Deferred:
        """A name of the module that is not asked for before it is used."""
        return Deferred(lambda: self.attribute(machine, name))

    def star(self, machine: Machine) -> dict[str, Value]:
        """What `from module import *` brings."""
        self.load(machine)
        variables = self.scope.variables
        listed = self.scope.get("__all__")
        if isinstance(listed, (List, tuple)):
            names = [each for each in (listed if isinstance(listed, tuple) else listed.items) if isinstance(each, str)]
            return {name: variables[name] if name in variables else self.late(machine, name) for name in names}
        return {name: value for name, value in variables.items() if not name.startswith("_")}

    def load(self, machine: Machine) -> None:
        """Run the top level, unless it has been run; where modules import each other, what is there by then counts."""
        if self._loaded:
            return
        self._loaded = True
        variables = self.scope.variables
        variables["__name__"] = self.name
        variables["__file__"] = self.path
        with self._entered(machine):
            for part in outline(self._read()):
                if part.late and part.name not in variables:
                    variables[part.name] = Deferred(partial(self._define, machine, part))
                    continue
                try:
                    _drain(machine, part.statement)
                except (Raised, AutogradError):
                    del machine.frame.loops[:]
                except (Exhausted, RecursionError):
                    return

    def _define(self, machine: Machine, part: Part) -> Value:
        """Make a class or function whose turn has come."""
        with self._entered(machine):
            try:
                _drain(machine, part.statement)
            except (Raised, AutogradError, Exhausted, RecursionError):
                return UNDEFINED
        made = self.scope.variables.get(part.name, UNDEFINED)
        return UNDEFINED if isinstance(made, Deferred) else made

    @contextmanager
    def _entered(self, machine: Machine) -> Iterator[None]:
        """Let the machine run this module's top level as if it had been imported before all else."""
        if machine.stopped():
            raise Cancelled
        allowance = self._allowance
        before = machine.frame, machine.node, machine.path, machine.steps, allowance.active
        frame = Frame(self.path, self.scope)
        frame.depth = machine.frame.depth + 1
        machine.frame = frame
        if not allowance.active:
            machine.path, machine.steps, allowance.active = Path(), allowance.steps, True
        try:
            with machine.autograd.mode(grad=True, inference=False):
                yield
        finally:
            if not before[4]:
                allowance.steps = machine.steps
                machine.path, machine.steps = before[2], before[3]
            machine.frame, machine.node, allowance.active = before[0], before[1], before[4]


def _drain(machine: Machine, statement: ast.stmt) -> None:
    for _ in machine.run_block([statement]):
        pass


@dataclass(frozen=True, slots=True)
class Part:
    """A statement of a module's top level. `late` says that it only defines `name` and can wait."""

    statement: ast.stmt
    name: str = ""
    late: bool = False


_outlines: WeakKeyDictionary[ast.Module, tuple[Part, ...]] = WeakKeyDictionary()


def outline(tree: ast.Module) -> tuple[Part, ...]:
    """What an import of a module runs, in order; each tree is looked through once."""
    known = _outlines.get(tree)
    if known is None:
        statements = list(_statements(tree.body))
        bound = Counter(name for statement in statements for name in _bound_by(statement))
        rebound = frozenset(name for name, count in bound.items() if count > 1)
        known = _outlines[tree] = tuple(_part(statement, rebound) for statement in statements)
    return known


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a top level without loops; what stands there for type checkers only counts as well.

    Packages that load their modules late say there, and nowhere else, where their names come from.
    """
    for statement in body:
        match statement:
            case ast.For() | ast.AsyncFor() | ast.While():
                continue
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                yield from (each for each in statement.body if isinstance(each, (ast.Import, ast.ImportFrom)))
                yield from _statements(statement.orelse)
            case _:
                yield statement


def _bound_by(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of the top level binds, those inside of `if`, `try` and `with` included."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield statement.name
        case ast.Import() | ast.ImportFrom():
            yield from (alias.asname or alias.name.partition(".")[0] for alias in statement.names)
        case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Delete():
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                    yield node.id
        case ast.If() | ast.Try() | ast.With():
            for child in ast.iter_child_nodes(statement):
                if isinstance(child, ast.stmt):
                    yield from _bound_by(child)
                elif isinstance(child, ast.ExceptHandler):
                    for inner in child.body:
                        yield from _bound_by(inner)


def _part(statement: ast.stmt, rebound: frozenset[str]) -> Part:
    if not isinstance(statement, Definition):
        return Part(statement)
    if statement.name in rebound or any(_REGISTERS.search(ast.dump(each)) for each in statement.decorator_list):
        return Part(statement, statement.name)
    return Part(statement, statement.name, late=not rebound or rebound.isdisjoint(_read_at_once(statement)))


def _read_at_once(statement: Definition) -> set[str]:
    """The names that a definition reads when it is made, not when it is called."""
    found: set[str] = set()
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            todo += [*node.decorator_list, *node.args.defaults, *(each for each in node.args.kw_defaults if each)]
        elif isinstance(node, ast.Lambda):
            todo += [*node.args.defaults, *(each for each in node.args.kw_defaults if each)]
        else:
            todo += ast.iter_child_nodes(node)
    return found
