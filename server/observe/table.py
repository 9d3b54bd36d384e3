"""The whole table: which names there are, what is seen of each, and which are one and the same operation."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import torch
from torch.overrides import get_overridable_functions

from . import samples, torch_samples
from .behaviour import Seen, Unobservable, observe
from .calls import Unbindable, call_of, defaults, describe_call
from .fold import describe, entry_of
from .modules import observe_modules
from .signatures import OPERATORS, parameters

Report = Callable[[str], object]

MOST_SAMPLES = 40
"""Of the samples that torch brings so many are looked at; of these two of each description are watched."""

SPACES: Mapping[Any, str] = {
    torch: "torch",
    torch.functional: "torch",
    torch.nn.functional: "torch.nn.functional",
    torch.Tensor: "torch.Tensor",
    torch.linalg: "torch.linalg",
    torch.fft: "torch.fft",
    torch.special: "torch.special",
}

PROPERTIES = ("T", "mT", "H", "mH", "real", "imag", "data")


def names() -> dict[str, Callable[..., Any]]:
    """All names of the table and how to call them."""
    found: dict[str, Callable[..., Any]] = dict(OPERATORS)
    for kind in "int slice none ellipsis tuple_basic tensor mask list".split():
        found[f"getitem:{kind}"] = lambda self, index: self[index]
        found[f"setitem:{kind}"] = _set_item
    for space, functions in get_overridable_functions().items():
        prefix = SPACES.get(space)
        if prefix is None:
            continue
        for function in functions:
            short = getattr(function, "__name__", None)
            if short and not short.startswith("_") and hasattr(space, short):
                found[f"{prefix}.{short}"] = _method(short) if space is torch.Tensor else getattr(space, short)
    for short in PROPERTIES:
        found[f"torch.Tensor.{short}"] = lambda self, short=short: getattr(self, short)
    for name in ("as_tensor", "asarray", "tensor"):
        found[f"torch.{name}"] = getattr(torch, name)
    found["torch.nn.Parameter"] = torch.nn.Parameter
    return dict(sorted(found.items()))


def _method(short: str) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, short)(*args, **kwargs)

    return call


def _set_item(self: Any, index: Any, value: Any) -> Any:
    self[index] = value
    return self


def signature(name: str) -> list[str] | None:
    if name.startswith("getitem:"):
        return ["self", "index"]
    if name.startswith("setitem:"):
        return ["self", "index", "value"]
    if name in OPERATORS:
        unary = name in ("operator.neg", "operator.pos", "operator.abs", "operator.invert")
        return ["input"] if unary else ["self", "other"] if name.startswith("operator.i") else ["input", "other"]
    target: Any = torch
    for part in name.split(".")[1:]:
        target = getattr(target, part)
    return parameters(name, target)


def build(wanted: Callable[[str], object], report: Report) -> dict[str, Any]:
    """The table of all names that are `wanted`."""
    ops: dict[str, dict[str, Any]] = {}
    left_out: dict[str, str] = {}
    for name, run in names().items():
        if not wanted(name):
            continue
        params = signature(name)
        if params is None:
            left_out[name] = "no signature found"
            continue
        seen, problems = watch(name, run, params)
        if not seen:
            left_out[name] = problems[0] if problems else "no samples"
            continue
        for problem in problems:
            report(f"{name}: {problem}")
        usual = {key: describe(value) for key, value in defaults(params).items()}
        ops[name] = {"params": params, **entry_of(seen, name, usual)}
    modules, without = observe_modules(wanted, report)
    aliases = _aliases(ops)
    return {
        "torch": torch.__version__.partition("+")[0],
        "left_out": left_out | without,
        "aliases": aliases,
        "ops": {name: entry for name, entry in ops.items() if name not in aliases},
        "modules": modules,
    }


def watch(name: str, run: Callable[..., Any], params: list[str]) -> tuple[list[Seen], list[str]]:
    """What the samples of a name show, and why some show nothing."""
    seen: list[Seen] = []
    problems: list[str] = []
    told: dict[str, int] = {}
    for args, kwargs, by_hand in arguments(name):
        try:
            call = call_of(run, params, args, kwargs)
            description = describe_call(call)
            told[description] = told.get(description, 0) + 1
            if not by_hand and told[description] > 2:
                continue
            seen.append(observe(call))
        except (Unobservable, Unbindable) as error:
            problems.append(str(error))
        except Exception as error:  # A sample that is not for this form of the operation.
            problems.append(f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:100]}")
    return seen, list(dict.fromkeys(problems))


def arguments(name: str) -> Iterator[tuple[tuple[Any, ...], dict[str, Any], bool]]:
    """The samples of a name: those by hand, then those that torch brings."""
    short = name.removeprefix("torch.").removeprefix("Tensor.")
    base = short.removesuffix("_") if name.startswith("torch.Tensor.") else short
    texts = [samples.ONLY.get(name.removeprefix("torch."))]
    texts += [samples.OPS.get(key) for key in dict.fromkeys((short, base))]
    for text in texts:
        for sample in text.split("|") if text else ():
            if sample.strip():
                args, kwargs = eval(f"_call({sample})", {"_call": _arguments, **_tensors()})
                yield args, kwargs, True
    if name.startswith("torch.") or name == "operator.matmul":
        last = base.rpartition(".")[2]
        for key in dict.fromkeys((short, base, last, f"nn.functional.{last}", f"linalg.{last}", f"special.{last}")):
            for args, kwargs in torch_samples.samples(key, MOST_SAMPLES):
                yield args, kwargs, False


def _arguments(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, kwargs


@cache
def _tensors() -> Mapping[str, Any]:
    return samples.tensors()


def _aliases(ops: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Names that behave in all seen ways like another of the same meaning."""
    aliases: dict[str, str] = {}
    for name in ops:
        for other in _same_meaning(name):
            other = aliases.get(other, other)
            operator = name.startswith("operator.")
            if other != name and other in ops and _comparable(ops[name], operator) == _comparable(ops[other], operator):
                aliases[name] = other
                break
    return aliases


