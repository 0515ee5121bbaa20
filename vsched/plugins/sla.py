"""sla: permits jobs that have waited longer than their waiting time, whatever later tiers vote.

The waiting time comes from the PodGroup (``volcano.sh/sla-waiting-time``), else from the policy. Jobs are ordered by
creation time plus waiting time; jobs without a waiting time go last.
"""

from __future__ import annotations

from math import inf
from typing import Self

import msgspec

from vsched.framework.jobs import JobView
from vsched.framework.points.extension import JobEnqueueable, JobOrder, JobPipelined, Plugin, SessionContext, Vote
from vsched.framework.points.terms import JobTerm
from vsched.framework.policy import Seconds
from vsched.plugins.words import victims


class SlaArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long jobs wait that do not say so themselves."""

    waiting_time: Seconds | None = msgspec.field(default=None, name="sla-waiting-time")
    """No time, as zero, leaves such jobs without one."""

    def normalised(self) -> Self:
        """The same with no time in place of zero."""
        return self if self.waiting_time else msgspec.structs.replace(self, waiting_time=None)


class Sla(Plugin[SlaArgs], JobOrder, JobEnqueueable, JobPipelined):
    """Orders jobs by deadline, and permits those whose deadline has passed."""

    name = "sla"
    terms = frozenset({JobTerm.WAITING_TIME})
    goes_first = victims.EARLIER_DEADLINE
    args_type = SlaArgs

    def open(self, context: SessionContext) -> None:
        """Keep the time of the cycle."""
        self._now = context.snapshot.now
        self._until = inf
        self._default = self.args.normalised().waiting_time

    def job_key(self, job: JobView) -> float:
        """The job's deadline, seconds since the epoch; infinity where it has none."""
        return self._due(job)

    def job_enqueueable(self, job: JobView) -> Vote:
        """Permits a job that has waited long enough, and has nothing to say of others."""
        return self._vote(job)

    def job_pipelined(self, job: JobView) -> Vote:
        """Permits a job that has waited long enough, and has nothing to say of others."""
        return self._vote(job)

    def job_class(self, job: JobView) -> Vote:
        """Whether it has waited long enough."""
        return self._vote(job)

    def lasts_until(self) -> float:
        """Until the next deadline of the jobs that it was asked about."""
        return self._until

    def _vote(self, job: JobView) -> Vote:
        due = self._due(job)
        if due <= self._now:
            return Vote.PERMIT
        self._until = min(self._until, due)
        return Vote.ABSTAIN

    def _due(self, job: JobView) -> float:
        waiting = job.spec.waiting_seconds
        if waiting is None:
            waiting = self._default
        return inf if waiting is None else job.created + waiting
