"""The answer for a name at a place in an editor: what trains it, and what cuts it off."""

from __future__ import annotations

import ast

from gradpath.analysis.check import Analysis
from gradpath.diagnostic import Position, Range
from gradpath.features.flow import Flow
from gradpath.features.flow.answers import Answer, answers_to, begins, told
from gradpath.features.flow.find import flows_of
from gradpath.features.life import Story, name_at
from gradpath.findings.gradient_flow import optimizer_name
from gradpath.findings.report import Source
from gradpath.interpreter.events import Bound, Named, Stepped


def is_of_training(analysis: Analysis, position: Position) -> str:
    """The name at a place, if it is that of a module, a parameter or an optimizer on the likeliest paths; else empty.

    It is what decides whether to look at all paths.
    """
    found = name_at(analysis, position)
    if found is None:
        return ""
    name, _, node = found
    source = Source(dict(analysis.documents))
    text = ast.unparse(node)
    for trace in analysis.traces:
        if any(event.name == name for event in trace.of(Named)):
            return text
        tensors = (event.tensor for event in trace.of(Bound) if event.name == name)
        if any(each is not None and each.is_parameter for each in tensors):
            return text
        for event in trace.of(Stepped):
            own = {optimizer_name(trace, source, event.site, event.site)}
            if text in own | {each.label for each in (*event.updated, *event.unseen)}:
                return text
    return ""


def training_at(analysis: Analysis, position: Position) -> Story | None:
    """The explanation of what trains the name at a place, from an explored analysis."""
    found = _answers_at(analysis, position)
    if found is None or not found[1]:
        return None
    place, answers, _ = found
    first, *others = answers
    lines = list(first.sentences)
    for each in others:
        lines += [each.headline, *each.sentences]
    return Story(place, first.headline, tuple(lines))


def why_at(analysis: Analysis, position: Position) -> str | None:
    """The answer of `gradpath why`; None where there is no name."""
    found = _answers_at(analysis, position)
    if found is None:
        return None
    _, answers, flows = found
    node = name_at(analysis, position)
    name = "" if node is None else ast.unparse(node[2])
    return told(answers, flows, name, analysis.document, analysis.parsed.tree)


def _answers_at(analysis: Analysis, position: Position) -> tuple[Range, tuple[Answer, ...], tuple[Flow, ...]] | None:
    found = name_at(analysis, position)
    if found is None:
        return None
    name, _, node = found
    flows = flows_of(analysis)
    text, path = ast.unparse(node), analysis.document.path
    exact = answers_to(flows, text, path, begins)
    answers = exact or (answers_to(flows, name, path) if isinstance(node, ast.Attribute) else ())
    return analysis.document.range_of(node), answers, flows
