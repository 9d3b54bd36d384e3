"""What trains a module whose training is not seen: a backward through what its `forward` returns, and a step."""

from __future__ import annotations

import ast
from collections.abc import Sequence, Set

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.trace import Bound, Cleared, Named, Stepped
from gradpath.interpreter.values import Function, Value
from gradpath.overlays.frameworks import engines
from gradpath.overlays.torch.nn import ModuleInstance, tensors_of
from gradpath.overlays.torch.tensor_value import TensorValue
from gradpath.source.nodes import nodes, noted

_DEPTH = 6
"""Operations from a result back to a cut."""


def step(
    machine: Machine, function: Function, module: ModuleInstance, result: Value, results: Sequence[Tensor]
) -> None:
    """Let an optimizer step the parameters that nothing but a backward through the results can train.

    A choice that is returned as well is scored elsewhere, as the actions of a policy are; an object, such as a
    distribution, may lead back to all; and what a method uses that the `forward` does not call may be trained by it.
    """
    if not all(isinstance(each, _KNOWN) for each in (result if isinstance(result, tuple) else (result,))):
        return
    if any(each.node is None and _is_cut(each, _DEPTH) for each in results):
        return
    elsewhere = _used_elsewhere(machine, module)
    owned = tensors_of([each for each in module.parameters() if each[0].partition(".")[0] not in elsewhere])
    updated = tuple(each for each in owned if each.grad is not None)
    site = engines.site_of_result(machine, function)
    bound = {id(event.tensor) for event in machine.trace.of(Bound)}
    if any("." not in name and id(value.tensor) not in bound for name, value in module.parameters()):
        machine.emit(Named("self", module, site))  # Its base makes parameters that no statement of the program names.
    machine.emit(Stepped(module, updated, site, known=True, unseen=owned))
    machine.emit(Cleared(owned, site, module))


def keeps_graph(machine: Machine, module: ModuleInstance, tree: ast.Module) -> bool:
    """True if a buffer of a module has a graph for sure, which only `forward` renews.

    A method that has not run and goes through all buffers may be there to reset them between batches, and a function of
    the file that freezes something may freeze what the buffer is computed with.
    """
    values = [value for _, value in module.named_buffers()]
    live = any(isinstance(each, TensorValue) and each.tensor.surely_requires_grad for each in values)
    if not live or not _used_elsewhere(machine, module).isdisjoint(("buffers", "named_buffers", "_buffers")):
        return False
    functions = (each for each in nodes(tree) if isinstance(each, _FUNCTIONS))
    return not any(_freezes(each) and not _has_run(machine, each) for each in functions)


_KNOWN = (TensorValue, bool, int, float, str, type(None))


def _is_cut(tensor: Tensor, depth: int) -> bool:
    """True if a tensor without a graph is computed from one that had it."""
    return tensor.cut is not None or (depth > 0 and any(_is_cut(each, depth - 1) for each in tensor.maker))


def _used_elsewhere(machine: Machine, module: ModuleInstance) -> Set[str]:
    """The attributes of `self` in the methods that have not run."""
    found: set[str] = set()
    for cls in module.cls.mro:
        for method in cls.node.body if isinstance(cls.node, ast.ClassDef) else ():
            if isinstance(method, _FUNCTIONS) and not _has_run(machine, method):
                found |= _own(method)
    return found


def _has_run(machine: Machine, method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(each in machine.trace.visits for each in method.body)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@noted
def _freezes(function: ast.AST) -> bool:
    flags = (each for each in nodes(function) if isinstance(each, ast.Attribute))
    return any(
        each.attr == "requires_grad_" or (each.attr == "requires_grad" and isinstance(each.ctx, ast.Store))
        for each in flags
    )


@noted
def _own(method: ast.AST) -> frozenset[str]:
    attributes = (each for each in nodes(method) if isinstance(each, ast.Attribute))
    return frozenset(each.attr for each in attributes if isinstance(each.value, ast.Name) and each.value.id == "self")
