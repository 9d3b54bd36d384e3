"""Notebook files for the tests, in the shapes in which programs write them."""

from __future__ import annotations

import json
from typing import Any


def code(source: str, count: int | None = None, **more: Any) -> dict[str, Any]:
    """A code cell of format 4, its source as a list of lines."""
    lines = source.splitlines(keepends=True)
    return {"cell_type": "code", "execution_count": count, "metadata": {}, "outputs": [], "source": lines, **more}


def prose(source: str) -> dict[str, Any]:
    """A Markdown cell."""
    return {"cell_type": "markdown", "metadata": {}, "source": source.splitlines(keepends=True)}


def notebook(*cells: dict[str, Any], language: str = "python", **more: Any) -> dict[str, Any]:
    """A notebook of format 4."""
    kernel = {"display_name": "Kernel", "language": language, "name": "kernel"}
    return {"cells": list(cells), "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5, **more}


def written(data: object, **style: Any) -> str:
    """The text of a notebook's file as Jupyter writes it."""
    return json.dumps(data, **{"indent": 1, "ensure_ascii": False, **style}) + "\n"
