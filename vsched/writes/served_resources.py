"""Which subresources the API server serves for the batch kinds: asked once, when first needed.

Volcano's definitions have had a status subresource in some versions and not in others; the path of a write follows.
"""

from __future__ import annotations

import asyncio

from vsched.kube.client import ApiClient
from vsched.mirror.resources import PODGROUPS


class Served:
    """The answer of the API server to what it serves under the batch group."""

    def __init__(self, client: ApiClient, path: str = PODGROUPS.root) -> None:
        self._client = client
        self._path = path
        self._names: frozenset[str] | None = None
        self._lock = asyncio.Lock()

    async def has(self, name: str) -> bool:
        """Whether ``name`` (as ``podgroups/status``) is served; raises what the client raises while nobody knows."""
        if self._names is None:
            async with self._lock:
                if self._names is None:
                    self._names = await self._ask()
        return name in self._names

    def forget(self) -> None:
        """Ask again next time: an answer did not fit what was known."""
        self._names = None

    async def _ask(self) -> frozenset[str]:
        listed = await self._client.get(self._path)
        return frozenset(str(resource.get("name")) for resource in listed.get("resources") or ())
