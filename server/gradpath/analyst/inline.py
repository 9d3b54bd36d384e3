"""The analysis in the process of its server, where there are no others: in the page of a browser."""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable

from gradpath.analyst.link import Link
from gradpath.analyst.serving import Service

_PAUSE = 0.004
"""Seconds before each piece of work, in which the loop hears what has come in meanwhile."""


class Inline(Link):
    """Works on the event loop of the server, between two messages of the client.

    A request is worked on when no other message is waiting, and nothing else happens on the loop till it is answered or
    has had its turn: it is never found at work, and need not be stopped.
    """

    def __init__(self) -> None:
        self.is_ready = False

    def attach(self, loop: AbstractEventLoop, hear: Callable[[Link, object], None]) -> None:
        """Begin to load; `hear` gets each message."""
        self._loop = loop
        self._service = Service(lambda answer: hear(self, answer), alone=True)
        loop.call_soon(self._service.load)

    def send(self, message: object) -> None:
        """Take a message; work is done later."""
        self._service.hear(message)
        self._loop.call_later(_PAUSE, self._service.do_next)

    def end(self) -> None:
        """Nothing is to be ended."""

    def end_with_word(self, loop: AbstractEventLoop, told: Callable[[str], None]) -> None:
        """Nothing has to be stopped, and there is no place to report."""
        loop.call_soon(told, "")

    def place(self) -> str:
        """There is no place to report."""
        return ""
