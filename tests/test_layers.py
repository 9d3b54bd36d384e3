"""The house rules that a reader relies on: imports point down, each outside library has one home, files stay short."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SERVER = Path(__file__).parents[1] / "server"
LONGEST_FILE = 500
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "shared", "core", "base"}

HEIGHT = {
    "": 0,  # the package itself, which has the version
    "diagnostic": 0,
    "config": 1,
    "render": 1,
    "source": 2,
    "autograd": 2,
    "names": 3,
    "interpreter": 4,
    "rules": 5,
    "overlays": 5,
    "check": 6,
    "features": 7,
    "lsp": 8,
    "cli": 9,
    "__main__": 10,
}
ONLY = {  # Layers that may import these parts of gradpath and no others, themselves aside.
    "": set[str](),
    "diagnostic": set[str](),
    "autograd": set[str](),
    "config": {"diagnostic"},
    "render": {"diagnostic"},
    "source": {"diagnostic"},
}
HOMES = {  # Outside libraries and the layers that may import them.
    "torch": set[str](),
    "numpy": set[str](),
    "jedi": {"names"},
    "parso": {"names"},
    "pygls": {"lsp"},
    "lsprotocol": {"lsp"},
    "websockets": {"lsp"},
    "pathspec": {"cli", "config"},
    "tomli": {"cli", "config"},
}


@dataclass(frozen=True)
class Import:
    importer: str
    imported: str  # a module of gradpath, or the first part of another library's name
    line: int

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


def module_name(file: Path) -> str:
    parts = file.relative_to(SERVER).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(file): file for file in sorted((SERVER / "gradpath").rglob("*.py"))}


def imports_of(module: str, source: str) -> Iterator[Import]:
    """All imports of a module, those inside functions and for type checkers too."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                for name in names:
                    yield Import(module, known_module(name.name), node.lineno)
            case ast.ImportFrom(module=origin, names=names, level=0) if origin:
                for name in names:
                    yield Import(module, known_module(f"{origin}.{name.name}"), node.lineno)
            case ast.ImportFrom():
                yield Import(module, "a relative name", node.lineno)


def known_module(name: str) -> str:
    if name.split(".")[0] != "gradpath":
        return name.split(".")[0]
    while name not in FILES and "." in name:
        name = name.rpartition(".")[0]
    return name


def layer(module: str) -> str:
    return [*module.split("."), ""][1]


IMPORTS = [found for module, file in FILES.items() for found in imports_of(module, file.read_text(encoding="utf-8"))]
INSIDE = [found for found in IMPORTS if found.imported.split(".")[0] == "gradpath"]
OUTSIDE = [found for found in IMPORTS if found not in INSIDE and found.imported not in sys.stdlib_module_names]


def test_every_part_has_its_place_in_the_order_of_layers() -> None:
    assert {layer(module) for module in FILES} <= set(HEIGHT)


def test_imports_point_down() -> None:
    wrong = [
        str(found)
        for found in INSIDE
        if layer(found.importer) != layer(found.imported)
        and HEIGHT[layer(found.importer)] <= HEIGHT[layer(found.imported)]
        and layer(found.imported) != ""
    ]
    assert wrong == []


def test_the_lowest_layers_know_no_others() -> None:
    wrong = [
        str(found)
        for found in INSIDE
        if layer(found.importer) in ONLY
        and layer(found.imported) not in ONLY[layer(found.importer)] | {layer(found.importer)}
    ]
    assert wrong == []


def test_rules_read_the_trace_and_nothing_else_of_the_interpreter() -> None:
    wrong = [
        str(found)
        for found in INSIDE
        if layer(found.importer) == "rules"
        and layer(found.imported) == "interpreter"
        and not found.imported.startswith("gradpath.interpreter.trace")
    ]
    assert wrong == []


def test_autograd_imports_the_standard_library_only() -> None:
    assert [str(found) for found in OUTSIDE if layer(found.importer) == "autograd"] == []


def test_each_outside_library_has_its_home_and_torch_has_none() -> None:
    wrong = [str(found) for found in OUTSIDE if layer(found.importer) not in HOMES.get(found.imported, set())]
    assert wrong == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    edges: dict[str, set[str]] = {module: set() for module in FILES}
    for found in INSIDE:
        if found.imported != found.importer:
            edges[found.importer].add(found.imported)
    assert circle(edges) == []


def circle(edges: dict[str, set[str]]) -> list[str]:
    """One circle in the graph, as the modules along it; empty where there is none."""
    finished: set[str] = set()
    for start in edges:
        path: list[str] = []
        waiting = [(start, iter(sorted(edges[start])))]
        path.append(start)
        while waiting:
            module, rest = waiting[-1]
            following = next(rest, None)
            if following is None:
                finished.add(module)
                waiting.pop()
                path.pop()
            elif following in path:
                return [*path[path.index(following) :], following]
            elif following not in finished:
                waiting.append((following, iter(sorted(edges[following]))))
                path.append(following)
    return []


def test_a_circle_is_found_where_there_is_one() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


@pytest.mark.parametrize("source", ["import torch", "from torch import nn", "def f():\n    import torch.nn as nn"])
def test_an_import_of_torch_is_seen_wherever_it_stands(source: str) -> None:
    assert [found.imported for found in imports_of("gradpath.x", source)] == ["torch"]


def test_no_file_is_too_long() -> None:
    lengths = {module: len(file.read_text(encoding="utf-8").splitlines()) for module, file in FILES.items()}
    assert {module: length for module, length in lengths.items() if length > LONGEST_FILE} == {}


def test_no_file_has_a_name_that_says_nothing() -> None:
    assert [str(file) for file in FILES.values() if file.stem in VAGUE_NAMES] == []
