"""Parameters that get gradients, and that no optimizer holds, though one holds others of the same model."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Advice, Fix, Level
from gradpath.findings.gradient_flow import has_run_loops, updated_by_hand
from gradpath.findings.graphs import reached_leaves
from gradpath.findings.parameters import groups_of, ways_of
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import target_of
from gradpath.findings.syntax import ancestry, statement_of
from gradpath.fixes.untrained_fixes import built_later, given_too, of_original, registered
from gradpath.interpreter.ownership import Attached, Given, Overlooked
from gradpath.interpreter.trace import BackwardRan, Bound, Mutated, Named, Replaced, Site, Stepped, Trace
from gradpath.rules.ownership.forgotten_groups import Forgotten, appending, forgotten
from gradpath.rules.ownership.free_leaves import Free, free
from gradpath.rules.ownership.hidden_modules import hidden, made_in_forward
from gradpath.rules.ownership.left_out import (
    Copied,
    GivenTwice,
    LeftOut,
    Rebound,
    Remade,
    Ungrouped,
    Unheld,
    Unregistered,
    copied,
    doubled,
    given_twice,
    left_out,
    rebound,
    remade,
    ungrouped,
    unheld,
    unregistered,
)
from gradpath.rules.ownership.loose_tensors import loose
from gradpath.rules.ownership.thawed import Thawed, thawed
from gradpath.source.index import has_several
from gradpath.support.fast_dataclasses import dataclass, replace

Cause = (
    Attached
    | Overlooked
    | Remade
    | LeftOut
    | Ungrouped
    | Unheld
    | Thawed
    | GivenTwice
    | Rebound
    | Copied
    | Unregistered
    | Free
    | Given
)
"""The reason why an optimizer lacks parameters; `Given` is one that got those of a copy."""


@dataclass(frozen=True, slots=True)
class Untrained:
    """Parameters that an optimizer does not hold: how they came to be, who should hold them, and who uses them."""

    cause: Cause
    given: Given
    arrives: BackwardRan
    step: Stepped


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Parts that a model got after its optimizer was made, and parts in a plain container of it."""
    for event in hidden(trace, source):
        yield _hidden(trace, source, event)
    yield from loose(trace, source, RULE.id)
    yield from made_in_forward(trace, source, RULE.id)
    for group in forgotten(trace):
        yield _forgotten(trace, source, group)
    if not has_run_loops(trace) or not trace.of(Given) or not trace.of(Stepped):
        return
    reported: set[ast.AST] = set()
    for each in untrained(trace, source):
        place = each.cause.site.node
        if place not in reported:
            reported.add(place)
            yield _report(trace, source, each)


def untrained(trace: Trace, source: Source) -> Iterator[Untrained]:
    """The parameters that get gradients and are in no optimizer, cause by cause."""
    if _holds_any(trace):
        return
    held = _held(trace)
    owned: list[tuple[Attached | Overlooked, list[Given]]] = [*_replaced(trace), *_in_plain_containers(trace)]
    for cause, givens in owned:
        missing = [tensor for tensor in cause.tensors if id(tensor) not in held]
        yield from _used_with(trace, cause, missing, givens[:1])
    for thaw in thawed(trace):
        missing = [tensor for tensor in thaw.tensors if id(tensor) not in held]
        yield from _used_with(trace, thaw, missing, [thaw.given])
    told = held | {id(tensor) for cause in _causes(trace) for tensor in cause.tensors}
    for other in rebound(trace, told):
        yield from _used_with(trace, other, other.tensors, [other.given])
        told |= set(map(id, other.tensors))
    for copy in copied(trace, told):
        yield from _used_with(trace, copy, copy.tensors, [copy.given])
        told |= set(map(id, copy.tensors))
    for leaf in unregistered(trace, told):
        yield from _used_with(trace, leaf, leaf.tensors, [leaf.given])
        told |= set(map(id, leaf.tensors))
    for twice in given_twice(trace, told):
        yield from _used_with(trace, twice, twice.tensors, [twice.second])
        told |= set(map(id, twice.tensors))
    for layer in remade(trace, told):
        told |= set(map(id, layer.tensors))
        yield from _used_with(trace, layer, layer.tensors, trace.of(Given))
    for rest in ungrouped(trace, told):
        yield from _used_with(trace, rest, rest.tensors, [rest.given])
    for own in free(trace, source, told):
        found = _used_with(trace, own, own.tensors, trace.of(Given))
        yield from (each for each in found if each.step.site.loops or not isinstance(trace.entry, ast.Module))
    modules: list[LeftOut | Unheld] = [*left_out(trace, source, told), *unheld(trace, source, told)]
    for module in modules:
        found = _used_with(trace, module, module.tensors, trace.of(Given))
        yield from (each for each in found if each.step.site.loops)  # Once may be to show something.
    for given in trace.of(Given):
        if given.copied and not any(step.updated for step in trace.of(Stepped) if step.optimizer is given.optimizer):
            leaves = [leaf for run in trace.of(BackwardRan) for leaf in reached_leaves(run)]
            if not set(map(id, leaves)).isdisjoint(map(id, given.parameters)):
                continue
            others = [leaf for leaf in leaves if leaf.is_parameter and id(leaf) not in held]
            yield from _used_with(trace, given, others, [given])


