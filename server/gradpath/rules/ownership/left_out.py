"""Modules that no optimizer was given: made again in each forward, or left out when the optimizer was made."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from functools import partial
from itertools import combinations

from gradpath.autograd.tensor import UNSEEN, Node, Shape, Tensor
from gradpath.findings.gradient_flow import flow_of, is_harmless
from gradpath.findings.graphs import leaves, reached_leaves
from gradpath.findings.parameters import tensors_of, ways_of
from gradpath.findings.report import Source
from gradpath.findings.syntax import ancestry, call_of, function_of, statement_of
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import (
    BackwardRan,
    Bound,
    Built,
    Flagged,
    GradientSet,
    Lent,
    Mutated,
    Named,
    Replaced,
    Site,
    Stepped,
    Trace,
)
from gradpath.rules.loops.never_stepped import looks_at_gradients
from gradpath.source.document import Document
from gradpath.source.index import methods_called
from gradpath.source.parse import parse
from gradpath.support.fast_dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Remade:
    """A layer that a `forward` makes, uses and forgets; `site` is where it is made."""

    tensors: tuple[Tensor, ...]
    site: Site


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A module in a variable that shares no parameter with any optimizer; `before` if it feeds one that is trained."""

    tensors: tuple[Tensor, ...]
    bound: Named
    before: bool = False

    @property
    def site(self) -> Site:
        """Where the variable was bound."""
        return self.bound.site


@dataclass(frozen=True, slots=True)
class GivenTwice:
    """The parameters of one module went to two optimizers, first and then at `site`; no optimizer got `tensors`."""

    tensors: tuple[Tensor, ...]
    first: Given
    second: Given

    @property
    def site(self) -> Site:
        """Where the second optimizer was made."""
        return self.second.site


@dataclass(frozen=True, slots=True)
class Rebound:
    """A module that took the place of the one, in the same variable, whose parameters an optimizer was `given`."""

    tensors: tuple[Tensor, ...]
    bound: Named
    given: Given

    @property
    def site(self) -> Site:
        """Where the variable got the other module."""
        return self.bound.site


def rebound(trace: Trace, held: Set[int]) -> Iterator[Rebound]:
    """Variables of trained modules that are bound to other modules, such as a copy of the best one.

    No optimizer holds a parameter of the new one, and all of it was made after the optimizer of the old one.
    """
    strange = {id(tensor): tensor for tensor in _reached_strangers(trace, held)}
    owners: dict[int, Given] = {}
    before: dict[tuple[str, object], Named] = {}
    for event in trace.among(Given, Named):
        if isinstance(event, Given):
            owners |= dict.fromkeys(map(id, event.parameters), event)
        elif isinstance(event, Named):
            key = event.name, event.site.caller
            old, before[key] = before.get(key), event
            given = None if old is None else next((owners[each] for each in ways_of(old) if each in owners), None)
            tensors = tuple(strange[each] for each in ways_of(event) if each in strange)
            if given is not None and tensors and held.isdisjoint(ways_of(event)):
                yield Rebound(tensors, event, given)


@dataclass(frozen=True, slots=True)
class Copied:
    """A copy, made at `site`, that gets the gradients in place of what the optimizer was `given`."""

    tensors: tuple[Tensor, ...]
    site: Site
    given: Given


def copied(trace: Trace, held: Set[int]) -> Iterator[Copied]:
    """The copies of trained modules that no optimizer has, and that are never trained together with the original.

    The gradients of a copy that is compared with its original are of no use, and those that are read may be handed on.
    """
    copies = [leaf for leaf in _reached_strangers(trace, held) if leaf.copied is not None]
    if not copies or looks_at_gradients(trace) or trace.of(GradientSet):
        return
    together = [set(map(id, reached_leaves(run))) for run in trace.of(BackwardRan)]
    owners = {id(each): given for given in trace.of(Given) for each in given.parameters}
    found: dict[int, tuple[Given, Site, list[Tensor]]] = {}
    for leaf in copies:
        given = owners.get(id(leaf.copied))
        if given is None or not isinstance(leaf.origin, Site):
            continue
        if not any({id(leaf), id(leaf.copied)} <= reached for reached in together):
            found.setdefault(id(leaf.origin.node), (given, leaf.origin, []))[2].append(leaf)
    for given, site, tensors in found.values():
        yield Copied(tuple(tensors), site, given)


