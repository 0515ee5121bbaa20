"""Which GPUs of a node its pods use, and how much of the free ones a mix of pods could use.

Schedulers see amounts of a node; this is what the device plugin makes of them. Whole GPUs are whole devices. A part of
a GPU goes to the fullest device with enough room. Amounts are thousandths of a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from vsched.lab.trace.files import WHOLE_GPU, TraceNode, TracePod

Held = tuple[tuple[int, int], ...]
"""What a pod uses of which device: (number, thousandths)."""


class Devices:
    """The GPUs of one node."""

    __slots__ = ("_held", "_whole", "free")

    def __init__(self, count: int) -> None:
        self.free = [WHOLE_GPU] * count
        """The free part of each device."""
        self._held: dict[str, Held] = {}
        self._whole = 0
        """Devices that a pod has for itself."""

    @property
    def offered(self) -> int:
        """Devices that whole-GPU pods may use, including those they do use: all without a part in use."""
        return self._whole + self.free.count(WHOLE_GPU)

    @property
    def largest_free(self) -> int:
        """The free part of the device with the most left."""
        return max(self.free, default=0)

    def take(self, name: str, pod: TracePod) -> bool:
        """Give a pod its devices; False where a part had to be split over more devices than the pod asked for."""
        parts: list[tuple[int, int]] = []
        wanted = [pod.gpu_milli] * pod.gpus
        for milli in wanted:
            taken = {number for number, _ in parts}
            rooms = [(free, number) for number, free in enumerate(self.free) if free >= milli and number not in taken]
            if rooms:
                number = min(rooms)[1]
                parts.append((number, milli))
                self.free[number] -= milli
            else:
                parts += self._pieces(milli)
        self._held[name] = tuple(parts)
        self._whole += pod.gpus * pod.takes_whole_gpus
        return len(parts) == len(wanted)

    def _pieces(self, milli: int) -> list[tuple[int, int]]:
        """An amount out of several devices, the emptiest first."""
        parts = []
        for number in sorted(range(len(self.free)), key=lambda number: (-self.free[number], number)):
            piece = min(milli, self.free[number])
            if piece:
                parts.append((number, piece))
                self.free[number] -= piece
                milli -= piece
        assert not milli, "a node takes no more than it has"
        return parts

    def give_back(self, name: str, pod: TracePod) -> None:
        """Free the devices of a pod."""
        for number, milli in self._held.pop(name):
            self.free[number] += milli
        self._whole -= pod.gpus * pod.takes_whole_gpus


class TypicalPods:
    """The mix of pods that request GPUs, and what of a node's free GPUs it cannot use.

    The measure is that of Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
    Gradient Descent" (USENIX ATC 2023, section 3). For a pod that does not fit a node, all its free GPUs are fragments;
    for one that fits, the devices with too little left for one of its GPUs. The fragments of a node are the expected
    value for a pod drawn from the mix. Here, pods without GPUs are not in the mix.
    """

    def __init__(self, pods: Sequence[TracePod]) -> None:
        counts: dict[tuple[int, int, int, int, tuple[str, ...]], int] = {}
        for pod in pods:
            if pod.gpus:
                key = (pod.cpu_milli, pod.memory_mib, pod.gpus, pod.gpu_milli, pod.models)
                counts[key] = counts.get(key, 0) + 1
        self._share = np.array([*counts.values()], float) / max(1, sum(counts.values()))
        columns = np.array([key[:4] for key in counts], np.int64).reshape(-1, 4).T
        self._cpu, self._memory, self._gpus, self._milli = columns
        self._models = [key[4] for key in counts]
        self._fitting: dict[str, npt.NDArray[np.bool_]] = {}

    def fragments(self, node: TraceNode, cpu_milli: int, memory_mib: int, free: Sequence[int]) -> float:
        """Thousandths of a node's free GPUs that the mix cannot use; the arguments are what is free on the node."""
        total = sum(free)
        if not total or not self._share.size:
            return float(total)
        left = np.array(free)
        enough = left[:, None] >= self._milli
        fits = (
            self._suits(node.model)
            & (self._cpu <= cpu_milli)
            & (self._memory <= memory_mib)
            & (enough.sum(0) >= self._gpus)
        )
        lost = np.where(fits, (~enough * left[:, None]).sum(0), total)
        return float(self._share @ lost)

    def _suits(self, model: str) -> npt.NDArray[np.bool_]:
        """Which pods accept GPUs of a model."""
        found = self._fitting.get(model)
        if found is None:
            found = np.array([not models or model in models for models in self._models], bool)
            self._fitting[model] = found
        return found
