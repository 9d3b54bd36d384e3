"""Programs that would never end, or fill the memory, are checked like any other: none of that is computed in full."""

from __future__ import annotations

import time

import pytest

from gradpath.analysis.check import check
from gradpath.source.document import Document

CPU_SECONDS = 3.0

EXPRESSIONS = """\
10 ** 10 ** 8
1 << 10**12
10**10**7 % 7
pow(3, 10**9)
2.0 ** 10**400
"a" * 10**10
[0] * 10**10
(1,) * 10**10
bytes(10**10)
"%0999999999d" % 1
b"%0999999999d" % 1
f"{1:999999999}"
format(1, "999999999")
"{:999999999}".format(1)
"a".ljust(10**10)
"a".center(10**10)
"a".zfill(10**10)
"ab".replace("a", "b" * 10**10)
int("9" * 10**6)
list(range(10**10))
sum(range(10**10))
max(range(10**10))
set(range(10**10))
sorted(range(10**10))
list(reversed(range(10**10)))
list(enumerate(range(10**10)))
dict.fromkeys(range(10**10))
list(map(str, range(10**10)))
any(x < 0 for x in range(10**10))
next(i for i in range(10**10) if i < 0)
[i for i in range(10**10) if i < 0]
functools.reduce(lambda a, b: a + b, range(10**10))
list(itertools.product(range(10**5), repeat=3))
list(itertools.permutations(range(30)))
list(itertools.islice(itertools.count(), 10**10))
list(itertools.chain((x for x in unknown if {}.get(x)), unknown))
collections.deque(range(10**10), maxlen=1)
math.factorial(10**7)
torch.arange(10**10).tolist()
[torch.zeros(3)] * 10**9
""".splitlines()

LOOPS = [
    "while True:\n    pass",
    "s = 'ab'\nwhile True:\n    s = s + s",
    "n = 2\nfor _ in range(100):\n    n = n ** n",
    "items = [1]\nfor item in items:\n    items.append(item)",
    "def f(n):\n    return f(n + 1)\nf(0)",
    "a = []\na.append(a)\nprint(a == a)",
]

FAULT = "\ny = torch.ones(3, requires_grad=True).exp()\ny.sum().backward()\n"


@pytest.mark.parametrize("program", [*(f"x = {each}" for each in EXPRESSIONS), *LOOPS])
def test_no_program_is_too_much(program: str) -> None:
    text = f"import collections, functools, itertools, math, torch\n{FAULT}{program}\n{FAULT}"
    before = time.process_time()
    check(Document("x.py", text))
    assert time.process_time() - before < CPU_SECONDS
