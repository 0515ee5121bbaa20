"""Somebody who asks the daemons of a soak all the time, as people do: the page, why jobs wait, dumps."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import count
from random import Random
from typing import Protocol

import orjson

from vsched.errors import VschedError
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient

PAUSE_SECONDS = 0.5
DUMP_EVERY = 30
"""So many rounds of questions between two dumps."""
TIMEOUT_SECONDS = 30.0


class Asked(Protocol):
    """A daemon that answers."""

    @property
    def listening(self) -> Connection:
        """Where."""
        ...


class Reader:
    """Asks each daemon in turn; one that does not answer is passed over, as it may have been killed."""

    def __init__(self, daemons: Sequence[Asked], seed: int) -> None:
        self._daemons = daemons
        self._draw = Random(seed)
        self.answers = 0

    async def run(self) -> None:
        """Ask until cancelled."""
        for number in count(1):
            for daemon in self._daemons:
                try:
                    async with ApiClient(daemon.listening) as client:
                        await self._ask(client, with_dump=number % DUMP_EVERY == 0)
                except VschedError:
                    continue
            await asyncio.sleep(PAUSE_SECONDS)

    async def _ask(self, client: ApiClient, *, with_dump: bool) -> None:
        await self._get(client, "/overview")
        if jobs := sorted(orjson.loads(await self._get(client, "/jobs"))):
            await self._get(client, f"/explain/{self._draw.choice(jobs)}")
        if with_dump:
            await self._get(client, "/dump")

    async def _get(self, client: ApiClient, path: str) -> bytes:
        answer = await client.request("GET", path, attempts=1, timeout_seconds=TIMEOUT_SECONDS)
        self.answers += 1
        return answer.body
