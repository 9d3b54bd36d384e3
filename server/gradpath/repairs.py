"""What a fix does, as data: a transformation of the program, in one of its ways, and what it is done to.

The titles of fixes are rendered here and nowhere else; whoever has to know what a fix does asks its repairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gradpath.support.fast_dataclasses import dataclass, replace
from gradpath.support.fast_enums import Enum


class Transformation(str, Enum):
    """What is done to a program, whatever the place and the wording; its value is the id that users see in JSON."""

    DETACH = "detach"
    RETAIN_GRAPH = "retain-graph"
    RELEASE_GRAPH = "release-graph"
    CREATE_GRAPH = "create-graph"
    SUM_LOSSES = "sum-losses"
    MOVE = "move"
    RECOMPUTE = "recompute"
    UNDO_CUT = "undo-cut"
    GRAD_MODE = "grad-mode"
    OUT_OF_PLACE = "out-of-place"
    CLONE = "clone"
    CLEAR_GRADIENTS = "clear-gradients"
    STEP = "step"
    FORGET = "forget"
    MAKE_LEAF = "make-leaf"
    REQUIRE_GRAD = "require-grad"
    BUILD_OPTIMIZER_LATER = "build-optimizer-later"
    GIVE_PARAMETERS = "give-parameters"
    REGISTER = "register"
    DELETE = "delete"
    REDUCE = "reduce"
    CALL = "call"
    ASSIGN = "assign"
    KEEP_LIST = "keep-list"
    ALLOW_UNUSED = "allow-unused"
    UNSCALE = "unscale"
    RETURN = "return"
    CONVERT = "convert"
    RETAIN_GRAD = "retain-grad"
    GUARD = "guard"
    REORDER = "reorder"
    ACCUMULATE = "accumulate"


_T = Transformation

LONGEST = 72
"""Characters of code that a title states, where it says as well in words what is done."""


class Way(Enum):
    """How a transformation is carried out, and the words for it.

    In the words `{what}` are the subjects, `{text}` the code to be written, `{stated}` the same after a colon, if there
    is any; `{on}` and `{lines}` are the lines one by one and as a stretch, and `{near}` is the other line that counts.
    """

    DETACH_ON = _T.DETACH, "Detach {what} on {on}"
    DETACH_BEFORE = _T.DETACH, "Detach {what} before {lines}{stated}"
    DETACH_AFTER = _T.DETACH, "Detach {what} after {lines}{stated}"
    DETACH_RESULT = _T.DETACH, "Detach what {what} gives"
    DETACH_TARGET = _T.DETACH, "Detach the target"
    DETACH_WEIGHT = _T.DETACH, "Detach the weight"
    STORE_VALUE = _T.DETACH, "Keep the value alone: `{text}` on {lines}"
    KEEP_NUMBER = _T.DETACH, "Keep the number with `.item()`"
    KEEP_VALUE = _T.DETACH, "Keep the value with `.detach()`"
    TAKE_NUMBER = _T.DETACH, "Take the number with `.item()`"
    RETAIN = _T.RETAIN_GRAPH, "Keep the graph: `retain_graph=True` on {lines}"
    RETAIN_IN_LOOP = (
        _T.RETAIN_GRAPH,
        "Keep the graph: `retain_graph=True` on {lines}, which costs memory until the loop ends",
    )
    RETAIN_TWICE = _T.RETAIN_GRAPH, "Keep the graph: `retain_graph=True` on {lines}, which counts the gradients twice"
    RELEASE = _T.RELEASE_GRAPH, "Drop `retain_graph=True` on {on}"
    CREATE = _T.CREATE_GRAPH, "Pass `create_graph=True` on {lines}"
    CREATE_NO_MORE = _T.RELEASE_GRAPH, "Drop `create_graph=True`"
    USE_GRAD = _T.RELEASE_GRAPH, "Use `{text}`"
    SUM_AFTER_LOOP = _T.SUM_LOSSES, "Add the losses up, and call backward once after the loop on {lines}"
    SUM_TWO = _T.SUM_LOSSES, "Add the losses: `{text}`"
    SUM_UNUSED = _T.SUM_LOSSES, "Add {what} to the loss: `{text}`"
    MOVE_INTO_LOOP = _T.MOVE, "Move {lines} into the loop{stated}"
    MOVE_INTO = _T.MOVE, "Move {lines} into {what}{stated}"
    MOVE_AFTER = _T.MOVE, "Move {lines} after line {near}{stated}"
    MOVE_BEFORE = _T.MOVE, "Move {lines} before line {near}{stated}"
    MOVE_AFTER_BACKWARD = _T.MOVE, "Move {lines} after the backward{stated}"
    MOVE_AFTER_LAST_BACKWARD = _T.MOVE, "Move {lines} after the last backward{stated}"
    MOVE_AFTER_BACKWARD_OF = (
        _T.MOVE,
        "Move {lines} after the last backward, which then gives gradients to {what} alone",
    )
    MOVE_BEFORE_BACKWARD = _T.MOVE, "Move {lines} before the backward{stated}"
    MOVE_BEFORE_STEP = _T.MOVE, "Move {lines} before the step{stated}"
    MOVE_AFTER_STEP = _T.MOVE, "Move {lines} after the step{stated}"
    UNCONDITIONAL = _T.MOVE, "Call `{text}` on {lines} each time, without the condition"
    MAKE_ONCE = _T.MOVE, "Make it once, in `__init__`: `{text}`"
    MOVE_TO_READER = _T.MOVE, "Compute {what} in `{text}`: move {lines} there"
    AGAIN_BEFORE = _T.RECOMPUTE, "Run {lines} again before line {near}{stated}"
    AGAIN_AFTER = _T.RECOMPUTE, "Run {lines} again after line {near}{stated}"
    AGAIN_RECORDED = _T.RECOMPUTE, "Run {lines} again before line {near}, where it is recorded{stated}"
    EACH_IN_LOOP = _T.RECOMPUTE, "Compute each {what} in the loop on {lines}"
    EACH_TIME = _T.RECOMPUTE, "Compute {what} again each time: `{text}` on {lines}"
    EACH_CALL = _T.RECOMPUTE, "Compute {what} again on each call: drop `{text}` on {lines}"
    LEND_GRADIENT = _T.UNDO_CUT, "Lend a gradient, straight through {what} on {lines}{stated}"
    DROP_CUT = _T.UNDO_CUT, "Drop `{text}` on {on}"
    DROP_CUT_OF = _T.UNDO_CUT, "Drop `{text}` of {what} on {on}"
    DROP_CUT_HERE = _T.UNDO_CUT, "Drop `{text}`"
    KEEP_GRAPH = _T.UNDO_CUT, "Keep the graph: drop {what} on {lines}"
    USE_TENSOR = _T.UNDO_CUT, "Use the tensor itself instead of {what}"
    STACK = _T.UNDO_CUT, "Join the tensors with `torch.stack` instead of {what}"
    USE_ITSELF = _T.UNDO_CUT, "Use {what} itself"
    FROM_PARTS = _T.RECOMPUTE, "Compute with the parts: make {what} of them after {lines}{stated}"
    COMPUTE_WITH = _T.RECOMPUTE, "Compute with {what} on {on}"
    ASK_ITSELF = _T.UNDO_CUT, "Ask for {what} itself"
    NO_FORCE = _T.UNDO_CUT, "Require no gradient by force"
    DELETE_COPY = _T.UNDO_CUT, "Delete the copy"
    DRAW = _T.UNDO_CUT, "Draw with `rsample()` on {lines}"
    NOT_FROZEN = _T.UNDO_CUT, "Pass `freeze=False` on {lines}"
    NOT_REENTRANT = _T.UNDO_CUT, "Pass `use_reentrant=False` on {lines}"
    NO_THRESHOLD = _T.UNDO_CUT, "Use `{text}` itself, without a threshold"
    SMOOTH = _T.UNDO_CUT, "Decide smoothly, with a gradient: `{text}`"
    THE_PROBABILITY = _T.UNDO_CUT, "Use the probability itself, without a threshold"
    EXPECTED_INDEX = _T.UNDO_CUT, "Use the expected index instead of the most likely one on {lines}{stated}"
    EXPECTATION = _T.UNDO_CUT, "Use the expectation instead of the most likely choice{stated}"
    WITHOUT_READING = _T.UNDO_CUT, "Work with the tensors themselves: drop `.item()` on {on}"
    NOT_NUMBERS = _T.UNDO_CUT, "Work with the tensors themselves instead of their numbers on {on}"
    WITH_PYTORCH = _T.UNDO_CUT, "Compute it with PyTorch on {lines}"
    WITHOUT_MODE = _T.GRAD_MODE, "Take `{text}` on {lines} away"
    DELETE_MODE = _T.GRAD_MODE, "Delete `{text}` on {lines}"
    MODE_OF_FUNCTION = _T.GRAD_MODE, "Switch gradients off in {what} alone, with `@torch.no_grad()`"
    RECORD = _T.GRAD_MODE, "Compute {lines} under `torch.enable_grad()`"
    NO_GRAD_ON = _T.GRAD_MODE, "Use `torch.no_grad()` on {lines}"
    UNRECORDED = _T.GRAD_MODE, "Write under `torch.no_grad()`"
    UNRECORDED_AFTER = _T.GRAD_MODE, "Write under `torch.no_grad()`, after {lines}"
    UPDATE_IN_PLACE = _T.GRAD_MODE, "Update in place: `{text}`"
    NEW_TENSOR = _T.OUT_OF_PLACE, "Make a new tensor: `{text}`"
    NEW_TENSOR_BY = _T.OUT_OF_PLACE, "Make a new tensor with {what}"
    NEW_IN_DICT = _T.OUT_OF_PLACE, "Put the result into the dict: `{text}`"
    NOT_IN_PLACE = _T.OUT_OF_PLACE, "Drop `inplace=True`"
    NOT_IN_PLACE_ON = _T.OUT_OF_PLACE, "Drop `inplace=True` on {lines}"
    WRITE_INTO_COPY = _T.CLONE, "Write into a copy: `{text}` first"
    SAVE_COPY = _T.CLONE, "Save a copy on {lines}{stated}"
    USE_COPY = _T.CLONE, "Use a copy: `{text}`"
    FREEZE_IT = _T.REQUIRE_GRAD, "Freeze it: `{text}`"
    THAW_IT = _T.REQUIRE_GRAD, "Thaw it: `{text}`"
    UNSCALE = _T.UNSCALE, "Divide by the scale first: `{text}`"
    CLEAR_BEFORE_BACKWARD = _T.CLEAR_GRADIENTS, "Insert `{text}` before the backward"
    CLEAR_AFTER_STEP = _T.CLEAR_GRADIENTS, "Insert `{text}` after the step"
    CLEAR_AFTER_UPDATE = _T.CLEAR_GRADIENTS, "Insert `{text}` after the update"
    CLEAR_LATER = _T.CLEAR_GRADIENTS, "Insert `{text}` when the gradients are no longer needed"
    STEP_AFTER = _T.STEP, "Insert `{text}` after {lines}"
    STEP_INSTEAD = _T.STEP, "Call `{text}` on {on} instead"
    EMPTY_AT_START = _T.FORGET, "Empty {what} at the start of each iteration"
    EMPTY_AFTER = _T.FORGET, "Empty {what} after {lines}"
    FORGET_AFTER = _T.FORGET, "Forget {what} after {lines}{stated}"
    LEAF_AGAIN = _T.MAKE_LEAF, "Make {what} a leaf again: `{text}`"
    PARAMETER_OF_RESULT = _T.MAKE_LEAF, "Make a parameter of the result: `{text}`"
    REQUIRE = _T.REQUIRE_GRAD, "Let it require a gradient: `{text}`"
    REQUIRE_BEFORE = _T.REQUIRE_GRAD, "Let {what} require a gradient before {lines}{stated}"
    TRAIN = _T.REQUIRE_GRAD, "Let {what} be trained: `{text}`"
    FREEZE = _T.REQUIRE_GRAD, "Freeze them before: `{text}`"
    OPTIMIZER_AFTER = _T.BUILD_OPTIMIZER_LATER, "Make {what} after `{text}`"
    OPTIMIZER_AGAIN = _T.BUILD_OPTIMIZER_LATER, "Make {what} again after `{text}`"
    PARAMETERS_OF = _T.GIVE_PARAMETERS, "Give the optimizer the parameters of {what}"
    PARAMETERS_TOO = _T.GIVE_PARAMETERS, "Give the optimizer the parameters of {what} as well"
    LEAF_TOO = _T.GIVE_PARAMETERS, "Give the optimizer {what} as well"
    LOAD_VALUES = _T.ASSIGN, "Load the values: `{text}`"
    ADD_GROUP = _T.GIVE_PARAMETERS, "Insert `{text}`"
    HOLD_IN = _T.REGISTER, "Hold them in `{text}`"
    DELETE_LINE = _T.DELETE, "Delete `{text}` on {lines}"
    DELETE_SECOND = _T.DELETE, "Delete the second call"
    REDUCE_BY = _T.REDUCE, "Reduce it with `{text}`"
    REDUCE_BEFORE = _T.REDUCE, "Reduce it before {lines}: `{text}`"
    CALL_BACKWARD = _T.CALL, "Call `{text}`, which fills the gradients"
    CALL_IT = _T.CALL, "Call it: `{text}`"
    DO_IN_PLACE = _T.ASSIGN, "Do it in place: `{text}`"
    ASSIGN_TO = _T.ASSIGN, "Assign the result to {what}"
    LIST_OF = _T.KEEP_LIST, "Keep a list: `{text}`"
    CALL_INSTEAD = _T.CALL, "Call `{text}`"
    RETURN_MORE = _T.RETURN, "Return None for the others: `{text}`"
    RETURN_NONE = _T.RETURN, "Return None instead of {what}"
    AS_FLOAT = _T.CONVERT, "Make it floating point: `{text}`"
    RETAIN_GRAD = _T.RETAIN_GRAD, "Keep the gradient of {what}: `{text}` before {lines}"
    WITH_GRADIENT = _T.GUARD, "Leave out what has no gradient: `{text}`"
    EACH_STEP_FROM_VALUES = _T.DETACH, "Truncate back-propagation through time: detach {what} at the start of each step"
    CHUNKS = _T.DETACH, "Truncate back-propagation through time: go back and detach {what} every {near} steps"
    SUM_IN_LOOP = _T.SUM_LOSSES, "Sum the losses, and call backward once: `{text}`"
    FORWARD_FOR_EACH = _T.RECOMPUTE, "Compute {lines} for each loss"
    ONE_AFTER_THE_OTHER = _T.REORDER, "Train one after the other: clear, go back and step with {what} in this order"
    ACCUMULATE = _T.ACCUMULATE, "Accumulate gradients over {near} micro-batches"
    ZEROS_FOR_UNUSED = _T.ALLOW_UNUSED, "Take zeros for what is not used: `materialize_grads=True` on {lines}"
    FIND_UNUSED = _T.ALLOW_UNUSED, "Pass `find_unused_parameters=True`"

    def __init__(self, transformation: Transformation, words: str) -> None:
        self.transformation = transformation
        self.words = words


class Cost(str, Enum):
    """What else a fix changes of what is learnt, in the words that end its title."""

    MIXED = "which trains the parameters of one optimizer by the loss of another"
    STALE = "although parameters have changed in between"
    UNTAUGHT = "after which some parameters get no gradient"


@dataclass(frozen=True, slots=True)
class Repair:
    """A transformation and what it is done to: `subjects` in the words of the program, at `lines` of its text.

    `text` is the code that is written, and `near` another line that the title names. `file` is the name of theirs,
    where it is not the one that the fix is offered in.
    """

    way: Way
    subjects: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    text: str = ""
    near: int | None = None
    file: str = ""

    @property
    def transformation(self) -> Transformation:
        return self.way.transformation

    @property
    def subject(self) -> str:
        """What the repair is about: code of the program, or of its own where it names none."""
        return self.subjects[0] if self.subjects else self.text or self.way.name

    def moved(self, line_of: Callable[[int], int]) -> Repair:
        """The same repair of a text whose lines have other numbers, unless it is of another file."""
        if self.file:
            return self
        near = None if self.near is None else line_of(self.near)
        return replace(self, lines=tuple(map(line_of, self.lines)), near=near)


def title_of(repairs: Sequence[Repair], costs: Iterable[Cost] = ()) -> str:
    """The title of a fix that makes some repairs together, with what they cost."""
    first, *others = dict.fromkeys(map(_said, repairs))
    done = ", and ".join([first, *(f"{each[:1].lower()}{each[1:]}" for each in others)])
    return ", ".join([done, *(cost.value for cost in costs)])


def _said(repair: Repair) -> str:
    lines = repair.lines
    several = "line" if len(lines) == 1 else "lines"
    stretch = (*lines[:1], *lines[-1:]) if lines[:1] != lines[-1:] else lines[:1]
    owner = f" of `{repair.file}`" if repair.file else ""
    return repair.way.words.format(
        what=" and ".join(f"`{each}`" for each in repair.subjects),
        text=repair.text,
        stated=f": `{repair.text}`" if 0 < len(repair.text) <= LONGEST else "",
        on=f"{several} {' and '.join(filter(None, (', '.join(map(str, lines[:-1])), *map(str, lines[-1:]))))}{owner}",
        lines=f"{'line' if len(stretch) == 1 else 'lines'} {' to '.join(map(str, stretch))}{owner}",
        near=repair.near,
    )
