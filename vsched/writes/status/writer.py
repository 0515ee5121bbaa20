"""Sends the statuses of one kind, and counts failures by object. PodGroups, Queues and HyperNodes share it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from cachetools import LRUCache

from vsched.api.resources import PODGROUPS
from vsched.errors import VschedError
from vsched.kube.backoff import doubled
from vsched.kube.client import ApiClient
from vsched.kube.paths import ApiResource
from vsched.writes.limits import Attempts
from vsched.writes.writer import NO_ANSWER, Write, Writer, WriteResult


class ServedResources:
    """The names that the API server serves under one group version."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self._names: frozenset[str] | None = None
        self._lock = asyncio.Lock()

    async def has(self, name: str) -> bool:
        """Whether ``name`` (as ``podgroups/status``) is served; raises the client's error where it cannot be asked."""
        if self._names is None:
            async with self._lock:
                if self._names is None:
                    self._names = await self._ask()
        return name in self._names

    def forget(self) -> None:
        """Ask again next time, because an answer did not fit what was known."""
        self._names = None

    async def _ask(self) -> frozenset[str]:
        listed = await self._client.get(PODGROUPS.root)
        return frozenset(str(resource.get("name")) for resource in listed.get("resources") or ())


K = TypeVar("K", bound=Hashable)

FIRST_RETRY_SECONDS = 2.0
REMEMBERED = 50_000
"""Objects whose failures are counted."""

OnStatusWritten = Callable[[str, str, str | None], None]
"""Of each object: kind, key, and the resourceVersion its status was written as, None where it was not."""


class Failures(Generic[K]):
    """Failures in a row by object: the wait before its next write doubles with each, up to the ceiling."""

    def __init__(self, ceiling_seconds: float, first_seconds: float = FIRST_RETRY_SECONDS) -> None:
        self._first_seconds = first_seconds
        self._ceiling_seconds = ceiling_seconds
        self._counts: LRUCache[K, int] = LRUCache(REMEMBERED)

    def count(self, key: K) -> None:
        """A write has failed."""
        self._counts[key] = self._counts.get(key, 0) + 1

    def forget(self, key: K) -> None:
        """Reset the count."""
        self._counts.pop(key, None)

    def wait_seconds(self, key: K, usual_seconds: float = 0.0) -> float:
        """The wait before the next write of an object: as usual, or longer after failures."""
        failures = self._counts.get(key, 0)
        return doubled(self._first_seconds, self._ceiling_seconds, failures) if failures else usual_seconds


class StatusWriter:
    """Sends statuses to the subresource where there is one, with a longer wait after each failure of an object."""

    def __init__(
        self,
        kind: str,
        resource: ApiResource,
        writer: Writer,
        served: ServedResources | None,
        attempts: Attempts,
        ceiling_seconds: float = 0.0,
        on_written: OnStatusWritten = lambda kind, key, version: None,
    ) -> None:
        self._kind = kind
        self._subresource = f"{resource.plural}/status"
        self._writer = writer
        self._served = served
        """None where every definition of the kind has a status subresource."""
        self._attempts = attempts
        self._on_written = on_written
        self._failures: Failures[str] = Failures(ceiling_seconds)

    async def send(self, make: Callable[[bool], Write]) -> WriteResult:
        """Send the write that ``make`` returns; its argument says whether there is a status subresource."""
        try:
            subresource = self._served is None or await self._served.has(self._subresource)
        except VschedError as error:
            return WriteResult(NO_ANSWER, str(error))
        return await self._writer.send(make(subresource), self._attempts)

    def answered(self, key: str, answer: WriteResult) -> None:
        """Count a failure or reset the count, and report the result."""
        if answer.done:
            self.forget(key)
        else:
            if answer.code == 404 and self._served is not None:
                # The object is gone, or its definition has changed under us.
                self._served.forget()
            self._failures.count(key)
        self._on_written(self._kind, key, answer.resource_version)

    def forget(self, key: str) -> None:
        """Reset the count of failures."""
        self._failures.forget(key)

    def wait_seconds(self, key: str, usual_seconds: float = 0.0) -> float:
        """The wait before the next write of an object: as usual, or longer after failures."""
        return self._failures.wait_seconds(key, usual_seconds)
