"""The programs of the documents, of which a part is hidden: what else that part could be disproves a report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.documents.pages import Block, documents, read_document

from .generate import Program
from .veils import Hidden, veiled
from .worlds import in_world

ROOT = Path(__file__).resolve().parent.parent.parent

NEEDED = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
"""What stands before a program that imports nothing."""


def hidden_programs(seed: int, veils: int) -> Iterator[Program]:
    """The programs of the documents, each behind so many veils; of one with a driver the driver is hidden."""
    for path in documents(ROOT):
        for block in read_document(path, ROOT):
            if isinstance(block, Block) and block.fix_of is None and not block.main.cells:
                yield from _hidden(block, seed, veils)


def _hidden(block: Block, seed: int, veils: int) -> Iterator[Program]:
    name = f"{block.name}:{seed}"
    if len(block.files) == 1 and "__import__" in block.main.text:
        home = block.files[0].name.removesuffix(".py").replace("/", ".")
        yield from _observed(name, block.files[0].text, Hidden(home, (), driver=block.main.text))
    for number in range(0 if block.files else veils):
        random = Random(f"{name}:{number}")
        lines = block.main.text.rstrip("\n").split("\n")
        imports = [line for line in lines if line.startswith(("import ", "from ")) and not line.endswith("(")]
        body = [line for line in lines if line not in imports]
        if not any(body):
            continue
        found = veiled(random, body, random.randint(1, len(body)), {})
        if found is not None:
            head = "\n".join(imports) if imports else NEEDED
            yield from _observed(f"{name}:{number}", "\n".join([head, "", *found[0]]) + "\n", found[1])


def _observed(name: str, text: str, hidden: Hidden) -> Iterator[Program]:
    """The program, unless an exception of no interest leaves it."""
    result = in_world(text, hidden, None)
    if not result.foreign:
        yield Program(name, "hidden", text, result, (), (), hidden)
