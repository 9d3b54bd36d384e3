"""Optimizers that have the old parameters, while a module or a leaf that took their place gets the gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from functools import partial
from itertools import islice

from gradpath.autograd.tensor import UNSEEN, Tensor
from gradpath.diagnostic import Fix
from gradpath.findings.gradient_flow import looks_at_gradients
from gradpath.findings.graphs import reached_leaves
from gradpath.findings.parameters import ways_of
from gradpath.findings.report import Source, Step
from gradpath.findings.stories import target_of
from gradpath.findings.syntax import statement_of
from gradpath.fixes.requirement import given_too, of_others
from gradpath.fixes.substitution import substituted
from gradpath.interpreter.events import BackwardRan, Bound, GradientSet, Named, Site, Stepped
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.rules.ownership.lacking import Lacking, Words, is_of_layer, reached_strangers
from gradpath.source.nodes import last_name
from gradpath.support.fast_dataclasses import replace
from gradpath.support.traversal import reachable


def rebound(trace: Trace, source: Source, held: Set[int]) -> Iterator[Lacking]:
    """Variables of trained modules that are bound to other modules, such as a copy of the best one.

    No optimizer holds a parameter of the new one, and all of it was made after the optimizer of the old one.
    """
    strange = {id(tensor): tensor for tensor in reached_strangers(trace, held)}
    owners: dict[int, Given] = {}
    for event in trace.among(Given, Named):
        if isinstance(event, Given):
            owners |= dict.fromkeys(map(id, event.parameters), event)
        elif isinstance(event, Named) and event.before is not None:
            left, ways = ways_of(trace, replace(event, module=event.before)), ways_of(trace, event)
            given = next((owners[each] for each in left if each in owners), None)
            tensors = tuple(strange[each] for each in ways if each in strange)
            if given is not None and tensors and held.isdisjoint(ways):
                yield Lacking(tensors, event.site, [given], partial(_takes_the_name, trace, event))


def _takes_the_name(trace: Trace, bound: Named, source: Source, given: Given) -> Words:
    name = target_of(source, bound)
    return Words(
        f"`{name}` is never trained from here on: its optimizer has the parameters of the old one",
        (Step(given.site, "takes the parameters of the old one"), Step(bound.site, "another module, of the same name")),
        f"make the optimizer again, or load the values: `{name}.load_state_dict(...)`",
        (*_loaded(trace, source, bound.site), *given_too(trace, source, given, bound.site, name)),
        arrives="gives it gradients",
    )


def _loaded(trace: Trace, source: Source, bound: Site) -> Iterator[Fix]:
    """`model.load_state_dict(best.state_dict())` for `model = copy.deepcopy(best)`: the optimizer keeps its model."""
    match statement_of(trace, bound.node):
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value) as statement:
            if isinstance(value, ast.Call) and last_name(value.func) in ("deepcopy", "copy") and len(value.args) == 1:
                value = value.args[0]
            if isinstance(value, ast.Name | ast.Attribute):
                text = f"{source.text(bound, target)}.load_state_dict({source.text(bound, value)}.state_dict())"
                yield from substituted(source, Repair(Way.LOAD_VALUES, text=text), {statement: bound}, text)


def copied(trace: Trace, source: Source, held: Set[int]) -> Iterator[Lacking]:
    """The copies and successors of trained modules that no optimizer has, if the original gets no more gradients.

    The gradients of a target network, of which there is no use, are no fault, and those that are read may be handed on.
    """
    copies = [leaf for leaf in reached_strangers(trace, held) if leaf.copied or leaf.succeeds]
    if not copies or looks_at_gradients(trace) or trace.of(GradientSet):
        return
    makers = {id(given.optimizer): given for given in trace.of(Given)}
    owners = {id(each): given for given in trace.of(Given) for each in given.parameters}
    for step in trace.of(Stepped):
        owners |= {id(each): makers[id(step.optimizer)] for each in step.unseen if id(step.optimizer) in makers}
    found: dict[int, tuple[Given, Site, list[Tensor]]] = {}
    for leaf in copies:
        before = next((each for each in _before(leaf) if id(each) in owners), None)
        if before is None:
            continue
        if not _is_trained_after(trace, before, leaf.origin):
            found.setdefault(id(leaf.origin.node), (owners[id(before)], leaf.origin, []))[2].append(leaf)
    for given, site, tensors in found.values():
        kinds = _SUCCESSOR if tensors[0].copied is None else _COPY
        yield Lacking(tuple(tensors), site, [given], partial(_takes_the_place, trace, site, kinds))


def _is_trained_after(trace: Trace, original: Tensor, made: Site) -> bool:
    """True if a backward gives the original a gradient after its copy was made, or ever, where that is unknown."""
    statement = statement_of(trace, made.node)

    def binds(site: Site) -> bool:
        """True if a variable is bound in the statement that makes the copy, or in what that calls."""
        frames = (each for each in site.frames() if each.caller is made.caller)
        return any(statement_of(trace, each.node) is statement for each in frames)

    events = enumerate(trace.events)
    since = next((index for index, each in events if isinstance(each, Bound | Named) and binds(each.site)), 0)
    runs = (each for each in trace.events[since:] if isinstance(each, BackwardRan) and each.call.accumulates)
    return any(original is leaf for run in runs for leaf in reached_leaves(run))


def _before(leaf: Tensor) -> Iterator[Tensor]:
    """What a leaf is a copy of, or took the place of, the latest first."""
    before = leaf.copied or leaf.succeeds
    while before is not None:
        yield before
        before = before.copied or before.succeeds


_SUCCESSOR = (
    "the old one",
    "another model takes its place",
    "make the optimizer again, or load the values: `load_state_dict(...)`",
    "the new one",
)
_COPY = ("the original", "copies it", "make an optimizer for the copy", "the copy")
"""What the optimizer has, how the other one came to be, the way out, and the name of the other one."""


def _takes_the_place(trace: Trace, site: Site, kinds: tuple[str, str, str, str], source: Source, given: Given) -> Words:
    old, deed, way, new = kinds
    return Words(
        f"`{source.short(site)}` is never trained: its optimizer has the parameters of {old}",
        (Step(given.site, f"takes the parameters of {old}"), Step(site, deed)),
        way,
        (*_loaded(trace, source, site), *given_too(trace, source, given, site)),
        arrives=f"gives {new} gradients",
        last=f"leaves {new} as it is",
    )


def of_copies(trace: Trace, source: Source, held: Set[int]) -> Iterator[Lacking]:
    """What gets the gradients in place of a copy whose parameters an optimizer was given."""
    leaves = [leaf for run in trace.of(BackwardRan) for leaf in reached_leaves(run)]
    reached = set(map(id, leaves))
    for given in trace.of(Given):
        moves = any(step.updated for step in trace.of(Stepped) if step.optimizer is given.optimizer)
        if given.copied and not moves and reached.isdisjoint(map(id, given.parameters)):
            others = tuple(leaf for leaf in leaves if leaf.is_parameter and id(leaf) not in held)
            yield Lacking(others, given.site, [given], partial(_has_the_copy, trace))


def _has_the_copy(trace: Trace, source: Source, given: Given) -> Words:
    return Words(
        f"`{source.short(given.site, limit=40)}` trains nothing: it has the parameters of a copy",
        (Step(given.site, "takes the parameters of a copy"),),
        "give the optimizer the parameters of the model that is trained",
        of_others(trace, source, given.site),
        "gives others gradients",
        "finds no gradient",
    )


def replaced_leaves(trace: Trace, held: Set[int]) -> Iterator[Lacking]:
    """Variables of optimized leaves that are bound to new ones: `x = x.clamp(0, 1).detach().requires_grad_()`."""
    owners: dict[int, Given] = {}
    optimized: dict[tuple[str, Site | None], Tensor] = {}
    names: dict[int, list[tuple[str, Site | None]]] = {}
    for event in trace.among(Given, Bound):
        match event:
            case Given(parameters=parameters):
                for each in parameters:
                    if each.operation != UNSEEN and not is_of_layer(each):
                        owners[id(each)] = event
                        optimized |= dict.fromkeys(names.get(id(each), ()), each)
            case Bound(tensor=Tensor() as tensor) if event.is_leaf:
                variable = event.name, event.site.caller
                names.setdefault(id(tensor), []).append(variable)
                before = optimized.get(variable)
                if before is not None and id(tensor) not in held and _is_made_of(tensor, before):
                    given = owners[id(before)]
                    yield Lacking((tensor,), event.site, [given], partial(_is_new, event))


def _is_made_of(tensor: Tensor, leaf: Tensor) -> bool:
    """True if a tensor has its value from a leaf, also by a cut."""

    def sources(each: Tensor) -> list[Tensor]:
        return [*each.maker, *([] if each.cut is None or each.cut.source is None else [each.cut.source])]

    return any(each is leaf for each in islice(reachable([tensor], sources), 1, None))


def _is_new(bound: Bound, source: Source, given: Given) -> Words:
    name = target_of(source, bound)
    return Words(
        f"`{name}` is never trained from here on: its optimizer has the old tensor",
        (Step(given.site, "takes the tensor"), Step(bound.site, "another tensor, of the same name")),
        f"write into `{name}` under `torch.no_grad()`, or through `{name}.data`",
        arrives="gives the new one a gradient",
        last="changes the old one at most",
    )
