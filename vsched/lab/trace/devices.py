"""Which GPUs of a node its pods use, and how much of the free ones a mix of pods could use.

Where a scheduler sees amounts of a node, this is what the device plugin makes of them. Whole GPUs are whole devices. A
part of a GPU goes to the fullest device with enough room. Amounts are thousandths of a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vsched.errors import VschedError
from vsched.kernels.deviceshare.fragments import DeviceMix, Free, expected_fragments
from vsched.lab.trace import words
from vsched.lab.trace.files import WHOLE_GPU, TraceNode, TracePod

Held = tuple[tuple[int, int], ...]
"""What a pod uses of which device: (number, thousandths)."""


class NodeGpus:
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

    def hold(self, name: str, pod: TracePod, numbers: Sequence[int]) -> None:
        """Give a pod these devices; raises VschedError where they have too little left."""
        known = {number for number in numbers if 0 <= number < len(self.free)}
        if len(numbers) != pod.gpus or len(known) != pod.gpus or any(self.free[at] < pod.gpu_milli for at in known):
            raise VschedError(words.gpus_not_free(name, [*numbers], self.free))
        for number in known:
            self.free[number] -= pod.gpu_milli
        self._held[name] = tuple((number, pod.gpu_milli) for number in sorted(known))
        self._whole += pod.gpus * pod.takes_whole_gpus

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
    """The mix of pods that request GPUs, and what of a node's free GPUs it cannot use (``expected_fragments``)."""

    def __init__(self, pods: Sequence[TracePod]) -> None:
        counts: dict[tuple[int, int, int, int, tuple[str, ...]], int] = {}
        for pod in pods:
            if pod.gpus:
                key = (pod.cpu_milli, pod.memory_mib, pod.gpus, pod.gpu_milli, pod.models)
                counts[key] = counts.get(key, 0) + 1
        columns = np.array([key[:4] for key in counts], np.int64).reshape(-1, 4).T
        self._models = [key[4] for key in counts]
        self._number_of: dict[str, int] = {}
        self._mix = DeviceMix(
            share=np.array([*counts.values()], float) / max(1, sum(counts.values())),
            number=columns[2],
            thousandths=columns[3],
            others=columns[:2],
            accepts=np.zeros((0, len(counts)), np.bool_),
        )

    def fragments(self, node: TraceNode, cpu_milli: int, memory_mib: int, free: Sequence[int]) -> float:
        """Thousandths of a node's free GPUs that the mix cannot use; the arguments are what is free on the node."""
        if not sum(free) or not self._models:
            return float(sum(free))
        others = np.array([[cpu_milli], [memory_mib]], np.int64)
        state = Free(np.array(free, np.int64)[:, None], others, np.array([self._model(node.model)]))
        return float(expected_fragments(self._mix, state)[0])

    def _model(self, name: str) -> int:
        """The number of a model; a new one is added to the mix."""
        found = self._number_of.get(name)
        if found is None:
            found = self._number_of[name] = len(self._number_of)
            accepts = np.array([not models or name in models for models in self._models], np.bool_)
            self._mix = replace(self._mix, accepts=np.vstack([self._mix.accepts, accepts]))
        return found
