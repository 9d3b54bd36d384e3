"""The state of a graph at one moment of a run: later events are not in its picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gradpath.autograd.tensor import BackwardCall, Node, Saved
from gradpath.features.graph.wording import short
from gradpath.interpreter.events import BackwardRan, Event, Mutated
from gradpath.interpreter.sites import line_of
from gradpath.support.fast_dataclasses import dataclass

_SINGLY = 2
"""The most overwritten values of one statement that are listed one by one; of more the number is given."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The writes and the backwards of a run, by identity, before its event number `index`."""

    writes: frozenset[int]
    backwards: frozenset[int]

    @staticmethod
    def before(events: Sequence[Event], index: int) -> Moment:
        """The moment before an event."""
        earlier = events[:index]
        return Moment(
            frozenset(id(event.write) for event in earlier if isinstance(event, Mutated)),
            frozenset(id(event.call) for event in earlier if isinstance(event, BackwardRan)),
        )

    def freeing(self, node: Node) -> BackwardCall | None:
        """The backward that has freed what a node holds."""
        freed = node.freed_by
        return freed if freed is not None and node.holds and id(freed) in self.backwards else None

    def is_broken(self, node: Node) -> bool:
        """True if a backward cannot go through a node any more."""
        return self.freeing(node) is not None or any(True for _ in self._overwritten(node))

    def notes(self, node: Node, names: Mapping[int, str]) -> Iterator[str]:
        """The state of a node; `names` are those of parameters, by the identity of the tensor."""
        freed = self.freeing(node)
        if freed is not None:
            yield f"freed by the backward on line {line_of(freed.site)}"
        told: dict[str, list[str]] = {}
        for saved, how in self._overwritten(node):
            told.setdefault(how, []).append(name_of_saved(saved, names))
        for how, values in told.items():
            if len(values) > _SINGLY:
                yield f"{len(values)} saved values were overwritten {how}"
            else:
                yield from (f"`{value}` was overwritten {how}" for value in values)

    def _overwritten(self, node: Node) -> Iterator[tuple[Saved, str]]:
        for saved in node.saved:
            for write in saved.storage.writes:
                if write.version > saved.version and id(write) in self.writes:
                    yield saved, f"on line {line_of(write.site)} by `{short(write.operation)}`"
                    break


def name_of_saved(saved: Saved, names: Mapping[int, str]) -> str:
    """The name of a saved value: its variable, its name in its layer, or its part in the operation."""
    if saved.tensor.label:
        return saved.tensor.label
    return "its result" if saved.role.startswith("out") else names.get(id(saved.tensor), saved.role)
