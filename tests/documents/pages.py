"""The programs of a document: the `py` blocks of a Markdown page, or a whole Python file."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from gradpath.source.notebook import read_notebook
from tests.documents.claims import annotated
from tests.documents.grammar import (
    Claim,
    Fact,
    Malformed,
    Note,
    Place,
    Raise,
    Report,
    Source,
    read_source,
    reason_of_gap,
)

ENTRY = "train.py"
"""The file that is run, in a folder that holds a program of several files."""


@dataclass(frozen=True, slots=True)
class Block:
    """One test: the program `main`, the files it imports, and what is claimed of them.

    `place` is where the program begins. `fix_of` is set for a `fixed` block: the block whose fix
    must produce this one; `fix_title` then chooses among its fixes.
    """

    name: str
    place: Place
    main: Source
    files: tuple[Source, ...] = ()
    known_gap: str | None = None
    fix_of: Block | None = None
    fix_title: str | None = None

    @property
    def sources(self) -> tuple[Source, ...]:
        """All files of the program, the one that is run last."""
        return (*self.files, self.main)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of all files."""
        return tuple(claim for source in self.sources for claim in source.claims)

    @property
    def reports(self) -> tuple[Report, ...]:
        return tuple(claim for claim in self.claims if isinstance(claim, Report))

    @property
    def notes(self) -> tuple[Note, ...]:
        return tuple(claim for claim in self.claims if isinstance(claim, Note))

    @property
    def raises(self) -> tuple[Raise, ...]:
        return tuple(claim for claim in self.claims if isinstance(claim, Raise))

    @property
    def facts(self) -> tuple[Fact, ...]:
        return tuple(claim for claim in self.claims if isinstance(claim, Fact))


@dataclass(frozen=True, slots=True)
class Broken:
    """A place of a document that does not keep to the grammar: a test that fails with `message`."""

    name: str
    place: Place
    message: str


@dataclass(frozen=True, slots=True)
class _Fence:
    line: int  # of the opening fence
    info: str
    text: str
    section: tuple[str, ...]
    prose: str  # the line of prose directly before it


def documents(root: Path) -> list[Path]:
    """All documents of the project that are tests; a folder stands for the program of several files in it."""
    scripts = [*(root / "tests" / "cases").rglob("*.py"), *(root / "samples").rglob("*.py")]
    notebooks = [*(root / "tests" / "cases").rglob("*.ipynb"), *(root / "samples").rglob("*.ipynb")]
    programs = {script.parent for script in scripts if script.name == ENTRY}
    single = [script for script in scripts if not programs & set(script.parents)]
    return [
        *(root / "server").glob("GLOSSARY.md"),
        *sorted((root / "server" / "gradpath" / "rules").glob("*.md")),
        *sorted((root / "tests" / "cases").rglob("*.md")),
        *sorted([*single, *notebooks, *programs]),
    ]


def read_document(path: Path, root: Path) -> list[Block | Broken]:
    """The tests of one document in reading order, each with a name of its own."""
    shown = path.relative_to(root).as_posix()
    if path.suffix == ".md":
        return _with_distinct_names(list(_page(shown, path.read_text(encoding="utf-8"))))
    if path.suffix in (".py", ".ipynb"):
        return [_program(shown, {path.name: path}, root)]
    files = {file.relative_to(path).as_posix(): file for file in sorted(path.rglob("*.py")) if file != path / ENTRY}
    return [_program(shown, {**files, ENTRY: path / ENTRY}, root)]


def _program(shown: str, files: Mapping[str, Path], root: Path) -> Block | Broken:
    """The test of a program whose files are given by their names in it, the one that is run last."""
    sources: list[Source] = []
    for name, file in files.items():
        document = file.relative_to(root).as_posix()
        try:
            sources.append(_source(name, file, document))
        except Malformed as problem:
            return Broken(_short(shown), Place(document, problem.line), problem.message)
    gap = next((source.known_gap for source in sources if source.known_gap is not None), None)
    main = sources[-1]
    return Block(_short(shown), Place(main.path, 1), main, tuple(sources[:-1]), gap)


