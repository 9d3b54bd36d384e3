"""The whole table: which names there are, what is seen of each, and which are one and the same operation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.overrides import get_overridable_functions

from . import samples, torch_samples
from .behaviour import Seen, observe
from .binding import Unbindable, call_of, defaults, describe_call
from .call import Unobservable, structure
from .fold import describe, entry_of
from .layouts import layout_of
from .modules import observe_modules
from .signatures import OPERATORS, parameters, returns_many
from .sizes import measure, words_for

Report = Callable[[str], object]

MOST_SAMPLES = 32
"""Of the samples that torch brings so many are looked at; of these two of each description are watched."""

MOST_MEASURED = 200
"""Of the samples that torch brings so many are asked for their sizes."""

SPACES: Mapping[Any, str] = {
    torch: "torch",
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
    for kind in ("int", "slice", "none", "ellipsis", "tuple_basic", "tensor", "mask", "list"):
        found[f"getitem:{kind}"] = lambda self, index: self[index]
        found[f"setitem:{kind}"] = _set_item
    for space, prefix in SPACES.items():
        for short in sorted(_functions_of(space)):
            found[f"{prefix}.{short}"] = _method(short) if space is torch.Tensor else getattr(space, short)
    for short in PROPERTIES:
        found[f"torch.Tensor.{short}"] = lambda self, short=short: getattr(self, short)
    for name in ("as_tensor", "asarray", "tensor"):
        found[f"torch.{name}"] = getattr(torch, name)
    found["torch.nn.Parameter"] = torch.nn.Parameter
    return dict(sorted(found.items()))


NO_TENSOR = "returns no tensor"

OUTSIDE: Mapping[str, str] = {
    r"\.(q_\w+|quantize\w*|quantized_\w+|dequantize|int_repr|qscheme|fbgemm_\w+|choose_qparams\w*|fused_moving_\w+)$": (
        "is about quantized tensors"
    ),
    r"\.(\w*sparse\w*|\w*coalesce\w*|c?(row|col)_indices(_copy)?|(indices|values)(_copy)?|hspmm|hsmm|dsmm|smm|spmm"
    r"|sspaddmm|saddmm|dense_dim|to_mkldnn)$": "is about sparse or other layouts",
    r"\.miopen_\w+$": "is for ROCm alone",
    r"\.batch_norm_(\w+)$": "is a part of batch norm for GPUs alone",
    r"\.(ipu|xpu|mtia|pin_memory|record_stream)$": "needs a device",
    r"\.sym_\w+$": "is about the compiler's symbolic numbers",
    r"\.(backward|requires_grad_|detach_|retain_grad|register_\w*hook|set_|resize\w*)$": (
        "changes the tensor's own state: no table tells it"
    ),
    r"Tensor\.(numpy|map_|map2_|apply_|module_load|share_memory_|slice_inverse)$": "is outside autograd",
    r"\.(item|is_nonzero|tolist)$": NO_TENSOR,
    r"\.(fftfreq|rfftfreq)$": "makes a tensor of no tensor",
    r"Tensor\.(eig|symeig|solve|lstsq|reinforce)$": "was taken out of PyTorch",
    r"\.(new|as_subclass|to_padded_tensor|Tensor\.index)$": "is about subclasses of tensors, or internal",
    r"\.(scaled_mm|grouped_mm|scaled_grouped_mm)$": "is for GPUs alone",
    r"\.autocast$": "is a context manager",
}
"""Names that are left out by kind, and why."""


MACHINERY = re.compile(r"(assert_|boolean_|Optional|handle_torch|has_torch)")

UNLISTED = frozenset({"as_strided", "fill", "normal"})
"""Functions of torch that cannot be overridden, so that torch does not list them; their samples exist."""


def _functions_of(space: Any) -> set[str]:
    """The names of a space: all that are public, but of torch itself, which has much else, those that torch lists."""
    public = {
        short
        for short in dir(space)
        if not short.startswith("_") and callable(getattr(space, short)) and not isinstance(getattr(space, short), type)
    }
    if space is not torch:
        return {short for short in public if not MACHINERY.match(short)}
    overridable = get_overridable_functions()
    listed = {getattr(function, "__name__", "") for part in (torch, torch.functional) for function in overridable[part]}
    inplace = {short for short in public if short.endswith("_") and hasattr(torch.Tensor, short)}
    return public & (listed | inplace | UNLISTED | {short for short in public if short.endswith("_like")})


AS_ANOTHER: Mapping[str, str] = {"torch.Tensor.cuda": "torch.Tensor.to"}
"""Names that cannot be observed everywhere, and which they are like: `cuda` is `to` with a device."""


def left_out_by_kind(name: str) -> str | None:
    """Why a name is left out without a look at it."""
    return next((reason for pattern, reason in OUTSIDE.items() if re.search(pattern, name)), None)


def returns_no_tensor(run: Callable[..., Any]) -> bool:
    """Whether it returns a number, a flag or the like for plain tensors."""
    for count in (1, 2):
        try:
            value = run(*(samples.tensors()["x"].clone() for _ in range(count)))
        except Exception:  # noqa: BLE001  It wants other arguments: then its samples tell.
            continue
        return not structure(value)[1]
    return False


def _method(short: str) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, short)(*args, **kwargs)

    return call


def _set_item(self: Any, index: Any, value: Any) -> Any:
    self[index] = value
    return self


def signature(name: str) -> list[str] | None:
    """The parameters of a name of the table."""
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
        if not wanted(name) or name in AS_ANOTHER:
            continue
        entry, problems = entry_of_name(name, run)
        if entry is None:
            left_out[name] = problems[0]
        else:
            ops[name] = entry
            for problem in problems:
                report(f"{name}: {problem}")
    modules, without = observe_modules(wanted, report)
    aliases = _aliases(ops) | {name: other for name, other in AS_ANOTHER.items() if other in ops}
    return {
        "torch": torch.__version__.partition("+")[0],
        "left_out": left_out | without,
        "aliases": aliases,
        "ops": {name: entry for name, entry in ops.items() if name not in aliases},
        "modules": modules,
    }


def entry_of_name(name: str, run: Callable[..., Any]) -> tuple[dict[str, Any] | None, list[str]]:
    """A name's entry, if there is one, and what went wrong: without an entry at least one reason."""
    by_hand = next(samples.of_op(name), None)
    reason = left_out_by_kind(name) or (NO_TENSOR if by_hand is None and returns_no_tensor(run) else None)
    params = signature(name)
    if reason or params is None:
        return None, [reason or "no signature found"]
    seen, problems = watch(name, run, params)
    if not seen:
        return None, problems or ["no samples"]
    usual = {key: describe(value) for key, value in defaults(params).items()}
    entry = {"params": params, **entry_of(seen, name, usual, returns_many(name))}
    if "item:" in name:
        return entry, problems
    calls = [(args, kwargs) for args, kwargs, _ in arguments(name, MOST_MEASURED)]
    found = [measure(run, params, args, kwargs, returns_many(name)) for args, kwargs in calls]
    return entry | words_for(name, [each for each in found if each is not None]) | layout_of(run, calls), problems


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
        except Exception as error:  # noqa: BLE001  A sample that is not for this form of the operation.
            problems.append(f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:100]}")
    return seen, list(dict.fromkeys(problems))


