"""A saved value that is changed through `.data`, where no version counter sees it."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator

from gradpath.autograd.tensor import Creation, Node, Saved, Tensor
from gradpath.diagnostic import Edit, Fix, Level, Position, Range, Safety
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import following, lifted, operation, short_operation, with_time
from gradpath.findings.syntax import is_alone, statement_of
from gradpath.fixes import edits
from gradpath.fixes.moving import moving
from gradpath.fixes.out_of_place import augmented, has_counterpart, write_text
from gradpath.interpreter.events import BackwardRan, Built, Mutated, Replaced, Stepped
from gradpath.interpreter.trace import Trace, once
from gradpath.repairs import Repair, Way
from gradpath.source.index import contents
from gradpath.support.fast_dataclasses import dataclass, replace
from gradpath.support.words import words

_READS_AGAIN = words(
    """mul div mm bmm matmul pow log sin cos gelu silu mse_loss bilinear Bilinear conv1d conv2d conv3d conv_transpose1d
    conv_transpose2d conv_transpose3d layer_norm group_norm Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d
    ConvTranspose3d LayerNorm GroupNorm"""
)
"""Operations that save an input itself, and so meet what was exchanged; others save a view or a copy of it.

`mv` and `dot` do so too, but what is exchanged there is the estimate of spectral normalisation, as a rule.
"""

_PROJECTIONS = frozenset({"renorm", "renorm_", "normalize", "clamp", "clamp_", "clip", "clip_"})
"""Functions that give back what they have given."""


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Changes through `.data` between the saving of a value and the backward that reads it."""
    if not trace.of(BackwardRan) or not trace.among(Mutated, Replaced):
        return
    for index, event in enumerate(trace.events):
        if isinstance(event, (Mutated, Replaced)):
            hidden = _hidden(event)
            found = None if hidden is None else _read_later(trace, index, event, hidden)
            if found is not None and hidden is not None and _changes_nothing(trace, index, event, hidden):
                continue
            if found is not None and hidden is not None:
                yield _report(trace, source, event, hidden, *found)


def _hidden(event: object) -> Tensor | None:
    """The tensor whose memory an event changes without a change of its version counter."""
    if isinstance(event, Replaced):
        return event.tensor
    if not isinstance(event, Mutated):
        return None
    tensor = event.write.owner if event.write.owner is not None else event.tensor
    for _ in range(8):
        if tensor.operation.rpartition(".")[2] == "data":
            return tensor.maker[0] if tensor.maker else None
        if tensor.base is None and len(tensor.maker) != 1:
            return None
        below = tensor.base if tensor.base is not None else tensor.maker[0]
        if below.storage is not tensor.storage:  # A copy.
            return None
        tensor = below
    return None


def _changes_nothing(trace: Trace, index: int, change: Mutated | Replaced, hidden: Tensor) -> bool:
    """True if a projection such as `w.data = torch.renorm(w.data, ...)` meets what it has left itself."""
    statement = statement_of(trace, change.site.node)
    value = statement.value if isinstance(statement, (ast.Assign, ast.Expr)) else None
    name = value.func if isinstance(value, ast.Call) else None
    if not isinstance(name, ast.Attribute) or name.attr not in _PROJECTIONS:
        return False
    for event in reversed(trace.events[:index]):
        if isinstance(event, (Mutated, Replaced)) and _hidden(event) is hidden:
            return event.site.node is change.site.node
        if isinstance(event, Stepped) and any(each is hidden for each in event.updated):
            return False
    return False


def _read_later(
    trace: Trace, index: int, change: Mutated | Replaced, hidden: Tensor
) -> tuple[Node, Saved, BackwardRan] | None:
    """A node that saved the memory before the change, and the backward that reads it afterwards."""
    memories = (hidden,) if isinstance(change, Replaced) else (hidden.storage, *hidden.storage.within)
    for memory in memories:
        readings = _readings(trace).get(id(memory), ())
        for reading in readings[bisect_right(readings, index, key=_position) :]:
            meets = reading.built < index and (isinstance(change, Mutated) or _reads_again(reading))
            if meets and _is_used(hidden, reading):
                return reading.node, reading.saved, reading.ran
    return None


@dataclass(frozen=True, slots=True)
class _Reading:
    """A backward, the event number `at`, that reads what a node saved which was `built` by an earlier event."""

    at: int
    built: int
    node: Node
    saved: Saved
    ran: BackwardRan


def _position(reading: _Reading) -> int:
    return reading.at


@once
def _readings(trace: Trace) -> dict[int, list[_Reading]]:
    """The saved tensors that the backwards of a path read, in order, by the identities of tensor and storage."""
    built: dict[int, int] = {}
    found: dict[int, list[_Reading]] = {}
    for at, event in enumerate(trace.events):
        if isinstance(event, Built):
            built.setdefault(id(event.node), at)
        elif isinstance(event, BackwardRan):
            for node in event.executed:
                if node.saved and not node.is_open and id(node) in built:
                    for saved in node.saved:
                        reading = _Reading(at, built[id(node)], node, saved, event)
                        found.setdefault(id(saved.storage), []).append(reading)
                        found.setdefault(id(saved.tensor), []).append(reading)
    return found


