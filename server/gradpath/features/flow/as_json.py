"""A flow as JSON: what other programs read."""

from __future__ import annotations

import json
from collections.abc import Sequence

from gradpath.diagnostic import Gap, Position, Range
from gradpath.features.flow import Call, Cell, Flow, Reason, Row
from gradpath.render.gaps import gap_sentence
from gradpath.source.cells import CellsDocument
from gradpath.source.document import Document


def as_json(flows: Sequence[Flow], document: Document, incomplete: Sequence[Gap] = ()) -> str:
    """One object; lines count from 1, in a notebook within the cell, and `row` is the index of a row."""
    told = {
        "version": 1,
        "path": document.path,
        "flows": [_flow(flow, document) for flow in flows],
        "incomplete": [
            {"path": gap.path, "cell": gap.cell, "line": gap.range.start.line, "message": gap_sentence(gap)}
            for gap in incomplete
        ],
    }
    return json.dumps(told, indent=1) + "\n"


def place_as_json(path: str, line: int, document: Document) -> dict[str, object]:
    """A line as the fields `path`, `cell` and `line`; the line is null where there is none."""
    if not line:
        return {"path": None, "cell": None, "line": None}
    if isinstance(document, CellsDocument) and path == document.path:
        start = Position(line, 1)
        cell, place = document.in_cell(Range(start, start))
        return {"path": path, "cell": cell.number, "line": place.start.line}
    return {"path": path, "cell": None, "line": line}


def reason_as_json(reason: Reason, document: Document) -> dict[str, object]:
    """Why a row does not learn, and where."""
    place = place_as_json(reason.path, reason.line, document)
    backwards = list(reason.backwards)
    return {"kind": reason.why.value, "message": reason.words, **place, "text": reason.text, "backwards": backwards}


def _flow(flow: Flow, document: Document) -> dict[str, object]:
    rows = flow.rows()
    numbers = {id(each): number for number, row in enumerate(rows) for each in row.parameters}
    return {
        "entry": flow.entry,
        "backwards": [_call(each, document) for each in flow.backwards],
        "steps": [{**_call(each, document), "optimizer": each.optimizer or None} for each in flow.steps],
        "rows": [_row(flow, row, document) for row in rows],
        "parameters": [{"name": each.name, "row": numbers[id(each)]} for each in flow.parameters if not each.unseen],
        "unseen": list(flow.unseen),
        "conditions": list(flow.conditions),
        "taken": list(flow.taken),
        "stops": flow.stops or None,
    }


def _call(call: Call, document: Document) -> dict[str, object]:
    return {"id": call.number, "text": call.text, **place_as_json(call.path, call.line, document)}


def _row(flow: Flow, row: Row, document: Document) -> dict[str, object]:
    first = row.first
    return {
        "name": row.name,
        "kind": "unseen"
        if first.unseen
        else "module"
        if row.is_module
        else "parameter"
        if first.trainable
        else "tensor",
        "parameters": None if first.unseen else len(row.parameters),
        "complete": first.whole and not first.unseen,
        "gradients": [_cell(call, cell) for call, cell in zip(flow.backwards, first.arrivals, strict=True)],
        "updates": [_cell(call, cell) for call, cell in zip(flow.steps, first.uses, strict=True)],
        "reasons": [reason_as_json(each, document) for each in row.reasons],
    }


def _cell(call: Call, cell: Cell | None) -> dict[str, object]:
    """The state of one call; null where the parameter did not exist."""
    if cell is None:
        return {"call": call.number, "state": None, "always": False, "presumed": False}
    return {"call": call.number, "state": cell.state.value, "always": cell.always, "presumed": cell.presumed}
