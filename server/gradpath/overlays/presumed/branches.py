"""The trunk that the parts of an unknown model's result share.

`a, b = model(x)` may be two heads on one body, or, less often, two networks side by side. Each part has a node of its
own that saved something, and below all of them is the trunk, which saved something if the parts share a graph. A part
that is passed to the same model again (a hidden state) shows that they belong to one computation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from gradpath.autograd.provenance import Presumption
from gradpath.autograd.tensor import Node, Tensor
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Attribute, Call, Item
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.values import Unknown, Value
from gradpath.overlays.presumed import conditions, model_parts
from gradpath.overlays.presumed.roles import role_of
from gradpath.overlays.torch.tensor_value import TensorValue, wrap
from gradpath.support.lazy_regex import regex
from gradpath.support.traversal import reachable


def whole_of(part: Unknown) -> Unknown | None:
    """The result of a call that `part` is an item or attribute of, at any depth; None where it is the result."""
    found: Unknown | None = None
    while isinstance(part.origin, (Attribute, Item)) and isinstance(part.origin.of, Unknown):
        part = found = part.origin.of
    return found


_DETACHED = regex(r"mems$|past|cache|^kv|noise", re.I)
"""Names of states that models hand out detached, as Transformer-XL does."""


def lively(machine: Machine, values: Sequence[Value], model: Value) -> tuple[Value, ...]:
    """The arguments of a model whose graph certainly continues into its result.

    Who detaches a part of what a method gave, and hands over a further part as it is, knows that it has no graph.
    """
    cut = [each for value in values for each in _cut_from(value)]
    kept = [each for each in values if not (isinstance(each, Unknown) and _may_be_detached(machine, each, model))]
    kept = [each for each in kept if not (isinstance(each, Unknown) and _trunk_of(machine, each) in cut)]
    return tuple(lively(machine, value, model) if isinstance(value, tuple) else value for value in kept)


def _cut_from(value: Value) -> tuple[Node, ...]:
    """The nodes below the one from which an argument was cut: `fake.detach()`."""
    cut = value.tensor.cut if isinstance(value, TensorValue) else None
    source = None if cut is None or cut.how.rpartition(".")[2] not in ("data", "detach") else cut.source
    return () if source is None or source.node is None else source.node.edges


def _trunk_of(machine: Machine, part: Unknown) -> Node | None:
    """The node of the trunk of what a method gave that a value is a part of: a model itself gives predictions alone."""
    whole = whole_of(part)
    callee = whole.origin.of if whole is not None and isinstance(whole.origin, Call) else None
    if whole is None or not isinstance(callee, Unknown) or callee.owner is None:
        return None
    trunk = machine.remembered.get(("trunk", whole.number))
    return trunk.tensor.node if isinstance(trunk, TensorValue) else None


def note_detached(machine: Machine, part: Unknown) -> None:
    """Remember that a value was detached in place, and what it is an item of: `for each in state: each.detach_()`."""
    value: object = part
    while isinstance(value, Unknown):
        machine.remembered[_IN_PLACE, value.number] = True
        value = value.origin.of if isinstance(value.origin, Item) else None


_IN_PLACE = "detached in place"


def _may_be_detached(machine: Machine, value: Unknown, model: Value, depth: int = 5) -> bool:
    """True if a value, or what it is a part of, was detached, is called like such a state or is a slice of a result.

    What one model gives and another takes is no state: `head(features[:n])`.
    """
    if (_IN_PLACE, value.number) in machine.remembered:
        return True
    if isinstance(value.origin, Item) and isinstance(value.origin.key, slice):
        whole = whole_of(value)
        return whole is None or not isinstance(whole.origin, Call) or whole.origin.of is model
    if _DETACHED.search(value.label or value.name):
        return True
    if depth == 0 or isinstance(value.origin, Call):
        return False
    sources = [each for each in value.sources if isinstance(each, Unknown)]
    return any(_may_be_detached(machine, each, model, depth - 1) for each in sources)


def trunk(machine: Machine, result: Unknown, sources: Sequence[Tensor], onward: Presumption) -> Tensor:
    """The trunk tensor of a call, an ancestor of its result and of each part of it; it leads to the arguments."""
    key = ("trunk", result.number)
    known = machine.remembered.get(key)
    if isinstance(known, TensorValue):
        return known.tensor
    callee = result.sources[0] if result.sources else None
    name = conditions.callee(result)
    made = machine.autograd.presumed(sources, provenance=conditions.RESULT.of(name), onward=onward)
    assert made.node is not None
    made.origin = made.node.site = result.site
    made.label = result.label
    if role_of(callee) == "model" and not _is_trained_in_parts(machine, callee):
        made.node.holds, made.node.saves = True, conditions.PARTS.of(name)
    else:
        made.node.divided = True
    machine.remembered[key] = wrap(made)
    if isinstance(callee, Unknown):
        _tie(machine, callee, made.node, sources, conditions.STATE.of(name), conditions.SAVES.of(name))
    return made


def _is_trained_in_parts(machine: Machine, model: Value) -> bool:
    """True if several optimizers have each a part of a model: it is made of networks side by side, as a rule."""
    number = model.number if isinstance(model, Unknown) else None

    def is_part(each: object) -> bool:
        return isinstance(each, Unknown) and number in model_parts.line(each)[1:]

    return sum(bool(given.models) and all(map(is_part, given.models)) for given in machine.trace.of(Given)) > 1


def _tie(
    machine: Machine, model: Unknown, node: Node, sources: Sequence[Tensor], state: Presumption, saves: Presumption
) -> None:
    """Note the trunk of a model's call, and let those of earlier calls that lead into it count as saving.

    An argument that depends on such a trunk is a `state`; `saves` is the condition under which they save.
    """
    trunks = cast("dict[Node, int]", machine.remembered.setdefault("trunks", cast("Value", {})))
    starts = (tensor.node for tensor in sources if tensor.node is not None)
    for each in reachable(starts, lambda each: each.edges):
        if trunks.get(each) == model.number:
            each.holds, each.saves = True, saves
            node.onward = state
    trunks[node] = model.number
