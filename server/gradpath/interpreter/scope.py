"""Scopes, and the frames of running bodies."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from gradpath.interpreter.events import Site
from gradpath.interpreter.values import UNDEFINED, Class, Function, Value
from gradpath.support.fast_dataclasses import dataclass, field

if TYPE_CHECKING:
    from gradpath.interpreter.events import Site


class Deferred:
    """The placeholder in a module's scope for a value that is evaluated on first use."""

    __slots__ = ("_value", "_work")

    def __init__(self, work: Callable[[], Value]) -> None:
        self._work: Callable[[], Value] | None = work
        self._value: Value = UNDEFINED

    def value(self) -> Value:
        """The value; `UNDEFINED` where it is asked for while it is worked out, or could not be."""
        work, self._work = self._work, None
        if work is not None:
            self._value = work()
        return self._value


class Scope:
    """The variables of a module, function, comprehension or class body, and the scope around it.

    `missing`, of the scope of a module, is asked for a name that is not there yet.
    """

    __slots__ = ("missing", "outer", "redirected", "top", "transparent", "variables")

    def __init__(self, outer: Scope | None = None, *, transparent: bool = False) -> None:
        self.variables: dict[str, Value] = {}
        self.outer = outer
        self.transparent = transparent
        self.top: Scope = self if outer is None else outer.top
        self.redirected: dict[str, Scope] | None = None
        self.missing: Callable[[str], Value] | None = None

    def get(self, name: str) -> Value:
        """The value of `name` as code in this scope sees it, else `UNDEFINED`."""
        if self.redirected is not None and name in self.redirected:
            return self.redirected[name].own(name)
        value = self.variables.get(name, UNDEFINED)
        if value is not UNDEFINED:
            return value.value() if type(value) is Deferred else value
        scope = self.outer
        while value is UNDEFINED and scope is not None:
            if not scope.transparent:
                value = scope.variables.get(name, UNDEFINED)
            scope = scope.outer
        if value is UNDEFINED and self.top.missing is not None:
            return self.top.missing(name)
        return value.value() if type(value) is Deferred else value

    def own(self, name: str) -> Value:
        """The value of `name` in this very scope, else `UNDEFINED`."""
        value = self.variables.get(name, UNDEFINED)
        if value is UNDEFINED and self.missing is not None:
            return self.missing(name)
        return value.value() if type(value) is Deferred else value

    def set(self, name: str, value: Value) -> None:
        """Assign `name`, where `global` and `nonlocal` say so in another scope."""
        if self.redirected is not None and name in self.redirected:
            self.redirected[name].variables[name] = value
        else:
            self.variables[name] = value

    def declare_global(self, name: str) -> None:
        self._redirect(name, self.top)

    def declare_nonlocal(self, name: str) -> None:
        scope = self.outer
        while scope is not None and (scope.transparent or name not in scope.variables):
            scope = scope.outer
        self._redirect(name, scope if scope is not None else self.top)

    def _redirect(self, name: str, scope: Scope) -> None:
        if self.redirected is None:
            self.redirected = {}
        self.redirected[name] = scope


class Loop:
    """A running loop: `number` is its activation, `iteration` counts from 1.

    `around` holds the (activation, iteration) pairs of the loops around it and of itself, as a `Site` has them.
    """

    __slots__ = ("_outer", "around", "iteration", "number")

    def __init__(self, number: int, outer: tuple[tuple[int, int], ...]) -> None:
        self.number = number
        self._outer = outer
        self.begin(0)

    def begin(self, iteration: int) -> None:
        """Another iteration begins."""
        self.iteration = iteration
        self.around = (*self._outer, (self.number, iteration))


@dataclass(slots=True)
class Frame:
    """A running body: its scope, who called it, and the loops that it is in.

    `catchers` say which exceptions handlers around wait for. `ways` are those that the path took at the undecided
    conditions around: whether it was the likelier one. The body is `doubtful` after such a condition whose other arm
    leaves it, and `passed_over` says that it went on after a `raise`.
    """

    path: str
    scope: Scope
    function: Function | None = None
    caller: Site | None = None
    loops: list[Loop] = field(default_factory=list)
    outer_loops: tuple[tuple[int, int], ...] = ()
    depth: int = 0
    parent: Frame | None = None
    sent: dict[ast.AST, Value] = field(default_factory=dict)
    handling: list[Value] = field(default_factory=list)
    first_argument: Value = UNDEFINED
    owner: Class | None = None
    is_generator: bool = False
    catchers: list[Callable[[Class], bool]] = field(default_factory=list)
    ways: list[bool] = field(default_factory=list)
    doubtful: bool = False
    passed_over: bool = False

    @contextmanager
    def catching(self, waits: Callable[[Class], bool]) -> Iterator[None]:
        """A part of the body under an exception handler: `waits` says for which classes."""
        self.catchers.append(waits)
        try:
            yield
        finally:
            if waits in self.catchers:
                self.catchers.remove(waits)


Round: TypeAlias = frozenset[object]
"""What an iteration of a loop came to: statements, arms of expressions, and the whole numbers that those depended on.

Of a loop whose iterations differ it is empty, as that of no iteration is.
"""
