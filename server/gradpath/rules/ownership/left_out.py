"""Modules that were forgotten when the parameters for the optimizers were put together."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set
from functools import partial

from gradpath.autograd.aliases import memory_of, whole_of
from gradpath.autograd.tensor import PRESUMED, UNSEEN, Node, Shape, Tensor
from gradpath.findings.gradient_flow import flow_of, lent
from gradpath.findings.graphs import is_sum, leaves, takes, terms_of
from gradpath.findings.learning import learners
from gradpath.findings.parameters import named, tensors_of, ways_of
from gradpath.findings.report import Source, Step
from gradpath.findings.stories import same_activation, short_operation, target_of
from gradpath.findings.syntax import ancestry, call_of, function_of, statement_of
from gradpath.fixes.requirement import given_too
from gradpath.interpreter.events import BackwardRan, Built, Lent, Mutated, Named, Replaced, Site, Stepped
from gradpath.interpreter.ownership import Given
from gradpath.interpreter.trace import Trace, once
from gradpath.rules.ownership.lacking import Lacking, Words, is_of_layer, strangers
from gradpath.source.index import contents, methods_called
from gradpath.source.nodes import noted
from gradpath.support.fast_dataclasses import replace
from gradpath.support.traversal import reachable


def left_out(trace: Trace, source: Source, held: Set[int]) -> Iterator[Lacking]:
    """The modules without a parameter in any optimizer though all get gradients: made here, and never loaded.

    A module that is a part of one that is trained in part does not count: that is a choice of what to train, unless it
    works on what the trained parts give, which then goes through what is random, or was made before it was put in.
    Neither is one that only goes before a trained one, or beside it, unless they were made together or the program
    prepares it for training: it may be there to give features.
    """
    if not _train_modules(trace):
        return
    strange = {id(tensor): tensor for tensor in strangers(trace, held)}
    first: dict[tuple[int, str], Named] = {}  # `net = net.cuda()` names it once more.
    given = {id(event.module) for event in trace.of(Named) if isinstance(event.site.node, ast.FunctionDef)}
    for event in trace.of(Named) if strange else ():
        key = id(event.module), event.name
        if key not in first or isinstance(first[key].site.node, ast.FunctionDef):
            first[key] = event
    named = [(event, ways_of(trace, event)) for event in reversed(first.values())]
    for event, ways in sorted(named, key=lambda each: -len(each[1])):
        assigned = isinstance(statement_of(trace, event.site.node), ast.Assign | ast.AnnAssign)
        if ways and assigned and ways.keys() <= strange.keys() and not _may_be_trained(trace, event):
            own = tuple(strange[each] for each in ways)
            worded = partial(_is_module, trace, event)
            if any(each.reaches(event.module) for each in lent(trace)):
                pass  # The code that it was passed to may have loaded it, or may train it.
            elif id(event.module) in given:
                if _is_for_this_loop(trace, source, event) and _has_a_loss(trace, ways.keys(), held):
                    yield Lacking(own, event.site, trace.of(Given), worded, repeated=True, about=(event.name,))
            elif (
                _is_prepared(source, event)
                or _has_a_loss(trace, ways.keys(), held)
                or _goes_before(trace, source, event, held)
                or (_is_one_of_several(trace) and not _has_twin(trace, event, held))
            ):
                yield Lacking(own, event.site, trace.of(Given), worded, repeated=True, about=(event.name,))
            elif _follows(trace, ways.keys(), held) or _is_one_of_several(trace):  # One may be as good as another.
                yield Lacking(own, event.site, trace.of(Given), worded, repeated=True)
        for each in ways.keys() - _of_following_parts(trace, event, held) - _put_in(trace, event):
            strange.pop(each, None)  # A part is the larger module's affair.


def _of_following_parts(trace: Trace, event: Named, held: Set[int]) -> set[int]:
    """The parameters, by identity, of the parts of a module that work on what its other parts give, which are trained.

    An optimizer has these as they are. One that has some parameters of a part, as those of its norms, adapts what is
    there, and one that has none but a prompt does so, too. What a function
    does with a module is not all that the program does with it.
    """
    if not isinstance(trace.entry, ast.Module):
        return set()
    parts: dict[str, set[int]] = {}
    for tensor in tensors_of(event):
        parts.setdefault(ways_of(trace, event)[id(tensor)].partition(".")[0], set()).add(id(tensor))
    trained = [each for each in parts.values() if each <= held]
    layers = {id(each) for each in tensors_of(event) if is_of_layer(each)}
    if not trained or not any(map(layers.issuperset, trained)) or _may_be_trained(trace, event):
        return set()
    others = [each for each in parts.values() if not each <= held]
    if any(not each.isdisjoint(held) for each in others) or any(map(partial(_picks, trace), trace.of(Given))):
        return set()
    return {number for each in others if _follows(trace, each, held) for number in each}


def _put_in(trace: Trace, event: Named) -> set[int]:
    """The parameters, by identity, of what was made beside a module, and put into it whole: a loss with weights."""
    whole, named = ways_of(trace, event).keys(), _named_with(trace)
    sharing = dict.fromkeys(each for number in whole for each in named.get(number, ()))
    places = [each.site for each in sharing if each.module is event.module]
    others = (each for each in sharing if each.module is not event.module)
    beside = (each for each in others if any(same_activation(each.site, place) for place in places))
    return {number for each in beside if (own := ways_of(trace, each).keys()) <= whole for number in own}


@once
def _named_with(trace: Trace) -> dict[int, list[Named]]:
    """Where modules got a name, by each of their parameters, by identity."""
    found: dict[int, list[Named]] = {}
    for event in trace.of(Named):
        for number in ways_of(trace, event):
            found.setdefault(number, []).append(event)
    return found


def _is_prepared(source: Source, event: Named) -> bool:
    """True if a program calls `train()` of a module, and looks after its parameters in no other way."""
    asked = _asked(source.tree(event.site.path)).get(event.name, set())
    return "train" in asked and asked.isdisjoint(_OTHERWISE - {"eval"})


def _is_for_this_loop(trace: Trace, source: Source, event: Named) -> bool:
    """True if a module was handed to what makes the optimizers, and nobody but the program's own loops can train it.

    What another object was handed may be the model that is trained.
    """
    asked = _asked(source.tree(event.site.path)).get(event.name, set())
    beside = all(same_activation(each.site, event.site) for each in trace.of(Given))
    return (
        beside
        and asked.isdisjoint(_OTHERWISE)
        and all(
            any(isinstance(trace.loops.get(loop), ast.For | ast.While) for loop, _ in step.site.loops)
            for step in trace.of(Stepped)
        )
    )


def _has_a_loss(trace: Trace, own: Set[int], held: Set[int]) -> bool:
    """True if a term of a loss that others learn from leads to parameters of a module, and to none that are held.

    Nothing but the module could learn from it. What an unseen call gives is no such term: it may be a criterion.
    """
    return any(
        any(not reached.isdisjoint(held) for _, reached in terms)
        and any(
            term.name != PRESUMED and not reached.isdisjoint(own) and reached.isdisjoint(held)
            for term, reached in terms
        )
        for terms in _terms(trace)
    )


@once
def _terms(trace: Trace) -> list[list[tuple[Node, set[int]]]]:
    """The terms of the losses of each backward, with the leaves, by identity, that each leads to."""
    found = []
    for ran in trace.of(BackwardRan):
        zone = terms_of(ran.call.starts)
        terms = dict.fromkeys(term for node in zone for term in node.edges if term not in zone)
        found.append([(term, set(map(id, leaves([term])))) for term in terms])
    return found


def _train_modules(trace: Trace) -> bool:
    """True if an optimizer was given parameters of a module, and not an image or its perturbation alone."""
    return any(given.models or any(map(is_of_layer, given.parameters)) for given in trace.of(Given))


def _may_be_trained(trace: Trace, event: Named) -> bool:
    """True if an optimizer was given an unseen part of a module, or may have been given one, or another's module."""
    module, parts = event.module, event.module.unknown_parts()
    if module.borrowed or module.has_unknown_bases or (module.has_unknown_parts and not parts):
        return True
    given = [id(model) for each in trace.of(Given) for model in each.models]
    return any(id(part) in given for part in parts)


