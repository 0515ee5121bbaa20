"""Which resources and subresources the API server serves in Volcano's group: asked once, when first needed.

Some versions of Volcano's definitions have a status subresource and others do not. The path of a write depends on it.
"""

from __future__ import annotations

import asyncio

from vsched.kube.client import ApiClient
from vsched.mirror.resources import PODGROUPS


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
