"""Binding: names, attributes, items, patterns of them, augmented assignment, and `del`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradpath.interpreter import classes
from gradpath.interpreter.containers import List
from gradpath.interpreter.iteration import sample
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.operators import binary, get_item, refuse_step
from gradpath.interpreter.origins import Call
from gradpath.interpreter.values import Instance, Object, Unknown, Value


def assign(machine: Machine, target: ast.expr, value: Value) -> None:
    """Bind `value` to a target: a name, attribute, item, or a pattern of them."""
    match target:
        case ast.Name():
            machine.bind(target.id, value)
        case ast.Attribute():
            owner = machine.evaluate(target.value)
            machine.node = target
            set_attribute(machine, owner, target.attr, value)
        case ast.Subscript():
            owner = machine.evaluate(target.value)
            key = machine.evaluate(target.slice)
            machine.node = target
            if isinstance(value, Unknown) and isinstance(value.origin, Call) and isinstance(key, str):
                value.label = value.label or key  # `nets["encoder"] = make()` names it as `encoder = make()` does.
            set_item(machine, owner, key, value)
        case ast.Tuple() | ast.List():
            _unpack(machine, target.elts, value)
        case ast.Starred():
            assign(machine, target.value, value)


UNPACKED = "unpacked"
"""With the number of an unknown, the key under which a path remembers into how many values it was unpacked."""


def _unpack(machine: Machine, targets: Sequence[ast.expr], value: Value) -> None:
    star = next((index for index, each in enumerate(targets) if isinstance(each, ast.Starred)), None)
    if isinstance(value, Unknown):
        machine.remembered[UNPACKED, value.number] = len(targets) if star is None else None
        for index, target in enumerate(targets):
            if isinstance(target, ast.Starred):
                rest = machine.library.unknown_item(machine, value, None)
                assign(machine, target.value, List([rest], open=True))
            else:
                assign(machine, target, machine.library.unknown_item(machine, value, index))
        return
    items, open = sample(machine, value)
    needed = len(targets) - (0 if star is None else 1)
    if not open and (len(items) < needed or (star is None and len(items) > needed)):
        raise machine.error("ValueError", "not enough values to unpack", value)
    while len(items) < needed:
        items.append(items[-1] if items else machine.unknown("item of an iterable"))
    if star is None:
        for target, item in zip(targets, items, strict=False):
            assign(machine, target, item)
        return
    after = len(targets) - star - 1
    middle = items[star : len(items) - after]
    tail = items[len(items) - after :] if after else []
    for target, item in zip(targets, [*items[:star], List(middle, open=open), *tail], strict=False):
        assign(machine, target, item)


def set_attribute(machine: Machine, owner: Value, name: str, value: Value) -> None:
    """`owner.name = value`."""
    if isinstance(owner, Object):
        before = owner.attributes.get(name) if isinstance(owner, Instance) else None
        classes.set_attribute(machine, owner, name, value)
        noted = None if not isinstance(value, (Object, tuple)) else machine.library.bound(machine, name, value, before)
        if noted is not None:
            machine.note_binding(name, noted)
    else:
        raise machine.error("AttributeError", f"'{type(owner).__name__}' object has no attribute '{name}'", owner)


def set_item(machine: Machine, owner: Value, key: Value, value: Value) -> None:
    """`owner[key] = value`."""
    if isinstance(key, slice) and key.step == 0:
        refuse_step(machine, owner)
    if isinstance(owner, Object):
        owner.set_item(machine, key, value)
    else:
        message = f"'{type(owner).__name__}' object does not support item assignment"
        raise machine.error("TypeError", message, owner)


def augmented(machine: Machine, node: ast.AugAssign) -> None:
    """`target operator= value`: in place where the value knows how."""
    target = node.target
    match target:
        case ast.Name():
            before = machine.evaluate(ast.copy_location(ast.Name(target.id, ast.Load()), target))
            result = _updated(machine, node, before)
            machine.bind(target.id, result)
        case ast.Attribute():
            owner = machine.evaluate(target.value)
            machine.node = node
            before = machine.attribute(owner, target.attr)
            result = _updated(machine, node, before)
            set_attribute(machine, owner, target.attr, result)
        case ast.Subscript():
            owner = machine.evaluate(target.value)
            key = machine.evaluate(target.slice)
            machine.node = node
            before = get_item(machine, owner, key)
            result = _updated(machine, node, before)
            set_item(machine, owner, key, result)


def _updated(machine: Machine, node: ast.AugAssign, before: Value) -> Value:
    value = machine.evaluate(node.value)
    machine.node = node
    if isinstance(before, Object):
        name = {
            ast.Add: "add",
            ast.Sub: "sub",
            ast.Mult: "mul",
            ast.Div: "truediv",
            ast.FloorDiv: "floordiv",
            ast.Mod: "mod",
            ast.Pow: "pow",
            ast.MatMult: "matmul",
            ast.BitAnd: "and",
            ast.BitOr: "or",
            ast.BitXor: "xor",
            ast.LShift: "lshift",
            ast.RShift: "rshift",
        }[type(node.op)]
        if isinstance(before, Unknown):
            result = machine.library.unknown_inplace(machine, before, name, value)
        else:
            result = before.inplace(machine, name, value)
        if result is not NotImplemented:
            return result
    result = binary(machine, type(node.op), before, value)
    if isinstance(before, Unknown) and isinstance(result, Unknown) and not result.is_data:
        # A tensor is written in place, and keeps its flag under `no_grad`; one without a graph may get one.
        gets = before.kind is Kind.PLAIN and machine.autograd.grad_enabled
        result.kind = result.kind if gets else before.kind
    return result


def delete(machine: Machine, node: ast.Delete) -> None:
    """`del target, ...`."""
    for target in node.targets:
        match target:
            case ast.Name():
                machine.frame.scope.variables.pop(target.id, None)
            case ast.Attribute():
                owner = machine.evaluate(target.value)
                if isinstance(owner, Object):
                    owner.delete_attribute(machine, target.attr)
            case ast.Subscript():
                owner = machine.evaluate(target.value)
                key = machine.evaluate(target.slice)
                if isinstance(key, slice) and key.step == 0:
                    refuse_step(machine, owner)
                if isinstance(owner, Object):
                    owner.delete_item(machine, key)
