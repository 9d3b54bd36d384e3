"""`itertools`: the same items in another order, number or company."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from gradpath.interpreter.bounds import ITEMS
from gradpath.interpreter.containers import List
from gradpath.interpreter.iteration import Iteration, iterate, metered, sample, sequence
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.operators import add
from gradpath.interpreter.values import CONSTANTS, Arguments, NativeFunction, Value, identity
from gradpath.overlays.namespace import Names

_MOST = 256
"""The most items of a product and its like; the first ones represent all."""

_DEEPEST = 64
"""The most repetitions of a product, and the most iterators of `tee`."""


class _Chain(NativeFunction):
    """`itertools.chain`, which has a method of its own."""

    __slots__ = ()

    def attribute(self, machine: Machine, name: str) -> Value:
        if name == "from_iterable":
            return NativeFunction(name, _chain_all)
        return super().attribute(machine, name)


def _chain(machine: Machine, arguments: Arguments) -> Value:
    pairs = [iterate(machine, value) for value in arguments.positional]
    if any(endless for _, endless in pairs):
        samples = [sample(machine, value)[0] for value in arguments.positional]
        return List(list(itertools.chain.from_iterable(samples))[:ITEMS], open=True)
    return Iteration(itertools.chain.from_iterable(host for host, _ in pairs), over=arguments.positional)


def _chain_all(machine: Machine, arguments: Arguments) -> Value:
    items, _ = sample(machine, arguments.get(0, "iterable", ()))
    return _chain(machine, Arguments(items))


def _cycle(machine: Machine, arguments: Arguments) -> Value:
    source = arguments.get(0, "iterable", ())
    host, endless = iterate(machine, source)
    return Iteration(host if endless else metered(machine, itertools.cycle(host)), endless=True)


def _count(machine: Machine, arguments: Arguments) -> Value:
    start = arguments.get(0, "start", 0)
    return Iteration(metered(machine, itertools.count(start if isinstance(start, int) else 0)), endless=True)


def _repeat(machine: Machine, arguments: Arguments) -> Value:
    item, times = arguments.get(0, "object", None), arguments.get(1, "times", None)
    if isinstance(times, int):
        return Iteration(metered(machine, _repeated(machine, item, times)), counted=times)
    return Iteration(metered(machine, itertools.repeat(item)), endless=True)


def _repeated(machine: Machine, item: Value, times: int) -> Iterator[Value]:
    try:
        return itertools.repeat(item, times)
    except OverflowError as error:
        raise machine.error("OverflowError", str(error), times) from None


def _islice(machine: Machine, arguments: Arguments) -> Value:
    source, *bounds = arguments.positional or [()]
    host, endless = iterate(machine, source)
    known = [bound for bound in bounds if bound is None or isinstance(bound, int)]
    if len(known) == len(bounds) and 1 <= len(known) <= 3:
        try:
            return Iteration(itertools.islice(host, *known), over=[source])
        except ValueError as error:
            raise machine.error("ValueError", str(error), source) from None
    return Iteration(host, endless=endless, over=[source])


def _product(machine: Machine, arguments: Arguments) -> Value:
    lists = [sequence(machine, value) for value in arguments.positional]
    times = arguments.keywords.get("repeat", 1)
    if any(items is None for items in lists) or not isinstance(times, int) or times > _DEEPEST:
        return machine.unknown("product")
    return List(list(itertools.islice(itertools.product(*(items or [] for items in lists), repeat=times), _MOST)))


Selection = Callable[[Iterable[Value], int], Iterator[tuple[Value, ...]]]


def _selection(name: str, select: Selection) -> NativeFunction:
    def call(machine: Machine, arguments: Arguments) -> Value:
        items, size = sequence(machine, arguments.get(0, "iterable", ())), arguments.get(1, "r", None)
        size = len(items) if items is not None and size is None else size
        if items is None or not isinstance(size, int) or not 0 <= size <= ITEMS:
            return machine.unknown(name, None, tuple(arguments.all()))
        return List(list(itertools.islice(select(items, size), _MOST)))

    return NativeFunction(name, call)


def _pairwise(machine: Machine, arguments: Arguments) -> Value:
    source = arguments.get(0, "iterable", ())
    host, endless = iterate(machine, source)
    return Iteration(itertools.pairwise(host), endless=endless, over=[source])


def _zip_longest(machine: Machine, arguments: Arguments) -> Value:
    sources = arguments.positional
    pairs = [iterate(machine, value) for value in sources]
    hosts = [host for host, _ in pairs]
    if any(endless for _, endless in pairs):
        return Iteration(zip(*hosts, strict=False), endless=all(endless for _, endless in pairs), over=sources)
    return Iteration(itertools.zip_longest(*hosts, fillvalue=arguments.keywords.get("fillvalue")), over=sources)


def _accumulate(machine: Machine, arguments: Arguments) -> Value:
    host, endless = iterate(machine, arguments.get(0, "iterable", ()))
    function, start = arguments.get(1, "func", None), arguments.keywords.get("initial")

    def joined(total: Value, item: Value) -> Value:
        return add(machine, total, item) if function is None else machine.call(function, Arguments([total, item]))

    return Iteration(itertools.accumulate(host, joined, initial=start), endless=endless, over=arguments.positional)


def _starmap(machine: Machine, arguments: Arguments) -> Value:
    function = arguments.get(0, "function", None)
    host, endless = iterate(machine, arguments.get(1, "iterable", ()))

    def called(item: Value) -> Value:
        parts = sequence(machine, item)
        return machine.unknown("starmap", None, (item,)) if parts is None else machine.call(function, Arguments(parts))

    return Iteration(map(called, host), endless=endless, over=arguments.positional)


def _tee(machine: Machine, arguments: Arguments) -> Value:
    host, endless = iterate(machine, arguments.get(0, "iterable", ()))
    count = arguments.get(1, "n", 2)
    if not isinstance(count, int) or not 0 <= count <= _DEEPEST:
        return machine.unknown("tee", None, tuple(arguments.all()))
    over = arguments.positional
    return tuple(Iteration(each, endless=endless, over=over) for each in itertools.tee(host, count))


def _groupby(machine: Machine, arguments: Arguments) -> Value:
    items, key = sequence(machine, arguments.get(0, "iterable", ())), arguments.get(1, "key", None)
    if items is None:
        return machine.unknown("groupby", None, tuple(arguments.all()))
    keys = items if key is None else [machine.call(key, Arguments([item])) for item in items]
    if not all(isinstance(each, CONSTANTS) for each in keys):
        return machine.unknown("groupby", None, tuple(arguments.all()))
    groups = itertools.groupby(zip(keys, items, strict=True), lambda pair: identity(pair[0]))
    return List([(pairs[0][0], List([item for _, item in pairs])) for _, group in groups for pairs in (list(group),)])


def _takewhile(machine: Machine, arguments: Arguments) -> Value:
    test = arguments.get(0, "predicate", None)
    host, endless = iterate(machine, arguments.get(1, "iterable", ()))

    def holds(item: Value) -> bool:
        return machine.decide(machine.call(test, Arguments([item])), machine.node)

    return Iteration(itertools.takewhile(holds, host), endless=endless, over=arguments.positional)


NAMES: Names = {
    "itertools.chain": _Chain("chain", _chain),
    "itertools.accumulate": _accumulate,
    "itertools.combinations": _selection("combinations", itertools.combinations),
    "itertools.combinations_with_replacement": _selection(
        "combinations_with_replacement", itertools.combinations_with_replacement
    ),
    "itertools.count": _count,
    "itertools.cycle": _cycle,
    "itertools.groupby": _groupby,
    "itertools.islice": _islice,
    "itertools.pairwise": _pairwise,
    "itertools.permutations": _selection("permutations", itertools.permutations),
    "itertools.product": _product,
    "itertools.repeat": _repeat,
    "itertools.starmap": _starmap,
    "itertools.takewhile": _takewhile,
    "itertools.tee": _tee,
    "itertools.zip_longest": _zip_longest,
}