def arguments(name: str, most: int = MOST_SAMPLES) -> Iterator[tuple[tuple[Any, ...], dict[str, Any], bool]]:
    """The samples of a name, and whether they are written by hand; then come those that torch brings."""
    for args, kwargs in samples.of_op(name):
        yield args, kwargs, True
    if name.startswith("torch.") or name == "operator.matmul":
        short = name.removeprefix("torch.").removeprefix("Tensor.").removesuffix("_")
        last = short.rpartition(".")[2]
        for key in dict.fromkeys((short, last, f"nn.functional.{last}", f"linalg.{last}", f"special.{last}")):
            for args, kwargs in torch_samples.samples(key, most):
                yield args, kwargs, False


def _aliases(ops: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Names that behave in all seen ways like another of the same meaning."""
    aliases: dict[str, str] = {}
    for name in ops:
        for other in _same_meaning(name):
            other = aliases.get(other, other)
            operator = name.startswith("operator.")
            if other != name and other in ops and comparable(ops[name], operator) == comparable(ops[other], operator):
                aliases[name] = other
                break
    for name in aliases:
        while aliases[name] in aliases:
            aliases[name] = aliases[aliases[name]]
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


def comparable(entry: Mapping[str, Any], operator: bool = False) -> Any:
    """An entry without the difference between `self` and `input`, and between a signature with and without `out`."""
    names = [text.partition("=")[0] for text in entry["params"]]
    first = names[0] if names and "input" not in names else ""

    def plain(value: Any) -> Any:
        match value:
            case str():
                return re.sub(rf"(^|:){first}(?=[.:]|$)", r"\1input", value) if first else value
            case dict():
                return {plain(key): plain(part) for key, part in value.items()}
            case list():
                parts = [plain(part) for part in value]
                return sorted(parts) if all(isinstance(part, str) for part in parts) else parts
            case _:
                return value

    params = [] if operator else ["input" if names else "", *_plain(entry["params"])[1:]]
    return {**plain({key: value for key, value in entry.items() if key != "params"}), "params": params}


def _plain(params: list[str]) -> list[str]:
    kept = [text for text in params if text != "out=null"]
    return kept[:-1] if kept and kept[-1] == "*" else kept
