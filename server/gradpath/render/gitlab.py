"""A Code Quality report, which GitLab shows in a merge request.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256
from pathlib import PurePath
from typing import Any

from gradpath.diagnostic import Diagnostic, Gap, Level
from gradpath.render.gaps import gap_sentence
from gradpath.render.report import Problem, Report

_SEVERITIES = {Level.ERROR: "critical", Level.WARNING: "major", Level.HINT: "minor"}


def render_gitlab(report: Report) -> str:
    """The report as one JSON array; what could not be checked is in it, too, so that a pipeline does not look clean."""
    issues = [
        *(_diagnostic(each) for each in report.diagnostics),
        *(_problem(each) for each in report.problems),
        *(_gap(each) for each in report.incomplete),
    ]
    seen: Counter[str] = Counter()
    for issue in issues:
        # GitLab distinguishes issues by the fingerprint, which must outlive a change of the lines above: no line is in
        # it, and no message, since that may name one.
        key = "\0".join((issue["location"]["path"], issue["check_name"]))
        seen[key] += 1
        issue["fingerprint"] = sha256(f"{key}\0{seen[key]}".encode("utf-8", "surrogateescape")).hexdigest()
    return json.dumps(issues, indent=1)


def _diagnostic(diagnostic: Diagnostic) -> dict[str, Any]:
    start, end = diagnostic.range.start, diagnostic.range.end
    return _issue(
        f"gradpath: {diagnostic.rule}",
        diagnostic.message,
        _SEVERITIES[diagnostic.level],
        {"path": _path(diagnostic.path), "lines": {"begin": start.line, "end": end.line}},
    )


def _problem(problem: Problem) -> dict[str, Any]:
    place = {"path": _path(problem.path), "lines": {"begin": 1}}
    return _issue("gradpath: not checked", problem.message, "blocker", place)


def _gap(gap: Gap) -> dict[str, Any]:
    cell = "" if gap.cell is None else f"cell {gap.cell}, line {gap.range.start.line}: "
    line = 1 if gap.cell is not None else gap.range.start.line
    place = {"path": _path(gap.path), "lines": {"begin": line}}
    return _issue("gradpath: not fully checked", cell + gap_sentence(gap), "info", place)


def _issue(check: str, description: str, severity: str, location: dict[str, Any]) -> dict[str, Any]:
    return {"check_name": check, "description": description, "severity": severity, "location": location}


def _path(path: str) -> str:
    return PurePath(path).as_posix()
