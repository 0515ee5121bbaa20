"""What an API server serves, by one request for all kinds: nobody lists a kind to find out whether it is there.

Servers are asked for the aggregated form, which names every resource. Older ones name groups and versions alone. A
server that does not say leaves it to those who ask to try.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from vsched.clock import Clock, SystemClock
from vsched.errors import UNREADABLE, Unavailable
from vsched.kube.client import ApiClient
from vsched.kube.errors import ApiError
from vsched.kube.paths import ApiResource
from vsched.randomness import uniform

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
TIMEOUT_SECONDS = 5.0


class Served(NamedTuple):
    """What a server serves besides the core group."""

    versions: frozenset[str]
    """As ``apps/v1``."""
    resources: frozenset[str] | None = None
    """As ``apps/v1/deployments``, and ``apps/v1/`` for a version of which not all is known; None: it does not say."""

    def lacks(self, resource: ApiResource) -> str:
        """What of a resource is not served, in words; empty where it is, as far as is known."""
        version = resource.api_version
        if not resource.group:
            return ""
        if version not in self.versions:
            return version
        known = self.resources
        if known is None or f"{version}/" in known or f"{version}/{resource.plural}" in known:
            return ""
        return f"{resource.plural} in {version}"


class _Resource(msgspec.Struct):
    resource: str


class _Version(msgspec.Struct, rename="camel"):
    group_version: str = ""
    version: str = ""
    resources: list[_Resource] = []
    freshness: str = "Current"


class _Metadata(msgspec.Struct):
    name: str = ""


class _Group(msgspec.Struct):
    versions: list[_Version]
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Groups(msgspec.Struct):
    """An APIGroupDiscoveryList (``items``) or an APIGroupList (``groups``), as far as it matters here."""

    items: list[_Group] | None = None
    groups: list[_Group] | None = None


_DECODER = msgspec.json.Decoder(_Groups)


def served_in(body: bytes) -> Served | None:
    """What a list of API groups says; None where it names none. Raises what ``UNREADABLE`` names."""
    found = _DECODER.decode(body)
    if found.items is None:
        plain = frozenset(one.group_version for group in found.groups or () for one in group.versions)
        return Served(plain) if plain else None
    versions, resources = set[str](), set[str]()
    for group in found.items:
        for one in group.versions:
            name = f"{group.metadata.name}/{one.version}"
            versions.add(name)
            resources.update(f"{name}/{each.resource}" for each in one.resources)
            if one.freshness != "Current":  # what serves the group does not answer for now
                resources.add(f"{name}/")
    return Served(frozenset(versions), frozenset(resources)) if versions else None


class Discovery:
    """Asks a server what it serves, once for all who want to know at about the same time."""

    def __init__(self, client: ApiClient, clock: Clock | None = None) -> None:
        self._client = client
        self._clock = clock or SystemClock()
        self._asking = asyncio.Lock()
        self._asked_at = -float("inf")
        self._tag = ""
        self._served: Served | None = None

    async def served(self, age_seconds: float = 0.0) -> Served | None:
        """What the server serves, or served at most so long ago; None where it does not say."""
        async with self._asking:
            if self._clock.monotonic() >= self._asked_at + age_seconds:
                self._served = await self._ask()
                self._asked_at = self._clock.monotonic()
        return self._served

    async def until_served(self, resources: Iterable[ApiResource], seconds: float) -> None:
        """Wait until one of the resources may be served; ask about this often."""
        while True:
            served = await self.served(seconds / 2)
            if served is None or not all(map(served.lacks, resources)):
                return
            await asyncio.sleep(seconds * uniform(0.5, 1.0))

    async def _ask(self) -> Served | None:
        headers = [("Accept", AGGREGATED)]
        if self._tag and self._served is not None:
            headers.append(("If-None-Match", self._tag))
        try:
            answer = await self._client.request(
                "GET", "/apis", headers=headers, timeout_seconds=TIMEOUT_SECONDS, attempts=1
            )
            found = served_in(answer.body)
        except ApiError as error:
            return self._served if error.code == 304 else None
        except (Unavailable, *UNREADABLE):
            return None
        self._tag = answer.headers.get("ETag", "")
        return found
