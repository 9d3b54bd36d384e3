"""Building the graph: the edges of a result, what its node saves, its views and aliases.

Follows `torch/csrc/autograd/variable.cpp` (grad_fn of views) and `saved_variable.cpp`, as observed in PyTorch 2.13.
What each operation saves is in `ops.json`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from gradpath.autograd import shapes
from gradpath.autograd.behaviour import Behaviour, Output
from gradpath.autograd.edges import Edges, leads_on
from gradpath.autograd.errors import AutogradError, FaultKind
from gradpath.autograd.grounds import of_error
from gradpath.autograd.layout import Order
from gradpath.autograd.provenance import OBSERVED, OPEN, Presumption, Provenance, of_any
from gradpath.autograd.tensor import (
    PRESUMED,
    BackwardCall,
    Creation,
    Cut,
    Node,
    Saved,
    Shape,
    Site,
    Storage,
    Tensor,
    Write,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

Inputs = Mapping[str, Sequence[Tensor]]
"""The tensors of a call by parameter name; a parameter that takes a list has several."""


class Recorder(Protocol):
    """A listener of the graph; `site` is the current place of the program, as the listener sees it."""

    def site(self) -> Site: ...
    def built(self, node: Node, inputs: Inputs) -> None: ...
    def mutated(self, tensor: Tensor, write: Write, sources: Sequence[Tensor]) -> None: ...
    def was_cut(self, tensor: Tensor, cut: Cut) -> None: ...
    def ran_backward(self, call: BackwardCall, executed: Sequence[Node]) -> None: ...
    def flagged(self, tensor: Tensor, value: bool) -> None: ...


class Autograd:
    """The state that PyTorch keeps per thread (grad mode, inference mode), and the operations on the graph."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.grad_enabled = True
        self.inference = False
        self.kept_off: Presumption | None = None  # What keeps gradients off after a call that was not seen.
        self.saved_instead: tuple[Saved, ...] | None = None
        self.calls = 0
        self.presuming: Presumption | None = None
        self.ran: list[BackwardCall] = []
        self.is_mended: Callable[[Site], bool] = lambda _site: False
        """Where a fault is taken to be mended, so that nothing is raised there."""

    @contextmanager
    def mode(self, *, grad: bool | None = None, inference: bool | None = None) -> Iterator[None]:
        """Switch grad or inference mode for the duration, as the context managers of the same names do."""
        before = (self.grad_enabled, self.inference)
        if inference is not None:
            self.inference = inference
            self.grad_enabled = not inference
        if grad is not None:
            self.grad_enabled = grad and not self.inference
        try:
            yield
        finally:
            self.grad_enabled, self.inference = before

    # Making tensors

    def tensor(
        self, *, requires_grad: bool = False, shape: Shape | None = None, dtype: str | None = "float32"
    ) -> Tensor:
        """A new leaf; factories do not look at grad mode."""
        made = Tensor(requires_grad=requires_grad, shape=shape, dtype=dtype, inference=self.inference)
        made.origin = self.recorder.site()
        return made

    def presumed(
        self,
        sources: Sequence[Tensor] = (),
        *,
        holds: bool = False,
        name: str = PRESUMED,
        provenance: Provenance = OPEN,
        onward: Presumption | None = None,
        saves: Presumption | None = None,
    ) -> Tensor:
        """A tensor whose graph is not seen: its node depends on `sources` where they have one, if `onward` holds.

        With `holds` it frees what it saved, if `saves` holds.
        """
        made = self.tensor(dtype=None)
        find = self._edge_before if name == PRESUMED else self.edge
        edges = tuple(edge for edge in map(find, sources) if edge is not None)
        made.node = Node(name, edges, self.recorder.site(), holds=holds, provenance=provenance)
        made.node.onward = onward
        made.node.saves = saves
        made.node.outputs.append(made)
        made.maker = tuple(sources)
        made.operation = name
        made.provenance = provenance
        self.recorder.built(made.node, {"input": sources})
        return made

    # The graph of a tensor

    def grad_fn(self, tensor: Tensor) -> Node | None:
        """The grad_fn of `tensor`; that of a view is created again if its base was written since (`as_strided`)."""
        base = tensor.base
        stale = tensor.seen_version != tensor.storage.version
        if base is not None and stale and (tensor.node is not None or base.requires_grad):
            if base.requires_grad:
                if base.certainly_requires_grad:
                    self.refuse_view(tensor, None)
                self.take(tensor, base, "as_strided", self.recorder.site())
            tensor.seen_version = tensor.storage.version
        return tensor.node

    def edge(self, tensor: Tensor) -> Node | None:
        """The node that a gradient for `tensor` goes to: its grad_fn, its AccumulateGrad, or None."""
        node = self.grad_fn(tensor)
        if node is not None or not tensor.flag:
            return node
        if tensor.accumulator is None:
            grounds = of_any([tensor.provenance])
            tensor.accumulator = Node("AccumulateGrad", (), tensor.origin, accumulates=tensor, provenance=grounds)
        return tensor.accumulator

    def _edge_before(self, tensor: Tensor) -> Node | None:
        """The edge of an unseen call.

        Whether the call read `tensor` is unknown, and it may have run before a write after which PyTorch refuses it.
        """
        try:
            return self.edge(tensor)
        except AutogradError:
            return tensor.node

    def is_leaf(self, tensor: Tensor) -> bool:
        """True if `tensor` has no grad_fn."""
        return self.grad_fn(tensor) is None

    # Operations

    def apply(self, name: str, behaviour: Behaviour, inputs: Inputs) -> list[Tensor]:
        """Run an operation that is not in place; one tensor for each of its outputs, of a shape that the caller knows.

        Raises AutogradError where the forward itself does (an inference tensor would have to be saved).
        """
        site = self.recorder.site()
        everything = [tensor for tensors in inputs.values() for tensor in tensors]
        aliases = behaviour.outputs[0].alias if len(behaviour.outputs) == 1 else ()
        if len(aliases) == 1 and aliases[0].startswith("same:"):
            return [self._output(name, behaviour.outputs[0], inputs, everything, None, site)]
        tracked = self.grad_enabled and not all(tensor.inference for tensor in everything)
        edges = self.edges(behaviour, inputs) if tracked else None
        node = None if edges is None else self._node(name, behaviour, inputs, edges, site)
        results: list[Tensor] = []
        for index, output in enumerate(behaviour.outputs):
            result = self._output(name, output, inputs, everything, node, site)
            made = result
            if output.alias == ("ownview",):
                result = self._view_of_own(made, name)
            if node is not None and edges is not None and made.node is node:
                node.outputs.append(made)
                if behaviour.saves:
                    self.save(node, f"out{index}", behaviour, edges, [result])
            results.append(result)
        if node is not None and node.outputs:
            self.recorder.built(node, inputs)
        return results

    def _output(
        self, name: str, output: Output, inputs: Inputs, everything: Sequence[Tensor], node: Node | None, site: Site
    ) -> Tensor:
        unsure = len(output.alias) > 1
        alias = max(output.alias, key=lambda each: ":" in each) if unsure else output.alias[0]
        kind, _, parameter = alias.partition(":")
        source = inputs[parameter][0] if parameter and inputs.get(parameter) else None
        if unsure and "fresh" in output.alias:  # Writes to the result are certain; whether they reach the input is not.
            unsure, kind = False, "fresh"
        if source is not None and not unsure and kind == "same":
            return source
        if source is not None and kind in ("view", "multiview"):
            result = self.view(source, name, multiple=kind == "multiview")
            result.aliasing_unsure = result.aliasing_unsure or unsure
        elif source is not None and kind in ("alias", "storage") and not output.grad:
            result = self.alias(source, name, shares_version=kind == "alias")
        else:
            result = Tensor(inference=self.inference, origin=site)
            result.aliasing_unsure = unsure
            result.maker = tuple(everything)
            result.operation = name
            self._connect(name, output, inputs, everything, node, result, site)
            if self.inference and source is not None:
                result.provenance = source.provenance  # A view of an ordinary tensor would be an ordinary one.
        return result

    def _connect(
        self,
        name: str,
        output: Output,
        inputs: Inputs,
        everything: Sequence[Tensor],
        node: Node | None,
        result: Tensor,
        site: Site,
    ) -> None:
        """Give a fresh result its grad_fn, or remember why it has none."""
        if _requires_grad(inputs, output.grad):
            if node is not None:
                result.node = node
                settled = not node.is_open or not any(t.is_open for t in everything if t.requires_grad)
                result.provenance = OBSERVED if settled else OPEN
                return
            how = "inference_mode" if self.inference else "no_grad"
            self.cut(result, Cut(how, site, _first_live(everything), name, self.kept_off))
        elif node is not None and _requires_grad(inputs, output.maybe_grad):
            result.node = Node(name, node.edges, site, provenance=OPEN)
            result.node.outputs.append(result)
            result.provenance = OPEN
        elif not output.grad:
            source = _first_live(everything)
            if source is not None:
                self.cut(result, Cut("not differentiable", site, source, name, output=output.name))

    def cut(self, tensor: Tensor, cut: Cut) -> None:
        """Note that `tensor` has no graph though what it was made from has one."""
        tensor.cut = cut
        self.recorder.was_cut(tensor, cut)

    def edges(self, behaviour: Behaviour, inputs: Inputs) -> Edges | None:
        """The graph edges of the differentiable inputs; None where no input requires grad.

        Saving looks at edges, not at flags: a view made under no_grad has the flag and no edge.
        """
        found: Edges | None = None
        for parameter, tensors in inputs.items():
            for tensor in tensors:
                if not tensor.requires_grad:
                    continue
                if not leads_on(behaviour, parameter):
                    break
                if found is None:
                    found = Edges([], [], set(), set())
                edge = self.edge(tensor)
                if edge is None:
                    continue
                found.nodes.append(edge)
                found.names.append(parameter)
                found.possible.add(parameter)
                if not edge.is_open:
                    found.certain.add(parameter)
        return found

    def _node(self, name: str, behaviour: Behaviour, inputs: Inputs, edges: Edges, site: Site) -> Node:
        node = edges.meet(name, behaviour, site)
        if not behaviour.differentiable:
            node.custom = FaultKind.NOT_IMPLEMENTED
        if behaviour.saves:
            for parameter, tensors in inputs.items():
                if not parameter.startswith("out"):
                    self.save(node, parameter, behaviour, edges, tensors)
        return node

    def save(self, node: Node, role: str, behaviour: Behaviour, edges: Edges, tensors: Sequence[Tensor]) -> None:
        """Save the tensors of a parameter, or of an output, where the operation does so for the edges that it has."""
        triggers = behaviour.saves.get(role)
        if not triggers or not edges.trigger(triggers):
            return
        if self.saved_instead is not None:
            node.saved = list(self.saved_instead)
            return
        for tensor in tensors:
            if tensor.inference and not role.startswith("out"):
                if node.is_open:
                    continue  # Nothing is saved where none of the inputs has a graph.
                raise AutogradError(FaultKind.INFERENCE_SAVED, tensor=tensor, node=node)
            if tensor.aliasing_unsure:
                continue
            had_grad_fn = tensor.node is not None and not role.startswith("out")
            node.saved.append(Saved(tensor.storage, tensor.storage.version, tensor, role, had_grad_fn))

    # Views and aliases

    def view(self, source: Tensor, name: str, *, multiple: bool = False, told: bool = True) -> Tensor:
        """A view of `source`; in inference mode, of an inference tensor, it is a plain alias.

        The recorder is notified if it is `told`.
        """
        result = Tensor(storage=source.storage, inference=source.inference, dtype=source.dtype)
        result.origin = self.recorder.site()
        result.maker = (source,)
        result.operation = name
        result.layout = Order.SHARED if source.expanded and not multiple else Order.UNKNOWN  # The caller knows better.
        result.aliasing_unsure = source.aliasing_unsure
        result.device = source.device
        result.provenance = source.provenance
        result.cut = source.cut
        if source.inference:
            return result
        result.base = source.base if source.base is not None else source
        inherited = source.creation if source.base is not None else Creation.DEFAULT
        if self.grad_enabled:
            result.creation = Creation.MULTIPLE if multiple else inherited
        else:
            result.creation = Creation.INFERENCE if self.inference else Creation.NO_GRAD
        if self.grad_enabled and source.requires_grad:
            node = self.take(result, source, name, result.origin)
            if told:
                self.recorder.built(node, {"input": [source]})
        result.seen_version = result.storage.version
        return result

    def take(self, view: Tensor, source: Tensor, name: str, site: Site) -> Node:
        """Give a view its node, with the provenance of its source."""
        edges = tuple(filter(None, (self.edge(source),)))
        view.node = Node(name, edges, site, provenance=of_any(each.provenance for each in edges))
        view.node.outputs.append(view)
        return view.node

    def _view_of_own(self, made: Tensor, name: str) -> Tensor:
        """The view that an operation returns of what it made: the program never sees what it is a view of."""
        result = self.view(made, name, told=False)
        result.shape = made.shape
        result.maker = made.maker
        return result

    def alias(self, source: Tensor, name: str, *, shares_version: bool) -> Tensor:
        """The same memory outside the graph: `detach()` (shares the version counter) or `.data` (does not)."""
        shares = shares_version or source.inference
        storage = source.storage if shares else Storage()
        result = Tensor(storage=storage, inference=source.inference, dtype=source.dtype, shape=source.shape)
        result.versioned = not self.inference
        result.origin = self.recorder.site()
        result.layout = source.layout
        result.maker = (source,)
        result.operation = name
        result.aliasing_unsure = source.aliasing_unsure
        result.device = source.device
        if source.requires_grad:
            self.cut(result, Cut(name, result.origin, source))
        return result

    def bump(self, tensor: Tensor, name: str, sources: Sequence[Tensor] = (), on: Presumption | None = None) -> None:
        """Bump the version of `tensor`, if its storage is known: `sources` are written, under the presumption `on`."""
        if tensor.inference and not self.inference and not tensor.versioned:
            raise AutogradError(FaultKind.INFERENCE_INPLACE, tensor=tensor)
        if tensor.aliasing_unsure:
            return
        write = tensor.storage.write(name, self.recorder.site(), tensor, on)
        self.recorder.mutated(tensor, write, sources)

    def refuse_view(self, tensor: Tensor, written: Tensor | None, everything: Sequence[Tensor] = ()) -> None:
        """Raise what PyTorch raises if a view that was made in a special way is written, or gets a new grad_fn."""
        kinds = {
            Creation.MULTIPLE: FaultKind.MULTIPLE_VIEWS,
            Creation.NO_GRAD: FaultKind.VIEW_NO_GRAD,
            Creation.INFERENCE: FaultKind.VIEW_INFERENCE,
            Creation.CUSTOM: FaultKind.CUSTOM_VIEW,
        }
        kind = kinds.get(tensor.creation)
        if kind is not None:
            last = tensor.storage.writes[-1] if written is None else None
            raise AutogradError(kind, tensor=tensor, write=last, inputs=everything)

    # Flags

    def set_requires_grad(self, tensor: Tensor, value: bool, *, leaf: Provenance = OPEN) -> None:
        """`requires_grad_(value)`, or the attribute, which refuses any change on a non-leaf: a `leaf` that is observed.

        A view whose base was written since gets its new grad_fn only when it is asked for (`grad_fn`).
        """
        refuses = leaf is OBSERVED or not value
        if isinstance(tensor.provenance, Presumption) and tensor.node is None:
            if not refuses:
                tensor.flag_either_way(tensor.provenance)
            tensor.provenance = OBSERVED
        if tensor.is_open:  # A presumed graph gives way to what the program says: it makes a leaf of it.
            tensor.node, tensor.provenance = None, OBSERVED if refuses else leaf
        elif tensor.node is not None and refuses:
            error = AutogradError(FaultKind.NON_LEAF_FLAG, tensor=tensor)
            grounds = [each for each in of_error(error, self.ran) if each is not tensor.left]
            if (tensor.node.provenance is OBSERVED or tensor.is_result) and not grounds:
                raise error
            tensor.node, tensor.provenance = None, OBSERVED
        elif value and tensor.inference and not self.inference:
            raise AutogradError(FaultKind.INFERENCE_REQUIRES_GRAD, tensor=tensor)
        elif value and shapes.is_differentiable(tensor.dtype) is False:
            raise AutogradError(FaultKind.DTYPE_FLAG, tensor=tensor)
        if tensor.node is None:
            tensor.flag = value
            self.recorder.flagged(tensor, value)

    def detach_in_place(self, tensor: Tensor) -> None:
        """`detach_()`: forgets the graph of the tensor itself."""
        if self.inference:
            return
        if tensor.base is not None:
            raise AutogradError(FaultKind.DETACH_VIEW, tensor=tensor)
        had = tensor.requires_grad
        tensor.node, tensor.flag, tensor.provenance = None, False, OBSERVED
        if had:
            self.cut(tensor, Cut("detach_", self.recorder.site(), tensor))


def _first_live(tensors: Sequence[Tensor]) -> Tensor | None:
    """The first tensor that certainly requires grad, else the first that may."""
    return min((each for each in tensors if each.requires_grad), key=lambda each: each.is_open, default=None)


def _requires_grad(inputs: Inputs, parameters: frozenset[str]) -> bool:
    for parameter in parameters:
        for tensor in inputs.get(parameter, ()):
            if tensor.requires_grad:
                return True
    return False
