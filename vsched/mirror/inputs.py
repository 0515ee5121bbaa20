"""What others work out for snapshots, besides what the watches show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vsched.mirror.events import MirrorEvents
from vsched.mirror.stores import Stores
from vsched.model.arbitration.records import Ceiling, PoolLimits
from vsched.model.deviceshare.geometries import Divisions
from vsched.model.jobs.advice import Advice
from vsched.model.jobs.provisioning import Provisioning
from vsched.model.nodes.masks import NodeMask
from vsched.model.nodes.pools import NodePool
from vsched.model.nodes.usage import Reading


class SnapshotInputs:
    """The latest of each; it holds for snapshots from now on."""

    def __init__(self, stores: Stores, events: MirrorEvents) -> None:
        self._stores = stores
        self._events = events
        self.ceilings: Mapping[str, Ceiling] = {}
        self.pools: Mapping[str, PoolLimits] = {}
        self.advice: Mapping[str, Advice] = {}
        self.provisioning: Mapping[str, Provisioning] | None = None
        self.node_pools: Mapping[str, NodePool] = {}
        self.masks: Sequence[NodeMask] = ()

    def use(self, reading: Reading | None) -> None:
        """Set the measured usage of nodes; None where it is not collected."""
        self._stores.nodes.use(reading)
        self._events.on_change()

    def use_divisions(self, divisions: Divisions) -> bool:
        """Take over how shared devices may be divided; True where that has changed."""
        if not self._stores.device_shares.use(divisions):
            return False
        self._events.on_change()
        return True

    def set_ceilings(self, ceilings: Mapping[str, Ceiling], pools: Mapping[str, PoolLimits]) -> None:
        """Set the limits of namespaces, each and together."""
        self.ceilings, self.pools = ceilings, pools

    def advise(self, advice: Mapping[str, Advice]) -> None:
        """Set the advice for waiting jobs."""
        self.advice = advice

    def provision(self, found: Mapping[str, Provisioning] | None) -> None:
        """Set the ProvisioningRequests of gangs; None where none are made."""
        if found != self.provisioning:
            self.provisioning = found
            self._events.on_change()

    def offer(self, found: Mapping[str, NodePool]) -> None:
        """Set Karpenter's NodePools."""
        self.node_pools = found

    def mask(self, masks: Sequence[NodeMask]) -> None:
        """Set which nodes are ours."""
        if tuple(masks) != tuple(self.masks):
            self.masks = tuple(masks)
            self._events.on_change()
