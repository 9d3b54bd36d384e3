"""What happens on a path: typed events, each with its site."""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.errors import AutogradError
from gradpath.autograd.provenance import Presumption
from gradpath.autograd.tensor import BackwardCall, Cut, Node, Tensor, Write
from gradpath.interpreter.containment import Form as Form
from gradpath.interpreter.containment import Held as Held
from gradpath.interpreter.containment import Kept as Kept
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.origins import Call, Library
from gradpath.interpreter.ownership import Named as Named
from gradpath.interpreter.ownership import OwnershipEvent
from gradpath.interpreter.readings import ReadOut as ReadOut
from gradpath.interpreter.readings import gotten_from, read_of
from gradpath.interpreter.readings import in_record as in_record
from gradpath.interpreter.readings import parts_of as parts_of
from gradpath.interpreter.readings import tensor_of as tensor_of
from gradpath.interpreter.sites import Decision as Decision
from gradpath.interpreter.sites import OfClass as OfClass
from gradpath.interpreter.sites import OfTable as OfTable
from gradpath.interpreter.sites import Site as Site
from gradpath.interpreter.sites import iterations_between as iterations_between
from gradpath.support.fast_dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Built:
    """A graph node came to be, from `inputs` by parameter name."""

    node: Node
    inputs: dict[str, tuple[Tensor, ...]]
    site: Site

    @property
    def operands(self) -> list[Tensor]:
        """All tensors of `inputs`, in their order."""
        return [tensor for tensors in self.inputs.values() for tensor in tensors]


@dataclass(frozen=True, slots=True, eq=False)
class Mutated:
    """A tensor was written in place; `sources` are what was written, where it has no graph after that."""

    tensor: Tensor
    write: Write
    site: Site
    sources: tuple[Tensor, ...] = ()


@dataclass(frozen=True, slots=True)
class CutOff:
    """A tensor was made without a graph from one that has a graph."""

    tensor: Tensor
    cut: Cut
    site: Site


@dataclass(frozen=True, slots=True, eq=False)
class BackwardRan:
    """The engine ran to its end; `executed` are the nodes in the order of their execution."""

    call: BackwardCall
    executed: tuple[Node, ...]
    site: Site


@dataclass(frozen=True, slots=True)
class Flagged:
    """`requires_grad` of a leaf was set (or set again).

    For a part of an unseen model that was not told apart from the rest before, `whole` is the rest; `looked_up` is true
    where that part has no name, such as one of its children, so that it may be any.
    """

    tensor: Tensor
    value: bool
    site: Site
    whole: Tensor | None = None
    looked_up: bool = False


@dataclass(frozen=True, slots=True)
class Switched:
    """Grad mode was set: by a call (`torch.set_grad_enabled(...)`), or switched off by what a `block` enters.

    `asked` is the text that the variable in its condition had, if it had one.
    """

    grad: bool
    site: Site
    block: bool = False
    asked: str = ""


class _WithTensor:
    """An event about a value of the program; `tensor` is the tensor that it is, where it is one."""

    __slots__ = ()
    value: object

    @property
    def tensor(self) -> Tensor | None:
        """The tensor, also one that a presumption has made of an unknown since; None for a number read out of one."""
        return tensor_of(self.value)


@dataclass(frozen=True, slots=True)
class Stored(_WithTensor):
    """A value was put into a list or dict that exists already; `key` is None where it was appended.

    `before` is what a dict had under the key, if it had one.
    """

    container: object
    key: object
    value: object
    site: Site
    before: object = None

    def one_by_one(self) -> Iterator[Stored]:
        """The event for each part of a stored record: `log.append({"loss": loss, "n": n})`."""
        for value in in_record(self.value):
            yield replace(self, value=value)

    @property
    def replaced(self) -> Tensor | None:
        """The tensor whose place the value took, if it did."""
        return tensor_of(self.before)

    @property
    def read(self) -> ReadOut | None:
        """The read by which the program got the stored number from a tensor, if it did."""
        return read_of(self.value)


