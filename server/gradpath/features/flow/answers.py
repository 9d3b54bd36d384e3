"""Why a module, a parameter or the parameters of an optimizer get no gradient, or what trains them, in sentences."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from gradpath.features.flow import Arrival, Call, Cell, Flow, Parameter, Reason, Row, Use, Why, leads_to
from gradpath.features.flow.table import come_from_outside, place_of
from gradpath.render.width import safe_text
from gradpath.source.cells import CellsDocument, lines_in_cells
from gradpath.source.document import Document
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.fast_enums import Enum

_ARRIVING = frozenset({Arrival.GRADIENT, Arrival.ZEROS})

MOST_REASONS = 4
"""The most reasons that are given for one row."""


class Fate(Enum):
    """The verdicts on parameters."""

    LEARNS = "learns"
    NOT_UPDATED = "not updated"
    ZEROS = "zeros"
    NO_GRADIENT = "no gradient"
    FROZEN = "frozen"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer about some parameters in the entry point `entry`: a headline, and sentences that prove it."""

    entry: str
    name: str
    count: int | None
    fate: Fate
    headline: str
    sentences: tuple[str, ...]
    reasons: tuple[Reason, ...] = ()


Matches = Callable[[str, Parameter], bool]
"""Whether a name means a parameter, or what has it."""


def begins(name: str, parameter: Parameter) -> bool:
    """True if a way to a parameter begins with a name as the program writes it."""
    return any(f"{each}.".startswith(f"{name}.") for each in (parameter.name, *parameter.names))


def answers_to(flows: Sequence[Flow], name: str, path: str, matches: Matches = leads_to) -> tuple[Answer, ...]:
    """The answers for a module, a parameter, a tensor or an optimizer that the program calls `name`.

    Parameters that fare otherwise have answers of their own. Empty where nothing is known by that name.
    """
    found: list[Answer] = []
    for flow in flows:
        chosen = tuple(each for each in flow.parameters if matches(name, each))
        found += [_of_row(flow, row, path) for row in flow.rows(chosen)]
        steps = [call for call in flow.steps if f".{call.optimizer}.".endswith(f".{name}.")]
        if steps and not chosen:
            found += _of_optimizer(flow, name, steps, path)
    return tuple(found)


def names_in(flows: Sequence[Flow]) -> list[str]:
    """The program's names for modules, parameters and optimizers."""
    found: dict[str, None] = {}
    for flow in flows:
        for each in flow.parameters:
            steps = each.name.split(".")
            found.update((".".join(steps[: count + 1]), None) for count in range(steps[0] == "self", len(steps)))
        found.update((call.optimizer, None) for call in flow.steps if call.optimizer)
    return list(found)


def _of_row(flow: Flow, row: Row, path: str) -> Answer:
    fate = _fate(row)
    sentences = [*_of_arrivals(flow, row, path), *_of_updates(flow, row, path)]
    reasons = tuple(_telling(fate, row))[:MOST_REASONS]
    sentences += [_said(each) for each in reasons]
    sentences += _of_presumptions(flow, row)
    ends = _HEADLINES[fate]
    if fate is Fate.NOT_UPDATED and not flow.steps:
        ends = f"gets gradients, and no step {'runs' if flow.stops else 'is known'}"
        sentences += [f"{flow.stops}: what comes after it never runs"] if flow.stops else []
    headline = f"{_counted(row)} {ends}"
    count = None if row.first.unseen else len(row.parameters)
    return Answer(flow.entry, row.name, count, fate, headline, tuple(sentences), reasons)


def _counted(row: Row) -> str:
    count = len(row.parameters)
    number = f" ({count} parameter{'' if count == 1 else 's'}{'' if row.first.whole else ', and others'})"
    return f"`{row.name}`{number if row.is_module else ''}"


_HEADLINES = {
    Fate.LEARNS: "learns",
    Fate.NOT_UPDATED: "gets gradients, and no step updates it",
    Fate.ZEROS: "gets no gradient but zeros",
    Fate.NO_GRADIENT: "gets no gradient",
    Fate.FROZEN: "is frozen: it gets no gradient",
    Fate.UNKNOWN: "may get a gradient or none: that is not known",
}


def _fate(row: Row) -> Fate:
    arrivals = {cell.state for cell in row.first.arrivals if cell is not None}
    uses = {cell.state for cell in row.first.uses if cell is not None}
    if Arrival.GRADIENT in arrivals:
        return Fate.LEARNS if Use.UPDATED in uses else Fate.NOT_UPDATED
    if Arrival.ZEROS in arrivals:
        return Fate.ZEROS
    if Arrival.UNKNOWN in arrivals:
        return Fate.UNKNOWN
    if not arrivals:
        return Fate.LEARNS if Use.UPDATED in uses else Fate.NO_GRADIENT
    return Fate.FROZEN if arrivals == {Arrival.FROZEN} else Fate.NO_GRADIENT


def _of_arrivals(flow: Flow, row: Row, path: str) -> Iterator[str]:
    given = _calls(flow.backwards, row.first.arrivals, _ARRIVING)
    if given:
        yield f"gradients from {_spelled(given, path)}"
    elif not flow.backwards:
        yield "no backward runs"