@dataclass(frozen=True, slots=True)
class Unregistered:
    """A leaf that the `__init__` of a module made and no `parameters()` gives, while other parameters are trained."""

    tensors: tuple[Tensor, ...]
    site: Site
    name: str
    given: Given


def unregistered(trace: Trace, held: Set[int]) -> Iterator[Unregistered]:
    """The tensors that a module keeps as attributes: `self.scale = torch.ones(1, requires_grad=True)`."""
    kept = held | touched(trace)
    reached = {id(leaf): leaf for run in trace.of(BackwardRan) if run.call.accumulates for leaf in reached_leaves(run)}
    names = {id(event.tensor): event for event in trace.of(Bound) if event.tensor is not None}
    for number, leaf in reached.items():
        made = None if number in kept or _is_of_layer(leaf) else _constructed(trace, leaf)
        if made is None:
            continue
        own = None if leaf.is_parameter else names.get(number)
        bound = own or next((names[each] for each in names if _is_moved(names[each], leaf)), None)
        if bound is None or not isinstance(leaf.origin, Site) or bound.site.caller is not leaf.origin.caller:
            continue
        for given in trace.of(Given):
            if any(_constructed(trace, each) is made for each in given.parameters):
                yield Unregistered((leaf,), bound.site, bound.name, given)
                break


def _is_moved(bound: Bound, leaf: Tensor) -> bool:
    """True if a variable was bound to what a leaf became on another device, or in another type."""
    return bound.tensor is not None and len(bound.tensor.maker) == 1 and bound.tensor.maker[0] is leaf


def _constructed(trace: Trace, tensor: Tensor) -> Site | None:
    """The call of the class with a `forward` whose `__init__` has made a tensor, or the layer that it is of."""
    made = tensor.origin
    frames = made.frames() if isinstance(made, Site) else ()
    for frame in frames:
        around = [each for each in ancestry(trace, frame.node) if isinstance(each, ast.FunctionDef | ast.ClassDef)]
        match around:
            case [*_, ast.ClassDef(body=body), ast.FunctionDef(name="__init__")]:
                methods = (each.name for each in body if isinstance(each, ast.FunctionDef))
                return frame.caller if "forward" in methods else None
            case _:
                pass
    return None


def given_twice(trace: Trace, held: Set[int]) -> Iterator[GivenTwice]:
    """The optimizers that have all parameters of what another one trains, while others get gradients and have none."""
    for first, second in doubled(trace):
        strange = _strangers(trace, held)
        if strange:
            yield GivenTwice(tuple(strange), first, second)


def doubled(trace: Trace) -> list[tuple[Given, Given]]:
    """The pairs of optimizers that were given the `parameters()` of the same module, and are used side by side.

    The first may have more of them, if the backwards before the steps of the second give it nothing.
    """
    last = {id(given.optimizer): (given, _what_is_given(trace, given)) for given in trace.of(Given)}
    pairs = combinations([(given, own) for given, own in last.values()], 2)
    return [
        (one, two)
        for (one, own), (two, same) in pairs
        if same and _steps_after(trace, one, two) and not _made_for_others(trace, one, two)
        if own == same or (same <= frozenset(map(id, one.models or one.parameters)) and _gets_nothing(trace, two))
    ]


