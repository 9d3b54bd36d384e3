"""Classes and functions that a setting chooses from a table, or that are the default of a parameter.

Whichever class of optimizers it is, it is given the same parameters. Of other classes, and of functions, the path
decides which one it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradpath.interpreter.containers import List
from gradpath.interpreter.events import OfTable
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.values import UNDEFINED, Class, Function, Unknown, Value, identity
from gradpath.overlays.libraries.standard_library import Partial
from gradpath.overlays.namespace import Namespace
from gradpath.overlays.torch.optim import TORCH_OPTIM, OptimizerClass

MOST = 3
"""Entries of a table that are tried; whatever else it may be stays unknown."""


def one_of(machine: Machine, entries: Sequence[Value], key: Value, default: Value = UNDEFINED) -> Value:
    """The class or the function that a table of such gives under an unknown key, `default` first; else `UNDEFINED`."""
    made = [each for each in entries if isinstance(each, Class | Function) and not isinstance(each, OptimizerClass)]
    if not isinstance(key, Unknown) or len(made) < len(entries):
        return UNDEFINED  # A key that is known, and not in the table, gives what was put there elsewhere.
    table = tuple(map(machine.id_of, made))
    known = any(each is default for each in made)
    for each in sorted(made, key=lambda each: each is not default)[:MOST]:
        decided = OfTable(table, identity(key), each.name, each is default if known else None)
        if machine.path.decide(decided, machine.node, True, machine.site, idle=False):
            return each
    return UNDEFINED


def chosen(machine: Machine, unknown: Unknown) -> Class | Function | None:
    """What something unknown is called as: a class of optimizers, or the function of the file that is its default.

    On another path it is not left at its default.
    """
    if (optimizer := optimizer_class(unknown)) is not None:
        return optimizer
    default = unknown.hint
    if not isinstance(default, Function) or default.path != machine.file:
        return None
    decided = OfTable(None, identity(unknown), default.name, is_default=True)
    called = getattr(machine.node, "func", machine.node)
    return default if machine.path.decide(decided, called, True, machine.site, idle=False) else None


def optimizer_class(unknown: Unknown) -> OptimizerClass | None:
    """One of the classes that an unknown value may be, if all are classes of optimizers, or partial calls of one.

    It is that of its default, the attribute of `torch.optim` under an unknown name, or any item of a table.
    """
    if isinstance(unknown.hint, OptimizerClass):
        return unknown.hint
    match unknown.sources:
        case [Namespace(name="torch.optim")]:
            return TORCH_OPTIM["SGD"]
        case [Dict() | List() as table, *_]:
            candidates = [each for each in table.parts() if each is not unknown]
            made = (each.called if isinstance(each, Partial) else each for each in candidates)
            classes = [each for each in made if isinstance(each, OptimizerClass)]
            return classes[0] if classes and len(classes) == len(candidates) else None
    return None
