"""`torch.autograd`: `grad`, `backward`, saved-tensor hooks; and `torch.utils.checkpoint`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial

from gradpath.autograd import backward as engine
from gradpath.autograd.tensor import CHECKPOINT, Node, Saved, Tensor
from gradpath.interpreter.classes import Context
from gradpath.interpreter.containers import List
from gradpath.interpreter.endings import Raised
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, Unknown, Value
from gradpath.overlays.namespace import Names
from gradpath.overlays.presumed import conditions, model_parts, vectors, weights
from gradpath.overlays.presumed.absences import is_in_no_other_graph, may_be_used
from gradpath.overlays.presumed.presumed_tensors import graph_sources
from gradpath.overlays.torch.backward_calls import keeps
from gradpath.overlays.torch.operations import tensors_in
from gradpath.overlays.torch.tensor_value import TensorValue, wrap
from gradpath.source.index import inside, names_in
from gradpath.source.nodes import noted
from gradpath.support.traversal import reachable


def grad(machine: Machine, arguments: Arguments) -> Value:
    """`torch.autograd.grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused)`."""
    outputs = tensors_in(machine, arguments.get(0, "outputs", ()), presume=True)
    wanted = arguments.get(1, "inputs", ())
    unseen = _unseen_weights(machine, outputs, wanted)
    inputs = unseen or tensors_in(machine, wanted, presume=True)
    sampled = bool(unseen) or (isinstance(wanted, List) and wanted.open)
    seeds = arguments.get(2, "grad_outputs", None)
    if seeds is None:
        vectors.settle_products(machine, outputs, wanted, inputs)
    retain = keeps(machine, arguments.get(3, "retain_graph", None))
    create = keeps(machine, arguments.get(4, "create_graph", False)) is True
    unused = arguments.keywords.get("allow_unused", arguments.get(6, "allow_unused", None))
    if arguments.keywords.get("materialize_grads") is True or (unused is None and arguments.open):
        unused = True  # Options that are handed on unseen may allow it.

    def hidden(tensor: Tensor) -> bool:
        if weights.is_replaced(machine, tensor, outputs) and not any(map(_picks_parameters, machine.trace.visits)):
            return True
        return is_in_no_other_graph(machine, tensor)

    results = engine.gradients(
        machine.autograd,
        outputs,
        inputs,
        retain=retain,
        create_graph=create,
        allow_unused=unused is not None and machine.decide(unused),
        seeds=None if seeds is None else tensors_in(machine, seeds),
        known=engine.Known(sampled, hidden, partial(may_be_used, machine)),
    )
    vectors.note_gradients(machine, results, wanted, inputs)
    gradients: list[Value] = [None if each is None else wrap(each) for each in results]
    return List(gradients, open=True) if sampled else tuple(gradients)


@noted
def _picks_parameters(statement: ast.AST) -> bool:
    """True if a statement picks parameters by their names: others than all may be asked for, and be used."""
    tests = {each.target: each.ifs for each in inside(statement, ast.comprehension)}
    tests |= {each.target: [one.test for one in inside(each, ast.If)] for each in inside(statement, ast.For)}
    return any(
        isinstance(target, ast.Tuple)
        and isinstance(target.elts[0], ast.Name)
        and any(target.elts[0].id in names_in(test) for test in picked)
        for target, picked in tests.items()
    )


def _unseen_weights(machine: Machine, outputs: Sequence[Tensor], wanted: Value) -> list[Tensor]:
    """The weights of unseen models that the graphs of `outputs` reach; of parts, those of the whole where need be."""
    items = wanted.items if isinstance(wanted, List) else wanted if isinstance(wanted, tuple) else (wanted,)
    parts = [model for each in items for model in model_parts.models_around_parameter(each)]
    wholes = [whole for part in parts for whole in list(model_parts.models_around(part))[-1:]]
    for models in (parts, wholes):
        found = [tensor for model in models for tensor in weights.of(machine, model)]
        reached = engine.reached(machine.autograd, outputs, list(dict.fromkeys(found)))
        if reached:
            return reached
    return []


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

    Without `use_reentrant` it is reentrant, as PyTorch 2.13 warns. Of a checkpoint within another, or within hooks that
    pack what is saved, the outer one saves.
    """
    function, *values = arguments.positional or [None]
    reentrant = arguments.keywords.get("use_reentrant", None)
    rest = {
        name: value
        for name, value in arguments.keywords.items()
        if name not in ("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug")
    }
    if reentrant is True or reentrant is None:
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
    inputs = graph_sources(machine, tuple(values))
    unseen = any(isinstance(each, Unknown) and each.kind is Kind.ANYTHING and not each.is_data for each in values)
    saved = _saved_arguments(machine, values)
    with machine.autograd.mode(grad=False):
        result = machine.call(function, Arguments(list(values)))
    requiring = [tensor for tensor in inputs if tensor.requires_grad]
    if not machine.autograd.grad_enabled:
        return result
    if not requiring:
        return machine.unknown("checkpoint", None, tuple(values)) if unseen else _without_graph(result)
    results = tensors_in(machine, result, presume=True)
    reached = [*requiring, *_leaves_used(results, inputs)]
    edges = tuple(edge for edge in map(machine.autograd.edge, reached) if edge is not None)
    node = Node("checkpoint", edges, machine.site(), holds=True)
    if machine.autograd.saved_instead is None:
        node.saved = list(saved)
    for tensor in results:
        tensor.node = node
        tensor.cut = None
        node.outputs.append(tensor)
    machine.autograd.recorder.built(node, {"input": inputs})
    return result


def _without_graph(result: Value) -> Value:
    """The result of a forward that ran while gradients were off; of an unseen one, too."""
    for each in result if isinstance(result, tuple) else (result,):
        if isinstance(each, Unknown) and each.kind is Kind.ANYTHING and each.tensor is None and not each.is_data:
            each.kind, each.provenance = Kind.CUT, conditions.GRADIENTS_OFF.of(conditions.callee(each))
    return result


def _leaves_used(results: list[Tensor], inputs: list[Tensor]) -> list[Tensor]:
    """The leaves, parameters mostly, that the backward of a reentrant checkpoint reaches: it runs the forward again."""
    given = set(inputs)
    inner = reachable(results, lambda tensor: () if tensor in given else tensor.maker)
    return [each for each in inner if each.requires_grad and each.node is None and each not in given]


def _functional(machine: Machine, arguments: Arguments) -> Value:
    """`jacobian`, `hessian` and the like give tensors without a graph unless asked for one."""
    machine.call(arguments.get(0, "func", None), _inputs(arguments.get(1, "inputs", ())))
    if arguments.keywords.get("create_graph", False) is not False:
        return machine.unknown("jacobian", None, (arguments.get(1, "inputs", ()),))
    result = machine.autograd.tensor()
    result.operation, result.origin = "gradient", machine.site()
    return wrap(result)


def _inputs(value: Value) -> Arguments:
    return Arguments(list(value) if isinstance(value, tuple) else value.items if isinstance(value, List) else [value])


NAMES: Names = {
    "torch.autograd.grad": grad,
    "torch.autograd.backward": backward,
    "torch.autograd.graph.save_on_cpu": lambda machine, arguments: UncheckedSaving(),
    "torch.autograd.graph.saved_tensors_hooks": lambda machine, arguments: UncheckedSaving(),
    "torch.autograd.graph.allow_mutation_on_saved_tensors": lambda machine, arguments: UncheckedSaving(),
    "torch.autograd.functional.jacobian": _functional,
    "torch.autograd.functional.hessian": _functional,
    "torch.utils.checkpoint.checkpoint": checkpoint,
}
