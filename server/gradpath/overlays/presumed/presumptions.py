"""The presumptions about unknown values: one table, each row with its reason.

The kinds of results, items and attributes are rows: the first of its table that matches decides. What a call does to
gradients, `effects.py` says; on which conditions they run on through it, `conditions.py`; whose weights an optimizer
has, `owners.py`. The rest is done where the thing is used:

| unknown thing | presumed | because |
|---|---|---|
| what the program uses as a module, an optimizer or a loader (`uses.py`) | is one, whatever its name | nothing else has `parameters()`, or gives a loss its graph |
| the result of any other unknown call, attribute or item | a tensor that may require grad, on a graph of which nothing is known: nothing is reported of it | it may as well be data |
| a value on which `backward()` is called and went through | has a graph, and that graph saved tensors, which are freed | PyTorch would have raised; a leaf and a bare sum save nothing |
| an import from a library, or from an unseen file | is no loss, whatever its `backward` does | libraries have functions of that name |
| plain data by its annotation, default (a text, a truth value) or name (`args`, `n_layers`, `device`), the results of libraries for files, options and arrays, and what is computed of nothing else | is no tensor, and holds none | a number or a text is known of its kind, though not of its value |
| a parameter or an option with a default | probably has it: the path that is tried first goes as it says | that is how programs are started |
| an unknown call | neither writes nor frees its arguments | in-place functions end in `_`, as a rule |
| a loss that is called again with another flag (`loss(a, b, 1)`) | may compute it of other arguments | one object has the losses of several networks |
| a method of a model that gets a graph, or is called where the backward is (`policy.evaluate(x)`) | is a part of the model | it computes with the same weights |
| items and attributes of a model's result (`a, b = model(x)`, `out.loss`) | share a trunk, and the trunk saved something | two heads on one body are what such models have |
| items of a loss's result | share the trunk, but no node that saved something | two terms need not share one |
| such an item that is passed to the same model again (`out, hidden = model(x, hidden)`) | shows that the trunk saved something | a hidden state and an output come out of one computation |
| an item called `mems`, `past`, `cache`, or a slice of the result | may be detached, even if it is passed to the model again | Transformer-XL does so |
| methods of tensors and arithmetic on a model's or a loss's result | are those of a tensor | nothing else has them |
| the other values of a call that was given a graph, of which one is detached | have a graph | who detaches knows that the call keeps graphs |
| the `data` of an attribute of a model, in an operation | is that of a parameter | nothing else that a model has gives its `data` |
| the receiver of `requires_grad_()` | is a leaf from then on | a tensor with a graph needs no such call |
| a parameter of an unseen model, in arithmetic | is a tensor that requires grad, unless the model is frozen | nothing else is added up |
| a piece of `x.chunk(2)` or `x.unbind()` (`pieces.py`) | is a view of a tensor, once a graph is written into it | nothing else has them |
| the result of any other unknown call with such a result | has a graph or has none | helpers detach |
| the graph of a model's result | has saved the weights of the model | all layers but the first do |
| an optimizer that was made from `model.parameters()`, or from some of them, alone or with others | owns that model | it says so |
| an optimizer that is an attribute of a model (`actor.optimizer`) | owns that model, whatever its name | the model made it |
| a function without branches that a model applies (`model.apply(freeze)`) | does to the whole model what it does to each of its modules | it is called with each |
| a parameter that is annotated with a class of the program | is an instance of that class, its annotated fields unknown | the annotation says so |
| the only optimizer in a function or class, beside the only model | owns that model, whatever its name | there is nothing else that it could own |
| any other unknown optimizer | owns no known parameters | nothing is reported of it |
| what is called a schedule or a warm-up, and steps | moves no parameter, and calls nothing that does | that is for the optimizer |
| a scaler that is called with a loss and an optimizer | goes backward and steps, and clears nothing | timm's does |
| a closure that clears gradients, for an unseen optimizer | may be called more than once | LBFGS does so |
| the entries of a mapping that a model gives (`unseen_mappings.py`) | are those that the program names, else two of a kind | `sum(losses.values())` names none |
| `zero_grad()` of a model or an optimizer with a name of its own | clears the gradients of that model, and no others | that is what the name is for |
| what a loader gives, and what an unreduced loss is given | has more than one sample, so that `backward()` of it raises | batches have |
| what a function or class that is called a loss is given (`criteria.py`), if nothing in its file goes backward | a prediction that has a graph, and a target that has none | a loss posted alone says no more of itself |
| a function that is passed to an unknown call | may be called at any time from then on | hooks are |
| a nested function without a caller | is called later, with unknown arguments | closures are made to be passed on |
| the argument of an unknown decorator | is what the decorator returns, unless that was made of a model or an optimizer | most decorators wrap, and such ones train |
| `assertRaises` of a test case whose class is not seen | heads a block that is expected to fail | unittest has it so |
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Callable, Iterable

from gradpath.autograd.ops import find_op
from gradpath.autograd.provenance import OBSERVED, Provenance
from gradpath.interpreter.containers import Slice
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Attribute, Call, Library, Parameter
from gradpath.interpreter.values import Arguments, Unknown, Value
from gradpath.overlays.presumed import clearing, conditions, frozen, model_parts, plain_data, targets
from gradpath.overlays.presumed.asked import Asked, has_graph, is_open
from gradpath.overlays.presumed.conditions import Condition
from gradpath.overlays.presumed.places import attributes_made, place_of
from gradpath.overlays.presumed.presumed_tensors import is_made_as_tensor, is_of_frozen
from gradpath.overlays.presumed.roles import CRITERION, role_of, role_of_name
from gradpath.overlays.torch import packing
from gradpath.overlays.torch.tensor_value import TensorValue
from gradpath.source.index import methods_called
from gradpath.support.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """A row: if `match` holds, the result is of this kind, under this condition (or with the provenance of its owner).

    `case` is the page and the heading in `tests/cases` of a program that shows it.
    """

    id: str
    match: Callable[[Asked], bool]
    kind: Kind
    condition: Condition | None
    because: str
    case: str

    def provenance(self, name: str, owner: Unknown | None) -> Provenance:
        """The provenance of the kind for a value that is called `name`."""
        if self.condition is not None:
            return self.condition.of(name)
        return OBSERVED if owner is None else owner.provenance


def _is_made_by_call(asked: Asked) -> bool:
    """True if an apparent model is called without inputs, with settings at most, or to be kept as an object."""
    given = asked.arguments
    if asked.role != "model":
        return False
    settings = not given.open and all(isinstance(each, (bool, int, str)) for each in given.all())
    return settings or _is_exported(asked) or _is_kept_as_object(asked.machine)


def _is_exported(asked: Asked) -> bool:
    """True if a model was loaded as TorchScript, in which form it was exported, mostly frozen."""
    return isinstance(asked.unknown.root, Library) and asked.unknown.root.name == "torch.jit.load"


def _is_kept_as_object(machine: Machine) -> bool:
    """True if an `__init__` puts what a call gives into an attribute of which the class calls no methods of tensors."""
    function = machine.frame.function
    cls = None if function is None or function.owner is None else function.owner.node
    if function is None or cls is None or getattr(function.node, "name", "") != "__init__":
        return False
    kept = attributes_made(function.node).get(machine.node, ())
    methods = {method for owner, method, _ in methods_called(cls) if place_of(owner) in kept}
    return any(find_op(f"torch.Tensor.{each}") is None for each in methods - _OF_DISTRIBUTIONS)


_DENSITIES = frozenset({"log_prob", "rsample"})
_OF_DISTRIBUTIONS = _DENSITIES | {"entropy", "sample"}


def _is_frozen(asked: Asked) -> bool:
    if asked.role != "model" or not frozen.is_frozen(asked.machine, asked.unknown):
        return False
    return not asked.has_graph


def _is_wholly_frozen(asked: Asked) -> bool:
    """True if the program has frozen all of a model, and hands data to it, to a part or to a method of it."""
    owner = asked.unknown.owner
    of_model = asked.role == "model" or (owner is not None and role_of(owner) == "model")
    if not of_model or asked.machine.autograd.inference or not frozen.frozen_whole(asked.machine, asked.unknown):
        return False
    given = asked.arguments.all()
    return bool(given) and not asked.has_graph and all(map(_is_known_data, given))


def _is_computed_by_model(asked: Asked) -> bool:
    """True if a method of a model is handed data while gradients are off, such as `model.sample(x)`."""
    owner = asked.unknown.owner
    if owner is None or asked.grad_enabled or role_of(owner) != "model":
        return False
    return any(_is_known_data(each) or _is_handed_in(each) for each in asked.arguments.all())


def _is_handed_in(value: Value) -> bool:
    """True if it is what a function was called with, and neither an option nor something with a role: a graph, say."""
    return (
        isinstance(value, Unknown) and isinstance(value.origin, Parameter) and not value.is_data and not role_of(value)
    )


def _is_told_which(asked: Asked) -> bool:
    """True if a loss of several graphs is called with another flag or number than before: `loss(a, b, 1)`."""
    if asked.role != "loss":
        return False
    given = asked.arguments.all()
    flags = tuple(each for each in given if isinstance(each, (bool, int, str)))
    before = asked.machine.remembered.setdefault(("flags", asked.unknown.number), flags)
    return before != flags and sum(has_graph(asked.machine, (each,)) for each in given) > 1


def _is_handed_on(asked: Asked) -> bool:
    """True if a method of a model is handed what has a graph, such as `model.decode(z)`."""
    owner = asked.unknown.owner
    if owner is None or not asked.grad_enabled or role_of(owner) != "model" or asked.role:
        return False
    return asked.has_graph and not clearing.trains(asked.unknown.name)


def _gives_functions(asked: Asked) -> bool:
    """True if one of the values that a method of a model gives is called: `features, weights = model.fitted(x)`."""
    owner = asked.unknown.owner
    method = owner is not None and role_of(owner) == "model"
    return method and asked.machine.node in plain_data.giving_functions(asked.body)


def _is_of_inference(asked: Asked) -> bool:
    """True if it is computed under `inference_mode` of what a model gave there."""
    if not asked.machine.autograd.inference:
        return False
    return any(isinstance(each, Unknown) and each.kind is Kind.CUT for each in asked.arguments.all())


def _is_density(asked: Asked) -> bool:
    """True if a distribution that a model gives is asked for what depends on its parameters."""
    owner = asked.unknown.owner
    return owner is not None and owner.kind is Kind.LIVE and asked.grad_enabled and asked.unknown.name in _DENSITIES


def _is_asked_for_tensors(asked: Asked) -> bool:
    """True if texts or images are made tensors of: `tokenizer(prompt, return_tensors="pt")`."""
    return "return_tensors" in asked.arguments.keywords and not asked.has_graph


def _is_known_data(value: Value) -> bool:
    return isinstance(value, TensorValue) or (isinstance(value, Unknown) and value.kind in (Kind.PLAIN, Kind.CUT))


def _is_method_of_data(asked: Asked) -> bool:
    owner = asked.unknown.owner
    name = asked.unknown.name
    if owner is None or owner.kind is not Kind.PLAIN or name == "requires_grad_" or not find_op(f"torch.Tensor.{name}"):
        return False
    return not asked.has_graph and not any(map(is_open, asked.arguments.all()))


def _is_loss_of_data(asked: Asked) -> bool:
    name = asked.unknown.name or asked.unknown.label
    named = role_of_name(name) == "loss" or (asked.role == "loss" and CRITERION.match(name))
    # What is used as a loss, and is not called one, may be a model. An object that gives losses of data may have one.
    owner = asked.unknown.owner
    if not named or asked.has_graph or (owner is not None and not (role_of(owner) == "loss" and asked.is_cut_off)):
        return False
    given = asked.arguments.all()
    if not asked.is_of_tensors and not any(is_of_frozen(asked.machine, each) for each in given):
        return False
    if len(given) > 1:
        targets.presume(asked.machine, "", {"input": given[0], "target": given[1]})
    return not any(map(is_open, given))


def _is_tensor_index(asked: Asked) -> bool:
    """True if only a tensor (or an array) is indexed like that: `x[:, 0]`, `x[..., 1]`, `x[mask]`, `x[batch]`."""
    computed = isinstance(asked.key, (tuple, TensorValue, Slice)) or is_made_as_tensor(asked.key)
    return asked.unknown.kind is Kind.LIVE and (computed or asked.key is ...)


def _is_matched(asked: Asked) -> bool:
    """True if the program compares an item of a result for equality: `(predicted == labels).float().mean()`."""
    live = asked.unknown.kind is Kind.LIVE and isinstance(asked.key, int)
    return live and (asked.unknown.site.node, asked.key) in plain_data.matched(asked.body)


def _is_left_out(asked: Asked) -> bool:
    """True if no backward of the function leads to a part of a result: `out["statistics"]`, `scores` beside a loss."""
    unknown, key = asked.unknown, asked.key
    if unknown.kind is not Kind.LIVE:
        return False
    if isinstance(key, int) and isinstance(unknown.origin, Call) and role_of(unknown.origin.of) == "loss":
        return (unknown.site.node, key) in plain_data.parts_left_out(asked.body)
    return isinstance(key, str) and key in plain_data.entries_left_out(asked.body)


def _is_entry_of_data(asked: Asked) -> bool:
    """True if `x.data["h"]` asks for an entry of a table: the `data` of a tensor has no names."""
    origin = asked.unknown.origin
    if not isinstance(origin, Attribute) or origin.name != "data" or not isinstance(asked.key, str):
        return False
    return not (isinstance(origin.of, Unknown) and origin.of.kind is Kind.PLAIN)


def _is_parameter(asked: Asked) -> bool:
    return model_parts.model_of_item(asked.unknown, asked.key) is not None


def _is_weight(asked: Asked) -> bool:
    name = asked.unknown.name or asked.unknown.label
    if asked.key not in ("weight", "bias") or asked.unknown.is_data or plain_data.keeps_gradients(asked.body, name):
        return False
    return model_parts.is_of_model(asked.unknown) and not frozen.is_frozen(asked.machine, asked.unknown)


def _is_fact_of_tensor(asked: Asked) -> bool:
    packed = asked.key == "data" and packing.is_packed(asked.machine, asked.unknown)
    return asked.key in _FACTS and not packed


_FACTS = frozenset({"data", "device", "dtype", "grad_fn", "is_leaf", "ndim", "requires_grad", "shape"})
"""Attributes of tensors that have no graph; `data` of a packed sequence has one."""

CALLS: tuple[Row, ...] = (
    Row(
        "method of data",
        _is_method_of_data,
        Kind.PLAIN,
        None,
        "methods of tensors make data of data",
        "presumptions/kinds.md#a-method-of-data",
    ),
    Row(
        "asked for tensors",
        _is_asked_for_tensors,
        Kind.PLAIN,
        None,
        "tokenizers and processors of Hugging Face make tensors of data by indices and sizes: nothing of it is learnt",
        "presumptions/kinds.md#what-is-asked-for-tensors",
    ),
    Row(
        "made",
        _is_made_by_call,
        Kind.ANYTHING,
        None,
        "whoever calls a model without a thing may as well make it: `self.net = self.net()`",
        "presumptions/kinds.md#a-model-that-a-call-makes",
    ),
    Row(
        "wholly frozen model",
        _is_wholly_frozen,
        Kind.PLAIN,
        conditions.FROZEN,
        "nothing is left that could be trained",
        "presumptions/kinds.md#a-wholly-frozen-model",
    ),
    Row(
        "model while gradients are off",
        lambda asked: asked.role == "model" and not asked.grad_enabled,
        Kind.CUT,
        conditions.GRADIENTS_OFF,
        "few models switch gradients on themselves",
        "presumptions/kinds.md#a-model-while-gradients-are-off",
    ),
    Row(
        "frozen model",
        _is_frozen,
        Kind.ANYTHING,
        None,
        "a part of it may be trained all the same",
        "presumptions/kinds.md#a-frozen-model",
    ),
    Row(
        "method that gives functions",
        _gives_functions,
        Kind.ANYTHING,
        None,
        "what gives functions makes something, and computes no tensor for the loss",
        "presumptions/kinds.md#a-method-of-a-model-that-gives-a-function",
    ),
    Row(
        "model",
        lambda asked: asked.role == "model",
        Kind.LIVE,
        conditions.RESULT,
        "that is what networks are for",
        "presumptions/kinds.md#a-model",
    ),
    Row(
        "method of a model while gradients are off",
        _is_computed_by_model,
        Kind.CUT,
        conditions.GRADIENTS_OFF,
        "what a model is handed data for, it computes from them",
        "presumptions/kinds.md#a-method-of-a-model-while-gradients-are-off",
    ),
    Row(
        "method of a model",
        _is_handed_on,
        Kind.LIVE,
        conditions.RESULT,
        "what a model is handed a graph for, it computes from it",
        "presumptions/kinds.md#a-method-of-a-model",
    ),
    Row(
        "density of a distribution",
        _is_density,
        Kind.LIVE,
        conditions.RESULT,
        "`dist.log_prob(action)` leads back to the network that gave `dist`, as `rsample()` does",
        "presumptions/kinds.md#a-density",
    ),
    Row(
        "loss that is told which",
        _is_told_which,
        Kind.ANYTHING,
        None,
        "one object computes the losses of several networks, each of other arguments",
        "presumptions/kinds.md#a-loss-that-is-told-which",
    ),
    Row(
        "loss",
        lambda asked: asked.role == "loss" and asked.grad_enabled and asked.has_graph,
        Kind.LIVE,
        conditions.RESULT,
        "a criterion that cuts the graph could not be trained with",
        "presumptions/kinds.md#a-loss",
    ),
    Row(
        "loss while gradients are off",
        lambda asked: asked.role == "loss" and (asked.has_graph or _is_of_inference(asked)),
        Kind.CUT,
        conditions.GRADIENTS_OFF,
        "few losses switch gradients on themselves",
        "presumptions/kinds.md#a-loss-while-gradients-are-off",
    ),
    Row(
        "values of which one is detached",
        lambda asked: not asked.role and asked.is_partly_detached,
        Kind.LIVE,
        conditions.RESULT,
        "who detaches the returns of `returns, advantages = estimates(values)` knows that they have a graph",
        "presumptions/kinds.md#values-of-which-one-is-detached",
    ),
    Row(
        "loss of data",
        _is_loss_of_data,
        Kind.PLAIN,
        conditions.OWN_PARAMETERS,
        "most losses have no parameters",
        "presumptions/kinds.md#a-loss-of-data",
    ),
)
"""The kinds of the results of calls."""

ITEMS: tuple[Row, ...] = (
    Row(
        "parameter of a model",
        _is_parameter,
        Kind.PARAMETER,
        conditions.PARAMETER,
        "parameters require grad unless somebody freezes them",
        "presumptions/kinds.md#a-parameter-of-a-model",
    ),
    Row(
        "item that is matched",
        _is_matched,
        Kind.ANYTHING,
        None,
        "classes are compared for equality, and have no gradient",
        "presumptions/kinds.md#an-item-that-is-matched",
    ),
    Row(
        "entry that is left out",
        _is_left_out,
        Kind.ANYTHING,
        None,
        "what a model returns beside its loss, under a name of its own, is as often detached",
        "presumptions/kinds.md#an-entry-that-is-left-out",
    ),
    Row(
        "entry of data",
        _is_entry_of_data,
        Kind.ANYTHING,
        None,
        "libraries of graphs keep there what nodes and edges have, with its graph",
        "presumptions/kinds.md#an-item-of-a-store",
    ),
    Row(
        "item of a loader",
        lambda asked: asked.role == "loader",
        Kind.PLAIN,
        conditions.LOADER,
        "that is what data sets give",
        "presumptions/kinds.md#an-item-of-a-loader",
    ),
    Row(
        "part of a tensor",
        _is_tensor_index,
        Kind.PART,
        None,
        "tuples and dicts are not indexed like that",
        "presumptions/kinds.md#a-part-of-a-tensor",
    ),
)
"""The kinds of items, by an index or of the next iteration."""

ATTRIBUTES: tuple[Row, ...] = (
    Row(
        "what tells of a tensor",
        _is_fact_of_tensor,
        Kind.PLAIN,
        conditions.DATA,
        "they are data, but for those of packed sequences",
        "presumptions/kinds.md#what-tells-of-a-tensor",
    ),
    Row(
        "weight of a module",
        _is_weight,
        Kind.PARAMETER,
        conditions.PARAMETER,
        "that is what modules call their parameters",
        "presumptions/kinds.md#a-weight-of-a-module",
    ),
)
"""The kinds of attributes."""


def _first(rows: Iterable[Row], asked: Asked) -> Row | None:
    return next((row for row in rows if row.match(asked)), None)


def of_call(machine: Machine, callee: Unknown, arguments: Arguments) -> Row | None:
    """The row for the result of a call."""
    return _first(CALLS, Asked(machine, callee, role_of(callee), arguments))


def of_item(machine: Machine, unknown: Unknown, index: Value) -> Row | None:
    """The row for an item."""
    return _first(ITEMS, Asked(machine, unknown, role_of(unknown), Arguments(), index))


def of_attribute(machine: Machine, unknown: Unknown, name: str) -> Row | None:
    """The row for an attribute."""
    return _first(ATTRIBUTES, Asked(machine, unknown, role_of(unknown), Arguments(), name))
