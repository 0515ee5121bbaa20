"""resourcequota: admits a job once its minimum fits the ResourceQuotas of its namespace.

Otherwise the API server would refuse the job's pods. The plugin compares each resource of a quota with
``minResources``: ``requests.cpu`` means ``cpu``, and ``limits.cpu`` counts where ``minResources`` names it. Quotas with
scopes apply only to certain pods; the plugin ignores them, and the API server enforces them.
"""

from __future__ import annotations

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import JobEnqueueable, JobEnqueued, NoArgs, Plugin, SessionContext, Vote
from vsched.framework.refusal import Refusal, Shortage
from vsched.framework.words import limits as words
from vsched.model.amounts.resources import format_amount
from vsched.model.queues.quota import Quota, QuotaLine

QUOTA_FULL = "NamespaceQuotaInsufficient"


class ResourceQuota(Plugin[NoArgs], JobEnqueueable, JobEnqueued):
    """Enforces the quotas of namespaces at admission, before pods exist."""

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
        asked, admitted = self._asked(job), self._admitted.get(job.namespace, {})
        found: Refusal | None = None
        for quota in quotas:
            over = [line for line in quota.lines if _exceeds(line, asked, admitted)]
            if over:
                message, short = _message(quota, over, asked, admitted), _shortages(over, asked, admitted)
                refusal = Refusal(QUOTA_FULL, message, code=Code.QUOTA, subject=quota.name, shortages=short)
                if found is None or refusal.rank < found.rank:  # what lasts is told first
                    found = refusal
        return found or Vote.PERMIT

    def job_enqueued(self, job: JobView) -> None:
        """Add the minimum of the admitted job to its namespace."""
        if job.spec.min_resources is None or job.namespace not in self._quotas:
            return
        admitted = self._admitted.setdefault(job.namespace, {})
        for resource, amount in self._asked(job).items():
            admitted[resource] = admitted.get(resource, 0) + amount

    def _asked(self, job: JobView) -> dict[str, int]:
        """The job's minimum by the names that quotas use; where it names a resource twice, the larger amount."""
        asked = {self._names[column]: amount for column, amount in job.spec.min_resources or ()}
        for resource, amount in job.spec.quota_request:
            asked[resource] = max(amount, asked.get(resource, 0))
        return asked


def _exceeds(line: QuotaLine, asked: dict[str, int], admitted: dict[str, int]) -> bool:
    """Whether a job that requests the resource would exceed this line of the quota."""
    amount = asked.get(line.resource, 0)
    return bool(amount) and line.used + admitted.get(line.resource, 0) + amount > line.hard


def _message(quota: Quota, over: list[QuotaLine], asked: dict[str, int], admitted: dict[str, int]) -> str:
    def figures(line: QuotaLine) -> tuple[str, str, str, str]:
        used = line.used + admitted.get(line.resource, 0)
        return _written(line, line.hard), line.name, _written(line, used), _written(line, asked[line.resource])

    return words.over_quota(quota.name, map(figures, over))


def _shortages(over: list[QuotaLine], asked: dict[str, int], admitted: dict[str, int]) -> tuple[Shortage, ...]:
    before = {line.name: admitted.get(line.resource, 0) for line in over}
    return tuple(
        Shortage(line.name, line.used + before[line.name], asked[line.resource], line.hard, before[line.name])
        for line in over
    )


def _written(line: QuotaLine, amount: int) -> str:
    return format_amount(line.resource.removeprefix("limits."), amount)
