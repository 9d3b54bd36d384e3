"""The newest text is checked first, once, and nothing that is out of date; what does not end is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from gradpath.analyst import supervisor as module
from gradpath.analyst.messages import Cancel, Check, Done, Ending, Ready, Work
from gradpath.analyst.supervisor import STARTS, GivenUp, Job, Supervisor
from gradpath.diagnostic import GapKind

PATIENCE = 10.0


class Process:
    """An analysis process that does what the test says."""

    made: list[Process]

    def __init__(self, command: object = None) -> None:
        self.said: list[object] = []
        self.is_ready = False
        self.is_ended = False
        self.stood_at = "nowhere.py:1"
        type(self).made.append(self)

    def attach(self, loop: asyncio.AbstractEventLoop, hear: Callable[[Process, object], None]) -> None:
        self.tell = lambda message: hear(self, message)

    def send(self, message: object) -> None:
        self.said.append(message)

    def end(self) -> None:
        self.is_ended = True

    def end_with_word(self, loop: asyncio.AbstractEventLoop, told: Callable[[str], None]) -> None:
        self.is_ended = True
        told("somewhere.py:1")

    def place(self) -> str:
        return self.stood_at

    @property
    def works(self) -> list[Work]:
        return [each for each in self.said if isinstance(each, Work)]

    @property
    def begun(self) -> list[str]:
        return [each.request.uri for each in self.works if isinstance(each.request, Check)]

    @property
    def is_recalled(self) -> bool:
        return Cancel(self.works[-1].number) in self.said

    def finish(self, ending: Ending = Ending.FINISHED) -> None:
        """End the newest work."""
        answer = None if ending is Ending.CANCELLED else "answer"
        self.tell(Done(self.works[-1].number, ending, answer))

    def give_way(self) -> None:
        assert self.is_recalled
        self.finish(Ending.CANCELLED)


class Desk:
    """A supervisor, its processes, and what came of its jobs."""

    def __init__(self) -> None:
        Process.made = []
        self.ended: list[tuple[str, int, GapKind | None]] = []
        self.news = asyncio.Event()
        self.supervisor = Supervisor(lambda: (), lambda _: None)
        self.supervisor.start()
        self.process.tell(Ready())

    @property
    def process(self) -> Process:
        """The process that works."""
        link = self.supervisor._link
        assert isinstance(link, Process)
        return link

    def submit(self, uri: str, generation: int, *, urgent: bool = True) -> None:
        def done(answer: object, given_up: GivenUp | None) -> None:
            self.ended.append((uri, generation, None if given_up is None else given_up.kind))
            self.news.set()

        self.supervisor.submit(Job(uri, generation, Check(uri, uri), done, about=uri), urgent=urgent)

    async def await_that(self, condition: Callable[[], bool]) -> None:
        async def look() -> None:
            while not condition():
                await asyncio.sleep(0.001)

        await asyncio.wait_for(look(), PATIENCE)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Desk]]:
    monkeypatch.setattr(module, "Link", Process)
    monkeypatch.setattr(module, "GRACE", 0.03)
    monkeypatch.setattr(module, "STILL", 0.05)
    made: list[Desk] = []

    def make() -> Desk:
        made.append(Desk())
        return made[-1]

    yield make
    for each in made:
        each.supervisor.stop()


Make = Callable[[], Desk]


async def test_only_the_newest_text_of_a_document_is_checked(desk: Make) -> None:
    it = desk()
    it.submit("a", 1)
    it.submit("a", 2)
    it.submit("a", 3)
    it.process.give_way()
    it.process.finish()
    assert it.process.begun == ["a", "a"]
    assert it.ended == [("a", 3, None)]


async def test_an_edit_elsewhere_goes_first_and_what_it_interrupted_is_begun_again(desk: Make) -> None:
    it = desk()
    it.submit("slow", 1, urgent=False)
    assert not it.process.is_recalled
    it.submit("edited", 2)
    it.process.give_way()
    it.process.finish()
    it.process.finish()
    assert it.process.begun == ["slow", "edited", "slow"]
    assert it.ended == [("edited", 2, None), ("slow", 1, None)]


async def test_what_is_not_urgent_waits_its_turn(desk: Make) -> None:
    it = desk()
    it.submit("a", 1)
    it.submit("b", 2, urgent=False)
    it.submit("c", 3, urgent=False)
    assert not it.process.is_recalled
    for _ in range(3):
        it.process.finish()
    assert it.ended == [("a", 1, None), ("b", 2, None), ("c", 3, None)]


async def test_a_dropped_document_is_not_checked(desk: Make) -> None:
    it = desk()
    it.submit("a", 1)
    it.submit("b", 2, urgent=False)
    it.submit("c", 3, urgent=False)
    it.supervisor.drop("a")
    it.supervisor.drop("b")
    it.process.give_way()
    it.process.finish()
    assert it.process.begun == ["a", "c"]
    assert it.ended == [("c", 3, None)]


async def test_two_edits_in_two_documents_are_both_checked(desk: Make) -> None:
    it = desk()
    it.submit("busy", 1)
    it.submit("a", 2)
    it.submit("b", 3)
    it.process.give_way()
    for _ in range(3):
        it.process.finish()
    assert it.ended[0] == ("b", 3, None)
    assert {uri for uri, _, _ in it.ended} == {"busy", "a", "b"}


async def test_what_does_not_give_way_ends_with_its_process_and_another_one_goes_on(desk: Make) -> None:
    it = desk()
    stuck = it.process
    it.submit("stuck", 1, urgent=False)
    it.submit("edited", 2)
    await it.await_that(lambda: stuck.is_ended)
    assert it.process is not stuck
    it.process.tell(Ready())
    assert it.process.begun == ["edited"]
    it.process.finish()
    assert it.ended == [("edited", 2, None)]
    # What was stopped has another chance, once nobody is in a hurry, and no third one.
    assert it.process.begun == ["edited"]
    await it.await_that(lambda: it.process.begun == ["edited", "stuck"])
    it.submit("edited", 3)
    await it.await_that(lambda: ("stuck", 1, GapKind.TIME) in it.ended)
    it.process.tell(Ready())
    it.process.finish()
    assert it.ended[-1] == ("edited", 3, None)
    assert it.process.begun == ["edited"]


async def test_a_text_that_was_stopped_once_is_checked_when_nobody_types_any_more(desk: Make) -> None:
    it = desk()
    stuck = it.process
    it.submit("a", 1)
    it.submit("a", 2)
    await it.await_that(lambda: stuck.is_ended)
    it.process.tell(Ready())
    assert it.process.begun == ["a"]
    for generation in range(3, 6):
        it.submit("a", generation)
    it.process.give_way()
    assert it.process.begun == ["a"]
    await it.await_that(lambda: it.process.begun == ["a", "a"])
    it.process.finish()
    assert it.ended == [("a", 5, None)]


async def test_what_may_hang_waits_until_nobody_is_in_a_hurry(desk: Make) -> None:
    it = desk()
    stuck = it.process
    it.submit("stuck", 1, urgent=False)
    it.submit("edited", 0)
    await it.await_that(lambda: stuck.is_ended)
    it.process.tell(Ready())
    it.process.finish()
    first = it.process
    for generation in range(1, 6):
        it.submit("edited", generation)
        assert it.process.begun[-1] == "edited"
        it.process.finish()
    assert it.process is first
    assert "stuck" not in it.process.begun
    await it.await_that(lambda: "stuck" in it.process.begun)


async def test_what_takes_too_long_is_given_up(desk: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TIME", 0.01)
    monkeypatch.setattr(module, "OVERTIME", 0.02)
    it = desk()
    stuck = it.process
    it.submit("a", 1)
    await it.await_that(lambda: it.ended == [("a", 1, GapKind.TIME)])
    assert stuck.is_ended
    it.process.tell(Ready())
    assert it.process.begun == []


async def test_what_ends_its_process_is_given_up_and_the_rest_goes_on(desk: Make) -> None:
    it = desk()
    it.submit("a", 1)
    it.submit("b", 2, urgent=False)
    it.process.tell(None)
    assert it.ended == [("a", 1, GapKind.CRASH)]
    it.process.tell(Ready())
    it.process.finish()
    assert it.ended[1:] == [("b", 2, None)]


async def test_what_somebody_else_may_have_ended_is_begun_again_once(desk: Make) -> None:
    it = desk()
    it.submit("a", 1)
    for _ in range(2):
        assert it.ended == []
        it.process.stood_at = ""
        await it.await_that(lambda: it.process.begun == ["a"])
        it.process.tell(None)
        it.process.tell(Ready())
    assert it.ended == [("a", 1, GapKind.CRASH)]
    assert it.process.begun == []


async def test_a_process_that_cannot_start_is_not_started_for_ever(desk: Make) -> None:
    it = desk()
    it.process.tell(Ready())
    it.submit("a", 1)
    it.process.finish()
    for _ in range(STARTS):
        it.process.tell(None)
    made = len(Process.made)
    it.submit("c", 1)
    assert it.ended[-1] == ("c", 1, GapKind.FAILURE)
    assert len(Process.made) == made


async def test_a_process_is_at_hand_when_another_one_seems_to_hang(desk: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SUSPICIOUS", 0.01)
    it = desk()
    stuck = it.process
    it.submit("stuck", 1, urgent=False)
    await it.await_that(lambda: len(Process.made) == 2)
    Process.made[1].tell(Ready())
    it.submit("edited", 2)
    await it.await_that(lambda: stuck.is_ended)
    assert it.process is Process.made[1]
    assert it.process.begun == ["edited"]


async def test_everything_ends_at_the_end(desk: Make) -> None:
    it = desk()
    it.submit("a", 1)
    it.supervisor.stop()
    assert all(each.is_ended for each in Process.made)
    assert it.ended == []