@dataclass(frozen=True, slots=True)
class Discarded(_WithTensor):
    """A call, or an operation, stood alone as a statement, and its result was thrown away."""

    value: object
    site: Site

    @property
    def unseen(self) -> str:
        origin = getattr(self.value, "origin", None)
        return origin.name if isinstance(origin, Call) else ""

    @property
    def library(self) -> str:
        """The dotted name of what a library gave, and the call is a method of; "" for anything else."""
        root = getattr(self.value, "root", None)
        return root.name if isinstance(root, Library) else ""

    @property
    def is_of_tensor(self) -> bool:
        """True if the program uses as a tensor, here or elsewhere, what an unseen method was called on.

        An object of a class is none, though it may have an `item()` of its own: `total = Averager()`.
        """
        origin = getattr(self.value, "origin", None)
        of = origin.of if isinstance(origin, Call) else None
        made = getattr(of, "origin", None)
        if isinstance(made, Call) and made.name[:1].isupper():
            return False
        return any(getattr(each, "tensor", None) is not None for each in (of, getattr(of, "owner", None)))


@dataclass(frozen=True, slots=True)
class OptionSet(_WithTensor):
    """An optimizer's option (`lr`, ...) was set, in its constructor or in `param_groups`; `node` was its graph then."""

    name: str
    value: object
    node: Node | None
    site: Site


