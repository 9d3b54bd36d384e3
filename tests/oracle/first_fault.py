"""The exception that ends a program, as the interpreter alone sees it: without rules and without other paths."""

from __future__ import annotations

from dataclasses import dataclass

from gradpath.analysis.check import STEPS
from gradpath.interpreter.classes import unpatch
from gradpath.interpreter.run import make_machine, run_module
from gradpath.overlays import Overlays
from gradpath.source.cells import bodies
from gradpath.source.document import Document
from gradpath.source.parse import parse


@dataclass(frozen=True)
class Fault:
    """The exception that ends a program: autograd's kind or the class name, and the innermost line (from 1)."""

    kind: str
    line: int


def first_fault(document: Document) -> Fault | None:
    """The first exception that nothing catches when the document runs as a script, on its likeliest path."""
    tree = parse(document).tree
    machine = make_machine(Overlays(), (), tree, document.path, STEPS)
    try:
        run_module(machine, bodies(document, tree))
    finally:
        unpatch(machine)
    for failure in machine.trace.failures():
        kind = failure.exception if failure.error is None else failure.error.kind.value
        return Fault(kind, failure.site.line)
    return None