def _is_module(trace: Trace, bound: Named, source: Source, given: Given) -> Words:
    name = target_of(source, bound)
    return Words(
        f"`{name}` is never trained: no optimizer holds its parameters",
        (Step(bound.site, "parameters that no optimizer is given"), Step(given.site, "takes others")),
        f"give the optimizer the parameters of `{name}` as well",
        given_too(trace, source, given, bound.site, name),
    )


def ungrouped(trace: Trace, source: Source, held: Set[int]) -> Iterator[Lacking]:
    """What was forgotten of a module when its parameters were put into groups: layers, biases, and what is in none."""
    strange = {id(tensor): tensor for tensor in strangers(trace, held) if tensor.is_parameter}
    for given in {id(each.optimizer): each for each in trace.of(Given)}.values():  # With the groups added later.
        call = call_of(trace, given.site.node)
        if not strange or given.groups < 2 or call is None or not call.args:
            continue
        layers = {number for number, tensor in strange.items() if is_of_layer(tensor)}
        biases, parts, others = set[int](), set[int](), set[int]()
        for event in trace.of(Named):
            biases |= _biases(trace, event, given)
            parts |= _parts(trace, event, given)
            others |= _others(trace, event, given)
        if parts and not _follows(trace, parts, held):
            parts = set()
        missing = (layers & (biases | parts)) | (others - layers)
        tensors = tuple(tensor for number, tensor in strange.items() if number in missing)
        if tensors:
            site = replace(given.site, node=call.args[0])
            yield Lacking(tensors, site, [given], partial(_is_in_no_group, trace, tensors, site))


