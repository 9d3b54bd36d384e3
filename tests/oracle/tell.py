"""Prints the figures and the programs."""

from __future__ import annotations

from .compare import Outcome, Tally
from .vocabulary import VOCABULARY


def print_tally(tally: Tally, seconds: float) -> None:
    """Agreement over all and for each kind, errors on clean programs, and the confusions."""
    print(f"{tally.programs} programs, {tally.lines / max(1, tally.programs):.1f} lines each, in {seconds:.1f} s")
    print(f"agree on kind and line: {_share(tally.agreed, tally.programs)}")
    print(f"clean programs without an error report: {_share(tally.clean_without_error, tally.clean)}")
    print(f"failing programs with a report: {_share(tally.failing - tally.unreported, tally.failing)}")
    print(f"analysis: {1000 * tally.seconds / max(1, tally.programs):.2f} ms a program")
    for kind, count in tally.observed.most_common():
        print(f"  {kind:15} {_share(tally.found[kind], count)}")
    for said, count in sorted(tally.told.items()):
        print(f"  told: {said:30} {count:6}")
    for rule, count in tally.needless.most_common():
        print(f"  warned, and no world raises: {rule:30} {count:6}")
    print("confusions (PyTorch -> gradpath):")
    for confusion, outcomes in sorted(tally.examples.items(), key=lambda item: -len(item[1])):
        print(f"  {len(outcomes):5}  {confusion}")


def print_kinds(tally: Tally, seconds: float) -> None:
    """How the programs end."""
    print(f"{tally.programs} programs, {tally.lines / max(1, tally.programs):.1f} lines each, in {seconds:.1f} s")
    for kind, count in tally.observed.most_common():
        print(f"  {kind:15} {_share(count, tally.programs)}")


def print_coverage(tally: Tally, count: int) -> None:
    """How often each family of statements was written, and the statements that were written least."""
    total = sum(tally.used.values())
    rows = sorted(VOCABULARY.statements, key=lambda row: tally.used[row.text])
    families: dict[str, int] = {}
    for row in VOCABULARY.statements:
        families[row.family] = families.get(row.family, 0) + tally.used[row.text]
    for family, number in sorted(families.items(), key=lambda item: -item[1]):
        print(f"  {family:15} {_share(number, total)}")
    unused = [row for row in rows if not tally.used[row.text]]
    print(f"{len(rows) - len(unused)} of {len(rows)} statements were written; the rarest:")
    for row in rows[:count]:
        print(f"  {tally.used[row.text]:5}  {row.text.splitlines()[0]}")


def print_program(title: str, outcome: Outcome) -> None:
    """A program with line numbers, under what each side says."""
    theirs, ours = outcome.program.observation.fault, outcome.verdict.fault
    print("=" * 20, title)
    print("PyTorch:", f"{theirs.kind} in line {theirs.line}" if theirs else "clean", f"  (seed {outcome.program.seed})")
    print("gradpath:", outcome.verdict.crash or (f"{ours.kind} in line {ours.line}" if ours else "clean"))
    for report in outcome.verdict.reports:
        print(f"  report: {report.level} {report.rule} in line {report.line}, lines {report.lines}")
    if (hidden := outcome.program.hidden) is not None:
        print(f"hidden: {hidden.home}, {hidden.call or 'no call'}; disproved in world {outcome.world}")
        for text in (*hidden.definitions, hidden.base):
            print("\n".join(f"      {line}" for line in text.split("\n")))
    for number, line in enumerate(outcome.program.text.rstrip("\n").split("\n"), 1):
        print(f"{number:4}  {line}")


def _share(part: int, whole: int) -> str:
    return f"{part:6} of {whole:6} = {100 * part / max(1, whole):6.2f} %"
