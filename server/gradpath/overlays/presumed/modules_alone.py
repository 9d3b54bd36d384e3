"""What trains a module whose training is not seen: a backward through what its `forward` returns, and a step."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set

from gradpath.autograd.tensor import Tensor
from gradpath.interpreter.containers import List
from gradpath.interpreter.events import Bound, Cleared, Named, Stepped
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.readings import parts_of
from gradpath.interpreter.values import Function, Unknown, Value
from gradpath.overlays.frameworks import engines
from gradpath.overlays.presumed import weights
from gradpath.overlays.torch.nn import ModuleInstance, tensors_of
from gradpath.overlays.torch.tensor_value import TensorValue
from gradpath.source.index import contents, inside
from gradpath.source.nodes import last_name, nodes, noted

_DEPTH = 6
"""Operations from a result back to a cut."""


def step(
    machine: Machine, function: Function, module: ModuleInstance, result: Value, results: Sequence[Tensor]
) -> None:
    """Let an optimizer step the parameters that nothing but a backward through the results can train.

    A choice that is returned as well is scored elsewhere, as the actions of a policy are, but for the codes that a
    straight-through estimate lends; an object, such as a distribution, may lead back to all; and what a method uses
    that the `forward` does not call may be trained by it. What a method puts into a group is there to be trained.
    """
    if not all(map(_is_known, result if isinstance(result, tuple) else (result,))):
        return
    elsewhere = _used_elsewhere(machine, module)
    owned = tensors_of([each for each in module.parameters() if each[0].partition(".")[0] not in elsewhere])
    others = [module.attributes.get(name) for name in elsewhere]
    spared = {
        id(part) for each in others for part in (each.unknown_parts() if isinstance(each, ModuleInstance) else [each])
    }
    parts = [each for each in module.unknown_parts() if id(each) not in spared]
    owned += tuple(tensor for each in parts for tensor in weights.of(machine, each))
    if any(each.node is None and _is_cut(each, _DEPTH) for each in results):
        lent = {id(each) for result in results for each in _lent(result)}
        owned = tuple(each for each in owned if id(each) in lent)
    if not owned:
        return
    grouped = frozenset[str]().union(*(grouped_in(cls.node) for cls in module.cls.mro if cls.node is not None))
    given = tensors_of([each for each in module.parameters() if each[0].partition(".")[0] in grouped])
    given = tuple(each for each in owned if any(each is one for one in given))
    updated = tuple(each for each in owned if each.grad is not None)
    site = engines.site_of_result(machine, function)
    bound = {id(event.tensor) for event in machine.trace.of(Bound)}
    if any("." not in name and id(value.tensor) not in bound for name, value in module.parameters()):
        machine.emit(Named("self", module, site))  # Its base makes parameters that no statement of the program names.
    unseen = tuple(each for each in owned if all(each is not one for one in given))
    machine.emit(Stepped(module, updated, site, given, known=True, unseen=unseen))
    machine.emit(Cleared(owned, site, module))


def keeps_graph(machine: Machine, module: ModuleInstance, tree: ast.Module) -> bool:
    """True if a buffer of a module, or a state that its `__init__` made, has a graph that only `forward` renews.

    What becomes of the state of an object that the file makes is seen there. A method that has not run and goes through
    all buffers, or has to do with the state, may be there to reset it between batches, and a function of the file that
    freezes something may freeze what it is computed with.
    """
    elsewhere = _used_elsewhere(machine, module)
    buffers = [value for _, value in module.named_buffers()]
    if not elsewhere.isdisjoint(("buffers", "named_buffers", "_buffers")):
        buffers = []
    machine.surveyed.add(tree)
    kept = frozenset[str]().union(*(states_of(cls.node) for cls in module.cls.mro)) - elsewhere
    states = [] if _is_made(tree, module.cls.name) else [module.attributes.get(name) for name in kept]
    if not any(map(_is_live, [*buffers, *states])):
        return False
    functions = (each for each in inside(tree, *_FUNCTIONS) if isinstance(each, _FUNCTIONS))
    return not any(_freezes(each) and not _has_run(machine, each) for each in functions)


def _is_made(tree: ast.Module, name: str) -> bool:
    return any(last_name(each.func) == name for each in contents(tree).calls)


def _is_live(value: Value | None) -> bool:
    if isinstance(value, (tuple, List)):
        return any(map(_is_live, parts_of(value)))
    if isinstance(value, Unknown) and value.kind is Kind.LIVE:
        value = value.tensor
    return isinstance(value, TensorValue) and value.tensor.certainly_requires_grad


def states_of(owner: ast.AST | None) -> frozenset[str]:
    """The attributes from which the `forward` of a class begins, and which it sets for its next call.

    Its `__init__` makes the first, alone: what comes from a method of the class can be made again by those who use it.
    Those are among them that `__init__` has computed with layers or parameters, once for all calls.
    """
    if not isinstance(owner, ast.ClassDef):
        return frozenset()
    methods = {each.name: each for each in owner.body if isinstance(each, _FUNCTIONS)}
    forward, made = methods.get("forward"), methods.get("__init__")
    if forward is None or made is None:
        return frozenset()
    (read, written), own = _handled(forward), _handled(made)[1]
    computed, by_methods = _computed(made)
    return read & own & (written | computed) - by_methods


@noted
def _handled(method: ast.AST) -> tuple[frozenset[str], frozenset[str]]:
    """The attributes of `self` that a method reads, and those that it sets."""
    own = [each for each in nodes(method) if isinstance(each, ast.Attribute) and _is_self(each.value)]
    read = frozenset(each.attr for each in own if isinstance(each.ctx, ast.Load))
    return read, frozenset(each.attr for each in own if isinstance(each.ctx, ast.Store))


@noted
def _computed(made: ast.AST) -> tuple[frozenset[str], frozenset[str]]:
    """The attributes that an `__init__` computes with others, and those that it gets from a method: `self.begin()`."""
    own, results = _handled(made)[1], dict(_results(made))
    computed, by_methods = set[str](), set[str]()
    for name, value in results.items():
        match value:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=called)):
                (computed if called in own else by_methods).add(name)
            case _ if _handled(value)[0] & results.keys():  # Layers and parameters, and no sizes.
                computed.add(name)
    return frozenset(computed), frozenset(by_methods)


def _results(made: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The attributes that an `__init__` sets to what a call or an operation gives."""
    for each in nodes(made):
        match each:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)],
                value=(ast.Call() | ast.BinOp() | ast.UnaryOp()) as value,
            ):
                yield name, value


