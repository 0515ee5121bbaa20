"""Says when a Lease becomes free, as soon as the API server tells of it; whoever waits for one looks for itself anyway.

A hint and no more: nobody takes a lease for free because of what is told here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from vsched.kube.client import ApiClient
from vsched.kube.lease.record import LEASES, LeaseSettings
from vsched.kube.watch.deltas import BrokenObject, Delta, Statistics
from vsched.kube.watch.reflector import Reflector


class _Spec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None


class _Lease(msgspec.Struct):
    spec: _Spec | None = None

    @property
    def free(self) -> bool:
        return self.spec is None or not self.spec.holder_identity


class LeaseWatch:
    """Watches one Lease."""

    def __init__(
        self,
        client: ApiClient,
        settings: LeaseSettings,
        on_state: Callable[[Statistics], None] = lambda statistics: None,
    ) -> None:
        self.freed = asyncio.Event()
        """Set whenever the Lease was seen to have no holder, or to be deleted; to be cleared by whoever acts on it."""
        self._reflector = Reflector(
            client,
            LEASES,
            msgspec.json.Decoder(_Lease).decode,
            self,
            namespace=settings.namespace,
            selectors={"fieldSelector": f"metadata.name={settings.name}"},
            on_state=on_state,
        )

    async def run(self) -> None:
        """Watch until cancelled; what goes wrong is waited out."""
        await self._reflector.run()

    def replace(self, items: list[_Lease], resource_version: str) -> None:
        """The Lease as it is listed; where there is none, nobody is hurried: a look will make it."""
        if any(lease.free for lease in items):
            self.freed.set()

    def apply(self, delta: Delta, item: _Lease) -> None:
        """The Lease was changed or deleted."""
        if delta is Delta.DELETED or item.free:
            self.freed.set()

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        """A record that cannot be read is for the next look."""
