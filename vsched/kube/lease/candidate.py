"""One leader among several processes: a Lease that its holder renews, and that others watch for silence.

Knows nothing of what is led. Times that others wrote are never compared with our clock: a lease has run out once *we*
have seen its record unchanged for as long as it says, and its holder stops relying on it sooner, by its own steady
clock. Candidates that use client-go see one of their own in us.
"""

from __future__ import annotations

import asyncio
import random
import socket
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import NoReturn

import msgspec

from vsched.clock import Clock, SystemClock
from vsched.errors import VschedError
from vsched.kube.client import ApiClient, Json
from vsched.kube.errors import Conflict, NotFound
from vsched.kube.lease.record import LEASES, LeaseSettings, Record, Spec, held_spec, read_record, released_spec
from vsched.kube.lease.watch import LeaseWatch
from vsched.kube.watch.deltas import Statistics

EARLIEST = 0.75
"""Retries come after this part of their time to the whole of it, so that candidates do not come in step."""


class Role(StrEnum):
    """What a candidate is at the moment."""

    STANDBY = "standby"
    LEADER = "leader"
    LOST = "lost"
    """It led and no longer does, against its will."""
    RELEASED = "released"
    """It gave the lease back."""


class CandidateState(msgspec.Struct, frozen=True):
    """How a candidate stands."""

    role: Role = Role.STANDBY
    holder: str = ""
    """Whom the Lease names; empty for nobody, or before the first look."""
    transitions: int = 0
    """How often the lease has passed from one to another."""
    problem: str = ""
    """Why the last attempt failed; empty where it did not."""


class LeaseLost(VschedError):
    """This process led and can no longer be sure that nobody else does."""


class WakefulClock(SystemClock):
    """The clock of this machine; its steady part goes on while the machine is suspended, where the system can tell."""

    __slots__ = ()

    def monotonic(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def new_identity() -> str:
    """A name for this candidate that no other process ever has."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class Elector:
    """One candidate for a lease: seeks it, keeps it, and says whether it holds; not used again once it is lost.

    Every method that asks the API server is given the client; one that sends each request once serves best.
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
        """Told how the watch of the Lease is doing, while this candidate stands by."""
        self._uniform = (source or random).uniform
        self._seen: Record | None = None
        self._changed_at = 0.0
        """When we saw the record as it is now for the first time."""
        self._renewed_at = 0.0
        """When the last write that made or kept us leader set out."""
        self.identity = identity or new_identity()
        self.leading = asyncio.Event()
        """Set once the lease is ours, cleared for good when it no longer is."""
        self.standing = CandidateState()
        self.failures = 0
        """Attempts that failed, lost races not counted."""

    @property
    def valid_until(self) -> float:
        """The moment, by the steady clock, from which somebody else may lead."""
        return self._renewed_at + self.settings.duration_seconds

    def holds(self) -> bool:
        """Whether nobody else can be leader now; right to the moment, even while renewing is stuck."""
        return self.leading.is_set() and self._clock.monotonic() < self.valid_until

    async def run(self, client: ApiClient) -> NoReturn:
        """Seek the lease and keep it, until cancelled; raises LeaseLost when it was ours and is no longer."""
        wait_seconds = await self._stand_by(client)
        while True:
            await asyncio.sleep(wait_seconds)
            wait_seconds = await self.turn(client)

    async def _stand_by(self, client: ApiClient) -> float:
        """Seek the lease until it is ours, at once whenever it becomes free; returns the seconds to the next turn."""
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
        """Give the lease back, so that another takes over at its next look; whether it was ours to give.

        Whatever the lease protects must have ended before.
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
            # Somebody else was faster; whoever it was is seen at the next look.
            self._tell(Role.STANDBY)
        except (VschedError, TimeoutError) as error:
            self._failed(error)

    async def _claim(self, client: ApiClient) -> None:
        found = await self._look(client)
        # A Lease that was deleted is honoured to its end: its holder does not know of it yet.
        last = found or self._seen
        if last is not None and self._is_in_force(last):
            self._tell(Role.STANDBY)
        else:
            await self._take(client, found)

    def _is_in_force(self, record: Record) -> bool:
        """Whether somebody else may still rely on this record."""
        expires = self._changed_at + record.duration_seconds
        return record.holder not in ("", self.identity) and self._clock.monotonic() < expires

    # -- as leader

    async def _keep(self, client: ApiClient) -> None:
        now, gives_up = self._clock.monotonic(), self._gives_up_at
        problem = self.standing.problem
        if now >= self.valid_until or (problem and now >= gives_up):
            self._lose(f"not renewed for {now - self._renewed_at:.1f} s" + (f": {problem}" if problem else ""))
        # A process that was held up beyond the deadline has not failed yet: it may try for as long as the lease lasts.
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
            # As a rule nobody else has touched it, and one request is enough.
            await self._take(client, self._seen)
        except (Conflict, NotFound):
            found = await self._look(client)
            if found is not None and found.holder != self.identity:
                self._lose(f"taken by {found.holder}" if found.holder else "taken back by somebody else")
            await self._take(client, found)

    def _lose(self, why: str) -> NoReturn:
        self.leading.clear()
        self._tell(Role.LOST, why)
        raise LeaseLost(f"lease {self.settings} is lost: {why}")

    async def _give_back(self, client: ApiClient) -> bool:
        # A renewal that was cut off may have been carried out, so the version is asked for.
        found = await self._look(client)
        if found is None or found.holder != self.identity:
            return False
        await self._replace(client, found, released_spec(found, self._clock.now()))
        self._tell(Role.RELEASED)
        return True

    # -- the Lease

    async def _look(self, client: ApiClient) -> Record | None:
        """The Lease as it is now; None where there is none."""
        try:
            return self._observe(await client.get(self._path))
        except NotFound:
            return None

    def _observe(self, lease: Json) -> Record:
        found = read_record(lease, self.settings.duration_seconds)
        if self._seen is None or found.spec != self._seen.spec:
            # Taken after the answer: whoever wrote this set out to do so before, so its time is over before ours is.
            self._changed_at = self._clock.monotonic()
        self._seen = found
        return found

    async def _take(self, client: ApiClient, record: Record | None) -> None:
        """Make the lease ours over exactly this record; where there is none, only if there still is none."""
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

    async def _replace(self, client: ApiClient, record: Record, spec: Spec) -> None:
        """Write over the version that was read: whoever wrote in between is not overwritten (Conflict)."""
        self._observe(await client.replace(self._path, {**record.lease, "spec": spec}))

    # -- what is told, and when to come again

    @property
    def _attempt_seconds(self) -> float:
        """How long one attempt may take: a request that nobody answers leaves time for another."""
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
        self._tell(self.standing.role, str(error) or "no answer in time")

    def _tell(self, role: Role, problem: str = "") -> None:
        seen = self._seen
        holder, transitions = ("", 0) if seen is None else (seen.holder, seen.transitions)
        standing = CandidateState(role, holder, transitions, problem)
        if standing != self.standing:
            self.standing = standing
            self._told(standing)
