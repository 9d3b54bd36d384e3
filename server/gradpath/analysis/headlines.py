"""Headlines, cut to the room that there is for them, and the conditions that they name."""

from __future__ import annotations

import ast

from gradpath.findings.report import Source
from gradpath.interpreter.events import Decision, OfClass, OfTable

LONGEST = 120
"""Characters of a headline."""

_SHORTEST = 16
"""Characters to which code that a headline quotes may be cut."""


def _article(name: str) -> str:
    return "an" if name[:1] in "AEIOaeio" else "a"


def words(decision: Decision, source: Source) -> str:
    """`when x is None`: the condition as the program writes it."""
    if isinstance(decision.node, ast.Try):
        outcome = "raises nothing" if decision.outcome else "raises"
        return f"when the `try` on line {decision.node.lineno} {outcome}"
    if isinstance(decision.key, OfClass):
        cls = decision.key.cls
        among = f"holds `{cls}` objects" if decision.key.several else f"is {_article(cls)} `{cls}`"
        return f"if `{decision.key.argument.arg}` {among}"
    text = source.short(decision.site, decision.node, 60)
    if isinstance(decision.key, OfTable):
        return f"when `{text}` is {'' if decision.outcome else 'not '}`{decision.key.name}`"
    return f"when `{text}`" if decision.outcome is not decision.negated else f"when not `{text}`"


def conditional(headline: str, condition: str) -> str:
    """The headline with its condition; a long one of the program's is cut before the headline is."""
    return f"{fitted(headline, LONGEST - len(condition) - 2)}, {condition}"


def branch(decision: Decision, headline: str, source: Source) -> str:
    """The condition in words, its code cut to the room that the headline leaves; "on some paths" where that is none."""
    condition = words(decision, source)
    room = LONGEST - len(headline) - 2
    if len(condition) <= room or not condition.endswith("`") or isinstance(decision.key, OfClass):
        return condition
    cut = condition.removesuffix("`")[: max(room, 18) - 2].rstrip() + "…`"
    rest = fitted(headline, LONGEST - len(cut) - 2)
    return cut if rest.split("`")[::2] == headline.split("`")[::2] else "on some paths"


def fitted(text: str, limit: int) -> str:
    """A sentence of at most `limit` code points: code that it quotes is cut before its words are, the longest first.

    Where that is not enough its last clause goes; only a sentence that has but one is cut within its words.
    """
    pieces = text.split("`")
    quoted = range(1, len(pieces), 2)
    while (excess := sum(map(len, pieces)) + len(pieces) - 1 - limit) > 0:
        longest = max(quoted, key=lambda index: len(pieces[index]), default=0)
        room = len(pieces[longest])
        if not longest or room <= _SHORTEST:
            main = text.rpartition(", ")[0] or (text.rpartition(": ")[0] if text.rfind(": ") >= limit else "")
            whole = main and main.count("`") % 2 == 0
            return fitted(main, limit) if whole else text[: limit - 1].rstrip() + "…"
        second = max((len(pieces[index]) for index in quoted if index != longest), default=0)
        kept = max(room - excess, min(second, room - 1), _SHORTEST)
        pieces[longest] = pieces[longest].removesuffix("…")[: kept - 1].rstrip() + "…"
    return "`".join(pieces)
