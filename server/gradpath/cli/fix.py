"""`--fix`: applies fixes to files, each file written whole or not at all."""

from __future__ import annotations

import io
import os
import tokenize
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import unified_diff
from itertools import pairwise

from gradpath.cli.elsewhere import gathered
from gradpath.cli.notebooks import with_cells_of
from gradpath.cli.run import Checked, check_document, check_file, source_of
from gradpath.cli.writing import UnwritableFile, leads_outside, replace_file
from gradpath.config import Config
from gradpath.diagnostic import Diagnostic, Edit, Level, Safety
from gradpath.features.edits import edited, overlap, still_parses, with_newlines_of
from gradpath.render.report import Problem
from gradpath.source.cells import CellsDocument
from gradpath.source.document import Document
from gradpath.source.notebook import decode_notebook, source_bytes
from gradpath.source.positions import line_starts
from gradpath.support.fast_dataclasses import dataclass, replace

_ROUNDS = 10
_ORDER = (Safety.SAFE, Safety.UNSAFE)


Choice = Callable[[Checked], Iterable[Diagnostic]]
"""Which of the diagnostics of an outcome may be fixed."""


def all_of(checked: Checked) -> Iterable[Diagnostic]:
    """Every diagnostic may be fixed."""
    return checked.diagnostics


@dataclass(frozen=True, slots=True)
class Fixed:
    """A text before and after fixes; `checked` is the outcome for the text after, `count` the fixes in it."""

    before: Document
    after: Document
    checked: Checked
    count: int


def fix_files(
    outcomes: Sequence[Checked],
    walked: Sequence[str],
    configs: Mapping[str, Config],
    allowed: Collection[Safety],
    *,
    write: bool,
    choice: Choice = all_of,
) -> tuple[list[Checked], list[Fixed], list[Problem]]:
    """Fix the files in which something was found: the outcomes after it, what was done, and what cannot be fixed.

    `walked` are the folders that were given. Where nothing is to be written the outcomes are those from before.
    What is not in the `choice` stays as it is.
    """
    after, fixes, problems = list(outcomes), list[Fixed](), list[Problem]()
    for index, checked in enumerate(gathered(outcomes, walked)):
        if any(diagnostic.fixes for diagnostic in choice(checked)):
            try:
                if write and leads_outside(checked.path, walked):
                    raise UnwritableFile("it is a link that leads out of the folders that were named")
                fixed = fix_file(checked.path, configs[checked.path], allowed, checked, write=write, choice=choice)
            except UnwritableFile as error:
                problems.append(Problem(checked.path, f"fixes not applied: {error}"))
                continue
            fixes.append(fixed)
            if fixed.count and write:
                after[index] = fixed.checked
    if write:
        _recheck_dependents(after, configs, {fixed.checked.path for fixed in fixes if fixed.count})
    return after, fixes, problems


def _recheck_dependents(outcomes: list[Checked], configs: Mapping[str, Config], fixed: Collection[str]) -> None:
    """Check the files again that depend on a file that was fixed."""
    changed = {os.path.abspath(path) for path in fixed}
    for index, checked in enumerate(outcomes):
        if not changed.isdisjoint(checked.dependencies):
            outcomes[index] = check_file(checked.path, configs[checked.path], measure=checked.understood is not None)


def fix_document(
    document: Document, config: Config, allowed: Collection[Safety], checked: Checked, choice: Choice = all_of
) -> Fixed:
    """Apply fixes of the `allowed` kinds until none is left; `checked` is the outcome for the document as it is.

    A fix after which the text would not parse is left out, so a text that does not parse stays as it is. Where fixes
    undo each other, the text is left as it was when they first came to it, so that a second run changes nothing.
    """
    current, count = document, 0
    passed: dict[str, Fixed] = {}
    refused: set[tuple[Edit, ...]] = set()
    for _ in range(_ROUNDS):
        after, number = current, 0
        applied: list[Edit] = []
        parts: list[tuple[Edit, ...]] = []
        for diagnostic in choice(checked):
            edits = _edits_for(diagnostic, allowed, current)
            if not edits or edits in refused or any(overlap(edit, other) for edit in edits for other in applied):
                continue
            attempt = edited(current, [*applied, *edits])
            if attempt is None or not still_parses(current, attempt):
                refused.add(edits)
                continue
            after, number = attempt, number + 1
            applied += edits
            parts.append(edits)
        if after.text == current.text:
            break
        passed.setdefault(current.text, Fixed(document, current, checked, count))
        if after.text in passed:
            return passed[after.text]
        rechecked = check_document(after, config)
        if len(parts) > 1 and (_uncovers_more(checked, rechecked) or _gets_less_far(after, current, applied, config)):
            # Each of the fixes holds, but not all of them together: the first one alone, and then what is left.
            after, number = edited(current, parts[0]) or after, 1
            rechecked = check_document(after, config)
            if after.text in passed:
                return passed[after.text]
        if rechecked.problem is not None:
            break
        current, checked, count = after, rechecked, count + number
    return Fixed(document, current, checked, count)


