"""The laws of the house that an import does not show: what may be named where, and how large a function may be."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from gradpath.overlays import registry
from gradpath.rules import RULES
from gradpath.source.imports import MODULES

PRODUCT = Path(__file__).parents[1] / "server" / "gradpath"
FILES = {str(file.relative_to(PRODUCT)): ast.parse(file.read_text("utf-8")) for file in sorted(PRODUCT.rglob("*.py"))}

LONGEST_FUNCTION = 60
LARGE = 1
"""Functions that are excused from ruff's limits by a `noqa`: to be split, and none may be added."""


def texts(tree: ast.Module) -> Iterator[ast.Constant]:
    """The string constants of a module that are no docstrings."""
    docstrings = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node


def test_a_rule_is_named_in_its_own_file_alone() -> None:
    named = [
        f"{file}:{text.lineno} {text.value}"
        for file, tree in FILES.items()
        for text in texts(tree)
        if text.value in RULES and file != f"rules/{text.value.replace('-', '_')}.py"
    ]
    assert named == []


def test_no_function_is_too_long() -> None:
    long = {
        f"{file}:{node.name}"
        for file, tree in FILES.items()
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION
    }
    assert long == set()


def test_no_more_functions_are_excused_from_the_limits() -> None:
    excused = [
        f"{file}:{number}"
        for file in FILES
        for number, line in enumerate((PRODUCT / file).read_text("utf-8").splitlines(), 1)
        if re.search(r"# noqa: .*(?:C901|PLR09)", line)
    ]
    assert len(excused) <= LARGE, excused


OF_LIBRARIES = re.compile(
    r"\b(?:torch|numpy|lightning|accelerate|backward|detach_?|no_grad|requires_grad_?|zero_grad|grad_fn|optim\w*|tqdm)\b"
)
KNOWN = {  # What the interpreter names of libraries today: each may only go.
    "interpreter/containers.py",  # What a list that is used as a tensor was asked for.
    "interpreter/idle.py",  # Which conditions are worth turning around, by the words in their arms.
    "interpreter/lasting.py",  # What empties what a function left.
    "interpreter/run.py",  # A class with a `backward` is not defined late.
}


def test_the_interpreter_names_nothing_of_a_library() -> None:
    naming = {
        file: text.value
        for file, tree in FILES.items()
        if file.startswith("interpreter/")
        for text in texts(tree)
        if OF_LIBRARIES.search(text.value)
    }
    assert naming.keys() <= KNOWN, naming


MEANT = MODULES.keys() | {"functional"}
ALIASES = {"F", "nn", "np"}
"""Those of them that stand for nothing else here."""


def names_as_written(tree: ast.Module) -> Iterator[ast.Constant]:
    """The names of modules that a program's names are compared with, whatever it imports: `node.id == "torch"`."""
    yield from (text for text in texts(tree) if text.value in ALIASES)
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=ast.Attribute(attr="id")) | ast.MatchClass(cls=ast.Attribute(attr="Name")):
                inside = (each for each in ast.walk(node) if isinstance(each, ast.Constant))
                yield from (each for each in inside if each.value in MEANT)


def test_what_a_name_means_is_asked_of_the_imports() -> None:
    written = [
        f"{file}:{text.lineno} {text.value}"
        for file, tree in FILES.items()
        if file != "source/imports.py"
        for text in names_as_written(tree)
    ]
    assert written == []


READING_THE_TRACE = ("findings/", "fixes/", "rules/")
WALKS = {"walk", "nodes", "iter_child_nodes"}
WALKING = {  # Rules that search the tree themselves instead of asking `source/index.py`: each may only go.
    "findings/definitions.py",
    "fixes/on_tensors.py",
    "fixes/out_of_place.py",
}


def walks_itself(tree: ast.Module) -> bool:
    called = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    names = (each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in called)
    return not WALKS.isdisjoint(names)


def test_no_more_rules_search_the_tree_themselves() -> None:
    walking = {file for file, tree in FILES.items() if file.startswith(READING_THE_TRACE) and walks_itself(tree)}
    assert walking <= WALKING


OF_VALUES = {"entries", "items", "kind", "label", "origin", "parts", "presumption", "read", "sources", "tensor"}
REACHING = {  # Rules that ask values of the interpreter instead of events: each may only go.
    "fixes/detachment.py",
    "fixes/on_tensors.py",
}


def test_no_more_rules_reach_into_values_of_the_interpreter() -> None:
    reaching = {
        file
        for file, tree in FILES.items()
        if file.startswith(READING_THE_TRACE)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr")
        if isinstance(node.args[1], ast.Constant) and node.args[1].value in OF_VALUES
    }
    assert reaching <= REACHING


def test_each_overlay_lies_where_the_registry_finds_it() -> None:
    tables = {
        file
        for file, tree in FILES.items()
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "NAMES"
    }
    folders = {file.split("/")[1] for file in tables if file.startswith("overlays/")}
    assert folders == set(registry.FOLDERS)
