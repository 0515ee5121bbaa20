"""How many tasks with claims that wait for their first pod could get volumes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vsched.framework.claims.handler import ClaimRoom
from vsched.framework.claims.volumes.arranging import StorageLookup
from vsched.framework.claims.volumes.static import ClaimWish
from vsched.framework.claims.volumes.storage import ClassStorage
from vsched.framework.claims.volumes.wants import WantedClaim
from vsched.framework.claims.volumes.words import NO_STORAGE, NO_VOLUMES
from vsched.framework.codes import Code
from vsched.model.nodes.table import Mask


def rooms(storages: StorageLookup, waiting: Sequence[WantedClaim]) -> list[ClaimRoom]:
    """Upper bounds, one for each storage class that is limited. Each task is taken to have such claims of its own."""
    by_class: dict[str, list[ClaimWish]] = {}
    for one in waiting:
        wish = one.content.wish
        if wish is not None and not wish.reserved and not wish.selected_node:
            by_class.setdefault(wish.storage_class, []).append(wish)
    found = (_room(storages.of(name), wishes) for name, wishes in by_class.items())
    return [room for room in found if room is not None]


def _room(storage: ClassStorage, wishes: Sequence[ClaimWish]) -> ClaimRoom | None:
    if storage.provisions and storage.segments is None:
        return None
    nodes, together = storage.count_static(wishes)
    reason = NO_VOLUMES
    if storage.provisions and storage.segments is not None:
        reason = NO_STORAGE
        made, made_together = storage.segments.count(min(wish.request for wish in wishes))
        allowed: Mask = storage.topology()
        nodes = nodes + np.where(allowed, made, 0)
        together += made_together
    return ClaimRoom(reason, Code.VOLUMES, nodes // len(wishes), together // len(wishes))
