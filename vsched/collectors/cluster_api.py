"""The common part of the two sources that are APIs of the cluster: requests by its client, each error as one line."""

from __future__ import annotations

from collections.abc import Callable

from vsched.clock import Clock
from vsched.collectors.source import SourceError
from vsched.errors import VschedError
from vsched.kube.client import ApiClient
from vsched.kube.errors import NotFound
from vsched.settings.metrics import MetricsSource


class ClusterApi:
    """A source in an API group that the cluster may serve."""

    def __init__(self, group: str, source: MetricsSource, client: ApiClient, clock: Clock) -> None:
        self._timeout_seconds = source.timeout
        self._client = client
        self._clock = clock
        self._server = client.connection.server
        self.label = f"{group} {self._server}"

    async def close(self) -> None:
        """Nothing to close: the client belongs to the cluster."""

    async def _get(self, path: str, absent: Callable[[str], str]) -> bytes:
        """The body of an answer; raises SourceError, with the text ``absent`` if the path does not exist."""
        try:
            answer = await self._client.request("GET", path, timeout_seconds=self._timeout_seconds, attempts=1)
        except NotFound as error:
            raise SourceError(absent(error.message)) from error
        except VschedError as error:
            raise SourceError(str(error)) from error
        return answer.body