def _uncovers_more(before: Checked, after: Checked) -> bool:
    """True if there are errors of a rule of which there were fewer before."""
    return bool(_errors(after) - _errors(before))


def _gets_less_far(after: Document, before: Document, edits: Sequence[Edit], config: Config) -> bool:
    from gradpath.analysis.fix_validation import gets_less_far  # Imported here, like all that runs analyses.

    return gets_less_far(after, before, edits, config)


def _errors(checked: Checked) -> Counter[str]:
    return Counter(each.rule for each in checked.diagnostics if each.level is Level.ERROR)


def _edits_for(diagnostic: Diagnostic, allowed: Collection[Safety], document: Document) -> tuple[Edit, ...]:
    """The edits of the preferred fix; where unsafe ones are `allowed`, else of the first safe one, or the first.

    A fix that edits other files as well is left to an editor, which can take it back.
    """
    fixes = [
        fix
        for fix in diagnostic.fixes
        if fix.safety in allowed
        and fix.edits
        and (fix.preferred or Safety.UNSAFE in allowed)
        and all(edit.path == document.path for edit in fix.edits)
    ]
    best = min(fixes, key=lambda fix: (not fix.preferred, _ORDER.index(fix.safety)), default=None)
    return tuple(with_newlines_of(document, edit) for edit in best.edits) if best else ()


def fix_file(
    path: str, config: Config, allowed: Collection[Safety], checked: Checked, *, write: bool, choice: Choice = all_of
) -> Fixed:
    """Fix the file that `checked` is the outcome of, and write it; raises `UnwritableFile`."""
    if not os.path.isfile(path):
        raise UnwritableFile("not a regular file")
    try:
        data = source_bytes(path)
        document = source_of(path, data)
    except (OSError, ValueError) as error:
        raise UnwritableFile(str(error)) from error
    if checked.document is None or checked.document.text != document.text:
        checked = check_document(document, config)
    fixed = fix_text(document, data, config, allowed, checked, choice)
    if write:
        write_fixed(path, data, document, fixed)
    return fixed


def fix_text(
    document: Document,
    data: bytes,
    config: Config,
    allowed: Collection[Safety],
    checked: Checked,
    choice: Choice = all_of,
) -> Fixed:
    """Fix a document as `fix_document` does; a notebook's text is that of its file, whose bytes are `data`."""
    fixed = fix_document(document, config, allowed, checked, choice)
    return in_file(fixed, decode_notebook(data)) if isinstance(document, CellsDocument) else fixed


def write_fixed(path: str, data: bytes, document: Document, fixed: Fixed) -> None:
    """Write what was done to a file whose bytes are `data` and whose program is `document`; raises `UnwritableFile`."""
    if fixed.count:
        is_notebook = isinstance(document, CellsDocument)
        text = fixed.after.text
        new_data = text.encode("utf-8") if is_notebook else encode_like(data, document.text, text)
        replace_file(path, data, new_data)


def in_file(fixed: Fixed, text: str) -> Fixed:
    """The edits of the cells of a notebook as edits of its file, whose text is JSON."""
    if not isinstance(fixed.before, CellsDocument) or not isinstance(fixed.after, CellsDocument):
        return fixed
    path = fixed.before.path
    after = with_cells_of(text, fixed.before, fixed.after)
    return replace(fixed, before=Document(path, text), after=Document(path, after))


def encode_like(data: bytes, text: str, new_text: str) -> bytes:
    """`new_text` in the encoding, and with the byte order mark, of `data`, which decodes to `text`."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    try:
        if text.encode(encoding) != data:
            raise UnwritableFile(f"its {encoding} text cannot be written back unchanged")
        return new_text.encode(encoding)
    except UnicodeEncodeError as error:
        raise UnwritableFile(f"{encoding} has no {error.object[error.start]!r}") from error


def difference(fixed: Fixed) -> Iterator[str]:
    """The lines of a unified diff, with their line breaks, which `patch -p0` takes."""
    before, after = _lines(fixed.before.text), _lines(fixed.after.text)
    name = _quoted(fixed.before.path)
    for line in unified_diff(before, after, name, name):
        yield line if line.endswith(("\n", "\r")) else f"{line}\n\\ No newline at end of file\n"


def _quoted(path: str) -> str:
    """A path as git quotes it in a patch, where it holds what would end the line or its name."""
    if path.isprintable() and not set(path) & set('"\\'):
        return path
    data = path.encode("utf-8", "surrogateescape")
    told = (chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}" for byte in data)
    return f'"{"".join(told)}"'


def _lines(text: str) -> list[str]:
    starts = [*line_starts(text), len(text)]
    lines = [text[start:end] for start, end in pairwise(starts)]
    return lines if lines[-1] else lines[:-1]
