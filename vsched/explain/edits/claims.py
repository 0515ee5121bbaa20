"""Edits of devices and volumes."""

from __future__ import annotations

from vsched.explain.edits.base import Before, ClusterEdit
from vsched.explain.words import edits as words
from vsched.explain.words.phrases import claims_text
from vsched.mirror.whatif.nodes import known_node
from vsched.mirror.whatif.records import EditableMirror
from vsched.model.claims.devices import DeviceId


class AddDevices(ClusterEdit, frozen=True, tag="devices"):
    """Add devices to a node, copied from an existing device."""

    node: str
    device_class: str
    """A class that selects them."""
    like: tuple[str, str, str]
    """Driver, pool and name of the device."""
    count: int

    @property
    def nodes_named(self) -> tuple[str, ...]:
        return (self.node,)

    def apply(self, cluster: EditableMirror) -> None:
        known_node(cluster, self.node)
        cluster.add_devices(self.node, DeviceId(*self.like), self.count)

    def sentence(self, before: Before) -> str:
        return words.more_devices(self.count, self.device_class, self.node)


class AddVolumes(ClusterEdit, frozen=True, tag="volumes"):
    """Add static volumes that a claim may get, usable on every node."""

    claim: str
    """``namespace/name``: its class, size and access modes are those of the volumes."""
    count: int

    def apply(self, cluster: EditableMirror) -> None:
        cluster.add_volumes(self.claim, self.count)

    def sentence(self, before: Before) -> str:
        claim = before.snapshot.claims.volumes.claims[self.claim]
        return words.more_volumes(self.count, claim.storage_class, claim.request)


class CreateVolumeClaims(ClusterEdit, frozen=True, tag="createVolumeClaims"):
    """Create PersistentVolumeClaims that pods name and that do not exist, bound to volumes that every node reaches."""

    claims: tuple[str, ...]
    """``namespace/name``."""

    def apply(self, cluster: EditableMirror) -> None:
        cluster.create_volume_claims(self.claims)

    def sentence(self, before: Before) -> str:
        return words.claims_created(claims_text([key.partition("/")[2] for key in self.claims]))


class SetStorage(ClusterEdit, frozen=True, tag="storage"):
    """Set the free storage that a CSIStorageCapacity states."""

    capacity: str
    """``namespace/name``."""
    amount: int
    """Bytes."""

    def apply(self, cluster: EditableMirror) -> None:
        cluster.set_storage(self.capacity, self.amount)

    def sentence(self, before: Before) -> str:
        found = before.snapshot.claims.volumes.capacities.values()
        one = next(each for some in found for each in some if each.key == self.capacity)
        return words.more_storage(self.amount - (one.capacity or 0), one.storage_class, one.key)