def _is_in_no_group(trace: Trace, missing: Sequence[Tensor], groups: Site, source: Source, given: Given) -> Words:
    what, more = named(trace, source, missing)
    is_never, it_is = ("are", "they are") if more else ("is", "it is")
    return Words(
        f"{what}{more} {is_never} never trained: {it_is} in no group of the optimizer",
        (Step(groups, "groups that leave some parameters out"), Step(given.site, "takes these groups alone")),
        f"put {'them' if more else 'it'} into a group as well",
    )


def _biases(trace: Trace, event: Named, given: Given) -> set[int]:
    """The biases of layers whose weights were given."""
    ways, sizes = ways_of(trace, event), {id(tensor): len(tensor.shape or ()) for tensor in tensors_of(event)}
    own = set(map(id, given.parameters))
    layers = {way.rpartition(".")[0] for number, way in ways.items() if number in own and sizes[number] > 1}
    return {each for each, way in ways.items() if way.rpartition(".")[0] in layers and sizes[each] == 1}


def _parts(trace: Trace, event: Named, given: Given) -> set[int]:
    """The parts of a module that no group has, if they are fewer than those that groups have."""
    ways, own = ways_of(trace, event), set(map(id, given.parameters))
    parts = {way.partition(".")[0] for number, way in ways.items() if number in own}
    others = {way.partition(".")[0] for way in ways.values()} - parts
    unseen = len(given.models) if event.module.has_unknown_parts else 0
    few = len(others) < len(parts) + unseen
    return {each for each, way in ways.items() if few and way.partition(".")[0] in others}


def _others(trace: Trace, event: Named, given: Given) -> set[int]:
    """What no group has of a module, if groups have nearly all of it."""
    ways, own = ways_of(trace, event).keys(), set(map(id, given.parameters))
    missing = ways - own
    return missing if len(missing) * _NEARLY <= len(ways) else set()


_NEARLY = 4
"""Of so many parameters one may be missing."""


def _sizes(bound: Named) -> list[Shape | None]:
    return [tensor.shape for tensor in tensors_of(bound)]


