"""What was kept of parameters is the parameters themselves, so that it changes with them: no copy was made."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.aliases import memory_of, whole_of
from gradpath.autograd.tensor import UNSEEN, Tensor
from gradpath.diagnostic import Level
from gradpath.findings.averages import Mixture, computed_at, mixtures, values_of
from gradpath.findings.learning import learners
from gradpath.findings.parameters import tensors_of
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import lifted, short_operation
from gradpath.findings.syntax import ancestry, function_of, statement_of, tests_of
from gradpath.fixes.out_of_place import copied
from gradpath.interpreter.events import Bound, Built, CutOff, Mutated, Replaced, Site, Stepped
from gradpath.interpreter.ownership import Loaded, Named, Overwritten, Rejoined, Taken
from gradpath.interpreter.trace import Trace
from gradpath.rules.ownership.best_states import BestState, best_states
from gradpath.rules.ownership.second_names import of_twins, references
from gradpath.rules.ownership.shared_data import shared_data
from gradpath.source.index import holds, variables
from gradpath.source.nodes import last_name
from gradpath.support.fast_dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, eq=False)
class _Used:
    """An alias that was `made` of a parameter was mixed with that at `site`, after something `changed` both."""

    made: Site
    changed: Site
    site: Site


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """States and values that were kept before a step, and are loaded or mixed in after it."""
    for event in trace.of(Loaded):
        report = _of_state(trace, source, event)
        if report is not None:
            yield report
    for kept in best_states(trace):
        yield _of_best(trace, source, kept)
    if not trace.of(Stepped):
        here = (each for each in trace.of(Rejoined) if function_of(trace, each.site.node) is trace.entry)
        yield from (_of_rejoined(trace, source, each, None) for each in here)
        return
    times = {id(event): time for time, event in enumerate(trace.events)}
    for found in _mixed(trace, times):
        yield _of_value(trace, source, found)
    for difference, used in _differences(trace):
        yield _of_difference(source, difference, used)
    for mixture in {each.site.node: each for each in mixtures(trace) if not each.others}.values():
        if len(mixture.names) > 1:
            yield _of_itself(trace, source, mixture)
    for rejoined, step in _rejoined(trace):
        yield _of_rejoined(trace, source, rejoined, step)
    for mixture, step in _led(trace):
        yield _of_led(source, mixture, step)
    yield from shared_data(trace, source)
    for each in references(trace, source):
        last = Step(each.site, "is computed with the network that is trained")
        yield of_twins(trace, source, each.first, each.second, last)


def _of_state(trace: Trace, source: Source, event: Loaded) -> Report | None:
    loaded = source.short(event.site, limit=44)
    if holds(event.site.node, event.taken.site.node):
        twins = _names_of(trace, event)
        if len(twins) > 1:
            return of_twins(trace, source, twins[0], twins[-1], Step(event.site, "loads what is there already"))
        return Report(
            event.site,
            f"`{loaded}` changes nothing: it loads what is there",
            (Step(event.site, "reads the parameters, and writes the same values into them"),),
            help="load the state of the network that is to be copied",
        )
    change = _change_between(trace, event)
    if change is None:
        return None
    return _of_kept(trace, source, event.taken.site, change, Step(event.site, "loads what is there already"))


def _of_kept(trace: Trace, source: Source, at: Site, change: Site, last: Step) -> Report:
    """The report of a state that was kept, with what it is used for."""
    taken = source.short(at, limit=32)
    return Report(
        at,
        f"`{taken}` is no copy: it changes with the model",
        (Step(at, "shares the memory of the parameters"), Step(change, "changes both"), last),
        help=f"keep a copy: `copy.deepcopy({taken})`",
        fixes=source.proposed(copied(trace, source, at)),
    )


def _of_best(trace: Trace, source: Source, kept: BestState) -> Report:
    """The report of what was the best so far, and is the last one when it is used."""
    if not kept.model:
        return _of_kept(trace, source, kept.site, kept.step.site, Step(kept.reads, "is the state after the last step"))
    return Report(
        kept.site,
        f"`{source.short(kept.site, limit=40)}` copies nothing: it is the model that is trained on",
        (
            Step(kept.site, "another name of the same model"),
            Step(kept.step.site, "changes it by either name"),
            Step(kept.reads, "is the model after the last step"),
        ),
        help=f"keep a copy: `copy.deepcopy({kept.model})`",
    )


def _names_of(trace: Trace, event: Loaded) -> list[Named]:
    """Where the names by which one network is loaded from itself were bound to it, in the order of the path."""
    read = set(map(last_name, _names_in(event.site.node)))
    named = [each for each in trace.of(Named) if each.module is event.owner and each.name in read]
    return list({each.name: each for each in named}.values())


def _twins_with(trace: Trace, parameter: Tensor) -> list[Named]:
    """Where the names of one network with a parameter were given to it, in the order of the path: the smallest one."""
    networks: dict[int, dict[str, Named]] = {}
    for event in trace.of(Named):
        assigned = isinstance(statement_of(trace, event.site.node), ast.Assign)
        if assigned and any(each is parameter for each in tensors_of(event)):
            networks.setdefault(id(event.module), {}).setdefault(event.name, event)
    return next((list(each.values()) for each in networks.values() if len(each) > 1), [])


def _unseen_twins(trace: Trace, mixture: Mixture) -> list[Bound]:
    """The same of a network that is not seen, by the names that lead to the place: of a loop, or handed over."""
    frames = mixture.site.frames()
    loops = (each for frame in frames for each in ancestry(trace, frame.node) if isinstance(each, ast.For))
    heads = [*(each.iter for each in loops), *(frame.node for frame in frames if isinstance(frame.node, ast.Call))]
    read = {last_name(each) for head in heads for each in variables(head)}
    networks: dict[int, dict[str, Bound]] = {}
    for event in trace.of(Bound):
        assigned = isinstance(statement_of(trace, event.site.node), ast.Assign)
        if assigned and event.name in read and event.tensor is None:
            networks.setdefault(id(event.value), {}).setdefault(event.name, event)
    return next((list(each.values()) for each in networks.values() if len(each) > 1), [])


def _names_in(node: ast.AST) -> list[ast.Attribute | ast.Name]:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Attribute() | ast.Name() as own), args=[given, *_]):
            return [own, *_names_in(given)]
        case ast.Call(func=ast.Attribute(value=ast.Attribute() | ast.Name() as own)):
            return [own]
    return []


def _change_between(trace: Trace, event: Loaded) -> Site | None:
    """A step after the state was taken, also one of the same loop, where that takes it only if a condition holds.

    Or a write into the parameters by another way than the state itself, through which a program may load them.
    """
    own = {id(each) for each in event.tensors}
    begun, ended = trace.events.index(event.taken), trace.events.index(event)
    loops, after = dict(event.taken.site.loops), dict(event.site.loops)
    for time, change in enumerate(trace.events[:ended]):
        match change:
            case Stepped(site=site) if _concerns(change, own):
                around = [number for number, _ in site.loops if number in loops and number not in after]
                if time > begun or (around and tests_of(trace, event.taken.site)):
                    return site
            case Mutated(site=site, tensor=tensor) if time > begun and id(memory_of(tensor)) in own:
                if not _is_entry(tensor, event.taken.site):
                    return site
    return None


def _is_entry(tensor: Tensor, taken: Site) -> bool:
    """True if a tensor was got at through a state that was taken, such as `state[name].data`."""
    while memory_of(tensor) is not tensor and tensor.origin != taken:
        (tensor,) = tensor.maker
    return bool(tensor.origin == taken)


def _concerns(step: Stepped, parameters: set[int]) -> bool:
    return any(id(each) in parameters for each in (*step.updated, *step.unseen))


def _mixed(trace: Trace, times: dict[int, int]) -> Iterator[_Used]:
    """Writes of nothing but what a parameter holds into the same parameter, one of them by an older name."""
    named = {id(each.tensor): times[id(each)] for each in reversed(trace.of(Bound)) if each.tensor is not None}
    for event in trace.of(Mutated):
        parameter = memory_of(event.tensor)
        if parameter.is_parameter and event.sources:
            values = [each for source in event.sources for each in values_of(source, event.site)]
            if all(memory_of(each) is parameter for each in values):
                computed = {id(each) for source in event.sources for each in computed_at(source, event.site)}
                computed -= set(map(id, values))  # A variable may keep what was computed of an alias much earlier.
                now = min([times[id(event)], *(named[each] for each in computed & named.keys())])
                yield from _aged(trace, times, parameter, (event.tensor, *values), event.site, now)


def _differences(trace: Trace) -> Iterator[tuple[Tensor, Site]]:
    """Differences of a parameter from what shares its memory, without a graph, and the place that has used each."""
    moved = {id(each.tensor) for each in trace.of(Replaced)}
    found: dict[object, tuple[Tensor, Site]] = {}
    seen: dict[tuple[object, ...], set[int]] = {}
    for event in trace.events:
        if not isinstance(event, (Built, Mutated)):
            continue
        site, given = event.site, event.operands if isinstance(event, Built) else event.sources
        here = seen.setdefault((id(site.caller), site.loops), set())
        for each in (one for source in given for one in computed_at(source, site, here)):
            if each.node is not None or len(each.maker) != 2 or short_operation(each.operation) != "sub":
                continue
            one, other = map(memory_of, each.maker)
            if one is other and one.is_parameter and one.operation != UNSEEN and id(one) not in moved:
                found.setdefault(getattr(each.origin, "node", None), (each, site))
    yield from found.values()


def _rejoined(trace: Trace) -> Iterator[tuple[Rejoined, Stepped]]:
    """The variables that a training binds to a model of which they held a copy, and the step that changes both then."""
    for event in {each.site.node: each for each in trace.of(Rejoined)}.values():
        around = {number for number, _ in event.site.loops}
        for step in trace.of(Stepped):
            if _concerns(step, set(map(id, event.weights))) and around.issuperset(
                number for number, _ in step.site.loops
            ):
                yield event, step
                break


def _of_rejoined(trace: Trace, source: Source, event: Rejoined, step: Stepped | None) -> Report:
    """The report of a copy that is given up for the model itself."""
    at = replace(event.site, node=statement_of(trace, event.site.node))
    return Report(
        at,
        f"`{source.short(at, limit=44)}` copies nothing: from here on both names are one network",
        (Step(at, "held a copy until now"), *(() if step is None else (Step(step.site, "changes both"),))),
        help="load the state into the copy, `load_state_dict(...)`, or make a new one with `copy.deepcopy()`",
    )


def _led(trace: Trace) -> Iterator[tuple[Mixture, Stepped]]:
    """Mixtures by which a network that a step trains comes closer to one that nothing changes: it was to follow.

    A loss of the trained one was computed with the other, which is no mere anchor of the weights.
    """
    known, changed = learners(trace), _changed(trace)
    for mixture in mixtures(trace):
        if len(mixture.others) != 1:
            continue
        own, other = whole_of(mixture.own), whole_of(mixture.others[0])
        learner, followed = known.get(id(own)), known.get(id(other))
        if learner is None or not learner.used or id(other) in changed or other is own:
            continue
        if followed is not None and (followed.given or followed.used):
            continue
        around = {number for number, _ in mixture.site.loops}
        if any(number not in around for number, _ in learner.used[0].site.loops):
            continue  # What has been trained is averaged in the end.
        if mixture.loaded and _begins_again(trace, mixture, learner.used[0]):
            continue
        if any(each is other for ran in learner.given for root in ran.call.roots for each in root.ancestors()):
            yield mixture, learner.used[0]


def _begins_again(trace: Trace, mixture: Mixture, step: Stepped) -> bool:
    """True if a network is loaded before each step, and used after it: it adapts to each sample from the same start."""
    function = function_of(trace, step.site.node)
    if not step.site.loops or function is None:
        return isinstance(trace.among(Overwritten, Stepped)[0], Overwritten)
    label = whole_of(mixture.own).label
    after = (each for each in variables(function) if each.lineno > step.site.line)
    names = (each.attr if isinstance(each, ast.Attribute) else each.id for each in after)
    return mixture.site.line < step.site.line and label in names


def _changed(trace: Trace) -> set[int]:
    """The parameters that a path writes from the first step on, and those of unseen models of which it writes some."""
    since = next((time for time, each in enumerate(trace.events) if isinstance(each, Stepped)), 0)
    written = (event.tensor for event in trace.events[since:] if isinstance(event, Mutated | Replaced | Overwritten))
    return {id(whole_of(memory_of(tensor))) for tensor in written}


def _aged(
    trace: Trace, times: dict[int, int], parameter: Tensor, aliases: tuple[Tensor, ...], site: Site, now: int
) -> Iterator[_Used]:
    """The first alias that is older than what changed the parameter, unless that got other memory since."""
    for alias in aliases:
        born = _born(trace, times, alias)
        if born is None:
            continue
        between = trace.events[born:now]
        if any(isinstance(each, Replaced) and each.tensor is parameter for each in between):
            return
        own = {id(parameter)}
        seen = any(_concerns(each, own) for each in trace.of(Stepped))
        steps = (each for each in between if isinstance(each, Stepped))
        change = next((each.site for each in steps if _concerns(each, own) or not (seen or each.known)), None)
        if change is None:
            change = next((each.site for each in between if _overwrites(each, parameter, alias)), None)
        if change is not None:
            yield _Used(alias.origin, change, site)
            return


def _overwrites(event: object, parameter: Tensor, alias: Tensor) -> bool:
    """True if a parameter gets other values, and by another way than an alias that was to keep them."""
    if not isinstance(event, Mutated) or event.tensor is alias or short_operation(event.write.operation) != "copy_":
        return False
    return memory_of(event.tensor) is parameter and all(memory_of(each) is not parameter for each in event.sources)


def _born(trace: Trace, times: dict[int, int], alias: Tensor) -> int | None:
    """When an alias was made, or what it is an alias of in turn."""
    while memory_of(alias) is not alias:
        for event in trace.among(CutOff, Taken):
            taken = isinstance(event, Taken) and event.site == alias.origin
            if taken or (isinstance(event, CutOff) and event.tensor is alias):
                return times[id(event)]
        (alias,) = alias.maker
    return None


def _of_value(trace: Trace, source: Source, found: _Used) -> Report:
    """The report of an alias that was to be a copy."""
    text = source.short(found.made, limit=30)
    at = lifted(found.made, found.made)
    return Report(
        at,
        f"`{text}` is no copy: it changes with the parameter",
        (
            Step(at, "shares the memory of the parameter"),
            Step(found.changed, "changes both"),
            Step(found.site, "mixes the parameter with itself"),
        ),
        help=f"keep a copy: `{text}.clone()`",
        fixes=source.proposed(copied(trace, source, found.made)),
    )


def _of_difference(source: Source, difference: Tensor, used: Site) -> Report:
    """The report of a distance that is zero."""
    text = source.short(difference.origin, limit=30)
    return Report(
        difference.origin,
        f"`{text}` is zero on every run: both are one parameter",
        (Step(difference.origin, "compares a parameter with itself"), Step(used, "makes no difference by it")),
        help="compare with a copy that was kept before: `p.detach().clone()`",
    )


def _of_itself(trace: Trace, source: Source, mixture: Mixture) -> Report:
    """The report of a network that is mixed with itself, as it has two names, is handed over or gone through twice."""
    twins = _twins_with(trace, mixture.own) or _unseen_twins(trace, mixture)
    if len(twins) > 1:
        last = Step(mixture.site, "mixes the network with itself: it stays as it is")
        return of_twins(trace, source, twins[0], twins[-1], last)
    caller = mixture.site.caller
    at = mixture.site if caller is None or not isinstance(caller.node, ast.Call) else caller
    one, other = mixture.names[:2]
    return Report(
        at,
        f"`{source.short(at, limit=40)}` mixes a network with itself",
        (Step(mixture.site, f"`{one}` and `{other}` are one parameter: it stays as it is"),),
        help="go through the parameters of the network that is to follow, and of the one that it follows",
    )


def _of_led(source: Source, mixture: Mixture, step: Stepped) -> Report:
    """The report of an average that is written into the network which was to be averaged."""
    caller = mixture.site.caller
    handed = caller is not None and isinstance(caller.node, ast.Call) and bool(caller.node.args)
    at = lifted(mixture.site, step.site) if handed else mixture.site
    return Report(
        at,
        f"`{source.short(at, limit=40)}` writes into the network that is trained: the other one never changes",
        (
            Step(step.site, "trains a network"),
            Step(
                mixture.site,
                "overwrites all that it has learnt with the other one, which stays as it was at the start"
                if mixture.loaded
                else "mixes the other one into it, which stays as it was at the start",
            ),
        ),
        help="load it before the training, or load the network that is trained into the other one"
        if mixture.loaded
        else "write the average into the network that is to follow: exchange the two",
    )


def _never(trace: Trace, report: Report) -> bool:
    """No other path makes a copy of what was none, whether it changes the parameters in between or not."""
    return False


RULE = Rule(
    "aliased-copy",
    "in-place",
    Level.WARNING,
    "what was kept of parameters shares their memory, and changes with them",
    find,
    denied=_never,
    lasting=True,
    idle=True,
)
