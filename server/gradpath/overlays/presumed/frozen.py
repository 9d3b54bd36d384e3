"""Unknown models whose parameters the program freezes: what such a model makes of data may have no graph.

A model counts as frozen from `model.requires_grad_(False)`, the same (or `detach_()`) for each of
`model.parameters()`, or a call named for it, until a part of it is set free, or another part is put in.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import cache

from gradpath.autograd.tensor import UNSEEN, Tensor
from gradpath.interpreter.containers import List
from gradpath.interpreter.expressions import evaluate
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Attribute, Call, Item
from gradpath.interpreter.ownership import FlagMissed
from gradpath.interpreter.values import Arguments, Object, Unknown, Value
from gradpath.overlays.presumed import clearing, missed_flags, model_parts, uses, weights
from gradpath.overlays.presumed.places import place_of
from gradpath.overlays.presumed.roles import role_of
from gradpath.overlays.torch.module_methods import DRAWN, note_drawn
from gradpath.overlays.torch.tensor_value import TensorValue
from gradpath.source.flags import may_thaw
from gradpath.source.index import contents
from gradpath.source.nodes import nodes, noted
from gradpath.support.fast_dataclasses import dataclass, field
from gradpath.support.lazy_regex import regex
from gradpath.support.words import words

_FROZEN = "frozen model"
_WHOLLY = "wholly frozen model"
_ANY = "something was thawed that may be a parameter of any model"
_THAWED = "thawed model"
_TURN = "thawed, though nothing here had frozen it"
_COME_FROZEN = "a model was thawed for a turn, though nothing here had frozen it"

_HARMLESS = words(
    """apply children cuda eval float modules named_children named_modules named_parameters parameters requires_grad_
    state_dict to train zero_grad"""
)
"""Methods of modules that thaw nothing."""

_FREEZING = regex(r"^_?(un)?freeze(_(all|grads?|model|module|net|network|parameters|params|weights))?$")
_SWITCHING = regex(r"^_?((set|toggle|switch|enable)_)?(requires_grads?|grads?)$", re.I)


def flag(machine: Machine, target: Unknown, value: Value, looked_up: int = 0) -> None:
    """`target.requires_grad_(value)`, or the assignment to the flag, on a model or on one of its parameters.

    One parameter represents all, unless other unknowns, or branches that are not settled, were met since it was drawn;
    `looked_up` attributes of it do not count as one.
    """
    if value is not False:
        _doubt(machine, target)
    if role_of(target) == "model" or _is_part(target):
        models = [target]
    elif value is not False or _represents_all(machine, target, looked_up):
        models = model_parts.models_of_parameter(target)
        note_drawn(machine)
    else:
        models = []
    if value is not False and not models and target.kind is not Kind.PLAIN:
        machine.remembered[_ANY] = True
    _note_turn(machine, models or [target], value)
    for model in models:
        _switch(machine, model, value)
        if isinstance(value, bool):
            weights.flag(machine, model, value)
        if value is False and not _thaws_somewhere(machine):
            machine.remembered[_WHOLLY, model.number] = model, _doubts(machine).count


def _note_turn(machine: Machine, models: Sequence[Unknown], value: Value) -> None:
    """Note a model that nothing here has frozen and that is thawed, and frozen again after its turn."""
    if value is True:
        alone = (each for each in models if not is_frozen(machine, each))
        machine.remembered.update({(_TURN, each.number): True for each in alone})
    elif value is False and any((_TURN, each.number) in machine.remembered for each in models):
        machine.remembered[_COME_FROZEN] = True


def missed(machine: Machine, target: Unknown, name: str, value: Value) -> bool:
    """`child.requires_grad = False` of what is a module, and `p.require_grad = False`: nothing reads that.

    True where it is a module by more than its name.

    The children of a model are modules, and so is what has a flag and is called somewhere: tensors are not.
    """
    if not (name == missed_flags.FLAG or missed_flags.is_near(name)):
        return False
    models: list[Unknown] = []
    by_name = False
    match model_parts.whole_of(target):
        case Unknown(origin=Call(of=Unknown(name=method, owner=Unknown() as model))) if method in model_parts.CHILDREN:
            models = [model]
        case _ if name != missed_flags.FLAG:
            models = model_parts.models_of_parameter(target)
        case Unknown() if target.role == "model" or (
            isinstance(machine.node, ast.Attribute)
            and (uses.is_called(machine, place_of(machine.node.value)) or _has_weight(machine, machine.node.value))
        ):
            models = [target]
        case Unknown() if role_of(target) == "model" and model_parts.is_of_model(target):
            models, by_name = [target], True
    missed_flags.tell(machine, value, [weights.weights_of(machine, each) for each in models], by_name=by_name)
    return bool(models) and name == missed_flags.FLAG and not by_name


def _has_weight(machine: Machine, part: ast.expr) -> bool:
    """True if the running function, or its class, reads a weight of what it calls so: a module, and no parameter."""
    function = machine.frame.function
    owner = None if function is None else function.owner or machine.frame.owner
    classes = () if owner is None else (each.node for each in owner.mro if isinstance(each.node, ast.ClassDef))
    return any(ast.unparse(part) in _with_weights(each) for each in (machine.body, *classes))


@noted
def _with_weights(body: ast.AST) -> frozenset[str]:
    return frozenset(ast.unparse(each.value) for each in contents(body).attributes if each.attr in ("bias", "weight"))


def compared(machine: Machine, node: ast.Compare) -> None:
    """`p.requires_grad == False` as a statement, which compares where it was to assign."""
    match node:
        case ast.Compare(
            left=ast.Attribute(value=ast.Name() as owner, attr=missed_flags.FLAG),
            ops=[ast.Eq()],
            comparators=[ast.Constant(value=False)],
        ):
            target = evaluate(machine, owner)
        case _:
            return
    tensors: tuple[Tensor, ...] = ()
    if isinstance(target, TensorValue) and target.tensor.is_parameter and target.tensor.flag:
        tensors = (target.tensor,)
    elif isinstance(target, Unknown):
        tensors = tuple(weights.weights_of(machine, each) for each in model_parts.models_of_parameter(target))
    if tensors:
        machine.emit(FlagMissed(tensors, False, machine.site()))


def _is_part(target: Unknown) -> bool:
    """True if a value is a part of a model and not known to be a tensor: `model.stem[0]`."""
    unsettled = target.kind is Kind.ANYTHING and not isinstance(target.tensor, TensorValue)
    return unsettled and isinstance(target.origin, Attribute | Item | Call) and model_parts.is_of_model(target)


def _represents_all(machine: Machine, parameter: Unknown, looked_up: int) -> bool:
    """True if nothing was met since a parameter was drawn, or the last of those that were drawn with it."""
    match machine.remembered.get(DRAWN):
        case (int() as unknowns, int() as questions):
            apart = machine.unknown_count > max(parameter.number, unknowns) + looked_up
            return not apart and machine.questions == questions
    return machine.unknown_count <= parameter.number + looked_up


def called(machine: Machine, callee: Unknown, arguments: Arguments) -> None:
    """`model.freeze()`, `freeze(model)`, `set_requires_grad([one, other], False)`, of which nothing is seen."""
    freezes, switches = _intent_of(callee.name)
    values = arguments.all()
    if callee.owner is not None and not _leaves_frozen(callee.owner, callee.name, values):
        _doubt(machine, callee.owner)
    for each in values:
        _doubt(machine, each)
    if freezes is None and (not switches or len(values) != 2):
        if machine.node in _for_effect(machine.body) and not clearing.only_computes(clearing.dotted_name(callee)):
            for each in values:
                if isinstance(each, Unknown) and (_FROZEN, each.number) in machine.remembered:
                    _forget(machine, each)
        return
    value: Value = values[1] if freezes is None else not freezes
    targets = [callee.owner] if freezes is not None and not values else values[:1]
    for target in targets:
        for each in target.items if isinstance(target, List) else [target]:
            if isinstance(each, Unknown) and role_of(each) == "model":
                _switch(machine, each, value)


def _leaves_frozen(owner: Unknown, method: str, given: Sequence[Value]) -> bool:
    """True if a method thaws nothing: one that every module has, one that reads a parameter, or one that computes."""
    reads = not method.endswith("_") and bool(model_parts.models_of_parameter(owner))
    return method in _HARMLESS or reads or any(map(uses.is_tensor, given))


@cache
def _intent_of(name: str) -> tuple[bool | None, bool]:
    """Whether a name says to freeze (False: to thaw), and whether an argument decides that."""
    freezing = _FREEZING.match(name)
    return None if freezing is None else not freezing[1], _SWITCHING.match(name) is not None


def _switch(machine: Machine, model: Unknown, value: Value) -> None:
    if value is False:
        machine.remembered[_FROZEN, model.number] = True
    else:
        thaw(machine, model)
        machine.remembered[_THAWED, model.number] = True


def part_set(machine: Machine, model: Unknown, value: Value) -> None:
    """`model.part = value`: a new part has parameters of its own; `model.part *= 2` puts back what was there."""
    if isinstance(machine.node, ast.AugAssign):
        return
    if isinstance(value, Object) and not (isinstance(value, Unknown) and value.is_data):
        thaw(machine, model)


def thaw(machine: Machine, model: Unknown) -> None:
    """Some of the unseen parameters of a model, or of those that it is a part of, are trained again."""
    _forget(machine, model)
    for tensor in weights.of(machine, model):
        tensor.flag = tensor.flag or tensor.operation == UNSEEN


def _forget(machine: Machine, model: Unknown) -> None:
    """Some of the parameters of a frozen model may be trained again, or others beside them: adapters were put in."""
    for number in model_parts.line(model):
        machine.remembered.pop((_FROZEN, number), None)
        machine.remembered.pop((_WHOLLY, number), None)


@noted
def _for_effect(body: ast.AST) -> frozenset[ast.AST]:
    """The calls of a body of which the results are not used."""
    return frozenset(each.value for each in nodes(body) if isinstance(each, ast.Expr))


def _thaws_somewhere(machine: Machine) -> bool:
    """True if the running body also unfreezes something on some branch: the path shows what it does in any case."""
    return _thaws(machine.body)


@noted
def _thaws(body: ast.AST) -> bool:
    return any(map(may_thaw, (inner for node in nodes(body) if isinstance(node, ast.If) for inner in nodes(node))))


def _doubt(machine: Machine, thing: Value) -> None:
    """Note that something was done with a part of a model, after which it may or may not be trained.

    What a method of a part gives may be anything of that part. Before anything is frozen as a whole nobody asks.
    """
    if _DOUBTED not in machine.remembered:
        return
    part = thing
    while isinstance(thing, Unknown) and thing.kind in (Kind.ANYTHING, Kind.PARAMETER):
        match thing.origin:
            case Call(of=Unknown() as of):
                part = thing = of if of.owner is None else of.owner
            case Attribute(of=of) | Item(of=of):
                thing = of
            case _:
                break
    if isinstance(part, Unknown):
        _doubts(machine).add(model_parts.line(part))


_DOUBTED = "parts of models that may be trained"


@dataclass(slots=True)
class _Doubts:
    """The parts that may be trained: when each was met last, itself or by a part of it."""

    count: int = 0
    parts: dict[int, int] = field(default_factory=dict)
    around: dict[int, int] = field(default_factory=dict)

    def add(self, line: Sequence[int]) -> None:
        """A part was met, of which the line has the number, and those of all that it is a part of."""
        self.parts[line[0]] = self.count
        self.around.update(dict.fromkeys(line, self.count))
        self.count += 1

    def concern(self, line: Sequence[int], since: int) -> bool:
        """True if a model, a part of it or what it is a part of was met since then."""
        return self.around.get(line[0], -1) >= since or any(self.parts.get(each, -1) >= since for each in line)


def _doubts(machine: Machine) -> _Doubts:
    found = machine.remembered.setdefault(_DOUBTED, _Doubts())
    assert isinstance(found, _Doubts)
    return found


def frozen_whole(machine: Machine, model: Value) -> list[Tensor]:
    """The weights of a model of which the program has frozen all, and let them alone since; else none."""
    own = model_parts.line(model) if isinstance(model, Unknown) and _ANY not in machine.remembered else []
    for number in own:
        match machine.remembered.get((_WHOLLY, number)):
            case (Unknown() as found, int(before)):
                known = weights.of(machine, found)
                if not _doubts(machine).concern(own, before):
                    return [] if any(each.requires_grad for each in known) else known
    return []


def is_frozen(machine: Machine, model: Unknown) -> bool:
    """True if a model, or one that it is a part of, is frozen."""
    return any((_FROZEN, number) in machine.remembered for number in model_parts.line(model))


def may_come_frozen(machine: Machine, model: Unknown) -> bool:
    """True if others are thawed for their turn, which would do nothing had they not been frozen elsewhere."""
    thawed = any((_THAWED, number) in machine.remembered for number in model_parts.line(model))
    return _COME_FROZEN in machine.remembered and not thawed


def copied(machine: Machine, model: Unknown, copy: Unknown) -> None:
    """The copy of a frozen model is frozen."""
    if is_frozen(machine, model):
        machine.remembered[_FROZEN, copy.number] = True
