"""Parameters that get gradients and that no optimizer holds: what is known of them, whatever the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from functools import partial

from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Fix
from gradpath.findings.graphs import leaves_with_gradient
from gradpath.findings.report import Source, Step
from gradpath.findings.stories import short_operation
from gradpath.interpreter.events import BackwardRan, Flagged, Mutated, Replaced, Site
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Trace, once
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.words import words


@dataclass(frozen=True, slots=True)
class Words:
    """A reason in words: the headline, the steps before the gradients arrive, and the way out."""

    headline: str
    steps: tuple[Step, ...]
    help: str
    fixes: Iterable[Fix] = ()
    arrives: str = "gives them gradients"
    last: str = "leaves them as they are"


@dataclass(frozen=True, slots=True)
class Lacking:
    """Parameters that came to be at `site`, and that one of the `optimizers` should hold and does not.

    `worded` words the reason, for the optimizer that steps without them. With `repeated` only steps in loops count: one
    step may be to show something. With `idle` a step counts even if it moves nothing. `about` are the
    names that the report is about, where a statement binds several.
    """

    tensors: tuple[Tensor, ...]
    site: Site
    optimizers: Sequence[Given]
    worded: Callable[[Source, Given], Words]
    repeated: bool = False
    idle: bool = False
    about: tuple[str, ...] = ()


def strangers(trace: Trace, held: Set[int]) -> list[Tensor]:
    """The parameters that get gradients, that no optimizer holds, and that only an initializer has written."""
    return reached_strangers(trace, held | touched(trace))


def reached_strangers(trace: Trace, kept: Set[int]) -> list[Tensor]:
    """The parameters that get gradients, those that are `kept` left out, and those of an unseen model that is."""
    found = leaves_with_gradient(trace)
    strange = [leaf for number, leaf in found.items() if leaf.is_parameter and number not in kept]
    return [leaf for leaf in strange if leaf.member_of is None or id(leaf.member_of) not in kept]


def is_of_layer(tensor: Tensor) -> bool:
    """True if a parameter is one of a built-in layer."""
    return tensor.operation == "parameter"


def is_drawn(tensor: Tensor) -> bool:
    """True if a parameter was made of nothing but numbers, where it is used: `nn.Parameter(torch.zeros(4))`."""
    made = list(tensor.ancestors()) if tensor.is_parameter and tensor.requires_grad else []
    return bool(made) and all(map(partial(_is_beside, tensor), made))


def _is_beside(parameter: Tensor, tensor: Tensor) -> bool:
    """True if the same call of a function made a tensor that takes no part in a graph."""
    known = tensor.node is None and tensor.cut is None and tensor.dtype is not None
    return known and tensor.origin.caller is parameter.origin.caller


@once
def touched(trace: Trace) -> frozenset[int]:
    """The tensors whose values or flags the program has set, by identity."""
    return written(trace) | {id(event.tensor) for event in trace.of(Flagged)}


@once
def written(trace: Trace) -> frozenset[int]:
    """The tensors whose values the program has set, by identity: through `.data` and `.detach()`, too.

    Numbers that are drawn before anything is trained, or a bias of zeros, are what a program starts from.
    """
    found: set[int] = set()
    begun = False
    for event in trace.among(BackwardRan, Mutated, Replaced):
        match event:
            case BackwardRan():
                begun = True
            case Mutated(tensor=tensor, write=write):
                if (begun or not _is_drawn(event)) and not write.operation.startswith(_INITIALISING):
                    found.add(id(tensor))
                    if tensor.cut is not None and tensor.cut.source is not None:
                        found.add(id(tensor.cut.source))
            case Replaced(tensor=tensor):
                found.add(id(tensor))
    return frozenset(found)


def _is_drawn(event: Mutated) -> bool:
    """True if numbers are drawn, or a row of them is filled; a filter that is filled may be meant to stay."""
    operation, shape = short_operation(event.write.operation), event.tensor.shape
    filled = operation in ("fill_", "zero_") and shape is not None and len(shape) == 1
    return not event.sources and (filled or operation in _DRAWING)


_INITIALISING = ("torch.nn.init.", "reset_parameters")
_DRAWING = words("normal_ uniform_ random_ bernoulli_ exponential_ cauchy_ log_normal_ geometric_")
