"""Composing bombs: operands that are too large, what doubles itself, what never ends, and every way to use them."""

from __future__ import annotations

import ast
import itertools
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from . import vocabulary

HEAD = """import collections, copy, functools, heapq, itertools, math, operator, random
import numpy as np
import torch

w = torch.randn(3, requires_grad=True)
v = torch.randn(3)
"""

TAIL = """loss = w.exp().sum()
loss.backward()
loss.backward()
"""

RULE = "double-backward"
"""The rule that finds the mistake at the end of each bomb, on its last line."""


@dataclass(frozen=True)
class Bomb:
    """A program with a mistake on its last line; `name` says by what means it tries to keep that from being found."""

    name: str
    text: str


def bombs(seed: int) -> Iterator[Bomb]:
    """Bombs without end, the same ones for the same seed."""
    chance = random.Random(f"bombs {seed}")
    for number in itertools.count():
        kind = chance.choice(list(_KINDS))
        lines = _KINDS[kind](chance)
        place = chance.choice(list(_PLACES))
        body = "\n".join(_PLACES[place](lines))
        text = f"{HEAD}{body}\n{TAIL}"
        if _is_read(text):
            yield Bomb(f"{seed}-{number}-{kind}-{place}", text)


def _is_read(text: str) -> bool:
    """Whether Python reads a program; before 3.12 an f-string cannot hold every expression."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "bomb", "exec", ast.PyCF_ONLY_AST)
    except SyntaxError:
        return False
    return True


Lines = list[str]

_NUMBERS = (
    *("0", "-1", "3", "True", "2.5", "1e308", "float('inf')", "float('nan')", "1j"),
    *("2 ** 63", "10 ** 20", "-(10 ** 20)", "10 ** 200", "10 ** 5000", "-(10 ** 9)", "10 ** 9", "4096", "1 << 10 ** 9"),
    *("int('9' * 4000)", "int('9' * 5000)", "0x" + "f" * 5000, "10 ** 10 ** 10", "w.numel()", "w.item()"),
)
_TEXTS = (
    *("''", "'a'", "'a' * 4000", "'ab' * 10 ** 9", "b'a' * 10 ** 6", "'%1000000000d'", "'%.999999999f'", "'%*d'"),
    *(
        "'{:>1000000000}'",
        "'{0}{0}{0}{0}'",
        "'x' * 4096 * 4096",
        "'\\t' * 4000",
        "str(10 ** 4000)",
        "' '.join(['a'] * 4000)",
    ),
)
_SEQUENCES = (
    *("()", "[]", "{}", "[w]", "(w, w)", "[1, 2, 3]", "{1: w}", "range(3)", "range(10 ** 7)", "range(10 ** 20)"),
    *("range(2 ** 63)", "range(-(2 ** 70), 2 ** 70)", "range(10 ** 20, 0, -1)", "[w] * 10 ** 6", "[0] * 4096"),
    *("(0,) * 10 ** 8", "list(range(5000))", "{i: i for i in range(5000)}", "set(range(5000))", "'abc' * 1000"),
    *("[[0] * 300] * 300", "[(i, j) for i in range(300) for j in range(300)]", "list(range(10 ** 7))"),
    *("{(i, j): w for i in range(300) for j in range(300)}", "[[i] for i in range(10 ** 6)]"),
)
_ENDLESS = (
    *("itertools.count()", "itertools.count(0.5)", "itertools.cycle([1])", "itertools.cycle(range(10 ** 9))"),
    *("itertools.repeat(w)", "itertools.repeat(0, 10 ** 12)", "iter(int, 1)", "iter(lambda: w, None)"),
    *("(i for i in range(10 ** 9))", "(i for i in range(10 ** 8) if i * i > 10 ** 20)", "map(str, range(10 ** 9))"),
    *("zip(itertools.count(), itertools.count())", "enumerate(range(10 ** 12))", "reversed(range(10 ** 12))"),
    *("filter(None, itertools.repeat(0))", "filter(lambda i: i > 10 ** 8, range(10 ** 9))", "iter(range(10 ** 9))"),
    *("itertools.chain.from_iterable(itertools.repeat(range(10 ** 9)))", "itertools.product(range(300), repeat=5)"),
    *(
        "itertools.permutations(range(300))",
        "itertools.combinations(range(300), 5)",
        "itertools.islice(range(10 ** 9), 10 ** 8, None)",
    ),
)
_TENSORS = (
    *("w", "v", "torch.zeros(10 ** 9)", "torch.zeros(10 ** 5, 10 ** 5)", "w.expand(10 ** 9, 3)", "torch.zeros(())"),
    *("torch.zeros(10 ** 9).split(1)", "w.expand(10 ** 9, 3).unbind()", "torch.zeros(10 ** 9).chunk(10 ** 9)"),
    *("torch.zeros(10 ** 6).tolist()", "w.repeat(10 ** 9)", "torch.zeros(*[1] * 300)", "torch.arange(10 ** 12)"),
)


def _operand(chance: random.Random) -> str:
    return chance.choice(chance.choice((_NUMBERS, _TEXTS, _SEQUENCES, _SEQUENCES, _ENDLESS, _TENSORS)))


def _function(chance: random.Random) -> str:
    return chance.choice(
        (
            *("lambda *a: True", "lambda *a: False", "lambda *a: a", "lambda *a: a + a", "lambda *a: (a, a)"),
            *(
                "lambda a, *b: a",
                "lambda a, *b: a + a",
                "lambda i, *b: i > 10 ** 7",
                "lambda *a: w.sum()",
                "str",
                "list",
            ),
            *("operator.add", "operator.mul", "functools.partial(max, 0)", "lambda *a: itertools.count()", "None"),
        )
    )


def _arguments(chance: random.Random) -> str:
    given = [_operand(chance) for _ in range(chance.randint(0, 3))]
    if chance.random() < 0.4:
        given.insert(0, _function(chance))
    if chance.random() < 0.1:
        given.append("*" + chance.choice(_SEQUENCES + _ENDLESS))
    return ", ".join(given)


def _expression(chance: random.Random) -> str:
    """Something that every builtin, method or operator may be given."""
    one = _operand(chance)
    match chance.randrange(11):
        case 0 | 1:
            return f"{chance.choice(vocabulary.functions())}({_arguments(chance)})"
        case 2 | 3:
            return f"{chance.choice(vocabulary.library_functions())}({_arguments(chance)})"
        case 4 | 5:
            return f"({one}).{chance.choice(vocabulary.methods())}({_arguments(chance)})"
        case 6:
            return f"({one}) {chance.choice(vocabulary.binary_operators())} ({_operand(chance)})"
        case 7:
            return f"({one}) {chance.choice(vocabulary.comparisons())} ({_operand(chance)})"
        case 8:
            return f"({one})[{_index(chance)}]"
        case 9:
            tensor = chance.choice(_TENSORS[:6])
            return f"{tensor}.{chance.choice(vocabulary.tensor_methods())}({_arguments(chance)})"
        case _:
            return one


def _index(chance: random.Random) -> str:
    number = chance.choice(_NUMBERS)
    return chance.choice(
        (number, f"{number}:", f":{number}", f"::{number}", "::0", f"{number}:{chance.choice(_NUMBERS)}:-1")
    )


def _use(chance: random.Random, value: str) -> Lines:
    """A way to look at all of a value."""
    method, function = chance.choice(vocabulary.methods()), chance.choice(vocabulary.functions())
    form = chance.choice(_USES)
    return form.format(x=value, method=method, function=function, y=_operand(chance), f=_function(chance)).split("\n")


_USES = (
    "for i in {x}:\n    pass",
    "for i, j in zip({x}, {x}):\n    k = i",
    "y = [i for i in {x}]",
    "y = [(i, j, k) for i in {x} for j in {x} for k in {x}]",
    "y = {{i: 0 for i in {x}}}",
    "y = [n for n in {x} if all(n != d for d in {x})]",
    "y = next(i for i in {x} if i is None)",
    "y = any(i is None for i in {x})",
    "y = sum(1 for i in {x})",
    "y = {{{x}: 1}}",
    "y = {{{x}}}",
    "y = {{}}\ny[{x}] = 1\nz = y[{x}]",
    "y = w in {x}",
    "y = 3.5 in {x}",
    "y = {x} in {y}",
    "y = {x} == {y}",
    "y = {x} == {x}",
    "y = {x} < {x}",
    "y = f'{{{x}}}{{{x}}}'",
    "y = f'{{{x}:>1000000000}}{{{x}!r}}'",
    "y = str({x}) + repr({x})",
    "y = '%s %r' % ({x}, {x})",
    "y = '{{}}{{}}'.format({x}, {x})",
    "y = list({x})\ny.extend(y)\ny.insert(10 ** 30, y)\ny[::0]",
    "a, *b = {x}",
    "print(*{x})",
    "y = max({x})",
    "y = max({x}, key=lambda i: [i, i])",
    "y = sorted({x}, key=lambda i: (i, i))",
    "y = dict(zip({x}, {x}))",
    "y = copy.deepcopy({x})",
    "y = torch.tensor({x})",
    "y = torch.stack(list({x}))",
    "y = torch.zeros({x})",
    "y = w.view({x})",
    "y = {x}.{method}()",
    "y = {x}.{method}({x})",
    "y = {x}.{method}({y}, {y})",
    "y = {function}({x})",
    "y = {function}({f}, {x})",
    "y = functools.reduce({f}, {x})",
    "y = functools.reduce({f}, {x}, {y})",
    "y = list(map({f}, {x}, {x}))",
    "y = list(filter({f}, {x}))",
    "y = list(itertools.takewhile({f}, {x}))",
    "y = list(itertools.accumulate({x}, {f}))",
    "y = list(itertools.product({x}, repeat=9))",
    "y = [*{x}, *{x}]",
    "y = isinstance({x}, {x})",
    "match {x}:\n    case [a, *b]:\n        pass\n    case {{**c}}:\n        pass",
    "while {x}:\n    y = {x}\n    if y is None:\n        break",
    "assert {x}",
    "y = lambda a={x}: a\nz = y()",
    "@functools.lru_cache\ndef g(a):\n    return a\ny = g({x})",
)


def _applied(chance: random.Random) -> Lines:
    lines = [f"x = {_expression(chance)}"]
    return lines + (_use(chance, "x") if chance.random() < 0.7 else [])


def _used_at_once(chance: random.Random) -> Lines:
    return _use(chance, f"({_expression(chance)})")


_SEEDS = (
    "'a'",
    "b'a'",
    "(1,)",
    "[1]",
    "[w]",
    "(w,)",
    "{1: 2}",
    "{1}",
    "3",
    "10 ** 9",
    "1.5",
    "None",
    "w",
    "range(3)",
    "iter([1])",
)

_DOUBLINGS = (
    *(
        "x = x + x",
        "x += x",
        "x = x * x",
        "x *= 3",
        "x = x ** 2",
        "x = x << 9",
        "x = (x, x)",
        "x = [x, x]",
        "x = {1: x, 2: x}",
    ),
    *(
        "x = [*x, *x]",
        "x = (*x, *x)",
        "x = {**x, **x, len(x): x}",
        "x = f'{x}{x}'",
        "x = f'{x!r:>99}'",
        "x = x.join([x, x, x])",
    ),
    *(
        "x = '%s%s' % (x, x)",
        "x = '{0}{0}'.format(x)",
        "x = x.replace('a', 'aa')",
        "x = str((x, x))",
        "x = repr([x, x])",
    ),
    *("x = (lambda g: lambda: (g(), g()))(x)", "x = lambda g=x: (g(), g())", "x = (lambda g: lambda *a: g(*a, *a))(x)"),
    *(
        "x = zip(x, x)",
        "x = map(lambda *a: a, x, x)",
        "x = filter(None, x)",
        "x = enumerate(x)",
        "x = iter(x)",
        "x = reversed([x, x])",
    ),
    *("x = itertools.chain(x, x)", "x = itertools.tee(x)[0]", "x = itertools.cycle(x)", "x = itertools.accumulate(x)"),
    *(
        "x = list(zip(x, x))",
        "x = tuple({x: x}.items())",
        "x = next(zip([x], [x]))",
        "x = (lambda *a: a)(x, x)",
        "x = {(x, x)}",
    ),
    *(
        "x = functools.partial(x, x)",
        "x = functools.lru_cache(x)",
        "x = staticmethod(x)",
        "x = property(x)",
        "x = slice(x, x)",
    ),
    *("x = copy.deepcopy([x, x])", "x = list(itertools.product(x, x))", "x = sorted([*x, *x])", "x = divmod(x, 1) * 2"),
    *(
        "x = (y for y in [x, x])",
        "x = [y for y in [x, x]]",
        "x = {y: x for y in range(2)}",
        "x = (i for i in x for j in x)",
    ),
    *(
        "x = torch.cat([x, x])",
        "x = torch.stack([x, x])",
        "x = x.unsqueeze(0)",
        "x = x.repeat(9)",
        "x = x @ x",
        "x = not x",
    ),
    *(
        "x = x if x else x",
        "x = x and x",
        "x = [x] * 2",
        "x = (x,) * 2",
        "x = max(x, x)",
        "x = x == x",
        "x = collections.deque([x, x])",
    ),
    *(
        "x.extend(x)",
        "x.append(x)",
        "x.update({len(x): x})",
        "x[len(x):] = x",
        "x[1:1] = x",
        "x.insert(0, x)",
        "x = x | {len(x): x}",
    ),
    *(
        "class x(type(x)):\n    y = x",
        "def x(f=x):\n    return f(), f()",
        "def x(f=x):\n    yield from f\n    yield from f",
    ),
    *(
        "class x:\n    def __init__(self, y=x):\n        self.y = y\n        self.z = y",
        "x = math.prod([x, x])",
        "x = sum([x, x], x)",
    ),
)


def _doubled(chance: random.Random) -> Lines:
    steps = [chance.choice(_DOUBLINGS) for _ in range(chance.choice((1, 1, 1, 2, 3)))]
    lines = [f"x = {chance.choice(_SEEDS)}"]
    for count in range(chance.choice((20, 40, 60, 90))):
        lines += steps[count % len(steps)].split("\n")
    return lines + _use(chance, chance.choice(("x", "x", "x", "(x())", "list(x)")))


def _doubled_in_a_loop(chance: random.Random) -> Lines:
    head = chance.choice(("for _ in range(90):", "while True:", "for _ in range(3):", "for _ in range(10 ** 9):"))
    step = chance.choice(_DOUBLINGS).split("\n")
    more = ["    if len(str(x)) > 10 ** 9:", "        break"] if head.startswith("while") else []
    return [f"x = {chance.choice(_SEEDS)}", head, *(f"    {line}" for line in step), *more, *_use(chance, "x")]


def _nested_loops(chance: random.Random) -> Lines:
    depth = chance.randint(3, 18)
    source = chance.choice(("range(6)", "range(100)", "range(10 ** 9)", "[0] * 60", "itertools.count()", "'abc'"))
    if chance.random() < 0.5:
        clauses = " ".join(f"for i{level} in {source}" for level in range(depth))
        value = chance.choice(("0", "i0", "(i0, i1, i2)", "i0 * i1", "str(i0)", "lambda: i0"))
        test = chance.choice(("", " if i0 > 10 ** 8", " if i0 == i1 == i2"))
        form = chance.choice(("[{}]", "{{{}}}", "list({})", "sum({})", "dict.fromkeys({})", "any({})", "tuple(({}))"))
        return [f"x = {form.format(f'{value} {clauses}{test}')}"]
    loops = ["    " * level + f"for i{level} in {source}:" for level in range(depth)]
    body = chance.choice(("x = i0 + i1", "x = [i0, i1]", "x.append((i0, i1))", "pass", "x = f(i0)"))
    return ["x = []", "def f(i):", "    return i + 1", *loops, "    " * depth + body]


def _recursive(chance: random.Random) -> Lines:
    depth = chance.choice((20, 40, 90, 400))
    match chance.randrange(6):
        case 0:
            return ["def f(n):", "    return f(n + 1), f(n + 2)", "x = f(0)"]
        case 1:
            bodies = [f"def f{level}():\n    return f{level + 1}(), f{level + 1}()" for level in range(depth)]
            return [*"\n".join(bodies).split("\n"), f"def f{depth}():", "    return 1", "x = f0()"]
        case 2:
            bodies = [f"f{level} = lambda: (f{level + 1}(), f{level + 1}())" for level in range(depth)]
            return [*bodies, f"f{depth} = lambda: 1", "x = f0()"]
        case 3:
            return ["def g(n):", "    yield n", "    yield from g(n + 1)", "    yield from g(n + 2)", "x = list(g(0))"]
        case 4:
            return [
                "class C:",
                "    def __getattr__(self, name):",
                "        return getattr(self, name + name)",
                "x = C().a",
            ]
        case _:
            nested = "lambda: " * min(depth, 90) + "1"
            return [f"x = {nested}", *(["x = (x, x)"] * depth), *_use(chance, "x")]


def _plain_preparation(chance: random.Random) -> Lines:
    match chance.randrange(5):
        case 0:
            return [f"x{line} = {line} + 1" for line in range(chance.choice((3_000, 13_000)))]
        case 1:
            return ["primes = [n for n in range(2, 1000) if all(n % d for d in range(2, n))]"]
        case 2:
            return ["grid = {}", "for i in range(6):", "    for j in range(6):", "        for k in range(6):"] + [
                "            grid[i, j, k] = i * j * k"
            ] * chance.choice((10, 100))
        case 3:
            return ["table = [", *(f"    ({line}, 'name {line}', [{line}, {line}])," for line in range(3_000)), "]"]
        case _:
            body = ["def prepare(rows):", "    seen = {}", "    for row in rows:", "        for part in row.split():"]
            body += ["            for letter in part:", "                seen[letter] = seen.get(letter, 0) + 1"]
            return [*body, "    return seen", f"x = prepare(['a b c d e f g h'] * {chance.choice((60, 4000))})"]


_KINDS: dict[str, Callable[[random.Random], Lines]] = {
    "applied": _applied,
    "used-at-once": _used_at_once,
    "doubled": _doubled,
    "doubled-in-a-loop": _doubled_in_a_loop,
    "nested-loops": _nested_loops,
    "recursive": _recursive,
    "plain-preparation": _plain_preparation,
}


def _indented(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]


_PLACES: dict[str, Callable[[Lines], Lines]] = {
    "module": lambda lines: ["try:", *_indented(lines), "except Exception:", "    pass"],
    "function": lambda lines: [
        "def prepare():",
        *_indented(["try:", *_indented(lines), "except Exception:", "    pass"]),
        "prepare()",
    ],
    "method": lambda lines: [
        "class Preparation:",
        "    def __init__(self):",
        *_indented(_indented(["try:", *_indented(lines), "except Exception:", "    pass"])),
        "preparation = Preparation()",
    ],
    "loop": lambda lines: [
        "for _ in range(2):",
        *_indented(["try:", *_indented(lines), "except Exception:", "    pass"]),
    ],
}
