"""Machines for traces that name none: so many of one size, or as many as the pods of the trace need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vsched.lab.trace.files import TraceNode, TracePod
from vsched.lab.trace.measures import Floats, peak

GPUS_OF_A_MACHINE = 8
"""Of the machines where none are given."""
CPU_MILLI, MEMORY_MIB = 64_000, 524_288
"""Of each machine; larger where a pod asks for more."""


@dataclass(frozen=True, slots=True)
class MachineKind:
    """So many machines with so many GPUs each."""

    count: int
    gpus: int


def nodes_of(
    kinds: Sequence[MachineKind], cpu_milli: int = CPU_MILLI, memory_mib: int = MEMORY_MIB
) -> tuple[TraceNode, ...]:
    """The machines of these kinds, numbered through."""
    sizes = [kind.gpus for kind in kinds for _ in range(kind.count)]
    return tuple(TraceNode(f"machine-{at:04}", cpu_milli, memory_mib, gpus) for at, gpus in enumerate(sizes, 1))


def nodes_for(pods: Sequence[TracePod]) -> tuple[TraceNode, ...]:
    """Equal machines, as many as hold these pods at the peak, had each started when it came."""
    gpus = max(GPUS_OF_A_MACHINE, *(pod.gpus for pod in pods)) if any(pod.gpus for pod in pods) else 0
    cpu_milli = max(CPU_MILLI, *(pod.cpu_milli for pod in pods))
    memory_mib = max(MEMORY_MIB, *(pod.memory_mib for pod in pods))
    most = (
        _peak(pods, [pod.cpu_milli / cpu_milli for pod in pods]),
        _peak(pods, [pod.memory_mib / memory_mib for pod in pods]),
        _peak(pods, [pod.gpu_amount / 1000 / max(1, gpus) for pod in pods]),
    )
    return nodes_of([MachineKind(max(1, int(np.ceil(max(most) - 1e-9))), gpus)], cpu_milli, memory_mib)


def _peak(pods: Sequence[TracePod], asked: Sequence[float]) -> float:
    began: Floats = np.array([pod.created for pod in pods], float)
    return peak(began, began + np.array([pod.run_seconds for pod in pods], float), np.array(asked, float))
