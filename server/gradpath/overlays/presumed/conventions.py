"""Conventional names of libraries: what an unbound name means in a fragment without imports.

Posts and notebook cells leave imports out; a name with another meaning would be bound.
"""

from __future__ import annotations

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.origins import Undefined
from gradpath.interpreter.values import UNDEFINED, Unknown, Value
from gradpath.source.imports import MODULES

_MEMBERS = {
    "collections": "OrderedDict defaultdict deque namedtuple",
    "copy": "deepcopy",
    "functools": "partial",
    "itertools": "chain",
    "torch": "Tensor",
    "torch.autograd": "Variable",
    "torch.func": "functional_call",
    "torch.distributions": "Bernoulli Categorical MultivariateNormal Normal",
    "torch.nn.parallel": "DistributedDataParallel",
    "torch.nn.utils": "clip_grad_norm clip_grad_norm_ clip_grad_value_ parameters_to_vector vector_to_parameters",
    "torch.nn.utils.rnn": "pack_padded_sequence pad_packed_sequence pad_sequence",
    "torch.utils.data": "DataLoader Dataset TensorDataset random_split",
    "tqdm": "tqdm trange",
}
_WHOLE_NAMES = {name: f"{module}.{name}" for module, listed in _MEMBERS.items() for name in listed.split()}


def meant_by(machine: Machine, name: str) -> Value:
    """The conventional meaning of an unbound name; `UNDEFINED` where there is none."""
    whole = _WHOLE_NAMES.get(name)
    return UNDEFINED if whole is None else machine.library.module(machine, whole)


def member(machine: Machine, unknown: Unknown, name: str) -> Value:
    """The conventional meaning of `unknown.name` where `unknown` is an unbound name: `torch.cat`, `F.relu`.

    A model may be called `F` as well, and an optimizer `optim`, but neither has what the library has.
    """
    module = MODULES.get(unknown.origin.name) if isinstance(unknown.origin, Undefined) else None
    if module is None:
        return UNDEFINED
    found = machine.library.module(machine, f"{module}.{name}")
    return UNDEFINED if isinstance(found, Unknown) and not found.is_data else found


def is_conventional(name: str) -> bool:
    """True if everybody calls something of a library so."""
    return name in MODULES or name in _WHOLE_NAMES