def _gets_nothing(trace: Trace, given: Given) -> bool:
    """True if no backward right before a step of an optimizer gives a gradient to what it has."""
    reached: set[int] = set()
    for event in trace.among(BackwardRan, Stepped):
        match event:
            case BackwardRan():
                reached = set(map(id, reached_leaves(event)))
            case Stepped() if event.optimizer is given.optimizer:
                if not reached.isdisjoint(map(id, (*event.parameters, *event.unseen))):
                    return False
            case _:
                pass
    return True


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
    """The parameters of an optimizer that got `parameters()` of one module, and nothing else."""
    match call_of(trace, given.site.node):
        case ast.Call(args=[ast.Call(func=ast.Attribute(attr="parameters")), *_]) if given.known:
            return frozenset(map(id, given.models or given.parameters))
        case _:
            return frozenset()


def _steps_after(trace: Trace, first: Given, second: Given) -> bool:
    """True if the first of two optimizers is still used when the second is there."""
    events = trace.among(Given, Stepped)
    made = next(place for place, event in enumerate(events) if event is second)
    return any(isinstance(event, Stepped) and event.optimizer is first.optimizer for event in events[made:])


def remade(trace: Trace, held: Set[int]) -> Iterator[Remade]:
    """The built-in layers that are made in a `forward` and get gradients there."""
    found: dict[ast.AST, tuple[Site, list[Tensor]]] = {}
    for tensor in _strangers(trace, held):
        site = tensor.origin
        if isinstance(site, Site) and _is_of_layer(tensor):
            inside = next((frame for frame in site.frames() if _is_in_forward(trace, frame)), None)
            if inside is not None:
                found.setdefault(inside.node, (inside, []))[1].append(tensor)
    for site, tensors in found.values():
        yield Remade(tuple(tensors), site)


def _is_of_layer(tensor: Tensor) -> bool:
    """True if a parameter is one of a built-in layer."""
    return tensor.operation == "parameter"


def _is_in_forward(trace: Trace, site: Site) -> bool:
    """True if a place is in the `forward` of a class, in the body itself."""
    around = [each for each in ancestry(trace, site.node) if isinstance(each, ast.FunctionDef | ast.ClassDef)]
    match around:
        case [*_, ast.ClassDef(), ast.FunctionDef(name="forward")]:
            return True
        case _:
            return False


def left_out(trace: Trace, source: Source, held: Set[int]) -> Iterator[LeftOut]:
    """The modules without a parameter in any optimizer though all get gradients: made here, and never loaded.

    A module that is a part of one that is trained in part does not count: that is a choice of what to train. Neither is
    one that only goes before a trained one, or beside it, unless they were made together: it may be there to give
    features.
    """
    if not any(given.models or any(map(_is_of_layer, given.parameters)) for given in trace.of(Given)):
        return  # What is trained is no module: an image, for instance.
    strange = {id(tensor): tensor for tensor in _strangers(trace, held)}
    named = [(event, ways_of(event)) for event in reversed(trace.of(Named))] if strange else []  # Wholes are last.
    for event, ways in sorted(named, key=lambda each: -len(each[1])):
        assigned = isinstance(statement_of(trace, event.site.node), ast.Assign | ast.AnnAssign)
        if ways and assigned and ways.keys() <= strange.keys() and not event.module.has_unknown_parts:
            found = LeftOut(tuple(strange[each] for each in ways), event)
            if _is_lent(trace, event.module):
                pass  # The code that it was passed to may have loaded it, or may train it.
            elif _follows(trace, ways.keys(), held) or _is_one_of_several(trace):
                yield found
            elif _goes_before(trace, source, found, held):
                yield replace(found, before=True)
        for each in ways:  # What is a part of a larger module is that one's affair.
            strange.pop(each, None)


@dataclass(frozen=True, slots=True)
class Ungrouped:
    """Layers of a module, or their biases, that are in none of the groups in which its other layers were `given`."""

    tensors: tuple[Tensor, ...]
    site: Site
    given: Given


