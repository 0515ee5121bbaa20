"""How many tasks with claims that wait for their first pod could get volumes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vsched.framework.claims.handler import ClaimRoom
from vsched.framework.claims.volumes.arranging import StorageLookup
from vsched.framework.claims.volumes.static import VolumeNeed
from vsched.framework.claims.volumes.storage import ClassStorage
from vsched.framework.claims.volumes.wants import WantedClaim
from vsched.framework.codes import Code
from vsched.framework.words.nodes import NO_STORAGE, NO_VOLUMES
from vsched.model.nodes.table import Mask


def rooms(storages: StorageLookup, waiting: Sequence[WantedClaim]) -> list[ClaimRoom]:
    """Upper bounds, one for each storage class that is limited. Each task is taken to have such claims of its own."""
    by_class: dict[str, list[VolumeNeed]] = {}
    for one in waiting:
        need = one.content.need
        if need is not None and not need.reserved and not need.selected_node:
            by_class.setdefault(need.storage_class, []).append(need)
    found = (_room(storages.of(name), needs) for name, needs in by_class.items())
    return [room for room in found if room is not None]


def _room(storage: ClassStorage, needs: Sequence[VolumeNeed]) -> ClaimRoom | None:
    if storage.provisions and storage.segments is None:
        return None
    nodes, together = storage.count_static(needs)
    reason = NO_VOLUMES
    if storage.provisions and storage.segments is not None:
        reason = NO_STORAGE
        made, made_together = storage.segments.count(min(need.request for need in needs))
        allowed: Mask = storage.topology()
        nodes = nodes + np.where(allowed, made, 0)
        together += made_together
    return ClaimRoom(reason, Code.VOLUMES, nodes // len(needs), together // len(needs))
