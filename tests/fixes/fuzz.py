"""Fixes on random programs: each is applied alone and all together, and the outcome is run under PyTorch.

    PYTHONPATH=.:tests:server python -m tests.fixes.fuzz --count 5000 [--seed 1] [--seconds 600] [--first 0]

A complaint is a fix after which the program does not parse, fails earlier than before or in the same place, or ends in
another kind of exception; and a second `--fix` that finds something to do.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import random
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from oracle.generate import generate
from oracle.observe import FILENAME, Fault, Observation, kind_of
from oracle.observe import observe as observe_once

from gradpath.analysis.check import check
from gradpath.analysis.fix_validation import mended
from gradpath.cli.fix import fix_document
from gradpath.cli.run import check_document
from gradpath.config import Config
from gradpath.diagnostic import Diagnostic, Edit, Fix, Level, Safety
from gradpath.source.document import Document
from gradpath.source.edits import kept_lines
from tests.documents.fixes import UnfitFix, apply_edits

ALL = (Safety.SAFE, Safety.UNSAFE)


@dataclass(frozen=True, slots=True)
class Complaint:
    """A fix that does not hold: the program, the title of the fix, what is wrong, and the text after it."""

    seed: str
    title: str
    reason: str
    before: str
    after: str


def observe(text: str) -> Observation:
    """Run a program; what it leaves to chance comes out alike each time, and where a fix draws numbers before it."""
    random.seed(0)
    lines, drawn = text.splitlines(), Counter[str]()

    def by_place(draw: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        def drawing(*sizes: Any, **options: Any) -> torch.Tensor:
            frame = sys._getframe(1)
            if frame.f_code.co_filename == FILENAME and torch._C._functorch.peek_interpreter_stack() is None:
                line = lines[frame.f_lineno - 1].strip()
                drawn[line] += 1
                seed = zlib.crc32(f"{line} {drawn[line]}".encode())
                options.setdefault("generator", torch.Generator().manual_seed(seed))
            return draw(*sizes, **options)

        return drawing

    with mock.patch.multiple(torch, rand=by_place(torch.rand), randn=by_place(torch.randn)):
        return observe_once(text)


def complaints_about(seed: str, text: str, seen: Counter[str]) -> Iterator[Complaint]:
    """What is wrong with the fixes that are offered for a program; counts what became of them in `seen`."""
    document = Document(FILENAME, text)
    diagnostics = [each for each in mended(check(document)).diagnostics if each.level is not Level.HINT]
    if not any(fix.edits for each in diagnostics for fix in each.fixes):
        return
    before = observe(text)
    for diagnostic in diagnostics:
        for fix in (fix for fix in diagnostic.fixes if fix.edits):
            seen["fixes"] += 1
            seen[f"fixes {fix.safety.value}{' preferred' if fix.preferred else ''}"] += 1
            after, reason = _applied(document, fix)
            reason = reason or _judged(text, after, fix.edits, before, fix.safety, diagnostic, diagnostics)
            if reason:
                seen["complaints"] += 1
                yield Complaint(seed, f"{diagnostic.rule}: {fix.title}", reason, text, after)
            else:
                seen["runs" if observe(after).clean else "a later fault"] += 1
    for allowed in ((Safety.SAFE,), ALL):
        once = fix_document(document, Config(), allowed, check_document(document, Config()))
        again = fix_document(once.after, Config(), allowed, check_document(once.after, Config()))
        if again.count:
            name = "--fix" if len(allowed) == 1 else "--unsafe-fixes"
            yield Complaint(seed, name, "a second application changes more", once.after.text, again.after.text)
        reason = _judged(text, once.after.text, (), before, allowed[-1], None, diagnostics) if once.count else ""
        if reason:
            yield Complaint(seed, "all fixes", reason, text, once.after.text)


def _applied(document: Document, fix: Fix) -> tuple[str, str]:
    try:
        after = apply_edits(document, fix.edits)
        ast.parse(after)
    except (UnfitFix, SyntaxError) as problem:
        return "", f"does not apply or parse: {problem}"
    return after, "changes nothing" if after == document.text else ""


def _judged(
    text: str,
    after: str,
    edits: Sequence[Edit],
    before: Observation,
    safety: Safety,
    diagnostic: Diagnostic | None,
    diagnostics: Sequence[Diagnostic],
) -> str:
    """Why an outcome is not good enough; empty where it is. `diagnostic` is the one that was fixed, of all of them.

    Without `edits` the lines that stay the same are those that both versions have. A fix that is not safe may train
    other numbers, and a condition on these may lead to a fault that was reported before.
    """
    outcome = observe(after)
    if outcome.clean:
        return ""
    if before.clean:
        fault = outcome.fault if safety is Safety.UNSAFE else None
        if fault is not None and _is_anothers(text, after, fault, diagnostic, diagnostics):
            return ""
        return f"raises {outcome.fault or outcome.foreign}, and ran before"
    mine, theirs = _progress(text, after, edits)
    if theirs < mine:
        return f"raises {outcome.fault or outcome.foreign} earlier than {before.fault}"
    if diagnostic is None or before.fault is None or not _tells(diagnostic, before.fault):
        return ""
    if outcome.fault is None or theirs > mine or _is_anothers(text, after, outcome.fault, diagnostic, diagnostics):
        return ""
    return f"raises {outcome.fault}, no later than {before.fault}"


def _tells(diagnostic: Diagnostic, fault: Fault) -> bool:
    """Whether a report is about the exception that a program ends in."""
    lines = {diagnostic.range.start.line, *(label.range.start.line for label in diagnostic.labels)}
    return fault.line in lines and fault.kind == kind_of(RuntimeError(diagnostic.pytorch))


def _is_anothers(
    text: str, after: str, fault: Fault, diagnostic: Diagnostic | None, diagnostics: Sequence[Diagnostic]
) -> bool:
    """Whether what is left is what another report said already, which has fixes of its own."""
    others = {(each.rule, each.range.start.line) for each in diagnostics if each is not diagnostic}
    left = [each for each in check(Document(FILENAME, after)).diagnostics if _tells(each, fault)]
    return any((each.rule, _line_before(text, after, each.range.start.line)) in others for each in left)


def _progress(text: str, after: str, edits: Sequence[Edit]) -> tuple[int, int]:
    """How many lines two versions of a program execute, counting only those that both have, be it in another form.

    What is done about an exception does not count, nor what is run more than once where a `with` or a decorator is: a
    fix may do without it.
    """
    mine, theirs = _leaving(text), _leaving(after)
    pairs = kept_lines(Document(FILENAME, text), edits).items() if edits else _equal_lines(text, after)
    kept = [(one, other) for one, other in pairs if one not in mine and other not in theirs]
    return _executed(text, {one for one, _ in kept}), _executed(after, {other for _, other in kept})


def _equal_lines(text: str, after: str) -> list[tuple[int, int]]:
    matcher = difflib.SequenceMatcher(None, text.splitlines(), after.splitlines(), autojunk=False)
    return [(a + i + 1, b + i + 1) for a, b, size in matcher.get_matching_blocks() for i in range(size)]


def _leaving(text: str) -> set[int]:
    """The lines of `except` clauses, and the first ones of `with` statements and of functions with decorators."""
    lines: set[int] = set()
    for each in ast.walk(ast.parse(text)):
        if isinstance(each, ast.ExceptHandler):
            lines |= set(range(each.lineno, (each.end_lineno or each.lineno) + 1))
        elif isinstance(each, ast.With):
            lines |= set(range(each.lineno, each.body[0].lineno))
        elif isinstance(each, ast.FunctionDef) and each.decorator_list:
            lines |= set(range(each.decorator_list[0].lineno, each.body[0].lineno))
    return lines


def _line_before(text: str, after: str, line: int) -> int | None:
    """Where a line of the text after a fix was before; None for a new one."""
    old, new = text.splitlines(), after.splitlines()
    if len(old) == len(new):
        return line
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if c < line <= d and kind != "insert":
            return min(a + line - c, b)
    return None


def _executed(text: str, lines: set[int]) -> int:
    count = 0

    def trace(frame: object, event: str, _argument: object) -> object:
        nonlocal count
        if getattr(frame, "f_code").co_filename != FILENAME:  # noqa: B009
            return None
        count += event == "line" and getattr(frame, "f_lineno") in lines  # noqa: B009
        return trace

    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        observe(text)
    finally:
        sys.settrace(None)
    return count


def run(seed: int, first: int, count: int, seconds: float) -> tuple[list[Complaint], Counter[str]]:
    """The complaints about a series of programs, which ends early when the time is over."""
    start, seen, found = time.monotonic(), Counter[str](), list[Complaint]()
    for index in range(first, first + count):
        if time.monotonic() - start > seconds:
            break
        mode = ("guided", "unguided", "uncertain")[index % 3]
        program = generate(seed, index, mode)
        seen["programs"] += 1
        found += complaints_about(program.seed, program.text, seen)
    return found, seen


def main() -> int:
    """Run the command; the exit status is 1 where there is a complaint."""
    parser = argparse.ArgumentParser(prog="tests.fixes.fuzz", description="Apply every fix on random programs.")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--show", type=int, default=10)
    options = parser.parse_args()
    found, seen = run(options.seed, options.first, options.count, options.seconds)
    for complaint in found[: options.show]:
        print(f"\n=== {complaint.seed}: {complaint.title}: {complaint.reason}")
        lines = difflib.unified_diff(complaint.before.splitlines(), complaint.after.splitlines(), lineterm="", n=30)
        print("\n".join(lines))
    print(f"\n{len(found)} complaints; {dict(seen)}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
