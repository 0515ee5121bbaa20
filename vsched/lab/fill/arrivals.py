"""Which pods come in which order, and what is measured as they come. Pure; randomness comes from a seed.

The test is that of Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient
Descent" (USENIX ATC 2023, section 6).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import fmean, pstdev
from typing import Any

from vsched.errors import BadInput
from vsched.lab.fill import words
from vsched.lab.trace.files import WHOLE_GPU, ClusterTrace, TracePod

Document = dict[str, Any]

MOST_ARRIVALS = 1_000_000
FULL = 100
"""Per cent of the cluster's GPUs."""
DIGITS = 4


def gpus_of(trace: ClusterTrace) -> int:
    """Thousandths of all GPUs of a cluster."""
    return WHOLE_GPU * sum(node.gpus for node in trace.nodes)


def arrivals(trace: ClusterTrace, fill: float, seed: int) -> Iterator[TracePod]:
    """The pods of the list in random order, then drawn from it again, until they ask for ``fill`` times all GPUs."""
    wanted, asked = fill * gpus_of(trace), 0
    if not wanted:
        raise BadInput(words.NO_NODE_HAS_GPU)
    if not any(pod.gpus for pod in trace.pods):
        raise BadInput(words.NO_POD_ASKS)
    draw = Random(seed)
    pods = list(trace.pods)
    draw.shuffle(pods)
    for number in range(MOST_ARRIVALS):
        pod = pods[number] if number < len(pods) else draw.choice(trace.pods)
        yield pod
        asked += pod.gpu_amount
        if asked >= wanted:
            return
    raise BadInput(words.asks_for_less(MOST_ARRIVALS, asked / wanted))


@dataclass(slots=True)
class Curve:
    """What is allocated as pods come: at each per cent of the cluster's GPUs that was asked for."""

    capacity: int
    """Thousandths of all GPUs."""
    arrived: int = 0
    allocated: int = 0
    percents: list[float] = field(default_factory=lambda: [0.0])
    """Per cent of all GPUs that were allocated, once so many per cent (the index) had been asked for."""

    def see(self, amount: int, *, placed: bool) -> None:
        """A pod with so many thousandths came."""
        self.arrived += amount
        self.allocated += amount * placed
        share = round(FULL * self.allocated / self.capacity, DIGITS)
        while len(self.percents) * self.capacity <= FULL * self.arrived:
            self.percents.append(share)

    @property
    def allocation_percent(self) -> float:
        """Per cent of all GPUs that are allocated."""
        return round(FULL * self.allocated / self.capacity, DIGITS)


@dataclass(frozen=True, slots=True)
class Filled:
    """The result of one seed."""

    seed: int
    curve: tuple[float, ...]
    """Per cent of all GPUs that are allocated, by per cent that was asked for."""
    gpu_allocation_percent: float
    """At the end."""
    pods: int
    dropped: int
    dropped_with_room: int
    """Of those, how many some node had room for. Others than these did not fit."""

    def document(self) -> Document:
        stranded = {} if len(self.curve) <= FULL else {"stranded_percent": round(FULL - self.curve[FULL], DIGITS)}
        return {
            "seed": self.seed,
            "gpu_allocation_percent": self.gpu_allocation_percent,
            **stranded,
            "pods": self.pods,
            "placed": self.pods - self.dropped,
            "dropped": self.dropped,
            "dropped_with_room": self.dropped_with_room,
            "curve": [*self.curve],
        }


def summary(policy: str, seeds: Sequence[Document]) -> Document:
    """One policy's results over all seeds."""
    found: Document = {"policy": policy, "gpu_allocation_percent": _spread(seeds, "gpu_allocation_percent")}
    if all("stranded_percent" in seed for seed in seeds):
        found["stranded_percent"] = _spread(seeds, "stranded_percent")
    curves = [*zip(*(seed["curve"] for seed in seeds), strict=False)]
    return found | {
        "dropped_with_room": sum(seed["dropped_with_room"] for seed in seeds),
        "seeds": [{name: value for name, value in seed.items() if name != "curve"} for seed in seeds],
        "curve": {
            "arrived_percent": [*range(len(curves))],
            "mean": [round(fmean(values), DIGITS) for values in curves],
            "least": [min(values) for values in curves],
            "most": [max(values) for values in curves],
        },
    }


def _spread(seeds: Sequence[Document], name: str) -> Document:
    values = [seed[name] for seed in seeds]
    return {
        "mean": round(fmean(values), DIGITS),
        "spread": round(pstdev(values), DIGITS),
        "least": min(values),
        "most": max(values),
    }