def _replaced(trace: Trace) -> Iterator[tuple[Attached, list[Given]]]:
    """The parts that a model got, with the optimizers that had been made for it before."""
    made: list[Given] = []
    for event in trace.among(Given, Attached):
        if isinstance(event, Given):
            made.append(event)
        elif isinstance(event, Attached):
            yield event, [given for given in made if _is_for(given, event)]


def _in_plain_containers(trace: Trace) -> Iterator[tuple[Overlooked, list[Given]]]:
    """The parameters that `parameters()` left out, with the optimizers that got its result, or nothing known."""
    for event in trace.of(Overlooked):
        if not _is_hidden(trace, event):
            own = set(map(id, event.found))
            makers = trace.of(Given)
            owners = [given for given in makers if not own or own & set(map(id, given.parameters))]
            yield event, owners or [given for given in makers if not given.parameters]


def _denied(trace: Trace, report: Report) -> bool:
    """True if a path shows an optimizer that holds, or may hold, what came to be at the place of a report."""
    if any(group.site.node is report.at.node for group in forgotten(trace)):
        return False
    if _holds_any(trace):
        return True
    held = _held(trace)
    causes = (*_causes(trace), *thawed(trace))
    here = (each for each in causes if _place(trace, each).node is report.at.node)
    if any(id(tensor) in held for each in here for tensor in each.tensors):
        return True
    for event in trace.of(Named):
        named = not report.about or event.name in report.about  # `encoder, decoder = Encoder(), Decoder()`
        if named and event.site.node is report.at.node and not held.isdisjoint(ways_of(event)):
            return True
    if any(bound.site.node is report.at.node and id(bound.tensor) in held for bound in trace.of(Bound)):
        return True
    twice = {id(second.optimizer) for _, second in doubled(trace)}
    return any(
        step.updated
        for given in trace.of(Given)
        if given.site.node is report.at.node and id(given.optimizer) not in twice
        for step in trace.of(Stepped)
        if step.optimizer is given.optimizer
    )


def _causes(trace: Trace) -> list[Attached | Overlooked]:
    """All on a path that may have left an optimizer without parameters."""
    events = trace.among(Attached, Overlooked)
    return [event for event in events if isinstance(event, Attached | Overlooked)]


def _holds_any(trace: Trace) -> bool:
    """True if there is an optimizer of which it is not known what it holds: any parameters, perhaps."""
    known = {id(given.optimizer): given.known for given in trace.of(Given)}
    return not all(known.values()) or any(not known.get(id(step.optimizer), step.known) for step in trace.of(Stepped))


def _place(trace: Trace, cause: Cause) -> Site:
    """Where something came to be: the statement that put something into a module."""
    if not isinstance(cause, Attached | Overlooked):
        return cause.site
    statement = statement_of(trace, cause.site.node)
    simple = isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr))
    return replace(cause.site, node=statement) if simple and statement is not None else cause.site


def _held(trace: Trace) -> set[int]:
    """The parameters that some optimizer holds, or that the program moves by itself."""
    held = {id(tensor) for given in trace.of(Given) for tensor in given.parameters}
    for step in trace.of(Stepped):
        held.update(map(id, (*step.parameters, *step.updated)))
    for event in trace.among(Mutated, Replaced):
        assert isinstance(event, Mutated | Replaced)
        moved = updated_by_hand(trace, event)
        if moved is not None:
            held.add(id(moved))
    return held


def _is_for(given: Given, event: Attached) -> bool:
    """True if an optimizer was made for the model, or the part of it, that has got new parameters."""
    if any(model is holder for model in given.models for holder in event.holders):
        return True
    own = set(map(id, event.beside))
    return bool(own & set(map(id, given.parameters)))


def _is_hidden(trace: Trace, event: Overlooked) -> bool:
    """True if a module is the only item of a container, `self.teacher = [teacher]`, to hide it from `parameters()`.

    Not if the class adds others to the container, or iterates over it.
    """
    match statement_of(trace, event.site.node):
        case ast.Assign(
            targets=[ast.Attribute(attr=name)],
            value=ast.List(elts=[one]) | ast.Tuple(elts=[one]) | ast.Dict(values=[one]),
        ):
            owner = next((each for each in ancestry(trace, event.site.node) if isinstance(each, ast.ClassDef)), None)
            return not isinstance(one, ast.Starred) and not (owner is not None and has_several(owner, name))
        case _:
            return False


