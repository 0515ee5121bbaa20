"""The stores that count what pods use: nodes, claims, zones, shared devices, and namespaces for arbitration."""

from __future__ import annotations

from typing import NamedTuple

from vsched.mirror.accounts.namespaces import NamespaceAccounts
from vsched.mirror.state.claims.store import ClaimStore
from vsched.mirror.state.deviceshare import DeviceShareStore
from vsched.mirror.state.nodes import NodeStore
from vsched.mirror.state.zones import ZoneStore
from vsched.model.pods.task import Task


class PodUses(NamedTuple):
    """All that a pod takes from, by what it takes."""

    nodes: NodeStore
    claims: ClaimStore
    zones: ZoneStore
    device_shares: DeviceShareStore
    accounts: NamespaceAccounts | None
    """None where nobody arbitrates."""

    def move(self, before: Task | None, task: Task) -> None:
        """A pod has come, or has changed."""
        self.nodes.move(before, task)
        if task.claims is not None or (before is not None and before.claims is not None):
            self.claims.move(before, task)
        if task.shape.zones is not None or (before is not None and before.shape.zones is not None):
            self.zones.move(before, task)
        if task.shape.devices is not None or (before is not None and before.shape.devices is not None):
            self.device_shares.move(before, task)
        if self.accounts is not None:
            self.accounts.move(before, task)

    def drop(self, task: Task) -> None:
        """A pod is gone."""
        self.nodes.move(task, None)
        self.claims.move(task, None)
        self.claims.forget(task.uid)
        self.zones.move(task, None)
        self.device_shares.move(task, None)
        if self.accounts is not None:
            self.accounts.move(task, None)
