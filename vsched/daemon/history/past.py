"""The history of the last week from Prometheus, for a daemon that finds none in the cluster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from vsched.clock import Clock
from vsched.collectors.endpoint import Endpoint
from vsched.collectors.past_use import past_history, read_past
from vsched.collectors.source import SourceError
from vsched.daemon.words import files as words
from vsched.kube.client import ApiClient
from vsched.mirror.accounts.history import is_counted
from vsched.mirror.mirror import Mirror
from vsched.model.history.records import RESOURCES_MAX, UsageHistory
from vsched.model.queues.queue import ROOT
from vsched.settings import Settings
from vsched.settings.reach import Reach


class PastOfPrometheus:
    """Asks the Prometheus that the policy names in its ``metrics`` block."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        client: ApiClient,
        reach: Reach,
        mirror: Mirror,
        clock: Clock,
        listed: Callable[[], Awaitable[None]],
    ) -> None:
        """``listed`` waits until the mirror knows the nodes and queues."""
        self._settings = settings
        self._client = client
        self._reach = reach
        self._mirror = mirror
        self._clock = clock
        self._listed = listed

    async def read(self) -> UsageHistory | None:
        """The history, None where Prometheus knows nothing; raises SourceError."""
        source = self._settings().metrics
        if source is None or source.kind != "prometheus":
            raise SourceError(words.NO_PROMETHEUS)
        await self._listed()
        endpoint, now = Endpoint(source, self._client, self._reach), self._clock.now()
        try:
            amounts = await read_past(endpoint, now, source.timeout)
        finally:
            await endpoint.close()
        counted = {name: amount for name, amount in self._mirror.total().items() if amount > 0 and is_counted(name)}
        total = dict(list(counted.items())[:RESOURCES_MAX])
        return past_history(amounts, now, total, {ROOT, *self._mirror.parents_of_queues()})
