"""Carries evictions out: one request a pod, some in flight, and the outcome back by callback.

Pods that opt in are asked to end by themselves before; such a request can be withdrawn. Both go through the same queue
as evictions, so that the latest decision about a pod is the one that holds.

Whether a disruption budget lets a pod go is the API server's to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum

import msgspec
from cachetools import LRUCache

from vsched.clock import Clock
from vsched.model.plan import AskAgain, Evict, Withdraw
from vsched.writes import words
from vsched.writes.bodies import deletion_write, disruption_write, eviction_write
from vsched.writes.limits import Attempts
from vsched.writes.outgoing import Outgoing
from vsched.writes.requests import (
    condition_write,
    release_write,
    request_of,
    responders_write,
    telling_write,
    untelling_write,
    withdrawal_write,
)
from vsched.writes.writer import NO_ANSWER, NOT_PERMITTED, Write, Writer, WriteResult, may_help

_ANOTHER_POD = re.compile(r"UID in (the )?precondition")
_OTHER_UID = "metadata.uid"
_BUDGET = "DisruptionBudget"


ASKED_MAX = 10_000
"""How many pods are remembered that were told of a request, and whose responders were asked."""


class EvictionVerdict(StrEnum):
    """What became of an eviction."""

    EVICTED = "evicted"
    REQUESTED = "requested"
    """The pod was asked to end by itself."""
    WITHDRAWN = "withdrawn"
    """The pod need not end any more."""
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
    asks_seconds: float = 3600.0
    """How long pods that opt in are asked to end by themselves, at most; 0: they are evicted at once."""
    repeat_seconds: float = 5.0
    """The wait before a withdrawal that failed is sent again."""
    attempts: Attempts = Attempts(4, first_seconds=0.05, ceiling_seconds=1.0)
    condition_attempts: Attempts = Attempts(2, first_seconds=0.2, ceiling_seconds=2.0)


def judge(answer: WriteResult) -> EvictionVerdict:
    """What an answer means for an eviction; a repeat after a lost answer finds a pod that goes or is gone."""
    if answer.done:
        return EvictionVerdict.EVICTED
    if answer.code == NOT_PERMITTED:
        return EvictionVerdict.DROPPED
    if answer.code == 404 or (answer.code == 422 and _OTHER_UID in answer.message):
        return EvictionVerdict.GONE
    if answer.code == 409 and _ANOTHER_POD.search(answer.message):
        return EvictionVerdict.GONE
    if answer.code == 429 and _BUDGET in answer.causes:
        return EvictionVerdict.REFUSED_NOW
    if may_help(answer) and words.MORE_THAN_ONE_BUDGET not in answer.message:
        return EvictionVerdict.GAVE_UP
    return EvictionVerdict.REFUSED


class SayWhy(msgspec.Struct, frozen=True):
    """Tell a pod that was evicted why."""

    eviction: Evict

    @property
    def uid(self) -> str:
        """That of the pod."""
        return self.eviction.uid

    @property
    def namespace(self) -> str:
        """That of the pod."""
        return self.eviction.namespace

    @property
    def name(self) -> str:
        """That of the pod."""
        return self.eviction.name


EvictorItem = Evict | Withdraw | AskAgain | SayWhy
OnWithdrawn = Callable[[Withdraw, EvictionVerdict, str], None]
"""Called with ``WITHDRAWN``, ``GONE``, ``DROPPED`` or ``GAVE_UP``, and the API server's message; a withdrawal that was
given up is sent again later."""


class Evictor(Outgoing[EvictorItem]):
    """Sends evictions, requests that pods end by themselves, and their withdrawal."""

    what = "eviction"

    def __init__(
        self,
        writer: Writer,
        on_outcome: Callable[[EvictionOutcome], None],
        settings: EvictionSettings,
        clock: Clock,
        on_withdrawn: OnWithdrawn = lambda withdrawal, verdict, message: None,
        is_there: Callable[[str], bool] = lambda uid: True,
    ) -> None:
        """``is_there`` says whether the watch still shows a pod, by uid."""
        super().__init__(writer, settings.max_in_flight, settings.queue_limit)
        self._on_outcome = on_outcome
        self._on_withdrawn = on_withdrawn
        self._is_there = is_there
        self._settings = settings
        self._clock = clock
        self._told: LRUCache[str, None] = LRUCache(ASKED_MAX)
        """Uids of pods that this process has told of a request: what their owners then remove is not written again."""
        self._responders_asked: LRUCache[str, None] = LRUCache(ASKED_MAX)
        """Uids of pods whose responders this process has asked."""

    async def _carry_out(self, item: EvictorItem) -> None:
        if isinstance(item, Withdraw):
            await self._withdraw(item)
        elif isinstance(item, AskAgain):
            await self._tell_pod(item)
            if item.responds:
                await self._ask_responders(item)
        elif isinstance(item, SayWhy):
            await self._say_why(item.eviction)
        elif (item.wait or item.responds) and self._settings.asks_seconds:
            await self._ask(item)
        else:
            await self._evict(item)

    async def _evict(self, item: Evict) -> None:
        answer = await self._send(item, lambda _: self._leaving(item), self._settings.attempts, _in_doubt)
        verdict = self._tell(item, answer, judge(answer))
        if verdict is not EvictionVerdict.EVICTED:
            return
        if self._is_deleted(item):
            await self._say_why(item)
        else:
            # Only now: the eviction itself sets the same condition, with a reason that says less, and one set
            # beforehand would have to be taken back from pods that stay. The evictions that wait go first.
            self._workqueue.put(item.uid, SayWhy(item))

    async def _say_why(self, item: Evict) -> None:
        """Say why a pod has to go, unless it is gone: pods without grace are at once."""
        if self._is_there(item.uid):
            condition = disruption_write(item, self._clock.now())
            await self._writer.send(condition, self._settings.condition_attempts)

    def _leaving(self, item: Evict) -> Write:
        return deletion_write(item) if self._is_deleted(item) else eviction_write(item)

    def _is_deleted(self, item: Evict) -> bool:
        return self._settings.delete or not item.asks_budgets

    async def _ask(self, item: Evict) -> None:
        """Ask the pod, then tell its owner and its responders: what was asked stands once its condition says so."""
        asked = request_of(item, self._clock.now(), self._settings.asks_seconds)
        self._told.pop(item.uid, None)
        answer = await self._send(item, lambda _: condition_write(asked), self._settings.attempts, _in_doubt)
        verdict = judge(answer)
        if verdict is EvictionVerdict.EVICTED:
            await self._tell_pod(asked)
            if item.responds and not await self._ask_responders(item) and not item.wait:
                await self._evict(item)  # nobody is there who could answer
                return
        self._tell(item, answer, EvictionVerdict.REQUESTED if verdict is EvictionVerdict.EVICTED else verdict)

    async def _tell_pod(self, item: AskAgain) -> None:
        """Write the annotations of a request, unless this process has done so."""
        if item.told or item.uid in self._told:
            return
        answer = await self._send(item, lambda _: telling_write(item), self._settings.attempts, _in_doubt)
        if not _in_doubt(answer):
            self._told[item.uid] = None

    async def _ask_responders(self, item: Evict | AskAgain) -> bool:
        """False where they cannot be asked: the cluster does not serve EvictionRequests, or does not allow this one."""
        if item.uid in self._responders_asked:
            return True
        answer = await self._send(item, lambda _: responders_write(item), self._settings.attempts, _in_doubt)
        if answer.done or not _in_doubt(answer):
            self._responders_asked[item.uid] = None
        return answer.done or _in_doubt(answer)

    async def _withdraw(self, item: Withdraw) -> None:
        """Withdraw what responders were asked, then what the pod was asked: until that is done, it is tried again."""
        self._responders_asked.pop(item.uid, None)
        self._told.pop(item.uid, None)
        if item.responds:
            answer = await self._send(item, lambda _: release_write(item), self._settings.attempts, _in_doubt)
            if judge(answer) is EvictionVerdict.GAVE_UP:
                self._workqueue.retry(item.uid, item, self._settings.repeat_seconds)
                self._on_withdrawn(item, EvictionVerdict.GAVE_UP, answer.message)
                return
        answer = await self._send(item, lambda _: untelling_write(item), self._settings.attempts, _in_doubt)
        if answer.done:
            ending = withdrawal_write(item, self._clock.now())
            answer = await self._send(item, lambda _: ending, self._settings.attempts, _in_doubt)
        match judge(answer):
            case EvictionVerdict.EVICTED:
                verdict = EvictionVerdict.WITHDRAWN
            case EvictionVerdict.GONE | EvictionVerdict.DROPPED as found:
                verdict = found
            case _:
                verdict = EvictionVerdict.GAVE_UP
                self._workqueue.retry(item.uid, item, self._settings.repeat_seconds)
        self._on_withdrawn(item, verdict, answer.message)

    def _tell(self, item: Evict, answer: WriteResult, verdict: EvictionVerdict) -> EvictionVerdict:
        self._on_outcome(
            EvictionOutcome(
                item, verdict, answer.code, answer.message, answer.seconds, asked_seconds=answer.asked_seconds
            )
        )
        return verdict

    def _drop(self, item: EvictorItem, why: str) -> None:
        if isinstance(item, Withdraw):
            self._on_withdrawn(item, EvictionVerdict.DROPPED, why)
        elif isinstance(item, Evict):
            self._on_outcome(EvictionOutcome(item, EvictionVerdict.DROPPED, message=why))


def _in_doubt(answer: WriteResult) -> bool:
    return judge(answer) is EvictionVerdict.GAVE_UP
