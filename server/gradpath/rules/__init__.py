"""The catalogue: each module of this package that has a `RULE` is a rule, with its page beside it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, ValuesView
from functools import cache

from gradpath.findings.report import Rule
from gradpath.source.suppress import FAMILY, UNUSED
from gradpath.support.plugins import modules_of


@cache
def _rules() -> dict[str, Rule]:
    rules = (getattr(module, "RULE", None) for module in modules_of(__name__, __path__[0]))
    return {rule.id: rule for rule in rules if isinstance(rule, Rule)}


class _Catalogue(Mapping[str, Rule]):
    """Rule id to rule; loaded when it is first asked."""

    def __getitem__(self, rule: str) -> Rule:
        return _rules()[rule]

    def __iter__(self) -> Iterator[str]:
        return iter(_rules())

    def __len__(self) -> int:
        return len(_rules())

    def values(self) -> ValuesView[Rule]:
        return _rules().values()


RULES: Mapping[str, Rule] = _Catalogue()


@cache
def _names() -> dict[str, None]:
    return dict.fromkeys((*RULES, UNUSED, *(rule.family for rule in RULES.values()), FAMILY))


class _Names(Collection[str]):
    """Loaded like the catalogue: a configuration that names no rule needs none."""

    def __contains__(self, name: object) -> bool:
        return name in _names()

    def __iter__(self) -> Iterator[str]:
        return iter(_names())

    def __len__(self) -> int:
        return len(_names())


NAMES: Collection[str] = _Names()
"""The ids of all rules and families: what a configuration or a suppression may name."""
