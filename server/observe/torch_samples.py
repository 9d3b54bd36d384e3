"""The samples that torch brings for its own tests: `op_db` and `module_db`, without the packages that those need."""

from __future__ import annotations

import itertools
import sys
import types
import unittest
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import torch

DTYPES = (torch.float32, torch.float64, torch.complex64, torch.int64, torch.bool, torch.uint8)


def _stub_expecttest() -> None:
    """torch.testing imports `expecttest` for a base class of its tests only."""
    if "expecttest" not in sys.modules:
        module = types.ModuleType("expecttest")
        module.__dict__.update(TestCase=unittest.TestCase, assert_expected_inline=lambda *_, **__: None)
        sys.modules["expecttest"] = module


@cache
def infos() -> Mapping[str, list[Any]]:
    """The op descriptions by name and by alias ("mul", "multiply", "nn.functional.relu", "linalg.det")."""
    _stub_expecttest()
    from torch.testing._internal.common_methods_invocations import op_db

    found: dict[str, list[Any]] = {}
    for info in op_db:
        for name in dict.fromkeys((info.name, *(alias.name for alias in info.aliases))):
            found.setdefault(name, []).append(info)
    return found


@cache
def module_infos() -> Mapping[type, Any]:
    """The module descriptions by class."""
    _stub_expecttest()
    from torch.testing._internal.common_modules import module_db

    return {info.module_cls: info for info in module_db}


def samples(name: str, most: int) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Arguments for the op of that name, at most so many, the first of each description."""
    for info in infos().get(name, ()):
        dtype = next((dtype for dtype in DTYPES if dtype in info.supported_dtypes("cpu")), None)
        if dtype is None:
            continue
        torch.manual_seed(1)
        try:
            for sample in itertools.islice(info.sample_inputs("cpu", dtype, requires_grad=False), most):
                yield (sample.input, *sample.args), dict(sample.kwargs)
        except Exception as error:  # noqa: BLE001  The op has other samples.
            print(f"samples of {name}: {error!r:.100}", file=sys.stderr)


def module_samples(
    cls: type, most: int
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...], dict[str, Any]]]:
    """Constructor's and call's arguments for a class of modules."""
    info = module_infos().get(cls)
    if info is None:
        return
    for training in (True, False):
        torch.manual_seed(1)
        try:
            inputs = info.module_inputs_func(
                info, device="cpu", dtype=torch.float32, requires_grad=False, training=training
            )
            for sample in itertools.islice(inputs, most):
                made, called = sample.constructor_input, sample.forward_input
                if called is not None:
                    yield tuple(made.args), dict(made.kwargs), tuple(called.args), dict(called.kwargs)
        except Exception as error:  # noqa: BLE001
            print(f"samples of {cls.__name__}: {error!r:.100}", file=sys.stderr)
