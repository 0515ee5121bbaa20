"""How much longer work runs, as far as anybody knows: from what it declares, what its like took, and its limit.

The nearest source goes first: the pod's own declaration, its PodGroup's, then how long finished pods of the same name
ran, of the namespace in the queue, of the queue. What already runs is compared with those alone that ran as long.
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
"""Fewer finished pods of a name than this say nothing."""
EARLY, LATE = 0.1, 0.9
"""Quantiles between which the end is expected."""
LEAVING_SECONDS = 30.0
"""How long pods take that are told to end: Kubernetes' own grace period."""


class Basis(StrEnum):
    """What an expected end rests on."""

    DECLARED = "declared"
    LEARNT = "learnt"
    LIMIT = "limit"
    """``activeDeadlineSeconds`` alone: it may end at any time before."""
    LEAVING = "leaving"
    OVERDUE = "overdue"
    """It has run for longer than it declared, or than any of its like: it may end at any moment, or late."""
    UNKNOWN = "unknown"


class Left(NamedTuple):
    """How much longer a pod runs."""

    least: float
    """Seconds; infinite where nobody knows."""
    most: float
    basis: Basis
    whole: float = 0.0
    """How long it was declared to take, seconds; 0 where it was not."""


NOBODY_KNOWS = Left(inf, inf, Basis.UNKNOWN)


def left(learnt: Mapping[str, Learnt], spec: JobSpec, task: Task, now: float) -> Left:
    """How much longer a pod holds its node; one that has not started yet starts now."""
    if task.status is Status.RELEASING:
        return Left(0.0, LEAVING_SECONDS, Basis.LEAVING)
    if task.status is Status.UNKNOWN:
        return NOBODY_KNOWS
    elapsed = max(0.0, now - task.started) if task.started else 0.0
    found = _declared(spec, task, elapsed) or _learnt(learnt, spec, task, elapsed)
    if found is None:
        found = Left(0.0, inf, Basis.OVERDUE) if task.expected or spec.expected else NOBODY_KNOWS
    return _limited(found, task.limit - elapsed) if task.limit else found


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest of sorted values that is not below this share of them (nearest rank)."""
    return values[max(0, ceil(share * len(values)) - 1)]


def _declared(spec: JobSpec, task: Task, elapsed: float) -> Left | None:
    whole = task.expected or spec.expected
    rest = whole - elapsed
    return Left(rest, rest, Basis.DECLARED, whole) if rest > 0 else None


def _learnt(learnt: Mapping[str, Learnt], spec: JobSpec, task: Task, elapsed: float) -> Left | None:
    """By the nearest name that enough is known of; None where there is none."""
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
    """The same, ended by its limit at the latest; a limit that is long over ends nothing (nobody is there to do it)."""
    if most < -LEAVING_SECONDS:
        return Left(0.0, inf, Basis.OVERDUE)
    most = max(0.0, most)
    if found.basis is Basis.UNKNOWN:
        return Left(0.0, most, Basis.LIMIT)
    return found._replace(least=min(found.least, most), most=min(found.most, most))
