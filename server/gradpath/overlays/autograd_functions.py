"""`torch.autograd`: `grad`, `backward`, custom Functions, saved-tensor hooks; and `torch.utils.checkpoint`."""

from __future__ import annotations

from collections.abc import Sequence

from gradpath.autograd import backward as engine
from gradpath.autograd.errors import AutogradError, FaultKind
from gradpath.autograd.gradients import Graphs
from gradpath.autograd.provenance import OPEN, of_any
from gradpath.autograd.tensor import CHECKPOINT, BackwardCall, Creation, Node, Saved, Tensor
from gradpath.interpreter.classes import Context
from gradpath.interpreter.containers import List
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine, Raised
from gradpath.interpreter.values import (
    UNDEFINED,
    Arguments,
    Class,
    Descriptor,
    Instance,
    NativeFunction,
    Object,
    Unknown,
    Value,
)
from gradpath.overlays import weights
from gradpath.overlays.namespace import Names
from gradpath.overlays.operations import tensors_in
from gradpath.overlays.tensor_methods import keeps
from gradpath.overlays.tensor_value import TensorValue, wrap


def grad(machine: Machine, arguments: Arguments) -> Value:
    """`torch.autograd.grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused)`."""
    outputs = tensors_in(machine, arguments.get(0, "outputs", ()), presume=True)
    wanted = arguments.get(1, "inputs", ())
    unseen = _unseen_weights(machine, outputs, wanted)
    inputs = unseen or tensors_in(machine, wanted, presume=True)
    sampled = bool(unseen) or (isinstance(wanted, List) and wanted.open)
    seeds = arguments.get(2, "grad_outputs", None)
    retain = keeps(machine, arguments.get(3, "retain_graph", None))
    create = keeps(machine, arguments.get(4, "create_graph", False)) is True
    unused = arguments.keywords.get("allow_unused", arguments.get(6, "allow_unused", None))
    if arguments.keywords.get("materialize_grads") is True or (unused is None and arguments.open):
        unused = True  # Options that are handed on unseen may allow it.
    results = engine.gradients(
        machine.autograd,
        outputs,
        inputs,
        retain=retain,
        create_graph=create,
        allow_unused=unused is not None and machine.decide(unused),
        seeds=None if seeds is None else tensors_in(machine, seeds),
        sampled=sampled,
    )
    gradients: list[Value] = [None if each is None else wrap(each) for each in results]
    return List(gradients, open=True) if sampled else tuple(gradients)


def _unseen_weights(machine: Machine, outputs: Sequence[Tensor], wanted: Value) -> list[Tensor]:
    """The weights of unseen models that the graphs of `outputs` reach."""
    items = wanted.items if isinstance(wanted, List) else wanted if isinstance(wanted, tuple) else (wanted,)
    models = [model for each in items for model in weights.models_of_parameter(each)]
    found = [tensor for model in models for tensor in weights.of(machine, model)]
    return engine.reached(machine.autograd, outputs, list(dict.fromkeys(found)))


def backward(machine: Machine, arguments: Arguments) -> Value:
    """`torch.autograd.backward(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)`."""
    seeds = arguments.get(1, "grad_tensors", None)
    inputs = arguments.keywords.get("inputs")
    engine.backward(
        machine.autograd,
        tensors_in(machine, arguments.get(0, "tensors", ()), presume=True),
        retain=keeps(machine, arguments.get(2, "retain_graph", None)),
        create_graph=keeps(machine, arguments.get(3, "create_graph", False)) is True,
        inputs=None if inputs is None else [*tensors_in(machine, inputs), *weights.named_in(machine, inputs)],
        seeds=None if seeds is None else tensors_in(machine, seeds),
    )
    return None


class CustomFunction(Class):
    """`torch.autograd.Function`."""

    def native_member(self, name: str) -> Value:
        if name == "apply":
            return Descriptor("classmethod", NativeFunction("Function.apply", _apply))
        return UNDEFINED