def _used_with(trace: Trace, cause: Cause, tensors: Sequence[Tensor], givens: Sequence[Given]) -> Iterator[Untrained]:
    """The first of some optimizers that steps after a backward which gives one of these a gradient."""
    wanted = set(map(id, tensors))
    optimizers = {id(given.optimizer): given for given in reversed(givens)}
    arrives: BackwardRan | None = None
    for event in trace.among(BackwardRan, Stepped):
        match event:
            case BackwardRan() if event.call.accumulates and any(id(leaf) in wanted for leaf in reached_leaves(event)):
                arrives = event
            case Stepped() if (
                arrives is not None
                and id(event.optimizer) in optimizers
                and ((isinstance(cause, GivenTwice) and not event.site.loops) or _moves(trace, event))
            ):
                yield Untrained(cause, optimizers[id(event.optimizer)], arrives, event)
                return
            case _:
                pass


def _moves(trace: Trace, step: Stepped) -> bool:
    """True if a step ever changes anything; one that changes nothing at all is reported by another rule."""
    return not step.known or any(each.updated for each in trace.of(Stepped) if each.site.node is step.site.node)


@dataclass(frozen=True, slots=True)
class _Words:
    """A cause in words: the headline, the steps before the gradients arrive, and the way out."""

    headline: str
    steps: tuple[Step, ...]
    help: str
    fixes: Iterable[Fix] = ()
    arrives: str = "gives them gradients"
    last: str = "leaves them as they are"


def _report(trace: Trace, source: Source, found: Untrained) -> Report:
    cause, place = found.cause, _place(trace, found.cause)
    words = _worded(trace, source, found, place)
    fixes = source.proposed(words.fixes)
    by_trainer = isinstance(found.step.site.node, ast.FunctionDef)
    last = "the step after it leaves them as they are" if by_trainer and not isinstance(cause, Given) else words.last
    return Report(
        RULE.id,
        place,
        words.headline,
        (*words.steps, Step(found.arrives.site, words.arrives), Step(found.step.site, last)),
        help=Advice.of(fixes[0]) if fixes else words.help,
        alternatives=tuple(map(Advice.of, fixes[1:])),
        fixes=fixes,
        about=(cause.bound.name,) if isinstance(cause, LeftOut) and cause.before else (),
    )


def _worded(trace: Trace, source: Source, found: Untrained, place: Site) -> _Words:
    match found.cause:
        case Attached() | Overlooked() | Remade() | Unregistered() as cause:
            return _of_part(trace, source, found.given, cause, place)
        case LeftOut(bound=bound):
            name = target_of(source, bound)
            return _Words(
                f"`{name}` is never trained: no optimizer holds its parameters",
                (Step(place, "parameters that no optimizer is given"), Step(found.given.site, "takes others")),
                f"give the optimizer the parameters of `{name}` as well",
                given_too(trace, source, found.given, place, name),
            )
        case Free(bound=bound):
            name = target_of(source, bound)
            return _Words(
                f"`{name}` is never trained: no optimizer holds it",
                (Step(place, "a leaf that no optimizer is given"), Step(found.given.site, "takes others")),
                f"give the optimizer `{name}` as well",
                given_too(trace, source, found.given, place, name, is_leaf=True),
                arrives="gives it a gradient",
                last="leaves it as it is",
            )
        case Copied(site=site, given=given):
            return _Words(
                f"`{source.short(site)}` is never trained: its optimizer has the parameters of the original",
                (Step(given.site, "takes the parameters of the original"), Step(site, "copies it")),
                "make an optimizer for the copy",
                arrives="gives the copy gradients",
                last="leaves the copy as it is",
            )
        case Unheld(name=name):
            return _Words(
                f"`{name}` is never trained: no optimizer holds its parameters",
                (Step(found.given.site, "takes others"), Step(place, f"computes with the parameters of `{name}`")),
                f"give the optimizer the parameters of `{name}` as well, or call its `eval()`",
                given_too(trace, source, found.given, None, name),
            )
        case Given():
            return _Words(
                f"`{source.short(place, limit=40)}` trains nothing: it has the parameters of a copy",
                (Step(place, "takes the parameters of a copy"),),
                "give the optimizer the parameters of the model that is trained",
                of_original(trace, source, found.given),
                "gives others gradients",
                "finds no gradient",
            )
        case Thawed() | GivenTwice() | Ungrouped() | Rebound() as cause:
            return _of_optimizers(trace, source, found.given, cause)


