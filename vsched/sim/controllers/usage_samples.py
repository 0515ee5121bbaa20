"""Samples of what pods and nodes use over a window, their sums and averages. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.times import parse_time
from vsched.sim.controllers.pod_usage import PlacedUsage, capacity_of, node_load

Floats = npt.NDArray[np.float64]

SAMPLES = 30
"""Samples of a window; for five minutes, one every ten seconds."""


def window(now: float, seconds: float, began: float) -> Floats:
    """float64[SAMPLES]: the times of the samples of a window that ends now, and begins at ``began`` or later."""
    start = max(now - seconds, min(began, now))
    times: Floats = np.asarray(start + (np.arange(SAMPLES) + 0.5) * ((now - start) / SAMPLES), np.float64)
    return times


def sums(
    stays: Sequence[PlacedUsage], groups: Sequence[int], count: int, times: Floats, cycle_seconds: float
) -> tuple[Floats, Floats]:
    """float64[times, groups] of cores and of bytes that each group used at each time; ``groups`` has one a stay."""
    rows = chain.from_iterable((stay.began, stay.ended, *stay.load) for stay in stays)
    began, ended, cpu, memory, swing, phase = np.fromiter(rows, float).reshape(-1, 6).T.copy()
    place = np.array(groups, int)
    cores, held = np.zeros((len(times), count)), np.zeros((len(times), count))
    for at, time in enumerate(times):
        there = (began <= time) & (time < ended)
        moved = cpu * (1.0 + swing * np.sin(2.0 * math.pi * (time / cycle_seconds + phase)))
        cores[at] = np.bincount(place, np.where(there, moved, 0.0), count)
        held[at] = np.bincount(place, np.where(there, memory, 0.0), count)
    return cores, held


def of_nodes(nodes: Sequence[Obj], times: Floats, cores: Floats, held: Floats) -> list[list[float]]:
    """The figures of each node from samples, limited by its capacity: the fields of ``Measured``."""
    capacity = [capacity_of(node) for node in nodes]
    outside = [node_load(node, has) for node, has in zip(nodes, capacity, strict=True)]
    came = [parse_time(node["metadata"]["creationTimestamp"]).timestamp() for node in nodes]
    there = times[:, None] >= np.array(came)
    there[-1] = True  # a node that is newer than the last sample has that one
    figures = []
    for name, samples in (("cpu", cores), ("memory", held)):
        whole = np.array([has[name] for has in capacity])
        used = np.minimum(samples + np.array([getattr(load, name) for load in outside]), whole)
        mean = np.sum(used * there, axis=0) / there.sum(axis=0)
        spread = np.sqrt(np.sum((used - mean) ** 2 * there, axis=0) / there.sum(axis=0))
        units = np.where(whole > 0, whole, np.inf)
        figures.append((mean, mean / units, spread / units))
    (cpu, cpu_share, cpu_spread), (memory, memory_share, memory_spread) = figures
    rows: list[list[float]] = np.array([cpu, memory, cpu_share, memory_share, cpu_spread, memory_spread]).T.tolist()
    return rows
