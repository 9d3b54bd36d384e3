"""What stands around a node."""

from __future__ import annotations

import ast

from gradpath.source.index import holds, index_of, outermost

TREE = ast.parse(
    """\
@torch.no_grad()
def train(model):
    for x in loader:
        with quiet:
            loss = model(x)
    return loss
other = train(net)
"""
)
TRAIN, OTHER = TREE.body


def called(name: str) -> ast.Call:
    return next(
        each for each in ast.walk(TREE) if isinstance(each, ast.Call) and getattr(each.func, "id", None) == name
    )


def test_the_way_leads_from_the_statement_down_to_the_node() -> None:
    way = index_of(TRAIN).way_to(called("model"))
    assert [type(each).__name__ for each in way] == ["FunctionDef", "For", "With", "Assign", "Call"]
    assert index_of(TRAIN).way_to(TRAIN) == (TRAIN,)


def test_a_decorator_is_a_part_of_its_function() -> None:
    (decorator,) = TRAIN.decorator_list  # type: ignore[attr-defined]
    assert index_of(TRAIN).way_to(decorator) == (TRAIN, decorator)


def test_no_way_leads_to_what_is_elsewhere() -> None:
    assert index_of(OTHER).way_to(called("model")) == ()


def test_a_statement_is_looked_through_once() -> None:
    assert index_of(TRAIN) is index_of(TRAIN)


def test_a_node_holds_itself_and_its_parts() -> None:
    assert holds(TRAIN, TRAIN)
    assert holds(TRAIN, called("model"))
    assert not holds(OTHER, called("model"))
    assert not holds(called("model"), TRAIN)


def test_the_outermost_of_some_statements_are_in_none_of_the_others() -> None:
    loop = TRAIN.body[0]  # type: ignore[attr-defined]
    assert outermost([loop.body[0], loop, OTHER]) == [loop, OTHER]
    assert outermost([TRAIN, loop, loop.body[0], OTHER]) == [TRAIN, OTHER]
