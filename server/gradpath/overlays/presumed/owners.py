"""Which models an optimizer that is not seen is for: one table, each row with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from typing import TypeVar

from gradpath.overlays.presumed.roles import part_of_model, part_of_optimizer, role_of_name
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.lazy_regex import regex

_Held = TypeVar("_Held")


@dataclass(frozen=True, slots=True)
class Owner:
    """An optimizer is for the models that `match`, by what the names of both say that they are for, if it is one alone.

    `case` is the page and the heading in `tests/cases` of a program that shows it.
    """

    id: str
    match: Callable[[str, str], bool]
    because: str
    case: str


OWNERS: tuple[Owner, ...] = (
    Owner(
        "name of the model",
        lambda optimizer, model: optimizer == model != "",
        "`actor_optimizer` is for `actor`, and not for `actor_2`",
        "presumptions/owners.md#called-as-the-model-is",
    ),
    Owner(
        "name that begins alike",
        lambda optimizer, model: (
            bool(optimizer and model) and (optimizer.startswith(model) or model.startswith(optimizer))
        ),
        "`opt_gen` is for `generator`",
        "presumptions/owners.md#called-for-short",
    ),
    Owner(
        "name that ends alike",
        lambda optimizer, model: optimizer == _last_word(model) != "",
        "`opt_a` is for `peer_a`, and `optimizer2` for `student2`",
        "presumptions/owners.md#called-by-its-last-word",
    ),
    Owner(
        "general name",
        lambda optimizer, model: not optimizer,
        "there is nothing else that it could own",
        "presumptions/owners.md#called-in-general",
    ),
)


_LAST_WORD = regex(r"([a-z]+|[0-9]+)$")


def _last_word(name: str) -> str:
    found = _LAST_WORD.search(name)
    return found[0] if found else ""


def owned(optimizer: str, models: Iterable[tuple[str, _Held]], others: Iterable[str] = ()) -> list[_Held]:
    """The models that an optimizer of this name owns, by the first row that matches any.

    A general name is for what none of the `others` that step with it, by their places, is for. None by a name that is
    no optimizer's, such as `first`: there may be a `second`, for another part.
    """
    part = part_of_optimizer(optimizer)
    if not part and role_of_name(optimizer) != "optimizer":
        return []
    known = [(part_of_model(name), held) for name, held in models]
    names = {name for name, _ in known}
    meant = _meant(part, names)
    if not part:
        meant = meant.difference(*(_meant(other, names) for other in map(_part_at, others) if other)) or meant
    return [held for name, held in known if name in meant]


def _meant(part: str, names: Set[str]) -> frozenset[str]:
    """Those names of models that an optimizer for this part is for."""
    found = (frozenset(name for name in names if row.match(part, name)) for row in OWNERS)
    return next(filter(None, found), frozenset())


def _part_at(place: str) -> str:
    return part_of_optimizer(place.rpartition(".")[2])
