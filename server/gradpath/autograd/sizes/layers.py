"""Sizes of what layers give: convolution, pooling, resizing, recurrence. Functions and modules name things alike."""

from __future__ import annotations

from gradpath.autograd.sizes.given import UNSURE, Given, Rule, known, product, replaced, total
from gradpath.autograd.sizes.views import joined
from gradpath.autograd.tensor import Shape


def _each(given: Given, name: str, rank: int, default: int) -> tuple[int | None, ...]:
    """An argument that is one number for all dimensions, or one for each."""
    value = given.value(name, default)
    if isinstance(value, int) and not isinstance(value, bool):
        return (value,) * rank
    if isinstance(value, tuple) and len(value) in (1, rank):
        found = tuple(each if isinstance(each, int) else None for each in value)
        return found * rank if len(found) == 1 else found
    return (None,) * rank


def _slid(
    size: int | None,
    kernel: int | None,
    stride: int | None,
    padding: int | None,
    dilation: int | None,
    up: bool = False,
) -> int | None:
    """The number of positions of a window along a dimension."""
    if size is None or kernel is None or stride is None or padding is None or dilation is None or size < 0:
        return None
    if stride < 1:
        return None
    reach = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (-(-reach // stride) if up else reach // stride) + 1
    if up and (count - 1) * stride >= size + padding:
        count -= 1  # The last window must begin inside.
    return count if count > 0 else None


def _spatial(given: Given, rank: int) -> tuple[Shape, Shape]:
    """Batch and channels, and the rest; raises where the number of dimensions does not fit."""
    shape = given.first
    return known((shape[:-rank], shape[-rank:]) if len(shape) in (rank + 1, rank + 2) else None)


def convolution(given: Given) -> Shape | None:
    weight = given.shape("weight")
    rank = len(weight) - 2
    before, sizes = _spatial(given, rank)
    padding: tuple[int | None, ...]
    match given.value("padding", 0):
        case "same":
            return (*before[:-1], weight[0], *sizes)
        case "valid":
            padding = (0,) * rank
        case _:
            padding = _each(given, "padding", rank, 0)
    stride, dilation = _each(given, "stride", rank, 1), _each(given, "dilation", rank, 1)
    return (*before[:-1], weight[0], *map(_slid, sizes, weight[2:], stride, padding, dilation))


def transposed_convolution(given: Given) -> Shape | None:
    weight, groups = given.shape("weight"), known(given.integer("groups", 1))
    rank = len(weight) - 2
    before, sizes = _spatial(given, rank)
    columns = [_each(given, name, rank, default) for name, default in _TRANSPOSED]
    found: list[int | None] = []
    for size, kernel, stride, padding, extra, dilation in zip(sizes, weight[2:], *columns, strict=True):
        numbers = (size, kernel, stride, padding, extra, dilation)
        if any(number is None or number < 0 for number in numbers):
            found.append(None)
            continue
        size, kernel, stride, padding, extra, dilation = (number or 0 for number in numbers)
        found.append((size - 1) * stride - 2 * padding + dilation * (kernel - 1) + extra + 1)
    channels = product([weight[1], groups])
    return (*before[:-1], channels, *found)


_TRANSPOSED = (("stride", 1), ("padding", 0), ("output_padding", 0), ("dilation", 1))


def pooling(rank: int) -> Rule:
    """Pooling over windows; without `stride` the windows lie side by side."""

    def rule(given: Given) -> Shape | None:
        before, sizes = _spatial(given, rank)
        kernel = _each(given, "kernel_size", rank, 1)
        stride = given.value("stride")
        steps = kernel if stride is None or stride == () else _each(given, "stride", rank, 1)
        padding, dilation = _each(given, "padding", rank, 0), _each(given, "dilation", rank, 1)
        up = known(given.flag("ceil_mode"))
        return (*before, *(_slid(*each, up) for each in zip(sizes, kernel, steps, padding, dilation, strict=True)))

    return rule


def adaptive_pooling(rank: int) -> Rule:
    """Pooling to a size; None keeps a dimension."""

    def rule(given: Given) -> Shape | None:
        before, sizes = _spatial(given, rank)
        wanted = given.value("output_size")
        if wanted is UNSURE:
            return None
        asked = wanted if isinstance(wanted, tuple) else (wanted,) * rank
        if len(asked) != rank:
            asked = (asked[0],) * rank if len(asked) == 1 else (UNSURE,) * rank
        pairs = zip(sizes, asked, strict=True)
        return (*before, *(old if new is None else new if isinstance(new, int) else None for old, new in pairs))

    return rule


def resized(given: Given) -> Shape | None:
    """`interpolate`, `Upsample`: to a size, or by a factor."""
    shape = given.first
    if len(shape) < 3:
        return None
    rank = len(shape) - 2
    if given.has("size"):
        return (*shape[:2], *_each(given, "size", rank, 1))
    factor = given.value("scale_factor")
    factors = factor if isinstance(factor, tuple) else (factor,) * rank
    if len(factors) != rank:
        return None
    found: list[int | None] = []
    for size, times in zip(shape[2:], factors, strict=True):
        known = size is not None and size >= 0 and isinstance(times, (int, float))
        found.append(int(size * times) if known else None)
    return (*shape[:2], *found)


def pixels(given: Given) -> Shape | None:
    """`pixel_shuffle`: channels become pixels."""
    shape, factor = given.first, known(given.integer("upscale_factor"))
    channels = shape[-3]
    return (
        *shape[:-3],
        None if channels is None or channels < 0 else channels // factor**2,
        product([shape[-2], factor]),
        product([shape[-1], factor]),
    )


def unshuffled(given: Given) -> Shape | None:
    """`pixel_unshuffle`: pixels become channels."""
    shape, factor = given.first, known(given.integer("downscale_factor"))
    rows, columns = (None if size is None or size < 0 else size // factor for size in shape[-2:])
    return (*shape[:-3], product([shape[-3], factor**2]), rows, columns)


def columns(given: Given) -> Shape | None:
    """`F.unfold`, `nn.Unfold`: a column for each place of the window."""
    shape = given.first
    if len(shape) not in (3, 4):
        return None
    kernel = _each(given, "kernel_size", 2, 1)
    others = [_each(given, name, 2, default) for name, default in (("stride", 1), ("padding", 0), ("dilation", 1))]
    places = [_slid(*each) for each in zip(shape[-2:], kernel, *others, strict=True)]
    return (*shape[:-3], product([shape[-3], *kernel]), product(places))


def folded(given: Given) -> Shape | None:
    """`F.fold`, `nn.Fold`: columns laid together to images of `output_size`."""
    shape, area = given.first, product(_each(given, "kernel_size", 2, 1))
    if len(shape) not in (2, 3):
        return None
    channels = shape[-2]
    left = channels // area if channels is not None and channels >= 0 and area else None
    return (*shape[:-2], left, *_each(given, "output_size", 2, 1))


def halved(given: Given) -> Shape | None:
    """`glu`: half of a dimension."""
    shape = given.first
    dim = given.dim("dim", len(shape), -1)
    size = shape[dim]
    return replaced(shape, dim, None if size is None or size < 0 else size // 2)


def flattened(given: Given) -> Shape | None:
    """`nn.Flatten`: all but the first dimension, as its settings have it."""
    shape = given.first
    return joined(shape, given.dim("start_dim", len(shape), 1), given.dim("end_dim", len(shape), -1))


def recurrent(given: Given) -> Shape | None:
    """The outputs of `RNN`, `GRU` and `LSTM`: at each step the hidden state of the last layer."""
    shape = given.first
    return (*shape[:-1], _width(given, both=True)) if len(shape) in (2, 3) else None


def recurrent_state(given: Given) -> Shape | None:
    """The last hidden state of each layer."""
    return _state(given, _width(given, both=False))


def recurrent_cell(given: Given) -> Shape | None:
    """The last cell state of each layer, which an LSTM does not project."""
    return _state(given, given.integer("hidden_size"))


def _width(given: Given, both: bool) -> int | None:
    projected = given.integer("proj_size", 0)
    width = projected or given.integer("hidden_size")
    ways = given.flag("bidirectional")
    if projected is None or ways is None:
        return None
    return product([width, 2]) if both and ways else width


def _state(given: Given, width: int | None) -> Shape | None:
    shape, layers = given.first, given.integer("num_layers", 1)
    ways, first = known(given.flag("bidirectional")), known(given.flag("batch_first"))
    if len(shape) not in (2, 3):
        return None
    count = product([layers, 2 if ways else 1])
    return (count, width) if len(shape) == 2 else (count, shape[0] if first else shape[1], width)


def cell(given: Given) -> Shape | None:
    """`RNNCell`, `GRUCell`, `LSTMCell`, and the functions, whose state is `hx`."""
    if given.has("hidden_size"):
        return (*given.first[:-1], given.integer("hidden_size"))
    return given.shape("hx")


def attended(given: Given) -> Shape | None:
    """`MultiheadAttention`: `embed_dim` numbers for each query."""
    shape = given.first
    return (*shape[:-1], given.integer("embed_dim")) if shape else None


def attention_weights(given: Given) -> Shape | None:
    """The shape of the attention weights, on average over the heads, with the keys that the module adds."""
    query, key = given.shape("query"), given.shape("key")
    first, more = given.flag("batch_first"), [given.flag(name) for name in ("add_bias_kv", "add_zero_attn")]
    if not query or not key or given.value("average_attn_weights", True) is not True or None in (first, *more):
        return None
    batch, length = (0, 1) if first else (1, 0)
    if len(query) == 2:
        return (query[0], total([key[0], *map(int, filter(None, more))]))
    return (query[batch], query[length], total([key[length], *map(int, filter(None, more))]))
