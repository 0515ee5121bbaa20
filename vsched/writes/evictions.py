"""Carries evictions out: one request a pod, some in flight, and the outcome back by callback.

Whether a disruption budget lets a pod go is the API server's to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum

import msgspec

from vsched.clock import Clock
from vsched.model.plan import Evict
from vsched.writes.bodies import deletion_write, disruption_write, eviction_write
from vsched.writes.limits import Attempts
from vsched.writes.outgoing import Outgoing
from vsched.writes.writer import NO_ANSWER, NOT_PERMITTED, Writer, WriteResult, may_help

_ANOTHER_POD = re.compile(r"UID in (the )?precondition")
_BUDGET = "DisruptionBudget"
_TWO_BUDGETS = "more than one PodDisruptionBudget"


class EvictionVerdict(StrEnum):
    """What became of an eviction."""

    EVICTED = "evicted"
    GONE = "gone"
    """The pod is no more, or another of its name has taken its place."""
    REFUSED_NOW = "refused-now"
    """A disruption budget does not let it go now."""
    REFUSED = "refused"
    """The API server will not have it: not allowed, or more budgets than it can weigh."""
    GAVE_UP = "gave-up"
    """No usable answer after all attempts: it may have been carried out."""
    DROPPED = "dropped"
    """Never sent: too many were waiting, or the process may not write."""


class EvictionOutcome(msgspec.Struct, frozen=True):
    """An eviction and what became of it."""

    eviction: Evict
    verdict: EvictionVerdict
    code: int = NO_ANSWER
    message: str = ""
    seconds: float = 0.0
    asked_seconds: float = 0.0
    """How long the API server asks to wait before the next attempt; 0 where it does not."""


class EvictionSettings(msgspec.Struct, frozen=True):
    """How evictions are carried out, and their bounds."""

    delete: bool = False
    """Delete pods as Volcano does, rather than evict them: the API server then does not check disruption budgets."""
    max_in_flight: int = 16
    """Requests on the wire at once; each costs the API server several bindings."""
    queue_limit: int = 100_000
    """Evictions waiting to be sent."""
    attempts: Attempts = Attempts(4, first_seconds=0.05, ceiling_seconds=1.0)
    condition_attempts: Attempts = Attempts(2, first_seconds=0.2, ceiling_seconds=2.0)


def judge(answer: WriteResult) -> EvictionVerdict:
    """What an answer means for an eviction; a repeat after a lost answer finds a pod that goes or is gone."""
    if answer.done:
        return EvictionVerdict.EVICTED
    if answer.code == NOT_PERMITTED:
        return EvictionVerdict.DROPPED
    if answer.code == 404 or (answer.code == 409 and _ANOTHER_POD.search(answer.message)):
        return EvictionVerdict.GONE
    if answer.code == 429 and _BUDGET in answer.causes:
        return EvictionVerdict.REFUSED_NOW
    if may_help(answer) and _TWO_BUDGETS not in answer.message:
        return EvictionVerdict.GAVE_UP
    return EvictionVerdict.REFUSED


class Evictor(Outgoing[Evict]):
    """Sends evictions."""

    what = "eviction"

    def __init__(
        self, writer: Writer, on_outcome: Callable[[EvictionOutcome], None], settings: EvictionSettings, clock: Clock
    ) -> None:
        super().__init__(writer, settings.max_in_flight, settings.queue_limit)
        self._on_outcome = on_outcome
        self._settings = settings
        self._clock = clock

    async def _carry_out(self, item: Evict) -> None:
        make = deletion_write if self._settings.delete else eviction_write
        answer = await self._send(item, make, self._settings.attempts, _in_doubt)
        verdict = judge(answer)
        self._on_outcome(
            EvictionOutcome(
                item, verdict, answer.code, answer.message, answer.seconds, asked_seconds=answer.asked_seconds
            )
        )
        if verdict is EvictionVerdict.EVICTED:
            # Only now: the eviction itself sets the same condition, with a reason that says less, and one set
            # beforehand would have to be taken back from pods that stay. Pods without grace are gone already.
            condition = disruption_write(item, self._clock.now())
            await self._writer.send(condition, self._settings.condition_attempts)

    def _drop(self, item: Evict, why: str) -> None:
        self._on_outcome(EvictionOutcome(item, EvictionVerdict.DROPPED, message=why))


def _in_doubt(answer: WriteResult) -> bool:
    return judge(answer) is EvictionVerdict.GAVE_UP