def _has_twin(trace: Trace, bound: Named, held: Set[int]) -> bool:
    """True if a trained module has the same sizes: a copy, perhaps."""
    trained = (event for event in trace.of(Named) if not held.isdisjoint(ways_of(trace, event)))
    return any(_sizes(event) == _sizes(bound) for event in trained)


def _goes_before(trace: Trace, source: Source, bound: Named, held: Set[int]) -> bool:
    """True if a trained module works on what one computes that the same statement has made: they belong together.

    Alone, an untrained module may be there to give features; one of the same sizes may be a copy.
    """
    together = _named_together(trace).get(statement_of(trace, bound.site.node), ())
    if all(held.isdisjoint(ways_of(trace, event)) for event in together):
        return False
    if _has_twin(trace, bound, held):
        return False
    if not _OTHERWISE.isdisjoint(_asked(source.tree(bound.site.path)).get(bound.name, ())):
        return False
    own = ways_of(trace, bound).keys()
    return any(
        any(id(tensor) in held for tensor in event.operands) and not own.isdisjoint(map(id, leaves([event.node])))
        for event in trace.of(Built)
    )


@once
def _named_together(trace: Trace) -> dict[ast.stmt, list[Named]]:
    """The modules that get a name, by the statement that gives it."""
    found: dict[ast.stmt, list[Named]] = {}
    for event in trace.of(Named):
        found.setdefault(statement_of(trace, event.site.node), []).append(event)
    return found


def unheld(trace: Trace, source: Source, held: Set[int]) -> Iterator[Lacking]:
    """The unseen models that get gradients for the result of a trained one, and that were not passed on.

    A program that calls `train()` of a model, and nowhere asks for its parameters, has forgotten it; but not a
    criterion, which rarely has any, nor where it picks a part of the parameters of another model by their names. An
    attribute that nothing binds was put there by other code, which may train it as well.
    """
    if any(isinstance(entry.event, Lent) for entry in flow_of(trace)) or not _train_modules(trace):
        return
    if any(map(partial(_picks, trace), trace.of(Given))):
        return
    for tensor in strangers(trace, held):
        called = (node for run in trace.of(BackwardRan) for node in run.executed if takes(node, tensor))
        node = min(called, key=lambda each: each.number, default=None)
        if tensor.operation != UNSEEN or node is None or isinstance(tensor.origin.node, ast.Attribute):
            continue
        tree = source.tree(node.site.path)
        asked = _asked(tree).get(tensor.label, set())
        meant = "train" in asked and not held.isdisjoint(map(id, leaves([node]))) and not _is_loss(trace, node)
        forgotten = "load_state_dict" not in asked and not _is_handed_on(tree, tensor.label)
        forgotten = forgotten and (_has_unseen_twin(trace, tensor, held) or _has_a_loss(trace, {id(tensor)}, held))
        if asked.isdisjoint(_OTHERWISE) and (meant or forgotten):
            worded = partial(_is_called, trace, node.site, tensor.label)
            yield Lacking((tensor,), node.site, trace.of(Given), worded, repeated=True)


def _is_loss(trace: Trace, node: Node) -> bool:
    """True if a loss is a sum of products of what an unseen call has given, or of what others have made of that."""

    def terms(each: Node) -> Sequence[Node]:
        weighed = short_operation(each.function) in ("mul", "div")
        return each.edges if weighed or is_sum(each) or each.function == node.function else ()

    return any(node in set(reachable(run.call.starts, terms)) for run in trace.of(BackwardRan))


def _has_unseen_twin(trace: Trace, tensor: Tensor, held: Set[int]) -> bool:
    """True if an optimizer has a model that the same class, or function, of an import has made, by the text.

    What is written by hand follows another one.
    """
    written: list[Tensor] = [
        *(each.tensor for each in trace.of(Mutated)),
        *(each.tensor for each in trace.of(Replaced)),
    ]
    changed = {id(whole_of(memory_of(each))) for each in written}
    made = None if id(whole_of(tensor)) in changed else _maker(tensor)
    unseen = (each.tensor for each in learners(trace).values() if each.used and each.tensor.operation == UNSEEN)
    return made is not None and any(id(each) in held and _maker(each) == made for each in unseen)


