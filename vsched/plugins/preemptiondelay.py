"""preemption-delay: a job waits for a while before others are evicted for it.

Meanwhile room may come by itself: other work ends, or an autoscaler adds nodes. The time counts from the creation of
the job, or of its newest waiting pod if that is later: a pod that was evicted comes back as a new one. A PodGroup
states the delay by annotation, else its queue does, else the nearest queue above, else the policy.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from vsched.framework.jobs import JobView
from vsched.framework.points.extension import Plugin, SessionContext
from vsched.framework.points.levers import ArgumentLever, shorter_time
from vsched.framework.points.terms import JobTerm, QueueTerm
from vsched.framework.points.victims import EvictionDelay
from vsched.framework.policy import Seconds
from vsched.plugins.queues.tree import inherited
from vsched.plugins.words import victims

DELAY = "preemptionDelay"


class PreemptionDelayArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long jobs wait, where neither they nor a queue say so."""

    delay: Seconds = msgspec.field(default=0.0, name=DELAY)


class PreemptionDelay(Plugin[PreemptionDelayArgs], EvictionDelay):
    """Lets jobs wait before others are evicted for them."""

    name = "preemption-delay"
    terms = frozenset({QueueTerm.PREEMPTION_DELAY, JobTerm.PREEMPTION_DELAY})
    args_type = PreemptionDelayArgs
    timeless = True
    delays_because = victims.DELAYED

    def open(self, context: SessionContext) -> None:
        """Keep the queues."""
        self._queues = context.snapshot.queues
        self._of_queues: dict[str, float] = {}

    def may_evict_from(self, job: JobView) -> float:
        """The creation of the job or of its newest waiting pod, plus the delay."""
        stated = job.spec.terms.preemption_delay
        delay = self._of_queue(job.queue) if stated is None else stated
        if not delay:
            return 0.0
        newest = max((task.created for task in job.job.pending.values() if not task.gated), default=0.0)
        return max(job.created, newest) + delay

    def _of_queue(self, name: str) -> float:
        found = self._of_queues.get(name)
        if found is None:
            found = inherited(name, self._queues, lambda one: one.terms.preemption_delay, self.args.delay)
            self._of_queues[name] = found
        return found

    def argument_levers(self) -> Iterator[ArgumentLever]:
        """A shorter delay, down to none."""
        if self.args.delay:
            yield shorter_time(self.name, DELAY, self.args.delay)