_OF_OPERATOR = {
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "and_": "bitwise_and",
    "or_": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
    "invert": "bitwise_not",
    "pos": "positive",
}


def _same_meaning(name: str) -> Iterator[str]:
    space, _, short = name.rpartition(".")
    if space == "operator":
        if name.startswith("operator.i") and short != "invert":
            yield f"torch.Tensor.{_OF_OPERATOR.get(short[1:], short[1:])}_"
        yield f"torch.{_OF_OPERATOR.get(short, short)}"
        return
    if space != "torch":
        yield f"torch.{short}"
    key = name.removeprefix("torch.").removeprefix("Tensor.")
    inplace = key.endswith("_") and space == "torch.Tensor"
    for info in torch_samples.infos().get(key.removesuffix("_") if inplace else key, ()):
        yield f"torch.Tensor.{info.name}_" if inplace else f"torch.{info.name}"


def _comparable(entry: Mapping[str, Any], operator: bool = False) -> Any:
    """An entry without the difference between `self` and `input`, and between a signature with and without `out`."""
    first = entry["params"][0].partition("=")[0] if entry["params"] else ""

    def plain(value: Any) -> Any:
        match value:
            case str():
                return re.sub(rf"(^|:){first}$", r"\1input", value) if first else value
            case dict():
                return {plain(key): plain(part) for key, part in value.items()}
            case list():
                parts = [plain(part) for part in value]
                return sorted(parts) if all(isinstance(part, str) for part in parts) else parts
            case _:
                return value

    params = [] if operator else [first and "input", *_plain(entry["params"])[1:]]
    return {**plain({key: value for key, value in entry.items() if key != "params"}), "params": params}


def _plain(params: list[str]) -> list[str]:
    kept = [text for text in params if text != "out=null"]
    return kept[:-1] if kept and kept[-1] == "*" else kept


def fail(message: str) -> None:
    print(message, file=sys.stderr)