class ContextObject(Instance):
    """The `ctx` of a custom Function; `run` is the call that has its `backward` run."""

    __slots__ = ("dirty", "node", "non_differentiable", "run", "saved")

    def __init__(self, cls: Class) -> None:
        super().__init__(cls)
        self.saved: tuple[Value, ...] = ()
        self.non_differentiable: list[Tensor] = []
        self.dirty: list[Tensor] = []
        self.node: Node | None = None
        self.run: BackwardCall | None = None

    def native_attribute(self, machine: Machine, name: str) -> Value:
        match name:
            case "save_for_backward":
                return NativeFunction(name, self._save)
            case "mark_non_differentiable":
                return NativeFunction(
                    name, lambda m, a: self.non_differentiable.extend(tensors_in(m, tuple(a.positional)))
                )
            case "mark_dirty":
                return NativeFunction(name, lambda m, a: self.dirty.extend(tensors_in(m, tuple(a.positional))))
            case "set_materialize_grads" | "save_for_forward":
                return NativeFunction(name, lambda m, a: None)
            case "saved_tensors" | "saved_variables":
                return self._saved_tensors(machine)
            case "needs_input_grad":
                return machine.unknown("needs_input_grad", ("needs_input_grad", machine.id_of(self)), ())
            case _:
                return UNDEFINED

    def _save(self, machine: Machine, arguments: Arguments) -> Value:
        self.saved = tuple(arguments.positional)
        return None

    def _saved_tensors(self, machine: Machine) -> Value:
        node = self.node
        if node is not None:
            if node.freed_by is not None:
                outputs = node.outputs
                raise AutogradError(FaultKind.TWICE, node=node, earlier=node.freed_by, call=self.run, tensor=outputs[0])
            call = BackwardCall(0, machine.site(), (), retain=False, create_graph=False)
            engine.check_saved(node, call)
        return self.saved


_CTX = Class("FunctionCtx")


def _apply(machine: Machine, arguments: Arguments) -> Value:
    cls, *values = arguments.positional
    if not isinstance(cls, Class):
        return machine.unknown("Function.apply", None, tuple(values))
    context = ContextObject(_CTX)
    inputs = tensors_in(machine, tuple(values))
    with machine.autograd.mode(grad=False):
        if cls.find("setup_context") is not UNDEFINED and isinstance(cls.find("setup_context"), Descriptor):
            result = machine.call(cls.attribute(machine, "forward"), Arguments(list(values)))
            machine.call(cls.attribute(machine, "setup_context"), Arguments([context, tuple(values), result]))
        else:
            result = machine.call(cls.attribute(machine, "forward"), Arguments([context, *values]))
    requiring = [tensor for tensor in inputs if tensor.requires_grad]
    if not machine.autograd.grad_enabled:
        return result
    if not requiring:
        unseen = arguments.open or any(isinstance(value, Unknown) and value.kind is not Kind.PLAIN for value in values)
        return _in_doubt(machine, result, tuple(values)) if unseen else result
    reached = [(tensor, edge) for tensor in requiring if (edge := machine.autograd.edge(tensor)) is not None]
    node = Node(cls.name, tuple(edge for _, edge in reached), machine.site())
    context.node = node
    kept = [value.tensor for value in context.saved if isinstance(value, TensorValue)]
    node.saved = [Saved(saved.storage, saved.storage.version, saved, "saved") for saved in kept]
    if kept and machine.autograd.saved_instead is not None:
        node.saved = list(machine.autograd.saved_instead)
    places = {value.tensor: place for place, value in enumerate(values) if isinstance(value, TensorValue)}
    node.custom = _Backward(machine, cls, context, [places.get(tensor) for tensor, _ in reached])
    machine.autograd.recorder.built(node, {"input": inputs})
    attached = _attach(machine, result, node, context, inputs)
    node.custom.note_results(attached)
    return attached


def _in_doubt(machine: Machine, result: Value, values: tuple[Value, ...]) -> Value:
    """The result where an argument of which nothing is known may require a gradient."""
    if isinstance(result, tuple):
        return tuple(_in_doubt(machine, part, values) for part in result)
    match result:
        case TensorValue(tensor=tensor):
            unsure = tensor.dtype not in ("int64", "int32", "bool")
        case Unknown():
            unsure = True  # It was computed while gradients were off, and passes for plain data.
        case _:
            unsure = False
    return machine.unknown("Function.apply", None, values) if unsure else result


def _attach(machine: Machine, result: Value, node: Node, context: ContextObject, inputs: list[Tensor]) -> Value:
    """Hang the results on the node; an input that is given back unchanged comes back as a view of itself."""
    if isinstance(result, tuple):
        return tuple(_attach(machine, part, node, context, inputs) for part in result)
    if isinstance(result, List) and result.open:  # A tuple of unknown length.
        return List([_attach(machine, part, node, context, inputs) for part in result.items], open=True)
    if not isinstance(result, TensorValue) or result.tensor in context.non_differentiable:
        return result
    tensor = result.tensor
    if tensor.dtype is not None and not tensor.dtype.startswith(("float", "bfloat", "complex")):
        return result
    if tensor in inputs and tensor not in context.dirty:
        tensor = machine.autograd.view(tensor, node.name)
        tensor.creation = Creation.CUSTOM
    elif tensor.base is not None:
        tensor.creation = Creation.CUSTOM
    tensor.node = node
    tensor.cut = None
    tensor.seen_version = tensor.storage.version
    node.outputs.append(tensor)
    for index, saved in enumerate(node.saved):
        if saved.tensor is tensor:
            node.saved[index] = Saved(saved.storage, saved.version, tensor, "out0")
    return wrap(tensor)


