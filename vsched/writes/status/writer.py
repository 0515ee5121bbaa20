"""Sends the statuses of one kind. PodGroups and Queues share it."""

from __future__ import annotations

from collections.abc import Callable

from cachetools import LRUCache

from vsched.errors import VschedError
from vsched.kube.backoff import doubled
from vsched.kube.paths import ApiResource
from vsched.writes.limits import Attempts
from vsched.writes.status.served_resources import ServedResources
from vsched.writes.writer import NO_ANSWER, Write, Writer, WriteResult

FIRST_RETRY_SECONDS = 2.0
REMEMBERED = 50_000
"""Objects whose failures are counted."""

OnStatusWritten = Callable[[str, str, str | None], None]
"""Told of each object: kind, key, and the resourceVersion its status was written as, None where it was not."""


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
        self._ceiling_seconds = ceiling_seconds
        self._on_written = on_written
        self._failures: LRUCache[str, int] = LRUCache(REMEMBERED)

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
            self._failures[key] = self._failures.get(key, 0) + 1
        self._on_written(self._kind, key, answer.resource_version)

    def forget(self, key: str) -> None:
        """Reset the count of failures."""
        self._failures.pop(key, None)

    def wait_seconds(self, key: str, usual_seconds: float) -> float:
        """The wait before the next write of an object: as usual, or longer after failures."""
        failures = self._failures.get(key, 0)
        return doubled(FIRST_RETRY_SECONDS, self._ceiling_seconds, failures) if failures else usual_seconds
