"""seniority: jobs that have waited long go first, and pods that have run long are not evicted."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from vsched.framework.jobs import JobView
from vsched.framework.points.extension import JobOrder, Plugin, SessionContext
from vsched.framework.points.levers import ArgumentLever, argument_edit
from vsched.framework.points.victims import Preemptable, Purpose, Reclaimable, Votes
from vsched.framework.policy import Seconds
from vsched.model.pods.task import Task

MINUTE = 60.0


class SeniorityArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of seniority; the names are the keys in the policy file."""

    patience: Seconds = msgspec.field(default=5 * MINUTE, name="seniority.patience")
    """A job that has waited longer than this goes before those that have not."""
    tenure: Seconds = msgspec.field(default=60 * MINUTE, name="seniority.tenure")
    """A pod that has run longer than this is not evicted for others."""


class Seniority(Plugin[SeniorityArgs], JobOrder, Preemptable, Reclaimable):
    """Orders jobs by whether their patience is over, and votes against victims that have run for long."""

    name = "seniority"
    args_type = SeniorityArgs
    goes_first = "has waited beyond its patience"

    def open(self, context: SessionContext) -> None:
        """Note the time of the session: a plugin asks no clock."""
        self._now = context.snapshot.now

    def job_key(self, job: JobView) -> bool:
        """Smaller goes first, and False is smaller than True."""
        return self._now - job.created <= self.args.patience

    def victim_votes(self, evictor: Task, purpose: Purpose) -> Votes:
        """Agrees to whoever has not run long; it makes no difference who asks, and for what."""
        return Votes.each(self._is_junior, "they have run for long", depends_on=None)

    def _is_junior(self, victim: Task) -> bool:
        return not victim.started or self._now - victim.started <= self.args.tenure

    def argument_levers(self) -> Iterator[ArgumentLever]:
        """A longer tenure lets a waiting job take from more pods: up to a day, minute by minute."""
        minutes = int(self.args.tenure // MINUTE)
        most = 24 * 60 - minutes
        if most > 0:
            yield ArgumentLever(
                lambda step: argument_edit(self.name, "seniority.tenure", (minutes + step) * MINUTE),
                most,
                max(1, minutes),
            )
