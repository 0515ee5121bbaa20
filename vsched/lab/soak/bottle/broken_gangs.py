"""Gangs with claims that lose a pod: the others wait for ever, and nothing may be kept for them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random

from vsched.lab.claiming import with_claims
from vsched.lab.sender import Obj
from vsched.lab.soak.bottle.misfortunes.tenants import PODGROUPS
from vsched.sim.client import LocalClient
from vsched.sim.fleet.sample_gangs import SHAPES, gang

NAMESPACE = "broken-gangs"
EVERY_SECONDS = 2.0
SIZES, CPUS = (2, 3), "1"
WHOLE_SECONDS = 1.0
"""For how long a gang is whole at most."""
LASTS_SECONDS = 5.0
"""How long its pods run, if it has started by then."""
BACK_SECONDS = 180.0
"""When its user takes it back."""


class BrokenGangs:
    """Users who delete one pod of each of their gangs soon after they have created it."""

    def __init__(self, client: LocalClient, random: Random) -> None:
        self._client, self._random = client, random
        self._number = 0

    def settle_in(self) -> None:
        """Create the namespace."""
        self._client.create("namespaces", {"metadata": {"name": NAMESPACE}})

    async def run(self, stop: asyncio.Event) -> None:
        """Create gangs and break them up until told to stop; those that are there then stay."""
        while not await _is_set(stop, self._random.expovariate(1.0 / EVERY_SECONDS)):
            self._number += 1
            name, size = f"broken-{self._number}", self._random.choice(SIZES)
            request = {"cpu": CPUS, "memory": SHAPES[0]["memory"]}
            for made in gang(name, NAMESPACE, "default", size, request, LASTS_SECONDS):
                if made["kind"] == "Pod":
                    with_claims(made)
                self._create(made)
            loop, lost = asyncio.get_running_loop(), self._random.randrange(size)
            loop.call_later(self._random.uniform(0.0, WHOLE_SECONDS), self._delete, "pods", f"{name}-{lost}")
            loop.call_later(BACK_SECONDS, self._take_back, name, size)

    def _take_back(self, name: str, size: int) -> None:
        for number in range(size):
            self._delete("pods", f"{name}-{number}")
        self._delete(PODGROUPS, name)

    def _create(self, obj: Obj) -> None:
        self._client.create("pods" if obj["kind"] == "Pod" else PODGROUPS, obj)

    def _delete(self, resource: str, name: str) -> None:
        if self._client.get(resource, NAMESPACE, name) is not None:
            self._client.delete(resource, NAMESPACE, name, grace_seconds=0)


async def _is_set(event: asyncio.Event, seconds: float) -> bool:
    """Whether it is set within so long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
