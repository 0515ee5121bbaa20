"""Asking a source again and again: what is told, what is kept, and how little a bad source disturbs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from tests.support.waiting import until
from vsched.clock import Clock, FakeClock, SystemClock
from vsched.collectors import words
from vsched.collectors.figures import CPU, collect
from vsched.collectors.poll import Poller, PollSettings, SourceCondition, SourceState, numbers_of, why_blind
from vsched.collectors.source import CollectedUsage, NodeTarget, SourceError
from vsched.model.nodes.usage import STALE_SECONDS, Reading

NODES = [NodeTarget("n1"), NodeTarget("n2"), NodeTarget("n3")]
Round = Callable[[float], CollectedUsage] | Exception


class Script:
    """A source that answers in turn; the last answer is given again and again."""

    label = "script"

    def __init__(self, *rounds: Round, clock: Clock) -> None:
        self._rounds = list(rounds)
        self._clock = clock
        self.reads = 0
        self.closed = 0

    async def read(self, targets: Sequence[NodeTarget], periods: Sequence[str]) -> CollectedUsage:
        self.reads += 1
        answer = self._rounds.pop(0) if len(self._rounds) > 1 else self._rounds[0]
        if isinstance(answer, Exception):
            raise answer
        return answer(self._clock.now())

    async def close(self) -> None:
        self.closed += 1


class Silent(Script):
    """A source that never answers."""

    async def read(self, targets: Sequence[NodeTarget], periods: Sequence[str]) -> CollectedUsage:
        self.reads += 1
        await asyncio.Event().wait()
        raise AssertionError("nobody sets this event")


def knows(**ages: float) -> Callable[[float], CollectedUsage]:
    """An answer with samples of so many seconds ago."""
    return lambda now: collect(
        now, NODES, {name: now - age for name, age in ages.items()}, {(CPU, "5m"): dict.fromkeys(ages, 50.0)}
    )


class Listening:
    """A poller at work, and what it told."""

    def __init__(self, source: Script, clock: Clock, interval: float = 0.01, timeout: float = 5.0) -> None:
        self.readings: list[Reading] = []
        self.told: list[tuple[SourceCondition, str]] = []
        settings = PollSettings(interval, timeout)
        self.poller = Poller(source, settings, lambda: NODES, ["5m"], clock, self.readings.append, self._tell)

    def _tell(self, standing: SourceState) -> None:
        self.told.append((standing.state, standing.problem))


@asynccontextmanager
async def running(listening: Listening) -> AsyncIterator[Listening]:
    task = asyncio.create_task(listening.poller.run())
    try:
        yield listening
    finally:
        task.cancel()
        await asyncio.wait((task,))


async def test_a_state_is_told_once_when_it_changes() -> None:
    clock = SystemClock()
    good, bad = knows(n1=1.0), SourceError("down")
    source = Script(good, good, bad, bad, bad, good, knows(), knows(stranger=1.0), good, clock=clock)
    async with running(Listening(source, clock)) as listening:
        await until(lambda: source.reads >= 10)
    assert [state for state, _ in listening.told] == [
        SourceCondition.GOOD,
        SourceCondition.FAILING,
        SourceCondition.GOOD,
        SourceCondition.BLIND,
        SourceCondition.GOOD,
    ]
    assert listening.told[1][1] == "down"
    assert listening.poller.standing.rounds["failure"] == 3
    # New connections after each failure, and none left at the end.
    assert source.closed == 4


async def test_a_failure_changes_nothing_of_what_is_known() -> None:
    clock = FakeClock()
    source = Script(knows(n1=10.0, n2=20.0, n3=400.0), SourceError("down"), clock=clock)
    async with running(Listening(source, clock)) as listening:
        await until(lambda: listening.poller.standing.state is SourceCondition.FAILING)
        standing = listening.poller.standing
        assert len(listening.readings) == 1
        assert standing.counts(clock.now()) == {"known": 2, "stale": 1, "unknown": 0}
        assert standing.age_seconds(clock.now()) == pytest.approx(10.0)
        clock.advance(STALE_SECONDS)
        assert standing.counts(clock.now()) == {"known": 0, "stale": 3, "unknown": 0}
        assert standing.to_dict(clock.now()) == {
            "source": "script",
            "state": "failing",
            "problem": "down",
            "ageSeconds": 310.0,
            "nodes": {"known": 0, "stale": 3, "unknown": 0},
        }


async def test_a_source_that_never_answers_is_given_up_in_time() -> None:
    clock = SystemClock()
    source = Silent(knows(), clock=clock)
    async with running(Listening(source, clock, timeout=0.02)) as listening:
        await until(lambda: source.reads >= 2)
    assert listening.told == [(SourceCondition.FAILING, words.no_answer_within("script", 0.02))]


async def test_an_answer_that_nobody_thought_of_is_a_failure_like_others() -> None:
    clock = SystemClock()
    async with running(Listening(Script(KeyError("x"), knows(n1=1.0), clock=clock), clock)) as listening:
        await until(lambda: listening.readings)
    assert listening.told[0] == (SourceCondition.FAILING, "script: KeyError: 'x'")


async def test_failures_are_followed_by_longer_and_longer_waits() -> None:
    clock = SystemClock()
    source = Script(SourceError("down"), clock=clock)
    async with running(Listening(source, clock, interval=0.1)):
        await asyncio.sleep(0.45)
    # Waits are 0.05 to 0.1 s, then twice as long each time.
    assert 3 <= source.reads <= 4


async def test_a_source_is_left_alone_for_as_long_as_it_asks() -> None:
    clock = SystemClock()
    source = Script(SourceError("busy", asked_seconds=30.0), clock=clock)
    async with running(Listening(source, clock, interval=0.01)):
        await asyncio.sleep(29.9)
        assert source.reads == 1
        await asyncio.sleep(0.2)
    assert source.reads == 2


def test_waits_after_failures_are_bounded() -> None:
    back_off = PollSettings(30.0, 10.0).back_off
    assert (back_off.first_seconds, back_off.ceiling_seconds) == (2.0, 60.0)
    assert PollSettings(300.0, 10.0).back_off.ceiling_seconds == 300.0
    assert PollSettings(0.5, 10.0).back_off.first_seconds == 0.5


@pytest.mark.parametrize(
    ("collected", "text"),
    [
        pytest.param(
            CollectedUsage(Reading(0.0, {}), ("a", "b", "c", "d")),
            words.knows_none_of(3, "a, b, c"),
            id="it knows others",
        ),
        pytest.param(CollectedUsage(Reading(0.0, {})), words.no_figures_of(3), id="it knows nobody"),
        pytest.param(
            CollectedUsage(Reading(0.0, {}), (), 2),
            words.figures_from_the_future(2, 3),
            id="its clock is wrong",
        ),
    ],
)
def test_why_none_is_known(collected: CollectedUsage, text: str) -> None:
    assert why_blind(3, collected) == text


def test_numbers_of_a_source_that_has_not_answered_yet() -> None:
    assert numbers_of(SourceState("script"), 0.0) == {
        "vsched_usage_rounds_total": {"success": 0.0, "failure": 0.0},
        "vsched_usage_nodes": {"known": 0.0, "stale": 0.0, "unknown": 0.0},
    }
