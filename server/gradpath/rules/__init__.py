"""The catalogue: each module of this package that has a `RULE` is a rule, with its page beside it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources

from gradpath.records import replace
from gradpath.rules.report import Rule


@cache
def _rules() -> dict[str, Rule]:
    found: dict[str, Rule] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda each: each.name):
        rule = getattr(importlib.import_module(f"{__name__}.{module.name}"), "RULE", None)
        if isinstance(rule, Rule):
            found[rule.id] = replace(rule, page=_page(module.name))
    return found


def _page(name: str) -> str:
    page = resources.files(__name__) / f"{name}.md"
    return page.read_text(encoding="utf-8") if page.is_file() else ""


class _Catalogue(Mapping[str, Rule]):
    """Rule id to rule; loaded when it is first asked."""

    def __getitem__(self, rule: str) -> Rule:
        return _rules()[rule]

    def __iter__(self) -> Iterator[str]:
        return iter(_rules())

    def __len__(self) -> int:
        return len(_rules())


RULES: Mapping[str, Rule] = _Catalogue()
