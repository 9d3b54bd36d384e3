"""JUnit's XML, which nearly every CI shows as a table of tests: one failed test for each diagnostic."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import groupby

from gradpath.diagnostic import Diagnostic, Gap, Level
from gradpath.render.gaps import gap_sentence
from gradpath.render.report import Report
from gradpath.render.story import story_text
from gradpath.render.width import safe_text


def render_junit(report: Report) -> str:
    """The report as one XML document: a suite for each file with diagnostics, and one for what was not checked.

    A hint is a test that passed with a word; a report without any diagnostic has one test that passed, because some
    services take a document without tests for a run that broke off.
    """
    root = ET.Element("testsuites", name="gradpath")
    for path, found in groupby(report.diagnostics, key=lambda each: each.path):
        _suite(root, path, [_diagnostic(each) for each in found])
    _suite(root, "not checked", [_error(each.path, each.message) for each in report.problems])
    _suite(root, "not fully checked", [_gap(each) for each in report.incomplete])
    if not len(root):
        _suite(root, "gradpath", [ET.Element("testcase", name="no mistakes found", classname="gradpath")])
    suites = list(root)
    for kind in ("tests", "failures", "errors"):
        root.set(kind, str(sum(int(suite.get(kind, "0")) for suite in suites)))
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode")


def _suite(root: ET.Element, name: str, cases: list[ET.Element]) -> None:
    if not cases:
        return
    suite = ET.SubElement(root, "testsuite", name=safe_text(name), tests=str(len(cases)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    suite.set("errors", str(sum(case.find("error") is not None for case in cases)))
    suite.extend(cases)


def _diagnostic(diagnostic: Diagnostic) -> ET.Element:
    start = diagnostic.range.start
    cell = "" if diagnostic.cell is None else f"cell {diagnostic.cell}:"
    case = ET.Element("testcase", name=f"{diagnostic.rule} at {cell}{start.line}:{start.column}")
    case.set("classname", safe_text(diagnostic.path))
    case.set("file", safe_text(diagnostic.path))
    case.set("line", str(start.line))
    if diagnostic.level is Level.HINT:
        ET.SubElement(case, "system-out").text = story_text(diagnostic)
    else:
        failure = ET.SubElement(case, "failure", type=diagnostic.level.value, message=safe_text(diagnostic.message))
        failure.text = story_text(diagnostic)
    return case


def _gap(gap: Gap) -> ET.Element:
    cell = "" if gap.cell is None else f"cell {gap.cell}, "
    case = ET.Element("testcase", name=f"{cell}line {gap.range.start.line}", classname=safe_text(gap.path))
    ET.SubElement(case, "skipped", message=safe_text(gap_sentence(gap)))
    return case


def _error(path: str, message: str) -> ET.Element:
    case = ET.Element("testcase", name="not checked", classname=safe_text(path))
    ET.SubElement(case, "error", message=safe_text(message))
    return case
