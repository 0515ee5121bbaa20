"""What a replay comes to by period, a day for example, so that measures of resampled periods can be worked out.

Pure. A measure is a number for the periods of a replay, each of them taken so many times: once each for the measure
itself, and by chance for its interval (bootstrap over periods). Days differ more than the jobs of a day do, so that
jobs are not resampled by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from vsched.lab.trace.accounts import TraceAccounts
from vsched.lab.trace.files import WHOLE_GPU, ClusterTrace, TracePod
from vsched.lab.trace.load import capacity_of
from vsched.lab.trace.measures import Floats, averages, contentment, jain, nearest_rank
from vsched.lab.trace.objects import queue_of

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

DAY_SECONDS = 86_400.0
LEAST_DAYS, PARTS = 4, 8
"""Fewer days are too few to draw from: then the time is cut into so many parts."""
LATE_SECONDS = 600.0
"""A job ended late where it ended later than twice its run time after it came, and more than this later than it could
have."""


@dataclass(frozen=True)
class JobColumns:
    """The jobs that came in the measured time; a row each, in the order of the trace."""

    names: tuple[str, ...]
    """Of their pods in the trace; of gangs, the first one's."""
    period: Ints
    queue: Ints
    """Its place among the queues."""
    gpus: Floats
    """Of all its pods."""
    pods: Ints
    gang: Bools
    """Whether it has several pods that start together."""
    waits: Floats
    """Seconds; one that never started has waited from its arrival to the end of the replay."""
    late: Bools
    started: Bools

    @cached_property
    def by_wait(self) -> Ints:
        """The rows in the order of their waits."""
        return np.argsort(self.waits, kind="stable")


@dataclass(frozen=True)
class Periods:
    """One replay by period; all arrays begin with the periods."""

    seconds: Floats
    queues: tuple[str, ...]
    weights: tuple[float, ...]
    scarcest: str
    in_use: Mapping[str, Floats]
    """By resource: the share of it that is used, times seconds."""
    room: Floats
    """Of the scarcest resource, amount times seconds."""
    held: Floats
    """By queue: of the scarcest resource, amount times seconds."""
    wanted: Floats
    """By queue: what it held and what its waiting pods asked for."""
    lost_gpu_seconds: Floats
    gpu_seconds: Floats
    """What pods held of GPUs."""
    evictions: Ints
    jobs: JobColumns

    @property
    def once(self) -> Floats:
        """Each period once."""
        return np.ones(len(self.seconds))


def periods_of(trace: ClusterTrace, accounts: TraceAccounts, weights: Mapping[str, int], begin: float) -> Periods:
    """A replay of ``trace`` by period; ``begin`` is where its measured time begins, in seconds since the first arrival.

    What happens after the last arrival counts to the last period.
    """
    edges = edges_of(begin, accounts.end)
    held, waiting = accounts.shares.sums(edges)
    lengths = np.diff(edges)
    gpus = capacity_of(trace.nodes)["gpu"] / WHOLE_GPU
    in_use = {
        name: averages(accounts.moments, accounts.series[name], edges) * lengths for name in ("cpu", "memory", "gpu")
    }
    lost, evictions = np.zeros(len(lengths)), np.zeros(len(lengths), np.int64)
    for at, seconds in accounts.losses:
        if at >= begin:
            period = _period(edges, at)
            lost[period] += seconds
            evictions[period] += 1
    return Periods(
        seconds=lengths,
        queues=tuple(weights),
        weights=tuple(float(weight) for weight in weights.values()),
        scarcest=accounts.scarcest,
        in_use=in_use,
        room=lengths * capacity_of(trace.nodes)[accounts.scarcest],
        held=held,
        wanted=held + waiting,
        lost_gpu_seconds=lost,
        gpu_seconds=in_use["gpu"] * gpus,
        evictions=evictions,
        jobs=_jobs(trace, accounts, tuple(weights), begin, edges),
    )


