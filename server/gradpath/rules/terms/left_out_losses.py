"""What is computed beside the loss that is back-propagated and left out of it: losses, penalties, and late terms."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set

from gradpath.autograd.tensor import Node, Tensor
from gradpath.findings.cuts import COMPARISONS
from gradpath.findings.gradient_flow import place_in
from gradpath.findings.graphs import executed_nodes, leaves, reached_leaves, uses_of
from gradpath.findings.learning import learners
from gradpath.findings.report import Report, Source, Step
from gradpath.findings.stories import bindings, lifted, same_activation, short_operation, target_of
from gradpath.findings.syntax import statement_of
from gradpath.findings.unreached import has_others, may_be_meant, may_train_elsewhere
from gradpath.findings.ways import ways_of
from gradpath.fixes.cut_fixes import added
from gradpath.interpreter.events import BackwardRan, Bound, Built, CutOff, Site, Stepped, in_record, tensor_of
from gradpath.interpreter.trace import Trace, once
from gradpath.rules.terms.summands import unscaled
from gradpath.source.index import names_of
from gradpath.support.fast_dataclasses import dataclass

_ADDING = frozenset({"add", "sub", "add_", "sub_"})


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """A loss, computed at `site` and called `name`, of what `parameters` compute that nothing else trains.

    `ran` is the backward of the same iteration, `step` one of an optimizer that has the parameters, or is presumed to.
    """

    site: Site
    name: str
    parameters: tuple[Tensor, ...]
    ran: BackwardRan
    step: Stepped

    @property
    def beside(self) -> bool:
        """True if the function of the backward has the loss under that name, and one loss alone."""
        return self.name.isidentifier() and same_activation(self.site, self.ran.site) and not self.repeated

    @property
    def repeated(self) -> bool:
        """True if a loop before the backward computes one after the other, and nothing adds them up."""
        return len(self.site.loops) > len(self.ran.site.loops)

    @property
    def held(self) -> bool:
        """True if the optimizer is seen to have the parameters; else that is presumed."""
        return self.step.known or any(each is self.parameters[0] for each in self.step.held)


def left_out_losses(trace: Trace, source: Source) -> Iterator[LeftOut]:
    """The numbers with a graph that end where they are, as far as they depend on parameters that get no gradient.

    They stand beside a backward, in the same iteration, and nothing that is not seen can back-propagate them, nor stand
    in place of an expression that failed.
    """
    runs = [run for run in trace.of(BackwardRan) if run.call.accumulates]
    followed = trace.is_whole and not has_others(trace) and not trace.survived
    waiting = _waiting(trace, runs) if runs and followed else {}
    ends = unread_nodes(trace) if waiting else set()
    for event in reversed(trace.of(Built) if waiting else ()):
        ran = next((run for run in reversed(runs) if _is_beside(trace, event, run)), None)
        loss = next(iter(event.node.outputs), None)
        if ran is None or event.node not in ends or loss is None or unscaled(loss).one_element is not True:
            continue
        own = (leaf for leaf in leaves([event.node]) if id(leaf) in waiting)
        missed = [leaf for leaf in own if not _is_cut_off(trace, loss, leaf)]
        if missed and not is_passed_on(trace, loss):
            found = LeftOut(*_named_at(trace, source, loss, ran), tuple(missed), ran, waiting[id(missed[0])])
            for leaf in missed:
                del waiting[id(leaf)]
            if not may_train_elsewhere(trace, source, found.step, "" if found.held else missed[0].label):
                yield found


def _is_beside(trace: Trace, loss: Built, ran: BackwardRan) -> bool:
    """True if a loss is computed in the same iteration as a backward, or before it in a loop of its own.

    A loop after the backward tests what has been learned.
    """
    own, around = loss.site.loops, ran.site.loops
    alone = len(own) == len(around) or trace.place_of(loss) < trace.place_of(ran)
    return alone and own[: len(around)] == around


def _waiting(trace: Trace, runs: Sequence[BackwardRan]) -> dict[int, Stepped]:
    """The parameters that no backward reaches, with a step of an optimizer that has them, or is presumed to.

    That optimizer changes others. What is not seen of a loss may depend on what was handed to it.
    """
    contained = {id(each) for run in runs for root in run.call.roots if root.is_open for each in root.lineage()}
    reached = {id(leaf.storage) for run in trace.of(BackwardRan) for leaf in reached_leaves(run)}
    moved = {id(step.optimizer) for step in trace.of(Stepped) if step.updated or not step.known}
    steps = [(each.tensor, each.stepped[-1]) for each in learners(trace).values() if each.stepped and not each.given]
    steps += [(tensor, step) for step in trace.of(Stepped) for tensor in step.meant]
    return {
        id(leaf): step
        for leaf, step in reversed(steps)
        if leaf.flag and id(step.optimizer) in moved and id(leaf) not in contained and reached.isdisjoint(_memory(leaf))
    }


@once
def unread_nodes(trace: Trace) -> set[Node]:
    """The nodes that no other node takes a tensor of, and that no backward has executed."""
    built = trace.of(Built)
    used = {edge for event in built for edge in event.node.edges}
    return {event.node for event in built} - used - executed_nodes(trace)


def _memory(leaf: Tensor) -> set[int]:
    whole = leaf.member_of or leaf
    return {id(each) for each in (leaf.storage, *whole.storage.whole())}


def _is_cut_off(trace: Trace, loss: Tensor, leaf: Tensor) -> bool:
    """True if it is a cut that keeps a parameter from what is back-propagated: of the loss itself, or by a slip."""
    for each in ways_of(trace, leaf.member_of or leaf).cuts:
        source = each.cause.tensor.cut.source if each.cause.tensor.cut is not None else None
        if not may_be_meant(trace, each.cause) or (source is not None and any(one is loss for one in source.lineage())):
            return True
    return False


def is_passed_on(trace: Trace, loss: Tensor) -> bool:
    """True if something else may back-propagate a loss: it was returned, kept or handed to what is not seen.

    Or it was compared, as with the loss that may be taken in its place: `first if first > second else second`.
    """
    if loss.left is not None or any(tensor_of(each) is loss for each in in_record(trace.returned)):
        return True
    if id(loss) in _compared(trace):
        return True
    return any(isinstance(bound.site.node, ast.Attribute) for bound in bindings(trace, loss))


@once
def _compared(trace: Trace) -> set[int]:
    """The tensors that were compared, by identity."""
    results = (each.tensor for each in trace.of(CutOff) if short_operation(each.tensor.operation) in COMPARISONS)
    return {id(each) for result in results for each in result.maker}


def _named_at(trace: Trace, source: Source, loss: Tensor, ran: BackwardRan) -> tuple[Site, str]:
    """Where a loss gets its first name, and that; else the call that computes it in the function of the backward."""
    assert loss.node is not None
    bound = {id(statement_of(trace, each.site.node)): each for each in bindings(trace, loss) if each.tensor is loss}
    for frame in loss.node.site.frames():
        named = bound.get(id(statement_of(trace, frame.node)))
        if named is not None:
            return named.site, target_of(source, named)
    site = lifted(loss.node.site, ran.site)
    return site, source.short(site, limit=40)


def left_out_penalties(trace: Trace, source: Source, ran: BackwardRan) -> Iterator[Report]:
    """The results that depend on a gradient with a graph, and end beside a backward that comes in the same iteration.

    What is computed after it is there to be watched, as is what the same place computes for a loss at other times.
    """
    if not _spare_gradients(trace) or has_others(trace):
        return
    before = (event for event in trace.events[: place_in(trace.events, ran)] if isinstance(event, Built))
    made = [event for event in before if event.site.loops == ran.site.loops]
    spare = {each for event in made for each in event.operands if each in _spare_gradients(trace)}
    spent = {node.site.node for node in executed_nodes(trace)}
    ends = {node for node in unread_nodes(trace) if node.site.node not in spent}
    for event in made:
        penalty = next(iter(event.node.outputs), None)
        if event.node not in ends or penalty is None or penalty.node is not event.node:
            continue  # What was written or cut off in place since is another value.
        if is_passed_on(trace, penalty) or not bindings(trace, penalty):
            continue  # A tensor without a name is there to be watched.
        gradient = next((each for each in penalty.ancestors() if each in spare), None)
        if gradient is not None:
            site, name = _named_at(trace, source, penalty, ran)
            term = name if penalty.one_element is True else f"{name}.mean()"
            yield Report(
                site,
                f"`{name}` is in no loss that is back-propagated: the graph of its gradient is built for nothing",
                (
                    Step(gradient.origin, "builds a graph of the gradient, by `create_graph=True`"),
                    Step(site, "what is computed of it, and goes nowhere"),
                    Step(ran.site, "goes back through a loss without it"),
                ),
                help=f"add `{term}` to the loss, or drop `create_graph=True` if it is there to be watched",
                fixes=source.proposed(added(trace, source, ran.site, term)) if name.isidentifier() else (),
            )


@once
def _spare_gradients(trace: Trace) -> Set[Tensor]:
    """The gradients that could be differentiated, that something is computed of, and that no backward goes through."""
    given = {each for event in trace.of(Built) for each in event.operands if each.operation == "gradient"}
    used = executed_nodes(trace) if given else frozenset()
    return {each for each in given if each.requires_grad and each.node not in used}


def late_terms(trace: Trace, source: Source, ran: BackwardRan) -> Iterator[Report]:
    """The sums under the name of the loss, in the iteration of its backward, that no backward goes through."""
    executed = executed_nodes(trace)
    roots = set(map(id, ran.call.roots))
    bound = [each for root in ran.call.roots for each in bindings(trace, root)]
    uses = {id(event): event for key in roots for event in uses_of(trace).get(key, ())}
    for event in uses.values():
        rest = [each for each in event.operands if id(each) not in roots]
        if (
            0 < len(rest) < len(event.operands)
            and event.site.loops == ran.site.loops
            and short_operation(event.node.name) in _ADDING
            and event.node not in executed
            and all(each.certainly_requires_grad and each.node not in executed for each in rest)
            and _is_under_its_name(trace, event, bound)
            and not any(is_passed_on(trace, each) for each in event.node.outputs)
            and place_in(trace.events, event) > place_in(trace.events, ran)
        ):
            at = lifted(event.site, ran.site)
            text = source.short(at, statement_of(trace, at.node), limit=44)
            yield Report(
                at,
                f"nothing learns from what `{text}` adds: the loss was back-propagated before",
                (
                    Step(ran.site, "goes back through the loss as it was"),
                    Step(at, "adds a term that no backward goes through"),
                ),
                help="add the term before the backward",
            )


def _is_under_its_name(trace: Trace, event: Built, bound: Sequence[Bound]) -> bool:
    """True if a sum takes the place of a loss that is `bound` in the same call; a total has but the name of one."""
    name = _variable_of(statement_of(trace, event.site.node))
    return any(each.name == name and same_activation(each.site, event.site) for each in bound)


def _variable_of(statement: ast.stmt) -> str:
    """The variable that gets what is computed of itself: `loss = loss + term`; "" where none does."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=name)):
            return name
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in names_of(value):
            return name
    return ""
