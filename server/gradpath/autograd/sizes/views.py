"""Sizes of what is seen of a tensor from elsewhere: reshaped, turned, cut out, expanded."""

from __future__ import annotations

from gradpath.autograd.sizes.given import Given, Rule, known, position, product, replaced
from gradpath.autograd.tensor import Shape


def reshaped(old: Shape | None, sizes: tuple[int | None, ...] | None) -> Shape | None:
    """`view` and `reshape`: a -1 is what is left."""
    if sizes is None:
        return None
    if -1 not in sizes:
        return sizes
    rest = product([size for size in sizes if size != -1])
    total = None if old is None else product(old)
    left = total // rest if rest and total is not None else None
    return tuple(left if size == -1 else size for size in sizes)


def view(given: Given) -> Shape | None:
    return reshaped(given.first_if_known, given.integers("size", "shape"))


def expanded(old: Shape | None, sizes: tuple[int | None, ...] | None) -> Shape | None:
    """`expand`: a -1 keeps the size."""
    if sizes is None or old is None or len(sizes) < len(old):
        return None
    padded = (*(None,) * (len(sizes) - len(old)), *old)
    return tuple(before if size == -1 else size for before, size in zip(padded, sizes, strict=True))


def expand(given: Given) -> Shape | None:
    return expanded(given.first, given.integers("size", "shape"))


def as_other(given: Given) -> Shape | None:
    """`view_as`, `expand_as`, `reshape_as`: the sizes of the other tensor."""
    return given.shape("other")


def unsqueeze(given: Given) -> Shape | None:
    shape = given.first
    dim = given.dim("dim", len(shape) + 1)
    return (*shape[:dim], 1, *shape[dim:])


def squeeze(given: Given) -> Shape | None:
    shape = given.first
    if not given.has("dim"):
        return None if None in shape else tuple(size for size in shape if size != 1)
    places = {known(position(dim, max(1, len(shape)))) for dim in known(given.integers("dim"))}
    if any(shape[place] is None for place in places if place < len(shape)):
        return None
    return tuple(size for place, size in enumerate(shape) if place not in places or size != 1)


def turned(given: Given) -> Shape | None:
    """`t`, `T`, `H`: at most two dimensions, the other way round."""
    shape = given.first
    return tuple(reversed(shape)) if len(shape) <= 2 else None


def turned_last(given: Given) -> Shape | None:
    """`mT`, `mH`, `adjoint`: the last two dimensions change places."""
    shape = given.first
    return (*shape[:-2], shape[-1], shape[-2]) if len(shape) >= 2 else shape


def swap(given: Given) -> Shape | None:
    """`transpose` and its other names."""
    shape = given.first
    pairs = (("dim0", "dim1"), ("axis0", "axis1"))
    names = next((pair for pair in pairs if given.has(pair[0])), pairs[0])
    one, other = (position(given.integer(name), max(1, len(shape))) for name in names)
    if one is None or other is None or not shape:
        return shape if shape == () else (None,) * len(shape)
    sizes = list(shape)
    sizes[one], sizes[other] = sizes[other], sizes[one]
    return tuple(sizes)


def permute(given: Given) -> Shape | None:
    shape, order = given.first, given.integers("dims")
    if order is None or len(order) != len(shape):
        return (None,) * len(shape)
    places = [position(place, len(shape)) for place in order]
    return tuple(None if place is None else shape[place] for place in places)


def movedim(given: Given) -> Shape | None:
    shape = given.first
    ends = (known(given.integers(name)) for name in ("destination", "source"))
    targets, sources = ([known(position(each, len(shape))) for each in dims] for dims in ends)
    moves = dict(zip(targets, sources, strict=True))
    rest = iter([place for place in range(len(shape)) if place not in moves.values()])
    return tuple(shape[moves[place] if place in moves else next(rest)] for place in range(len(shape)))


def flatten(given: Given) -> Shape | None:
    shape = given.first
    if shape == ():
        return (1,)
    return joined(shape, given.dim("start_dim", len(shape), 0), given.dim("end_dim", len(shape), -1))


def joined(shape: Shape, start: int, end: int) -> Shape | None:
    """The dimensions from one to another as a single one."""
    size = shape[start] if start == end else product(shape[start : end + 1])
    return None if start > end else (*shape[:start], size, *shape[end + 1 :])


def ravel(given: Given) -> Shape | None:
    shape = given.first
    return shape if len(shape) == 1 else (product(shape),)


def unflatten(given: Given) -> Shape | None:
    shape = given.first
    dim = given.dim("dim", len(shape))
    parts = known(reshaped((shape[dim],), given.integers("sizes", "unflattened_size")))
    return (*shape[:dim], *parts, *shape[dim + 1 :])


def narrow(given: Given) -> Shape | None:
    shape = given.first
    return replaced(shape, given.dim("dim", len(shape)), given.integer("length"))


