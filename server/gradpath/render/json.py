"""The JSON object that scripts build on; its shape may grow, and existing parts do not change."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from gradpath.diagnostic import Diagnostic, Edit, Fix, Gap, Label, Position, Range
from gradpath.render.gaps import gap_reason
from gradpath.render.report import Report, Understood

VERSION = 1


def render_json(report: Report) -> str:
    """The whole report as one JSON object in ASCII, which every terminal encoding carries."""
    data: dict[str, Any] = {
        "version": VERSION,
        "diagnostics": [diagnostic_as_json(diagnostic) for diagnostic in report.diagnostics],
        "errors": [{"path": problem.path, "message": problem.message} for problem in report.problems],
        "files": report.files,
        "incomplete": [_gap(gap) for gap in report.incomplete],
    }
    if report.fixed is not None:
        data["fixed"] = report.fixed
    if report.understood is not None:
        rules = Counter(diagnostic.rule for diagnostic in report.diagnostics)
        data["statistics"] = {
            "rules": dict(sorted(rules.items())),
            "unknowns": dict(sorted(report.causes().items())),
            "files": [_understood(path, each) for path, each in sorted(report.understood.items())],
        }
    return json.dumps(data, indent=1)


def _understood(path: str, understood: Understood) -> dict[str, Any]:
    causes = dict(sorted(understood.causes.items()))
    return {"path": path, "reached": understood.reached, "understood": understood.clear, "unknowns": causes}


def diagnostic_as_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """One diagnostic in the JSON of a report."""
    return {
        "path": diagnostic.path,
        "cell": diagnostic.cell,
        "rule": diagnostic.rule,
        "family": diagnostic.family,
        "level": diagnostic.level.value,
        "message": diagnostic.message,
        "range": _range(diagnostic.range),
        "related": [_related(label) for label in diagnostic.labels if not label.primary],
        "fixes": [_fix(fix) for fix in diagnostic.fixes],
    }


def _gap(gap: Gap) -> dict[str, Any]:
    place = {"path": gap.path, "cell": gap.cell, "line": gap.range.start.line}
    return {**place, "kind": gap.kind.value, "entry": gap.entry, "rule": gap.rule or None, "message": gap_reason(gap)}


def _related(label: Label) -> dict[str, Any]:
    related = {"path": label.path, "range": _range(label.range), "message": label.message}
    return related if label.cell is None else {**related, "cell": label.cell}


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "title": fix.title,
        "safety": fix.safety.value,
        "preferred": fix.preferred,
        "transformations": [each.transformation.value for each in fix.repairs],
        "edits": [_edit(edit) for edit in fix.edits],
    }


def _edit(edit: Edit) -> dict[str, Any]:
    written = {"path": edit.path, "range": _range(edit.range), "new_text": edit.new_text}
    return written if edit.cell is None else {**written, "cell": edit.cell}


def _range(range: Range) -> dict[str, Any]:
    return {"start": _position(range.start), "end": _position(range.end)}


def _position(position: Position) -> dict[str, int]:
    return {"line": position.line, "column": position.column}
