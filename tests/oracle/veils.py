"""Hides a part of a program: what it is given, what it imports, what it inherits, what it is called with."""

from __future__ import annotations

import ast
import dis
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import CodeType

from .draft import INDENT
from .wrapping import as_object, indented

HOME = ("project.parts", "parts", "nets", "common_code", "core.building")
"""Modules that cannot be found."""

SHOWN = 0.15
"""The share of the statements of a prologue that is not hidden."""

ANNOTATIONS = {
    **dict.fromkeys(("S", "V", "M"), "torch.Tensor"),
    **dict.fromkeys(("net", "linear", "cell", "lstm", "carrier", "heads", "teller", "crit"), "nn.Module"),
    "opt": "torch.optim.Optimizer",
    "flag": "bool",
    "listM": "list[torch.Tensor]",
    "dictM": "dict[str, torch.Tensor]",
}

MEANINGLESS = ("a0", "b7", "q1", "zz", "thing", "foo", "bar", "it", "p9", "that", "k3", "one", "u_", "w8")


@dataclass(frozen=True, slots=True)
class Hidden:
    """What a program does not show.

    `definitions` are the statements of the module `home`, which `names` are taken from; `call` is the call that nothing
    in the program makes, or empty where the body of the program is all of it. `base` is a class made of the others.
    `driver` is a program that imports the shown one as `home`, and hands hidden things to its functions.
    """

    home: str
    definitions: tuple[str, ...]
    call: str = ""
    base: str = ""
    driver: str = ""


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement of the top level: its lines, the names it binds, and those of the top level that it reads."""

    lines: tuple[str, ...]
    binds: frozenset[str]
    reads: frozenset[str]
    defines: bool
    in_prologue: bool


def veiled(
    random: Random, lines: Sequence[str], start: int, kinds: Mapping[str, str]
) -> tuple[list[str], Hidden] | None:
    """The lines that are shown, and what is hidden; None where nothing can be.

    Of the first `start` lines, which make tensors, models and optimizers, most are hidden; of the others the functions
    and classes that need nothing that is shown.
    """
    statements = list(_statements(lines, start))
    hidden: list[_Statement] = []
    shown: list[_Statement] = []
    known: frozenset[str] = frozenset()
    for each in statements:
        may = each.in_prologue or (each.defines and random.random() < 0.6)
        if may and each.reads <= known and not _rebinds(each, shown) and random.random() > SHOWN:
            hidden.append(each)
            known |= each.binds
        else:
            shown.append(each)
    read: frozenset[str] = frozenset().union(*(each.reads for each in shown))
    needed = [name for each in hidden for name in sorted(each.binds) if name in read]
    needed = list(dict.fromkeys(needed))
    if not needed or not shown:
        return None
    return _renamed(random, *_arranged(random, hidden, shown, needed, kinds))


def _arranged(
    random: Random,
    hidden: Sequence[_Statement],
    shown: Sequence[_Statement],
    needed: Sequence[str],
    kinds: Mapping[str, str],
) -> tuple[list[str], Hidden]:
    home = random.choice(HOME)
    definitions = tuple("\n".join(each.lines) for each in hidden)
    defined = {name for each in hidden if each.defines for name in each.binds}
    body = [line for each in shown for line in each.lines]
    styles = ["function"] * 5 + ["method"] * 2 + ["object"] * 3 + ["base"] * 2 + ["import"] * 3 + ["main", "factory"]
    style = random.choice(styles)
    if any(re.search(r"\bglobal\b", line) for line in body):
        style = "import"
    if style in ("import", "main", "factory"):
        made = [name for name in needed if name not in defined] if style == "factory" else []
        head = _imported(home, [name for name in needed if name not in made])
        head += _imported(home, [f"make_{name}" for name in made])
        body = [f"{name} = make_{name}()" for name in made] + body
        definitions += tuple(f"def make_{name}():\n{INDENT}return {name}" for name in made)
        if style == "main":
            body = ["def main():", *indented(body), "", "", "main()"]
        return [*head, "", *body], Hidden(home, definitions)
    given = [name for name in needed if name not in defined or random.random() < 0.3]
    outside, inside = _sorted_out(random, shown, frozenset(given))
    head = [*_imported(home, [name for name in needed if name not in given]), "", *outside]
    annotated = random.random() < 0.3

    def parameters(*first: str) -> str:
        return ", ".join([*first, *(_annotated(name, kinds) if annotated else name for name in given)])

    arguments = ", ".join(given)
    match style:
        case "function":
            name = random.choice(("train", "run", "step", "fit", "train_one_epoch"))
            return [*head, f"def {name}({parameters()}):", *indented(inside)], Hidden(
                home, definitions, f"{name}({arguments})"
            )
        case "method":
            made = [*head, "class Trainer:", f"{INDENT}def run({parameters('self')}):", *indented(indented(inside))]
            return made, Hidden(home, definitions, f"Trainer().run({arguments})")
        case "object":
            made = as_object(inside, given, parameters("self"))
            return [*head, *made], Hidden(home, definitions, f"Trainer({arguments}).run()")
        case _:
            made = as_object(inside, given, "")
            base = ["class Base:", f"{INDENT}def __init__(self):", f"{INDENT * 2}pass"]
            base += [f"{INDENT * 2}self.{name} = {name}" for name in given]
            head = [*_imported(home, ["Base"]), *head]
            return [*head, *made], Hidden(home, definitions, "Trainer().run()", "\n".join(base))


def _sorted_out(random: Random, shown: Sequence[_Statement], given: frozenset[str]) -> tuple[list[str], list[str]]:
    """The definitions that can stand outside of the function, and what has to stand in it."""
    outside: list[str] = []
    inside: list[str] = []
    bound = given.union(*(each.binds for each in shown if not each.defines))
    for each in shown:
        if each.defines and not each.reads & bound and random.random() < 0.7:
            outside += [*each.lines, "", ""]
        else:
            inside += each.lines
            bound |= each.binds
    return outside, inside or ["pass"]


def _annotated(name: str, kinds: Mapping[str, str]) -> str:
    kind = ANNOTATIONS.get(kinds.get(name, ""))
    return f"{name}: {kind}" if kind else name


def _imported(home: str, names: Sequence[str]) -> list[str]:
    return [f"from {home} import {', '.join(names)}"] if names else []


def _rebinds(statement: _Statement, shown: Sequence[_Statement]) -> bool:
    return any(each.binds & statement.binds for each in shown)


def _renamed(random: Random, lines: list[str], hidden: Hidden) -> tuple[list[str], Hidden]:
    """With meaningless names for what is hidden, in one program of three."""
    names = [name for text in hidden.definitions for name in _bound(ast.parse(text).body[0])]
    if random.random() > 1 / 3 or not names:
        return lines, hidden
    instead = dict(zip(dict.fromkeys(names), random.sample(MEANINGLESS, len(MEANINGLESS)), strict=False))
    pattern = re.compile(r"(?<![\w.\"'])(" + "|".join(map(re.escape, instead)) + r")\b(?!=[^=])")
    attribute = re.compile(r"(?<=\bself\.)(" + "|".join(map(re.escape, instead)) + r")\b")

    def renamed(text: str) -> str:
        return attribute.sub(lambda m: instead[m[1]], pattern.sub(lambda m: instead[m[1]], text))

    definitions = tuple(map(renamed, hidden.definitions))
    return [renamed(line) for line in lines], Hidden(
        hidden.home, definitions, renamed(hidden.call), renamed(hidden.base)
    )


def _statements(lines: Sequence[str], start: int) -> Iterator[_Statement]:
    tree = ast.parse("\n".join(lines) + "\n")
    top = {name for statement in tree.body for name in _bound(statement)}
    for statement in tree.body:
        decorators: Collection[ast.expr] = getattr(statement, "decorator_list", ())
        first = min([statement.lineno, *(each.lineno for each in decorators)])
        part = tuple(lines[first - 1 : statement.end_lineno])
        reads = frozenset(_reads(compile("\n".join(part), "part", "exec"))) & top
        defines = isinstance(statement, ast.FunctionDef | ast.ClassDef)
        binds = frozenset(_bound(statement))
        yield _Statement(part, binds, reads - (binds if defines else frozenset()), defines, first <= start)


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of the top level binds."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _reads(code: CodeType) -> Iterator[str]:
    """The names that a piece of code and the functions in it read of the top level."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_NAME", "LOAD_GLOBAL", "STORE_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"):
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _reads(constant)
