"""Two optimizers that were given the parameters of the same module, while another module has none."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from functools import partial
from itertools import combinations

from gradpath.autograd.tensor import Tensor
from gradpath.findings.gradient_flow import place_in
from gradpath.findings.graphs import reached_leaves
from gradpath.findings.parameters import groups_of
from gradpath.findings.report import Source, Step
from gradpath.findings.syntax import call_of
from gradpath.fixes.requirement import of_others
from gradpath.interpreter.events import BackwardRan, Stepped
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Trace
from gradpath.rules.ownership.lacking import Lacking, Words, reached_strangers, written


def given_twice(trace: Trace, source: Source, held: Set[int]) -> Iterator[Lacking]:
    """What gets gradients and has no optimizer, where one has all parameters of what another one trains."""
    for pair in doubled(trace):
        strange = tuple(reached_strangers(trace, held | written(trace)))  # A discriminator is frozen now and then.
        if strange:
            wrong = _meant_for(trace, pair, set(map(id, strange)))
            other = next(each for each in pair if each is not wrong)
            yield Lacking(strange, wrong.site, [wrong], partial(_have_the_same, trace, other, strange), idle=True)


def repeated(trace: Trace, source: Source, held: Set[int]) -> Iterator[Lacking]:
    """What gets gradients and has no optimizer, where one was given the parameters of another module two times."""
    for given in trace.of(Given):
        strange = tuple(reached_strangers(trace, held | written(trace)))
        if given.twice and strange:
            yield Lacking(strange, given.site, [given], partial(_is_given_twice, trace, strange))


def _is_given_twice(trace: Trace, missing: tuple[Tensor, ...], source: Source, given: Given) -> Words:
    name = groups_of(trace, source, missing)[0].name
    return Words(
        f"`{name}` is never trained: its optimizer has another module two times",
        (Step(given.site, "takes the same parameters two times"),),
        f"give it the parameters of `{name}` in place of the second ones",
    )


def _meant_for(trace: Trace, pair: tuple[Given, Given], strange: Set[int]) -> Given:
    """The optimizer that steps after a backward through what none has: one that gets nothing first, then the second."""
    steps = [each for each in reversed(pair) if not strange.isdisjoint(_reached_before(trace, each))]
    return next((each for each in steps if _gets_nothing(trace, each)), (*steps, pair[1])[0])


def _have_the_same(trace: Trace, first: Given, missing: tuple[Tensor, ...], source: Source, given: Given) -> Words:
    name = groups_of(trace, source, missing)[0].name
    again = given.site.line >= first.site.line
    one, two = (first, given) if again else (given, first)
    return Words(
        f"`{name}` is never trained: two optimizers have the same parameters",
        (Step(one.site, "takes the parameters"), Step(two.site, "takes the same parameters again")),
        f"give the {'second' if again else 'first'} one the parameters of `{name}`",
        of_others(trace, source, given.site),
    )


def doubled(trace: Trace) -> list[tuple[Given, Given]]:
    """The pairs of optimizers that were given the `parameters()` of the same module, and are used side by side.

    The first may have more of them, if the backwards before the steps of the second give it nothing.
    """
    last = {id(given.optimizer): given for given in trace.of(Given)}
    those = [
        (each, frozenset(map(id, each.models or each.parameters)), _what_is_given(trace, each))
        for each in last.values()
    ]
    return [
        (one, two)
        for (one, parameters, own), (two, _, same) in combinations(those, 2)
        if same and (own == same or same <= parameters)
        if _steps_after(trace, one, two) and not _made_for_others(trace, one, two)
        if own == same or _gets_nothing(trace, two)
    ]


def _gets_nothing(trace: Trace, given: Given) -> bool:
    """True if no backward right before a step of an optimizer gives a gradient to what it has."""
    own = {id(each) for step in trace.of(Stepped) for each in step.held if _is_by(step, given)}
    return own.isdisjoint(_reached_before(trace, given))


def _reached_before(trace: Trace, given: Given) -> set[int]:
    """What the backwards right before the steps of an optimizer give a gradient."""
    last: BackwardRan | None = None
    found: set[int] = set()
    for event in trace.among(BackwardRan, Stepped):
        match event:
            case BackwardRan():
                last = event
            case Stepped() if last is not None and _is_by(event, given):
                found.update(map(id, reached_leaves(last)))
    return found


def _is_by(step: Stepped, given: Given) -> bool:
    return step.optimizer is given.optimizer


def _made_for_others(trace: Trace, one: Given, two: Given) -> bool:
    """True if a function that makes optimizers was called for different things, which may share what is known."""
    if one.site.node is not two.site.node:
        return False
    frames = zip(one.site.frames(), two.site.frames(), strict=False)
    apart = next((pair for pair in frames if pair[0].node is not pair[1].node), ())
    calls = (call_of(trace, each.node) for each in apart)
    written = {tuple(map(ast.dump, call.args)) for call in calls if call is not None}
    return len(written) > 1


def _what_is_given(trace: Trace, given: Given) -> frozenset[int]:
    """The parameters of an optimizer that got `parameters()` of one module, or those that learn, and nothing else."""
    call = call_of(trace, given.site.node)
    if given.known and call is not None and call.args and _is_of_one(call.args[0]):
        return frozenset(map(id, given.models or given.parameters))
    return frozenset()


def _is_of_one(parameters: ast.expr) -> bool:
    """True for `net.parameters()`, a list of that, and those of them that require grad."""
    match parameters:
        case ast.Call(func=ast.Attribute(attr="parameters")):
            return True
        case ast.Call(func=ast.Name("list"), args=[whole]):
            return _is_of_one(whole)
        case ast.Call(func=ast.Name("filter"), args=[ast.Lambda(body=asked), whole]):
            return _is_flag(asked) and _is_of_one(whole)
        case ast.ListComp(generators=[drawn]) | ast.GeneratorExp(generators=[drawn]):
            return all(map(_is_flag, drawn.ifs)) and _is_of_one(drawn.iter)
    return False


def _is_flag(asked: ast.expr) -> bool:
    return isinstance(asked, ast.Attribute) and asked.attr == "requires_grad"


def _steps_after(trace: Trace, first: Given, second: Given) -> bool:
    """True if the first of two optimizers is still used when the second is there."""
    events = trace.among(Given, Stepped)
    made = place_in(events, second)
    return any(isinstance(event, Stepped) and event.optimizer is first.optimizer for event in events[made:])
