"""What a path teaches, in terms of places in the text, so that a program can be compared with itself after a fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.trace import BackwardRan, Built, Cleared, Site, Stepped, Trace
from gradpath.repairs import Cost
from gradpath.rules.graphs import moved_leaves
from gradpath.rules.stories import short_operation
from gradpath.support.fast_dataclasses import dataclass

Place = tuple[str, int]
"""A file and a line in it."""

Parameter = tuple[str, int, int]
"""Where a parameter was made, and which of those that were made there it is."""

_UNDOING = frozenset({"div", "true_divide", "sub", "sub_", "div_", "rsub"})
"""Operations that give a constant of a value and itself."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one step found in the gradient of one parameter: of which backwards it was the sum."""

    optimizer: int
    parameter: Parameter
    backwards: frozenset[Place]


@dataclass(frozen=True, slots=True)
class Taught:
    """What a path teaches: the `lessons` in their order, and what got a gradient by any backward.

    `owned` are the parameters of each optimizer that stepped. `constant` counts where a value is divided by itself, or
    taken from itself.
    """

    lessons: tuple[Lesson, ...]
    given: frozenset[Parameter]
    owned: Mapping[int, frozenset[Parameter]]
    constant: Mapping[Place, int]


def taught(trace: Trace) -> Taught:
    """What a path teaches."""
    names = _Names()
    pending: dict[int, set[Place]] = {}
    lessons: list[Lesson] = []
    given: set[Parameter] = set()
    owned: dict[int, frozenset[Parameter]] = {}
    numbers: dict[int, int] = {}
    for event in trace.among(BackwardRan, Stepped, Cleared):
        match event:
            case BackwardRan():
                for leaf in moved_leaves(event):
                    pending.setdefault(id(leaf), set()).add(_place(event.site))
                    given.add(names.of(leaf))
            case Cleared():
                for tensor in event.tensors:
                    pending.pop(id(tensor), None)
            case Stepped():
                number = numbers.setdefault(id(event.optimizer), len(numbers))
                owned[number] = frozenset(map(names.of, (*event.parameters, *event.unseen, *event.updated)))
                for tensor in dict.fromkeys(event.updated):
                    found = frozenset(pending.get(id(tensor), ()))
                    lessons.append(Lesson(number, names.of(tensor), found))
    return Taught(tuple(lessons), frozenset(given), owned, _constant(trace))


class _Names:
    """The names of parameters, the same for each run of the same text."""

    def __init__(self) -> None:
        self._known: dict[int, Parameter] = {}
        self._made: Counter[Place] = Counter()

    def of(self, tensor: Tensor) -> Parameter:
        """The name of a parameter."""
        if id(tensor) not in self._known:
            place = _place(tensor.origin) if isinstance(tensor.origin, Site) else ("", 0)
            self._known[id(tensor)] = (*place, self._made[place])
            self._made[place] += 1
        return self._known[id(tensor)]


def _place(site: Site) -> Place:
    return site.path, site.line


def _constant(trace: Trace) -> dict[Place, int]:
    found: Counter[Place] = Counter()
    for event in trace.of(Built):
        operands = [each for tensors in event.inputs.values() for each in tensors]
        if len(operands) == 2 and operands[0] is operands[1] and short_operation(event.node.name) in _UNDOING:
            found[_place(event.site)] += 1
    return dict(found)


def costs(before: Taught, after: Taught, lines: Mapping[int, int], path: str) -> set[Cost]:
    """What a fix changes of what a path teaches, apart from what it is meant to change.

    `lines` of the file `path` stay, and are others after the fix; what stands in those that change is not compared.
    """
    found: set[Cost] = set()
    stepped = frozenset[Parameter]().union(*after.owned.values())
    kept = {_moved(each, lines, path) for each in before.given}
    if any(each in stepped and each not in after.given for each in kept):
        found.add(Cost.UNTAUGHT)
    known = {_moved((*place, 0), lines, path): times for place, times in before.constant.items()}
    if any(times > max(known.get((*place, 0), 0), 1) for place, times in after.constant.items()):
        found.add(Cost.CONSTANT)
    if _is_mixed(after) and not _is_mixed(before):
        found.add(Cost.MIXED)
    return found


def _moved(parameter: Parameter, lines: Mapping[int, int], path: str) -> Parameter | None:
    file, line, number = parameter
    if file != path:
        return parameter
    return (file, lines[line], number) if line in lines else None


def _is_mixed(new: Taught) -> bool:
    """Whether an optimizer that has a loss of its own steps with gradients of one that is there for another optimizer.

    Such as that of an actor, which goes back through the world model that it acts in.
    """
    trains: dict[Place, set[int]] = {}
    for lesson in new.lessons:
        for backward in lesson.backwards:
            trains.setdefault(backward, set()).add(lesson.optimizer)
    alone = {next(iter(each)) for each in trains.values() if len(each) == 1}
    return any(
        lesson.optimizer in alone and other not in alone and not new.owned[lesson.optimizer] & new.owned[other]
        for lesson in new.lessons
        for backward in lesson.backwards
        for other in trains[backward] - {lesson.optimizer}
    )
