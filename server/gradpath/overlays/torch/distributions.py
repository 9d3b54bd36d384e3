"""`torch.distributions`: `sample()` leaves the graph; `rsample()`, `log_prob()` and `entropy()` stay on it.

What raises on a second backward, and which parameters a method depends on, is as observed in PyTorch 2.13.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from gradpath.autograd.provenance import of_any
from gradpath.autograd.tensor import REPARAMETRIZED, Cut, Node, Tensor
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import UNDEFINED, Arguments, Class, Instance, NativeFunction, Object, Value
from gradpath.overlays.namespace import Names
from gradpath.overlays.torch.operations import tensors_in
from gradpath.overlays.torch.tensor_value import wrap
from gradpath.support.words import words

CLASSES = words(
    """Bernoulli Beta Binomial Categorical Cauchy Chi2 ContinuousBernoulli Dirichlet Exponential FisherSnedecor Gamma
    Geometric Gumbel HalfCauchy HalfNormal InverseGamma Kumaraswamy LKJCholesky Laplace LogNormal LogisticNormal
    LowRankMultivariateNormal MultivariateNormal Multinomial NegativeBinomial Normal OneHotCategorical Pareto
    Poisson RelaxedBernoulli RelaxedOneHotCategorical StudentT Uniform VonMises Weibull Wishart"""
)

LOCATED = frozenset({"Normal", "Laplace", "MultivariateNormal"})
"""Classes whose location is only added: `rsample` keeps nothing for it, and `entropy` does not depend on it."""

WITHOUT_GRADIENT = frozenset(
    {
        *("Bernoulli", "Binomial", "Categorical", "Geometric", "LKJCholesky", "Multinomial", "NegativeBinomial"),
        *("OneHotCategorical", "Poisson", "VonMises", "MixtureSameFamily"),
    }
)
"""Classes that have no `rsample`."""


class DistributionInstance(Instance):
    """A distribution with the tensors that it was made of: all of them, and those besides the location.

    `base` is the distribution that another one is built on; `open` says that not all it was made of is seen.
    """

    __slots__ = ("base", "open", "rest", "sources")

    def __init__(self, cls: Class) -> None:
        super().__init__(cls)
        self.sources: tuple[Tensor, ...] = ()
        self.rest: tuple[Tensor, ...] = ()
        self.base: DistributionInstance | None = None
        self.open = False

    @property
    def has_rsample(self) -> bool:
        """True if it can draw so that gradients run on; as far as is known, for a class of the program."""
        if self.base is not None:
            return self.base.has_rsample
        names = {each.name for each in self.cls.mro}
        return names.isdisjoint(WITHOUT_GRADIENT) and not names.isdisjoint(CLASSES)

    def native_attribute(self, machine: Machine, name: str) -> Value:
        method = _METHODS.get(name)
        if method is not None:
            return NativeFunction(f"Distribution.{name}", lambda m, a: method(m, self, a))
        if name in _STATISTICS:
            return _result(machine, self, name, self.sources)
        return UNDEFINED


class DistributionClass(Class):
    """A class of `torch.distributions`."""

    __slots__ = ()

    instances = DistributionInstance

    def native_member(self, name: str) -> Value:
        return NativeFunction(f"{self.name}.__init__", _initialise) if name == "__init__" else UNDEFINED


def _initialise(machine: Machine, arguments: Arguments) -> Value:
    made, *values = arguments.positional
    if not isinstance(made, DistributionInstance):
        return None
    named = {name: value for name, value in arguments.keywords.items() if name != "validate_args"}
    everything = [*values, *named.values()]
    made.open = arguments.open and not (values and _is_starred(machine))
    made.sources = tuple(tensor for value in everything for tensor in _tensors(machine, value))
    made.rest = made.sources
    if not arguments.open and any(base.name in LOCATED for base in made.cls.mro):
        others = [*values[1:], *(value for name, value in named.items() if name != "loc")]
        made.rest = tuple(tensor for value in others for tensor in _tensors(machine, value))
    for name, value in named.items():
        made.attributes[name] = value
    made.base = next((each for each in everything if isinstance(each, DistributionInstance)), None)
    return None


def _is_starred(machine: Machine) -> bool:
    """True if the call that runs hands on the items of something, such as `Normal(*policy(x))`, and nothing by name.

    How many there are is not known, but all that there are depend on the same as those that are seen.
    """
    call = machine.node
    return (
        isinstance(call, ast.Call)
        and any(isinstance(each, ast.Starred) for each in call.args)
        and all(each.arg is not None for each in call.keywords)
    )


def _tensors(machine: Machine, value: Value) -> list[Tensor]:
    """The tensors of a parameter, also those of a distribution that is the base of another."""
    if isinstance(value, DistributionInstance):
        return list(value.sources)
    return tensors_in(machine, value, presume=True)


def _result(
    machine: Machine, made: DistributionInstance, name: str, given: Sequence[Tensor], values: Sequence[Tensor] = ()
) -> Value:
    """A tensor that depends on what the distribution was `given`, and on `values`, by a node that saves something."""
    sources = (*given, *values)
    elsewhere = not made.sources and made.cls.node is not None  # A class of the program may keep its parameters there.
    if made.open or elsewhere:
        return machine.unknown(f"{name} of a distribution", None, (made, *map(wrap, sources)))
    autograd = machine.autograd
    result = autograd.tensor(dtype=None)
    result.maker = tuple(sources)
    result.operation = name
    requiring = [tensor for tensor in sources if tensor.requires_grad]
    if not requiring:
        return wrap(result)
    site = machine.site()
    if not autograd.grad_enabled:
        autograd.cut(result, Cut("inference_mode" if autograd.inference else "no_grad", site, requiring[0], name))
        return wrap(result)
    edges = tuple(edge for edge in map(autograd.edge, requiring) if edge is not None)
    node = Node(f"torch.distributions.{made.cls.name}.{name}", edges, site, holds=True)
    node.provenance = of_any(edge.provenance for edge in edges)
    node.outputs.append(result)
    result.node = node
    result.provenance = node.provenance
    autograd.recorder.built(node, {"input": given, "value": values})
    return wrap(result)


def _sample(machine: Machine, made: DistributionInstance, arguments: Arguments) -> Value:
    """Runs under `no_grad`: what comes out has no graph."""
    if made.open:
        return machine.unknown("sample of a distribution", None, (made,))
    result = machine.autograd.tensor(dtype=None)
    result.maker = made.sources
    result.operation = "sample"
    source = next((tensor for tensor in made.sources if tensor.requires_grad and not tensor.is_open), None)
    if source is not None:
        drawn = REPARAMETRIZED if made.has_rsample else "sample"
        machine.autograd.cut(result, Cut("not differentiable", machine.site(), source, drawn))
    return wrap(result)


def _rsample(machine: Machine, made: DistributionInstance, arguments: Arguments) -> Value:
    result = _result(machine, made, "rsample", made.sources)
    for tensor in tensors_in(machine, result):
        if tensor.node is not None:
            tensor.node.holds = any(each.requires_grad for each in made.rest)
    return result


def _of_value(name: str) -> Callable[[Machine, DistributionInstance, Arguments], Value]:
    def method(machine: Machine, made: DistributionInstance, arguments: Arguments) -> Value:
        value = arguments.get(0, "value", None)
        return _result(machine, made, name, made.sources, tuple(_tensors(machine, value)))

    return method


Method = Callable[[Machine, DistributionInstance, Arguments], Value]

_METHODS: dict[str, Method] = {
    "sample": _sample,
    "sample_n": _sample,
    "rsample": _rsample,
    "log_prob": _of_value("log_prob"),
    "cdf": _of_value("cdf"),
    "icdf": _of_value("icdf"),
    "entropy": lambda machine, made, arguments: _result(machine, made, "entropy", made.rest),
    "perplexity": lambda machine, made, arguments: _result(machine, made, "perplexity", made.rest),
    "expand": lambda machine, made, arguments: made,
}

_STATISTICS = frozenset({"mean", "mode", "variance", "stddev", "probs", "logits", "loc", "scale", "param_shape"})


def _kl_divergence(machine: Machine, arguments: Arguments) -> Value:
    """`kl_divergence(p, q)`."""
    first, second = arguments.get(0, "p", None), arguments.get(1, "q", None)
    if not isinstance(first, DistributionInstance):
        return machine.unknown("divergence of unknown", None, (first, second))
    return _result(machine, first, "kl_divergence", (*first.sources, *_tensors(machine, second)))


def _names() -> dict[str, Object]:
    names: dict[str, Object] = {}
    for name in (*CLASSES, "Independent", "TransformedDistribution", "MixtureSameFamily"):
        cls = DistributionClass(name)
        names[f"torch.distributions.{name}"] = cls
        names[f"torch.distributions.{_module_of(name)}.{name}"] = cls
    divergence = NativeFunction("kl_divergence", _kl_divergence)
    names["torch.distributions.kl_divergence"] = names["torch.distributions.kl.kl_divergence"] = divergence
    return names


def _module_of(name: str) -> str:
    """The module that defines a class: its name in snake case, as nearly all are called."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).strip("_")


NAMES: Names = _names()
