"""Lists that a loss is computed from, and that go on through all iterations: log probabilities, and rewards."""

from __future__ import annotations

import ast

from gradpath.findings.carrying import Case, appended_to
from gradpath.findings.definitions import defining_expressions, given_to
from gradpath.findings.syntax import call_of
from gradpath.source.index import holds, methods_called, variables
from gradpath.source.nodes import last_name


def filled_beside(case: Case, name: str) -> list[str]:
    """The other lists than `name` that the loss is computed from, and that nothing empties, by their names."""
    trace, document, filled = case.trace, case.source.document(case.again), set(appended_to(case.trace))
    match call_of(trace, case.again.node):
        case ast.Call(func=ast.Attribute(value=root, attr="backward")):
            made = defining_expressions(trace, document, root)
        case _:
            return []
    found = {ast.unparse(each): each for expression in made for each in variables(expression)}
    goes_on = {text: last_name(each) in filled and not _is_begun(case, each) for text, each in found.items()}
    return [text for text, open in goes_on.items() if open and text != name]


def _is_begun(case: Case, variable: ast.Name | ast.Attribute) -> bool:
    """True if the program begins a list again in each iteration, or empties it."""
    begun = (each for each in given_to(case.trace, ast.unparse(variable)) if isinstance(each, ast.List))
    deleted = (target for each in case.trace.visits if isinstance(each, ast.Delete) for target in each.targets)
    emptied = [each.value for each in deleted if isinstance(each, ast.Subscript)]
    emptied += [each for code in case.trace.visits for each, how, _ in methods_called(code) if how == "clear"]
    is_emptied = last_name(variable) in map(last_name, emptied)
    return is_emptied or any(holds(case.loop, each) for each in begun) or case.is_fresh(case.again, variable)
