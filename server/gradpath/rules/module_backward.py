"""A `backward` method of a module, which autograd never calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.diagnostic import Level
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.syntax import class_of
from gradpath.interpreter.events import Site
from gradpath.interpreter.trace import Trace
from gradpath.source.imports import imported, is_of_torch
from gradpath.source.index import inside, methods_called
from gradpath.source.nodes import Definition, last_name


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """A method that computes from what it is given, beside a `forward` that it does not invert, and is not called."""
    method = trace.entry
    if not isinstance(method, ast.FunctionDef) or method.name != "backward" or not _computes(method):
        return
    owner = class_of(trace, method)
    given = [*method.args.args, *filter(None, (method.args.vararg,))][1:]
    path, tree = _file_of(source, method)
    forward = None if owner is None else _forward_of(tree, owner)
    if owner is None or forward is None or not given or _is_called(tree) or _may_invert(method, forward):
        return
    at = Site(path, given[0], None, ())
    yield Report(
        at,
        f"autograd never calls `{owner.name}.backward`: a module has no backward of its own",
        (Step(at, "is never given a gradient"),),
        help="write it as an `autograd.Function`, whose `apply` the `forward` calls, or as a hook on a tensor",
    )


def _file_of(source: Source, method: Definition) -> tuple[str, ast.Module]:
    trees = {path: source.tree(path) for path in source.documents}
    place = method.lineno, method.end_lineno, method.name
    return next(
        (path, tree)
        for path, tree in trees.items()
        if any((each.lineno, each.end_lineno, each.name) == place for each in inside(tree, ast.FunctionDef))
    )


def _forward_of(tree: ast.Module, owner: ast.ClassDef) -> Definition | None:
    """The `forward` of a class that is a plain module: frameworks call methods of theirs."""
    classes = {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}
    line, is_module = [owner], False
    for each in line:
        for base in each.bases:
            name = last_name(base)
            if name in classes and classes[name] not in line:
                line.append(classes[name])
            elif name != "Module" or not is_of_torch(base, imported(tree)):
                return None
            else:
                is_module = True
    methods = (each for cls in line if is_module for each in cls.body if isinstance(each, Definition))
    return next((each for each in methods if each.name == "forward"), None)


def _may_invert(method: Definition, forward: Definition) -> bool:
    """True if a method may compute the input of a `forward` from its output, as that of a flow does.

    That is not so if it reads what the `forward` keeps, or if that gives its input as it is, or only the sign of it.
    """
    kept = {each.attr for each in inside(forward, ast.Attribute) if isinstance(each.ctx, ast.Store)}
    if any(each.attr in kept for each in inside(method, ast.Attribute)):
        return False
    steps = _steps_of(forward)
    return steps is None or (steps.isdisjoint(_FLAT) and _steps_of(method) is not None)


def _steps_of(function: Definition) -> set[str] | None:
    """The operations by which a function returns its argument in the same shape; None if it computes anything else."""
    arguments = {each.arg for each in function.args.args}
    found: set[str] = set()
    for each in inside(function, ast.Return):
        value = each.value
        while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            found.add(value.func.attr)
            of_torch = isinstance(value.func.value, ast.Name) and value.func.value.id not in arguments
            value = next(iter(value.args), None) if of_torch else value.func.value
        if not isinstance(value, ast.Name) or value.id not in arguments or not found <= _FLAT | _SAME:
            return None
    return found


_SAME = frozenset({"clone", "contiguous", "view_as"})
"""Operations that keep each element as it is."""

_FLAT = frozenset({"ceil", "fix", "floor", "round", "sign", "trunc"})
"""Operations after which the elements are not known any more."""


def _computes(method: Definition) -> bool:
    """True if a method returns something, and neither goes back through a graph nor keeps gradients to update by."""
    returned = [each.value for each in inside(method, ast.Return) if each.value is not None]
    stored = [each for each in inside(method, ast.Attribute) if isinstance(each.ctx, ast.Store)]
    return bool(returned) and not stored and not any(name in _TRAINING for _, name, _ in methods_called(method))


_TRAINING = frozenset({"backward", "step", "zero_grad"})


def _is_called(tree: ast.Module) -> bool:
    """True if code of the file gives any `backward` a gradient: it may be this one."""
    return any(name == "backward" and call.args for _, name, call in methods_called(tree))


RULE = Rule(
    "module-backward",
    "detach",
    Level.WARNING,
    "a module defines `backward`, which autograd never calls: it computes gradients of its own",
    find,
)