def _is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _is_known(value: Value) -> bool:
    if isinstance(value, Unknown):
        return value.kind is Kind.LIVE and isinstance(value.tensor, TensorValue)
    return isinstance(value, (TensorValue, bool, int, float, str, type(None)))


def _lent(result: Tensor) -> Iterator[Tensor]:
    """What the straight-through estimates in a result are computed from: `(q - z).detach()`."""
    for tensor in result.lineage():
        source = None if tensor.cut is None else tensor.cut.source
        if source is not None and source.operation.rpartition(".")[2] in ("sub", "rsub"):
            yield from source.ancestors()


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
    """The attributes of `self` in a method, but where it only puts their parameters into a group for an optimizer."""
    grouped = {id(each.func.value) for each in _groups(method) if isinstance(each.func, ast.Attribute)}
    attributes = (each for each in nodes(method) if isinstance(each, ast.Attribute) and id(each) not in grouped)
    return frozenset(each.attr for each in attributes if _is_self(each.value))


@noted
def grouped_in(owner: ast.AST) -> frozenset[str]:
    """The parts whose parameters a class puts into groups: `{"params": self.head.parameters(), "lr": lr}`."""
    holders = (each.func.value for each in _groups(owner) if isinstance(each.func, ast.Attribute))
    return frozenset(each.attr for each in holders if isinstance(each, ast.Attribute) and _is_self(each.value))


def _groups(code: ast.AST) -> Iterator[ast.Call]:
    """The calls of `parameters()` whose results are those of groups."""
    for each in inside(code, ast.Dict):
        for key, value in zip(each.keys, each.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == "params" and isinstance(value, ast.Call):
                yield value
