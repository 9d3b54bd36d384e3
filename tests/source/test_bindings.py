"""Changes that leave a name unbound where it is read."""

from __future__ import annotations

import pytest

from gradpath.source.bindings import unbinds


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
