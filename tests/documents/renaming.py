"""Programs whose variables, parameters and attributes have names that mean nothing."""

from __future__ import annotations

import ast
import builtins
import io
import tokenize
from collections.abc import Iterator

import torch
from torch import nn

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

_GIVEN = frozenset(dir(builtins)) | {"self", "cls", "_", "__name__", "__file__"}
"""Names that mean what they mean wherever they stand."""

_KNOWN = frozenset().union(*(dir(each) for each in (torch.Tensor, nn.Module, torch.optim.SGD, dict, list, str)))
"""Attributes that PyTorch and Python give a meaning."""


def meaningless(text: str) -> str:
    """The same program with other names, line by line, where that changes nothing of what it does.

    A name stays that somebody may know from outside: of an import, of a function or a class, of an argument that is
    passed by it, of an attribute of a class that a library reads.
    """
    tree = ast.parse(text)
    kept = _GIVEN | _fixed(tree)
    texts = list(_texts(tree))
    names = dict.fromkeys(each for each in _variables(tree) if each not in kept)
    attributes = dict.fromkeys(
        each for each in _attributes(tree) if each not in kept | _KNOWN and not any(text in each for text in texts)
    )
    for table, letter in ((names, "v"), (attributes, "a")):
        table.update({each: f"{letter}{index}q" for index, each in enumerate(table)})
    return _replaced(text, names, attributes)


def _variables(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                yield name


def _attributes(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name


def _fixed(tree: ast.Module) -> set[str]:
    """The names that somebody may know from outside, and those in texts, which are no names to a tokenizer."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found |= {(each.asname or each.name).partition(".")[0] for each in names}
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ExceptHandler(name=str(name)):
                found.add(name)
            case ast.ClassDef(name=name, body=body):
                found |= {name, *(each for one in body for each in _bound(one))}
            case ast.keyword(arg=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                found.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                found.update(names)
            case ast.Constant(value=str(text)):
                found.update(text.split())
            case ast.JoinedStr():
                found |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
                found |= {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
    return found


def _texts(tree: ast.Module) -> Iterator[str]:
    """What a program may look for in the names of attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if text.strip("."):
                yield text.strip(".")


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of a class body binds."""
    if not isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _replaced(text: str, names: dict[str, str], attributes: dict[str, str]) -> str:
    lines = text.splitlines(keepends=True)
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for index in reversed(range(len(tokens))):
        token = tokens[index]
        if token.type != tokenize.NAME:
            continue
        table = attributes if index and tokens[index - 1].string == "." else names
        (row, start), (_, end) = token.start, token.end
        line = lines[row - 1]
        lines[row - 1] = f"{line[:start]}{table.get(token.string, token.string)}{line[end:]}"
    return "".join(lines)
