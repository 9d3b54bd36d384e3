"""The report on an analysis, as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence

from gradpath.diagnostic import Gap
from gradpath.features.debug import Choice, Debug, Entered, Place, Route, Skipped
from gradpath.features.flow.as_json import place_as_json
from gradpath.render.gaps import gap_sentence
from gradpath.source.document import Document


def as_json(debug: Debug, document: Document, incomplete: Sequence[Gap]) -> str:
    """One object; lines count from 1, in a notebook within the cell."""
    made = {
        "version": 1,
        "path": debug.path,
        "line": debug.line,
        "entries": [_entry(each, document) for each in debug.entered],
        "skipped": [_skipped(each, document) for each in debug.skipped],
        "incomplete": [
            {"path": gap.path, "cell": gap.cell, "line": gap.range.start.line, "message": gap_sentence(gap)}
            for gap in incomplete
        ],
    }
    return json.dumps(made, indent=1) + "\n"


def _entry(entered: Entered, document: Document) -> dict[str, object]:
    return {
        "name": entered.name,
        "line": entered.line,
        "reached": entered.passes,
        "given": dict(entered.given),
        "paths": [_route(each, document) for each in entered.routes],
        "found": [
            {
                "rule": each.rule,
                **_place(each.at, document),
                "message": each.headline,
                "paths": list(each.routes),
                "reported": not each.reason,
                "reason": each.reason or None,
            }
            for each in entered.seen
        ],
        "skipped": [_skipped(each, document) for each in entered.skipped],
        "unknown": [
            {**_place(each.at, document), "text": each.text, "origin": each.origin} for each in entered.unknowns
        ],
        "presumed": [
            {"row": each.row, "condition": each.words, "lines": list(each.lines)} for each in entered.presumed
        ],
    }


def _route(route: Route, document: Document) -> dict[str, object]:
    return {
        "number": route.number,
        "condition": route.condition or None,
        "statements": route.steps,
        "end": route.end.value,
        "message": route.words or None,
        "at": None if route.at is None else _place(route.at, document),
        "given_up": list(route.given_up),
        "choices": [_choice(each, document) for each in route.choices],
        "events": [{**_place(each.at, document), "kind": each.kind, "words": each.words} for each in route.events],
    }


def _choice(choice: Choice, document: Document) -> dict[str, object]:
    return {**_place(choice.at, document), "text": choice.text, "outcome": choice.outcome}


def _skipped(skipped: Skipped, document: Document) -> dict[str, object]:
    first = place_as_json(document.path, skipped.first, document)
    return {"name": skipped.name or None, **first, "last": skipped.last, "reason": skipped.reason}


def _place(place: Place, document: Document) -> dict[str, object]:
    return place_as_json(place.path, place.line, document)
