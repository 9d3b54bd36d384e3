"""Sizes of what is seen of a tensor from elsewhere: reshaped, turned, cut out, expanded."""

from __future__ import annotations

from gradpath.autograd.sizes.given import Given, Rule, position, product, replaced
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
    return reshaped(given.first, given.integers("size", "shape"))


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
    dim = None if shape is None else position(given.integer("dim"), len(shape) + 1)
    return None if shape is None or dim is None else (*shape[:dim], 1, *shape[dim:])


def squeeze(given: Given) -> Shape | None:
    shape = given.first
    if shape is None:
        return None
    if not given.has("dim"):
        return None if None in shape else tuple(size for size in shape if size != 1)
    dims = given.integers("dim")
    if dims is None:
        return None
    places = {position(dim, max(1, len(shape))) for dim in dims}
    if None in places or any(shape[place] is None for place in places if place is not None and place < len(shape)):
        return None
    return tuple(size for place, size in enumerate(shape) if place not in places or size != 1)


def turned(given: Given) -> Shape | None:
    """`t`, `T`, `H`: at most two dimensions, the other way round."""
    shape = given.first
    return tuple(reversed(shape)) if shape is not None and len(shape) <= 2 else None


def turned_last(given: Given) -> Shape | None:
    """`mT`, `mH`, `adjoint`: the last two dimensions change places."""
    shape = given.first
    return (*shape[:-2], shape[-1], shape[-2]) if shape is not None and len(shape) >= 2 else shape


def swap(given: Given) -> Shape | None:
    """`transpose` and its other names."""
    shape = given.first
    if shape is None:
        return None
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
    if shape is None or order is None or len(order) != len(shape):
        return None if shape is None else (None,) * len(shape)
    places = [position(place, len(shape)) for place in order]
    return tuple(None if place is None else shape[place] for place in places)


def movedim(given: Given) -> Shape | None:
    shape = given.first
    sources, targets = given.integers("source"), given.integers("destination")
    if shape is None or sources is None or targets is None or len(sources) != len(targets):
        return None
    moves: dict[int, int] = {}
    for source, target in zip(sources, targets, strict=True):
        there, here = position(target, len(shape)), position(source, len(shape))
        if there is None or here is None:
            return None
        moves[there] = here
    rest = iter([place for place in range(len(shape)) if place not in moves.values()])
    return tuple(shape[moves[place] if place in moves else next(rest)] for place in range(len(shape)))


def flatten(given: Given) -> Shape | None:
    shape = given.first
    if shape is None:
        return None
    if shape == ():
        return (1,)
    start = position(given.integer("start_dim", 0), len(shape))
    end = position(given.integer("end_dim", -1), len(shape))
    if start is None or end is None or start > end:
        return None
    joined = shape[start] if start == end else product(shape[start : end + 1])
    return (*shape[:start], joined, *shape[end + 1 :])


def ravel(given: Given) -> Shape | None:
    shape = given.first
    return None if shape is None else shape if len(shape) == 1 else (product(shape),)


def unflatten(given: Given) -> Shape | None:
    shape, sizes = given.first, given.integers("sizes", "unflattened_size")
    dim = None if shape is None else position(given.integer("dim"), len(shape))
    if shape is None or sizes is None or dim is None:
        return None
    parts = reshaped((shape[dim],), sizes)
    return None if parts is None else (*shape[:dim], *parts, *shape[dim + 1 :])


def narrow(given: Given) -> Shape | None:
    shape = given.first
    dim = None if shape is None else position(given.integer("dim"), len(shape))
    return None if shape is None or dim is None else replaced(shape, dim, given.integer("length"))


def select(given: Given) -> Shape | None:
    shape = given.first
    dim = None if shape is None else position(given.integer("dim"), len(shape))
    return None if shape is None or dim is None else (*shape[:dim], *shape[dim + 1 :])


def diagonal(given: Given) -> Shape | None:
    """The diagonal comes last."""
    shape = given.first
    if shape is None:
        return None
    one = position(given.integer("dim1", 0), len(shape))
    other = position(given.integer("dim2", 1), len(shape))
    offset = given.integer("offset", 0)
    if one is None or other is None:
        return None
    rest = tuple(size for place, size in enumerate(shape) if place not in (one, other))
    return (*rest, _along(shape[one], shape[other], offset))


