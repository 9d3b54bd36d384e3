"""The index of the corpus: its pairs of programs by the rule that reports the faulty one.

PYTHONPATH=tests:server:. python -m documents.index      writes tests/cases/corpus/INDEX.md
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

CORPUS = Path(__file__).resolve().parents[1] / "cases" / "corpus"
INDEX = CORPUS / "INDEX.md"

FAULTY = "_faulty"
_REPORT = re.compile(r"# (?:error|warning): \[([a-z-]+)\]")
_HEAD = """# Index of the corpus

The pairs by the first rule that reports the faulty program. `python -m documents.index` writes this page.
"""


def rule_of(program: Path) -> str:
    """The first rule that a program claims to break; "no report" for a fault that gradpath does not report."""
    files = sorted(program.rglob("*.py")) if program.is_dir() else [program]
    found = (_REPORT.search(file.read_text("utf-8")) for file in files)
    return next((match[1] for match in found if match is not None), "no report")


def index() -> str:
    """The page."""
    pairs: dict[str, list[str]] = defaultdict(list)
    for program in sorted(CORPUS.iterdir()):
        if program.stem.endswith(FAULTY):
            right = program.name.replace(FAULTY, "_right")
            other = f" ([right]({right}))" if (CORPUS / right).exists() else ""
            name = program.stem.removesuffix(FAULTY).replace("_", " ")
            pairs[rule_of(program)].append(f"- [{name}]({program.name}){other}")
    parts = [_HEAD.rstrip()]
    for rule, lines in sorted(pairs.items()):
        parts.append(f"## {rule} ({len(lines)})\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    INDEX.write_text(index(), encoding="utf-8")
