"""A saved tensor that was written before its backward: which write, what it hit, whether it updated a parameter."""

from __future__ import annotations

from collections.abc import Iterator

from gradpath.autograd.errors import FaultKind
from gradpath.autograd.tensor import CHECKPOINT, Node, Saved, Tensor, Write
from gradpath.findings.report import Source
from gradpath.findings.stories import failures, operation, said
from gradpath.interpreter.events import Failed, Site, Stepped
from gradpath.interpreter.trace import Trace
from gradpath.support.fast_dataclasses import dataclass

_UPDATES = ("step", "load_state_dict", "reset_parameters", "torch.nn.init.", "vector_to_parameters")


@dataclass(frozen=True, slots=True)
class Overwriting:
    """A MODIFIED error with all its parts: `site` is the write, `written` the tensor that it was called on."""

    failure: Failed
    node: Node
    saved: Saved
    write: Write
    site: Site

    @property
    def written(self) -> Tensor:
        """The tensor that was written, which may be a view of the saved one, or the reverse."""
        return self.write.owner if self.write.owner is not None else self.saved.tensor

    @property
    def saved_at(self) -> Site:
        """Where the program was when the value was saved."""
        site: Site | None = self.saved.site
        return self.node.site if site is None else site

    @property
    def is_result(self) -> bool:
        """True if the node saved its own result rather than an input."""
        return self.saved.role.startswith("out")

    @property
    def is_update(self) -> bool:
        """True if a parameter got a new value: by a step, by hand, by loading or by initialisation."""
        if self.write.operation.startswith(_UPDATES):
            return True
        forward = self.write.operation.lower().endswith("embedding")  # With max_norm, looking up writes the table.
        return not forward and (self.saved.tensor.is_parameter or _is_leaf(self.written))


def _is_leaf(tensor: Tensor) -> bool:
    origin = tensor.base if tensor.base is not None else tensor
    return origin.flag and origin.node is None


def overwritings(trace: Trace) -> Iterator[Overwriting]:
    """The uncaught errors over saved tensors that were written."""
    for failure, error in failures(trace, FaultKind.MODIFIED):
        if error.node is not None and error.saved is not None and error.write is not None:
            site = error.write.site
            yield Overwriting(failure, error.node, error.saved, error.write, site)


def who_needs(source: Source, found: Overwriting) -> str:
    """The operation whose gradient needs the old value, in backticks."""
    return "`checkpoint`" if found.saved.role == CHECKPOINT else operation(source, found.node)


def what(trace: Trace, source: Source, found: Overwriting) -> str:
    """The saved value in words: `the result of `sigmoid``, or a variable."""
    if found.is_result:
        return f"the result of {operation(source, found.node)}"
    return said(trace, source, found.saved.tensor, found.saved_at)


def step_of(trace: Trace, found: Overwriting) -> Stepped | None:
    """The optimizer's step that the write belonged to."""
    if found.write.operation != "step":
        return None
    last: Stepped | None = None
    for event in trace.events:
        if isinstance(event, Stepped) and event.site.node is found.site.node and event.site.loops == found.site.loops:
            last = event
    return last
