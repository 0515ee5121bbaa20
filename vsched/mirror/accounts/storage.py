"""Storage for arbitration: what PersistentVolumeClaims of each namespace ask for, and how much there is.

An update costs the same however much there is; only ``totals`` walks the storage classes.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from vsched.model.amounts.counted import CLAIMS, STORAGE, Counted, of_class
from vsched.model.claims.volumes import StorageCapacity, StorageClass, Volume, VolumeClaim
from vsched.model.names import shared


class CountedClaim(NamedTuple):
    """What counts of a claim."""

    storage_class: str
    asked: int
    """What it requests, or what is allocated for it while it grows, whichever is more; bytes."""
    leaving: bool


class StorageSize(NamedTuple):
    """A volume, or free capacity."""

    storage_class: str
    size: int
    """Bytes."""


def counted(claim: VolumeClaim) -> CountedClaim:
    """What counts of a claim."""
    return CountedClaim(claim.storage_class, max(claim.request, claim.allocated), claim.deleting)


def size_of(volume: Volume) -> StorageSize | None:
    """What counts of a volume, None where no claim can use it any more."""
    return None if volume.spent else StorageSize(volume.storage_class, volume.capacity)


def left_of(capacity: StorageCapacity) -> StorageSize:
    """Free capacity; 0 where the object does not say."""
    return StorageSize(capacity.storage_class, capacity.capacity or 0)


def is_static(storage_class: StorageClass) -> bool:
    """Whether the class has no provisioner."""
    return not storage_class.provisions


class ClaimSums:
    """The claims of one namespace: sums by counted name, of all claims and of those that are being deleted."""

    __slots__ = ("asked", "claims", "leaving")

    def __init__(self) -> None:
        self.claims: dict[str, CountedClaim] = {}
        self.asked: Counter[str] = Counter()
        self.leaving: Counter[str] = Counter()

    def put(self, key: str, claim: CountedClaim | None) -> CountedClaim | None:
        """Set a claim, None where it is gone; returns the former one."""
        before = self.claims.pop(key, None)
        if before is not None:
            self._book(before, -1)
        if claim is not None:
            self.claims[key] = claim
            self._book(claim, 1)
        return before

    def _book(self, claim: CountedClaim, sign: int) -> None:
        for sums in (self.asked, self.leaving) if claim.leaving else (self.asked,):
            for name, value in _amounts(claim):
                sums[name] += sign * value
                if not sums[name]:
                    del sums[name]


class StorageIndex:
    """Volumes, free capacity, and the storage classes that claims use."""

    def __init__(self) -> None:
        self._static: dict[str, bool] = {}
        """By storage class: whether it has no provisioner."""
        self._volumes: dict[str, StorageSize] = {}
        self._left: dict[str, StorageSize] = {}
        self._used: Counter[str] = Counter()
        """Number of claims by class."""
        self._totals: Counted | None = None

    def __len__(self) -> int:
        return len(self._static) + len(self._volumes) + len(self._left)

    def use(self, before: CountedClaim | None, after: CountedClaim | None) -> None:
        """A claim was added, changed or deleted."""
        classes = len(self._used)
        if after is not None:
            self._used[after.storage_class] += 1
        came = len(self._used) != classes
        if before is not None:
            self._used[before.storage_class] -= 1
            if not self._used[before.storage_class]:
                del self._used[before.storage_class]
        if came or len(self._used) != classes:
            self._totals = None

    def put_volume(self, name: str, volume: StorageSize | None) -> bool:
        """Set a volume, None where it is gone or cannot be used; True where it has changed."""
        return self._put(self._volumes, name, volume)

    def put_left(self, key: str, left: StorageSize | None) -> bool:
        """Set the free capacity in one part of the cluster, None where it is unknown; True where it has changed."""
        return self._put(self._left, key, left)

    def put_class(self, name: str, static: bool | None) -> bool:
        """Set a storage class, None where it is gone; True where it has changed."""
        if self._static.get(name) is static:
            return False
        self._totals = None
        if static is None:
            del self._static[name]
        else:
            self._static[shared(name)] = static
        return True

    def totals(self) -> Counted:
        """The known total by counted name; the same object while nothing changed.

        For a class with CSIStorageCapacities: the free capacity and the volumes. For a class without a provisioner: the
        volumes. The total over all classes is known only if that of every class in use is.
        """
        if self._totals is None:
            self._totals = self._summed()
        return self._totals

    def _summed(self) -> Counted:
        made, left = _by_class(self._volumes), _by_class(self._left)
        static = {name for name, is_static in self._static.items() if is_static}
        if "" in made:
            static.add("")
        known = {name: made.get(name, 0) + left.get(name, 0) for name in sorted(left.keys() | static)}
        totals = {of_class(name, STORAGE): size for name, size in known.items() if name}
        if known and self._used.keys() <= known.keys():
            totals[STORAGE] = sum(known.values())
        return totals

    def _put(self, volumes: dict[str, StorageSize], key: str, volume: StorageSize | None) -> bool:
        if volumes.get(key) == volume:
            return False
        self._totals = None
        if volume is None:
            del volumes[key]
        else:
            volumes[key] = volume
        return True


def _amounts(claim: CountedClaim) -> list[tuple[str, int]]:
    amounts = [(CLAIMS, 1), (STORAGE, claim.asked)]
    if claim.storage_class:
        amounts += [
            (of_class(claim.storage_class, CLAIMS), 1),
            (of_class(claim.storage_class, STORAGE), claim.asked),
        ]
    return [(name, value) for name, value in amounts if value]


def _by_class(volumes: dict[str, StorageSize]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for volume in volumes.values():
        sums[volume.storage_class] = sums.get(volume.storage_class, 0) + volume.size
    return sums