def _source(name: str, file: Path, shown: str) -> Source:
    if file.suffix != ".ipynb":
        return read_source(name, annotated(file), shown)
    notebook = read_notebook(file)
    source = read_source(name, annotated(file), shown)
    cells = tuple(notebook.cells[notebook.index_at(line)].number for line in source.lines)
    return replace(source, cells=cells)


def _page(shown: str, text: str) -> Iterator[Block | Broken]:
    short = _short(shown)
    before: Block | None = None
    before_section: tuple[str, ...] = ()
    files: list[Source] = []
    for fence in _fences(text):
        name = ":".join((short, *(_slug(heading) for heading in fence.section)))
        try:
            kind = _kind(fence)
            if kind is None:
                continue
            source = read_source(kind.file or "example.py", fence.text, shown, fence.line + 1, prelude=True)
        except Malformed as problem:
            yield Broken(name, Place(shown, problem.line), problem.message)
            continue
        if kind.file is not None:
            files.append(source)
            continue
        gap = reason_of_gap(fence.prose) or source.known_gap
        place = Place(shown, fence.line)
        if not kind.fixed:
            before = Block(name, place, source, tuple(files), gap)
            before_section, files = fence.section, []
            yield before
        elif before is None or before_section != fence.section:
            yield Broken(name, place, "no block under this heading comes before the fixed one")
        elif before.files:
            yield Broken(name, place, "a fixed block belongs to a program of one file")
        else:
            name = f"{before.name}:fixed"
            yield Block(name, place, source, (), gap, fix_of=before, fix_title=kind.title)
    if files:
        yield Broken(f"{short}:{files[0].name}", files[0].place_of(1), "no block follows that uses this file")


@dataclass(frozen=True, slots=True)
class _Kind:
    fixed: bool = False
    title: str | None = None
    file: str | None = None


def _kind(fence: _Fence) -> _Kind | None:
    """What the info string of a fence asks for; None for a block that is no program."""
    try:
        words = shlex.split(fence.info)
    except ValueError:
        raise Malformed(fence.line, f"cannot read {fence.info!r}") from None
    match words:
        case ["py"]:
            return _Kind()
        case ["py", "fixed"]:
            return _Kind(fixed=True)
        case ["py", "fixed", title]:
            return _Kind(fixed=True, title=title)
        case ["py", file] if file.startswith("file=") and file.endswith(".py"):
            return _Kind(file=file.removeprefix("file="))
        case ["py", *_]:
            raise Malformed(fence.line, f"unknown kind of block: {fence.info!r}")
        case ["python" | "python3" | "Python", *_]:
            raise Malformed(fence.line, "write `py`: every Python block is run")
        case _:
            return None


def _fences(text: str) -> Iterator[_Fence]:
    headings: list[tuple[int, str]] = []
    prose = ""
    opening: re.Match[str] | None = None
    opened_at = 0
    body: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if opening is not None:
            if re.fullmatch(rf"`{{{len(opening[1])},}}\s*", line):
                section = tuple(title for level, title in headings if level > 1)
                yield _Fence(opened_at, opening[2].strip(), "".join(f"{row}\n" for row in body), section, prose)
                opening, prose, body = None, "", []
            else:
                body.append(line)
        elif found := re.match(r"(`{3,})([^`]*)$", line):
            opening, opened_at = found, number
        elif found := re.match(r"(#{1,6})\s+(.*\S)", line):
            level = len(found[1])
            headings = [heading for heading in headings if heading[0] < level] + [(level, found[2])]
            prose = ""
        elif line.strip():
            prose = line
    if opening is not None:
        yield _Fence(opened_at, "py never closed", "", (), "")


def _short(shown: str) -> str:
    return shown.removeprefix("tests/cases/").removeprefix("server/gradpath/")


def _slug(heading: str) -> str:
    return re.sub(r"[^\w.]+", "-", heading.lower()).strip("-")


def _with_distinct_names(found: list[Block | Broken]) -> list[Block | Broken]:
    seen: Counter[str] = Counter()
    distinct: list[Block | Broken] = []
    for item in found:
        seen[item.name] += 1
        count = seen[item.name]
        distinct.append(item if count == 1 else replace(item, name=f"{item.name}:{count}"))
    return distinct