class _Backward:
    """Runs a custom Function's own `backward`, which is where its errors are raised.

    `places` gives for each edge of the node the argument of `forward` that it is of, None where that is not settled.
    """

    def __init__(self, machine: Machine, cls: Class, context: ContextObject, places: list[int | None]) -> None:
        self.machine = machine
        self.cls = cls
        self.context = context
        self.places = places
        self.results: tuple[int | None, ...] | None = None

    def note_results(self, result: Value) -> None:
        """Remember which output each result is, None for one that is no tensor: `backward` gets something for each.

        Where the results are nested, or of unknown number, it gets something for each output.
        """
        if not isinstance(result, tuple) or any(isinstance(part, (tuple, List, Unknown)) for part in result):
            return
        outputs = [] if self.context.node is None else self.context.node.outputs
        self.results = tuple(
            (outputs.index(part.tensor) if part.tensor in outputs else len(outputs))
            if isinstance(part, TensorValue)
            else None
            for part in result
        )

    def __call__(self, call: BackwardCall, incoming: tuple[Node, ...]) -> Graphs:
        machine = self.machine
        self.context.run = call
        outputs = [] if self.context.node is None else self.context.node.outputs
        gradients = [machine.autograd.tensor(shape=output.shape, dtype=output.dtype) for output in outputs]
        if call.create_graph and incoming:
            for gradient in gradients:
                gradient.node = Node("incoming gradient", incoming, call.site)
                gradient.provenance = gradient.node.provenance = of_any(node.provenance for node in incoming)
        given: list[Value] = [wrap(gradient) for gradient in gradients]
        if self.results is not None:
            given = [None if place is None else self._gradient(given, place) for place in self.results]
        with machine.autograd.mode(grad=call.create_graph):
            result = machine.call(self.cls.attribute(machine, "backward"), Arguments([self.context, *given]))
        return tuple(self._graph(result, place) for place in self.places) if call.create_graph else ()

    def _gradient(self, known: list[Value], place: int) -> Value:
        """The gradient of an output; of a result that is not differentiable, zeros."""
        return known[place] if place < len(known) else wrap(self.machine.autograd.tensor())

    def _graph(self, result: Value, place: int | None) -> tuple[Node, ...]:
        """The graph of the gradient that `backward` returned for an argument; one of which little is known else."""
        found = result[place] if isinstance(result, tuple) and place is not None and place < len(result) else result
        if isinstance(found, TensorValue):
            edge = self.machine.autograd.edge(found.tensor)
            return () if edge is None else (edge,)
        if found is None or self.context.node is None:
            return ()
        node = self.context.node
        return (Node(f"gradient of {node.name}", node.edges, self.machine.site(), provenance=OPEN),)


class _OnceDifferentiable(Object):
    """A `backward` that runs without a graph; what it returns refuses to be differentiated."""

    __slots__ = ("function",)
    kind_name = "function"

    binds = True

    def __init__(self, function: Value) -> None:
        self.function = function

    def call(self, machine: Machine, arguments: Arguments) -> Value:
        with machine.autograd.mode(grad=False):
            result = machine.call(self.function, arguments)
        gradients = tensors_in(machine, tuple(arguments.positional[1:]))
        if machine.autograd.grad_enabled and any(tensor.requires_grad for tensor in gradients):
            for tensor in tensors_in(machine, result):
                tensor.node = Node("once differentiable", (), machine.site())
                tensor.node.custom = FaultKind.ONCE_DIFFERENTIABLE
        return result


class UncheckedSaving(Context):
    """`save_on_cpu`, `saved_tensors_hooks`: what is saved is packed, so that later writes go unnoticed.

    But for those to what is saved `instead`.
    """

    __slots__ = ("before", "instead")

    def __init__(self, instead: tuple[Saved, ...] = ()) -> None:
        self.before: tuple[Saved, ...] | None = None
        self.instead = instead

    def enter(self, machine: Machine) -> Value:
        self.before = machine.autograd.saved_instead
        machine.autograd.saved_instead = self.instead
        return self

    def leave(self, machine: Machine, raised: Raised | None) -> bool:
        machine.autograd.saved_instead = self.before
        return False


