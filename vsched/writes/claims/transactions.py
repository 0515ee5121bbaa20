"""The transactions of all gangs with claims: each goes its way, and none holds up another.

A gang is bound once everything that it claims was reserved and verified. Otherwise all of it is given back, and the
mirror forgets the placements: at once the first time, after a wait when it happens again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import msgspec

from vsched.clock import Clock, monotonic
from vsched.mirror.mirror import Mirror
from vsched.model.plan import Bind
from vsched.model.snapshot import Snapshot
from vsched.writes import words as room_words
from vsched.writes.bind_backoff import BindBackoff
from vsched.writes.bindings import BindOutcome, Dispatcher, Outcome
from vsched.writes.claims import words
from vsched.writes.claims.classes import ClassReader
from vsched.writes.claims.gang import GangBinding, Obstacle
from vsched.writes.claims.holds import HeldObjects
from vsched.writes.claims.settling import Deposed, Settling
from vsched.writes.claims.transaction import GangTransaction, TransactionPhase
from vsched.writes.claims.waiting import WaitSettings
from vsched.writes.claims.wishes import GangWish, claiming, gang_wish
from vsched.writes.limits import Attempts
from vsched.writes.unexpected import Unexpected

BOUND, PARTLY_BOUND, UNDONE, DROPPED = "bound", "partly-bound", "undone", "dropped"
"""What became of a transaction, in metrics."""


class TransactionSettings(msgspec.Struct, frozen=True):
    """Bounds of transactions."""

    limit: int = 10_000
    """Gangs under way at once, most of them waiting; what a cycle decides beyond it is forgotten and decided again."""
    waits: WaitSettings = WaitSettings()
    attempts: Attempts = Attempts(8, first_seconds=0.05, ceiling_seconds=2.0)
    """How often an object is tried: an API server may be away for ten seconds before a gang gives up."""


@dataclass(frozen=True, slots=True)
class TransactionReports:
    """Whom transactions tell."""

    undone: Callable[[GangWish, Obstacle], None]
    """A gang cannot be bound; everything was given back."""
    dropped: Callable[[Outcome], None]
    """A placement is not carried out, because this process is on its way out or must not write."""
    worry: Callable[[str], None]
    """Something could not be given back; a later session does it."""
    around: Callable[[str], AbstractContextManager[object]] = nullcontext
    """Entered with the job while its transaction lasts."""


class GangTransactions:
    """Takes the gangs of each cycle that claim something."""

    def __init__(
        self,
        settling: Settling,
        holds: HeldObjects,
        dispatcher: Dispatcher,
        mirror: Mirror,
        clock: Clock,
        reports: TransactionReports,
        bind_seconds: Callable[[], float],
        settings: TransactionSettings,
    ) -> None:
        """``bind_seconds`` is how long volumes and devices may take, by the policy in force."""
        self._settling = settling
        self._classes = ClassReader(settling, mirror, clock)
        self._holds = holds
        self._dispatcher = dispatcher
        self._mirror = mirror
        self._clock = clock
        self._reports = reports
        self._bind_seconds = bind_seconds
        self._settings = settings
        self._queue: asyncio.Queue[GangTransaction] = asyncio.Queue()
        self._open: dict[GangTransaction, asyncio.Task[None] | None] = {}
        """The task of each; None before it begins."""
        self._by_claim: dict[str, set[GangTransaction]] = {}
        """The open ones by each claim ``namespace/name`` that they are concerned with."""
        self._answers: dict[str, asyncio.Future[bool]] = {}
        """By the pod's uid: whether it was bound."""
        self._failed: dict[str, set[str]] = {}
        """By job: the pods whose placements the mirror still keeps, until the wait is over."""
        self.backoff = BindBackoff(self._forget)
        """Counts failures by job."""
        self._closed = False
        self._why_given_up = room_words.STOPPING
        """Why gangs that wait are given up."""
        self.results: Counter[str] = Counter()
        """Transactions that have ended, by result."""

    # -- what comes in

    def submitting(self, binds: Sequence[Bind], snapshot: Snapshot) -> Generator[None, None, Sequence[Bind]]:
        """Take the gangs that claim something, one a step; returns the other placements."""
        gangs = claiming(binds)
        for job, gang in gangs.items():
            self._begin(gang_wish(job, gang, snapshot))
            yield
        return [bind for bind in binds if bind.job not in gangs] if gangs else binds

    def _begin(self, wish: GangWish) -> None:
        if self._closed or len(self._open) >= self._settings.limit:
            self._drop(wish.binds, room_words.STOPPING if self._closed else words.TOO_MANY_GANGS)
            return
        gang = GangBinding(wish, self._settling, self._classes, self._holds, self._mirror, self._clock)
        transaction = GangTransaction(gang, self._settings.waits)
        self._open[transaction] = None
        for _, key in transaction.keys:
            self._by_claim.setdefault(key, set()).add(transaction)
        self._queue.put_nowait(transaction)

    def changed(self, key: str) -> None:
        """A watch shows a change of a claim ``namespace/name``."""
        for transaction in self._by_claim.get(key, ()):
            transaction.changed(key)

    def answered(self, outcome: Outcome) -> None:
        """A binding has ended, of whatever pod."""
        answer = self._answers.pop(outcome.bind.uid, None)
        if answer is not None and not answer.done():
            answer.set_result(outcome.bound)

    # -- what is done

    async def run(self) -> None:
        """Carry out what is submitted, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.backoff.run())
            while True:
                transaction = await self._queue.get()
                if transaction in self._open:
                    self._open[transaction] = group.create_task(self._carry_out(transaction))

    async def _carry_out(self, transaction: GangTransaction) -> None:
        wish = transaction.gang.wish
        unexpected = Unexpected(words.claims_left_unchanged(wish.job))
        try:
            with unexpected, self._reports.around(wish.job):
                await self._attempt(transaction)
            if unexpected.why:
                self._fail(wish, Obstacle(words.claims_cannot_be_written(unexpected.why)))
        except asyncio.CancelledError:
            self._drop(wish.binds, self._why_given_up)
            raise
        finally:
            transaction.end()
            self._close(transaction)

    def _close(self, transaction: GangTransaction) -> None:
        del self._open[transaction]
        for _, key in transaction.keys:
            concerned = self._by_claim.get(key, set())
            concerned.discard(transaction)
            if not concerned:
                self._by_claim.pop(key, None)

    async def _attempt(self, transaction: GangTransaction) -> None:
        wish = transaction.gang.wish
        try:
            obstacle = await transaction.prepare(self._bind_seconds())
            if obstacle is None:
                transaction.phase = TransactionPhase.BINDING
                await self._bind(wish)
                return
            left = await transaction.undo()
        except Deposed:
            self._drop(wish.binds, room_words.NOT_THE_LEADER)
            return
        if left:
            self._reports.worry(f"{wish.job}: {'; '.join(left)}")
        self._fail(wish, obstacle)

    async def _bind(self, wish: GangWish) -> None:
        loop = asyncio.get_running_loop()
        answers = {bind.uid: loop.create_future() for bind in wish.binds}
        self._answers.update(answers)
        self._dispatcher.submit(wish.binds)
        await asyncio.wait(answers.values())
        if all(answer.result() for answer in answers.values()):
            self.backoff.clear(wish.job)
            self.results[BOUND] += 1
        else:
            # The next session decides again: the pods that are left use what they have, or it is released.
            self.results[PARTLY_BOUND] += 1

    def _fail(self, wish: GangWish, obstacle: Obstacle) -> None:
        self.results[UNDONE] += 1
        self._reports.undone(wish, obstacle)
        self._failed.setdefault(wish.job, set()).update(bind.uid for bind in wish.binds)
        self.backoff.failed(wish.job)

    def _forget(self, job: str) -> None:
        for uid in sorted(self._failed.pop(job, ())):
            self._mirror.assumptions.forget(uid)

    def _drop(self, binds: Iterable[Bind], why: str) -> None:
        self.results[DROPPED] += 1
        for bind in binds:
            if self._answers.pop(bind.uid, None) is None:  # otherwise the dispatcher says what becomes of it
                self._reports.dropped(Outcome(bind, BindOutcome.DROPPED, message=why))

    # -- the end

    async def drain(self, deadline_seconds: float) -> int:
        """Take nothing new, and finish what is under way; counts the placements that are left.

        Gangs that wait are left as they are: the next daemon finds what they have reserved, and goes on with it.
        """
        self._closed = True
        end = monotonic() + deadline_seconds
        self._why_given_up = room_words.STOPPING
        while self._open and (left_seconds := end - monotonic()) > 0:
            self._give_up(self._open)
            tasks = [task for task in self._open.values() if task is not None]
            if not tasks:
                break
            await asyncio.wait(tasks, timeout=min(0.05, left_seconds), return_when=asyncio.FIRST_COMPLETED)
        return sum(len(transaction.gang.wish.binds) for transaction in self._open)

    def leave(self, concerns: Callable[[Bind], bool]) -> None:
        """Give up the gangs that wait and have such a placement: another daemon decides from now on, and goes on with
        what they have reserved. What is being written is left to end; see ``under_way``.
        """
        self._why_given_up = words.ANOTHER_DECIDES
        self._give_up([each for each in self._open if any(map(concerns, each.gang.wish.binds))])

    def _give_up(self, chosen: Iterable[GangTransaction]) -> None:
        """End those of these that write nothing at the moment."""
        for transaction in list(chosen):
            task = self._open[transaction]
            if task is None:
                self._close(transaction)
                self._drop(transaction.gang.wish.binds, self._why_given_up)
            elif transaction.phase in (TransactionPhase.QUEUED, TransactionPhase.WAITING):
                task.cancel()

    # -- what others see

    @property
    def under_way(self) -> Iterable[Bind]:
        """The placements of all gangs that are under way."""
        return (bind for transaction in self._open for bind in transaction.gang.wish.binds)

    @property
    def busy(self) -> bool:
        """Whether any gang is under way."""
        return bool(self._open)

    def phases(self) -> Mapping[str, int]:
        """How many gangs are in each phase."""
        found = Counter(transaction.phase.value for transaction in list(self._open))  # metrics are read in a thread
        return {phase.value: found[phase.value] for phase in TransactionPhase}