def _of_part(
    trace: Trace, source: Source, given: Given, cause: Attached | Overlooked | Remade | Unregistered, place: Site
) -> _Words:
    """The words for a part of the model that the optimizer could not get: it came later, or is not registered."""
    never = f"`{source.short(cause.site, limit=40)}` is never trained"
    takes = Step(given.site, "takes the parameters that the model has now")
    match cause:
        case Attached():
            return _Words(
                f"{never}: its optimizer was made before it",
                (takes, Step(place, "new parameters, which the optimizer does not know")),
                "make the optimizer when the model is complete",
                built_later(trace, source, given, place),
            )
        case Overlooked(kind=kind):
            plain = f"a plain {kind}: `parameters()` finds nothing in it"
            return _Words(
                f"{never}: `parameters()` does not look into a plain {kind}",
                (Step(place, plain), Step(given.site, "takes what `parameters()` returns")),
                "hold them in an `nn.ModuleList` or the like",
                registered(trace, source, cause),
            )
        case Remade():
            return _Words(
                f"{never}: each forward makes another one",
                (takes, Step(place, "new parameters")),
                "make it once, in `__init__`, as an attribute of the module",
            )
        case Unregistered(name=attribute):
            name = source.short(cause.site, limit=30)
            tensor = Step(place, "a tensor, which the module does not register")
            return _Words(
                f"`{attribute}` is never trained: `parameters()` returns `nn.Parameter`s only",
                (tensor, Step(given.site, "takes what `parameters()` returns")),
                f"make it an `nn.Parameter`, as the last thing that is done to it: `{name} = nn.Parameter(...)`",
                arrives="gives it gradients",
            )


def _of_optimizers(
    trace: Trace, source: Source, given: Given, cause: Thawed | GivenTwice | Ungrouped | Rebound
) -> _Words:
    """The words for parameters that the optimizer could have been given."""
    names = [group.name for group in groups_of(trace, source, cause.tensors)]
    match cause:
        case Thawed(site=site, frozen=frozen):
            return _Words(
                f"`{names[0]}` is never trained: its optimizer was made without it, while it was frozen",
                (
                    Step(frozen, "no longer requires gradients"),
                    Step(given.site, "takes other parameters"),
                    Step(site, "requires gradients again, and the optimizer does not know"),
                ),
                "give it to the optimizer with `add_param_group` here, or from the start",
            )
        case GivenTwice(site=site, first=first):
            return _Words(
                f"`{names[0]}` is never trained: two optimizers have the same parameters",
                (Step(first.site, "takes the parameters"), Step(site, "takes the same parameters again")),
                f"give the second one the parameters of `{names[0]}`",
            )
        case Ungrouped(site=site):
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            is_never, it_is = ("are", "they are") if more else ("is", "it is")
            return _Words(
                f"`{names[0]}`{more} {is_never} never trained: {it_is} in no group of the optimizer",
                (Step(site, "groups that leave some parameters out"), Step(given.site, "takes these groups alone")),
                f"put {'them' if more else 'it'} into a group as well",
            )
        case Rebound(bound=bound, site=site):
            name = target_of(source, bound)
            takes = Step(given.site, "takes the parameters of the old one")
            return _Words(
                f"`{name}` is never trained from here on: its optimizer has the parameters of the old one",
                (takes, Step(site, "another module, of the same name")),
                f"make the optimizer again, or load the values: `{name}.load_state_dict(...)`",
                arrives="gives it gradients",
            )


def _hidden(trace: Trace, source: Source, event: Overlooked) -> Report:
    """The report for a class that is not seen to be trained: the headline names the presumption."""
    place, name = _place(trace, event), source.short(event.site, limit=30)
    fixes = source.proposed(registered(trace, source, event))
    return Report(
        RULE.id,
        place,
        f"`{name}` is never trained if the optimizer is given `parameters()`: it is a plain {event.kind}",
        (Step(place, f"a plain {event.kind}: `parameters()` finds nothing in it"),),
        help=Advice.of(fixes[0]) if fixes else "hold them in an `nn.ModuleList` or the like",
        fixes=fixes,
    )


def _forgotten(trace: Trace, source: Source, found: Forgotten) -> Report:
    """The report for a group that was put together and not given: what it has need not be seen."""
    fixes = source.proposed(appending(trace, source, found))
    return Report(
        RULE.id,
        found.site,
        f"what is in `{found.name}` is never trained: `{source.short(found.site)}` lacks it",
        (Step(found.group, "a group that nothing reads"), Step(found.site, "all that the optimizer is given")),
        help=Advice.of(fixes[0]) if fixes else f"give the optimizer `{found.name}` as well",
        fixes=fixes,
    )


RULE = Rule(
    "untrained-parameter",
    "loop",
    Level.WARNING,
    "gradients arrive at parameters that no optimizer holds, though one holds others of the same model",
    None,
    find,
    _denied,
    lasting=True,
)
