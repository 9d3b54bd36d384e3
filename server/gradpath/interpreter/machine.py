"""The machine: it connects statements, expressions and calls, and holds the state of one path."""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Protocol
from weakref import ref

from gradpath.autograd.errors import AutogradError
from gradpath.autograd.graph import Autograd, Inputs
from gradpath.autograd.grounds import of_error
from gradpath.autograd.provenance import of_all
from gradpath.autograd.tensor import BackwardCall, Cut, Node, Tensor, Write
from gradpath.interpreter.bounds import TOO_MUCH
from gradpath.interpreter.budget import WORN, Budget, Exhausted
from gradpath.interpreter.doubt import Absence, absence_in, is_certain
from gradpath.interpreter.endings import Raised, Steps
from gradpath.interpreter.entered import Entered
from gradpath.interpreter.events import (
    BackwardRan,
    Bound,
    Built,
    CutOff,
    Event,
    Failed,
    Flagged,
    Kept,
    Lent,
    Mutated,
    Site,
    Stored,
)
from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.origins import DATA, Computed, Made, Origin, is_of_another
from gradpath.interpreter.paths import Path
from gradpath.interpreter.scope import Frame, Loop, Round, Scope
from gradpath.interpreter.trace import Trace
from gradpath.interpreter.values import (
    CONSTANTS,
    KINDS,
    UNDEFINED,
    Arguments,
    Class,
    Function,
    Instance,
    Object,
    Unknown,
    Value,
    is_data,
)
from gradpath.source.grammar import UNPARSED


class Library(Protocol):
    """The meaning of library names, and the presumptions about unknown values; the overlays implement it."""

    def module(self, machine: Machine, name: str) -> Value: ...
    def parameter(self, machine: Machine, function: Function, argument: ast.arg, default: Value) -> Value: ...
    def meant_by(self, machine: Machine, name: str) -> Value: ...
    def known_by_methods(self, defined: frozenset[str]) -> Class | None: ...
    def compared(self, machine: Machine, node: ast.Compare) -> None: ...
    def unknown_attribute(self, machine: Machine, unknown: Unknown, name: str) -> Value: ...
    def unknown_sign(self, machine: Machine, unknown: Unknown, operator: str) -> Value: ...
    def unknown_inplace(self, machine: Machine, unknown: Unknown, operator: str, other: Value) -> Value: ...
    def unknown_operation(
        self, machine: Machine, unknown: Unknown, operator: str, other: Value, reflected: bool
    ) -> Value: ...
    def set_unknown_item(self, machine: Machine, unknown: Unknown, key: Value, value: Value) -> None: ...
    def set_unknown_attribute(self, machine: Machine, unknown: Unknown, name: str, value: Value) -> None: ...
    def unknown_call(self, machine: Machine, unknown: Unknown, arguments: Arguments) -> Value: ...
    def unknown_item(self, machine: Machine, unknown: Unknown, index: Value, ordinal: int | None = None) -> Value: ...
    def use_up(self, machine: Machine, iterable: Unknown) -> None: ...
    def is_used_up(self, machine: Machine, iterable: Value) -> bool: ...
    def chosen(self, machine: Machine, items: Sequence[Value], index: Value, default: Value = ...) -> Value: ...
    def has_attribute(self, value: Value, name: str) -> bool | None: ...
    def is_instance(self, value: Value, kind: Value) -> bool | None: ...
    def is_live(self, value: Value) -> bool: ...
    def lacks_graph(self, value: Value) -> bool: ...
    def holds_graph(self, value: Value, *, since: int = 0) -> bool: ...
    def keeps_graph(self, machine: Machine, receiver: Value, tree: ast.Module) -> bool: ...
    def may_have_cleared(self, machine: Machine) -> None: ...
    def trains(self, decorator: Unknown) -> bool: ...
    def back_propagate(self, machine: Machine, entered: Entered, result: Value) -> None: ...
    def is_observed(self, value: Value) -> bool: ...
    def enter(self, machine: Machine, entered: Entered) -> Value: ...
    def recursion(self, machine: Machine, function: Function, arguments: Arguments) -> Value: ...
    def bound(self, machine: Machine, name: str, value: Value, before: Value = None) -> object: ...
    def kept(self, frame: Frame) -> tuple[Kept, ...]: ...
    def is_option(self, machine: Machine, name: str, instance: Instance | None = None) -> bool: ...
    def forget(self, machine: Machine, instance: Instance, name: str, *, bound: bool = True) -> None: ...
    def native_exception(self, error: AutogradError) -> str: ...


