"""Runs a program of which a part is hidden, each time with other definitions of that part."""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from random import Random
from types import FunctionType, ModuleType
from typing import Any

from .guises import Guises
from .observe import Observation, Session, compiled, fresh_state, lines_reached
from .veils import Hidden

WORLDS = 12
"""Worlds in which a program is run; in the first one everything is as it was written."""

PRELUDE = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


class _Home(ModuleType):
    """The module that a program takes hidden things from."""

    def __init__(self, hidden: Hidden, guises: Guises | None, imports: str) -> None:
        super().__init__(hidden.home)
        self.__path__: list[str] = []
        own = self.__dict__
        exec(compile(imports + PRELUDE, "hidden.py", "exec"), own)
        for text in hidden.definitions:
            before = {name: id(value) for name, value in own.items()}
            exec(compile(text, "hidden.py", "exec"), own)
            if guises is None:
                continue
            for name in [name for name, value in own.items() if before.get(name) != id(value)]:
                if not name.startswith(("make_", "__")):
                    own[name] = guises.of(own[name])
        if hidden.base:
            exec(compile(hidden.base, "hidden.py", "exec"), own)


def in_worlds(text: str, hidden: Hidden, seed: str, count: int = WORLDS) -> list[Observation]:
    """How a program ends in each of its worlds."""
    return [in_world(text, hidden, _guises(seed, number)) for number in range(count)]


def reached_in(text: str, hidden: Hidden, seed: str, number: int) -> frozenset[int]:
    """The lines of the program that run in a world."""
    return lines_reached(lambda: in_world(text, hidden, _guises(seed, number)))


def _guises(seed: str, number: int) -> Guises | None:
    return Guises(Random(f"{seed}:{number}")) if number else None


def in_world(text: str, hidden: Hidden, guises: Guises | None) -> Observation:
    """How a program ends with the hidden things in these guises."""
    session = Session()
    if hidden.driver:
        return _driven(session, text, hidden, guises)
    try:
        imports = "".join(f"{line}\n" for line in text.split("\n") if _IMPORT.match(line) and hidden.home not in line)
        home = _Home(hidden, guises, imports)
    except Exception as error:  # noqa: BLE001 - whatever a definition raises
        return Observation(None, f"{type(error).__name__}: {error}".split("\n")[0])
    with _found(hidden.home, home):
        result = session.run(text)
        if result.clean and hidden.call:
            driver: dict[str, Any] = {**home.__dict__, **session.names}
            for name, value in home.__dict__.items():
                driver.setdefault(name, value)
            session.names["__call__"] = _caller(hidden.call, driver)
            result = session.execute(compiled("__call__()", filename="driver.py"))
    session.names.clear()
    fresh_state()
    return result


_IMPORT = re.compile(r"(import|from) \w")


def _driven(session: Session, text: str, hidden: Hidden, guises: Guises | None) -> Observation:
    """How a program ends that another one imports and calls, with all that it is handed in these guises."""
    result = session.run(text)
    if result.clean:
        module = ModuleType(hidden.home)
        module.__dict__.update(session.names)
        for name, value in session.names.items():
            own = isinstance(value, FunctionType) and value.__globals__ is session.names
            if own and guises is not None and not inspect.isgeneratorfunction(value):
                setattr(module, name, _handing(value, guises))
        with _found(hidden.home, module):
            result = session.execute(compiled(hidden.driver, filename="driver.py"), {"__name__": "__main__"})
    session.names.clear()
    fresh_state()
    return result


def _handing(function: Callable[..., Any], guises: Guises) -> Callable[..., Any]:
    """The function, called with its arguments in other guises."""

    def handed(*arguments: Any, **options: Any) -> Any:
        return function(*map(guises.of, arguments), **{name: guises.of(each) for name, each in options.items()})

    return handed


def _caller(call: str, scope: dict[str, Any]) -> Callable[[], None]:
    code = compile(call, "driver.py", "eval")
    return lambda: eval(code, scope)


@contextlib.contextmanager
def _found(name: str, module: ModuleType) -> Iterator[None]:
    """Let an import find a module."""
    parts = name.split(".")
    names = {".".join(parts[: n + 1]): ModuleType(parts[n]) for n in range(len(parts) - 1)}
    for package in names.values():
        package.__path__ = []
    sys.modules.update(names)
    sys.modules[name] = module
    try:
        yield
    finally:
        for each in (*names, name):
            sys.modules.pop(each, None)