def _is_handed_on(tree: ast.Module, name: str) -> bool:
    """True if a file hands what has a name to a function, which may have to do with its parameters."""
    given = (each for call in contents(tree).calls for each in (*call.args, *(one.value for one in call.keywords)))
    return any(name in (getattr(each, "id", ""), getattr(each, "attr", "")) for each in given)


def _maker(tensor: Tensor) -> str | None:
    """What a program calls to make a model that is not seen."""
    node = getattr(tensor.origin, "node", None)
    return ast.unparse(node.func) if isinstance(node, ast.Call) and tensor.operation == UNSEEN else None


def _is_called(trace: Trace, call: Site, name: str, source: Source, given: Given) -> Words:
    return Words(
        f"`{name}` is never trained: no optimizer holds its parameters",
        (Step(given.site, "takes others"), Step(call, f"computes with the parameters of `{name}`")),
        f"give the optimizer the parameters of `{name}` as well, or call its `eval()`",
        given_too(trace, source, given, None, name),
    )


def _picks(trace: Trace, given: Given) -> bool:
    """True if a function picks parameters for its optimizer by a condition, once: not to sort them into groups."""
    function = function_of(trace, given.site.node)
    chosen = 0
    for _, method, call in methods_called(function) if function is not None else ():
        if method == "named_parameters":
            around = (each for each in reversed(ancestry(trace, call)) if isinstance(each, ast.comprehension))
            chosen += any(each.ifs for each in around)
    return chosen == 1


@noted
def _asked(tree: ast.Module) -> dict[str, set[str]]:
    """The methods that a file calls, by the name of what it calls them of; `train(False)` is an `eval()`."""
    found: dict[str, set[str]] = {}
    for owner, method, call in methods_called(tree):
        name = ast.unparse(owner).rpartition(".")[2]
        found.setdefault(name, set()).add("eval" if method == "train" and call.args else method)
    return found


_OTHERWISE = frozenset({"eval", "named_parameters", "parameters", "requires_grad_"})
"""Methods of a module by which a program looks after its parameters, or uses it as it is."""


def _follows(trace: Trace, own: Set[int], held: Set[int]) -> bool:
    """True if the module with these parameters works on what a trained one has computed."""
    using = (event.node for key in own for event in _uses_of_views(trace).get(key, ()))
    return not _computed_with(trace, frozenset(held)).isdisjoint(using)


@once
def _computed_with(trace: Trace, held: frozenset[int]) -> set[Node]:
    """The nodes through which a backward comes to some leaves, given by identity."""
    found: set[Node] = set()
    for event in trace.of(Built):
        for edge in event.node.edges:
            if edge in found or (edge.accumulates is not None and id(edge.accumulates) in held):
                found.add(event.node)
                break
    return found


@once
def _uses_of_views(trace: Trace) -> dict[int, list[Built]]:
    """The operations that each tensor, by identity, was given to, or a view of it."""
    found: dict[int, list[Built]] = {}
    for event in trace.of(Built):
        for each in event.operands:
            found.setdefault(id(_before_views(each)), []).append(event)
    return found


def _before_views(tensor: Tensor) -> Tensor:
    """The tensor at the start of a chain of operations with one input each, such as a weight of its transpose."""
    while len(tensor.maker) == 1 and tensor.node is not None:
        tensor = tensor.maker[0]
    return tensor


@once
def _is_one_of_several(trace: Trace) -> bool:
    """True if an optimizer was given the parameters of several modules one by one: the next may be forgotten."""
    named = sorted((ways_of(trace, event) for event in trace.of(Named)), key=len, reverse=True)
    for given in trace.of(Given):
        rest = set(map(id, given.parameters))
        count = len(given.models)
        for ways in named:
            count += not rest.isdisjoint(ways)
            rest -= ways.keys()
        if count > 1:
            return True
    return False