class Machine:
    """The state of one path, and the functions that interpret."""

    def __init__(self, library: Library, path: Path, trace: Trace, file: str, budget: int) -> None:
        self.library = library
        self.path = path
        self.trace = trace
        self.autograd = Autograd(self)
        self.file = file
        self.globals = Scope()
        self.frame = Frame(file, self.globals)
        self.node: ast.AST = trace.entry
        self.returned: ast.Return | None = None
        """The statement that returned last, from any function."""
        self._site = Site(file, self.node, None, ())
        self.budget = Budget(budget)
        self.elsewhere: float = budget // 2  # What is left for calls into other files.
        self.remembered: dict[object, Value] = {}
        self.unknowns: dict[object, Unknown] = {}
        self.unknown_count = 0
        self.kept: dict[int, object] = {}
        self.loop_count = 0
        self.counter_tests = 0
        self.questions = 0  # How often a branch came up that the source does not settle.
        self.tests: list[object] = []  # What a later iteration of a loop may do otherwise: see `depends_on`.
        self.spent_before = 0  # How many unknown values there were at the last backward.
        self.strayed = 0  # How often code of other files went on after an exception that is not certain.
        self.era = 0  # Ends where unseen code may have written into tensors: a flag may be set then.
        self.late_loops: set[int] = set()
        self.run_unseen: list[Instance] = []  # Called by a method of a base that is not seen.
        self._latest: dict[ast.AST, int] = {}  # The latest last, with the number of the statement.
        self.rounds: dict[Hashable, Round] = {}  # Of loops that ended because they had run often enough.
        self.long_decorators: set[ast.AST] = set()
        self.called: set[ast.AST] = set()
        self.absences: dict[ast.AST, Absence] = {}  # Where there was no gradient, and what that depends on.
        self.suspended: list[ref[Generator[Value, Value, None]]] = []
        self.forgives = True
        self.surveyed: set[ast.AST] = set()
        self.inner: dict[ast.AST, Value] = {}
        self.predictions: frozenset[str] = (
            frozenset()
        )  # Parameters of the entered function that are presumed to have a graph.
        self.uses: set[object] = set()  # What else may become of the function that was entered (`run.Use`).
        self.modules: dict[str, Value] = {}
        self.listeners: list[Callable[[Event], None]] = []
        self.patched: dict[Class, dict[str, Value]] = {}  # Classes of libraries, which all paths share, as they were.
        # Tied by `interpreter.run`, which alone knows all parts.
        self.evaluate: Callable[[ast.expr], Value]
        self.run_block: Callable[[Sequence[ast.stmt]], Steps]
        self.assign: Callable[[ast.expr, Value], None]
        self.invoke: Callable[[Function, Arguments], Value]
        self.instantiate: Callable[[Class, Arguments], Value]
        self.attribute: Callable[[Value, str], Value]
        self.instance_attribute: Callable[[Instance, str], Value]
        self.builtins: dict[str, Value]

    # Places and events

    def site(self) -> Site:
        """Where the program is."""
        frame, last = self.frame, self._site
        loops = frame.loops[-1].around if frame.loops else frame.outer_loops
        # Much is noted of one place, one after the other.
        if last.node is not self.node or last.loops is not loops or last.caller is not frame.caller:
            last = self._site = Site(frame.path, self.node, frame.caller, loops)
        return last

    @property
    def body(self) -> ast.AST:
        """The code that runs: that of a function, or the one that the path was entered by."""
        return self.trace.entry if self.frame.function is None else self.frame.function.node

    def loops(self) -> tuple[tuple[int, int], ...]:
        """The loops around, as a `Site` has them."""
        return self.frame.loops[-1].around if self.frame.loops else self.frame.outer_loops

    def grows(self, since: tuple[tuple[int, int], ...]) -> bool:
        """True if a list whose filling began at `since` may be longer than observed.

        That is so in a late iteration of the loop that fills it, and after a loop that was cut short.
        """
        if not self.late_loops:
            return False
        begun = dict(since)
        for number, now in self.loops():
            if begun.pop(number, now) < now and number in self.late_loops:
                return True
        return not self.late_loops.isdisjoint(begun)

    def emit(self, event: Event) -> None:
        self.trace.events.append(event)
        for listener in self.listeners:
            listener(event)

    def built(self, node: Node, inputs: Inputs) -> None:
        self.budget.refill()
        site = node.site
        self.emit(Built(node, {name: tuple(tensors) for name, tensors in inputs.items()}, site))

    def mutated(self, tensor: Tensor, write: Write, sources: Sequence[Tensor]) -> None:
        self.budget.refill()
        self.emit(Mutated(tensor, write, self.site(), tuple(each for each in sources if each is not tensor)))

    def was_cut(self, tensor: Tensor, cut: Cut) -> None:
        self.budget.refill()
        self.emit(CutOff(tensor, cut, self.site()))

    def flagged(self, tensor: Tensor, value: bool) -> None:
        self.budget.refill()
        self.emit(Flagged(tensor, value, self.site()))

    def ran_backward(self, call: BackwardCall, executed: Sequence[Node]) -> None:
        self.budget.refill()
        if call.retain:
            self.tests.append(object())  # It equals no other: whatever is kept, another iteration may go through it.
        self.spent_before = self.unknown_count
        self.emit(BackwardRan(call, tuple(executed), self.site()))

    def bind(self, name: str, value: Value) -> None:
        """Assign a variable of the running body."""
        before = self.frame.scope.variables.get(name)
        self.frame.scope.set(name, value)
        if type(value) not in KINDS:
            noted = self.library.bound(self, name, value, before)
            if noted is not None:
                self.emit(Bound(name, noted, self.site()))

    def note_stored(self, container: object, key: object, value: Value, before: object = None) -> None:
        """Tell the trace that a value went into a container of the program, and what it took the place of."""
        if type(value) not in KINDS:
            self.emit(Stored(container, key, value, self.site(), before))

    def note_binding(self, name: str, noted: object) -> None:
        """Record that an attribute now refers to a value that holds tensors."""
        self.emit(Bound(name, noted, self.site()))

    # Unknowns

    def half_typed(self) -> None:
        """Record code that cannot be parsed yet and may do anything to gradients."""
        self.emit(Lent(UNPARSED, self.site()))

    def unknown(
        self,
        cause: str,
        key: tuple[object, ...] | None = None,
        sources: tuple[Value, ...] = (),
        *,
        fresh: bool = False,
        data: bool = False,
        made: Made = Made.SOMETHING,
    ) -> Value:
        """The unknown result of what was done to `sources`; otherwise as `unknown_from`."""
        return self.unknown_from(Computed(cause, sources, made), key, fresh=fresh, data=data or made in DATA)

    def unknown_from(
        self, origin: Origin, key: tuple[object, ...] | None = None, *, fresh: bool = False, data: bool = False
    ) -> Value:
        """An unknown value; the same one for the same `key`, or what the program stored under it.

        With `fresh` it is a new object that decides branches as the others of its key do: what an operator computes
        again each time from the same operands. `data` says that it is a number, a text or the like, as what comes of
        nothing else is: of the statement nothing is lost that could matter to a gradient.
        """
        known: Unknown | None = None
        if key is not None:
            if key in self.remembered:
                return self.remembered[key]
            known = self.unknowns.get(key)
            if known is not None and not fresh and not is_of_another(known.origin, origin):
                if not known.is_data:
                    self.trace.came_up(self.node, known)
                return known
        if known is None:
            self.unknown_count += 1
        made = Unknown(self.unknown_count if known is None else known.number, origin, self.site())
        if not data and made.sources and all(map(is_data, made.sources)):
            data = True
            made.provenance = of_all(each.provenance for each in made.sources if isinstance(each, Unknown))
        made.is_data = data
        for source in made.sources:
            if isinstance(source, Unknown) and (data or not source.is_data):
                made.root = source.root
                break
        if data:
            made.kind = Kind.PLAIN
            self.counter_tests += isinstance(origin, Computed) and origin.made is Made.COUNTED
        else:
            trace = self.trace
            trace.came_up(self.node, made)
            words = made.root.words
            trace.unknowns[words] = trace.unknowns.get(words, 0) + 1
        if key is not None and known is None:
            self.unknowns[key] = made
        return made

    def id_of(self, thing: object) -> int:
        """The `id` of an object for use in keys: the object lives as long as the path, so the number is its own."""
        self.kept[id(thing)] = thing
        return id(thing)

    def remember(self, key: tuple[object, ...], value: Value) -> None:
        """The value that the program stored in an attribute or item of an unknown."""
        self.remembered[key] = value

    # Branches

    def decide(
        self,
        value: Value,
        node: ast.AST | None = None,
        *,
        likely: bool = True,
        idle: bool = False,
        negated: bool = False,
    ) -> bool:
        """The truth of `value`; where the source does not settle it, the path decides.

        `negated` says that `node`, the condition as the program writes it, is true where `value` is false.
        """
        settled = self.truth(value)
        if settled is not None:
            return settled
        if isinstance(value, Unknown) and value.negates is not None:
            # Decided through what it negates, so that both agree.
            return not self.decide(value.negates, node, likely=not likely, idle=idle, negated=not negated)
        self.questions += 1
        key = _decision_key(value)
        self.id_of(value)  # The key may hold the `id` of its tensor.
        if isinstance(value, Unknown) and value.hint is not UNDEFINED and isinstance(value.hint, CONSTANTS):
            likely = bool(value.hint)
        return self.path.decide(key, node if node is not None else self.node, likely, self.site, idle, negated, value)

    def assume(self, value: Value, wanted: bool = True) -> bool:
        """Go on as if `value` were true (or false), as after an assertion; False where that is known not to be so."""
        settled = self.truth(value)
        if settled is not None:
            return settled is wanted
        if isinstance(value, Unknown) and value.negates is not None:
            return self.assume(value.negates, not wanted)
        return self.path.outcomes.setdefault(_decision_key(value), wanted) is wanted

    def decided(self, value: Value) -> bool | None:
        """The path's decision on `value`, or on what it negates; None where there is none."""
        if isinstance(value, Unknown) and value.negates is not None:
            return None if (negated := self.decided(value.negates)) is None else not negated
        return self.path.outcomes.get(_decision_key(value))

    def truth(self, value: Value) -> bool | None:
        """The truth of `value`, or None where it is not settled."""
        if isinstance(value, Object):
            return value.truth(self)
        if type(value) is int:
            self.depends_on(value)
        return bool(value)

    def depends_on(self, *numbers: Value) -> None:
        """Note that something depends on whole numbers: an iteration of a loop with others may do something else."""
        self.tests.append((self.node, *(each for each in numbers if isinstance(each, (int, float)))))

    # Calls

    def call(self, function: Value, arguments: Arguments) -> Value:
        if isinstance(function, Object):
            return function.call(self, arguments)
        raise self.error("TypeError", f"'{type(function).__name__}' object is not callable", function)

    def special(self, instance: Instance, name: str, arguments: Arguments, missing: Value = UNDEFINED) -> Value:
        """Call a special method of an instance; `missing` (or an unknown) where its class has none."""
        found = instance.cls.find(name)
        if found is UNDEFINED:
            if missing is not UNDEFINED and not instance.cls.open:
                return missing
            self.run_unseen.append(instance)
            return self.unknown(f"{name} of {instance.cls.name}", None, (instance, *arguments.all()))
        return self.call(found, arguments.shifted(instance))

    def iterate_instance(self, instance: Instance) -> Iterator[Value] | None:
        """The items of an instance that defines `__iter__` (or `__getitem__`), else None."""
        if instance.cls.find("__iter__") is UNDEFINED:
            return None
        iterator = self.special(instance, "__iter__", Arguments())
        if isinstance(iterator, Instance):
            return None if iterator.cls.find("__next__") is UNDEFINED else self._asked(iterator)
        return iterator.iterate(self) if isinstance(iterator, Object) else None

    def _asked(self, iterator: Instance) -> Iterator[Value]:
        """The items that the `__next__` of an iterator of the program returns until it raises StopIteration."""
        while True:
            try:
                item = self.special(iterator, "__next__", Arguments())
            except Raised as raised:
                if isinstance(raised.value, Instance) and raised.value.cls.name == "StopIteration":
                    return
                raise
            yield item

    # Errors of the interpreted program

    def error(self, name: str, message: str, subject: object = None) -> Raised:
        """An exception of a builtin class, to be raised by the caller."""
        cls = self.builtins[name]
        assert isinstance(cls, Class)
        instance = Instance(cls)
        instance.attributes["args"] = (message,)
        return Raised(instance, self.site(), None, subject, certain=is_certain(self, cls, subject))

    def translated(self, error: AutogradError) -> Raised:
        """Autograd's error as an exception of the interpreted program."""
        error.presumed = (*error.presumed, *of_error(error, self.autograd.ran))
        raised = self.error(self.library.native_exception(error), str(error))
        raised.error, raised.frame, raised.certain = error, self.frame, True
        return raised

    def failed(self, raised: Raised, *, caught: bool, hidden: bool = False) -> None:
        """Note an exception that ended the path, or that a handler caught (and so forgave, unless that is `hidden`)."""
        name = raised.value.cls.name if isinstance(raised.value, Instance) else "Exception"
        arguments = raised.value.attributes.get("args") if isinstance(raised.value, Instance) else None
        message = arguments[0] if isinstance(arguments, tuple) and arguments and isinstance(arguments[0], str) else ""
        kept = self.library.kept(raised.frame) if raised.frame is not None and (hidden or not caught) else ()
        forgiven, absent = caught and self.forgives and not hidden, absence_in(self, raised.site.node) or ()
        self.emit(Failed(name, message, raised.error, raised.subject, raised.site, forgiven, kept, hidden, absent))

    def step(self, statement: ast.stmt) -> None:
        """Count a statement; ends the path where the budget is used up."""
        trace, latest = self.trace, self._latest
        visits = trace.visits.get(statement, 0)
        trace.steps += 1
        trace.visits[statement] = visits + 1
        latest.pop(statement, None)
        latest[statement] = trace.steps
        self.budget.step(again=visits > 0, worn=visits >= WORN and self.frame.path != self.file)

    def give_up(self, part: ast.AST) -> None:
        """Note that a part of the program is left as too much; it may have gone on in what has been called."""
        self.trace.given_up.append(part)
        self.trace.interrupted |= self.called

    def taken(self, part: ast.expr) -> ast.expr:
        """Note that the program comes to an arm of a conditional expression, and give it back."""
        self._latest.pop(part, None)
        self._latest[part] = self.trace.steps
        return part

    def come_to(self, since: int) -> Iterator[ast.AST]:
        """The statements, and arms of expressions, that the program came to when it had executed so many statements."""
        for part in reversed(self._latest):
            if self._latest[part] <= since:
                break
            yield part

    @contextmanager
    def beforehand(self) -> Iterator[None]:
        """Execute what Python has executed before: an iteration of a loop that is the first to need it is no other."""
        latest, tested = self._latest, len(self.tests)
        self._latest = {}
        try:
            yield
        finally:
            self._latest = latest
            del self.tests[tested:]

    @contextmanager
    def aside(self, own: Sequence[ast.stmt]) -> Iterator[None]:
        """Execute what only tells: an iteration that comes to it, or depends on other numbers there, is no other.

        That is so as long as no other statements than its `own` are executed.
        """
        latest, tested, counted = self._latest, len(self.tests), self.counter_tests
        self._latest = {}
        try:
            yield
        finally:
            inside, self._latest = self._latest, latest
            if all(isinstance(part, ast.expr) or part in own for part in inside):
                self.counter_tests = counted
                del self.tests[tested:]
            else:
                for part, number in inside.items():
                    latest.pop(part, None)
                    latest[part] = number

    def end(self) -> None:
        """Release everything but the trace, which spares the garbage collector the search."""
        self.trace = Trace(self.trace.entry)
        for each in self.suspended:
            generator = each()
            if generator is not None:
                with suppress(Raised, AutogradError, Exhausted, RuntimeError, *TOO_MUCH):
                    generator.close()
        self.__dict__.clear()

    def enter_loop(self, node: ast.AST) -> Loop:
        self.loop_count += 1
        loop = Loop(self.loop_count, self.loops())
        self.trace.loops[loop.number] = node
        self.frame.loops.append(loop)
        return loop


def _decision_key(value: Value) -> object:
    if isinstance(value, Unknown):
        return ("?", value.number)
    key = getattr(value, "decision_key", None)
    return key() if key is not None else ("object", id(value))
