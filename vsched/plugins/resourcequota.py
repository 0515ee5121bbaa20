"""resourcequota: admits a job once its minimum fits the ResourceQuotas of its namespace.

Otherwise the API server would refuse the job's pods. The plugin compares each resource of a quota with
``minResources``: ``requests.cpu`` means ``cpu``, and ``limits.cpu`` counts where ``minResources`` names it. The job's
pods that exist already are a part of what is used, so they count once. Quotas with scopes apply only to certain pods;
the plugin ignores them, and the API server enforces them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import JobEnqueueable, JobEnqueued, NoArgs, Plugin, SessionContext, Vote
from vsched.framework.refusal import Refusal, Shortage
from vsched.framework.words import limits as words
from vsched.model.amounts.resources import format_amount
from vsched.model.queues.quota import Quota, QuotaLine, used_by

QUOTA_FULL = "NamespaceQuotaInsufficient"


class MinimumPart(NamedTuple):
    """What a job needs of one resource, and has."""

    minimum: int
    used: int
    """The part of it that its pods use which exist already: quotas count that."""

    @property
    def more(self) -> int:
        """What it does not use yet."""
        return self.minimum - self.used


class ResourceQuota(Plugin[NoArgs], JobEnqueueable, JobEnqueued):
    """Enforces the quotas of namespaces at admission."""

    name = "resourcequota"
    by_request_alone = True
    timeless = True

    def open(self, context: SessionContext) -> None:
        """Keep the quotas; this cycle has admitted no job yet."""
        self._quotas = context.snapshot.quotas
        self._names = context.snapshot.axis.names
        self._admitted: dict[str, dict[str, int]] = {}

    def job_enqueueable(self, job: JobView) -> Vote | Refusal:
        """Permits if used amounts, jobs admitted in this cycle and the job's minimum stay within each quota."""
        quotas = self._quotas.get(job.namespace)
        if job.spec.min_resources is None or quotas is None:
            return Vote.PERMIT
        wants, admitted = self._wants(job, quotas), self._admitted.get(job.namespace, {})
        found: Refusal | None = None
        for quota in quotas:
            over = [line for line in quota.lines if _exceeds(line, wants, admitted)]
            if over:
                message, short = _message(quota, over, wants, admitted), _shortages(over, wants, admitted)
                refusal = Refusal(QUOTA_FULL, message, code=Code.QUOTA, subject=quota.name, shortages=short)
                if found is None or refusal.rank < found.rank:  # what lasts is told first
                    found = refusal
        return found or Vote.PERMIT

    def job_enqueued(self, job: JobView) -> None:
        """Add what the admitted job has yet to use of its namespace."""
        quotas = self._quotas.get(job.namespace)
        if job.spec.min_resources is None or quotas is None:
            return
        admitted = self._admitted.setdefault(job.namespace, {})
        for resource, want in self._wants(job, quotas).items():
            admitted[resource] = admitted.get(resource, 0) + want.more

    def _wants(self, job: JobView, quotas: Sequence[Quota]) -> dict[str, MinimumPart]:
        """The job's minimum by the names that quotas use; where it names a resource twice, the larger amount."""
        asked = {self._names[column]: amount for column, amount in job.spec.min_resources or ()}
        for resource, amount in job.spec.quota_request:
            asked[resource] = max(amount, asked.get(resource, 0))
        used = used_by(job.job.tasks.values(), self._names) if job.job.tasks else {}
        for line in (line for quota in quotas for line in quota.lines):
            if line.resource in used:  # quotas may not count all of the pods yet
                used[line.resource] = min(used[line.resource], line.used)
        return {resource: MinimumPart(amount, min(amount, used.get(resource, 0))) for resource, amount in asked.items()}


def _exceeds(line: QuotaLine, wants: dict[str, MinimumPart], admitted: dict[str, int]) -> bool:
    """Whether a job that wants these amounts would exceed this line of the quota."""
    more = wants[line.resource].more if line.resource in wants else 0
    return bool(more) and line.used + admitted.get(line.resource, 0) + more > line.hard


def _message(quota: Quota, over: list[QuotaLine], wants: dict[str, MinimumPart], admitted: dict[str, int]) -> str:
    def figures(line: QuotaLine) -> tuple[str, str, str, str]:
        used = line.used + admitted.get(line.resource, 0)
        return _written(line, line.hard), line.name, _written(line, used), _written(line, wants[line.resource].more)

    return words.over_quota(quota.name, map(figures, over))


def _shortages(over: list[QuotaLine], wants: dict[str, MinimumPart], admitted: dict[str, int]) -> tuple[Shortage, ...]:
    def short(line: QuotaLine, want: MinimumPart, before: int) -> Shortage:
        return Shortage(line.name, line.used - want.used + before, want.minimum, line.hard, before)

    return tuple(short(line, wants[line.resource], admitted.get(line.resource, 0)) for line in over)


def _written(line: QuotaLine, amount: int) -> str:
    return format_amount(line.resource.removeprefix("limits."), amount)
