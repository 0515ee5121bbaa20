"""What one storage class can give to claims in a session: volumes that exist, and volumes that are made on demand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from vsched.framework.claims.volumes.groups import NONE
from vsched.framework.claims.volumes.segments import Segments, segment_table
from vsched.framework.claims.volumes.static import StaticVolumes, VolumeNeed, volume_table
from vsched.kernels.volumes import NOTHING, terms_mask
from vsched.model.claims.volumes import StorageCapacity, StorageClass, Volume, VolumeClaim
from vsched.model.nodes.table import Ints, Mask, NodeStatics


class ClassStorage:
    """What a session can get of one storage class."""

    def __init__(
        self,
        storage_class: StorageClass,
        volumes: tuple[Volume, ...],
        capacities: tuple[StorageCapacity, ...] | None,
        statics: NodeStatics,
    ) -> None:
        """``capacities`` is None where the driver does not track capacity."""
        name = storage_class.name
        self.name = name
        self._class = storage_class
        self._statics = statics
        self.version = 0
        """Grows with each step that changes what is free."""
        self.static = StaticVolumes(volume_table(name, volumes, statics)) if volumes else None
        self.segments = None if capacities is None else Segments(segment_table(name, capacities, statics))
        self._counted: set[str] = set()
        self._topology: Mask | None = None

    @property
    def provisions(self) -> bool:
        """Whether volumes of the class are made on demand."""
        return bool(self._class.provisioner) and self._class.provisions

    @property
    def competes(self) -> bool:
        """Whether what one claim takes may be what another one needs."""
        return self.static is not None or (self.provisions and self.segments is not None)

    def need(self, claim: VolumeClaim) -> VolumeNeed:
        """What a claim of the class asks for."""
        volume = None if self.static is None else self.static.reserved_for(claim)
        if volume is None:
            return VolumeNeed(
                self.name,
                claim.request,
                claim.modes,
                claim.block,
                claim.selector,
                claim.selected_node,
                claim.attributes_class,
                counted=claim.key in self._counted,
            )
        return VolumeNeed(self.name, claim.request, reserved=volume.name)

    def count_made(self, claims: Iterable[VolumeClaim]) -> None:
        """Take what claims need whose volumes are being made, each on its selected node."""
        for claim in claims:
            row = self._statics.row.get(claim.selected_node)
            if self.segments is not None and row is not None and claim.key not in self._counted:
                segment = self.segments.at(row, claim.request, {})
                if segment != NONE:
                    self.segments.shift(segment, claim.request)
                    self._counted.add(claim.key)

    def topology(self) -> Mask:
        """bool[nodes]: where the class allows volumes to be made."""
        if self._topology is not None:
            return self._topology
        terms = self._class.topologies

        def compute() -> Mask:
            mask = terms_mask(terms or None, self._statics)
            mask.flags.writeable = False
            return mask

        self._topology = self._statics.remember(("allowed topologies", terms), compute)
        return self._topology

    def static_mask(self, need: VolumeNeed) -> Mask | None:
        """bool[nodes]: the nodes where a static volume can be had; None where nowhere."""
        if self.static is None or need.selected_node:
            return None
        mask: Mask = self.static.first(need) != NOTHING
        return mask

    def allowed_mask(self, need: VolumeNeed) -> Mask | None:
        """bool[nodes]: the nodes where a volume may be made, whatever is free; None where nowhere."""
        if not self.provisions:
            return None
        if not need.selected_node:
            return self.topology()
        mask = self._nowhere()
        row = self._statics.row.get(need.selected_node)
        if row is not None:
            mask[row] = self.topology()[row]
        return mask

    def room_mask(self, need: VolumeNeed) -> Mask | None:
        """bool[nodes]: the nodes with enough storage for a new volume; None where the driver does not say."""
        if self.segments is None or need.counted:
            return None
        mask: Mask = self.segments.first(need.request) != NOTHING
        return mask

    def count_static(self, needs: Sequence[VolumeNeed]) -> tuple[Ints, int]:
        """int64[nodes]: how many static volumes each node reaches that suit one of the claims; and how many in all."""
        if self.static is None:
            return np.zeros(len(self._statics), dtype=np.int64), 0
        return self.static.count(needs)

    def can_make(self, need: VolumeNeed, row: int) -> bool:
        """Whether a volume may be made on the node, whatever is free."""
        if not self.provisions or not self.topology()[row]:
            return False
        return not need.selected_node or self._statics.row.get(need.selected_node) == row

    def _nowhere(self) -> Mask:
        return np.zeros(len(self._statics), dtype=np.bool_)
