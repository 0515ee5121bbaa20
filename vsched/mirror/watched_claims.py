"""Claims and volumes, as snapshots show them and as the watches do, for those who write them."""

from __future__ import annotations

from typing import TypeVar

from vsched.mirror.state.resource_versions import SeenObject
from vsched.mirror.stores import Stores
from vsched.model.claims.devices import DeviceClaim
from vsched.model.claims.volumes import Volume, VolumeClaim

T = TypeVar("T")


class WatchedClaims:
    """What may be read of claims and volumes."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    def watched_claim(self, key: str) -> SeenObject[DeviceClaim] | None:
        """The ResourceClaim of this key (``namespace/name``) as last watched or written.

        None where there is none, or a list is under way.
        """
        return self._watched("ResourceClaim", key, self._stores.claims.devices.watched(key))

    def watched_volume_claim(self, key: str) -> SeenObject[VolumeClaim] | None:
        """The same for a PersistentVolumeClaim."""
        return self._watched("PersistentVolumeClaim", key, self._stores.claims.volumes.watched(key))

    def watched_volume(self, name: str) -> SeenObject[Volume] | None:
        """The same for a PersistentVolume."""
        return self._watched("PersistentVolume", name, self._stores.claims.volumes.watched_volume(name))

    def _watched(self, kind: str, key: str, found: T | None) -> SeenObject[T] | None:
        seen = self._stores.seen[kind]
        version = 0 if seen.is_listing else seen.version(key)
        return SeenObject(found, str(version)) if found is not None and version else None
