"""Changes that leave a name unbound where it is read."""

from __future__ import annotations

import pytest

from gradpath.source import bindings
from gradpath.source.document import Document
from gradpath.source.parse import parse


def unbinds(before: str, after: str) -> bool:
    """Whether a change does, where the text after it is parsed with the help of the one before."""
    known = parse(Document("a.py", before))
    return bindings.unbinds(known, parse(Document("a.py", after), known))


@pytest.mark.parametrize(
    "branch",
    ["if c:\n    m = 2\n", "if c:\n    m = 2\nelse:\n    n = 2\n", "try:\n    m = 2\nexcept E:\n    pass\n"],
)
def test_a_name_that_only_a_branch_binds_is_not_read_behind_it(branch: str) -> None:
    assert unbinds(f"{branch}print(x)\n", f"{branch}print(m)\n")


@pytest.mark.parametrize(
    "block",
    [
        "m = 2\n",
        "if c:\n    m = 2\nelse:\n    m = 3\n",
        "if c:\n    m = 2\nelse:\n    raise E\n",
        "for i in r:\n    m = 2\n",
        "while c:\n    m = 2\n",
        "with a as m:\n    pass\n",
        "try:\n    m = 2\nexcept E:\n    raise\n",
        "for i in r:\n    if c:\n        continue\n    m = 2\n",
    ],
)
def test_a_name_that_is_bound_on_each_way_may_be_read(block: str) -> None:
    assert not unbinds(f"{block}print(x)\n", f"{block}print(m)\n")


def test_what_was_read_behind_a_branch_before_may_be_read_there() -> None:
    assert not unbinds("if c:\n    m = 2\nprint(m)\n", "if c:\n    m = 2\nprint(m.detach())\n")


def test_a_name_is_not_read_above_where_it_is_bound() -> None:
    assert unbinds("print(x)\nm = 2\n", "print(m)\nm = 2\n")


def test_a_line_put_at_the_end_of_a_function_belongs_to_it() -> None:
    function = "def f(c):\n    if c:\n        m = 2\n"
    assert unbinds(f"{function}g = 1\n", f"{function}    print(m)\ng = 1\n")


def test_a_function_of_several_of_one_name_is_compared_with_itself() -> None:
    first, second = "def f(x):\n    print(x)\n    m = 2\n", "def f(x):\n    m = 2\n    print(m)\n"
    assert not unbinds(f"{first}{second}n = 1\n", f"{first}{second}m = 1\n")
    assert unbinds(f"{second}{first}n = 1\n", f"{second}{first.replace('print(x)', 'print(m)')}n = 1\n")


def test_a_name_that_a_function_no_longer_binds_has_to_come_from_around_it() -> None:
    before, after = "def f(c):\n    m = c + 1\n    print(m)\n", "def f(c):\n    print(m)\n"
    assert unbinds(before, after)
    assert not unbinds(f"m = 1\n{before}", f"m = 1\n{after}")
    assert not unbinds(f"from a import *\n{before}", f"from a import *\n{after}")
    inside = "def g(m):\n    def f(c):\n{}        print(m)\n    return f\n"
    assert not unbinds(inside.format("        m = c\n"), inside.format(""))


def test_a_name_that_moves_into_a_function_is_not_read_outside_of_it() -> None:
    f, inside, g = "def f():\n    print(m)\n", "def f():\n    m = 1\n    print(m)\n", "def g():\n    print(m)\n"
    assert unbinds(f"m = 1\n{f}{g}", f"{inside}{g}")
    assert not unbinds(f"m = 1\n{f}", inside)


def test_a_name_that_nothing_defined_before_may_be_read_at_another_place() -> None:
    assert not unbinds("def f():\n    print(display)\nx = 1\n", "def f():\n    print(display)\nx = display\n")


@pytest.mark.parametrize("line", ["m = f(m)\n", "m += 1\n", "for m in m: pass\n"])
def test_a_statement_that_moves_reads_a_name_before_it_binds_it(line: str) -> None:
    assert unbinds(f"m = 1\n{line}def g():\n    print(1)\n", f"m = 1\ndef g():\n    {line}    print(1)\n")
    assert not unbinds(f"m = 1\n{line}def g():\n    print(1)\n", f"def g():\n    m = 1\n    {line}    print(1)\n")
