"""A program in the making: its lines, the names in scope, and the engine that fills templates.

A template is text with placeholders: `{KIND:MODE=LABEL}`, `{=LABEL}` (that text again), `<<a|b|c>>` (one of these).
Kinds are S, V, M (tensors of shape (), (3,), (3, 3)), T (any of the three, decided when the tables are read), and those
of the vocabulary. Modes: none (an expression, in brackets where needed), `raw` (without), `op` (raw, and not a bare
name), `whole` (that, in brackets), `var` (a name), `graph` (a name likely on a graph), `param` (a leaf), `mid` (not a
leaf), `own` (a name that may be assigned here; also `ownmid`, `ownparam`), `new` (a target: an old or a fresh name),
`fresh` (a target that is new), `leaf` and `const` (fresh, and a leaf or a constant), `arg` (a parameter of the function
whose header this is).

Lines: `{block}` becomes statements; `? ` before a line means perhaps; `+` before a header means that the names bound in
its body live on. Directives: `@name KIND PATH ROLE` (a path that can be used as a name), `@call KIND TEMPLATE` (a new
way to make an expression), `@do TEMPLATE` (a new statement), `@drop NAME`, `@let PLACEHOLDER` (a label, and no line),
`@maybe CONDITION` (the text of a condition that the source does not settle).
"""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from random import Random

PLACEHOLDER = re.compile(r"\{(?:(\w+)(?::(\w+))?(?:=(\w+))?|=(\w+))\}")
CHOICE = re.compile(r"<<((?:(?!<<|>>).)*)>>")
DIRECTIVE = re.compile(r"^@(let|name|call|do|drop|maybe) ")
BLOCK = re.compile(r"^\{block(?::(\d))?\}$")
CUTS = re.compile(r"\.(detach|data|item|tolist|argmax|grad)\b|_like\(")
WORD = re.compile(r"[A-Za-z_][\w.]*(?<!\.)")
LEAVES = re.compile(r"\b(break|continue)\b")
LOOPS = re.compile(r"\b(for|while)\b")
JOINED = re.compile(r"(elif|else|except|finally|case|def|class|while)\b|@")
NETS = ("net", "linear", "cell", "rnn", "lstm", "lstmcell", "carrier", "heads", "teller")
INDENT = "    "


class Inapplicable(Exception):
    """A template asks for a name of a kind that is not in scope."""


@dataclass(frozen=True, slots=True)
class Template:
    """A text with placeholders; `family` is what a program's taste weighs."""

    family: str
    weight: float
    text: str


@dataclass(frozen=True, slots=True)
class Name:
    """A name or path in scope: the kind of its value, and its role (`param`, `graph`, `const`, `mid`)."""

    kind: str
    role: str


