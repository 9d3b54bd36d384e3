"""The roles of values by their uses: `x.parameters()` makes `x` a module under any name.

The use may be anywhere in a function, also after the place that asks; for `self.x` anywhere in its class.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import cast

from gradpath.autograd.provenance import OPEN
from gradpath.interpreter.kinds import OF_TENSORS, Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Attribute, Call, Library, Parameter, Undefined
from gradpath.interpreter.scope import Scope
from gradpath.interpreter.values import UNDEFINED, Class, Function, Instance, NativeFunction, Unknown, Value
from gradpath.overlays.presumed import conditions, plain_data
from gradpath.overlays.presumed.back_propagated import (
    Chain,
    Find,
    Found,
    LeadingCall,
    Left,
    back_propagated,
    gone_through,
)
from gradpath.overlays.presumed.clearing import trains
from gradpath.overlays.presumed.conventions import is_conventional
from gradpath.overlays.presumed.held_modules import is_held, note_holder
from gradpath.overlays.presumed.misnamed import settings_called_optimizers, tensors_called_models
from gradpath.overlays.presumed.places import WRAPPERS, kept_as, place_of
from gradpath.overlays.presumed.python_generators import gives_batches
from gradpath.overlays.presumed.replaced_values import is_of_data, is_of_object
from gradpath.overlays.presumed.roles import (
    CRITERION,
    SETTINGS,
    part_of_model,
    part_of_optimizer,
    prepares,
    role_of_name,
    steps_along,
)
from gradpath.overlays.torch.gradmode import Guarded
from gradpath.overlays.torch.tensor_value import TensorValue
from gradpath.source.grammar import UNPARSED
from gradpath.source.imports import meaning
from gradpath.source.index import contents
from gradpath.source.nodes import Noted, nodes, noted
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.words import words

OF_MODULES = words(
    """buffers children eval get_submodule modules named_buffers named_children named_modules named_parameters
    parameters register_forward_hook register_forward_pre_hook register_full_backward_hook"""
)
"""Methods that only modules have."""

_TYPES = {"Module": "model", "DataLoader": "loader", "Optimizer": "optimizer"}
_NO_OPTIMIZER = frozenset({"backward", "parameters", "prepare"})

Roles = Mapping[str, str]
"""The roles of the places of a function, by their texts: "model", "loss", "optimizer", or "loader"."""

_Followed = Mapping[str, "Found"]


@dataclass(frozen=True, slots=True)
class _Known:
    """The roles of the places of a body: `told` by a characteristic use, or `called` on the way to a backward.

    `followed` are the functions of the program, by their places, on which that also depends. `switched` are the places
    of which `train()` is called: a module, if they are called as well. `leading` are the calls that a backward needs.
    """

    told: Roles
    called: Roles
    followed: _Followed
    switched: frozenset[str] = frozenset()
    leading: Set[ast.Call] = frozenset()

    def role(self, place: str, inherited: bool) -> str:
        """The role of a place; what is called may be any method where it is `inherited`."""
        return self.told.get(place, "") or ("" if inherited else self.called.get(place, ""))


_PYTHONS = frozenset(dir(builtins))

_known: Noted[_Known] = Noted("_uses_known")
_known_classes: Noted[_Known] = Noted("_uses_known_classes")


def role_of_parameter(function: Function, name: str, default: Value = None) -> str:
    """The role of a parameter by its use in a function or in the class of a method; "" where that is unknown."""
    if isinstance(default, (Function, NativeFunction)):
        return ""
    return _role(function.node, function.owner, name, function.scope)


def holds_settings(machine: Machine, owner: Class, name: str) -> bool:
    """True if the methods of a class read an attribute of `self` like settings that are called like an optimizer."""
    if role_of_name(name) != "optimizer":
        return False
    find = _finder(owner, machine.globals)
    classes = (each.node for each in owner.mro if isinstance(each.node, ast.ClassDef))
    return any(_of_class(each, find).told.get(f"self.{name}") == SETTINGS for each in classes)


def note_binding(machine: Machine, value: Unknown, name: str, before: Value = None) -> None:
    """Something unknown is bound to a variable, or to an attribute, that held `before`.

    What is called a model is not what a model gives, where it is used as one or a library gives it: `model =
    core.read_model(path)`. What a network gives may have such a name all the same: `policy, value = net(state)`.
    Nor is an attribute that the class calls: `self.net = net(dim=2)` makes what `self.net(x)` computes with. And no
    tensor has a module for an attribute: `agent = actor_critic(env)` where `agent.pi.parameters()` are asked for.
    What a helper makes of data in its place is data still: `y = cut(y, places)`. So is what a model hands back for an
    object of the program: `out, state = decoder(x, state)`.
    """
    place = place_of(machine.node) if isinstance(machine.node, ast.Attribute) else ""
    note_holder(machine, value, place or name, OF_MODULES)
    if not value.role and _may_have_role(value):
        role = _role_here(machine, place or name)
        value.role = (
            "" if role == "loader" and value.kind in OF_TENSORS else role
        )  # What a network gives may be a list.
    callee = value.origin.of if isinstance(value.origin, Call) else None
    by_method = isinstance(callee, Unknown) and callee.owner is not None and callee.role != "model"
    made = value.role == "model" or by_method or isinstance(value.root, Library | Undefined)
    if value.kind in OF_TENSORS and value.tensor is None:
        is_model = (made and role_of_name(name) == "model") or is_called(machine, place)
        if is_model or _holds_modules(machine, place or name):
            value.kind, value.provenance = Kind.ANYTHING, OPEN
    if value.tensor is None and value.kind in OF_TENSORS and is_of_object(value, before):
        value.kind, value.provenance, value.is_object = Kind.ANYTHING, OPEN, True
    if value.tensor is None and value.kind is Kind.ANYTHING and is_of_data(value, before):
        value.kind, value.provenance = Kind.PLAIN, conditions.DATA.of(name)


def _holds_modules(machine: Machine, place: str) -> bool:
    return any(each.startswith(f"{place}.") for each in _modules_in(machine.body))


@noted
def _modules_in(body: ast.AST) -> frozenset[str]:
    """The places of which a body calls methods that only modules have."""
    calls = (each.func for each in nodes(body) if isinstance(each, ast.Call))
    return frozenset(
        place_of(each.value) for each in calls if isinstance(each, ast.Attribute) and each.attr in OF_MODULES
    )


def is_tensor(value: Value) -> bool:
    """True if a value is a tensor, is presumed to be one, or is data that a loader gives."""
    known = isinstance(value, Unknown) and value.kind in (Kind.PLAIN, *OF_TENSORS) and not value.is_data
    return known or isinstance(value, TensorValue)


def note_call(machine: Machine, callee: Unknown) -> None:
    """Something unknown is called, by what the program calls it: so it is no tensor, whatever it was presumed to be."""
    if callee.kind in OF_TENSORS and callee.tensor is None and callee.owner is None:
        callee.kind, callee.provenance = Kind.ANYTHING, OPEN
    node = machine.node
    if isinstance(node, ast.Call):
        if not callee.role and _may_have_role(callee):
            inherited = is_inherited(callee)
            used = _role_here(machine, place_of(node.func), inherited=inherited)
            callee.role = "loader" if gives_batches(machine) else used
            if not (callee.role or inherited) and (role := _role_here(machine, _method(node.func))):
                callee.role = role
                machine.remembered[_METHOD, callee.number] = True
            elif not callee.role and is_held(machine, callee, OF_MODULES):
                callee.role = "model"
        owner = callee.owner
        if owner is not None and not owner.role and not owner.is_data and isinstance(node.func, ast.Attribute):
            owner.role = _role_here(machine, place_of(node.func.value))


def note_iteration(machine: Machine, over: Unknown) -> None:
    """A function goes over something unknown that it was handed by another, which uses it for nothing else."""
    if over.role or not isinstance(over.origin, Parameter) or not _may_have_role(over):
        return
    places = gone_through(machine.node) if isinstance(machine.node, ast.expr) else []
    if len(places) == 1 and _role_here(machine, places[0]) == "loader":
        over.role = "loader"


def is_called(machine: Machine, place: str) -> bool:
    """True if the running function, or for `self.x` its class, calls what the program calls so: it is no tensor."""
    function = machine.frame.function
    owner = None if function is None else function.owner or machine.frame.owner
    bodies = [machine.body]
    if owner is not None and _is_own(place):
        bodies = [each.node for each in owner.mro if isinstance(each.node, ast.ClassDef)]
    return bool(place) and any(place in _called_in(each) for each in bodies)


@noted
def _called_in(body: ast.AST) -> frozenset[str]:
    return frozenset(place_of(each.func) for each in contents(body).calls)


def is_inherited(callee: Unknown) -> bool:
    """True if it may be a method of a base class that is not seen, with all that its object has.

    Of methods that were posted without their class no base is known either: what they call is more often a layer.
    """
    owner = callee.origin.of if isinstance(callee.origin, Attribute) else None
    return isinstance(owner, Instance) and owner.cls.open and owner.cls.name != UNPARSED


def _may_have_role(value: Unknown) -> bool:
    """True if something may be a module or the like: not data, nor what is a plain function unless one is handed in."""
    plain = value.is_data or plain_data.is_transform(value)
    return not plain and not isinstance(value.hint, (Function, NativeFunction))


_METHOD = "method of a model"


def is_method(machine: Machine, callee: Unknown) -> bool:
    """True if something is a model only in so far as it is a method of one, whose weights it computes with."""
    return (_METHOD, callee.number) in machine.remembered


def _method(callee: ast.expr) -> str:
    """The place of a method of something that has a place of its own."""
    if not isinstance(callee, ast.Attribute):
        return ""
    owner = place_of(callee.value)
    return owner and f"{owner}.{callee.attr}()"


def _role_here(machine: Machine, place: str, *, inherited: bool = False) -> str:
    function = machine.frame.function
    if function is not None:
        return _role(function.node, function.owner or machine.frame.owner, place, function.scope, inherited=inherited)
    entry = machine.trace.entry
    return _role(entry, None, place, machine.globals) if isinstance(entry, ast.Module) else ""


def leads_to_backward(machine: Machine) -> bool:
    """True if the running code back-propagates what the call gives that is being evaluated."""
    function, entry = machine.frame.function, machine.trace.entry
    if function is None:
        return (
            isinstance(entry, ast.Module) and machine.node in _known_of(entry, _finder(None, machine.globals)).leading
        )
    find = _finder(function.owner or machine.frame.owner, function.scope)
    return machine.node in _known_of(function.node, find).leading


def _role(body: ast.AST, owner: Class | None, place: str, scope: Scope, *, inherited: bool = False) -> str:
    find = _finder(owner, scope)
    role = _known_of(body, find).role(place, inherited) if place else ""
    classes = [each.node for each in owner.mro if isinstance(each.node, ast.ClassDef)] if owner is not None else []
    if role or not classes:
        return role
    attributes = [place] if place.startswith("self.") else kept_as(body, place)
    found = (_of_class(each, find).role(name, inherited) for each in classes for name in attributes)
    return next(filter(None, found), "")


def _finder(owner: Class | None, scope: Scope) -> Find:
    """The names of the program's functions and methods in a body, and the names that are unbound."""

    def find(place: str) -> Found:
        holder, _, method = place.rpartition(".")
        if holder:
            value = owner.find(method) if owner is not None and holder == "self" else None
        else:
            value = scope.get(place)
            if value is UNDEFINED and place not in _PYTHONS and not is_conventional(place):
                return Left.OUT
        if isinstance(value, Guarded):
            value = value.function
        return value.node if isinstance(value, Function) and isinstance(value.node, ast.FunctionDef) else None

    return find


