"""Leader election: the holder of a Lease renews it; the other candidates take over when it is no longer renewed.

This module does not know what is led. Times written by other processes are never compared with our clock: a lease has
expired once *we* have seen its record unchanged for its duration. Its holder stops relying on it earlier, by its own
monotonic clock. The protocol is compatible with client-go, so both kinds of candidates can share a Lease.
"""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import StrEnum
from typing import NoReturn

import msgspec

from vsched.clock import Clock, SystemClock, wakeful
from vsched.errors import VschedError
from vsched.kube.client import ApiClient, Json
from vsched.kube.errors import Conflict, NotFound
from vsched.kube.lease.record import (
    LEASES,
    PREFERRED,
    LeaseRecord,
    LeaseSettings,
    Spec,
    annotated,
    annotations_of,
    held_spec,
    read_record,
    released_spec,
)
from vsched.kube.lease.watch import LeaseWatch
from vsched.kube.watch.deltas import Statistics
from vsched.kube.words import leases as words
from vsched.randomness import uid, uniform

EARLIEST = 0.75
"""Retries wait between this fraction of the retry period and all of it, so that candidates do not act in step."""


class Role(StrEnum):
    """What a candidate is at the moment."""

    STANDBY = "standby"
    LEADER = "leader"
    LOST = "lost"
    """It led, and lost the lease."""
    RELEASED = "released"
    """It led, and gave the lease back."""


class CandidateState(msgspec.Struct, frozen=True):
    """The state of a candidate."""

    role: Role = Role.STANDBY
    holder: str = ""
    """``holderIdentity`` of the Lease; empty if it has no holder, or before it was read."""
    transitions: int = 0
    """``leaseTransitions``: how often the lease has changed its holder."""
    problem: str = ""
    """Why the last attempt failed; empty if it succeeded."""


class LeaseLost(VschedError):
    """This process led, and can no longer be sure to be the only leader."""


class WakefulClock(SystemClock):
    """The system clock; its monotonic time includes time in suspend, if the system supports that."""

    __slots__ = ()

    def monotonic(self) -> float:
        return wakeful()


def new_identity() -> str:
    """A unique identity for this candidate: host name and UUID."""
    return f"{socket.gethostname()}_{uid()}"


