"""Parameters that no loss reaches by a slip: the cuts on the ways from them that were not made on purpose."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set

from gradpath.autograd.tensor import PRESUMED, SWITCHED_OFF, UNSEEN, Tensor
from gradpath.findings import cuts
from gradpath.findings.estimates import Estimate, estimate_with
from gradpath.findings.gradient_flow import lent, looks_at_gradients, optimizer_name
from gradpath.findings.graphs import moved_leaves, reached_leaves
from gradpath.findings.learning import Learner, has_strangers, learners
from gradpath.findings.parameters import in_modules
from gradpath.findings.report import Source
from gradpath.findings.rewrapping import rewrappings
from gradpath.findings.settings import is_by_setting
from gradpath.findings.stories import lifted, short_operation
from gradpath.findings.syntax import Definition, class_of, function_of
from gradpath.findings.ways import Severed, ways_by_copies, ways_of
from gradpath.interpreter.events import (
    BackwardRan,
    Bound,
    Built,
    Flagged,
    GradientSet,
    Handed,
    Mutated,
    Replaced,
    Site,
    Stepped,
    iterations_between,
)
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Trace, once
from gradpath.source.index import contents, inside, methods_called
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.traversal import reachable

_KEEPING = frozenset({"step", "clamp_", "clamp_min_", "clamp_max_", "clip_", "renorm_"})
"""Writes after which a parameter is what its gradients have made of it, within bounds."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where a person cuts: the cut itself, or the call in a block in which gradients are off.

    Zeros come from an `estimate` where one should have handed a gradient on.
    """

    site: Site
    severed: Severed
    estimate: Estimate | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Unreached:
    """Parameters that are cut off from every loss at the same places, and a step that has them."""

    parameters: tuple[Tensor, ...]
    places: tuple[Place, ...]
    step: Stepped


@once
def unreached(trace: Trace, source: Source) -> list[Unreached]:
    """The parameters of a path that get no gradient although a back-propagated loss depends on their values."""
    found = (each for each in _unreached(trace, source) if not _is_of_another_optimizer(trace, each))
    return [each for each in found if not may_train_elsewhere(trace, source, each.step)]


def key_of(tensor: Tensor) -> object:
    """The identity of a parameter across paths: where it was made, in which rounds, called from where, and its name.

    The weight and the bias of a layer are made in the same place: they have different numbers of dimensions.
    """
    made = tensor.origin if tensor.operation != UNSEEN or tensor.copied is not None else None
    dimensions = None if tensor.shape is None else len(tensor.shape)
    places = () if made is None else tuple((each.node, *(turn for _, turn in each.loops)) for each in made.frames())
    return (tensor.label, places, dimensions)


def _unreached(trace: Trace, source: Source) -> Iterator[Unreached]:
    runs = trace.of(BackwardRan)
    kept = in_modules(trace) | {id(event.tensor) for event in trace.of(Bound)}
    left = [each for each in learners(trace).values() if each.stepped and not each.given]
    free = _free_weights(trace, runs, kept)
    left += free
    if not left or not trace.is_whole or not _is_seen_through(trace, runs):
        return
    reached = {id(leaf.storage) for run in runs for leaf in moved_leaves(run)}
    changed = _changed_by_hand(trace, runs) | _frozen_for_a_time(trace)
    together: dict[tuple[int, ...], tuple[list[Tensor], tuple[Place, ...], Stepped]] = {}
    for learner in left:
        tensor = learner.tensor
        whole = tensor.member_of or tensor  # What a model that is not seen computes depends on all that it has.
        memory = {id(each) for each in (tensor.storage, *whole.storage.whole())}
        if not tensor.flag or not memory.isdisjoint(reached | changed):
            continue
        if whole.operation != UNSEEN and id(tensor) not in kept:
            continue  # The program has put another one in its place.
        ways = ways_of(trace, whole)
        if not ways.cuts and not trace.of(Given) and not looks_at_gradients(trace):
            ways = ways_by_copies(trace, whole)  # Where an optimizer is made, it is told beside that.
        severed = [each for each in ways.cuts if not is_of_another_time(each)]
        if id(whole) in coming_back(trace) or all(_is_target(trace, each) for each in severed):
            continue
        if not ways.sure or not severed or any(is_by_setting(trace, source, each) for each in severed):
            continue
        if learner in free and not all(_is_copied_at_home(trace, tensor, each.cause) for each in severed):
            continue
        zeros = [
            each for each in severed if each.cause.how in (cuts.DRAW, cuts.STEP)
        ]  # Where these arrive, a gradient was wanted.
        if not zeros and _may_be_left_out(trace, learner) and _may_be_spared(trace, source, whole, severed):
            continue  # The optimizer's maker may have left out what is cut off here.
        places = places_of(trace, source, zeros or severed)
        same = tuple(sorted(places))
        tensors, _, _ = together.setdefault(same, ([], tuple(places.values()), learner.stepped[-1]))
        tensors += [] if whole in tensors else [whole]
    for parameters, found, step in together.values():
        yield Unreached(tuple(parameters), found, step)


def _is_target(trace: Trace, severed: Severed) -> bool:
    """True if a network was run without gradients for nothing but the target of a loss, as a fixed one is."""
    cause = severed.cause
    return cause.how in SWITCHED_OFF and _taken_as(trace).get(id(cause.tensor)) == {"target"}


def _free_weights(trace: Trace, runs: Sequence[BackwardRan], kept: Set[int]) -> list[Learner]:
    """The weights that modules make themselves, beside layers, and of which no optimizer is known to have any.

    The last step of an optimizer that is not seen, and of which it is not known what it has, is taken for theirs.
    """
    steps = [step for step in trace.of(Stepped) if not step.known and not step.models and not step.held]
    if not steps or trace.of(Given):
        return []
    known = learners(trace)
    used = (each for run in runs for root in run.call.roots for each in root.ancestors())
    own = (each for each in used if each.operation == "torch.nn.Parameter" and id(each) in kept)
    return [Learner(each, stepped=[steps[-1]]) for each in dict.fromkeys(own) if id(each) not in known]


def _is_copied_at_home(trace: Trace, weight: Tensor, cause: cuts.Cause) -> bool:
    """True if the class that makes a weight makes a number, an array or a new tensor of it."""
    owner = class_of(trace, weight.origin.node)
    here = None if cause.site is None else class_of(trace, cause.site.node)
    return cuts.is_copy(cause) and owner is not None and owner is here


@once
def _taken_as(trace: Trace) -> dict[int, set[str]]:
    """The names of the inputs, of what has a graph, that were computed from each tensor without one."""
    found: dict[int, set[str]] = {}
    for event in trace.of(Built):
        for name, tensors in event.inputs.items():
            for each in reachable((one for one in tensors if not one.requires_grad), lambda tensor: tensor.maker):
                found.setdefault(id(each), set()).add(name)
    return found


def _may_be_left_out(trace: Trace, learner: Learner) -> bool:
    """True if an unseen optimizer need not have a parameter: one that is seen, or one beside others that learn.

    Whose flag the program sets is meant to learn. Where what is back-propagated comes from code that is not seen, and
    from no model, that is what the optimizer is for.
    """
    if not all(any(one is learner.tensor for one in step.unseen) for step in learner.stepped):
        return False
    if learner.tensor.operation != UNSEEN:
        return True
    steppers = {id(step.optimizer) for step in learner.stepped}
    if not steppers.isdisjoint(id(given.optimizer) for given in trace.of(Given)):
        return False
    given = (each for each in learners(trace).values() if each.given)
    others = (each for each in given if each.stepped or each.tensor.operation != UNSEEN)
    beside = any(steppers.issuperset(id(step.optimizer) for step in each.stepped) for each in others)
    beside = beside or any(map(_is_of_strangers, trace.of(BackwardRan)))
    return beside and all(event.tensor is not learner.tensor for event in trace.of(Flagged))


def _is_of_strangers(run: BackwardRan) -> bool:
    """True if a backward reaches no parameter, and goes through what a call gave that is not one of a model."""
    given = (each for node in run.executed if node.is_open for each in node.outputs if each.operation == PRESUMED)
    called = (each for each in given if isinstance(each.origin.node, ast.Call))
    strange = any(not any(one.is_parameter for one in each.lineage()) for each in called)
    return strange and not reached_leaves(run)


def _may_be_spared(trace: Trace, source: Source, parameter: Tensor, severed: Sequence[Severed]) -> bool:
    """True if the cuts may keep a parameter as it is on purpose: no slip in sight.

    A straight-through estimate is there for training alone, a weight that a class makes and cuts off itself is there to
    learn, a layer that shares a block without gradients with a model that is given is in there by the way, and what
    computes the weights of another layer is to learn by them.
    """
    if parameter.operation != UNSEEN and any(map(is_straight_through, severed)):
        return False
    severed = [each for each in severed if not _fills_weight(trace, each.cause)]
    return any(
        may_be_meant(trace, each.cause) and not _is_by_the_way(trace, source, parameter, each.cause) for each in severed
    )


def _fills_weight(trace: Trace, cause: cuts.Cause) -> bool:
    """True if a value with a graph was cut off to be assigned to the `data` of a parameter."""
    cut = cause.tensor.cut
    if cut is None or cut.source is None or cut.source.node is None:
        return False
    return any(event.source is cause.tensor and event.tensor.is_parameter for event in trace.of(Replaced))


def _is_by_the_way(trace: Trace, source: Source, parameter: Tensor, cause: cuts.Cause) -> bool:
    cut = cause.tensor.cut
    before = cause.tensor if cut is None or cause.how in SWITCHED_OFF else cut.source
    if parameter.operation == UNSEEN or before is None:
        return False
    if before is parameter:
        return True
    if parameter.operation == "torch.nn.Parameter":
        owner = class_of(trace, parameter.origin.node)
        switch = cuts.switch_of(trace, source, cause)
        place = cause.site if switch is None else switch.site
        return owner is None or place is None or class_of(trace, place.node) is owner
    return cause.how in SWITCHED_OFF and any(each.operation == UNSEEN for each in before.ancestors())


def may_be_meant(trace: Trace, cause: cuts.Cause) -> bool:
    """True if programs cut like that to keep a part as it is: by a block without gradients, or by `detach()`.

    A reentrant checkpoint is there to save memory, and `detach().numpy()` to get an array.
    """
    if cause.how in SWITCHED_OFF:
        return not cuts.is_checkpoint(cause)
    return short_operation(cause.how) in ("detach", "data") and not cuts.is_for_array(trace, cause)


def _is_seen_through(trace: Trace, runs: Sequence[BackwardRan]) -> bool:
    """True if no other backward may have reached something: each root is known, and nothing was handed out."""
    known = all(not root.is_open and not _is_of_unseen(root) for run in runs for root in run.call.roots)
    return known and not has_others(trace)


@once
def coming_back(trace: Trace) -> set[int]:
    """The tensors whose graph unseen code was handed, if a backward goes on into one that nothing seen has built."""
    executed = [node for run in trace.of(BackwardRan) for node in run.executed]
    unseen = [node for node in executed if node.name == PRESUMED]
    parts = {id(edge) for node in unseen for edge in node.edges if edge.site is node.site}  # Of one result.
    ends = [each for each in unseen if not each.edges and id(each) not in parts]
    if all(any(each.is_parameter for each in end.outputs[0].lineage()) for end in ends if end.outputs):
        return set()
    handed = [tensor for event in trace.of(Handed) for tensor in event.tensors]
    return set(map(id, reachable(handed, lambda tensor: tensor.maker if tensor.requires_grad else ())))


def has_others(trace: Trace) -> bool:
    """True if something else than the backwards that are seen may give gradients."""
    return bool(lent(trace) or trace.of(GradientSet)) or bool(rewrappings(trace))


def _is_of_unseen(root: Tensor) -> bool:
    """True if a loss must have a graph, as a backward ran through it, and the graph is unknown."""
    return root.node is not None and root.node.name == PRESUMED and not root.node.edges


def changed_by_hand(trace: Trace) -> set[object]:
    """The keys of the parameters that something else than a step changes on a path while it is trained."""
    changed = _changed_by_hand(trace, trace.of(BackwardRan))
    return {key_of(each.tensor) for each in learners(trace).values() if id(each.tensor.storage) in changed}


def _changed_by_hand(trace: Trace, runs: Sequence[BackwardRan]) -> set[int]:
    """The memory that something else than a step changes while it is trained.

    A parameter that the call with the backward has made as well only gets its first values before the backward.

    A model that is not seen counts, too, where its parameters are frozen one by one: all whose names begin alike, say.
    """
    frozen = (event.tensor.member_of for event in trace.of(Flagged) if not event.tensor.flag)
    found = {id(whole.storage) for whole in frozen if whole is not None and whole.flag}
    loops = {loop for run in runs for loop, _ in run.site.loops}
    calls = {id(frame.caller) for run in runs for frame in run.site.frames() if frame.caller is not None}
    used = {function_of(trace, run.site.node) for run in runs if _is_by_result(trace, run)}
    began = False
    for event in trace.among(Mutated, Replaced, BackwardRan):
        began = began or isinstance(event, BackwardRan)
        if not isinstance(event, (Mutated, Replaced)):
            continue
        if isinstance(event, Mutated) and short_operation(event.write.operation) in _KEEPING:
            continue
        cut = event.tensor.cut
        kept = event.tensor if cut is None or cut.source is None else cut.source
        if isinstance(event, Mutated) and _is_rewound(event, kept, loops):
            continue
        in_loop = any(loop in loops for loop, _ in event.site.loops)
        by_use = any(function_of(trace, frame.node) in used for frame in event.site.frames()) if used else False
        if in_loop or by_use or (_is_in(event.site, calls) and (began or not _is_in(kept.origin, calls))):
            found.update(id(each) for one in (event.tensor, kept) for each in (one.storage, *one.storage.within))
    return found


def _is_by_result(trace: Trace, run: BackwardRan) -> bool:
    """True if a backward and its step are presumed of a function that nothing calls."""
    return any(step.site.node is run.site.node for step in trace.of(Stepped))


def _frozen_for_a_time(trace: Trace) -> set[int]:
    """The memory that was frozen, and not thawed again before the first backward."""
    found: set[int] = set()
    began = False
    for event in trace.among(Flagged, BackwardRan):
        began = began or isinstance(event, BackwardRan)
        if isinstance(event, Flagged) and not event.value:
            found.add(id(event.tensor.storage))
        elif isinstance(event, Flagged) and not began:
            found.discard(id(event.tensor.storage))
    return found


def _is_rewound(event: Mutated, kept: Tensor, loops: Set[int]) -> bool:
    """True if a parameter gets back what it was before the loops that train it, maybe masked."""
    if short_operation(event.write.operation) != "copy_":
        return False
    upstream = (each for one in event.sources for each in one.lineage())
    cuts_off = [(each.cut.source, each.cut.site) for each in upstream if each.cut is not None]
    before = [(leaf, site) for leaf, site in cuts_off if leaf is not None and leaf.node is None]
    return bool(before) and all(
        leaf.storage is kept.storage and loops.isdisjoint(loop for loop, _ in site.loops) for leaf, site in before
    )


def _is_in(site: Site, calls: Set[int]) -> bool:
    return any(id(frame.caller) in calls for frame in site.frames())


def is_of_another_time(severed: Severed) -> bool:
    """True if the value was taken in an earlier iteration, or before the loop: a carried state, or a fixed point."""
    return is_earlier(severed.site, severed.ran.site) or is_carried(severed.cause.tensor)


def is_earlier(taken: Site, used: Site) -> bool:
    """True if what was taken at a place was so in an earlier iteration than that of its use, or before the loop."""
    own = {number for number, _ in taken.loops}
    return iterations_between(taken.loops, used.loops) is not None or any(loop not in own for loop, _ in used.loops)


def is_carried(value: Tensor) -> bool:
    """True if the value that was cut off is of an earlier iteration: the start state of truncated training."""
    cut = value.cut
    made = None if cut is None or cut.source is None else cut.source.origin
    if cut is None or not isinstance(made, Site):
        return False
    return iterations_between(made.loops, cut.site.loops) is not None


def is_on_purpose(trace: Trace, source: Source, severed: Severed) -> bool:
    """True if a cut is a straight-through estimate, or one that the program makes by a setting."""
    return is_straight_through(severed) or is_by_setting(trace, source, severed)


def is_straight_through(severed: Severed) -> bool:
    """True if a cut is the `(q - x).detach()` of `x + (q - x).detach()`, which lends `x` the value of `q`.

    It is on purpose for `x`; what `q` alone is computed from learns nothing from it.
    """
    value, ran = severed.cause.tensor, severed.ran
    cut = value.cut
    if cut is None or cut.source is None or short_operation(cut.how) not in ("detach", "data"):
        return False
    difference = cut.source
    if short_operation(difference.operation) not in ("sub", "rsub"):
        return False
    lenders = {id(each) for each in difference.maker}
    # What was computed from the other side by a choice lends its value; the other way around nothing is lent.
    live = {
        id(each)
        for each in difference.maker
        if each.requires_grad and not any(id(one) in lenders for one in each.ancestors())
    }
    sums = (tensor for root in ran.call.roots for tensor in root.lineage() if value in tensor.maker)
    return any(id(each) in live for tensor in sums for each in tensor.maker)


def _is_of_another_optimizer(trace: Trace, found: Unreached) -> bool:
    """True if an optimizer got the wrong model: that of the targets, while the one that gets gradients has none."""
    own = {id(tensor) for tensor in found.parameters}
    alone = found.step.known and all(id(tensor) in own for tensor in found.step.parameters)
    off = all(place.severed.cause.how in SWITCHED_OFF for place in found.places)
    return alone and off and bool(found.step.site.loops) and has_strangers(trace)


def places_of(trace: Trace, source: Source, severed: Sequence[Severed]) -> dict[int, Place]:
    """The cuts by the syntax node that carries them: all that happens in a block without gradients is one cut."""
    found: dict[int, Place] = {}
    for each in severed:
        site = key = each.site
        off = each.cause.how in SWITCHED_OFF
        switch = cuts.switch_of(trace, source, each.cause) if off else None
        checkpoint = cuts.checkpoint_of(each.cause) if off and switch is None else None
        if switch is not None:
            key = switch.site
            site = lifted(site, each.ran.site if switch.block is None else switch.site)
        elif checkpoint is not None:
            site = key = checkpoint
        estimate = estimate_with(trace, each.cause.tensor, each.ran, steps=each.cause.how == cuts.STEP)
        if estimate is not None:
            site = key = estimate.site
        found.setdefault(id(key.node), Place(site, each, estimate))
    return found


def may_train_elsewhere(trace: Trace, source: Source, step: Stepped, model: str = "") -> bool:
    """True if a function that does not run on this path back-propagates a loss for the same optimizer.

    Or for any other, if it speaks of what is called `model`.
    """
    tree = source.tree(step.site.path)
    optimizer = optimizer_name(trace, source, step.site, step.site)
    if _stays_here(trace, step, optimizer):
        return False
    ran = {getattr(node, "lineno", 0) for node in trace.visits}
    functions: list[Definition] = [*inside(tree, ast.FunctionDef), *inside(tree, ast.AsyncFunctionDef)]
    strange = _methods_of_strangers(trace, tree, step.site) if (optimizer or "").startswith("self.") else set()
    for function in functions:
        if function.body[-1].lineno not in ran and function not in strange:
            methods = [(owner, method) for owner, method, _ in methods_called(function)]
            steps = [owner for owner, method in methods if method == "step"]
            trains = any(method in ("backward", "manual_backward") for _, method in methods)
            if trains and (not steps or optimizer in [*map(ast.unparse, steps)] or _speaks_of(function, model)):
                return True
    return False


def _methods_of_strangers(trace: Trace, tree: ast.Module, site: Site) -> set[Definition]:
    """The methods of classes that are neither that of a site nor derive from it, or it from them."""
    own = class_of(trace, site.node)
    if own is None:
        return set()
    kin = {own.name, *map(ast.unparse, own.bases)}
    strange = (
        each for each in inside(tree, ast.ClassDef) if kin.isdisjoint((each.name, *map(ast.unparse, each.bases)))
    )
    return {method for each in strange for method in each.body if isinstance(method, Definition)}


def _speaks_of(function: Definition, name: str) -> bool:
    inner = contents(function)
    return any(each.id == name for each in inner.names) or any(each.attr == name for each in inner.attributes)


def _stays_here(trace: Trace, step: Stepped, optimizer: str | None) -> bool:
    """True if the function of a step makes its optimizer, keeps it in a variable of its own, and does not return it.

    A function that is handed it runs on this path.
    """
    function = function_of(trace, step.site.node)
    made = any(
        given.optimizer is step.optimizer and function_of(trace, given.site.node) is function
        for given in trace.of(Given)
    )
    if function is None or not made or optimizer is None or "." in optimizer:
        return False
    returned = (each for value in inside(function, ast.Return) for each in contents(value).names)
    return all(each.id != optimizer for each in returned)
