"""Custom Functions: subclasses of `torch.autograd.Function`, their context, and what runs their `backward`."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

from gradpath.autograd import backward as engine
from gradpath.autograd.errors import AutogradError, FaultKind
from gradpath.autograd.gradients import Graphs
from gradpath.autograd.provenance import OPEN, Presumption, of_any
from gradpath.autograd.tensor import BackwardCall, Creation, Node, Saved, Tensor
from gradpath.interpreter.classes import innermost
from gradpath.interpreter.containers import List
from gradpath.interpreter.entered import Entered
from gradpath.interpreter.events import Site
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
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
from gradpath.overlays.frameworks import engines
from gradpath.overlays.namespace import Names
from gradpath.overlays.presumed.presumed_tensors import presume_tensor
from gradpath.overlays.registry import Caller
from gradpath.overlays.torch import returned_gradients
from gradpath.overlays.torch.operations import tensors_in
from gradpath.overlays.torch.tensor_value import TensorValue, wrap
from gradpath.source.index import contents
from gradpath.source.nodes import last_name, nodes, noted


class CustomFunction(Class, Caller):
    """`torch.autograd.Function`."""

    calls = frozenset({"backward"})

    def native_member(self, name: str) -> Value:
        match name:
            case "apply":
                return Descriptor("classmethod", NativeFunction("Function.apply", _apply))
            case "__call__":
                return NativeFunction("Function.__call__", _called)
        return UNDEFINED

    def enter(self, machine: Machine, entered: Entered) -> Value:
        """A `backward` is given the gradients that it asks for; what it returns has to fit the `forward` beside it."""
        function = entered.function
        asked = [each.arg for each in (*function.node.args.posonlyargs, *function.node.args.args)][1:]
        gradients: list[Value] = [wrap(machine.autograd.tensor()) for _ in asked]
        more = function.node.args.vararg is not None
        result = machine.call(entered.made, Arguments([machine.unknown("ctx"), *gradients], open=more))
        owner = function.owner
        machine.surveyed.add(entered.tree)
        wanted = None if owner is None or _is_never_reached(owner, entered.tree) else _arguments_of(owner, entered.tree)
        if wanted is not None:
            engines.at_result(machine, function, lambda: returned_gradients.check(machine, function, result, wanted))
        return result


def is_forward(owner: Class | None, method: str) -> bool:
    """True if a method is the `forward` of a custom Function, which runs while gradients are off."""
    return method == "forward" and owner is not None and any(isinstance(each, CustomFunction) for each in owner.mro)


def _is_never_reached(cls: Class, tree: ast.Module) -> bool:
    """True if a file runs no backward, and only its own statements apply a Function, outside functions.

    Then the module body shows all that becomes of it, and its `backward` may be there for the form.
    """
    uses = {each for each in contents(tree).attributes if each.attr == "apply" and last_name(each.value) == cls.name}
    outer = {each for each in nodes(tree, outside=(ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) if each in uses}
    return bool(uses) and uses == outer and not any(last_name(each.func) in _RUNNING for each in contents(tree).calls)


_RUNNING = frozenset({"backward", "grad", "gradcheck", "gradgradcheck", "jacobian", "hessian", "vjp"})
"""Calls that run a backward, or are named like those that do."""


def _called(machine: Machine, arguments: Arguments) -> Value:
    raise AutogradError(FaultKind.NOT_APPLIED)


def _arguments_of(cls: Class, tree: ast.Module) -> Collection[int] | None:
    """The numbers of arguments that the `forward` of a Function is given in its file, or may be; None for any."""
    forward = innermost(cls.find("forward"))
    if forward is None or forward.node.args.vararg is not None:
        return None
    context = 0 if isinstance(cls.find("setup_context"), Descriptor) else 1
    most = len(forward.node.args.posonlyargs) + len(forward.node.args.args) - context
    given = _applications(tree).get(cls.name, frozenset())
    return given or range(most - len(forward.defaults), most + 1)


@noted
def _applications(tree: ast.Module) -> Mapping[str, frozenset[int]]:
    """The numbers of arguments that the calls of `apply` pass, by class, where nothing else is done with an `apply`."""
    found: dict[str, set[int]] = {}
    counts = {call.func: _count(call) for call in contents(tree).calls}
    for each in contents(tree).attributes:
        if each.attr == "apply" and isinstance(each.value, ast.Name):
            found.setdefault(each.value.id, set()).add(counts.get(each, _ANY))
    return {name: frozenset(given) for name, given in found.items() if _ANY not in given}


_ANY = -1
"""Stands for a number of arguments that is not known."""


def _count(call: ast.Call) -> int:
    known = not call.keywords and not any(isinstance(each, ast.Starred) for each in call.args)
    return len(call.args) if known else _ANY


class ContextObject(Instance):
    """The `ctx` of a custom Function; `run` is the call that has its `backward` run, if that is `certain` to reach it.

    What is saved counts only if the call is `recorded`: gradients are on, and an argument may require one.
    """

    __slots__ = ("certain", "dirty", "node", "non_differentiable", "recorded", "run", "saved")

    def __init__(self, cls: Class, *, recorded: bool) -> None:
        super().__init__(cls)
        self.recorded = recorded
        self.saved: tuple[Value, ...] = ()
        self.non_differentiable: list[Value] = []
        self.dirty: list[Tensor] = []
        self.node: Node | None = None
        self.run: BackwardCall | None = None
        self.certain = True

    def native_attribute(self, machine: Machine, name: str) -> Value:
        match name:
            case "save_for_backward":
                return NativeFunction(name, self._save)
            case "mark_non_differentiable":
                return NativeFunction(name, lambda m, a: self.non_differentiable.extend(a.positional))
            case "mark_dirty":
                return NativeFunction(name, lambda m, a: self.dirty.extend(tensors_in(m, tuple(a.positional))))
            case "set_materialize_grads" | "save_for_forward":
                return NativeFunction(name, lambda m, a: None)
            case "saved_tensors" | "saved_variables":
                return self._saved_tensors(machine)
            case "needs_input_grad":
                return machine.unknown("needs_input_grad", ("needs_input_grad", machine.id_of(self)), ())
        return UNDEFINED

    def _save(self, machine: Machine, arguments: Arguments) -> Value:
        for index, value in enumerate(arguments.positional if self.recorded else ()):
            if value is not None and returned_gradients.is_no_tensor(value):
                raise AutogradError(FaultKind.SAVED_PLAIN, index=index)
        self.saved = tuple(arguments.positional)
        return None

    def _saved_tensors(self, machine: Machine) -> Value:
        node = self.node
        if node is not None and self.certain:
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
    inputs = tensors_in(machine, tuple(values))
    requiring = [tensor for tensor in inputs if tensor.requires_grad]
    unseen = arguments.open or any(isinstance(value, Unknown) and value.kind is not Kind.PLAIN for value in values)
    context = ContextObject(_CTX, recorded=machine.autograd.grad_enabled and (unseen or bool(requiring)))
    with machine.autograd.mode(grad=False):
        if cls.find("setup_context") is not UNDEFINED and isinstance(cls.find("setup_context"), Descriptor):
            result = machine.call(cls.attribute(machine, "forward"), Arguments(list(values)))
            machine.call(cls.attribute(machine, "setup_context"), Arguments([context, tuple(values), result]))
        else:
            result = machine.call(cls.attribute(machine, "forward"), Arguments([context, *values]))
    if not machine.autograd.grad_enabled:
        return result
    if not requiring:
        return _in_doubt(machine, result, tuple(values)) if unseen else _without_graph(machine, result, values)
    reached = [(tensor, edge) for tensor in requiring if (edge := machine.autograd.edge(tensor)) is not None]
    edges = tuple(edge for _, edge in reached)
    node = Node(cls.name, edges, machine.site(), provenance=of_any(each.provenance for each in edges))
    context.node = node
    kept = [value.tensor for value in context.saved if isinstance(value, TensorValue)]
    node.saved = [Saved(saved.storage, saved.storage.version, saved, "saved") for saved in kept]
    if kept and machine.autograd.saved_instead is not None:
        node.saved = list(machine.autograd.saved_instead)
    places = {value.tensor: place for place, value in enumerate(values) if isinstance(value, TensorValue)}
    wanted = None if arguments.open else (len(values),)
    node.custom = _Backward(machine, cls, context, values, wanted, [places.get(tensor) for tensor, _ in reached])
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


def _without_graph(machine: Machine, result: Value, values: Sequence[Value]) -> Value:
    """The result where no argument requires a gradient: it has no graph on the conditions on which they have none."""
    plain = [each for each in values if isinstance(each, Unknown) and isinstance(each.provenance, Presumption)]
    for part in result if isinstance(result, tuple) else (result,):
        if isinstance(part, Unknown) and plain:
            part.provenance = plain[0].provenance
    given = tensors_in(machine, (*values, *(presume_tensor(machine, each) for each in plain)))
    for tensor in tensors_in(machine, result):
        if given and tensor.base is None and tensor not in given:
            tensor.maker = tuple(given)
    return result


def _attach(machine: Machine, result: Value, node: Node, context: ContextObject, inputs: list[Tensor]) -> Value:
    """Hang the results on the node; an input that is given back unchanged comes back as a view of itself."""
    if isinstance(result, tuple):
        return tuple(_attach(machine, part, node, context, inputs) for part in result)
    if isinstance(result, List) and result.open:  # A tuple of unknown length.
        return List([_attach(machine, part, node, context, inputs) for part in result.items], open=True)
    if any(each is result for each in context.non_differentiable):
        return result
    if isinstance(result, Unknown):  # Computed while gradients were off, so that it passes for plain data.
        return machine.unknown("Function.apply", None, tuple(wrap(each) for each in inputs))
    if not isinstance(result, TensorValue):
        return result
    tensor = result.tensor
    if tensor.dtype is not None and not tensor.dtype.startswith(("float", "bfloat", "complex")):
        return result
    if tensor in inputs and tensor not in context.dirty:
        tensor = machine.autograd.view(tensor, node.name)
        tensor.creation = Creation.CUSTOM
    elif tensor.base is not None:
        tensor.creation = Creation.CUSTOM
    if tensor.base is None:
        tensor.maker = tuple(inputs)  # How `forward` computes it, without a graph, is its own affair.
    tensor.node, tensor.provenance = node, node.provenance
    tensor.cut = None
    tensor.seen_version = tensor.storage.version
    node.outputs.append(tensor)
    for index, saved in enumerate(node.saved):
        if saved.tensor is tensor:
            node.saved[index] = Saved(saved.storage, saved.version, tensor, "out0")
    return wrap(tensor)


class _Backward:
    """Runs a custom Function's own `backward`, which is where its errors are raised.

    `values` are what `forward` was given, the only arguments where it was `wanted` as many. `places` gives for each
    edge of the node the argument that it is of, None where that is not settled.
    """

    def __init__(
        self,
        machine: Machine,
        cls: Class,
        context: ContextObject,
        values: Sequence[Value],
        wanted: Collection[int] | None,
        places: list[int | None],
    ) -> None:
        self.machine = machine
        self.cls = cls
        self.context = context
        self.values = values
        self.wanted = wanted
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

    def __call__(self, call: BackwardCall, incoming: tuple[Node, ...], certain: bool) -> Graphs:
        machine = self.machine
        self.context.run, self.context.certain = call, certain
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
        function = innermost(self.cls.find("backward"))
        if function is not None:
            returned_gradients.check(machine, function, result, self.wanted, self.values, self.places)
            self._note_withheld(result, engines.site_of_result(machine, function))
        return tuple(self._graph(result, place) for place in self.places) if call.create_graph else ()

    def _note_withheld(self, result: Value, site: Site) -> None:
        """Remember the edges for which `backward` returned None; what is left out at the end of a tuple is refused."""
        returned = result if isinstance(result, tuple) else (result,)
        of_none = {place for place, gradient in enumerate(returned) if gradient is None}
        if self.context.node is not None:
            self.context.node.withheld = {index: site for index, place in enumerate(self.places) if place in of_none}

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


NAMES: Names = {
    "torch.autograd.Function": CustomFunction("Function"),
    "torch.autograd.function.Function": CustomFunction("Function"),
    "torch.autograd.function.once_differentiable": lambda machine, arguments: _OnceDifferentiable(
        arguments.get(0, "fn", None)
    ),
}
