"""No text is too much: a slice of the bombs, those that once went off, and what Python itself refuses."""

from __future__ import annotations

from itertools import islice

import pytest

from gradpath.analysis.check import check
from gradpath.source.document import Document

from .grammar import HEAD, RULE, TAIL, Bomb, bombs
from .limits import Outcome, explode

COUNT = 200
ENOUGH = 0.95
"""The share of bombs after which the mistake is found; after the others nothing is said."""


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    return [explode(bomb) for bomb in islice(bombs(7), COUNT)]


def test_no_bomb_takes_too_much_or_brings_the_analysis_down(outcomes: list[Outcome]) -> None:
    assert [outcome for outcome in outcomes if outcome.trouble] == []


def test_the_mistake_after_a_bomb_is_found(outcomes: list[Outcome]) -> None:
    missed = [outcome.name for outcome in outcomes if not outcome.is_found]
    assert len(missed) <= (1 - ENOUGH) * COUNT, missed


DOUBLED = [
    *("x = x * x", "x = x + x", "x = (x, x)", "x = [*x, *x]", "x = f'{x}{x}'", "x = {(x, x): x}", "x.extend(x)"),
    *("x = list(zip(x, x))", "f = (lambda g: lambda: (g(), g()))(f)", "x = copy.deepcopy([x, x])", "x[1:1] = x"),
]

LARGE = [
    "list(filter(lambda i: i > 10 ** 7, range(10 ** 7)))",
    "3.5 in range(10 ** 10)",
    "range(10 ** 10).count(w)",
    "round(5, -(10 ** 9))",
    "functools.reduce(lambda a, b: a + a, range(60), 'a')",
    "'a' * 4096 * 4096 * 400",
    "'a'.__mul__(10 ** 10)",
    "[t for t in torch.zeros(10 ** 9).split(1)]",
    "next(i for i in range(10 ** 8) if i * i > 10 ** 17)",
    "[" + "0 " + "for i in range(256) " * 18 + "]",
    "'%*d' % (10 ** 9, 1)",
    "itertools.tee([], 10 ** 9)",
    "list(itertools.combinations([], 10 ** 9))",
    "list(itertools.islice(itertools.count(), 10 ** 9, None))",
    "list(itertools.product(range(9), repeat=10 ** 9))",
]


@pytest.mark.parametrize("step", DOUBLED)
@pytest.mark.parametrize("start", ["'a'", "(1,)", "[w]", "10 ** 200"])
def test_what_doubles_itself_stays_small(start: str, step: str) -> None:
    lines = [f"x = {start}", "f = lambda: w", *[step] * 60, "y = {}", "z = w in x", "y[x] = 1", "y = f() == x"]
    assert_harmless("\n".join(["try:", *(f"    {line}" for line in lines), "except Exception:", "    pass"]))


@pytest.mark.parametrize("expression", LARGE)
def test_what_the_host_would_do_for_ages_is_given_up(expression: str) -> None:
    assert_harmless(f"x = {expression}")


PREPARATIONS = [
    "x = [(i, j, k) for i in range(100) for j in range(100) for k in range(100)]",
    "x = [n for n in range(2, 1000) if all(n % d for d in range(2, n))]",
    "x = {(i, j): 0 for i in range(1000) for j in range(1000)}",
    "x = next(i for i in range(10 ** 8) if i * i > 10 ** 12)",
    "\n".join(f"x{number} = {number} + 1" for number in range(13_000)),
    "x = {}\nfor i in range(6):\n for j in range(6):\n  for k in range(6):\n   for m in range(6): x[i, j, k, m] = 0",
]


@pytest.mark.parametrize("preparation", PREPARATIONS)
def test_the_preparation_of_data_leaves_the_budget_to_the_training(preparation: str) -> None:
    assert_harmless(preparation)
    lines = [f"    {line}" for line in preparation.split("\n")]
    assert_harmless("\n".join(["def prepare():", *lines, "prepare()"]))


def assert_harmless(body: str) -> None:
    """Check that a bomb keeps the limits, and that the mistake after it is found."""
    outcome = explode(Bomb("x", f"{HEAD}{body}\n{TAIL}"))
    assert (outcome.trouble, outcome.is_found) == ("", True)


REFUSED = [
    ("len(range(10 ** 20))", OverflowError),
    ("range(1, 2, 0)", ValueError),
    ("[1, 2][::0]", ValueError),
    ("'abc'[::0]", ValueError),
    ("(1,)[::0]", ValueError),
    ("range(3)[::0]", ValueError),
    ("x = [1, 2]; x[::0] = [1]", ValueError),
    ("x = [1, 2]; del x[::0]", ValueError),
    ("x = [1, 2]; x[::2] = [1, 2, 3]", ValueError),
    ("str(10 ** 4400)", ValueError),
    ("f'{10 ** 4400}'", ValueError),
    ("int('9' * 4400)", ValueError),
    ("int(float('inf'))", OverflowError),
    ("float(10 ** 400)", OverflowError),
    ("10.0 ** 400", OverflowError),
    ("1 << -1", ValueError),
]

ACCEPTED = [
    "for i in range(2 ** 63): pass",
    "for i in range(int(1e20)): pass",
    "for i, j in enumerate(range(10 ** 20)): break",
    "for i, j in zip(range(10 ** 20), range(2 ** 63)): break",
    "x = [1]; x.insert(10 ** 30, 2); x.insert(-(10 ** 30), 2)",
    "x = torch.zeros(3)[: 10 ** 20]",
    "x = {10 ** 4000: 1}[10 ** 4000]",
    "x = list(reversed(range(10 ** 20)))[0] == 10 ** 20 - 1",
]


@pytest.mark.parametrize(("statement", "error"), REFUSED)
def test_what_python_refuses_the_program_raises(statement: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        exec(statement)
    handled = f"try:\n    {statement}\nexcept {error.__name__}:\n    w.sum().backward()\nelse:\n    w = None\n"
    assert finds_the_mistake(handled)


@pytest.mark.parametrize("statement", ACCEPTED)
def test_what_python_does_with_very_large_numbers_raises_nothing(statement: str) -> None:
    assert finds_the_mistake(f"{statement}\n")


def finds_the_mistake(body: str) -> bool:
    """Whether the program goes on past `body` to its mistake, and nothing fails inside the analysis."""
    text = f"{HEAD}{body}{TAIL}"
    found = check(Document("program.py", text))
    assert found.incomplete == ()
    return any(each.rule == RULE and each.range.start.line == text.count("\n") for each in found.diagnostics)


def test_a_check_gives_way_whatever_it_is_doing() -> None:
    """Somebody who has asked for a check and does not want it any more waits for no bomb."""
    asked = 0

    def cancelled() -> bool:
        nonlocal asked
        asked += 1
        return False

    bomb = "x = [1 for i in range(100) for j in range(100) for k in range(100)]\n" * 40
    check(Document("program.py", f"{HEAD}{bomb}{TAIL}"), cancelled=cancelled)
    often = asked
    assert often > 40


def test_bombs_of_a_seed_are_the_same_again() -> None:
    assert list(islice(bombs(3), 20)) == list(islice(bombs(3), 20))
    assert list(islice(bombs(3), 20)) != list(islice(bombs(4), 20))