def _is_used(hidden: Tensor, reading: _Reading) -> bool:
    """True if a gradient is computed from what was saved: those of a layer's weights alone are not, from the weights.

    Of an input that is not seen, such as an image, none may be wanted. Nor does it change with another piece.
    """
    node, role, kept = reading.node, reading.saved.role, reading.saved.tensor
    pieces = hidden.creation is kept.creation is Creation.MULTIPLE and hidden.base is kept.base
    if pieces and hidden is not kept:
        return False
    if node.behaviour is None:
        return True
    second, maybe = node.behaviour.second, node.behaviour.maybe_second
    if not any(role in each for each in (*second.values(), *maybe.values())):
        return True
    wanted = (name for edge, name in zip(node.edges, node.parameters, strict=True) if not edge.is_open)
    return any(role in second.get(name, ()) or role in maybe.get(name, ()) for name in wanted)


def _reads_again(reading: _Reading) -> bool:
    """True if an exchange reaches what was saved; it does not reach results, which are saved as copies."""
    return not reading.saved.role.startswith("out") and short_operation(reading.node.name) in _READS_AGAIN


def _report(
    trace: Trace, source: Source, event: Mutated | Replaced, hidden: Tensor, node: Node, saved: Saved, ran: BackwardRan
) -> Report:
    at = event.site
    if isinstance(event, Replaced):
        at = replace(event.site, node=statement_of(trace, event.site.node))
    kept = "its result" if saved.role.startswith("out") else "this value"
    write = source.short(at, limit=34) if at is not event.site else write_text(trace, source, at, 34)
    fixes = source.proposed(
        moving(trace, source, event.site, ran.site, Way.MOVE_AFTER_BACKWARD)
        if hidden.is_parameter
        else (*_fixes(trace, source, event), *_copied(trace, source, event))
    )
    help_line = "make a new tensor instead of writing into the saved one"
    if hidden.is_parameter:
        help_line = "update parameters after the backward that still needs them"
    condition = "" if saved.presumed is None else f", if {saved.presumed.brief}"
    return Report(
        at,
        f"`{write}` changes, unseen, what the gradient of {operation(source, node, 30)} is computed from{condition}",
        (
            Step(lifted(node.site, event.site), f"saves {kept} for the backward"),
            Step(at, "changes it unseen"),
            Step(ran.site, with_time(following(trace, ran.site, event.site), "computes with the changed value")),
        ),
        help=help_line,
        fixes=fixes,
    )


def _copied(trace: Trace, source: Source, event: Mutated | Replaced) -> Iterator[Fix]:
    """`h = h.clone()` before `h.data[mask] = 0.0`, so that what was saved stays as it is."""
    statement, document = statement_of(trace, event.site.node), source.document(event.site)
    for written in (each.value for each in contents(statement).attributes if each.attr == "data"):
        if isinstance(written, ast.Name | ast.Attribute):
            text = f"{edits.flat(document, written)} = {edits.flat(document, written)}.clone()"
            repair = Repair(Way.WRITE_INTO_COPY, (edits.flat(document, written),), text=text)
            yield from Fix.of(repair, Safety.UNSAFE, edits.insert_before(document, statement, text))
            return


def _fixes(trace: Trace, source: Source, event: Mutated | Replaced) -> Iterator[Fix]:
    """`h.data.mul_(s)` becomes `h = h.mul(s)`, and `h.data *= s` becomes `h = h * s`."""
    call = event.site.node
    statement = statement_of(trace, call)
    match statement:
        case ast.AugAssign(target=ast.Attribute(attr="data", value=ast.Name() | ast.Attribute() as written)):
            document = source.document(event.site)
            edit = augmented(document, statement)
            if edit is not None:
                name = edits.flat(document, written)
                text = edit.new_text.replace(f"{name}.data", name)
                repair = Repair(Way.NEW_TENSOR, (name,), text=text)
                yield Fix.by(repair, Safety.UNSAFE, (edits.replace(document, statement, text),))
            return
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return
    receiver, name = call.func.value, call.func.attr
    if not isinstance(receiver, ast.Attribute) or receiver.attr != "data" or not is_alone(statement, call):
        return
    if not has_counterpart(name) or not isinstance(receiver.value, (ast.Name, ast.Attribute)):
        return
    document = source.document(event.site)
    variable = edits.flat(document, receiver.value)
    start, end = document.range_of(call).start, document.range_of(call.func).end
    yield from Fix.of(
        Repair(Way.NEW_TENSOR, (variable,), text=f"{variable} = {variable}.{name[:-1]}(…)"),
        Safety.UNSAFE,
        Edit(document.path, Range(start, start), f"{variable} = "),
        edits.drop_method(document, receiver),
        Edit(document.path, Range(Position(end.line, end.column - 1), end), ""),
    )


RULE = Rule(
    "data-mutation",
    "in-place",
    Level.WARNING,
    "a value that a pending `backward()` has saved is changed through `.data`: the gradients are wrong",
    find,
    idle=True,
)
