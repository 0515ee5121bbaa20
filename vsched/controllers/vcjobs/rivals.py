"""Whether Volcano's own controllers run: then they look after vcjobs, and this process stands back.

Two things tell: their Lease is being renewed (``vc-controller-manager``, where they elect a leader), or a pod of theirs
is there (label ``app: volcano-controller``, as Volcano's chart has it).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import msgspec

from vsched import api
from vsched.clock import Clock
from vsched.controllers.vcjobs import words
from vsched.controllers.vcjobs.counts import ENDED
from vsched.errors import VschedError
from vsched.kube.client import ApiClient
from vsched.kube.errors import Forbidden, NotFound, Unauthorized
from vsched.kube.lease.record import LEASES, LeaseRecord, read_record

VOLCANO_NAMESPACE = "volcano-system"
VOLCANO_LEASE = "vc-controller-manager"
VOLCANO_LABEL, VOLCANO_CONTROLLER = "app", "volcano-controller"

Say = Callable[..., None]
"""Logs a sentence, with fields."""


class RivalSettings(msgspec.Struct, frozen=True):
    """How Volcano's Lease is looked at."""

    namespace: str = VOLCANO_NAMESPACE
    """Where Volcano runs; empty to look for it nowhere."""
    reads_lease: bool = True
    """False for a process that runs no vcjobs: it sees the pods of Volcano's controllers alone."""
    period_seconds: float = 10.0
    duration_seconds: float = 15.0
    """How long a Lease lasts that does not say it."""
    fresh_seconds: float = 1.0
    """The Lease is read again before something is done about a vcjob, unless it was read so short a time ago."""


class VolcanoControllers:
    """Keeps looking for Volcano's controllers."""

    def __init__(
        self,
        client: ApiClient,
        pods: set[str],
        clock: Clock,
        on_change: Callable[[], None],
        say: Say,
        settings: RivalSettings | None = None,
    ) -> None:
        """``pods`` are the keys of those in which Volcano's controllers run; somebody else keeps them."""
        self._client = client
        self._pods = pods
        self._clock = clock
        self._on_change = on_change
        self._say = say
        self._settings = settings or RivalSettings()
        self._lease: LeaseRecord | None = None
        self._changed_at = 0.0
        """When the Lease was seen to change, by the monotonic clock: clocks of machines differ."""
        self._holder = ""
        """Who held the Lease when it was read last; empty for nobody. Time alone does not end it: a reading does."""
        self._read_at = -float("inf")
        self._reading = asyncio.Lock()
        self._looked = not self._settings.namespace or not self._settings.reads_lease
        self.unreadable = ""
        """Why the Lease may not be read, in words; empty where it may."""
        self._told: str | None = None

    @property
    def problem(self) -> str:
        """Why this process stands back, in words; empty where it does not."""
        if not self._looked:
            return words.not_yet_looked(self._settings.namespace)
        return self.present

    @property
    def present(self) -> str:
        """Which of Volcano's controllers are known to run, in words; empty for none.

        A process that does not act sees their pods, and not their Lease.
        """
        if self._pods:
            return words.rival_pod(min(self._pods))
        if self._holder:
            where = f"{self._settings.namespace}/{VOLCANO_LEASE}"
            return words.rival_lease(self._holder, where)
        return ""

    async def look_first(self) -> str:
        """Why this process stands back, by a Lease that was read just now. Raises where nobody answers."""
        if self._settings.namespace and not self.problem:
            async with self._reading:
                if self._clock.monotonic() >= self._read_at + self._settings.fresh_seconds:
                    await self._read_lease()
        self.tell()
        return self.problem

    async def run(self) -> None:
        """Look again and again, and say what has changed."""
        while True:
            await self.look()
            await asyncio.sleep(self._settings.period_seconds)

    async def look(self) -> None:
        """Look once, and say what has changed. Where nobody answers, what was known stays."""
        if self._settings.namespace:
            with suppress(VschedError):
                await self._read_lease()
        self.tell()

    def tell(self) -> None:
        """Say what has changed since the last time."""
        problem = self.problem
        stands_back, stood_back = bool(problem), bool(self._told)
        if self._looked and (self._told is None or stands_back != stood_back):
            if problem:
                self._say(words.VCJOBS_NOT_MANAGED, problem=problem)
            elif stood_back:
                self._say(words.VCJOBS_MANAGED_AGAIN, problem=words.RIVALS_GONE)
            self._told = problem
            self._on_change()

    async def _read_lease(self) -> None:
        """Read the Lease; raises where the API server says nothing about it."""
        began = self._clock.monotonic()
        refused = ""
        try:
            found = await self._client.get(LEASES.path(self._settings.namespace, VOLCANO_LEASE))
        except NotFound:
            self._lease, self._holder = None, ""
        except (Forbidden, Unauthorized) as error:
            refused = error.message
        else:
            self._note(read_record(found, self._settings.duration_seconds))
        self._looked, self._read_at = True, began
        if refused and not self.unreadable:
            self._say(words.LEASE_CANNOT_BE_READ, problem=refused)
        self.unreadable = refused

    def _note(self, lease: LeaseRecord) -> None:
        """The Lease is held until it was seen unchanged for its duration."""
        now = self._clock.monotonic()
        if self._lease is None or lease.spec != self._lease.spec:
            self._changed_at = now
        self._lease = lease
        self._holder = lease.holder if now < self._changed_at + lease.duration_seconds else ""


def is_volcano_controller(item: api.Object, namespace: str) -> bool:
    """Whether Volcano's controllers run in this pod, or are about to."""
    metadata = item.metadata
    return (
        isinstance(item, api.Pod)
        and bool(namespace)
        and metadata.namespace == namespace
        and (metadata.labels or {}).get(VOLCANO_LABEL) == VOLCANO_CONTROLLER
        and item.status.phase not in ENDED
    )