def _is_own(place: str) -> bool:
    return place.startswith("self.")


def _known_of(body: ast.AST, find: Find) -> _Known:
    known = _known.get(body)
    if known is None or not _holds(known.followed, find):
        known = _known[body] = _worked_out(body, find)
    return known


def _holds(followed: _Followed, find: Find) -> bool:
    return all(find(place) is definition for place, definition in followed.items())


def _of_class(node: ast.ClassDef, find: Find) -> _Known:
    """The roles of a class's attributes by their uses in its methods, also by variables that are stored in them."""
    known = _known_classes.get(node)
    if known is None or not _holds(known.followed, find):
        known = _known_classes[node] = _worked_out_class(node, find)
    return known


def _worked_out_class(node: ast.ClassDef, find: Find) -> _Known:
    made = _Known({}, {}, {})
    methods = [each for each in node.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for method in methods:
        known = _known_of(method, find)
        cast("dict[str, Found]", made.followed).update(known.followed)
        for roles, found in ((made.told, known.told), (made.called, known.called)):
            for place, role in found.items():
                for name in [place] if place.startswith("self.") else kept_as(method, place):
                    cast("dict[str, str]", roles).setdefault(name, role)
    switched = frozenset().union(*(_known_of(each, find).switched for each in methods))
    called = frozenset().union(*map(_called_in, methods))
    for place in (*_optimized(node), *filter(_is_own, switched & called)):
        cast("dict[str, str]", made.told).setdefault(place, "model")
    return made


def _worked_out(body: ast.AST, find: Find) -> _Known:
    outside = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef) if isinstance(body, ast.Module) else ()
    every = nodes(body, outside=outside)
    chain = back_propagated(body, every, find)
    roles: dict[str, str] = {}
    calls = [node for node in every if isinstance(node, ast.Call)]
    called = {place_of(call.func) for call in calls}
    methods = _methods(calls, dict(filter(None, map(_gone_over, every))))
    for node in every:
        if isinstance(node, (ast.arg, ast.Attribute, ast.Call)):
            roles.update(_told(node))
    for place in _optimized(body):
        roles.setdefault(place, "model")
    holders = {place.rpartition(".")[0] for place in map(_stepped, calls)}  # `optimizers.actor.step()`
    settings = {place for place in settings_called_optimizers(every) if not methods.get(place)} - holders
    roles.update(dict.fromkeys(settings, SETTINGS))
    for place, names in methods.items():
        if names & OF_MODULES or ("train" in names and place in called):
            roles.setdefault(place, "model")
        elif {"step", "zero_grad"} <= names and not names & _NO_OPTIMIZER and place not in called:
            roles.setdefault(place, "optimizer")
        elif "backward" in names and "step" in names and place in called:
            roles.setdefault(place, "model")  # An engine, which wraps one.
    roles.update(tensors_called_models(body, called | roles.keys()))
    called_for: dict[str, str] = {}
    for place, role in _of_chain(chain, roles):
        if place not in roles:
            called_for.setdefault(place, role)
    for place in chain.methods:
        owner, _, name = place.rpartition(".")
        is_model = (roles.get(owner) or called_for.get(owner) or role_of_name(owner.rpartition(".")[2])) == "model"
        # `model.compute_loss(batch)` of data alone is the network itself; of its outputs it is a loss of them.
        alone = role_of_name(name) == "loss" and not any(call.results for call in chain.calls.get(place, ()))
        if is_model and (alone or not role_of_name(name)) and not trains(name) and not name.startswith("get_"):
            roles.setdefault(f"{place}()", "model")
    managers = {place_of(each.optional_vars) for each in every if isinstance(each, ast.withitem) and each.optional_vars}
    steppers = {place for node in calls if (place := _stepper(node))} - roles.keys() - called_for.keys() - managers
    if chain.calls and len(steppers) == 1 and not any(role == "optimizer" for role in roles.values()):
        roles.update(dict.fromkeys(steppers - called, "optimizer"))
    switched = frozenset(place for place, names in methods.items() if "train" in names)
    return _Known(roles, called_for, chain.followed, switched, chain.leading)


