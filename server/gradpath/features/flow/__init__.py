"""Gradient flow: which backward gives which parameters a gradient, which step updates them, what is in the way.

`find` makes a `Flow` of each entry point of an analysis, from what `observed` sees on its paths; the other modules
present it, each a pure function.
"""

from __future__ import annotations

from gradpath.findings.parameters import widest
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.fast_enums import Enum


class Arrival(Enum):
    """The effect of a backward on a parameter."""

    GRADIENT = "gradient"
    ZEROS = "zeros"
    """A gradient that is zero everywhere: it came through a step function."""
    CUT = "cut"
    """The loss depends on its value, and every way from there to the loss is cut."""
    NONE = "none"
    """The loss does not depend on it."""
    FROZEN = "frozen"
    UNKNOWN = "unknown"


class Use(Enum):
    """The effect of a step on a parameter."""

    UPDATED = "updated"
    ZEROS = "zeros"
    """It is the optimizer's, and all that arrived is zero."""
    IDLE = "idle"
    """It is the optimizer's, and has no gradient."""
    ABSENT = "absent"
    """The optimizer does not have it."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Cell:
    """The effect of one call on a parameter: `always`, or only in some runs; `presumed` if it is of unseen code."""

    state: Arrival | Use
    always: bool = True
    presumed: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call of `backward()` or `step()`: its text, and its line (from 1) in the file `path`.

    `optimizer` is what the program calls the optimizer of a step; empty for a backward, and for an update by hand.
    """

    number: int
    text: str
    path: str
    line: int
    optimizer: str = ""


class Why(Enum):
    """Why a parameter does not learn."""

    CUT = "cut"
    FROZEN = "frozen"
    LEFT_OUT = "left out"
    UNUSED = "unused"
    CONTAINER = "container"
    LATE = "late"
    UNHELD = "unheld"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a parameter does not learn, in words, with the place and its source where there is one; else line 0.

    `backwards` are the numbers of those that it keeps from the parameter.
    """

    why: Why
    words: str
    path: str = ""
    line: int = 0
    text: str = ""
    backwards: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter, as one path or all paths show it: `holder` is the variable of its module, `way` the rest.

    A tensor that is no parameter has its own name for a holder, and so has an unseen model, which is `unseen` and
    represents all of its parameters. Of a module that is not `whole` there may be others. `names` are all the ways
    to it that the program has. `arrivals` and `uses` have a cell for each backward and each step, None where it did not
    exist then.
    """

    holder: str
    way: str
    arrivals: tuple[Cell | None, ...]
    uses: tuple[Cell | None, ...]
    reasons: tuple[Reason, ...] = ()
    names: tuple[str, ...] = ()
    whole: bool = True
    unseen: bool = False
    trainable: bool = True

    @property
    def name(self) -> str:
        return f"{self.holder}.{self.way}" if self.way else self.holder

    @property
    def learns(self) -> tuple[object, ...]:
        """The key by which parameters with the same effects are grouped."""
        return (self.arrivals, self.uses, self.unseen, self.trainable)


@dataclass(frozen=True, slots=True)
class Row:
    """Parameters that fare alike, by the name of the smallest module that has them and no others."""

    name: str
    parameters: tuple[Parameter, ...]

    @property
    def first(self) -> Parameter:
        """One of them: the others fare as it does."""
        return self.parameters[0]

    @property
    def is_module(self) -> bool:
        """True if it is a module, so that a count makes sense."""
        return not self.first.unseen and (len(self.parameters) > 1 or self.name != self.first.name)

    @property
    def title(self) -> str:
        """The name, with the number of parameters of a module: `head (2)`, or `head (2+)` if it may have others."""
        return f"{self.name} ({len(self.parameters)}{'' if self.first.whole else '+'})" if self.is_module else self.name

    @property
    def reasons(self) -> tuple[Reason, ...]:
        return tuple(dict.fromkeys(reason for each in self.parameters for reason in each.reasons))


@dataclass(frozen=True, slots=True)
class Flow:
    """The gradient flow of an entry point; `entry` is its name, empty for the module body.

    `stops` says where and how the likeliest path ends early, `unseen` names the models and the optimizers
    that come from outside, and `conditions` say what else is presumed of the ways that gradients take. `taken` lists
    undecided branches that were followed one way only.
    """

    entry: str
    backwards: tuple[Call, ...]
    steps: tuple[Call, ...]
    parameters: tuple[Parameter, ...]
    stops: str = ""
    unseen: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()

    def rows(self, of: tuple[Parameter, ...] | None = None) -> tuple[Row, ...]:
        """The parameters, or some `of` them, in rows; in the order in which they are here."""
        alike: dict[tuple[object, ...], list[Parameter]] = {}
        for each in self.parameters if of is None else of:
            alike.setdefault((each.holder, *each.learns), []).append(each)
        rows: dict[tuple[str, object], list[Parameter]] = {}
        for members in alike.values():
            own = {id(each) for each in members}
            others = [each.way for each in self.parameters if each.holder == members[0].holder and id(each) not in own]
            for each in members:
                prefix = widest(each.way, others) if each.way else ""
                name = f"{each.holder}.{prefix}" if prefix else each.holder
                rows.setdefault((name, each.learns), []).append(each)
        order = {id(each): number for number, each in enumerate(self.parameters)}
        found = (Row(name, tuple(members)) for (name, _), members in rows.items())
        return tuple(sorted(found, key=lambda row: order[id(row.first)]))


def leads_to(name: str, parameter: Parameter) -> bool:
    """True if a name is that of a parameter or of a module that has it, from any place of the program."""
    wanted = f".{name}."
    return any(wanted in f".{each}." for each in (parameter.name, *parameter.names))
