"""Claims as snapshots show them: as watched, without what is being taken back from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from vsched.mirror.state.claims.staged import StagedMap, Staging
from vsched.model.claims.devices import DeviceClaim
from vsched.model.claims.volumes import VolumeClaim

C = TypeVar("C", bound=VolumeClaim | DeviceClaim)


class ShownClaims(ABC, Generic[C]):
    """Claims of one kind by key; what else is assumed of them is the business of the kind."""

    def __init__(self, stage: Staging) -> None:
        self.claims: StagedMap[C] = StagedMap(stage)
        self._watched: dict[str, C] = {}
        """Claims as watched, where snapshots show them differently."""
        self._released: set[str] = set()
        """Claims whose devices, or whose selected node, are being taken back."""

    def watched(self, key: str) -> C | None:
        """A claim as watched, None where there is none."""
        return self._watched.get(key) or self.claims.get(key)

    def release(self, key: str, uid: str) -> None:
        """Assume that devices or a selected node are taken back. Devices stay taken until the watch shows it."""
        watched = self.watched(key)
        if watched is not None and watched.uid == uid:
            self._released.add(key)
            self._show(key, watched)

    def release_failed(self, key: str) -> bool:
        """They could not be taken back; True where that was assumed."""
        if key not in self._released:
            return False
        self._released.discard(key)
        self._show(key, self.watched(key))
        return True

    @abstractmethod
    def _show(self, key: str, watched: C | None) -> bool:
        """Show a claim, which the watch has as ``watched``; True where it changes."""
