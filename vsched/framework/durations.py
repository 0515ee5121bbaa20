"""Estimates how much longer a pod runs: from its declared duration, the durations of similar pods, and its deadline.

The most specific source wins: the duration that the pod declares, then that of its PodGroup, then the durations of
finished pods: those of the same workload name, of the namespace in the queue, of the queue. A pod that runs already is
compared only with finished pods that ran longer than it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from math import ceil, inf
from typing import NamedTuple

from vsched.model.jobs.durations import Learnt, names_of
from vsched.model.jobs.job import JobSpec
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

SAMPLES_MIN = 3
"""The least number of finished pods for an estimate from their durations."""
EARLY, LATE = 0.1, 0.9
"""Quantiles of the durations: the earliest and the latest expected end."""
LEAVING_SECONDS = 30.0
"""How long a terminating pod takes to end at most: the default grace period of Kubernetes."""


class Basis(StrEnum):
    """The source of an expected end."""

    DECLARED = "declared"
    LEARNT = "learnt"
    LIMIT = "limit"
    """Only ``activeDeadlineSeconds``, or for how long its job may run: the pod may end at any time before."""
    LEAVING = "leaving"
    ASKED = "asked"
    """The pod was asked to end by itself: what its owner expects, and the deadline at the latest."""
    OVERDUE = "overdue"
    """The pod has run longer than it declared, or than any similar pod: it may end at any moment, or late."""
    UNKNOWN = "unknown"


class Left(NamedTuple):
    """How much longer a pod runs, in seconds."""

    least: float
    """Seconds to the earliest end; infinite if unknown."""
    most: float
    """Seconds to the latest end; infinite if unknown."""
    basis: Basis
    whole: float = 0.0
    """The declared duration, seconds; 0 if the estimate has another source."""


NOT_KNOWN = Left(inf, inf, Basis.UNKNOWN)


def left(learnt: Mapping[str, Learnt], spec: JobSpec, task: Task, now: float, longest: float = inf) -> Left:
    """How much longer a pod holds its node, at time ``now``; a pod without a start time counts as started now.

    ``longest`` is for how long its job may run by the policy, seconds.
    """
    if task.asked is not None:
        most = max(0.0, task.asked.deadline - now) + LEAVING_SECONDS
        return Left(max(0.0, task.asked.end - now), most, Basis.ASKED)
    if task.status is Status.RELEASING:
        return Left(0.0, LEAVING_SECONDS, Basis.LEAVING)
    if task.status is Status.UNKNOWN:
        return NOT_KNOWN
    elapsed = max(0.0, now - task.started) if task.started else 0.0
    found = _declared(spec, task, elapsed) or _learnt(learnt, spec, task, elapsed)
    if found is None:
        found = Left(0.0, inf, Basis.OVERDUE) if task.expected or spec.expected else NOT_KNOWN
    limit = min(task.limit or inf, spec.wall_time or inf, longest)
    return found if limit == inf else _limited(found, limit - elapsed)


def quantile(values: Sequence[float], share: float) -> float:
    """A quantile of sorted values, by the nearest-rank method; ``share`` is from 0 to 1."""
    return values[max(0, ceil(share * len(values)) - 1)]


def _declared(spec: JobSpec, task: Task, elapsed: float) -> Left | None:
    whole = task.expected or spec.expected
    rest = whole - elapsed
    return Left(rest, rest, Basis.DECLARED, whole) if rest > 0 else None


def _learnt(learnt: Mapping[str, Learnt], spec: JobSpec, task: Task, elapsed: float) -> Left | None:
    """From the most specific name with enough finished pods; None if there is none."""
    if not learnt or task.endless or task.returns:
        return None
    for name in names_of(spec, task):
        known = learnt.get(name)
        if known is not None and len(known.seconds) >= SAMPLES_MIN:
            longer = [seconds for seconds in known.seconds if seconds > elapsed]
            if not longer:
                return Left(0.0, inf, Basis.OVERDUE)
            return Left(quantile(longer, EARLY) - elapsed, quantile(longer, LATE) - elapsed, Basis.LEARNT)
    return None


def _limited(found: Left, most: float) -> Left:
    """The estimate, cut at the deadline. A deadline long past means that no kubelet enforces it: the pod is overdue."""
    if most < -LEAVING_SECONDS:
        return Left(0.0, inf, Basis.OVERDUE)
    most = max(0.0, most)
    if found.basis is Basis.UNKNOWN:
        return Left(0.0, most, Basis.LIMIT)
    return found._replace(least=min(found.least, most), most=min(found.most, most))