def select(given: Given) -> Shape | None:
    shape = given.first
    dim = given.dim("dim", len(shape))
    return (*shape[:dim], *shape[dim + 1 :])


def diagonal(given: Given) -> Shape | None:
    """The diagonal comes last."""
    return _diagonal(given, 0, 1)


def matrix_diagonal(given: Given) -> Shape | None:
    """`linalg.diagonal`: of the last two dimensions."""
    return _diagonal(given, -2, -1)


def _diagonal(given: Given, *defaults: int) -> Shape | None:
    shape = given.first
    one, other = (given.dim(name, len(shape), at) for name, at in zip(("dim1", "dim2"), defaults, strict=True))
    rest = tuple(size for place, size in enumerate(shape) if place not in (one, other))
    return (*rest, _along(shape[one], shape[other], given.integer("offset", 0)))


def _along(rows: int | None, columns: int | None, offset: int | None) -> int | None:
    if rows is None or columns is None or offset is None or rows < 0 or columns < 0:
        return None
    return max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))


def diag(given: Given) -> Shape | None:
    """A matrix of a vector, or the diagonal of a matrix."""
    shape, offset = given.first, known(given.integer("diagonal", 0))
    if len(shape) == 1:
        size = None if shape[0] is None or shape[0] < 0 else shape[0] + abs(offset)
        return (size, size)
    return (_along(shape[0], shape[1], offset),) if len(shape) == 2 else None


def diagflat(given: Given) -> Shape | None:
    """A matrix with all elements on a diagonal."""
    count, offset = product(given.first), known(given.integer("offset", 0))
    size = None if count is None else count + abs(offset)
    return (size, size)


def diag_embed(given: Given) -> Shape | None:
    shape, offset = given.first, known(given.integer("offset", 0))
    rank = len(shape) + 1
    one, other = given.dim("dim1", rank, -2), given.dim("dim2", rank, -1)
    last = shape[-1]
    size = None if last is None or last < 0 else last + abs(offset)
    rest = iter(shape[:-1])
    return tuple(size if place in (one, other) else next(rest) for place in range(rank))


def unfold(given: Given) -> Shape | None:
    """`Tensor.unfold`: windows along a dimension, whose contents come last."""
    shape = given.first
    size, step = known(given.integer("size")), known(given.integer("step"))
    dim = given.dim("dimension", len(shape))
    whole = shape[dim]
    count = None if whole is None or whole < 0 else (whole - size) // step + 1
    return (*replaced(shape, dim, count), size)


def as_strided(given: Given) -> Shape | None:
    return given.integers("size") if given.has("stride") else None


def pad(given: Given) -> Shape | None:
    """`F.pad`: pairs from the last dimension backwards."""
    shape, amounts = given.first, known(given.integers("pad", "padding"))
    sizes = list(shape)
    for index in range(len(amounts) // 2):
        before, after, size = amounts[2 * index], amounts[2 * index + 1], sizes[-1 - index]
        sure = before is not None and after is not None and size is not None and size >= 0
        sizes[-1 - index] = size + before + after if sure else None  # type: ignore[operator]
    return tuple(sizes)


def repeat(given: Given) -> Shape | None:
    """`repeat` and `tile`: each size as often as it says, from the back."""
    shape, times = given.first, known(given.integers("repeats", "dims"))
    rank = max(len(shape), len(times))
    sizes, counts = ((1,) * (rank - len(each)) + tuple(each) for each in (shape, times))
    return tuple(size if count == 1 else product([size, count]) for size, count in zip(sizes, counts, strict=True))


def repeat_interleave(given: Given) -> Shape | None:
    shape = given.first
    if given.value("output_size") is not None:
        return None
    times = given.integer("repeats")
    if not given.has("dim"):
        count = product(shape)
        return (None if count is None or times is None else count * times,)
    dim = given.dim("dim", len(shape))
    return replaced(shape, dim, shape[dim] if times == 1 else product([shape[dim], times]))


def rot90(given: Given) -> Shape | None:
    shape, dims, times = given.first, given.integers("dims"), known(given.integer("k", 1))
    one, other = (position(dim, len(shape)) for dim in (dims if dims is not None and len(dims) == 2 else (0, 1)))
    if one is None or other is None or times % 2 == 0:
        return shape if times % 2 == 0 else None
    sizes = list(shape)
    sizes[one], sizes[other] = sizes[other], sizes[one]
    return tuple(sizes)


def at_least(rank: int) -> Rule:
    """`atleast_1d` and its kin, of one tensor."""

    def rule(given: Given) -> Shape | None:
        shape = given.first
        if len(given.every) != 1:
            return None
        match rank, len(shape):
            case (1, 0) | (2, 0) | (3, 0):
                return (1,) * rank
            case (2, 1):
                return (1, *shape)
            case (3, 1):
                return (1, *shape, 1)
            case (3, 2):
                return (*shape, 1)
        return shape

    return rule


def viewed_as_real(given: Given) -> Shape | None:
    return (*given.first, 2)
