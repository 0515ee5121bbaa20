"""minruntime: running pods are not evicted before they have run for a minimum time.

There is one time for evictions by jobs of the same queue (preemption), and one for those by other queues and by the
arbitrator (reclaim). A PodGroup states its times by annotation, else its queue does, else the nearest queue above, else
the policy. ``shuffle`` and closed zones of ``tdm`` make room for no other job, so the longer of both times holds there.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import msgspec

from vsched.framework.points.extension import Plugin, SessionContext
from vsched.framework.points.levers import ArgumentLever, shorter_time
from vsched.framework.points.terms import JobTerm, QueueTerm
from vsched.framework.points.victims import Purpose, VictimProtection
from vsched.framework.policy import Seconds
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.plugins.queues.tree import inherited
from vsched.plugins.words import victims

PREEMPT, RECLAIM = "preemptMinRuntime", "reclaimMinRuntime"


class MinRuntimeArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long pods run before they may be evicted, where neither their PodGroup nor a queue says so."""

    preempt: Seconds = msgspec.field(default=0.0, name=PREEMPT)
    """Before jobs of the same queue may evict them."""
    reclaim: Seconds = msgspec.field(default=0.0, name=RECLAIM)
    """Before jobs of other queues, or the arbitrator, may evict them."""
    most: Seconds | None = msgspec.field(default=None, name="maxMinRuntime")
    """The longest times that PodGroups may state; a longer one counts as this. None for no bound."""


class MinRuntime(Plugin[MinRuntimeArgs], VictimProtection):
    """Protects pods until they have run for their minimum time."""

    name = "minruntime"
    terms = frozenset(
        {
            QueueTerm.PREEMPT_MIN_RUNTIME,
            QueueTerm.RECLAIM_MIN_RUNTIME,
            JobTerm.PREEMPT_MIN_RUNTIME,
            JobTerm.RECLAIM_MIN_RUNTIME,
        }
    )
    args_type = MinRuntimeArgs
    timeless = True
    protects_because = victims.MIN_RUNTIME

    def open(self, context: SessionContext) -> None:
        """Keep the jobs and the queues; times are looked up when a pod is asked about."""
        self._job_state = context.job_state
        self._queues = context.snapshot.queues
        self._of_jobs: dict[str, tuple[float, float]] = {}
        """The times for preemption and for reclaim, by job."""

    def protected_until(self, victim: Task, purpose: Purpose | None) -> float:
        """Its start plus the time that it may run undisturbed; infinite while it has a node and has not started.

        A pod that runs and does not say since when counts from its creation.
        """
        times = self._of_jobs.get(victim.job)
        if times is None:
            times = self._of_jobs[victim.job] = self._times_of(victim.job)
        preempt, reclaim = times
        length = max(times) if purpose is None else preempt if purpose is Purpose.PREEMPT else reclaim
        if not length:
            return 0.0
        if not victim.started and victim.status is not Status.RUNNING:
            return inf
        return (victim.started or victim.created) + length

    def _times_of(self, key: str) -> tuple[float, float]:
        args, job = self.args, self._job_state(key)
        if job is None:
            return args.preempt, args.reclaim
        terms, queue, queues = job.spec.terms, job.spec.queue, self._queues
        preempt = self._bounded(terms.preempt_min_runtime)
        if preempt is None:
            preempt = inherited(queue, queues, lambda one: one.terms.preempt_min_runtime, args.preempt)
        reclaim = self._bounded(terms.reclaim_min_runtime)
        if reclaim is None:
            reclaim = inherited(queue, queues, lambda one: one.terms.reclaim_min_runtime, args.reclaim)
        return preempt, reclaim

    def _bounded(self, stated: float | None) -> float | None:
        """What a PodGroup states, within the bound of the policy."""
        most = self.args.most
        return stated if stated is None or most is None else min(stated, most)

    def argument_levers(self) -> Iterator[ArgumentLever]:
        """Shorter times, down to none."""
        for key, seconds in ((PREEMPT, self.args.preempt), (RECLAIM, self.args.reclaim)):
            if seconds:
                yield shorter_time(self.name, key, seconds)
