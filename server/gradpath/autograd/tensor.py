"""Tensors without numbers: storage with a version counter, views, leaves, and what a graph node saved.

Modelled on `c10/core/TensorImpl.h` (version counter), `torch/csrc/autograd/variable.h` (views, creation_meta) and
`torch/csrc/autograd/saved_variable.h`, as observed in PyTorch 2.13.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from gradpath.autograd.layout import Layout, Order, is_contiguous, is_dense, is_shared, steps_of
from gradpath.autograd.provenance import OBSERVED, OPEN, Presumption, Provenance
from gradpath.support.fast_dataclasses import dataclass, field
from gradpath.support.fast_enums import Enum

if TYPE_CHECKING:
    from gradpath.autograd.behaviour import Behaviour

Shape = tuple["int | None", ...]
"""Sizes from the outermost dimension; None is an unknown size, `MANY` an unknown one above 1."""

MANY = -1

Site: TypeAlias = Any
"""Where something happens: what the recorder says of it, of which nothing is known here, and which is handed back."""


class Creation(Enum):
    """The origin of a view, where that forbids changing it in place (`creation_meta`)."""

    DEFAULT = "default"
    MULTIPLE = "multiple outputs"
    NO_GRAD = "no_grad"
    INFERENCE = "inference"
    CUSTOM = "custom Function"


HOOKED = "BackwardHookFunction"
"""The operation of the views that a module with a full backward hook takes and gives."""


@dataclass(frozen=True, slots=True)
class Write:
    """One bump of a version counter: the version after it, the operation's name, and where it happened.

    `presumed` says what has to hold for it to be there.
    """

    version: int
    operation: str
    site: Site
    owner: Tensor | None = None
    presumed: Presumption | None = None


class Storage:
    """Memory that tensors share; `version` counts the in-place writes, `writes` remembers them.

    A write into it is one into those `within` which it lies, too: the weights of an unseen model, for a parameter.
    The weights of such a model have those of its modules as their `parts`.
    """

    __slots__ = ("parts", "version", "within", "writes")

    def __init__(self) -> None:
        self.version = 0
        self.parts: Sequence[Storage] = ()
        self.within: Sequence[Storage] = ()
        self.writes: list[Write] = []

    def whole(self) -> Iterator[Storage]:
        """This memory and that of its parts."""
        yield self
        yield from self.parts

    def write(
        self, operation: str, site: Site, owner: Tensor | None = None, presumed: Presumption | None = None
    ) -> Write:
        """Count an in-place write."""
        self.version += 1
        done = Write(self.version, operation, site, owner, presumed)
        self.writes.append(done)
        for each in self.within:
            each.write(operation, site, owner, presumed)
        return done


@dataclass(frozen=True, slots=True)
class Saved:
    """A tensor that a node keeps for its backward, with the version that it had then.

    `role` is the operation's parameter name, `out0` for a result, or `CHECKPOINT`. `site` is where it was saved, if not
    where the node was built; `presumed` what has to hold for a later write to reach it, where that is not seen.
    """

    storage: Storage
    version: int
    tensor: Tensor
    role: str
    had_grad_fn: bool = False
    site: Site = None
    presumed: Presumption | None = None


CHECKPOINT = "checkpoint"
"""The role of what a checkpoint saves: its arguments, from which it computes what its nodes did not save."""


@dataclass(slots=True)
class BackwardCall:
    """One run of the engine: `backward()` or `autograd.grad()`.

    `presumed` says what has to hold for it to be one; `starts` are the nodes of the roots, as they were then.
    `givers` are the nodes that handed a gradient to each node; the gradient that `sum` hands on is an expanded tensor.
    `afterwards` is done when the gradients are there. `targets` are the leaves and other nodes that alone are given a
    gradient, where the program names them. `reached` are the leaves that got one, once a reader has asked when it was
    over.
    """

    number: int
    site: Site
    roots: tuple[Tensor, ...]
    retain: bool
    create_graph: bool
    accumulates: bool = True
    presumed: Presumption | None = None
    starts: tuple[Node, ...] = ()
    givers: dict[Node, list[Node]] = field(default_factory=dict)
    afterwards: list[Callable[[], object]] = field(default_factory=list)
    targets: frozenset[Node] | None = None
    reached: tuple[Tensor, ...] | None = field(default=None, repr=False, compare=False)

    @property
    def trains(self) -> bool:
        """True if it may give parameters a gradient: it names no points alone, such as those of a normal."""
        leaves = [node.accumulates for node in self.targets or () if node.accumulates is not None]
        return self.accumulates and (self.targets is None or any(each.is_parameter for each in leaves))


_numbers = itertools.count(1)

PRESUMED = "call"
"""The name of a node that represents an unseen call."""


LOSSES = ("loss", "Loss", "cross_entropy", "with_logits", "kl_div")
"""Suffixes of the names of functions and modules that compute losses of predictions."""

PRESUMED_LOSS = "presumed loss"
"""The operation of a value without a graph that an unseen loss has returned."""

REPARAMETRIZED = "torch.distributions.sample"
"""The detail of the cut of a sample that could have been drawn with a gradient: the class has `rsample`."""

SWITCHED_OFF = frozenset({"inference_mode", "no_grad"})
"""The modes without gradients, by the names that PyTorch and a `Cut` give them."""

UNSEEN = "parameters"
"""The operation of a tensor that represents all parameters of an unseen model."""


class Node:
    """A grad_fn. `holds` says that a second run raises once `freed_by` is set, though no tensor need be in `saved`.

    Where that is presumed, `saves` is the presumption. `provenance` is that of the node itself, apart from its edges;
    `onward` is the presumption under which gradients run on along them.
    `accumulates` is the leaf of an AccumulateGrad.
    `behaviour` is the entry of the op table for the operation, `parameters` names the parameter of each edge.
    `hooks` run when a gradient arrives. Where a node is `divided`, each of several results may lead on to some of its
    edges only: that another of them was back-propagated before proves nothing of what is below it.
    `withheld` are the edges along which its own `backward` returned None when it last ran, and where it did.
    """

    __slots__ = (
        "accumulates",
        "behaviour",
        "custom",
        "divided",
        "edges",
        "freed_by",
        "holds",
        "hooks",
        "name",
        "number",
        "onward",
        "outputs",
        "parameters",
        "provenance",
        "saved",
        "saves",
        "site",
        "withheld",
    )

    def __init__(
        self,
        name: str,
        edges: tuple[Node, ...],
        site: Site,
        *,
        holds: bool = False,
        provenance: Provenance = OBSERVED,
        accumulates: Tensor | None = None,
    ) -> None:
        self.name = name
        self.edges = edges
        self.site = site
        self.holds = holds
        self.provenance = provenance
        self.onward: Presumption | None = None
        self.saves: Presumption | None = None
        self.accumulates = accumulates
        self.saved: list[Saved] = []
        self.freed_by: BackwardCall | None = None
        self.number = next(_numbers)
        self.outputs: list[Tensor] = []
        self.custom: object | None = None
        self.hooks: tuple[Callable[[BackwardCall], None], ...] = ()
        self.divided = False
        self.withheld: Mapping[int, Site] = {}
        self.behaviour: Behaviour | None = None
        self.parameters: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """True if it may as well not be there: nothing is reported of it."""
        return self.provenance is OPEN

    @property
    def function(self) -> str:
        """The function that its operation is in: `torch.add` for `torch.Tensor.add_` as well."""
        return self.name.replace("torch.Tensor.", "torch.").rstrip("_")


class Tensor:
    """A shadow of `torch.Tensor`.

    `shape` and `dtype` are None where they are not known. `provenance` is that of its requires_grad;
    `left` is the presumption under which it is a leaf, or still one after unseen code was passed it. `layout` is that
    in memory. `aliasing_unsure` marks a tensor whose storage the source does not settle.
    `versioned` says of an inference tensor that it may be written outside of the mode: an alias that was made there.
    `lone` says that the program made it a batch of one.
    `several` is the provenance of its having more than one element, where its shape does not tell; None where nothing
    does. What is presumed of a batch is that its first dimension has more than one entry. `rows` is the same of what a
    network gives of a batch, if that has a first dimension: it may be a loss.
    `origin` is where it was made, `label` the name that the user gave it last, `copied` the leaf that it is a copy of,
    `succeeds` one of those whose place in a variable it took.
    `member_of` represents all parameters of the unseen model that it is one of.
    """

    __slots__ = (
        "accumulator",
        "aliasing_unsure",
        "base",
        "copied",
        "creation",
        "cut",
        "device",
        "dtype",
        "flag",
        "grad",
        "handle",
        "inference",
        "is_parameter",
        "label",
        "layout",
        "left",
        "left_since",
        "lone",
        "maker",
        "member_of",
        "node",
        "operation",
        "origin",
        "provenance",
        "retains_grad",
        "rows",
        "seen_version",
        "several",
        "shape",
        "storage",
        "succeeds",
        "versioned",
    )

    def __init__(
        self,
        *,
        requires_grad: bool = False,
        shape: Shape | None = None,
        dtype: str | None = "float32",
        inference: bool = False,
        storage: Storage | None = None,
        origin: Site = None,
    ) -> None:
        self.storage = storage if storage is not None else Storage()
        self.flag = requires_grad
        self.node: Node | None = None
        self.base: Tensor | None = None
        self.copied: Tensor | None = None
        self.succeeds: Tensor | None = None
        self.creation = Creation.DEFAULT
        self.seen_version = 0
        self.inference = inference
        self.versioned = False
        self.accumulator: Node | None = None
        self.grad: Tensor | None = None
        self.layout: Layout = Order.ROWS
        self.is_parameter = False
        self.retains_grad = False
        self.shape = shape
        self.several: Provenance | None = None
        self.rows: Provenance | None = None
        self.lone = False
        self.dtype = dtype
        self.device: str | None = None
        self.origin = origin
        self.operation = ""
        self.label = ""
        self.provenance: Provenance = OBSERVED
        self.left: Presumption | None = None
        self.left_since: float = 0
        self.aliasing_unsure = False
        self.cut: Cut | None = None
        self.maker: tuple[Tensor, ...] = ()
        self.handle: object | None = None
        self.member_of: Tensor | None = None

    @property
    def requires_grad(self) -> bool:
        """As `Tensor.requires_grad`: a view made under no_grad answers for its base (observed: rg/no_grad_to_...)."""
        return self.flag or self.node is not None or (self.base is not None and self.base.requires_grad)

    @property
    def answering(self) -> Tensor:
        """The tensor whose requires_grad counts: the base of a view made under no_grad, and of views of that."""
        tensor = self
        while tensor.base is not None and not tensor.flag and (tensor.node is None or not tensor.node.edges):
            tensor = tensor.base
        return tensor

    @property
    def is_weight(self) -> bool:
        """True if it is a parameter, or represents those of an unseen model."""
        return self.is_parameter or self.operation == UNSEEN

    @property
    def made_at(self) -> Site:
        """Where its value was computed last: where its node was made, or itself if it has none."""
        return self.origin if self.node is None else self.node.site

    @property
    def is_open(self) -> bool:
        """True if it is unknown whether it has a graph."""
        return self.provenance is OPEN

    @property
    def is_result(self) -> bool:
        """True if it is certainly a result that retains no gradient, and so no leaf, whichever of two tensors it is.

        That a backward reached an unseen tensor proves that it requires a gradient, which a leaf may as well.
        """
        result = self
        while result.node is not None and not result.is_open and not result.retains_grad:
            if not result.aliasing_unsure or len(result.maker) != 1:
                return not result.aliasing_unsure and result.operation != PRESUMED
            (result,) = result.maker
        return False

    @property
    def certainly_requires_grad(self) -> bool:
        """True if it requires grad, and more than a presumption says so."""
        said = self.answering
        if said is not self:
            return said.certainly_requires_grad
        return self.requires_grad and not self.is_open and (self.node is None or not self.node.is_open)

    @property
    def contiguous(self) -> bool | None:
        """True if it is contiguous; None where that is unknown."""
        return is_contiguous(self.shape, self.layout)

    @property
    def expanded(self) -> bool:
        """True if some of its elements certainly share memory, which forbids most writes."""
        return is_shared(self.shape, self.layout)

    @property
    def whole(self) -> bool:
        """True if it certainly covers its storage: no view, and no alias of what may be one."""
        return self.base is None and all(tensor.storage is not self.storage for tensor in self.maker)

    def overlaps_partly(self, other: Tensor) -> bool:
        """True if an element certainly shares memory with one at another index of `other`: PyTorch refuses the write.

        As `get_overlap_status` (aten/src/ATen/MemoryOverlap.cpp), if one of the two covers their storage.
        """
        if self is other or self.storage is not other.storage or not (self.whole or other.whole):
            return False
        arrangements = []
        for shape, layout in ((self.shape, self.layout), (other.shape, other.layout)):
            steps = steps_of(shape, layout)
            if shape is None or steps is None or None in shape or MANY in shape or not is_dense(shape, steps):
                return False
            arrangements.append([(size, step) for size, step in zip(shape, steps, strict=True) if size != 1])
        return arrangements[0] != arrangements[1]

    @property
    def one_element(self) -> bool | None:
        """True if it has exactly one element; None where the shape does not tell."""
        if self.shape is None:
            return False if self.several is OBSERVED else None
        if any(size not in (1, None) for size in self.shape):
            return False
        return None if None in self.shape else True

    def lend(self, left: Presumption) -> None:
        """Note that unseen code was handed a leaf: what is built on it from now on is there if it has `left` it so."""
        self.left, self.left_since = left, next(_numbers)

    def flag_either_way(self, leaf: Presumption) -> None:
        """Note that it requires grad from now on whether it is a leaf or a result; that it is a leaf is presumed."""
        self.left, self.left_since = leaf, math.inf

    @property
    def presumed_several(self) -> Presumption | None:
        """The presumption under which it has more than one element, where its shape does not tell."""
        return self.several if isinstance(self.several, Presumption) and self.one_element is None else None

    def ancestors(self) -> Iterator[Tensor]:
        """The tensors that it was computed from, graph or no graph, nearest first, each once."""
        return itertools.islice(together([self]), 1, None)

    def lineage(self) -> Iterator[Tensor]:
        """The tensor itself, and then what it was computed from."""
        return together([self])


def together(tensors: Iterable[Tensor]) -> Iterator[Tensor]:
    """Some tensors and all that they were computed from, each once."""
    seen: set[int] = set()
    todo = list(tensors)
    for tensor in todo:
        if id(tensor) not in seen:
            seen.add(id(tensor))
            yield tensor
            todo += tensor.maker


@dataclass(frozen=True, slots=True)
class Cut:
    """Why a tensor has no graph though it was computed from one: how (`detach`, `no_grad`, ...), where, from what.

    `presumed` is what has to hold for it to be so. `output` is the name of the result that it is among several, such as
    the `indices` of a maximum.
    """

    how: str
    site: Site
    source: Tensor | None
    detail: str = ""
    presumed: Presumption | None = None
    output: str = ""