def ungrouped(trace: Trace, held: Set[int]) -> Iterator[Ungrouped]:
    """The layers, and biases of layers, that were forgotten when the parameters of a module were put into groups."""
    strange = {id(tensor): tensor for tensor in _strangers(trace, held) if _is_of_layer(tensor)}
    for given in trace.of(Given):
        call = call_of(trace, given.site.node)
        if not strange or given.groups < 2 or call is None or not call.args:
            continue
        biases, parts = set[int](), set[int]()
        for event in trace.of(Named):
            biases |= _biases(event, given)
            parts |= _parts(event, given)
        if parts and not _follows(trace, parts, held):
            parts = set()
        tensors = tuple(tensor for number, tensor in strange.items() if number in biases | parts)
        if tensors:
            yield Ungrouped(tensors, replace(given.site, node=call.args[0]), given)


def _biases(event: Named, given: Given) -> set[int]:
    """The biases of layers whose weights were given."""
    ways, sizes = ways_of(event), {id(tensor): len(tensor.shape or ()) for tensor in tensors_of(event)}
    own = set(map(id, given.parameters))
    layers = {way.rpartition(".")[0] for number, way in ways.items() if number in own and sizes[number] > 1}
    return {each for each, way in ways.items() if way.rpartition(".")[0] in layers and sizes[each] == 1}


def _parts(event: Named, given: Given) -> set[int]:
    """The parts of a module that no group has, if they are fewer than those that groups have."""
    ways, own = ways_of(event), set(map(id, given.parameters))
    parts = {way.partition(".")[0] for number, way in ways.items() if number in own}
    others = {way.partition(".")[0] for way in ways.values()} - parts
    unseen = len(given.models) if event.module.has_unknown_parts else 0
    few = len(others) < len(parts) + unseen
    return {each for each, way in ways.items() if few and way.partition(".")[0] in others}


def _is_lent(trace: Trace, module: object) -> bool:
    """True if something that is not seen got hold of a module, or may have."""
    return any(event.reaches(module) for event in trace.of(Lent) if not is_harmless(event))


def _sizes(bound: Named) -> list[Shape | None]:
    return [tensor.shape for tensor in tensors_of(bound)]


def _goes_before(trace: Trace, source: Source, module: LeftOut, held: Set[int]) -> bool:
    """True if a trained module works on what one computes that the same statement has made: they belong together.

    Alone, an untrained module may be there to give features; one of the same sizes may be a copy.
    """
    bound = module.bound
    trained = [event for event in trace.of(Named) if not held.isdisjoint(ways_of(event))]
    statement = statement_of(trace, bound.site.node)
    if not any(statement_of(trace, event.site.node) is statement for event in trained):
        return False
    if any(_sizes(event) == _sizes(bound) for event in trained):
        return False
    if not _OTHERWISE.isdisjoint(_asked_of(source.document(bound.site), bound.name)):
        return False
    own = set(map(id, module.tensors))
    return any(
        any(id(tensor) in held for tensors in event.inputs.values() for tensor in tensors)
        and not own.isdisjoint(map(id, leaves([event.node])))
        for event in trace.of(Built)
    )


@dataclass(frozen=True, slots=True)
class Unheld:
    """A model that is not seen, called at `site`, which the program puts into training mode and no optimizer has."""

    tensors: tuple[Tensor, ...]
    site: Site
    name: str


def unheld(trace: Trace, source: Source, held: Set[int]) -> Iterator[Unheld]:
    """The unseen models that get gradients for the result of a trained one, and that were not passed on.

    A program that calls `train()` of a model, and nowhere asks for its parameters, has forgotten it; but not one that
    picks a part of the parameters of another model by their names.
    """
    if any(isinstance(entry.event, Lent) for entry in flow_of(trace)) or any(
        map(partial(_picks, trace), trace.of(Given))
    ):
        return
    for tensor in _strangers(trace, held):
        called = (node for run in trace.of(BackwardRan) for node in run.executed if _goes_into(node, tensor))
        node = min(called, key=lambda each: each.number, default=None)
        if tensor.operation != UNSEEN or node is None or not isinstance(node.site, Site):
            continue
        asked = _asked_of(source.document(node.site), tensor.label)
        if "train" in asked and asked.isdisjoint(_OTHERWISE) and not held.isdisjoint(map(id, leaves([node]))):
            yield Unheld((tensor,), node.site, tensor.label)