def _of_updates(flow: Flow, row: Row, path: str) -> Iterator[str]:
    updated = _calls(flow.steps, row.first.uses, {Use.UPDATED})
    idle = _calls(flow.steps, row.first.uses, {Use.IDLE, Use.ZEROS})
    unknown = _calls(flow.steps, row.first.uses, {Use.UNKNOWN})
    if updated:
        yield f"updated by {_spelled(updated, path)}"
    elif idle:
        yield f"{_spelled(idle, path)} {'has' if len(idle) == 1 else 'have'} it, and nothing to update it with"
    elif unknown:
        yield f"not known: whether {_spelled(unknown, path)} {'has' if len(unknown) == 1 else 'have'} it"


def _telling(fate: Fate, row: Row) -> Iterator[Reason]:
    """The reasons that explain a fate: of what learns from one loss, no cut on the way to another."""
    for each in row.reasons:
        holding = each.why in (Why.CONTAINER, Why.LATE, Why.UNHELD)
        if (fate is Fate.NOT_UPDATED and holding) or (fate in (Fate.NO_GRADIENT, Fate.FROZEN) and not holding):
            yield each


def _said(reason: Reason) -> str:
    """A reason, with the line where the words have none."""
    there = f"line {reason.line}"
    return reason.words if not reason.line or there in reason.words else f"{reason.words} ({there})"


def _of_presumptions(flow: Flow, row: Row) -> Iterator[str]:
    presumed = [call.optimizer for call, cell in zip(flow.steps, row.first.uses, strict=True) if _is_presumed(cell)]
    names = [name for name in flow.unseen if name in presumed or (name == row.name and row.first.unseen)]
    if names:
        yield f"presumed: {come_from_outside(names)}"
    if any(map(_is_presumed, row.first.arrivals)):
        yield from (f"presumed: {condition}" for condition in flow.conditions[:MOST_REASONS])


def _is_presumed(cell: Cell | None) -> bool:
    return cell is not None and cell.presumed


def _of_optimizer(flow: Flow, name: str, steps: Sequence[Call], path: str) -> Iterator[Answer]:
    """The parameters that the steps of an optimizer update, and those that get no gradient."""
    numbers = {index for index, call in enumerate(flow.steps) if call in steps}
    members: dict[Use, list[Row]] = {}
    for row in flow.rows():
        states = {cell.state for index, cell in enumerate(row.first.uses) if index in numbers and cell is not None}
        for use in (Use.UPDATED, Use.ZEROS, Use.IDLE):
            if use in states:
                members.setdefault(use, []).append(row)
                break
    updated, idle = members.get(Use.UPDATED, []), [*members.get(Use.ZEROS, []), *members.get(Use.IDLE, [])]
    fate = Fate.LEARNS if updated else Fate.NO_GRADIENT if idle else Fate.UNKNOWN
    if updated:
        headline = f"`{name}` updates {', '.join(map(_counted, updated))}"
    elif idle:
        headline = f"`{name}` updates nothing"
    else:
        headline = f"not known: what `{name}` updates"
    sentences = [f"it steps in {_spelled(steps, path)}"]
    cells = [cell for row in updated for index, cell in enumerate(row.first.uses) if index in numbers]
    if any(map(_is_presumed, cells)):
        sentences += [f"presumed: {come_from_outside(flow.unseen)}"]
    yield Answer(flow.entry, name, None, fate, headline, tuple(sentences))
    yield from (_of_row(flow, row, path) for row in idle)


def _calls(calls: Sequence[Call], cells: Sequence[Cell | None], states: set[Use] | frozenset[Arrival]) -> list[Call]:
    return [call for call, cell in zip(calls, cells, strict=True) if cell is not None and cell.state in states]


def _spelled(calls: Sequence[Call], path: str) -> str:
    told = [f"`{call.text}` on {place_of(call, path)}" for call in calls]
    return " and ".join((", ".join(told[:-1]), told[-1])) if len(told) > 1 else told[0]


def told(answers: Sequence[Answer], flows: Sequence[Flow], name: str, document: Document, tree: ast.AST) -> str:
    """The answers as text for people; that nothing is known where there are none."""
    lines: list[str] = []
    for each in answers:
        where = f" (in `{each.entry}`)" if each.entry and len(flows) > 1 else ""
        lines.append(f"{each.headline}{where}")
        lines += [f"  - {sentence}" for sentence in each.sentences]
    if not answers:
        lines.append(f"not known: {_unknown(flows, name, tree, document.path)}")
    text = "".join(f"{safe_text(line)}\n" for line in lines)
    return lines_in_cells(text, document) if isinstance(document, CellsDocument) else text


def _unknown(flows: Sequence[Flow], name: str, tree: ast.AST, path: str) -> str:
    """Why there is no answer."""
    if not flows:
        return f"no backward and no step is known in {path}"
    if any(isinstance(node, ast.arg) and node.arg == name for node in ast.walk(tree)):
        return f"`{name}` comes from outside"
    return f"nothing that gets a gradient or is updated in {path} is called `{name}`"


def is_named(tree: ast.AST, name: str) -> bool:
    """True if a program has a name or an attribute that ends like this one."""
    last = name.rpartition(".")[2]
    return any(
        last in (getattr(node, "id", None), getattr(node, "attr", None), getattr(node, "arg", None))
        for node in ast.walk(tree)
    )
