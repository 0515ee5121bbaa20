"""What is free on the nodes of a fill test, counted apart from the scheduler: by device, as the device plugin would.

A pod that a scheduler places where it does not fit ends the test with an error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vsched.errors import VschedError
from vsched.lab.fill import words
from vsched.lab.trace.files import WHOLE_GPU, ClusterTrace, TraceNode, TracePod


class MachineTable:
    """The nodes of a trace. Amounts are free ones; those of devices are [slot, node], in thousandths."""

    def __init__(self, trace: ClusterTrace) -> None:
        self.nodes: Sequence[TraceNode] = trace.nodes
        self.rows = {node.name: row for row, node in enumerate(trace.nodes)}
        self._cpu = np.array([node.cpu_milli for node in trace.nodes], np.int64)
        self._memory = np.array([node.memory_mib for node in trace.nodes], np.int64)
        self.free = np.zeros((max((node.gpus for node in trace.nodes), default=0), len(trace.nodes)), np.int64)
        for row, node in enumerate(trace.nodes):
            self.free[: node.gpus, row] = WHOLE_GPU
        self._models = np.array([node.model for node in trace.nodes], object)

    def has_room(self, pod: TracePod) -> bool:
        """Whether any node has room for a pod."""
        fits = (self._cpu >= pod.cpu_milli) & (self._memory >= pod.memory_mib)
        if pod.gpus:
            fits &= (self.free >= pod.gpu_milli).sum(axis=0) >= pod.gpus
            if pod.models:
                fits &= np.isin(self._models, pod.models)
        return bool(fits.any())

    def fullest(self, pod: TracePod, node: str) -> tuple[int, ...]:
        """The devices of a node that a pod gets where the scheduler does not say: the fullest that have enough left."""
        free = self.free[:, self.rows[node]]
        slots = sorted((int(left), slot) for slot, left in enumerate(free) if left >= pod.gpu_milli)
        return tuple(slot for _, slot in slots[: pod.gpus])

    def take(self, pod: TracePod, node: str, slots: Sequence[int]) -> None:
        """Give a pod these devices of a node; raises VschedError where it does not fit."""
        row = self.rows[node]
        self._cpu[row] -= pod.cpu_milli
        self._memory[row] -= pod.memory_mib
        for slot in slots:
            self.free[slot, row] -= pod.gpu_milli
        accepted = not pod.models or not pod.gpus or self.nodes[row].model in pod.models
        full = min(self._cpu[row], self._memory[row], *(self.free[slot, row] for slot in slots)) < 0
        if full or not accepted or len(set(slots)) != pod.gpus:
            raise VschedError(words.does_not_fit(pod.name, node))
