"""A watch that notices when a Lease becomes free, so that a candidate can try at once instead of at its next retry.

It is only a hint: the candidate always reads the Lease itself before it takes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from vsched.kube.client import ApiClient
from vsched.kube.lease.record import LEASES, LeaseSettings
from vsched.kube.watch.deltas import BrokenObject, Delta, Statistics
from vsched.kube.watch.reflector import Reflector, WatchedKind


class _Spec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None


class _Metadata(msgspec.Struct):
    annotations: dict[str, str] | None = None


class _Lease(msgspec.Struct):
    spec: _Spec | None = None
    metadata: _Metadata | None = None

    @property
    def notes(self) -> dict[str, str]:
        return (self.metadata.annotations if self.metadata is not None else None) or {}

    @property
    def free(self) -> bool:
        return self.spec is None or not self.spec.holder_identity


class LeaseWatch:
    """Watches one Lease."""

    def __init__(
        self,
        client: ApiClient,
        settings: LeaseSettings,
        on_state: Callable[[Statistics], None],
    ) -> None:
        self.freed = asyncio.Event()
        """Set when the Lease has no holder or is deleted, or has other annotations; the reader clears it."""
        self._notes: dict[str, str] = {}
        self._reflector = Reflector(
            client,
            WatchedKind(
                LEASES,
                msgspec.json.Decoder(_Lease).decode,
                namespace=settings.namespace,
                selectors={"fieldSelector": f"metadata.name={settings.name}"},
            ),
            self,
            on_state=on_state,
        )

    async def run(self) -> None:
        """Watch until cancelled; after errors it waits and tries again."""
        await self._reflector.run()

    def replace(self, items: list[_Lease], resource_version: str) -> None:
        """The listed Lease; if it does not exist, nothing is set, and the next regular attempt creates it."""
        if any(lease.free or lease.notes != self._notes for lease in items):
            self.freed.set()
        self._notes = next((lease.notes for lease in items), {})

    def apply(self, delta: Delta, item: _Lease) -> None:
        """The Lease was changed or deleted."""
        if delta is Delta.DELETED or item.free or item.notes != self._notes:
            self.freed.set()
        self._notes = item.notes

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        """A Lease that cannot be decoded is ignored: the next regular attempt reads it."""
