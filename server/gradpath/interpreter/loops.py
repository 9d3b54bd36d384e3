"""Loops are run, not guessed: exactly where their length is known and small, a few iterations otherwise."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain

from gradpath.autograd.errors import AutogradError
from gradpath.interpreter.bounds import TOO_MUCH, Overworked, length_of
from gradpath.interpreter.endings import BREAK, CONTINUE, Raised, Signal, Steps
from gradpath.interpreter.expressions import evaluate, settled
from gradpath.interpreter.iteration import Container, Iteration, gone_through, iterate, known_items, use_up
from gradpath.interpreter.late import Counters, Late, advance, counters_of, forget
from gradpath.interpreter.lengths import Ending
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.numbers import LateNumber
from gradpath.interpreter.origins import Made
from gradpath.interpreter.scope import Round
from gradpath.interpreter.values import Instance, Value
from gradpath.source.nodes import nodes
from gradpath.support.traversal import reachable

FEW = 3
"""Iterations of a loop of unknown length: of the errors that loops carry, 97.6 % show by the third."""

STEADY = 2
"""Iterations of such a loop if a third would repeat the second, or if an outer loop enters it again.

The second then represents all later ones. If a loop that is entered again repeats what it did, and leaves no graph, one
is enough.
"""

COUNTED = 6
"""A `range` of at most this length runs to its end."""

LISTED = 64
"""A container of known items runs to its end up to this length, a generator up to a quarter of it."""

LISTED_STEPS = 4096
"""Statements up to which it runs to its end in any case: a body of one, as that which freezes a model, costs little."""

DRAWN = 256
"""Items that an endless generator gives: how many are drawn is up to who asks for them."""

Assign = Callable[[Machine, ast.expr, Value], None]
RunBlock = Callable[[Machine, Sequence[ast.stmt]], Steps]


def run_for(machine: Machine, node: ast.For | ast.AsyncFor, assign: Assign, run_block: RunBlock) -> Steps:
    """Execute a `for`."""
    iterable = gone_through(settled(machine, node.iter))
    machine.node = node.iter
    host, endless = iterate(machine, iterable)
    place = _place(machine, node)
    last = machine.rounds.get(place)
    limit = _limit(iterable, endless, FEW if last is None else STEADY, _most_items(node))
    length = length_of(iterable) if isinstance(iterable, range) else getattr(iterable, "counted", None)
    has_late = endless or (length is not None and length > limit)
    may_be_steady = has_late and limit <= FEW
    seen, before = known_items(iterable), _numbers(machine)
    late = Late(machine, counters_of(machine) if has_late or isinstance(iterable, Iteration) else [], length)
    share = _Share(machine, node)
    loop = machine.enter_loop(node)
    ending = Ending(machine, iterable if endless else None)
    depth, done = len(machine.frame.loops), 0
    item: Value = None
    signal: Signal = None
    watch = _Watch(machine, last)
    try:
        while True:
            if may_be_steady and done in (1, STEADY, FEW):
                limit = max(watch.limit(done), seen)
            limit += done == limit and (late.asks_for_more() or ending.is_put_off(item, done))
            machine.node = node.iter
            loop.begin(done + 1)
            over = done == limit or late.is_over() or (done > 0 and ending.is_decided(item, done))
            if over or (item := next(host, _END)) is _END:
                break
            done += 1
            machine.node = node.target
            if (done == limit and has_late) or _gives_late_items(machine, iterable):
                item = _late_item(machine, loop.number, late, iterable, item, done)
            ending.begin(item, done)
            assign(machine, node.target, item)
            signal = yield from run_block(machine, node.body)
            if signal is not None and signal is not CONTINUE:
                break
        cut_short = signal in (None, CONTINUE) and done == limit and (endless or next(host, None) is not None)
    except TOO_MUCH:
        cut_short = share.give_up(iterable)
    finally:
        share.end(done)
        del machine.frame.loops[depth - 1 :]
    _finish(machine, node.iter, iterable, signal)
    if endless or cut_short:
        _forget_numbers(machine, before, late.counters)
    if cut_short:
        machine.rounds[place] = _left(machine, node, watch, known=seen > done)
    return (yield from _leave(machine, node.orelse, signal, run_block))


def _late_item(machine: Machine, loop: int, late: Late, iterable: Value, item: Value, done: int) -> Value:
    """The item of an iteration that represents all later ones."""
    machine.late_loops.add(loop)
    late.begin(done)
    return late.item(item, iterable.step if isinstance(iterable, range) else 1)


def _left(machine: Machine, loop: ast.AST, watch: _Watch, *, known: bool) -> Round:
    """The summary of a loop that has more items than were gone through; each `known` one is another one."""
    if known:
        _leave_open(loop, machine.frame.scope.variables)
    return watch.round()


def _leave_open(loop: ast.AST, variables: Mapping[str, Value]) -> None:
    """Let the containers be open that a loop names: it would have filled them further."""
    for each in nodes(loop):
        value = variables.get(each.id) if isinstance(each, ast.Name) else None
        if isinstance(value, Container):
            value.open = True


class _Share:
    """The part of the budget that a loop has. One that takes more, without anything for a tensor, is cut short.

    The body of a generator lives on what those have who draw its items.
    """

    def __init__(self, machine: Machine, node: ast.For | ast.AsyncFor | ast.While) -> None:
        self._machine, self._node, self._frame = machine, node, machine.frame
        self._scope = machine.frame.scope
        self._around = None if machine.frame.is_generator else machine.budget.begin()

    def give_up(self, iterable: Value = None) -> bool:
        """Come back to the loop, which has been left for having taken too much: what it was filling is open now."""
        if self._around is None:
            raise Overworked
        self._machine.give_up(self._node)
        self._machine.frame, self._frame.scope = self._frame, self._scope
        if isinstance(iterable, Iteration):
            iterable.give_up(self._machine)
        _leave_open(self._node, self._scope.variables)
        return True

    def end(self, laps: int) -> None:
        """The loop is over, after so many iterations."""
        known = self._machine.trace.laps
        known[self._node] = max(laps, known.get(self._node, 0))
        if self._around is not None:
            self._machine.budget.end(self._around)


class _Watch:
    """Watches whether the next iteration of a loop would be as those before.

    It may be another where an iteration did not come to the same statements, arms of expressions and whole numbers on
    which something depends, such as counters, as the one before, or where the program kept a graph beyond its backward
    or built one after it. `last` is how the same loop ran in the iteration before of a loop around.
    """

    def __init__(self, machine: Machine, last: Round | None) -> None:
        self._machine = machine
        self._last = last
        self._spent_before = machine.spent_before
        self._begun, self._tested = machine.trace.steps, len(machine.tests)
        self._came_to: list[Round] = []
        self._seen = 0

    def limit(self, done: int) -> int:
        """How many iterations to run, judged after `done` of them; to be asked after each of the first three.

        If the third reached statements for the first time, a fourth shows the effect of reaching them again.
        """
        machine = self._machine
        seen, self._seen = self._seen, len(machine.trace.visits)
        if done == FEW:
            return FEW + (self._seen > seen)
        most = FEW if self._last is None else STEADY
        if done > STEADY:
            return most
        tests = machine.tests[self._tested :]
        if done > len(self._came_to):
            self._came_to.append(frozenset(chain(machine.come_to(self._begun), tests, self._kept())))
            self._begun, self._tested = machine.trace.steps, len(machine.tests)
        if self._last is None and done == STEADY and self._is_steady() and self._spends_all():
            machine.late_loops.add(machine.frame.loops[-1].number)
            return STEADY
        if self._last is None:  # What depends on numbers has to be seen to do so on the same ones.
            return most if done == STEADY or tests else STEADY
        repeats = done == 1 and self._last == self.round()
        return 1 if repeats and not self._holds_graphs() else STEADY

    def _spends_all(self) -> bool:
        """True if no variable of the body holds a graph that was built after its last backward, or it has none."""
        return self._machine.spent_before == self._spent_before or not self._holds_graphs()

    def _kept(self) -> Iterator[str]:
        """The variables of the body that hold a graph at all, where there is a backward: spent ones may move on."""
        if self._machine.spent_before != self._spent_before:
            for name, value in self._machine.frame.scope.variables.items():
                if self._machine.library.holds_graph(value):
                    yield name

    def _holds_graphs(self) -> bool:
        """True if a variable of the body holds a graph that was built after the last backward."""
        machine, since = self._machine, self._machine.spent_before
        variables = machine.frame.scope.variables.values()
        objects = reachable(_instances(variables), lambda each: _instances(each.parts()))
        held = chain(variables, (part for each in objects for part in each.parts()))
        return any(machine.library.holds_graph(each, since=since) for each in held)

    def round(self) -> Round:
        """What each of the iterations so far came to."""
        return self._came_to[0] if self._is_steady() else frozenset()

    def _is_steady(self) -> bool:
        return bool(self._came_to) and self._came_to[0] == self._came_to[-1]


def _instances(values: Iterable[Value]) -> list[Instance]:
    return [each for each in values if isinstance(each, Instance)]


def _place(machine: Machine, node: ast.AST) -> Hashable:
    """Which loop it is: in which calls, and in which activations of the loops around."""
    calls, caller = [node], machine.frame.caller
    while caller is not None:
        calls.append(caller.node)
        caller = caller.caller
    return (*calls, *(number for number, _ in machine.loops()))


def _gives_late_items(machine: Machine, iterable: Value) -> bool:
    """True if a generator is in a late iteration of its own loop, so that its items represent many as well."""
    frame = iterable.frame if isinstance(iterable, Iteration) else None
    return frame is not None and any(loop.number in machine.late_loops for loop in frame.loops)


def _finish(machine: Machine, written: ast.expr, iterable: Value, signal: Signal) -> None:
    """Nothing is left in what a loop ran through to its end; a generator that only the loop refers to is closed.

    Exceptions are ignored then, as in Python.
    """
    if signal in (None, CONTINUE):
        machine.node = written
        use_up(machine, iterable)
    if isinstance(iterable, Iteration) and isinstance(written, ast.Call):
        with suppress(Raised, AutogradError):
            iterable.close()


def run_while(machine: Machine, node: ast.While, run_block: RunBlock) -> Steps:
    """Execute a `while`. An undecided condition holds for a few iterations and then fails; a long one has late ones.

    What the body has decided on the value of the condition ends the loop: `while not done`, after `if done`.
    """
    before, counters = _numbers(machine), counters_of(machine)
    start = _counter(machine, node.test)
    late: Late | None = None
    place = _place(machine, node)
    share = _Share(machine, node)
    loop = machine.enter_loop(node)
    depth = len(machine.frame.loops)
    last = machine.rounds.get(place)
    watch = _Watch(machine, last)
    limit = LISTED // 4
    if machine.frame.is_generator and never_ends(node):
        limit = DRAWN
    signal: Signal = None
    holds: bool | None = None
    try:
        while True:
            machine.step(node)
            holds = _holds(machine, node.test) if late is None else True
            cut_short = holds is None or (isinstance(node.test, ast.Constant) and limit != DRAWN)
            if cut_short:
                limit = watch.limit(loop.iteration)
            if holds and loop.iteration == limit:
                length = _length(machine, node.test, start, limit) if late is None else None
                late = Late(machine, counters, length) if length is not None else late
                if late is not None and (length is not None or late.asks_for_more()):
                    limit += 1
            if holds is False or loop.iteration >= limit:
                break
            loop.begin(loop.iteration + 1)
            if late is not None:
                machine.late_loops.add(loop.number)
                late.begin(loop.iteration)
            if loop.iteration == limit and cut_short and late is None:
                machine.late_loops.add(loop.number)
                if holds is None:  # A counter may be what ends a loop without a condition.
                    advance(counters)
            signal = yield from run_block(machine, node.body)
            if signal is not None and signal is not CONTINUE:
                break
    except TOO_MUCH:
        holds = None if share.give_up() else False
    finally:
        share.end(loop.iteration)
        del machine.frame.loops[depth - 1 :]
    if (loop.iteration >= limit and signal is not BREAK) or holds is None:
        _forget_numbers(machine, before, counters)
    if loop.iteration >= limit and signal in (None, CONTINUE):
        machine.rounds[place] = watch.round()
    return (yield from _leave(machine, node.orelse, signal, run_block))


def _counter(machine: Machine, test: ast.expr) -> int | None:
    """The number on the left of `counter < bound`."""
    match test:
        case ast.Compare(
            left=ast.Name() | ast.Attribute() as counter,
            ops=[ast.Lt() | ast.LtE()],
            comparators=[ast.Name() | ast.Attribute() | ast.Constant()],
        ):
            value = evaluate(machine, counter)
            return value if type(value) is int else None
    return None


def _length(machine: Machine, test: ast.expr, start: int | None, done: int) -> int | None:
    """How many iterations `while counter < bound` has, if each of those `done` raised it by as much as the others."""
    if start is None or not isinstance(test, ast.Compare):
        return None
    counter, bound = _counter(machine, test), evaluate(machine, test.comparators[0])
    if counter is None or type(bound) is not int or counter <= start or (counter - start) % done:
        return None
    return done + (bound - counter) * done // (counter - start)


def _holds(machine: Machine, test: ast.expr) -> bool | None:
    """The truth of a loop's condition; None where nothing settles it, also not that the path takes it to be false."""
    value = settled(machine, test)
    holds = machine.truth(value)
    return False if holds is None and machine.decided(value) is False else holds


