"""All claims, volumes and devices of the cluster, as one cycle sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from vsched.model.claims.devices import DeviceClaim, DeviceClass, DevicePool
from vsched.model.claims.volumes import Attachment, CSIDriver, StorageCapacity, StorageClass, Volume, VolumeClaim
from vsched.model.pods.task import Task


@dataclass(frozen=True, slots=True, eq=False)
class ClaimChanges:
    """What changed with the last catalogues of a mirror, by name.

    For devices these are claims (``namespace/name``) whose devices or users changed, or that changed while pods with a
    node use them; for volumes the nodes where something changed.
    """

    mirror: object
    """Stands for the mirror: records of two mirrors say nothing about each other."""
    generation: int
    """Rises by one with each catalogue."""
    steps: tuple[frozenset[str], ...] = ()
    """The names that changed with each of the last generations, the newest last. There are only a few, and after very
    many changes none: a reader that knows an older generation compares everything."""

    def since(self, earlier: ClaimChanges | None) -> frozenset[str] | None:
        """The names that changed since an earlier catalogue; None where this is not known."""
        if earlier is None or earlier.mirror is not self.mirror:
            return None
        missed = self.generation - earlier.generation
        if not 0 <= missed <= len(self.steps):
            return None
        return frozenset().union(*self.steps[len(self.steps) - missed :])


@dataclass(frozen=True, slots=True, eq=False)
class VolumeCatalogue:
    """Volumes and what concerns them. Valid as long as its snapshot; the same object while nothing here changes.

    The next snapshot updates the maps by claim, volume and node in place. The others are new objects when they change.
    """

    claims: Mapping[str, VolumeClaim] = field(default_factory=dict)
    """By ``namespace/name``."""
    volumes: Mapping[str, Volume] = field(default_factory=dict)
    available: Mapping[str, tuple[Volume, ...]] = field(default_factory=dict)
    """By storage class: static volumes that a claim may get, smallest first, then by name. A volume that is reserved
    for a claim that is not bound yet is among them."""
    classes: Mapping[str, StorageClass] = field(default_factory=dict)
    drivers: Mapping[str, CSIDriver] = field(default_factory=dict)
    limits: Mapping[str, Mapping[str, int | None]] = field(default_factory=dict)
    """By node, then by CSI driver that runs there: how many volumes it can attach; None where there is no limit."""
    capacities: Mapping[str, tuple[StorageCapacity, ...]] = field(default_factory=dict)
    """By storage class."""
    attachments: Mapping[str, tuple[Attachment, ...]] = field(default_factory=dict)
    """By node."""
    users: Mapping[str, Mapping[str, Task]] = field(default_factory=dict)
    """By claim (``namespace/name``), then by uid: pods with a node that use it (being bound, running, or leaving)."""
    by_node: Mapping[str, Mapping[str, Task]] = field(default_factory=dict)
    """By node, then by uid: pods there that have volume claims."""
    changes: ClaimChanges | None = None
    """On which nodes pods, their claims, or attachments changed since earlier catalogues of the same mirror; None where
    no mirror made the catalogue."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class DeviceCatalogue:
    """Devices and what concerns them. Valid as long as its snapshot; the same object while nothing here changes.

    The next snapshot updates the maps by claim and pod in place. The others are new objects when they change.
    """

    claims: Mapping[str, DeviceClaim] = field(default_factory=dict)
    """By ``namespace/name``."""
    classes: Mapping[str, DeviceClass] = field(default_factory=dict)
    pools: tuple[DevicePool, ...] = ()
    """Sorted by driver, then by name; the same object while no slice changes."""
    allocated: Mapping[str, DeviceClaim] = field(default_factory=dict)
    """The claims that have devices, by ``namespace/name``."""
    users: Mapping[str, Mapping[str, Task]] = field(default_factory=dict)
    """By claim, then by uid: pods with a node that use it (being bound, running, or leaving)."""
    extended: Mapping[int, str] = field(default_factory=dict)
    """By resource column: the DeviceClass that serves an extended resource on nodes without a device plugin for it. The
    mirror counts the class's devices on such nodes as allocatable amounts of the column."""
    made: Mapping[str, str] = field(default_factory=dict)
    """By uid of a pod: the claim (``namespace/name``) that a scheduler made for its extended resources."""
    plugins: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """By resource column of ``extended``: the nodes whose device plugin offers the resource. There it is an amount like
    any other, and no device is chosen for it."""
    changes: ClaimChanges | None = None
    """Which claims in use, and which entries of ``allocated`` and ``users``, changed since earlier catalogues of the
    same mirror; None where no mirror made the catalogue."""


@dataclass(frozen=True, slots=True, eq=False)
class ClaimCatalogue:
    """What pods can claim."""

    volumes: VolumeCatalogue = VolumeCatalogue()
    devices: DeviceCatalogue = DeviceCatalogue()
    unread: Mapping[str, str] = field(default_factory=dict)
    """By kind of object that cannot be read: why. Pods whose claims need such objects wait."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in it."""
        parts = (self.volumes, self.devices)
        shown = ((part, each.name) for part in parts for each in fields(part) if each.name != "changes")
        return not self.unread and not any(getattr(part, name) for part, name in shown)


NO_CLAIMS = ClaimCatalogue()
"""The catalogue of a cluster whose pods claim nothing."""