def _stepped(call: ast.Call) -> str:
    """The place that a call steps or clears, itself or by a scaler."""
    match call:
        case ast.Call(func=ast.Attribute(attr="step"), args=[optimizer, *_]):
            return place_of(optimizer)
        case ast.Call(func=ast.Attribute(value=optimizer, attr="step" | "zero_grad")):
            return place_of(optimizer)
    return ""


def _methods(calls: Sequence[ast.Call], one_by_one: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
    """The methods that are called of each place, those of the variable of a loop over several places included."""
    methods: dict[str, set[str]] = {}
    for call in calls:
        if isinstance(call.func, ast.Attribute) and (place := place_of(call.func.value)):
            for each in one_by_one.get(place, [place]):
                methods.setdefault(each, set()).add(call.func.attr)
    return methods


def _gone_over(node: ast.AST) -> tuple[str, list[str]] | None:
    """The variable of a loop over things that are named one by one, and these: `for net in (self.G, self.D)`."""
    match node:
        case ast.For(target=ast.Name(id=name), iter=ast.Tuple(elts=parts) | ast.List(elts=parts)):
            places = list(map(place_of, parts))
            return (name, places) if places and all(places) else None
    return None


def is_only_optimizer(machine: Machine) -> bool:
    """True if one thing alone steps in the running body, and in the class that it is a method of."""
    function = machine.frame.function
    if function is None:
        return False
    owner = function.owner or machine.frame.owner
    classes = [each.node for each in owner.mro if each.node is not None] if owner is not None else []
    return len(frozenset[str]().union(*(steppers(each) for each in (function.node, *classes)))) == 1


@noted
def steppers(body: ast.AST) -> frozenset[str]:
    """The places of what steps in a body, as optimizers do."""
    return frozenset(filter(None, map(_stepper, contents(body).calls)))


def _stepper(node: ast.AST) -> str:
    """The place `x` of `x.step()`, unless its name is that of a companion of an optimizer, such as a scheduler."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="step"), args=[], keywords=[]):
            place = place_of(owner)
            return "" if place == "self" or steps_along(place) else place
    return ""


@noted
def _optimized(body: ast.AST) -> frozenset[str]:
    """The places that are called and after which an optimizer is that steps or is handed on: `q1`, for `q1_opt`."""
    calls = contents(body).calls
    given = (place_of(each) for node in calls for each in (*node.args, *(each.value for each in node.keywords)))
    places = {*map(_stepper, calls), *(each for each in given if role_of_name(_last(each)) == "optimizer")}
    optimizers = set(map(part_of_optimizer, map(_last, places))) - {""}
    called = {place_of(node.func) for node in calls} if optimizers else set()
    return frozenset(
        place for place in called if part_of_model(_last(place)) in optimizers and not role_of_name(_last(place))
    )


def _last(place: str) -> str:
    return place.rpartition(".")[2]


def _told(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The roles by annotations, and by functions that take only values of one kind."""
    match node:
        case ast.arg(arg=name, annotation=ast.Name(id=kind) | ast.Attribute(attr=kind)) if kind in _TYPES:
            yield name, _TYPES[kind]
        case ast.arg(arg=name, annotation=ast.Attribute(value=part, attr=kind)) if meaning(part) == "torch.nn":
            if kind != "Parameter":
                yield name, "model"
        case ast.Call(func=ast.Name(id="isinstance"), args=[thing, ast.Attribute(attr=kind)]) if kind in _TYPES:
            yield place_of(thing), _TYPES[kind]
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[first, *_]):
            if name in WRAPPERS:
                yield place_of(first), "model"
            elif name.endswith(("LR", "Scheduler")):
                yield place_of(first), "optimizer"
            if name == "compile" and place_of(node.func) == "torch.compile":
                yield place_of(first), "model"
        case ast.Attribute(value=thing, attr="param_groups"):
            yield place_of(thing), "optimizer"


