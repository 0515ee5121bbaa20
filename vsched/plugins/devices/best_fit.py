"""Best fit by amounts of cpu and devices, as the simulator of Weng et al. has it.

A node is as good as little is left of both once the pod is there, as parts of what the largest node has. Scores are
whole numbers, so nodes that differ by less than a hundredth are equal, and the first of them is filled up.
"""

from __future__ import annotations

import numpy as np

from vsched.model.amounts.resources import CPU
from vsched.model.deviceshare.records import WHOLE
from vsched.model.nodes.table import Floats, Ints, NodeTable
from vsched.plugins.devices.free import FreeDevices, SharedDevicesAsked

MAX_SCORE = 100.0


class BestFit:
    """The nodes of one session."""

    def __init__(self, free: FreeDevices, nodes: NodeTable) -> None:
        self._free = free
        self._models = np.zeros(len(nodes), np.int64)
        self._cpu = max(1, int(nodes.allocatable[CPU].max(initial=0)))
        self._thousandths = max(1, int(free.count.max(initial=0)) * WHOLE)

    def scores(self, asked: SharedDevicesAsked, rows: Ints) -> Floats:
        """float64[rows]: 0 to 100. Of nodes without room for the pod, the answer means nothing."""
        free, want = self._free.at(rows, self._models), asked.want
        cpu = (free.others[0] - want.cpu) / self._cpu
        devices = (free.devices.sum(axis=0) - want.number * want.thousandths) / self._thousandths
        found: Floats = np.floor(MAX_SCORE * (1.0 - (cpu * 0.5 + devices * 0.5)))
        return np.clip(found, 0.0, MAX_SCORE)
