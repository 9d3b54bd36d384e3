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

FROM_THE_GROUND_UP = [  # Parts on one floor do not know each other; "" is the package itself, which has the version.
    {""},
    {"support"},
    {"repairs"},
    {"diagnostic"},
    {"config", "render"},
    {"source", "autograd"},
    {"names"},
    {"interpreter"},
    {"findings", "overlays"},
    {"fixes"},
    {"rules"},
    {"analysis"},
    {"refactoring"},
    {"features"},
    {"analyst"},
    {"lsp"},
    {"cli", "pytest_plugin"},
    {"__main__"},
]
HEIGHT = {part: height for height, parts in enumerate(FROM_THE_GROUND_UP) for part in parts}
ONLY = {  # Layers that may import these parts of gradpath and no others, themselves aside.
    "": set[str](),
    "support": {""},
    "diagnostic": {"repairs", "support"},
    "repairs": {"support"},
    "autograd": {"support"},
    "config": {"diagnostic", "support"},
    "render": {"diagnostic", "support"},
    "source": {"diagnostic", "support"},
}
HOMES = {  # Outside libraries and the layers that may import them.
    "torch": set[str](),
    "numpy": set[str](),
    "jedi": {"names"},
    "parso": {"names"},
    "pygls": {"lsp"},
    "lsprotocol": {"lsp"},
    "pytest": {"pytest_plugin"},
    "websockets": {"lsp"},
    "tomli": {"support"},
}


@dataclass(frozen=True)
class Import:
    importer: str
    imported: str  # a module of gradpath, or the first part of another library's name
    line: int
    for_types: bool = False  # under `if TYPE_CHECKING`, so that it never runs

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


def module_name(file: Path) -> str:
    parts = file.relative_to(SERVER).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(file): file for file in sorted((SERVER / "gradpath").rglob("*.py"))}


def imports_of(module: str, source: str) -> Iterator[Import]:
    """All imports of a module, those inside functions and for type checkers too."""
    tree = ast.parse(source)
    for_types = {
        id(inner)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test).endswith("TYPE_CHECKING")
        for statement in block.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found = [known_module(name.name) for name in names]
            case ast.ImportFrom(module=origin, names=names, level=0) if origin:
                found = [known_module(f"{origin}.{name.name}") for name in names]
            case ast.ImportFrom():
                found = ["a relative name"]
            case _:
                continue
        for name in found:
            yield Import(module, name, node.lineno, id(node) in for_types)


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
        and HEIGHT.get(layer(found.importer), 0) <= HEIGHT.get(layer(found.imported), 0)
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
        if layer(found.importer) in {"findings", "fixes", "rules"}
        and layer(found.imported) == "interpreter"
        and found.imported not in {f"gradpath.interpreter.{name}" for name in ("trace", "events", "ownership", "sites")}
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
        if found.imported != found.importer and not found.for_types:
            edges[found.importer].add(found.imported)
    assert circle(edges) == []


def test_only_values_and_the_machine_that_runs_them_know_each_other_for_their_types() -> None:
    edges: dict[str, set[str]] = {module: set() for module in FILES}
    for found in INSIDE:
        within = layer(found.importer) == layer(found.imported) == "interpreter"
        if found.imported != found.importer and not (found.for_types and within):
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


def test_data_classes_come_from_records() -> None:
    makers = {found.importer for found in IMPORTS if found.imported == "dataclasses"}
    assert makers == {"gradpath.support.fast_dataclasses"}


def test_enumerations_come_from_records() -> None:
    makers = {found.importer for found in IMPORTS if found.imported == "enum"}
    assert makers == {"gradpath.support.fast_enums"}


def test_regular_expressions_of_modules_come_from_patterns() -> None:
    wrong = [
        f"{module}:{node.lineno}"
        for module, file in FILES.items()
        if module != "gradpath.lsp.frames"  # Those are about bytes.
        for statement in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(statement, (ast.Assign, ast.AnnAssign))
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile"
    ]
    assert wrong == []


WORDS = {"title", "headline", "help", "alternatives"}  # What users read of reports and fixes.
READING = {"startswith", "endswith", "split", "partition", "rpartition", "removeprefix", "removesuffix", "find"}


def decisions_by_words(source: str) -> Iterator[int]:
    """The lines that compare, search or take apart what is there to be read by people."""

    def worded(node: ast.AST) -> bool:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
            return False  # How long a line is to be.
        own = isinstance(node, ast.Attribute) and node.attr in WORDS
        return own or any(map(worded, ast.iter_child_nodes(node)))

    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare(left=left, comparators=others) if any(map(worded, [left, *others])):
                yield node.lineno
            case ast.Call(func=ast.Attribute(attr=name, value=text)) if name in READING and worded(text):
                yield node.lineno
            case ast.Subscript(value=ast.Attribute(attr="title" | "headline" | "help")):
                yield node.lineno


@pytest.mark.parametrize("part", ["rules", "analysis", "features", "analyst", "lsp", "cli"])
def test_nothing_is_decided_by_the_words_of_titles_and_help(part: str) -> None:
    found = [
        f"{module}:{line}"
        for module, file in FILES.items()
        if module.split(".")[1:2] == [part]
        for line in decisions_by_words(file.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_decisions_by_words_are_found() -> None:
    decided = 'if fix.title.startswith("Move"):\n    pass\nif "clone()" not in fix.title:\n    pass\n'
    assert list(decisions_by_words(decided)) == [1, 3]


def test_fixes_of_rules_say_what_they_do_as_data() -> None:
    found = [
        f"{module}:{node.lineno}"
        for module, file in FILES.items()
        if module.startswith(("gradpath.rules", "gradpath.analysis.fix_validation"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Fix"
    ]
    assert found == []