def _of_chain(chain: Chain, roles: Roles) -> Iterator[tuple[str, str]]:
    """The roles of callees on the way to a backward: the last one, with a result and a target, is the loss."""
    handed_on = {other for calls in chain.calls.values() for call in calls for other in call.results}
    for callee, calls in chain.calls.items():
        name = callee.removesuffix("[]").rpartition(".")[2]
        if role_of_name(name) or trains(name) or prepares(name):
            continue  # The name says what it is, or that it does something else than to compute with weights.
        if CRITERION.match(name):
            yield callee, "loss"
            continue
        if any(_is_helper(chain, call, roles) for call in calls):
            continue
        if chain.followed.get(callee) is Left.OUT:  # What is given data may as well be a function of the program.
            if any(call.results - {callee} for call in calls):
                yield callee, "loss"
            continue
        others = any(call.results - {callee} and call.count > 1 for call in calls)
        yield callee, "loss" if others and callee not in handed_on | chain.compared else "model"
    for place in chain.iterated:
        yield place, "loader"


def _is_helper(chain: Chain, call: LeadingCall, roles: Roles) -> bool:
    """True if a callee gets a model, or the same argument in every call beside ones that change."""
    if any(roles.get(each) in ("model", "optimizer") for each in call.arguments):
        return True
    return call.repeated and bool(call.arguments & chain.fixed) and bool(call.arguments - chain.fixed)