@dataclass(frozen=True, slots=True)
class Frame:
    """The names of one function body or of the module."""

    names: Mapping[str, Name] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class State:
    """All of a draft that a rewind puts back."""

    lines: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = (Frame(),)
    calls: tuple[Template, ...] = ()
    statements: tuple[Template, ...] = ()
    conditions: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    loops: int = 0


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What the engine needs to know of the tables.

    `expressions` by kind; `statements` at any place; `literals` by kind (texts that need no scope); `names` by kind
    (what a fresh name is called); `fallback` by kind (an expression where nothing is in scope); `bridges` by kind (the
    same, made of a name of another kind); `shares` are the parts that the families have of an average program;
    `makers` by kind are statements that make a name where one is missing.
    """

    expressions: Mapping[str, Sequence[Template]]
    statements: Sequence[Template]
    literals: Mapping[str, Sequence[str]]
    names: Mapping[str, Sequence[str]]
    fallback: Mapping[str, str]
    bridges: Mapping[str, Sequence[tuple[str, str]]]
    shares: Mapping[str, float]
    makers: Mapping[str, str]


class Draft:
    """A program that grows by filled templates; every choice comes from `random`."""

    def __init__(
        self,
        random: Random,
        vocabulary: Vocabulary,
        taste: Callable[[str], float],
        reuse: float = 0.4,
        depth: int = 2,
    ) -> None:
        """`taste` is the factor by which this program favours a family of templates.

        `reuse` is the chance that an assignment goes to an old name; `depth` is that of the expressions.
        """
        self.random = random
        self.vocabulary = vocabulary
        self.state = State()
        self.depth = 0
        self._taste: dict[str, float] = {}
        self._sums: dict[str, list[float]] = {}
        self._families = sorted(vocabulary.shares)
        self._by_family: dict[str, list[Template]] = defaultdict(list)
        for row in vocabulary.statements:
            self._by_family[row.family].append(row)
        self._tasted = taste
        self._expression_depth = depth
        self._reuse = reuse
        self._joined = False
        self.muted = 0

    # -- state -------------------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The program so far, with a line end."""
        return "\n".join(self.state.lines) + "\n"

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random.random() < probability

    def emit(self, line: str) -> None:
        """Append a line at the present depth."""
        self.state = replace(self.state, lines=(*self.state.lines, (INDENT * self.depth + line).rstrip()))

    def used(self) -> Counter[str]:
        """How often each template was used."""
        return Counter(self.state.used)

    def visible(self) -> dict[str, Name]:
        """All names that can be read here, inner frames first."""
        found: dict[str, Name] = {}
        for frame in self.state.frames:
            found.update(frame.names)
        return found

    def bind(self, name: str, kind: str, role: str) -> None:
        """Put a name into the innermost frame."""
        frames = self.state.frames
        names = dict(frames[-1].names)
        names.pop(name, None)
        names[name] = Name(kind, role)
        self.state = replace(self.state, frames=(*frames[:-1], Frame(names)))

    def drop(self, name: str) -> None:
        """Forget a name and the paths through it."""
        frames = self.state.frames
        names = {n: v for n, v in frames[-1].names.items() if n != name and not n.startswith((name + ".", name + "["))}
        self.state = replace(self.state, frames=(*frames[:-1], Frame(names)))

    # -- names -------------------------------------------------------------------------------------------------------

    def pick(self, kind: str, mode: str) -> str:
        """A name of this kind; the later it was bound, the likelier."""
        here = self.state.frames[-1].names
        found = [n for n, v in self.visible().items() if v.kind == kind and _suits(n, v, mode)]
        if mode.startswith("own"):
            found = [n for n in found if n in here or "." in n]
        if not found:
            raise Inapplicable(f"{kind}:{mode}")
        if mode in ("graph", "var", "mid", "ownmid"):
            scope = self.visible()
            live = [n for n in found if scope[n].role == "graph"]
            if live and self.chance(0.9 if mode == "graph" else 0.4):
                found = live
        place = int(len(found) * math.sqrt(self.random.random()))
        return found[min(place, len(found) - 1)]

    def role_of(self, line: str, role: str) -> str:
        """`graph` for what a line makes of tensors that seem to require grad; a guess that only steers choices."""
        if role != "mid" or self.muted or CUTS.search(line):
            return role
        scope = self.visible()
        words = set(WORD.findall(line.partition("=")[2] or line))
        names = [scope[word] for word in words if word in scope]
        live = any(name.role in ("param", "graph") or name.kind in NETS for name in names)
        return "graph" if live or "requires_grad=True" in line else role

    def fresh(self, kind: str) -> str:
        """A name that nothing in scope has."""
        taken = {n for f in self.state.frames for n in f.names}
        pool = self.vocabulary.names.get(kind, (kind,))
        base = self.random.choice(list(pool))
        if base not in taken:
            return base
        number = 2
        while f"{base}{number}" in taken:
            number += 1
        return f"{base}{number}"

    # -- expressions -------------------------------------------------------------------------------------------------

    def expression(self, kind: str, depth: int, bare: bool = True) -> str:
        """An expression of this kind; `bare` allows a mere name."""
        literals = self.vocabulary.literals.get(kind)
        if literals is not None:
            return self.random.choice(list(literals))
        if bare and (depth <= 0 or self.chance(0.55)):
            try:
                return self.pick(kind, "var")
            except Inapplicable:
                if depth <= -1 and kind in self.vocabulary.fallback:
                    return self._last_resort(kind)
        rows = self.vocabulary.expressions.get(kind, ())
        made = [c for c in self.state.calls if c.family == kind]
        if not rows and not made:
            try:
                return self.pick(kind, "var")
            except Inapplicable:
                return self._made(kind)
        for _ in range(12):
            row = self.choose(kind, rows, made)
            mark = self.state
            try:
                return self.substitute(row.text, depth - 1, {}, [])
            except Inapplicable:
                self.state = mark
        if kind in self.vocabulary.fallback:
            return self._last_resort(kind)
        raise Inapplicable(kind)

    def _last_resort(self, kind: str) -> str:
        """Something made of a name of another shape where there is one, so that graphs hang together."""
        for other, text in self.vocabulary.bridges.get(kind, ()):
            if self.chance(0.5):
                try:
                    return text.format(self.pick(other, "var"))
                except Inapplicable:
                    continue
        return self.vocabulary.fallback[kind]

    def choose(self, key: str, rows: Sequence[Template], made: Sequence[Template]) -> Template:
        """One of the rows of a table, or of what this program has defined, by weight and taste."""
        if key not in self._sums:
            self._sums[key] = list(accumulate(row.weight * self.taste(row.family) for row in rows))
        sums = self._sums[key]
        weights = [row.weight * self.taste(row.family) for row in made]
        total = sums[-1] if sums else 0.0
        if self.random.random() * (total + sum(weights)) < total:
            return self.random.choices(rows, cum_weights=sums)[0]
        return self.random.choices(made, weights)[0]

    def taste(self, family: str) -> float:
        """How much this program likes a family."""
        if family not in self._taste:
            self._taste[family] = self._tasted(family)
        return self._taste[family]

    def substitute(self, text: str, depth: int, labels: dict[str, str], bound: list[tuple[str, str, str]]) -> str:
        """Fill the placeholders of one line; names to bind once the line is done are added to `bound`."""
        text = self.alternate(text)

        def fill(match: re.Match[str]) -> str:
            kind, mode, label, again = match.group(1), match.group(2) or "", match.group(3), match.group(4)
            if again:
                return labels[again]
            value = self._placeholder(kind, mode, depth, bound)
            if label:
                labels[label] = value
            return value

        return PLACEHOLDER.sub(fill, text).replace("{{", "{").replace("}}", "}")

    def alternate(self, text: str) -> str:
        """Settle each `<<a|b>>`, the innermost first."""
        while match := CHOICE.search(text):
            choice = self.random.choice(match.group(1).split("|"))
            text = text[: match.start()] + choice + text[match.end() :]
        return text

    def _placeholder(self, kind: str, mode: str, depth: int, bound: list[tuple[str, str, str]]) -> str:
        match mode:
            case "":
                return in_brackets(self.expression(kind, depth))
            case "raw":
                return self.expression(kind, depth)
            case "op":
                return self.expression(kind, depth, bare=False)
            case "whole":
                return in_brackets(self.expression(kind, depth, bare=False))
            case "var" | "graph" | "own" | "ownmid" | "ownparam" | "param" | "mid":
                try:
                    return self.pick(kind, mode)
                except Inapplicable:
                    return self._made(kind)
            case "new" if self.chance(self._reuse):
                try:
                    name = self.pick(kind, "own")
                except Inapplicable:
                    name = self.fresh(kind)
            case _:
                name = self.fresh(kind)
                while any(name == other for other, _, _ in bound):
                    name += "_"
        bound.append((name, kind, {"leaf": "param", "const": "const"}.get(mode, "arg" if mode == "arg" else "mid")))
        return name

    def _made(self, kind: str) -> str:
        """A name of this kind made by a line of its own, before the line that is being written."""
        if kind not in self.vocabulary.makers or self._joined or not self.chance(0.5):
            raise Inapplicable(kind)
        self.fill(Template("maker", 1.0, self.vocabulary.makers[kind]))
        return self.pick(kind, "var")

    # -- statements --------------------------------------------------------------------------------------------------

    def fill(self, template: Template) -> None:
        """Write a template's lines; raises Inapplicable with the draft as it was."""
        mark, depth, muted = self.state, self.depth, self.muted
        try:
            self._fill(template.text)
        except Inapplicable:
            self.state = mark
            raise
        finally:
            self.depth, self.muted = depth, muted
        self.state = replace(self.state, used=(*self.state.used, template.text))

    def _fill(self, text: str) -> None:
        labels: dict[str, str] = {}
        base = self.depth
        suites: list[tuple[int, State, bool]] = []
        for raw in text.split("\n"):
            line = raw.lstrip(" ")
            if not line:
                self.emit("")
                continue
            level = (len(raw) - len(line)) // len(INDENT)
            while suites and level <= suites[-1][0]:
                self._leave(suites.pop())
            self.depth = base + level
            if line.startswith("? "):
                if self.chance(0.5):
                    continue
                line = line[2:]
            keep = line.startswith("+")
            line = line[1:] if keep else line
            line = self.alternate(line)
            if DIRECTIVE.match(line):
                self._direct(line, labels)
                continue
            if match := BLOCK.match(line):
                self.block(int(match.group(1) or 0))
                continue
            bound: list[tuple[str, str, str]] = []
            self._joined = bool(JOINED.match(line))
            filled = self.substitute(line, self._expression_depth, labels, bound)
            self.emit(filled)
            if filled.endswith(":"):
                suites.append((level, self.state, keep))
                self.muted += "no_grad()" in filled or "inference_mode()" in filled
                if filled.startswith("def "):
                    self.state = replace(self.state, frames=(*self.state.frames, Frame()), loops=0)
                elif filled.startswith(("for ", "while ")):
                    self.state = replace(self.state, loops=self.state.loops + 1)
            for name, kind, role in bound:
                if filled.startswith(("def ", "class ")) and role != "arg":
                    _, outer, kept = suites.pop()
                    suites.append((level, _with(outer, name, Name(kind, "mid")), kept))
                else:
                    self.bind(name, kind, "graph" if role == "arg" else self.role_of(filled, role))
        while suites:
            self._leave(suites.pop())

    def _leave(self, suite: tuple[int, State, bool]) -> None:
        _, before, keep = suite
        now = self.state
        if keep:
            self.state = replace(now, loops=before.loops)
        else:
            frames, calls = before.frames, before.calls
            statements = before.statements
            self.state = replace(now, frames=frames, calls=calls, statements=statements, loops=before.loops)

    def _direct(self, line: str, labels: dict[str, str]) -> None:
        directive, _, rest = line.partition(" ")
        if directive == "@let":
            self.substitute(rest, 0, labels, [])
            return
        rest = re.sub(r"\{=(\w+)\}", lambda m: labels.get(m.group(1), m.group(0)), rest)
        match directive:
            case "@name":
                kind, path, role = rest.split()
                self.bind(path, kind, role)
            case "@call":
                kind, _, text = rest.partition(" ")
                self.state = replace(self.state, calls=(*self.state.calls, Template(kind, 4.0, text)))
            case "@do":
                made = Template("made", 5.0, rest.replace("\\n", "\n"))
                self.state = replace(self.state, statements=(*self.state.statements, made))
            case "@drop":
                self.drop(rest)
            case "@maybe":
                self.state = replace(self.state, conditions=(*self.state.conditions, rest))
            case _:
                raise ValueError(line)

    def block(self, count: int = 0) -> None:
        """Write some statements at this depth, at least one line."""
        size = count or self.random.choice((1, 1, 2, 2, 3, 4))
        start = len(self.state.lines)
        while len(self.state.lines) - start < size:
            self.statement()

    def use(self, known: State) -> None:
        """Write a statement that uses something defined since `known`."""
        calls = [c for c in self.state.calls if c not in known.calls]
        made = [s for s in self.state.statements if s not in known.statements]
        made += [Template("use", 1.0, f"{{{c.family}:new}} = {c.text}") for c in calls if c.family in "SVM"]
        if made:
            with contextlib.suppress(Inapplicable):
                self.fill(self.random.choice(made))

    def statement(self, families: tuple[str, ...] = ()) -> None:
        """Write one statement that fits here, of these families where any are named."""
        for _ in range(20):
            family = self.random.choice(families) if families else self._family()
            rows = self._by_family.get(family, ())
            made = self.state.statements if family == "made" else ()
            for _ in range(4):
                if not rows and not made:
                    break
                row = self.choose(family, rows, made)
                if not self._fits(row):
                    continue
                with contextlib.suppress(Inapplicable):
                    self.fill(row)
                    return
        self.emit("pass")

    def _family(self) -> str:
        weights = [self.vocabulary.shares[f] * self.taste(f) for f in self._families]
        return self.random.choices(self._families, weights)[0]

    def _fits(self, row: Template) -> bool:
        """Whether the row may stand at this depth: no towers of blocks, no classes in loops, no `break` outside."""
        if self.depth > 2 and "\n" in row.text:
            return False
        if self.depth > 0 and row.family in ("define", "custom", "class", "netclass", "object"):
            return False
        return bool(self.state.loops or not LEAVES.search(row.text) or LOOPS.search(row.text))


def in_brackets(text: str) -> str:
    """The expression so that an attribute or an operator can follow."""
    depth = 0
    for character in text:
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif depth == 0 and character == " ":
            return f"({text})"
    return f"({text})" if re.match(r"-[^\d]", text) else text


def _suits(name: str, value: Name, mode: str) -> bool:
    match mode:
        case "param":
            return value.role == "param"
        case "mid":
            return value.role != "param"
        case "own":
            return value.role != "param" or "." not in name
        case "ownmid":
            return value.role != "param"
        case "ownparam":
            return value.role == "param" and "." not in name
        case _:
            return True


def _with(state: State, name: str, value: Name) -> State:
    names = {**state.frames[-1].names, name: value}
    return replace(state, frames=(*state.frames[:-1], Frame(names)))
