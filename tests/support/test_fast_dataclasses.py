"""The product's data classes behave like those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from types import ModuleType

import pytest

from gradpath.support import fast_dataclasses


@fast_dataclasses.dataclass(frozen=True, slots=True, order=True)
class Place:
    line: int
    column: int = 0
    tags: list[str] = fast_dataclasses.field(default_factory=list, compare=False)
    origin: object = fast_dataclasses.field(default=None, repr=False, compare=False)

    @property
    def next_line(self) -> int:
        return self.line + 1


@fast_dataclasses.dataclass(slots=True)
class Counter:
    count: int = 0


@fast_dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Site:
    path: str


@fast_dataclasses.dataclass(frozen=True, slots=True)
class Nothing:
    pass


def test_fields_are_given_by_place_and_by_name() -> None:
    place = Place(3, column=4)
    assert (place.line, place.column, place.tags, place.origin, place.next_line) == (3, 4, [], None, 4)


@pytest.mark.parametrize(("arguments", "keywords"), [((), {}), ((1, 2, [], None, 5), {}), ((1,), {"row": 2})])
def test_wrong_arguments_are_refused(arguments: tuple[int, ...], keywords: dict[str, int]) -> None:
    with pytest.raises(TypeError, match=r"Place.__init__\(\)"):
        Place(*arguments, **keywords)  # type: ignore[arg-type]


def test_each_object_has_its_own_default() -> None:
    first, second = Place(1), Place(1)
    first.tags.append("a")
    assert second.tags == []


def test_equality_order_and_hash_follow_the_fields_that_count() -> None:
    assert Place(1, 2, ["a"], origin=1) == Place(1, 2, ["b"], origin=2)
    assert hash(Place(1, 2, ["a"])) == hash(Place(1, 2))
    assert Place(1, 2) != Place(1, 3)
    assert Place(1) != (1, 0)
    assert sorted([Place(2), Place(1, 5), Place(1)]) == [Place(1), Place(1, 5), Place(2)]
    assert Nothing() == Nothing()
    with pytest.raises(TypeError):
        assert Place(1) < (2, 0)  # type: ignore[operator]


def test_without_eq_each_object_is_itself_alone() -> None:
    site = Site("a")
    assert site != Site("a")
    assert {site: 1}[site] == 1


def test_what_may_change_has_no_hash() -> None:
    counter = Counter()
    counter.count += 1
    assert counter == Counter(1)
    with pytest.raises(TypeError):
        hash(counter)


def test_there_are_no_other_attributes() -> None:
    with pytest.raises(AttributeError):
        Counter().other = 1  # type: ignore[attr-defined]


def test_a_copy_may_differ_in_some_fields() -> None:
    place = Place(1, 2, ["a"])
    moved = fast_dataclasses.replace(place, line=7)
    assert (moved.line, moved.column, moved.tags) == (7, 2, ["a"])
    assert place.line == 1
    with pytest.raises(TypeError):
        fast_dataclasses.replace(place, row=1)  # type: ignore[call-arg]


def test_records_are_pickled_and_copied() -> None:
    place = Place(1, 2, ["a"], origin="here")
    for again in (pickle.loads(pickle.dumps(place)), copy.copy(place), copy.deepcopy(place)):
        assert again == place
        assert (again.tags, again.origin) == (["a"], "here")


def test_patterns_match_by_place() -> None:
    match Place(1, 2):
        case Place(line, column):
            assert (line, column) == (1, 2)


@pytest.mark.parametrize("module", [fast_dataclasses, dataclasses])
def test_they_show_themselves_as_the_library_does(module: ModuleType) -> None:
    @module.dataclass(frozen=True, slots=True)
    class Part:
        name: str
        hidden: int = module.field(default=1, repr=False)

    assert repr(Part("a")).endswith("<locals>.Part(name='a')")
