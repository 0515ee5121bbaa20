"""Killing the leader again and again, and timing how long it takes until another one leads and binds."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from vsched.errors import VschedError
from vsched.kube.client import ApiClient
from vsched.kube.lease.record import LEASES
from vsched.lab.soak import words
from vsched.lab.soak.daemons import POLL_SECONDS, SoakDaemon, leaders_of, until
from vsched.lab.soak.outcomes import SoakOutcomes, Violations

FOLLOWED_SECONDS = 90.0
"""The longest time until another daemon leads, and then until it binds."""
AFTERGLOW_SECONDS = 0.05
"""Requests that a daemon without a Lease has sent are carried out within this time of its end."""
NAMESPACE = "kube-system"
"""Where the Leases are."""


@dataclass(frozen=True, slots=True)
class Killing:
    """How often to kill, how many times at most, and by which signal."""

    every_seconds: float
    most: int | None
    """The soak is over after so many kills."""
    number: signal.Signals


@dataclass(slots=True)
class Kills:
    """The times measured of every kill, in seconds."""

    count: int = 0
    to_lead: list[float] = field(default_factory=list)
    """From a kill until the Lease names another daemon."""
    to_bind: list[float] = field(default_factory=list)
    """From then until the first binding."""
    gap: list[float] = field(default_factory=list)
    """Both together: from a kill to the first binding by another daemon."""


class Killer:
    """Kills the leader of several daemons, or the only one; of several that lead shards, one after the other."""

    def __init__(
        self,
        settings: Killing,
        client: ApiClient,
        outcomes: SoakOutcomes,
        violations: Violations,
        over: asyncio.Event,
        leases: Sequence[str],
    ) -> None:
        """``leases`` are the names of the Leases."""
        self._leases = leases
        self._settings = settings
        self._client = client
        self._outcomes = outcomes
        self._violations = violations
        self._over = over
        self.kills = Kills()

    async def run(self, daemons: list[SoakDaemon]) -> None:
        """Kill until the soak is over; ends the soak after the last kill."""
        while not self._over.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(self._settings.every_seconds):
                    await self._over.wait()
                return
            leaders = await leaders_of(daemons)
            if leaders:
                await self._kill(leaders[self.kills.count % len(leaders)], elected=len(daemons) > 1)
            if self._settings.most is not None and self.kills.count >= self._settings.most:
                self._over.set()

    async def _kill(self, leader: SoakDaemon, *, elected: bool) -> None:
        before, sent = await self._holders(await leader.shards() or (0,)), time.perf_counter()
        self.kills.count += 1
        ended = asyncio.ensure_future(leader.end(self._settings.number))
        if elected:
            led = await self._led_by_another(before)
        else:
            await ended
            led = time.perf_counter() + AFTERGLOW_SECONDS
        await ended
        if led is None:
            self._violations.add("nobody followed", words.nobody_led(FOLLOWED_SECONDS))
            return
        bound = self._first_after(led)
        if not await until(lambda: bound() is not None, FOLLOWED_SECONDS):
            self._violations.add("nobody followed", words.no_binding(FOLLOWED_SECONDS))
            return
        found = bound()
        assert found is not None
        if elected:
            self.kills.to_lead.append(led - sent)
            self.kills.to_bind.append(found - led)
        self.kills.gap.append(found - sent)

    async def _led_by_another(self, before: Mapping[int, str]) -> float | None:
        """When the Leases first all named other daemons; None where they do not in time."""
        deadline = time.perf_counter() + FOLLOWED_SECONDS
        while time.perf_counter() < deadline:
            now = await self._holders(before)
            if all(now[shard] not in ("", holder) for shard, holder in before.items()):
                return time.perf_counter()
            await asyncio.sleep(POLL_SECONDS / 5)
        return None

    async def _holders(self, shards: Iterable[int]) -> dict[int, str]:
        """The holders of the Leases of these shards; empty for none."""
        return {shard: await self._holder(self._leases[shard]) for shard in shards}

    async def _holder(self, name: str) -> str:
        try:
            lease = await self._client.get(LEASES.path(NAMESPACE, name))
        except VschedError:
            return ""
        return str(lease.get("spec", {}).get("holderIdentity") or "")

    def _first_after(self, moment: float) -> Callable[[], float | None]:
        """A function that returns when a pod was first bound after this moment; None before."""
        return lambda: next((bound for bound in self._outcomes.recent if bound > moment), None)