@dataclass(frozen=True, slots=True)
class Mixed(_WithTensor):
    """A number that was read out of a tensor met another tensor in arithmetic; `value` is the result.

    Between the two it was `computed` at these places.
    """

    operator: str
    read: ReadOut
    value: object
    site: Site
    computed: tuple[Site, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Replaced:
    """`tensor.data = source`: the memory behind a tensor was replaced without a change of its version counter."""

    tensor: Tensor
    site: Site
    source: Tensor | None = None


@dataclass(frozen=True, slots=True)
class GradientSet:
    """`tensor.grad` was given a value by hand: a tensor, where that is known."""

    tensor: Tensor
    site: Site
    value: Tensor | None = None


@dataclass(frozen=True, slots=True)
class GradientAbsent:
    """`tensor.grad` was asked for, and is None."""

    tensor: Tensor
    site: Site


@dataclass(frozen=True, slots=True)
class Clipped:
    """Gradients of `tensors` were clipped, of all if `known`; `used_up` is where their generator ended before.

    `unseen` represent the parameters of unseen models that were clipped as well.
    """

    tensors: tuple[Tensor, ...]
    known: bool
    site: Site
    used_up: Site | None = None
    unseen: tuple[Tensor, ...] = ()


@dataclass(frozen=True, slots=True)
class Scaled:
    """A gradient scaler gave a multiple of a loss, `tensor`, or divided gradients again, where that is None."""

    tensor: Tensor | None
    site: Site


@dataclass(frozen=True, slots=True)
class Lent:
    """A module, an optimizer or another object with a state was passed to something unknown, called `name`.

    What cannot be read yet has the name `UNPARSED`, whatever it was passed. `given` are the modules, optimizers and
    unknown values that it got at; where it is `free` these may be any.
    """

    name: str
    site: Site
    given: tuple[object, ...] = ()
    free: bool = True

    def reaches(self, owner: object) -> bool:
        """True if it has a module or an optimizer of the program in its hands, or may have."""
        return self.free or any(each is owner for each in self.given)


@dataclass(frozen=True, slots=True)
class Handed:
    """Tensors on the graph were passed to something unknown that may keep them, and hand them out again."""

    tensors: tuple[Tensor, ...]
    site: Site


@dataclass(frozen=True, slots=True)
class Applied:
    """A built-in module worked in place; `made` is where it was constructed."""

    name: str
    made: Site | None
    site: Site


@dataclass(frozen=True, slots=True)
class Bound:
    """A name was bound to a tensor, to a `ReadOut`, to a container of tensors (`Held`), or to an unknown value."""

    name: str
    value: object
    site: Site

    @property
    def tensor(self) -> Tensor | None:
        """The tensor, also the one that a presumption has made of an unknown since."""
        return tensor_of(self.value)

    @property
    def gotten_from(self) -> tuple[object, str] | None:
        """The unseen object and its method that gave it, alone or after its name, among others."""
        return gotten_from(self.value)

    @property
    def is_plain(self) -> bool:
        """True if it is something unknown that has no graph."""
        return getattr(self.value, "kind", None) is Kind.PLAIN

    @property
    def is_unused(self) -> bool:
        """True if it is presumed to have a graph, and nothing has used it as a tensor."""
        return getattr(self.value, "kind", None) is Kind.LIVE and self.tensor is None

    @property
    def is_leaf(self) -> bool:
        """True if it is a leaf that requires a gradient, or a parameter of a model that is not seen."""
        if isinstance(self.value, Tensor):
            return self.value.flag and self.value.node is None
        return getattr(self.value, "kind", None) is Kind.PARAMETER


@dataclass(frozen=True, slots=True, eq=False)
class Stepped:
    """An optimizer stepped; `updated` are those of its `parameters` that it changed.

    `known` is false where it has parameters that are not seen. Where these are all that unseen models have, the
    `models` are they. `unseen` represent the parameters of unseen models that it certainly has, and `meant` those of
    all unseen models that the program is seen to train, where it may have them.
    """

    optimizer: object
    updated: tuple[Tensor, ...]
    site: Site
    parameters: tuple[Tensor, ...] = ()
    known: bool = False
    models: tuple[object, ...] = ()
    unseen: tuple[Tensor, ...] = ()
    meant: tuple[Tensor, ...] = ()

    @property
    def held(self) -> tuple[Tensor, ...]:
        """All parameters that the optimizer is known to have, each once."""
        return tuple(dict.fromkeys((*self.parameters, *self.unseen, *self.updated)))

    def finds_none_after(self, cleared: Cleared) -> bool:
        """True if all gradients that it might use were cleared: by the optimizer, or by the only model that it has."""
        if cleared.owner is self.optimizer or (len(self.models) == 1 and cleared.owner is self.models[0]):
            return True
        return bool(self.unseen) and {id(each) for each in self.unseen} <= {id(each) for each in cleared.tensors}


@dataclass(frozen=True, slots=True, eq=False)
class Cleared:
    """Gradients of `tensors` were cleared; `owner` is the module or optimizer that was asked to, if one was.

    `known` is false where not all tensors are seen; those of the leaves that are `spared` are none of them. `steps`
    says that the owner is an optimizer. Gradients that are `kept` may be zero instead of None.
    """

    tensors: tuple[Tensor, ...]
    site: Site
    owner: object = None
    known: bool = True
    steps: bool = False
    kept: bool = False
    spared: tuple[Tensor, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """An exception that nothing caught, or that a handler caught (`caught`).

    One that is `hidden` counts as if nothing had caught it: its handler goes on to the next iteration of a training.
    `error` is set for autograd's own errors; `exception` names the class; `subject` is the value that was misused
    (the float of `loss.item().backward()`, for instance). `kept` is what the running bodies held, where it is an
    uncaught error of autograd. `absent` is what it depends on that a gradient was None that was misused.
    """

    exception: str
    message: str
    error: AutogradError | None
    subject: object
    site: Site
    caught: bool
    kept: tuple[Kept, ...] = ()
    hidden: bool = False
    absent: tuple[Presumption, ...] = ()

    @property
    def presumed(self) -> tuple[Presumption, ...]:
        """The presumptions that it depends on."""
        source = self.error or self.read
        return self.absent if source is None else source.presumed

    @property
    def read(self) -> ReadOut | None:
        """The read by which the program got the misused number from a tensor, if it did."""
        return read_of(self.subject)


Event = (
    Built
    | Mutated
    | CutOff
    | BackwardRan
    | Flagged
    | Switched
    | Applied
    | Stored
    | Discarded
    | OptionSet
    | Mixed
    | Replaced
    | GradientSet
    | GradientAbsent
    | Clipped
    | Scaled
    | Lent
    | Handed
    | OwnershipEvent
    | Bound
    | Stepped
    | Cleared
    | Failed
)
