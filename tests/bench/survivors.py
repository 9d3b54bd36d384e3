"""The command: change gradpath's own code at random, and list the changes that no test notices.

    PYTHONPATH=tests:server python -m bench.survivors PART... [--count N] [--seed N] --tests TEST...

A part is a folder or a file below `server/gradpath`. Each mutant is one change in one function, in a copy of the
product: a comparison or a boolean operator turned, a condition taken for false, a result for None, a number one more.
The tests run until the first that fails. What survives is code that no test holds, or a change that means the same.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ROOT / "server" / "gradpath"

_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}


@dataclass(frozen=True)
class Mutant:
    """A change of a file: the line, what it was and what it is, and the new text."""

    file: Path
    line: int
    before: str
    after: str
    text: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(PRODUCT)}:{self.line}: {self.before}  ->  {self.after}"


def changed(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in the place of an expression or a statement."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            yield ast.Compare(left, [_TURNED[type(operator)]()], [right])
        case ast.BoolOp(op=ast.And(), values=values):
            yield ast.BoolOp(ast.Or(), values)
        case ast.BoolOp(op=ast.Or(), values=values):
            yield ast.BoolOp(ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.IfExp(body=body, orelse=orelse):
            yield ast.IfExp(node.test, orelse, body)
        case ast.If(body=body, orelse=orelse):
            yield ast.If(ast.Constant(False), body, orelse)
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield ast.Constant(value + 1)


def mutants(file: Path) -> list[Mutant]:
    """All changes of a file, made in its functions alone."""
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text)
    functions = [each for each in ast.walk(tree) if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]
    places = {id(node): node for function in functions for part in function.body for node in ast.walk(part)}
    found = []
    for node in places.values():
        for new in changed(node):
            before = ast.unparse(node).splitlines()[0][:90]
            after = ast.unparse(ast.fix_missing_locations(copy.deepcopy(new))).splitlines()[0][:90]
            whole = ast.unparse(ast.fix_missing_locations(_Exchange(node, new).visit(copy.deepcopy(tree))))
            found.append(Mutant(file, getattr(node, "lineno", 0), before, after, whole))
    return found


class _Exchange(ast.NodeTransformer):
    """Puts a node in the place of the one that has the type and the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._kind, self._key, self._new = type(old), _key(old), new

    def visit(self, node: ast.AST) -> ast.AST:
        if type(node) is self._kind and _key(node) == self._key:
            return ast.copy_location(self._new, node)
        return self.generic_visit(node)


def _key(node: ast.AST) -> tuple[object, ...]:
    names = ("lineno", "col_offset", "end_lineno", "end_col_offset")
    return tuple(getattr(node, name, None) for name in names)


def survives(mutant: Mutant, copied: Path, tests: list[str]) -> bool:
    """Whether the tests pass with a mutant; one that does not end in time counts as noticed."""
    place = copied / "gradpath" / mutant.file.relative_to(PRODUCT)
    original = place.read_text(encoding="utf-8")
    place.write_text(mutant.text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(copied), str(ROOT), str(ROOT / "tests")])}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-o", "pythonpath=", *tests]
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=600, check=False)
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        place.write_text(original, encoding="utf-8")


def main() -> None:
    """Try the mutants, and list those that survive."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", metavar="PART")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", nargs="+", required=True)
    arguments = parser.parse_args()
    roots = [PRODUCT / part for part in arguments.parts]
    files = [file for root in roots for file in ([root] if root.is_file() else sorted(root.rglob("*.py")))]
    every = [mutant for file in files for mutant in mutants(file)]
    chosen = random.Random(arguments.seed).sample(every, min(arguments.count, len(every)))
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder)
        shutil.copytree(PRODUCT, copied / "gradpath", ignore=shutil.ignore_patterns("__pycache__"))
        left = [each for each in chosen if survives(each, copied, arguments.tests) and not print(f"survives  {each}")]
    print(f"{len(chosen) - len(left)} of {len(chosen)} noticed ({len(every)} possible)")


if __name__ == "__main__":
    main()
