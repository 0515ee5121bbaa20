"""Estimates how much longer a pod runs: from its declared duration, the durations of similar pods, and its deadline.

The most specific source wins: the duration that the pod declares, then that of its PodGroup, then the durations of
finished pods: those of the same workload name, of the namespace in the queue, of the queue. A pod that runs already is
compared only with finished pods that ran longer than it has.

A declared duration counts for what such declarations were worth: how many times as long as declared finished pods took,
of the nearest of these names, or of the whole cluster. D. Tsafrir, Y. Etsion and D. Feitelson predict run times from
the last ones of the same user, too: "Backfilling Using System-Generated Predictions Rather than User Runtime Estimates"
(2007).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from enum import StrEnum
from math import inf
from typing import NamedTuple

from vsched.model.jobs.durations import Learnt, names_of
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

SAMPLES_MIN = 3
"""The least number of finished pods for an estimate from their durations."""
WORTH_MIN = 8
"""The least number of finished pods for what declared durations are worth: with a third overrun, so few show it."""
SMALL_SAMPLE = 4
"""With so many samples, gaps count twice; with more, less."""
UNPROVEN = (1.0, 2.0)
"""What declared durations are taken to be worth before: as declared at the earliest, twice that at the latest."""
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


class TimeLeft(NamedTuple):
    """How much longer a pod runs, in seconds."""

    least: float
    """Seconds to the earliest end; infinite if unknown."""
    most: float
    """Seconds to the latest end; infinite if unknown."""
    basis: Basis
    whole: float = 0.0
    """The declared duration, seconds; 0 if the estimate has another source."""
    worth: tuple[float, float] = (1.0, 1.0)
    """How many times the declared duration it takes at least and at most."""
    proven: bool = True
    """Whether enough work that declared its duration has finished to say so."""


NOT_KNOWN = TimeLeft(inf, inf, Basis.UNKNOWN)


def left(learnt: Mapping[str, Learnt], spec: JobSpec, task: Task, now: float, longest: float = inf) -> TimeLeft:
    """How much longer a pod holds its node, at time ``now``; a pod without a start time counts as started now.

    ``longest`` is for how long its job may run by the policy, seconds.
    """
    if task.asked is not None:
        most = max(0.0, task.asked.deadline - now) + LEAVING_SECONDS
        return TimeLeft(max(0.0, task.asked.end - now), most, Basis.ASKED)
    if task.status is Status.RELEASING:
        return TimeLeft(0.0, LEAVING_SECONDS, Basis.LEAVING)
    if task.status is Status.UNKNOWN:
        return NOT_KNOWN
    elapsed = max(0.0, now - task.started) if task.started else 0.0
    found = _declared(learnt, spec, task, elapsed) or _learnt(learnt, spec, task, elapsed)
    if found is None:
        found = TimeLeft(0.0, inf, Basis.OVERDUE) if task.expected or spec.expected else NOT_KNOWN
    limit = min(task.limit or inf, spec.wall_time or inf, longest)
    return found if limit == inf else _limited(found, limit - elapsed)


def span(samples: Sequence[float], elapsed: float) -> tuple[float, float] | None:
    """Between which durations something ends that has run for ``elapsed``; None if no sample was longer.

    ``samples`` are sorted. Those that were longer say it, and a little more than they: the mean gap of their lower half
    below, and above that of their upper half, or of all of them if that is more. By so much lie the ends of a uniform
    distribution beyond the extremes of a sample, on average. The next one lies beyond those of few samples more often,
    so these gaps count more than once.
    """
    longer = samples[bisect_right(samples, elapsed) :]
    if not longer:
        return None
    count = len(longer)
    half, mean = count // 2, (longer[-1] - longer[0]) / max(1, count - 1)
    below = (longer[half] - longer[0]) / half if half else longer[0] - elapsed
    above = (longer[-1] - longer[half]) / (count - 1 - half) if count - 1 > half else below
    times = 1.0 + SMALL_SAMPLE / max(SMALL_SAMPLE, count)
    return max(elapsed, longer[0] - times * below), longer[-1] + times * max(above, mean)


def _declared(learnt: Mapping[str, Learnt], spec: JobSpec, task: Task, elapsed: float) -> TimeLeft | None:
    """As declared, or as many times as long as others took; None if nothing is declared, or none took so long."""
    whole = task.expected or spec.expected
    if not whole:
        return None
    worth, proven = _worth(learnt, spec, task)
    gone = elapsed / whole
    if proven:
        found = span(worth, gone)
    else:
        found = (max(gone, worth[0]), worth[-1]) if worth[-1] > gone else None
    if found is None:
        return None
    least, most = found[0] * whole, found[1] * whole
    return TimeLeft(max(0.0, least - elapsed), most - elapsed, Basis.DECLARED, whole, found, proven)


def _worth(learnt: Mapping[str, Learnt], spec: JobSpec, task: Task) -> tuple[Sequence[float], bool]:
    """What declarations were worth, sorted, and whether that is enough to go by: of the nearest name that says enough,
    and of the nearer ones that say too little alone."""
    found: Sequence[float] = ()
    for name in names_of(spec, task) if learnt else ():
        known = learnt.get(name)
        if known is not None and known.worth:
            nearer = [one for one in found if one not in known.worth]  # most samples have both names
            found = sorted((*known.worth, *nearer)) if nearer else known.worth
            if len(known.worth) >= WORTH_MIN:
                return found, True
    return sorted((*found, *UNPROVEN)) if found else UNPROVEN, False


def _learnt(learnt: Mapping[str, Learnt], spec: JobSpec, task: Task, elapsed: float) -> TimeLeft | None:
    """From the most specific name with enough finished pods; None if there is none."""
    if not learnt or task.endless or task.returns:
        return None
    *names, _ = names_of(spec, task)
    for name in names:
        known = learnt.get(name)
        if known is not None and len(known.seconds) >= SAMPLES_MIN:
            found = span(known.seconds, elapsed)
            if found is None:
                return TimeLeft(0.0, inf, Basis.OVERDUE)
            return TimeLeft(found[0] - elapsed, found[1] - elapsed, Basis.LEARNT)
    return None


def _limited(found: TimeLeft, most: float) -> TimeLeft:
    """The estimate, cut at the deadline. A deadline long past means that no kubelet enforces it: the pod is overdue."""
    if most < -LEAVING_SECONDS:
        return TimeLeft(0.0, inf, Basis.OVERDUE)
    most = max(0.0, most)
    if found.basis is Basis.UNKNOWN:
        return TimeLeft(0.0, most, Basis.LIMIT)
    return found._replace(least=min(found.least, most), most=min(found.most, most))