def never_ends(node: ast.stmt) -> bool:
    """True if a statement is the loop of an endless generator: `while True` with a `yield`, and no way out."""
    if not isinstance(node, ast.While) or not isinstance(node.test, ast.Constant) or not node.test.value:
        return False
    inside = list(nodes(node))
    ways_out = any(isinstance(each, (ast.Break, ast.Return)) for each in inside)
    return not ways_out and any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in inside)


def _leave(machine: Machine, orelse: Sequence[ast.stmt], signal: Signal, run_block: RunBlock) -> Steps:
    if signal is BREAK:
        return None
    if signal is None or signal is CONTINUE:
        return (yield from run_block(machine, orelse))
    return signal


def _most_items(loop: ast.For | ast.AsyncFor) -> int:
    """How many known items a loop runs through: the more the shorter its body is."""
    return max(LISTED, LISTED_STEPS // sum(isinstance(each, ast.stmt) for part in loop.body for each in nodes(part)))


def _limit(iterable: Value, endless: bool, few: int, most: int) -> int:
    if endless:
        return max(few, known_items(iterable))
    if isinstance(iterable, range):
        length = length_of(iterable)
        return length if length <= COUNTED else FEW
    if isinstance(iterable, Iteration):
        if iterable.counted is not None and iterable.counted > COUNTED:
            return FEW
        return max(LISTED // 4, min(iterable.known, most))
    return most


def _numbers(machine: Machine) -> dict[str, Value]:
    variables = machine.frame.scope.variables
    return {name: value for name, value in variables.items() if type(value) in (int, float)}


def _forget_numbers(machine: Machine, before: dict[str, Value], counters: Counters) -> None:
    """Numbers that a loop of unknown length changed are not known after it, and its `counters` have gone on."""
    variables = machine.frame.scope.variables
    forget(counters, variables)
    for name, value in list(variables.items()):
        if type(value) in (int, float, LateNumber) and (name not in before or before[name] != value):
            variables[name] = machine.unknown("number that a loop changed", made=Made.NUMBER)


_END = object()
