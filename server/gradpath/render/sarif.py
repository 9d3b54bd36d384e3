"""SARIF 2.1.0, which code-scanning services read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gradpath.diagnostic import Diagnostic, Edit, Fix, Gap, Label, Level, Range
from gradpath.render.gaps import gap_sentence
from gradpath.render.report import Problem, Report

_LEVELS = {Level.ERROR: "error", Level.WARNING: "warning", Level.HINT: "note"}


def render_sarif(report: Report, version: str) -> str:
    """The report as one SARIF log with one run of gradpath `version`; the story of a diagnostic is a code flow."""
    rules = sorted({diagnostic.rule for diagnostic in report.diagnostics} | set(report.descriptions))
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "gradpath",
                        "semanticVersion": version,
                        "rules": [_rule(rule, report.descriptions.get(rule, rule)) for rule in rules],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": not report.problems,
                        "toolExecutionNotifications": [
                            *(_notification(problem) for problem in report.problems),
                            *(_gap(gap) for gap in report.incomplete),
                        ],
                    }
                ],
                "results": [_result(diagnostic, rules) for diagnostic in report.diagnostics],
            }
        ],
    }
    return json.dumps(log, indent=1)


def _rule(rule: str, description: str) -> dict[str, Any]:
    return {"id": rule, "shortDescription": {"text": description}}


def _result(diagnostic: Diagnostic, rules: list[str]) -> dict[str, Any]:
    words = [diagnostic.message]
    if diagnostic.help:
        words.append(f"Help: {diagnostic.help}")
    result: dict[str, Any] = {
        "ruleId": diagnostic.rule,
        "ruleIndex": rules.index(diagnostic.rule),
        "level": _LEVELS[diagnostic.level],
        "message": {"text": "\n".join(words)},
        "locations": [{"physicalLocation": _place(diagnostic.path, diagnostic.range)}],
    }
    if diagnostic.labels:
        result["relatedLocations"] = [
            {"id": number, **_location(label)} for number, label in enumerate(diagnostic.labels, start=1)
        ]
        result["codeFlows"] = [
            {"threadFlows": [{"locations": [{"location": _location(label)} for label in diagnostic.labels]}]}
        ]
    fixes = [_fix(fix) for fix in diagnostic.fixes if fix.edits]
    if fixes:
        result["fixes"] = fixes
    return result


def _location(label: Label) -> dict[str, Any]:
    return {"physicalLocation": _place(label.path, label.range), "message": {"text": label.message}}


def _fix(fix: Fix) -> dict[str, Any]:
    by_path: dict[str, list[Edit]] = {}
    for edit in fix.edits:
        by_path.setdefault(edit.path, []).append(edit)
    return {
        "description": {"text": f"{fix.title} ({fix.safety.value})"},
        "artifactChanges": [
            {
                "artifactLocation": {"uri": _uri(path)},
                "replacements": [
                    {"deletedRegion": _region(edit.range), "insertedContent": {"text": edit.new_text}} for edit in edits
                ],
            }
            for path, edits in by_path.items()
        ],
    }


def _notification(problem: Problem) -> dict[str, Any]:
    return {
        "level": "error",
        "message": {"text": problem.message},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(problem.path)}}}],
    }


def _gap(gap: Gap) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(gap.path)}}
    message = gap_sentence(gap)
    if gap.cell is None:
        place["region"] = {"startLine": gap.range.start.line}
    else:  # SARIF counts lines in the file, and these are lines of the cell.
        message = f"cell {gap.cell}, line {gap.range.start.line}: {message}"
    return {"level": "warning", "message": {"text": message}, "locations": [{"physicalLocation": place}]}


def _place(path: str, range: Range) -> dict[str, Any]:
    return {"artifactLocation": {"uri": _uri(path)}, "region": _region(range)}


def _region(range: Range) -> dict[str, int]:
    start, end = range.start, range.end
    return {"startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column}


def _uri(path: str) -> str:
    file = Path(path)
    return file.as_uri() if file.is_absolute() else quote(file.as_posix(), errors="surrogateescape")
