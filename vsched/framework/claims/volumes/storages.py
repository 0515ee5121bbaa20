"""The storage classes that a session uses, each read when a claim first asks for it."""

from __future__ import annotations

from collections.abc import Sequence

from vsched.framework.claims.volumes.arranging import Arranged
from vsched.framework.claims.volumes.groups import NONE
from vsched.framework.claims.volumes.storage import ClassStorage
from vsched.framework.claims.volumes.wants import WantedClaim
from vsched.model.claims.catalogue import VolumeCatalogue
from vsched.model.claims.volumes import VolumeClaim
from vsched.model.nodes.table import NodeStatics


class Storages:
    """What a session can get of each storage class."""

    def __init__(self, catalogue: VolumeCatalogue, statics: NodeStatics) -> None:
        self._catalogue = catalogue
        self._statics = statics
        self._found: dict[str, ClassStorage] = {}
        self._being_made: list[VolumeClaim] | None = None

    def of(self, name: str) -> ClassStorage:
        """What can be got of a class that exists."""
        found = self._found.get(name)
        if found is None:
            found = self._found[name] = self._read(name)
        return found

    def are_apart(self, waiting: Sequence[WantedClaim]) -> bool:
        """Whether no two of the claims could get the same volume or the same storage."""
        names = [need.storage_class for one in waiting if (need := one.content.need) is not None]
        return len(names) < 2 or len(set(names)) == len(names) or not any(self.of(name).competes for name in names)

    def used_by(self, waiting: Sequence[WantedClaim]) -> list[ClassStorage]:
        """The storage classes of claims, each once."""
        names = {need.storage_class: None for one in waiting if (need := one.content.need) is not None}
        return [self.of(name) for name in names]

    def shift(self, arranged: Arranged, sign: int) -> None:
        """Take what was chosen for a claim (1), or give it back (-1)."""
        storage = self.of(arranged.storage_class)
        if arranged.volume and storage.static is not None and not arranged.reserved:
            storage.static.shift(arranged.volume, free=sign < 0)
            storage.version += 1
        if arranged.segment != NONE and storage.segments is not None:
            storage.segments.shift(arranged.segment, sign * arranged.request)
            storage.version += 1

    def _read(self, name: str) -> ClassStorage:
        catalogue = self._catalogue
        storage_class = catalogue.classes[name]
        driver = catalogue.drivers.get(storage_class.provisioner)
        tracked = driver is not None and driver.tracks_capacity and storage_class.provisions
        capacities = catalogue.capacities.get(name, ()) if tracked else None
        found = ClassStorage(storage_class, catalogue.available.get(name, ()), capacities, self._statics)
        if tracked:
            if self._being_made is None:
                claims = (one for one in catalogue.claims.values() if one.selected_node and not one.bound)
                self._being_made = sorted(claims, key=lambda one: one.key)
            found.count_made(one for one in self._being_made if one.storage_class == name)
        return found
