"""The worker checks the newest text first, once, and nothing that is out of date."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from gradpath.lsp.worker import Cancelled, Job, Worker

PATIENCE = 10.0


class Desk:
    """A worker whose jobs end when the test says so."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, int]] = []
        self.ended: list[tuple[str, int]] = []
        self.tests: dict[tuple[str, int], Cancelled] = {}
        self._changed = threading.Condition()
        self._allowed = 0
        self.rests = 0
        self.long_rests = 0
        self.worker = Worker(lambda: None, {0.03: self._rest, 0.06: self._rest_long})

    def submit(self, uri: str, generation: int, *, urgent: bool = True) -> None:
        self.worker.submit(Job(uri, generation, partial(self._work, (uri, generation))), urgent=urgent)

    def _rest(self) -> None:
        with self._changed:
            self.rests += 1
            self._changed.notify_all()

    def _rest_long(self) -> None:
        with self._changed:
            self.long_rests += 1
            self._changed.notify_all()

    def _work(self, key: tuple[str, int], cancelled: Cancelled) -> bool:
        with self._changed:
            self.begun.append(key)
            self.tests[key] = cancelled
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._allowed > 0, PATIENCE)
            self._allowed -= 1
            if cancelled():
                return False
            self.ended.append(key)
            self._changed.notify_all()
            return True

    def let_one_end(self) -> None:
        with self._changed:
            self._allowed += 1
            self._changed.notify_all()

    def await_that(self, condition: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, PATIENCE)


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    desk.worker.start()
    yield desk
    desk.worker.stop()
    for _ in range(5):
        desk.let_one_end()


def test_only_the_newest_text_of_a_document_is_checked(desk: Desk) -> None:
    desk.submit("a", 1)
    desk.await_that(lambda: desk.begun == [("a", 1)])
    desk.submit("a", 2)
    desk.submit("a", 3)
    assert desk.tests["a", 1]()
    desk.let_one_end()
    desk.await_that(lambda: desk.begun == [("a", 1), ("a", 3)])
    desk.let_one_end()
    desk.await_that(lambda: desk.ended == [("a", 3)])


def test_an_edit_elsewhere_goes_first_and_what_it_interrupted_is_begun_anew(desk: Desk) -> None:
    desk.submit("slow", 1, urgent=False)
    desk.await_that(lambda: desk.begun == [("slow", 1)])
    assert not desk.tests["slow", 1]()
    desk.submit("edited", 2)
    assert desk.tests["slow", 1]()
    for _ in range(3):
        desk.let_one_end()
    desk.await_that(lambda: desk.ended == [("edited", 2), ("slow", 1)])
    assert desk.begun == [("slow", 1), ("edited", 2), ("slow", 1)]


def test_what_is_not_urgent_waits_its_turn(desk: Desk) -> None:
    desk.submit("a", 1)
    desk.await_that(lambda: desk.begun == [("a", 1)])
    desk.submit("b", 2, urgent=False)
    desk.submit("c", 3, urgent=False)
    assert not desk.tests["a", 1]()
    for _ in range(3):
        desk.let_one_end()
    desk.await_that(lambda: desk.ended == [("a", 1), ("b", 2), ("c", 3)])


def test_a_dropped_document_is_not_checked(desk: Desk) -> None:
    desk.submit("a", 1)
    desk.await_that(lambda: desk.begun == [("a", 1)])
    desk.submit("b", 2, urgent=False)
    desk.submit("c", 3, urgent=False)
    desk.worker.drop("a")
    desk.worker.drop("b")
    assert desk.tests["a", 1]()
    for _ in range(2):
        desk.let_one_end()
    desk.await_that(lambda: desk.ended == [("c", 3)])
    assert desk.begun == [("a", 1), ("c", 3)]


def test_two_edits_in_two_documents_are_both_checked(desk: Desk) -> None:
    desk.submit("busy", 1)
    desk.await_that(lambda: desk.begun == [("busy", 1)])
    desk.submit("a", 2)
    desk.submit("b", 3)
    for _ in range(4):
        desk.let_one_end()
    desk.await_that(lambda: desk.ended == [("b", 3), ("busy", 1), ("a", 2)] or len(desk.ended) == 3)
    assert {uri for uri, _ in desk.ended} == {"busy", "a", "b"}
    assert desk.ended[0] == ("b", 3)


def test_everything_is_cancelled_at_the_end(desk: Desk) -> None:
    desk.submit("a", 1)
    desk.await_that(lambda: desk.begun == [("a", 1)])
    desk.worker.stop()
    assert desk.tests["a", 1]()


def test_a_job_that_has_noticed_its_end_does_not_go_on(desk: Desk) -> None:
    desk.submit("a", 1)
    desk.await_that(lambda: desk.begun == [("a", 1)])
    desk.submit("b", 2)
    assert desk.tests["a", 1]()
    # What was more urgent is so no longer; the job has stopped all the same, and is begun anew.
    desk.submit("b", 3, urgent=False)
    assert desk.tests["a", 1]()
    for _ in range(3):
        desk.let_one_end()
    desk.await_that(lambda: sorted(desk.ended) == [("a", 1), ("b", 3)])
    assert desk.begun.count(("a", 1)) == 2


def test_it_cleans_up_once_when_nothing_is_left_to_do(desk: Desk) -> None:
    desk.await_that(lambda: desk.long_rests == 1)
    desk.submit("a", 1)
    desk.submit("b", 1)
    desk.let_one_end()
    desk.let_one_end()
    desk.await_that(lambda: desk.rests == 2)
    assert len(desk.ended) == 2
    desk.await_that(lambda: desk.long_rests == 2)
    assert desk.rests == 2