def edges_of(begin: float, end: float) -> Floats:
    """The edges of whole days, the last one longer by what is left; of equal parts where there are few days."""
    days = int((end - begin) // DAY_SECONDS)
    if days < LEAST_DAYS:
        return np.linspace(begin, max(end, begin + 1.0), PARTS + 1)
    return np.array([*(begin + DAY_SECONDS * number for number in range(days)), end])


def _period(edges: Floats, at: float) -> int:
    return int(np.clip(np.searchsorted(edges, at, side="right") - 1, 0, len(edges) - 2))


def _jobs(
    trace: ClusterTrace, accounts: TraceAccounts, queues: tuple[str, ...], begin: float, edges: Floats
) -> JobColumns:
    first, end = trace.pods[0].created, accounts.moments[-1] if accounts.moments else 0.0
    jobs = [pod for pod in trace.pods if pod.is_first_of_job and pod.created - first >= begin]
    came = np.array([pod.created - first for pod in jobs], float)
    started = np.array([pod.name in accounts.waits for pod in jobs], bool)
    waits = np.array([accounts.waits.get(pod.name, end - at) for pod, at in zip(jobs, came.tolist(), strict=True)])
    starts = np.array([accounts.last_starts.get(pod.name, end) for pod in jobs], float)
    runs = np.array([pod.run_seconds for pod in jobs], float)
    place = {name: number for number, name in enumerate(queues)}
    return JobColumns(
        names=tuple(pod.name for pod in jobs),
        period=np.array([_period(edges, at) for at in came.tolist()], np.int64),
        queue=np.array([place[queue_of(pod)] for pod in jobs], np.int64),
        gpus=np.array([_gpus(pod) for pod in jobs], float),
        pods=np.array([1 if pod.gang is None else pod.gang.pods for pod in jobs], np.int64),
        gang=np.array([pod.gang is not None for pod in jobs], bool),
        waits=waits.astype(float),
        late=starts - came > np.maximum(runs, LATE_SECONDS),
        started=started,
    )


def _gpus(pod: TracePod) -> float:
    whole = pod.gpu_amount if pod.gang is None else pod.gang.gpus * pod.gang.gpu_milli
    return whole / WHOLE_GPU


# -- measures ---------------------------------------------------------------------------------------------------------


def wait(found: Periods, times: Floats, percent: float | None, chosen: Bools) -> float:
    """A percentile of the waits of the chosen jobs, or their mean (None), in seconds; 0 for no jobs."""
    weights = times[found.jobs.period] * chosen
    if not weights.any():
        return 0.0
    if percent is None:
        return float(np.average(found.jobs.waits, weights=weights))
    order = found.jobs.by_wait
    return nearest_rank(found.jobs.waits[order], weights[order], percent)


def utilisation(found: Periods, times: Floats, resource: str) -> float:
    """The mean share of a resource in use."""
    return _ratio(times @ found.in_use[resource], times @ found.seconds)


def fairness(found: Periods, times: Floats) -> float:
    """Jain's index of what queues used of what they were entitled to by weight, over all of the time.

    A queue is entitled to no more than it wanted.
    """
    held, wanted = (
        dict(zip(found.queues, (times @ values).tolist(), strict=True)) for values in (found.held, found.wanted)
    )
    weights = dict(zip(found.queues, found.weights, strict=True))
    return jain(contentment(float(times @ found.room), held, wanted, weights))


def lost_gpu_hours(found: Periods, times: Floats) -> float:
    """GPU hours of work that evictions threw away."""
    return float(times @ found.lost_gpu_seconds) / 3600


def lost_share(found: Periods, times: Floats) -> float:
    """The same as a share of all GPU hours that pods held."""
    return _ratio(times @ found.lost_gpu_seconds, times @ found.gpu_seconds)


def ended_late(found: Periods, times: Floats) -> float:
    """The share of jobs that ended late."""
    return _share(found, times, found.jobs.late)


def never_started(found: Periods, times: Floats) -> float:
    """The share of jobs that never started."""
    return _share(found, times, ~found.jobs.started)


def evictions(found: Periods, times: Floats) -> float:
    """How many pods were evicted."""
    return float(times @ found.evictions)


def _share(found: Periods, times: Floats, chosen: Bools) -> float:
    weights = times[found.jobs.period]
    return _ratio(weights @ chosen, weights.sum())


def _ratio(part: Any, whole: Any) -> float:
    """A quotient of sums of numpy's; 0 where there is nothing to divide by."""
    return float(part / whole) if whole else 0.0