def checkpoint(machine: Machine, arguments: Arguments) -> Value:
    """`checkpoint(function, *args, use_reentrant=...)`: its arguments are saved, and nothing that is made of them.

    Of a checkpoint within another, or within hooks that pack what is saved, the outer one saves.
    """
    function, *values = arguments.positional or [None]
    reentrant = arguments.keywords.get("use_reentrant", False)
    rest = {
        name: value
        for name, value in arguments.keywords.items()
        if name not in ("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug")
    }
    if reentrant is True:
        return _reentrant(machine, function, values)
    outer = machine.autograd.saved_instead
    saving = UncheckedSaving(_saved_arguments(machine, values) if outer is None else outer)
    saving.enter(machine)
    try:
        return machine.call(function, Arguments(list(values), rest))
    finally:
        saving.leave(machine, None)


def _saved_arguments(machine: Machine, values: list[Value]) -> tuple[Saved, ...]:
    """The arguments that a checkpoint saves; it does not check those in lists or passed by name."""
    site = machine.site()
    tensors = [value.tensor for value in values if isinstance(value, TensorValue) and not value.tensor.aliasing_unsure]
    return tuple(
        Saved(each.storage, each.storage.version, each, CHECKPOINT, each.node is not None, site) for each in tensors
    )


def _reentrant(machine: Machine, function: Value, values: list[Value]) -> Value:
    """The reentrant kind runs the forward without a graph; only inputs that require grad connect it."""
    inputs = tensors_in(machine, tuple(values))
    saved = _saved_arguments(machine, values)
    with machine.autograd.mode(grad=False):
        result = machine.call(function, Arguments(list(values)))
    requiring = [tensor for tensor in inputs if tensor.requires_grad]
    if not requiring or not machine.autograd.grad_enabled:
        return result
    reached = [*requiring, *_leaves_used(tensors_in(machine, result), inputs)]
    edges = tuple(edge for edge in map(machine.autograd.edge, reached) if edge is not None)
    node = Node("checkpoint", edges, machine.site(), holds=True)
    if machine.autograd.saved_instead is None:
        node.saved = list(saved)
    for tensor in tensors_in(machine, result):
        tensor.node = node
        tensor.cut = None
        node.outputs.append(tensor)
    machine.autograd.recorder.built(node, {"input": inputs})
    return result


def _leaves_used(results: list[Tensor], inputs: list[Tensor]) -> list[Tensor]:
    """The leaves, parameters mostly, that the backward of a reentrant checkpoint reaches: it runs the forward again."""
    seen = {id(each) for each in inputs}
    found: list[Tensor] = []
    todo = list(results)
    while todo:
        tensor = todo.pop()
        if id(tensor) not in seen:
            seen.add(id(tensor))
            todo.extend(tensor.maker)
            if tensor.requires_grad and tensor.node is None:
                found.append(tensor)
    return found


def _functional(machine: Machine, arguments: Arguments) -> Value:
    """`jacobian`, `hessian` and the like give tensors without a graph unless asked for one."""
    machine.call(arguments.get(0, "func", None), _inputs(machine, arguments.get(1, "inputs", ())))
    if arguments.keywords.get("create_graph", False) is not False:
        return machine.unknown("jacobian", None, (arguments.get(1, "inputs", ()),))
    result = machine.autograd.tensor()
    result.operation, result.origin = "gradient", machine.site()
    return wrap(result)


def _inputs(machine: Machine, value: Value) -> Arguments:
    return Arguments(list(value) if isinstance(value, tuple) else value.items if isinstance(value, List) else [value])


NAMES: Names = {
    "torch.autograd.grad": grad,
    "torch.autograd.backward": backward,
    "torch.autograd.Function": CustomFunction("Function"),
    "torch.autograd.function.Function": CustomFunction("Function"),
    "torch.autograd.function.once_differentiable": lambda machine, arguments: _OnceDifferentiable(
        arguments.get(0, "fn", None)
    ),
    "torch.autograd.graph.save_on_cpu": lambda machine, arguments: UncheckedSaving(),
    "torch.autograd.graph.saved_tensors_hooks": lambda machine, arguments: UncheckedSaving(),
    "torch.autograd.graph.allow_mutation_on_saved_tensors": lambda machine, arguments: UncheckedSaving(),
    "torch.autograd.functional.jacobian": _functional,
    "torch.autograd.functional.hessian": _functional,
    "torch.utils.checkpoint.checkpoint": checkpoint,
}
