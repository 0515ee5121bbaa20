"""Polls a source in the background: each round has a time limit, and failed rounds back off.

A failed round changes nothing: the last reading stays valid until it is too old (``STALE_SECONDS``).
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

import msgspec

from vsched.clock import Clock
from vsched.collectors import words
from vsched.collectors.source import CollectedUsage, NodeTarget, Source, SourceError
from vsched.errors import UNUSABLE
from vsched.kube.backoff import BackOff, BackOffSettings
from vsched.kube.silence import NO_ANSWER
from vsched.model.nodes.usage import STALE_SECONDS, Reading

FIRST_RETRY_SECONDS = 2.0
LONGEST_RETRY_SECONDS = 60.0
"""Well below the time after which figures are stale, so that a source that recovers is noticed before."""


class SourceCondition(StrEnum):
    """The state of a source."""

    WAITING = "waiting"
    """The first round is not finished."""
    GOOD = "good"
    BLIND = "blind"
    """It answers, but has figures for none of the nodes."""
    FAILING = "failing"


class SourceState(msgspec.Struct):
    """The state of a source, with its last reading."""

    source: str = ""
    state: SourceCondition = SourceCondition.WAITING
    problem: str = ""
    """The last error as one line; empty if there is none."""
    nodes: int = 0
    """How many nodes the source was asked about."""
    measured: list[float] = []
    """The newest sample of every node it knows, sorted."""
    strangers: tuple[str, ...] = ()
    rounds: dict[str, int] = msgspec.field(default_factory=lambda: {"success": 0, "failure": 0})

    def counts(self, now: float) -> dict[str, int]:
        """Numbers of nodes whose figures are ``known``, ``stale`` and ``unknown``."""
        stale = bisect_left(self.measured, now - STALE_SECONDS)
        measured = len(self.measured)
        return {"known": measured - stale, "stale": stale, "unknown": max(0, self.nodes - measured)}

    def age_seconds(self, now: float) -> float | None:
        """The age of the newest sample of all; None if there is no sample."""
        return max(0.0, now - self.measured[-1]) if self.measured else None

    def to_dict(self, now: float) -> dict[str, object]:
        """For people."""
        age_seconds = self.age_seconds(now)
        return {
            "source": self.source,
            "state": self.state.value,
            **({"problem": self.problem} if self.problem else {}),
            **({} if age_seconds is None else {"ageSeconds": round(age_seconds, 1)}),
            "nodes": self.counts(now),
        }


class PollSettings(msgspec.Struct, frozen=True):
    """How often the source is polled, and how long a round may take."""

    interval_seconds: float
    timeout_seconds: float

    @property
    def back_off(self) -> BackOffSettings:
        longest_seconds = max(self.interval_seconds, LONGEST_RETRY_SECONDS)
        first_seconds = min(self.interval_seconds, FIRST_RETRY_SECONDS)
        return BackOffSettings(first_seconds, longest_seconds, STALE_SECONDS)


class Poller:
    """Polls one source."""

    def __init__(
        self,
        source: Source,
        settings: PollSettings,
        targets: Callable[[], Sequence[NodeTarget]],
        periods: Sequence[str],
        clock: Clock,
        take: Callable[[Reading], None],
        told: Callable[[SourceState], None],
    ) -> None:
        self._source = source
        self._settings = settings
        self._targets = targets
        self._periods = periods
        self._clock = clock
        self._take = take
        self._told = told
        """Called whenever the state changes."""
        self.standing = SourceState(source.label)

    async def run(self) -> None:
        """Poll until cancelled; then close the connections."""
        back_off = BackOff(self._settings.back_off)
        try:
            while True:
                began = self._clock.monotonic()
                try:
                    await self._round()
                except SourceError as error:
                    self._count("failure", SourceCondition.FAILING, str(error))
                    # With new connections certificates are read again, too.
                    await self._source.close()
                    await asyncio.sleep(back_off.next_seconds(error.asked_seconds))
                else:
                    back_off.reset()
                    took_seconds = self._clock.monotonic() - began
                    await asyncio.sleep(max(0.0, self._settings.interval_seconds - took_seconds))
        finally:
            await self._source.close()

    async def _round(self) -> None:
        targets = self._targets()
        collected = await ask(self._source, targets, self._periods, self._settings.timeout_seconds)
        nodes = collected.reading.nodes
        standing = self.standing
        standing.nodes = len(targets)
        standing.measured = sorted(usage.measured for usage in nodes.values())
        standing.strangers = collected.strangers
        self._take(collected.reading)
        problem = "" if nodes or not targets else why_blind(len(targets), collected)
        self._count("success", SourceCondition.BLIND if problem else SourceCondition.GOOD, problem)

    def _count(self, result: str, state: SourceCondition, problem: str) -> None:
        standing = self.standing
        standing.rounds[result] += 1
        changed = state is not standing.state
        standing.state, standing.problem = state, problem
        if changed:
            self._told(standing)


async def ask(source: Source, targets: Sequence[NodeTarget], periods: Sequence[str], seconds: float) -> CollectedUsage:
    """One round within so many seconds; raises SourceError."""
    try:
        async with asyncio.timeout(seconds):
            return await source.read(targets, periods)
    except TimeoutError:
        raise SourceError(words.no_answer_within(source.label, seconds)) from None
    except SourceError:
        raise
    except (*NO_ANSWER, *UNUSABLE) as error:  # an answer that no source expects must not end scheduling
        raise SourceError(f"{source.label}: {type(error).__name__}: {error}") from error


def why_blind(nodes: int, collected: CollectedUsage) -> str:
    """The likely reason why a source that answers has figures for none of the nodes."""
    if collected.ahead:
        return words.figures_from_the_future(collected.ahead, nodes)
    if collected.strangers:
        named = ", ".join(collected.strangers[:3])
        return words.knows_none_of(nodes, named)
    return words.no_figures_of(nodes)


def numbers_of(standing: SourceState, now: float) -> Mapping[str, Mapping[str, float]]:
    """The same for metrics: by name, then by label."""
    age_seconds = standing.age_seconds(now)
    return {
        "vsched_usage_rounds_total": {result: float(count) for result, count in standing.rounds.items()},
        "vsched_usage_nodes": {state: float(count) for state, count in standing.counts(now).items()},
        **({} if age_seconds is None else {"vsched_usage_age_seconds": {standing.source: age_seconds}}),
    }