def _picks(trace: Trace, given: Given) -> bool:
    """True if a function picks parameters for its optimizer by a condition, once: not to sort them into groups."""
    function = function_of(trace, given.site.node)
    chosen = 0
    for _, method, call in methods_called(function) if function is not None else ():
        if method == "named_parameters":
            around = (each for each in reversed(ancestry(trace, call)) if isinstance(each, ast.comprehension))
            chosen += any(each.ifs for each in around)
    return chosen == 1


def _goes_into(node: Node, tensor: Tensor) -> bool:
    return any(edge.accumulates is tensor for edge in node.edges)


def _asked_of(document: Document, name: str) -> set[str]:
    """The methods that a document calls of whatever is called `name`; `train(False)` is an `eval()`."""
    found: set[str] = set()
    for owner, method, call in methods_called(parse(document).tree):
        if ast.unparse(owner).rpartition(".")[2] == name:
            found.add("eval" if method == "train" and call.args else method)
    return found


_OTHERWISE = frozenset({"eval", "named_parameters", "parameters", "requires_grad_"})
"""Methods of a module by which a program looks after its parameters, or uses it as it is."""


def _follows(trace: Trace, own: Set[int], held: Set[int]) -> bool:
    """True if the module with these parameters works on what a trained one has computed."""
    return any(
        any(id(_before_views(tensor)) in own for tensors in event.inputs.values() for tensor in tensors)
        and not held.isdisjoint(map(id, leaves([event.node])))
        for event in trace.of(Built)
    )


def _before_views(tensor: Tensor) -> Tensor:
    """The tensor at the start of a chain of operations with one input each, such as a weight of its transpose."""
    while len(tensor.maker) == 1 and tensor.node is not None:
        tensor = tensor.maker[0]
    return tensor


def _is_one_of_several(trace: Trace) -> bool:
    """True if an optimizer was given the parameters of several modules one by one: the next may be forgotten."""
    named = sorted((ways_of(event) for event in trace.of(Named)), key=len, reverse=True)
    for given in trace.of(Given):
        rest = set(map(id, given.parameters))
        count = 0
        for ways in named:
            count += not rest.isdisjoint(ways)
            rest -= ways.keys()
        if count > 1:
            return True
    return False


def _strangers(trace: Trace, held: Set[int]) -> list[Tensor]:
    """The parameters that get gradients, that no optimizer holds, and that only an initializer has written."""
    return _reached_strangers(trace, held | touched(trace))


def _reached_strangers(trace: Trace, kept: Set[int]) -> list[Tensor]:
    found = {id(leaf): leaf for run in trace.of(BackwardRan) if run.call.accumulates for leaf in reached_leaves(run)}
    return [leaf for number, leaf in found.items() if leaf.is_parameter and number not in kept]


def touched(trace: Trace) -> frozenset[int]:
    """The tensors whose values or flags the program has set, by identity: through `.data` and `.detach()`, too."""
    return trace.once(_touched)


def _touched(trace: Trace) -> frozenset[int]:
    found: set[int] = set()
    for event in trace.among(Flagged, Mutated, Replaced):
        match event:
            case Mutated(tensor=tensor, write=write):
                if not write.operation.startswith(_INITIALISING):
                    found.add(id(tensor))
                    if tensor.cut is not None and tensor.cut.source is not None:
                        found.add(id(tensor.cut.source))
            case Flagged(tensor=tensor) | Replaced(tensor=tensor):
                found.add(id(tensor))
            case _:
                pass
    return frozenset(found)


_INITIALISING = ("torch.nn.init.", "reset_parameters")
