"""The product's enumerations behave like those of the standard library."""

from __future__ import annotations

import copy
import json
import pickle
from enum import Enum as Standard
from typing import Any

import pytest

from gradpath.support import fast_enums

FAST: Any = fast_enums.Enum


class Grave(str, FAST):
    HINT = "hint"
    ERROR = "error"

    @property
    def gravity(self) -> int:
        return list(Grave).index(self)


class GraveToo(str, Standard):
    HINT = "hint"
    ERROR = "error"


class Way(FAST):
    MOVE = Grave.HINT, "Move {what}"
    DROP = Grave.ERROR, "Drop {what}"

    def __init__(self, level: Grave, words: str) -> None:
        self.level = level
        self.words = words


class WayToo(Standard):
    MOVE = Grave.HINT, "Move {what}"
    DROP = Grave.ERROR, "Drop {what}"


@pytest.mark.parametrize(("ours", "theirs"), [(Grave, GraveToo), (Way, WayToo)])
def test_members_are_found_and_listed_alike(ours: Any, theirs: Any) -> None:
    assert [(each.name, each.value) for each in ours] == [(each.name, each.value) for each in theirs]
    assert len(ours) == len(theirs)
    for each in ours:
        assert ours[each.name] is ours(each.value) is ours(each) is each
    with pytest.raises(KeyError):
        ours["NOTHING"]
    with pytest.raises(ValueError, match=f"'nothing' is not a valid {ours.__name__}"):
        ours("nothing")


@pytest.mark.parametrize(("ours", "theirs"), [(Grave, GraveToo), (Way, WayToo)])
def test_members_are_shown_alike(ours: Any, theirs: Any) -> None:
    for our, their in zip(ours, theirs, strict=True):
        for shown in (repr, str, format):
            assert shown(our) == shown(their).replace("Too", "")


def test_a_member_that_is_a_text_is_its_value() -> None:
    assert Grave.ERROR == "error"
    assert json.dumps([Grave.ERROR]) == '["error"]'
    assert {"error": 1}[Grave.ERROR] == 1
    assert Grave.ERROR.gravity == 1


def test_a_member_has_what_its_value_is_made_of() -> None:
    assert (Way.DROP.level, Way.DROP.words) == (Grave.ERROR, "Drop {what}")


@pytest.mark.parametrize("member", [Grave.ERROR, Way.DROP])
def test_a_copy_of_a_member_is_the_member(member: object) -> None:
    assert copy.copy(member) is copy.deepcopy([member])[0] is pickle.loads(pickle.dumps(member)) is member
