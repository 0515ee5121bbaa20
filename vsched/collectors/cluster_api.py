"""What the two sources that are APIs of the cluster share: requests by its client, and the numbers they write."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from math import nan

from vsched.clock import Clock
from vsched.collectors.source import SourceError
from vsched.errors import BadQuantity, VschedError
from vsched.kube.client import ApiClient
from vsched.kube.errors import NotFound
from vsched.model.amounts.quantity import parse_quantity
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


_FINE = 10**9
"""Quantities are read to the nano."""
_LONGEST = 100
"""Letters of what can be meant as a quantity: Python reads no numbers of thousands of digits."""
_USUAL = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "Ki": 1024.0}
"""The suffixes that measured quantities come with. They are all different, so remembering them is of no use."""


def number_of(text: str) -> float:
    """A quantity as a number: ``300m`` is 0.3."""
    if len(text) > _LONGEST:
        return nan
    digits = text.rstrip("numKi")
    scale = _USUAL.get(text[len(digits) :])
    if scale is not None and digits.isdecimal():
        return int(digits) * scale
    try:
        return parse_quantity(text, _FINE) / _FINE
    except BadQuantity:
        return nan


def moment(text: str) -> float:
    """A time as Kubernetes writes it, in seconds since the epoch."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return nan
    return found.replace(tzinfo=found.tzinfo or UTC).timestamp()
