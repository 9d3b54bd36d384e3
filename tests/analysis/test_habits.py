"""What gradpath reports does not hang on how the author wraps a program: in a function, with tqdm, on a device."""

from __future__ import annotations

import ast
import re
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from gradpath.analysis.check import check
from gradpath.source.document import Document

CORPUS = Path(__file__).resolve().parents[1] / "cases" / "corpus"


def _is_chosen(program: Path) -> bool:
    """Whether a program is among the samples: its name decides, so that a new program does not exchange the others."""
    text = program.read_text(encoding="utf-8")
    return zlib.crc32(program.stem.encode()) % 16 == 0 and not any(f"[{rule}]" in text for rule in _OF_WHOLES)


_OF_WHOLES = ("needless-retain-graph", "detached-term")
"""Rules that look at whole programs alone: in a function that somebody else calls they are silent on purpose."""


PROGRAMS = [path for path in sorted(CORPUS.glob("*.py")) if _is_chosen(path)]
"""Some of them, faulty and right: each is checked once for each habit."""

_DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)


def in_main(tree: ast.Module) -> ast.Module:
    """All statements in a function that the module calls."""
    wrapped = in_launched_function(tree)
    wrapped.body += ast.parse("if __name__ == '__main__':\n    everything()").body
    return wrapped


def in_launched_function(tree: ast.Module) -> ast.Module:
    """All statements in a function that somebody else calls."""
    definitions: list[ast.stmt] = []
    rest: list[ast.stmt] = []
    for each in tree.body:
        if isinstance(each, _DEFINITIONS):
            definitions.append(each)
        else:
            guard = isinstance(each, ast.If) and "__name__" in ast.unparse(each.test)
            rest += each.body if guard and isinstance(each, ast.If) else [each]
    stored = {node.id for each in rest for node in ast.walk(each) if _stores(node) and isinstance(node, ast.Name)}
    read = {node.id for each in definitions for node in ast.walk(each) if isinstance(node, ast.Name)}
    (function,) = ast.parse("def everything():\n    pass").body
    assert isinstance(function, ast.FunctionDef)
    function.body = [*([ast.Global(sorted(stored & read))] if stored & read else []), *rest, *function.body]
    return ast.Module([*definitions, function], [])


def _stores(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)


class _Bars(ast.NodeTransformer):
    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.iter = ast.Call(ast.Name("tqdm", ast.Load()), [node.iter], [ast.keyword("desc", ast.Constant("train"))])
        return node


def with_progress_bars(tree: ast.Module) -> ast.Module:
    """`for x in tqdm(..., desc="train")`."""
    return ast.Module([*ast.parse("from tqdm import tqdm").body, *_Bars().visit(tree).body], [])


class _Moves(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not re.match(r"torch\.(rand|randn|zeros|ones|randint)\(", ast.unparse(node)) or node.keywords:
            return node
        return ast.Call(ast.Attribute(node, "to", ast.Load()), [ast.Name("DEVICE", ast.Load())], [])


def on_a_device(tree: ast.Module) -> ast.Module:
    """`torch.rand(...).to(DEVICE)`."""
    head = "import torch\nDEVICE = torch.device('cuda' if torch.cuda.is_available() else 'cpu')"
    return ast.Module([*ast.parse(head).body, *_Moves().visit(tree).body], [])


HABITS: tuple[Callable[[ast.Module], ast.Module], ...] = (
    in_main,
    in_launched_function,
    with_progress_bars,
    on_a_device,
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_habits(program: Path) -> None:
    text = program.read_text(encoding="utf-8")
    plain = _reports(ast.unparse(_without_future(text)))
    for habit in HABITS:
        changed = ast.unparse(ast.fix_missing_locations(habit(_without_future(text))))
        assert _reports(changed) == plain, habit.__name__


def _without_future(text: str) -> ast.Module:
    tree = ast.parse(text)
    tree.body = [each for each in tree.body if not (isinstance(each, ast.ImportFrom) and each.module == "__future__")]
    return tree


def _reports(text: str) -> list[tuple[str, str]]:
    return sorted((each.rule, each.level.value) for each in check(Document("program.py", text)).diagnostics)