class Elector:
    """One candidate for a lease: acquires it, renews it, and says whether it holds it. Not reusable after a loss.

    Methods that ask the API server take the client as an argument; it should send each request only once.
    """

    def __init__(
        self,
        settings: LeaseSettings,
        identity: str = "",
        *,
        clock: Clock | None = None,
        told: Callable[[CandidateState], None] = lambda standing: None,
        watched: Callable[[Statistics], None] = lambda statistics: None,
        source: random.Random | None = None,
    ) -> None:
        self.settings = settings
        self._path = LEASES.path(settings.namespace, settings.name)
        self._clock = clock or WakefulClock()
        self._told = told
        self._watched = watched
        """Called with the statistics of the watch on the Lease, while this candidate is on standby."""
        self._uniform = uniform if source is None else source.uniform
        self._seen: LeaseRecord | None = None
        self._changed_at = 0.0
        """When we first saw the record as it is now."""
        self._preferred_at = 0.0
        """When we first saw that the one who asks for it does."""
        self.looked_at = 0.0
        """When the latest look at the Lease began, by the monotonic clock."""
        self._hurried = asyncio.Event()
        self.notes: dict[str, str | None] = {}
        """Annotations that the Lease gets with the next write that keeps it ours; None takes one off."""
        self._renewed_at = 0.0
        """When we sent the last successful write that made or kept us leader."""
        self.identity = identity or new_identity()
        self.leading = asyncio.Event()
        """Set once the lease is ours; cleared for good when it no longer is."""
        self.standing = CandidateState()
        self.failures = 0
        """Number of failed attempts; losing a race is not a failure."""

    @property
    def valid_until(self) -> float:
        """The moment, by the monotonic clock, from which another candidate may lead."""
        return self._renewed_at + self.settings.duration_seconds

    def holds(self) -> bool:
        """Whether this candidate may act: it leads, and what it sends has some time before another one can lead.

        That time is what the duration of the Lease has beyond the renew deadline: a request that is on the wire when
        its sender is killed, or hangs, may be carried out that much later. Exact even while a renewal hangs.
        """
        return self.leading.is_set() and self._clock.monotonic() < self._gives_up_at

    @property
    def preferred(self) -> str:
        """The identity of the candidate that asks the holder for the lease; empty for none."""
        return "" if self._seen is None else self._seen.preferred

    @property
    def annotations(self) -> Mapping[str, str]:
        """The annotations of the Lease, as it was seen last."""
        return {} if self._seen is None else annotations_of(self._seen.lease)

    def hurry(self) -> None:
        """Renew the lease now, because its annotations are to change."""
        self._hurried.set()

    def adopt(self, before: Elector) -> None:
        """Go on from what another candidate of this process has seen of the Lease."""
        self._seen, self._changed_at = before._seen, before._changed_at
        self._preferred_at = before._preferred_at
        self.looked_at = before.looked_at

    async def ask(self, client: ApiClient) -> None:
        """Ask the holder for the lease, unless somebody else does; raises where the request fails."""
        async with asyncio.timeout(self._attempt_seconds):
            found = await self._look(client)
            if found is not None and found.holder not in ("", self.identity) and not found.preferred:
                self._observe(await client.replace(self._path, annotated(found.lease, {PREFERRED: self.identity})))

    async def run(self, client: ApiClient) -> NoReturn:
        """Acquire the lease and renew it, until cancelled; raises LeaseLost when a lease that was ours is lost."""
        wait_seconds = await self._stand_by(client)
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_seconds):
                    await self._hurried.wait()
            self._hurried.clear()
            wait_seconds = await self.turn(client)

    async def _stand_by(self, client: ApiClient) -> float:
        """Try to get the lease until it is ours, at once when it becomes free; returns the seconds to the next turn."""
        watch = LeaseWatch(client, self.settings, self._watched)
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(watch.run(), name="lease watch")
            while True:
                watch.freed.clear()
                wait_seconds = await self.turn(client)
                if self.leading.is_set():
                    watching.cancel()
                    return wait_seconds
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait_seconds):
                        await watch.freed.wait()

    async def turn(self, client: ApiClient) -> float:
        """One attempt to get or renew the lease; returns the seconds to the next. Raises LeaseLost."""
        if self.leading.is_set():
            await self._keep(client)
        else:
            await self._seek(client)
        return self._wait_seconds()

    async def release(self, client: ApiClient) -> bool:
        """Give the lease back, so that another candidate can take over at once; returns whether it was given back.

        The work that the lease protects must have ended before.
        """
        held = self.holds()
        self.leading.clear()
        if not held:
            return False
        try:
            async with asyncio.timeout(min(self._attempt_seconds, self.valid_until - self._clock.monotonic())):
                return await self._give_back(client)
        except (VschedError, TimeoutError) as error:
            self._failed(error)
            return False

    # -- as standby

    async def _seek(self, client: ApiClient) -> None:
        try:
            async with asyncio.timeout(self._attempt_seconds):
                await self._claim(client)
        except Conflict:
            # Another candidate was faster; the next attempt reads which one.
            self._tell(Role.STANDBY)
        except (VschedError, TimeoutError) as error:
            self._failed(error)

    async def _claim(self, client: ApiClient) -> None:
        found = await self._look(client)
        # A deleted Lease stays in force until it expires: its holder may not know yet that it was deleted.
        last = found or self._seen
        if last is not None and (self._is_in_force(last) or self._is_promised(last)):
            self._tell(Role.STANDBY)
        else:
            await self._take(client, found)

    def _is_in_force(self, record: LeaseRecord) -> bool:
        """Whether another candidate may still rely on this record."""
        expires = self._changed_at + record.duration_seconds
        return record.holder not in ("", self.identity) and self._clock.monotonic() < expires

    def _is_promised(self, record: LeaseRecord) -> bool:
        """Whether this free lease is kept for another candidate, which asked for it."""
        free = not record.holder and record.preferred not in ("", self.identity)
        return free and self._clock.monotonic() < self._changed_at + self.settings.duration_seconds

    # -- as leader

    async def _keep(self, client: ApiClient) -> None:
        now, gives_up = self._clock.monotonic(), self._gives_up_at
        problem = self.standing.problem
        if now >= self.valid_until or (problem and now >= gives_up):
            self._lose(words.not_renewed_for(now - self._renewed_at) + (f": {problem}" if problem else ""))
        # A process that was suspended beyond the deadline has not failed yet: it may try until the lease expires.
        until = gives_up if now < gives_up else self.valid_until
        try:
            async with asyncio.timeout(min(self._attempt_seconds, until - now)):
                await self._renew(client)
        except LeaseLost:
            raise
        except (VschedError, TimeoutError) as error:
            self._failed(error)

    @property
    def _gives_up_at(self) -> float:
        return self._renewed_at + self.settings.renew_deadline_seconds

    async def _renew(self, client: ApiClient) -> None:
        try:
            # Usually the record is unchanged since our last write, so one request is enough.
            await self._take(client, self._seen)
        except (Conflict, NotFound):
            found = await self._look(client)
            if found is not None and found.holder != self.identity:
                self._lose(words.taken_by(found.holder) if found.holder else words.TAKEN_BACK)
            await self._take(client, found)

    def _lose(self, why: str) -> NoReturn:
        self.leading.clear()
        self._tell(Role.LOST, why)
        raise LeaseLost(words.lease_is_lost(self.settings, why))

    async def _give_back(self, client: ApiClient) -> bool:
        # A cancelled renewal may have been carried out, so the current version is read first.
        found = await self._look(client)
        if found is None or found.holder != self.identity:
            return False
        await self._replace(client, found, released_spec(found, self._clock.now()))
        self._tell(Role.RELEASED)
        return True

    # -- the Lease

    async def _look(self, client: ApiClient) -> LeaseRecord | None:
        """Read the Lease; None if it does not exist."""
        began = self._clock.monotonic()
        try:
            found = self._observe(await client.get(self._path))
        except NotFound:
            return None
        self.looked_at = began
        return found

    def _observe(self, lease: Json) -> LeaseRecord:
        found = read_record(lease, self.settings.duration_seconds)
        if self._seen is None or found.spec != self._seen.spec:
            # Taken after the answer: the writer took its own time before it wrote, so its lease ends before our count.
            self._changed_at = self._clock.monotonic()
        if self._seen is None or found.preferred != self._seen.preferred:
            self._preferred_at = self._clock.monotonic()
        self._seen = found
        return found

    async def _take(self, client: ApiClient, record: LeaseRecord | None) -> None:
        """Make the lease ours by replacing exactly this record; with None, by creating it if there still is none."""
        began = self._clock.monotonic()
        spec = held_spec(record, self.identity, self.settings.duration_seconds, self._clock.now())
        if record is None:
            await self._create(client, spec)
        else:
            await self._replace(client, record, spec)
        if self._clock.monotonic() >= began + self.settings.duration_seconds:
            return  # the answer took so long that it proves nothing any more
        self._renewed_at = began
        self.leading.set()
        self._tell(Role.LEADER)

    async def _create(self, client: ApiClient, spec: Spec) -> None:
        metadata = {"name": self.settings.name, "namespace": self.settings.namespace}
        lease = {"apiVersion": LEASES.api_version, "kind": "Lease", "metadata": metadata, "spec": spec}
        self._observe(await client.create(LEASES.path(self.settings.namespace), lease))

    async def _replace(self, client: ApiClient, record: LeaseRecord, spec: Spec) -> None:
        """Replace the version that was read; Conflict if there was another write in between."""
        kept = record.lease
        if spec["holderIdentity"]:
            # Whoever asked has it now, or has not got it for a whole term and may be gone.
            served = record.holder != self.identity or self._is_old(record)
            notes = self.notes | ({PREFERRED: None} if served and record.preferred else {})
            kept = annotated(kept, notes) if notes else kept
        self._observe(await client.replace(self._path, {**kept, "spec": spec}))

    def _is_old(self, record: LeaseRecord) -> bool:
        """Whether somebody has asked in vain for a whole term."""
        return self._clock.monotonic() >= self._preferred_at + self.settings.duration_seconds

    # -- the state, and the time of the next attempt

    @property
    def _attempt_seconds(self) -> float:
        """How long one attempt may take: a request without an answer must leave time for another one."""
        return self.settings.renew_deadline_seconds / 2

    def _wait_seconds(self) -> float:
        wait_seconds = self.settings.retry_seconds * self._uniform(EARLIEST, 1.0)
        now = self._clock.monotonic()
        if self.leading.is_set():
            return max(0.0, min(wait_seconds, self._gives_up_at - now))
        if self._seen is not None and self._is_in_force(self._seen):
            return max(0.0, min(wait_seconds, self._changed_at + self._seen.duration_seconds - now))
        return wait_seconds

    def _failed(self, error: Exception) -> None:
        self.failures += 1
        self._tell(self.standing.role, str(error) or words.NO_ANSWER)

    def _tell(self, role: Role, problem: str = "") -> None:
        seen = self._seen
        holder, transitions = ("", 0) if seen is None else (seen.holder, seen.transitions)
        standing = CandidateState(role, holder, transitions, problem)
        if standing != self.standing:
            self.standing = standing
            self._told(standing)
