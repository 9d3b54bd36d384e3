"""What the names of a file mean by its imports, and by convention where a fragment leaves these out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from gradpath.source.index import inside
from gradpath.source.nodes import noted

_SAME = "collections copy functools itertools math numpy operator random torch"
MODULES = {
    **{name: name for name in _SAME.split()},
    "F": "torch.nn.functional",
    "T": "torch",
    "autograd": "torch.autograd",
    "nn": "torch.nn",
    "np": "numpy",
    "optim": "torch.optim",
    "th": "torch",
}
"""The modules that everybody calls so: posts and notebook cells leave imports out, and another meaning is bound."""


def aliases(statement: ast.stmt) -> Iterator[tuple[str, str, str]]:
    """The names that an import binds, "*" for all: each with the module, and the name there ("" for the module)."""
    match statement:
        case ast.ImportFrom():
            module = "." * statement.level + (statement.module or "")
            yield from ((alias.asname or alias.name, module, alias.name) for alias in statement.names)
        case ast.Import():
            for alias in statement.names:
                first = alias.name.partition(".")[0]
                yield (alias.asname, alias.name, "") if alias.asname else (first, first, "")


@noted
def imported(tree: ast.Module) -> Mapping[str, str]:
    """The dotted names that the names of a file mean: what it imports, and modules that it uses and never binds."""
    found = {
        name: f"{module}.{member}".rstrip(".")
        for statement in [*inside(tree, ast.Import), *inside(tree, ast.ImportFrom)]
        for name, module, member in aliases(statement)
    }
    bound = {each.arg for each in inside(tree, ast.arg)} | {each.name for each in inside(tree, ast.FunctionDef)}
    bound |= {each.id for each in inside(tree, ast.Name) if not isinstance(each.ctx, ast.Load)}
    bound |= {each.name for each in inside(tree, ast.ClassDef)} | found.keys()
    used = [each.id for each in inside(tree, ast.Name) if each.id in MODULES]
    return found | {name: MODULES[name] for name in used if name not in bound}


def meaning(node: ast.AST, names: Mapping[str, str] = MODULES) -> str:
    """The dotted name that an expression means: `torch.relu` of `th.relu`; empty for a value of the program."""
    match node:
        case ast.Name(id=name):
            return names.get(name, "")
        case ast.Attribute(value=value, attr=name):
            outer = meaning(value, names)
            return outer and f"{outer}.{name}"
    return ""


def is_of_torch(node: ast.AST, names: Mapping[str, str]) -> bool:
    """True if an expression means PyTorch, or a part of it."""
    return f"{meaning(node, names)}.".startswith("torch.")


def worked_on(call: ast.Call, names: Mapping[str, str]) -> ast.expr | None:
    """The tensor that a method or a function of PyTorch works on: `x` of `x.relu_()` and of `torch.relu_(x)`."""
    if not isinstance(call.func, ast.Attribute):
        return None
    if not is_of_torch(call.func.value, names):
        return call.func.value
    return call.args[0] if call.args and not isinstance(call.args[0], ast.Starred) else None


def called(module: str, names: Mapping[str, str]) -> str | None:
    """What a file calls a module, as `torch.nn` where it imports `torch` alone; None where it does not name it."""
    known = next((name for name, meant in names.items() if meant == module), None)
    outer, _, last = module.rpartition(".")
    around = called(outer, names) if known is None and outer else None
    return f"{around}.{last}" if around is not None else known