def _along(rows: int | None, columns: int | None, offset: int | None) -> int | None:
    if rows is None or columns is None or offset is None or rows < 0 or columns < 0:
        return None
    return max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))


def matrix_diagonal(given: Given) -> Shape | None:
    """`linalg.diagonal`: of the last two dimensions."""
    shape = given.first
    if shape is None or len(shape) < 2:
        return None
    one, other = (position(given.integer(name, at), len(shape)) for name, at in (("dim1", -2), ("dim2", -1)))
    if one is None or other is None:
        return None
    rest = tuple(size for place, size in enumerate(shape) if place not in (one, other))
    return (*rest, _along(shape[one], shape[other], given.integer("offset", 0)))


def diag(given: Given) -> Shape | None:
    """A matrix of a vector, or the diagonal of a matrix."""
    shape, offset = given.first, given.integer("diagonal", 0)
    if shape is None or offset is None:
        return None
    if len(shape) == 1:
        size = None if shape[0] is None or shape[0] < 0 else shape[0] + abs(offset)
        return (size, size)
    return (_along(shape[0], shape[1], offset),) if len(shape) == 2 else None


def diagflat(given: Given) -> Shape | None:
    """A matrix with all elements on a diagonal."""
    shape, offset = given.first, given.integer("offset", 0)
    count = None if shape is None else product(shape)
    if shape is None or offset is None:
        return None
    size = None if count is None else count + abs(offset)
    return (size, size)


def diag_embed(given: Given) -> Shape | None:
    shape, offset = given.first, given.integer("offset", 0)
    if not shape or offset is None:
        return None
    rank = len(shape) + 1
    one, other = position(given.integer("dim1", -2), rank), position(given.integer("dim2", -1), rank)
    if one is None or other is None:
        return None
    last = shape[-1]
    size = None if last is None or last < 0 else last + abs(offset)
    rest = iter(shape[:-1])
    return tuple(size if place in (one, other) else next(rest) for place in range(rank))


def unfold(given: Given) -> Shape | None:
    """`Tensor.unfold`: windows along a dimension, whose contents come last."""
    shape = given.first
    size, step = given.integer("size"), given.integer("step")
    if shape is None or size is None:
        return None
    dim = position(given.integer("dimension"), len(shape))
    if dim is None or step is None or step < 1:
        return None
    whole = shape[dim]
    count = None if whole is None or whole < 0 else (whole - size) // step + 1
    return (*replaced(shape, dim, count), size)


def as_strided(given: Given) -> Shape | None:
    return given.integers("size") if given.has("stride") else None


def pad(given: Given) -> Shape | None:
    """`F.pad`: pairs from the last dimension backwards."""
    shape, amounts = given.first, given.integers("pad", "padding")
    if shape is None or amounts is None or len(amounts) % 2 or len(amounts) > 2 * len(shape):
        return None
    sizes = list(shape)
    for index in range(len(amounts) // 2):
        before, after, size = amounts[2 * index], amounts[2 * index + 1], sizes[-1 - index]
        known = before is not None and after is not None and size is not None and size >= 0
        sizes[-1 - index] = size + before + after if known else None  # type: ignore[operator]
    return tuple(sizes)


def repeat(given: Given) -> Shape | None:
    """`repeat` and `tile`: each size as often as it says, from the back."""
    shape, times = given.first, given.integers("repeats", "dims")
    if shape is None or times is None:
        return None
    rank = max(len(shape), len(times))
    sizes, counts = ((1,) * (rank - len(each)) + tuple(each) for each in (shape, times))
    return tuple(size if count == 1 else product([size, count]) for size, count in zip(sizes, counts, strict=True))


def repeat_interleave(given: Given) -> Shape | None:
    shape = given.first
    if shape is None or given.value("output_size") is not None:
        return None
    times = given.integer("repeats")
    if not given.has("dim"):
        count = product(shape)
        return (None if count is None or times is None else count * times,)
    dim = position(given.integer("dim"), max(1, len(shape)))
    if dim is None or not shape:
        return None
    return replaced(shape, dim, shape[dim] if times == 1 else product([shape[dim], times]))


def rot90(given: Given) -> Shape | None:
    shape, dims, times = given.first, given.integers("dims"), given.integer("k", 1)
    if shape is None or times is None:
        return None
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
        if shape is None or len(given.every) != 1:
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
    return None if given.first is None else (*given.first, 2)
