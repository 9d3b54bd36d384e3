"""What a check costs beside `ast.parse` of the same text, in CPU time."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable

from bench.texts import functions, script
from gradpath.analysis.check import check
from gradpath.cli.memory import calm_collector, sweep
from gradpath.names.files import TREES
from gradpath.source.document import Document


def measure() -> dict[str, dict[str, float]]:
    """Milliseconds of the fastest of three runs, by text; a small check before them loads the tables."""
    check(Document("warm.py", "import torch\nx = torch.ones(3, requires_grad=True)\nx.sum().backward()\n"))
    calm_collector()
    texts = {"script of 1000 lines": script(1000), "1000 lines": functions(1000), "5000 lines": functions(5000)}
    return {name: _costs(text) for name, text in texts.items()}


def _costs(text: str) -> dict[str, float]:
    parse = _best(lambda: ast.parse(text))
    cold = _best(lambda: _check_anew(text))
    memory = check(Document("bench.py", text)).memory
    again = _best(lambda: check(Document("bench.py", text + "# an edit\n"), memory=memory))
    return {
        "lines": text.count("\n"),
        "parse ms": round(parse, 1),
        "check ms": round(cold, 1),
        "times parse": round(cold / parse, 1),
        "check after an edit ms": round(again, 1),
    }


def _check_anew(text: str) -> None:
    TREES.drop("bench.py")
    check(Document("bench.py", text))


def _best(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(3):
        sweep()
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best * 1000
