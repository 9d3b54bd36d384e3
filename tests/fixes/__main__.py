"""The command: try every fix on the faulty programs of the project, and count what they are good for.

    PYTHONPATH=.:server python -m tests.fixes [--only PART] [--records FOLDER] [--show]

Prints one line a program and a table; the exit status is 1 where a fix breaks a program.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gradpath.diagnostic import Safety
from tests.documents.pages import Block, documents, read_document
from tests.documents.pytorch import OutOfTime, outcome_of, time_limit
from tests.fixes.trial import End, Trial, reported, run_texts, trials

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS = 60
WHOLE_PROGRAMS = ("tests/cases/corpus/", "samples/faulty/")


@dataclass(frozen=True, slots=True)
class Row:
    """A faulty program and the trials of its fixes."""

    block: Block
    raises: bool
    trials: tuple[Trial, ...]

    @property
    def whole(self) -> bool:
        """Whether it is a whole script, not a block of a page."""
        return self.block.place.path.startswith(WHOLE_PROGRAMS)


def row_of(block: Block, records: Path | None) -> Row:
    """Try the fixes of a block."""
    before = outcome_of(block.sources, (), records)
    return Row(block, before.raised is not None, tuple(trials(block, records)))


def _chain(block: Block, records: Path | None) -> str:
    """How a program ends after the preferred fix of the first report that has one, again and again."""
    from tests.fixes.trial import edited

    texts = {source.name: source.text for source in block.sources}
    for count in range(10):
        fixes = [fix for each in reported(texts) for fix in each.fixes if fix.edits and fix.preferred]
        if not fixes:
            raised = run_texts(block, texts, records).raised
            return f"{'runs' if raised is None else 'raises ' + raised.message[:60]} after {count}"
        texts = edited(texts, fixes[0].edits)
    return "no end"


def faulty_blocks(part: str) -> list[Block]:
    """The programs of the project that gradpath reports something of."""
    blocks: list[Block] = []
    for path in documents(ROOT):
        if part in str(path.relative_to(ROOT)):
            found = [each for each in read_document(path, ROOT) if isinstance(each, Block) and each.reports]
            blocks += [each for each in found if each.fix_of is None and each.known_gap is None]
    return blocks


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="tests.fixes", description="Try every fix under PyTorch.")
    parser.add_argument("--only", default="", metavar="PART", help="only documents with this in their path")
    parser.add_argument("--records", type=Path, metavar="FOLDER", help="remember runs of PyTorch here")
    parser.add_argument("--show", action="store_true", help="show the texts after fixes that break a program")
    options = parser.parse_args()
    if options.records is not None:
        options.records.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    rows: list[Row] = []
    chains: dict[str, str] = {}
    for block in faulty_blocks(options.only):
        try:
            with time_limit(SECONDS):
                row = row_of(block, options.records)
                chains[block.name] = _chain(block, options.records)
        except OutOfTime as problem:
            print(f"{block.name}: {problem}")
            continue
        rows.append(row)
        _print_row(row, chains[block.name], show=options.show)
    _print_table("whole programs", [row for row in rows if row.whole], chains)
    _print_table("whole programs that raise", [row for row in rows if row.whole and row.raises], chains)
    _print_table("blocks of pages", [row for row in rows if not row.whole], chains)
    _print_table("blocks of pages that raise", [row for row in rows if not row.whole and row.raises], chains)
    print(f"{time.monotonic() - start:.0f} s")
    return int(any(trial.end in (End.BROKEN, End.OTHER_FAULT) for row in rows for trial in row.trials))


def _print_row(row: Row, chain: str, *, show: bool) -> None:
    rules = ",".join(dict.fromkeys(each.rule for each in row.block.reports))
    print(f"{row.block.name} [{rules}] {'raises' if row.raises else 'silent'}; chain: {chain}")
    for trial in row.trials:
        marks = ("*" if trial.fix.preferred else " ") + trial.fix.safety.value[0]
        state = (
            trial.end.value
            + ("" if trial.cleared else ", not cleared")
            + (f", left {trial.left}" if trial.left else "")
            + (f", CHANGED: {trial.changed}" if trial.changed else "")
        )
        print(f"   {marks} {trial.fix.title}: {state} {trial.detail}")
        if show and not trial.helps:
            print("\n".join(f"      | {line}" for text in trial.texts.values() for line in text.splitlines()))


def _print_table(title: str, rows: Sequence[Row], chains: Mapping[str, str]) -> None:
    if not rows:
        return
    some = sum(any(trial.helps for trial in row.trials) for row in rows)
    preferred = sum(any(trial.helps and trial.fix.preferred for trial in row.trials) for row in rows)
    ended = [chains[row.block.name] for row in rows]
    chained = sum(each.startswith("runs after ") and not each.endswith(" 0") for each in ended)
    ends = Counter(trial.end.value for row in rows for trial in row.trials)
    print(f"\n{title}: {len(rows)}")
    print(f"  a fix after which it runs, report gone:  {some} ({some / len(rows):.1%})")
    print(f"  a preferred one:                         {preferred} ({preferred / len(rows):.1%})")
    print(f"  runs after all preferred ones in turn:   {chained} ({chained / len(rows):.1%})")
    safe = [trial for row in rows for trial in row.trials if trial.fix.safety is Safety.SAFE]
    kept = sum(not trial.changed for trial in safe)
    print(f"  safe fixes that keep all numbers:        {kept} of {len(safe)}")
    print("  fixes: " + ", ".join(f"{end} {count}" for end, count in ends.most_common()))


if __name__ == "__main__":
    sys.exit(main())
