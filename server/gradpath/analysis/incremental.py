"""Incremental checks: the results of entry points that an edit cannot change are kept for the next check.

A document is cut into pieces: its top-level functions and methods, and the code between them. The result of an
entry point depends on the pieces whose functions it ran, on everything that is no function, on how the functions are
declared, and on other files. It is reused where all of that is as before; an entry point that found something also
needs its places and the comments around them to be the same, since diagnostics contain them.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from gradpath.analysis.entry_points import Entry
from gradpath.analysis.mentions import take_over
from gradpath.fixes.lessons import taught
from gradpath.interpreter.events import BackwardRan, Built
from gradpath.interpreter.modules import is_left_out
from gradpath.interpreter.trace import Trace
from gradpath.source.index import contents, inside, names_of, stored_names
from gradpath.source.nodes import BLOCKS, Definition, is_generator
from gradpath.source.reuse import first_line
from gradpath.support.fast_dataclasses import dataclass, field, replace
from gradpath.support.fast_enums import Enum
from gradpath.support.lazy_regex import regex

if TYPE_CHECKING:
    from gradpath.diagnostic import Diagnostic, Gap, Mark, Range
    from gradpath.fixes.lessons import Taught
    from gradpath.names.files import Surroundings
    from gradpath.source.parse import Parsed

MODULE = -1
"""The number of the module body among the entry points; functions count from 0."""

_EVERYTHING = regex(r"\b(?:globals|vars|locals|eval|exec)\(")
"""Code that reads names without spelling them."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The lines of a document from the start of `node` to that of the next piece; `first` counts from 1.

    `torn` says that some of it could not be parsed, so that the text does not determine the tree.
    """

    node: ast.stmt
    owner: str
    first: int
    text: str
    torn: bool

    @property
    def is_function(self) -> bool:
        return isinstance(self.node, Definition)

    @property
    def label(self) -> tuple[str, str, str]:
        """The label of a piece: two documents with the same labels have the same outline."""
        name = self.node.name if isinstance(self.node, (Definition, ast.ClassDef)) else ""
        return type(self.node).__name__ if name else "", self.owner, name


class Change(Enum):
    """The difference between a piece and its earlier version; only the module's own run executes what is `RUN`."""

    NONE = "none"
    COMMENT = "comment"
    BODY = "body"
    RUN = "run"
    NAMES = "names"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a path ended: its uncaught exceptions (file, autograd's kind or the class, line), and how far it got.

    `backwards` ran to their end, and `built` operations were recorded. `truncated` says that a budget ended it.
    `decided` are the lines of the document's undecided branches and how those went, `reached` how often it reached
    each of its lines, and `taught` what was learnt, where that was asked for. `undefined` are names that nothing bound.
    `survived` are the expressions, with their lines, at which it went on after an exception that is not certain.
    """

    failures: tuple[tuple[str, str, int], ...]
    backwards: int
    built: int
    truncated: bool
    decided: tuple[tuple[int, bool], ...] = ()
    reached: Mapping[int, int] = field(default_factory=dict)
    taught: Taught | None = None
    undefined: frozenset[str] = frozenset()
    survived: frozenset[tuple[str, int]] = frozenset()


def ending_of(trace: Trace, path: str = "", statements: Collection[ast.AST] = ()) -> Ending:
    """How a path ended, and which of the `statements` of the document `path` it reached."""
    failures = [
        (each.site.path, each.exception if each.error is None else each.error.kind.value, each.site.line)
        for each in trace.failures()
    ]
    backwards, built = len(trace.of(BackwardRan)), len(trace.of(Built))
    if not statements:
        return Ending(tuple(failures), backwards, built, trace.truncated)
    decided = tuple((each.site.line, each.outcome) for each in trace.decisions if each.site.path == path)
    reached: Counter[int] = Counter()
    for statement, times in trace.visits.items():
        if statement in statements:
            reached[getattr(statement, "lineno", 0)] += times
    lessons, undefined = taught(trace), frozenset(trace.undefined)
    survived = frozenset((ast.unparse(each), getattr(each, "lineno", 0)) for each in trace.survived)
    return Ending(tuple(failures), backwards, built, trace.truncated, decided, reached, lessons, undefined, survived)


@dataclass(frozen=True, slots=True)
class Record:
    """The result of one entry point, and what it depended on.

    The same paths are run with every effort above `least`, up to `most` where there is such a bound. `inside` are the
    pieces with the functions that it ran, `called` the numbers of those functions. `name` is that of the entry point,
    empty for the module body; `endings` says how its paths ended, the likeliest first, or of that one alone.
    `incomplete` are its unchecked parts. It depends on the `whole` document where that was asked about.
    """

    paths: int
    least: int
    most: int | None
    diagnostics: tuple[Diagnostic, ...]
    marks: tuple[Mark, ...]
    unknowns: Mapping[str, int]
    steps: int
    inside: frozenset[int]
    called: frozenset[int]
    name: str
    endings: tuple[Ending, ...]
    incomplete: tuple[Gap, ...]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Memory:
    """The results that a check keeps for the next one."""

    pieces: tuple[Piece, ...]
    records: Mapping[int, Record]
    surroundings: Surroundings
    running: tuple[object, ...]

    def piece_at(self, line: int) -> int:
        """The number of the piece that contains a line; the first for a line above all of them."""
        return max(bisect_right(self.pieces, line, key=lambda piece: piece.first) - 1, 0)

    def away_from(self, lines: Collection[int], running: tuple[object, ...]) -> Memory:
        """The records of the entry points that run nothing in the pieces of some lines, for a check with `running`."""
        near = frozenset(map(self.piece_at, lines))
        far = {
            number: each for number, each in self.records.items() if near.isdisjoint(each.inside) and number != MODULE
        }
        return replace(self, records=far, running=running)

    def entry(self, number: int) -> Entry | None:
        """The entry point with a number; None for the module body."""
        if number == MODULE:
            return None
        function, piece = next(islice(_functions(self.pieces), number, None))
        return Entry(function, self.pieces[piece].owner or None)


@dataclass(slots=True)
class Reuse:
    """One check's view of what is known already, and of what it adds for the next one."""

    pieces: tuple[Piece, ...]
    functions: Sequence[Definition]
    numbers: Mapping[ast.AST, int]
    places: Sequence[int]
    """The piece that each function lies in, by its number."""
    before: Memory | None
    changes: tuple[Change, ...] = ()
    moved: bool = False
    changed_names: frozenset[str] = frozenset()
    mentioning: frozenset[int] | None = None
    """The pieces that mention those names, computed on demand; `MODULE` represents all that are not functions."""
    records: dict[int, Record] = field(default_factory=dict)

    def known(self, number: int, paths: int, effort: int) -> Record | None:
        """The result of an entry point, where nothing has changed that it depends on."""
        record = None if self.before is None else self.before.records.get(number)
        if record is None or record.paths != paths or effort <= record.least:
            return None
        if record.most is not None and effort > record.most:
            return None
        if number == MODULE and Change.RUN in self.changes:
            return None
        changes = self.changes if record.whole else [self.changes[index] for index in record.inside]
        if any(change not in (Change.NONE, Change.COMMENT) for change in changes):
            return None
        if record.diagnostics and not self._is_the_same_to_a_reader(record):
            return None
        if self.changed_names and self._mentions(record):
            return None
        if self.moved and (record.marks or record.incomplete):
            marks = tuple(each.moved(self._distance(each.range)) for each in record.marks)
            incomplete = tuple(each.moved(self._distance(each.range)) for each in record.incomplete)
            record = replace(record, marks=marks, incomplete=incomplete)
        self.records[number] = record
        return record

    def _distance(self, place: Range) -> int:
        """How many lines the piece with a place of the earlier check has moved down."""
        assert self.before is not None
        index = self.before.piece_at(place.start.line)
        return self.pieces[index].first - self.before.pieces[index].first

    def _is_the_same_to_a_reader(self, record: Record) -> bool:
        if self.moved or not {Change.BODY, Change.RUN, Change.NAMES}.isdisjoint(self.changes):
            return False
        return all(
            change is Change.NONE
            for index, (change, piece) in enumerate(zip(self.changes, self.pieces, strict=True))
            if index in record.inside or not piece.is_function
        )

    def _mentions(self, record: Record) -> bool:
        """True if anything that an entry point depends on speaks of a name that means something else now."""
        if self.mentioning is None:
            names = re.compile(r"\b(?:" + "|".join(map(re.escape, sorted(self.changed_names))) + r")\b")
            self.mentioning = frozenset(
                index if piece.is_function else MODULE
                for index, piece in enumerate(self.pieces)
                if self.changes[index] is not Change.NAMES
                and (names.search(piece.text) or _EVERYTHING.search(piece.text))
            )
        return MODULE in self.mentioning or not self.mentioning.isdisjoint(record.inside)

    def pieces_of(self, functions: Collection[ast.AST]) -> frozenset[int]:
        """The pieces that functions at the top of the document lie in."""
        return frozenset(self.places[self.numbers[each]] for each in functions if each in self.numbers)

    def numbers_of(self, functions: Collection[ast.AST]) -> frozenset[int]:
        return frozenset(self.numbers[each] for each in functions if each in self.numbers)

    def functions_of(self, numbers: Collection[int]) -> Iterator[ast.AST]:
        """The functions with these numbers in the document as it is now."""
        return (self.functions[number] for number in numbers)

    def memory(self, surroundings: Surroundings, running: tuple[object, ...]) -> Memory:
        return Memory(self.pieces, self.records, surroundings, running)


def compare(
    parsed: Parsed, before: Memory | None, running: tuple[object, ...], surroundings: Callable[[Surroundings], bool]
) -> Reuse | None:
    """The part of an earlier check that can be reused; None where the document cannot be cut into pieces.

    `running` is what all entry points depend on besides, and `surroundings` says whether other files are as they were.
    """
    pieces = tuple(_pieces(parsed))
    if any(one.first >= other.first for one, other in pairwise(pieces)):
        return None
    found = list(_functions(pieces))
    functions = [function for function, _ in found]
    numbers: dict[ast.AST, int] = {function: number for number, function in enumerate(functions)}
    reuse = Reuse(pieces, functions, numbers, [place for _, place in found], None)
    if before is None or before.running != running or len(before.pieces) != len(pieces):
        return reuse
    changes: list[Change] = []
    names: set[str] = set()
    for old, new in zip(before.pieces, pieces, strict=True):
        changes.append(_change(old, new))
        if changes[-1] is Change.ALL:
            return reuse
        if changes[-1] is Change.NAMES:
            names.update(name for name, _ in _bound(old.node) ^ _bound(new.node))
    if not surroundings(before.surroundings):
        return reuse
    reuse.before, reuse.changes, reuse.changed_names = before, tuple(changes), frozenset(names)
    reuse.moved = any(old.first != new.first for old, new in zip(before.pieces, pieces, strict=True))
    return reuse


def _pieces(parsed: Parsed) -> Iterator[Piece]:
    document = parsed.document
    starts: list[tuple[ast.stmt, str]] = []
    for statement in parsed.tree.body:
        starts.append((statement, ""))
        if isinstance(statement, ast.ClassDef):
            within = False
            for each in statement.body:
                if isinstance(each, Definition) or within:
                    starts.append((each, statement.name))
                    within = True
    firsts = [first_line(node) for node, _ in starts]
    ends = [*firsts[1:], document.line_count + 1][: len(firsts)]
    for (node, owner), first, end in zip(starts, firsts, ends, strict=True):
        text = document.text[document.offset_of_line(first) : document.offset_of_line(end)]
        torn = bool(parsed.problems) and any(
            first <= each.range.end.line and each.range.start.line < end for each in parsed.problems
        )
        yield Piece(node, owner, first, text, torn)


def _functions(pieces: Sequence[Piece]) -> Iterator[tuple[Definition, int]]:
    """The functions in the order of their numbers, each with the number of its piece."""
    for index, piece in enumerate(pieces):
        for function in (piece.node,) if isinstance(piece.node, Definition) else _inside(piece.node):
            yield function, index


def _inside(node: ast.stmt) -> Iterator[Definition]:
    """The functions of a piece that is none: those under an `if`, for instance, and those in classes there."""
    if isinstance(node, ast.ClassDef):
        return
    inside: list[ast.AST] = [node]
    for each in inside:
        if isinstance(each, Definition):
            yield each
        for name in BLOCKS:
            inside += getattr(each, name, ())


def _change(old: Piece, new: Piece) -> Change:
    if old.label != new.label:
        return Change.ALL
    same = old.text == new.text
    if same and not old.torn and not new.torn:
        take_over(new.node, old.node)
        return Change.NONE
    # Diagnostics depend on what is torn, though the tree may be the same.
    comparable = old.first == new.first and old.torn is new.torn and (same or not new.torn)
    if comparable and _are_same(_whole(old), _whole(new)):
        return Change.NONE if same else Change.COMMENT
    if isinstance(old.node, Definition) and isinstance(new.node, Definition):
        return Change.BODY if _declared(old.node) == _declared(new.node) else Change.ALL
    if _is_only_run(old.node) and _is_only_run(new.node) and _spoken_of(old.node) == _spoken_of(new.node):
        return Change.RUN
    return Change.NAMES if _only_binds(old.node) and _only_binds(new.node) else Change.ALL


def _is_only_run(node: ast.stmt) -> bool:
    """True for a statement that is left out where a function is entered, and that defines nothing itself."""
    return is_left_out(node) and not inside(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _spoken_of(node: ast.stmt) -> tuple[set[str], ...]:
    """The variables that a statement reads, those that it binds, and what it calls by a name."""
    called = {each.func.id for each in contents(node).calls if isinstance(each.func, ast.Name)}
    return names_of(node), stored_names(node), called


def _whole(piece: Piece) -> list[ast.AST]:
    """The nodes of a piece; the functions of a class are pieces of their own."""
    node = piece.node
    if isinstance(node, ast.ClassDef) and not piece.owner:
        first = next((index for index, each in enumerate(node.body) if isinstance(each, Definition)), len(node.body))
        return [*node.decorator_list, *node.bases, *node.keywords, *node.body[:first]]
    return [node]


def _are_same(one: object, other: object) -> bool:
    """True if two parts of trees are the same, their places included."""
    todo = [(one, other)]
    while todo:
        one, other = todo.pop()
        if one is other:
            continue
        if type(one) is not type(other):
            return False
        if isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            todo.extend(zip(one, other, strict=True))
        elif isinstance(one, ast.AST):
            # Not all of `vars`, which hold what is noted of a node besides.
            names = (*one._fields, *one._attributes)
            todo.extend((getattr(one, name, None), getattr(other, name, None)) for name in names)
        elif one != other:
            return False
    return True


def _declared(node: Definition) -> tuple[object, ...]:
    """The declaration of a function: all that code which does not run it can see."""
    decorators = [ast.dump(each) for each in node.decorator_list]
    return type(node), node.name, ast.dump(node.args), decorators, is_generator(node)


def _only_binds(node: ast.stmt) -> bool:
    """True if a statement does nothing but give names a meaning that nothing else depends on."""
    match node:
        case ast.Import():
            return True
        case ast.ImportFrom(names=names):
            return all(alias.name != "*" for alias in names)
        case ast.Assign(targets=[ast.Name()], value=ast.Constant()):
            return True
    return False


def _bound(node: ast.stmt) -> frozenset[tuple[str, str]]:
    """The names that a statement binds, each with what it comes to mean."""
    match node:
        case ast.Import(names=names):
            return frozenset((alias.asname or alias.name.partition(".")[0], alias.name) for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            source = "." * level + (module or "")
            return frozenset((alias.asname or alias.name, f"{source} {alias.name}") for alias in names)
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return frozenset([(name, ast.dump(value))])
    return frozenset()
