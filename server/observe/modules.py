"""The classes of `torch.nn`: what their constructors make, and what their calls do in training and in evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from . import samples, torch_samples
from .behaviour import Seen, observe
from .binding import Unbindable, bind, defaults, describe_call, module_call
from .call import Unobservable
from .fold import describe, entry_of, tell_apart
from .layouts import LAYOUTS, layout_of
from .signatures import from_python
from .sizes import Measured, measure, parameter_sizes, words_for

MOST_SAMPLES = 40

SCAFFOLDS = frozenset(
    {"Module", "Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"}
    | {"DataParallel", "RNNBase", "RNNCellBase"}
)
"""Containers, which do what their items do, and base classes."""

Sample = tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...], dict[str, Any]]


def names() -> dict[str, type[nn.Module]]:
    """All classes of modules that the table tells of, by their full names."""
    found = {name: getattr(nn, name) for name in dir(nn)}
    return {
        f"torch.nn.{name}": cls
        for name, cls in found.items()
        if isinstance(cls, type) and issubclass(cls, nn.Module) and name not in SCAFFOLDS
    }


def observe_modules(
    wanted: Callable[[str], object], report: Callable[[str], object]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The entries of the modules that are `wanted`, and why others have none."""
    found: dict[str, Any] = {}
    left_out = {f"torch.nn.{name}": "a container or a base class" for name in SCAFFOLDS if wanted(f"torch.nn.{name}")}
    for name, cls in names().items():
        if not wanted(name):
            continue
        entry, problems = entry_of_module(name, cls)
        for problem in problems:
            report(f"{name}: {problem}")
        if entry is None:
            left_out[name] = problems[0] if problems else "no samples"
        else:
            found[name] = entry
    return found, left_out


def entry_of_module(name: str, cls: type[nn.Module]) -> tuple[dict[str, Any] | None, list[str]]:
    """A class's entry, and what went wrong with some of its samples."""
    init = _init_of(cls)
    forward = from_python(cls.forward, skip=1)
    made: list[tuple[Mapping[str, object], nn.Module]] = []
    seen: dict[bool, list[Seen]] = {True: [], False: []}
    sizes: list[Measured] = []
    layouts: set[str] = set()
    problems: list[str] = []
    told: dict[str, int] = {}
    for init_args, init_kwargs, args, kwargs in _samples(cls):
        for training in (True, False):
            try:
                torch.manual_seed(3)
                module = cls(*init_args, **init_kwargs)
                module.train(training)
                bound = {**defaults(init), **bind(init, init_args, init_kwargs)}
                if isinstance(module, nn.modules.lazy.LazyModuleMixin):
                    module(*args, **kwargs)
                listed = _listed(module)
                if training:
                    made.append((bound, module))
                    own = dict(module.named_parameters()) if listed else {}
                    layouts.add(layout_of(module, [(args, kwargs)]).get("layout", ""))
                    sizes += filter(None, [measure(module, forward, args, kwargs, settings=bound, held=own)])
                call = module_call(module, listed, bound, forward, args, kwargs)
                description = describe_call(call, training)
                told[description] = told.get(description, 0) + 1
                if told[description] <= 2:
                    seen[training].append(observe(call))
            except (Unobservable, Unbindable) as error:
                problems.append(str(error))
            except Exception as error:  # noqa: BLE001  A sample that does not fit, for whatever reason.
                problems.append(f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:100]}")
    problems = list(dict.fromkeys(problems))
    if not seen[True]:
        return None, problems
    usual = {name: describe(value) for name, value in {**defaults(forward), **defaults(init)}.items()}
    train = entry_of(seen[True], name, usual)
    evaluation = entry_of(seen[False], name, usual) if seen[False] else None
    return {
        "init": init,
        "parameters": _parameters(made),
        "buffers": _present([(bound, _buffer_names(module)) for bound, module in made]),
        **words_for(name, sizes),
        **({"layout": worst} if (worst := max(layouts, key=LAYOUTS.index)) else {}),
        "forward": forward,
        "train": train,
        "eval": None if evaluation == train else evaluation,
    }, problems


def _init_of(cls: type[nn.Module]) -> list[str]:
    """The constructor's parameters; the recurrent modules hide theirs behind `*args`."""
    if cls.__init__ is nn.Module.__init__:
        return []
    if issubclass(cls, nn.RNNBase):
        rest = from_python(nn.RNNBase.__init__, skip=2)
        added = {nn.RNN: [*rest, 'nonlinearity="tanh"'], nn.GRU: [text for text in rest if text != "proj_size=0"]}
        return added.get(cls, rest)
    return from_python(cls.__init__, skip=1)


def _listed(module: nn.Module) -> bool:
    """Do its parameters go by name? Not where names count layers, or lie in modules below."""
    return not isinstance(module, nn.RNNBase) and not list(module.children())


def _parameter_names(module: nn.Module) -> frozenset[str]:
    if not _listed(module):
        return frozenset({"*"})
    return frozenset(name for name, _ in module.named_parameters())


def _buffer_names(module: nn.Module) -> frozenset[str]:
    return frozenset(name for name, _ in module.named_buffers() if "." not in name)


def _parameters(made: Sequence[tuple[Mapping[str, object], nn.Module]]) -> list[dict[str, Any]]:
    """The parameters in the order in which a module lists them: when they are there, and their sizes."""
    present = _present([(bound, _parameter_names(module)) for bound, module in made])
    sizes = parameter_sizes([(bound, module) for bound, module in made if _listed(module)])
    order = [name for _, module in made for name, _ in module.named_parameters() if name in present]
    return [
        {"name": name, **present[name], **({"sizes": sizes[name]} if any(sizes.get(name, ())) else {})}
        for name in dict.fromkeys([*order, *present])
    ]


def _present(made: Sequence[tuple[Mapping[str, object], frozenset[str]]]) -> dict[str, Any]:
    """For each name the constructor's arguments that make it be there."""
    found: dict[str, Any] = {}
    for name in sorted(frozenset().union(*(names for _, names in made))):
        when = tell_apart([(bound, name in names) for bound, names in made])
        found[name] = {"when": when} if when else {}
    return found


def _samples(cls: type[nn.Module]) -> Iterator[Sample]:
    for init, call in samples.of_module(cls.__name__):
        yield *init, *call
    yield from torch_samples.module_samples(cls, MOST_SAMPLES)
