"""Which `forward`s are run though nothing in sight runs a backward: those with a write that PyTorch may refuse."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gradpath.analysis.inplace_writes import Defined, hands_on_weights, may_be_refused
from gradpath.source.imports import MODULES, imported
from tests.documents.pages import Block, documents, read_document

ROOT = Path(__file__).parents[2]
REFUSED = {"inplace-on-leaf", "inplace-on-view"}


def functions(tree: ast.AST) -> Defined:
    found: dict[str, list[ast.FunctionDef]] = {}
    for each in ast.walk(tree):
        if isinstance(each, ast.FunctionDef):
            found.setdefault(each.name, []).append(each)
    return found


def forward(*body: str) -> ast.FunctionDef:
    text = "\n    ".join(["def forward(self, x, mask=None):", *body])
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    return function


@pytest.mark.parametrize(
    "body",
    [
        ["self.weight += 1"],
        ["weight = self.weight", "weight[0] = x"],
        ["self.weight.view(-1)[0] = 1"],
        ["x = F.relu(self.weight, inplace=True)"],
        ["for p in self.parameters():", "    p.mul_(2)"],
        ["q, k = self.project(x).chunk(2, dim=-1)", "q *= 2"],
        ["parts = torch.split(x, 2)", "parts[0] += 1"],
        ["for row in self.project(x):", "    row += 1"],
        ["w = torch.ones(3, requires_grad=True)", "w += 1"],
        ["with torch.no_grad():", "    first = self.project(x)[0]", "first += 1"],
        ["y = Scale.apply(x)", "y += 1"],
        ["w = self.get()", "w += 1"],
        ["y = self.identity(self.weight)", "y += 1"],
        ["y = self.project(x) if mask is None else self.weight", "y += 1"],
        ["held = [self.weight]", "held[0] += 1"],
        ["w = self.given_back(self.weight)", "w += 1"],
        ["w = self.given_back(*self.weights)", "w += 1"],
        ["w, b = self.two_of_one(x)", "w += 1"],
        ["w = self.until_it_ends(self.weight)", "w += 1"],
        ["rows = list(self.project(x))", "rows[0] += 1"],
    ],
)
def test_a_write_that_may_be_refused(body: list[str]) -> None:
    assert may_be_refused(forward(*body), MODULES)


@pytest.mark.parametrize(
    "body",
    [
        ["return self.project(x) + 1"],
        ["mask[0] = True"],
        ["names += [mask]"],
        ["outputs['mask'] = x"],
        ["x = F.relu(self.weight, inplace=False)"],
        ["torch.nn.init.zeros_(self.weight)"],
    ],
)
def test_a_write_that_nothing_refuses(body: list[str]) -> None:
    assert not may_be_refused(forward(*body), MODULES)


@pytest.mark.parametrize("page", [each for each in documents(ROOT) if each.suffix == ".md"], ids=lambda page: page.stem)
def test_functions_with_a_refused_write_are_found(page: Path) -> None:
    for block in read_document(page, ROOT):
        if not isinstance(block, Block) or block.known_gap is not None:
            continue
        for source in block.sources:
            lines = {
                source.lines.index(each.place.line) + 1
                for each in block.reports
                if each.rule in REFUSED and each.place.line in source.lines
            }
            try:
                tree = ast.parse(source.text)
            except SyntaxError:
                continue
            defined, names = functions(tree), imported(tree)
            for each in (each for found in defined.values() for each in found):
                inside = range(each.lineno, (each.end_lineno or each.lineno) + 1)
                if lines & set(inside):
                    every = (other for others in defined.values() for other in others)
                    given = any(hands_on_weights(other, defined, names) for other in every)
                    assert may_be_refused(each, names) or given, f"{source.name}: {each.name}"
