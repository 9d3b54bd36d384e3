"""The ways in which a running body ends: by a signal of a statement, or by an exception of the program."""

from __future__ import annotations

from collections.abc import Generator

from gradpath.autograd.errors import AutogradError
from gradpath.interpreter.events import Site
from gradpath.interpreter.scope import Frame
from gradpath.interpreter.values import Value
from gradpath.support.fast_dataclasses import dataclass


class Raised(Exception):
    """An exception of the interpreted program: an instance, its place, and autograd's error if that caused it.

    `frame` is the body that was running, where the error is autograd's. Unless it is `certain`, it ends nothing.
    """

    def __init__(
        self,
        value: Value,
        site: Site,
        error: AutogradError | None = None,
        subject: object = None,
        *,
        certain: bool = True,
    ) -> None:
        super().__init__()
        self.certain = certain
        self.value = value
        self.site = site
        self.error = error
        self.subject = subject
        self.frame: Frame | None = None


Signal = object
"""How a statement ended: None, `BREAK`, `CONTINUE`, or a `Returned`."""

BREAK = "break"
CONTINUE = "continue"


@dataclass(frozen=True, slots=True)
class Returned:
    """The signal of a `return`."""

    value: Value


Steps = Generator[Value, Value, Signal]
"""A running body: it yields where the interpreted program yields, and ends with a signal."""
