"""Which packages an import hook finds, from its text: build back ends leave one where a path alone does not do.

Each of them writes its table as literals, so that nothing need be executed.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from gradpath.source.nodes import nodes
from gradpath.support.reading import CONFIGURATION, read_text

_LARGEST = 300_000
"""Bytes of a hook that are parsed; most are a hundred times smaller."""

_INITIAL = "__init__.py"


def hooked_packages(hook: Path) -> dict[str, Path]:
    """The top-level modules that the hook in a file finds, each with its file or folder; none if it is not known."""
    try:
        tree = ast.parse(read_text(hook, _LARGEST, errors="replace"))
        return dict(found for node in nodes(tree) for found in _found(node) if found[0].isidentifier())
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return {}


def _found(node: ast.AST) -> Iterator[tuple[str, Path]]:
    match node:
        case (
            ast.Assign(targets=[ast.Name(id="MAPPING")], value=table)
            | ast.AnnAssign(target=ast.Name(id="MAPPING"), value=ast.Dict() as table)
        ):  # setuptools
            yield from _mapped(table)
        case ast.Call(func=ast.Attribute(attr="map_module"), args=[name, path]):  # editables: hatchling, pdm-backend
            yield from _mapped(ast.Dict([name], [path]))
        case ast.Call(func=ast.Name(id="install"), args=[table, *_]):  # scikit-build-core
            yield from _mapped(table)
        case ast.Call(func=ast.Name(id="MesonpyMetaFinder"), args=[_, _, ast.Constant(value=str(build)), *_]):
            yield from _planned(Path(build))


def _mapped(table: ast.expr) -> Iterator[tuple[str, Path]]:
    mapping = ast.literal_eval(table) if isinstance(table, ast.Dict) else {}
    for name, path in mapping.items():
        if isinstance(name, str) and isinstance(path, str) and os.path.isabs(path):
            yield name, _home(Path(path))


def _planned(build: Path) -> Iterator[tuple[str, Path]]:
    """The modules that meson would install, as it has noted in the folder of a build."""
    plan = json.loads(read_text(build / "meson-info" / "intro-install_plan.json", CONFIGURATION))
    sections = plan.values() if isinstance(plan, Mapping) else ()
    for section in sections:
        for source, target in section.items() if isinstance(section, Mapping) else ():
            destination = target.get("destination") if isinstance(target, Mapping) else None
            match Path(destination).parts if isinstance(destination, str) else ():
                case "{py_purelib}" | "{py_platlib}", name, "__init__.py":
                    yield name, _home(Path(source))
                case "{py_purelib}" | "{py_platlib}", file if file.endswith(".py"):
                    yield file.removesuffix(".py"), Path(source)
                case "{py_purelib}" | "{py_platlib}", name if os.path.isdir(source):
                    yield name, Path(source)


def _home(path: Path) -> Path:
    return path.parent if path.name == _INITIAL else path
