"""resourcequota: a job is admitted once its minimum fits the ResourceQuotas of its namespace (reference 4.16).

Its pods would be refused by the API server otherwise. A quota's line and ``minResources`` are compared by what they
count: ``requests.cpu`` is the same as ``cpu``, ``limits.cpu`` is compared where ``minResources`` names it. Quotas with
scopes are for certain pods only, and are left to the API server.
"""

from __future__ import annotations

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import JobEnqueueable, JobEnqueued, NoArgs, Plugin, SessionContext, Vote
from vsched.framework.refusal import Refusal, Shortage
from vsched.model.amounts.resources import format_amount
from vsched.model.queues.quota import Quota, QuotaLine

QUOTA_FULL = "NamespaceQuotaInsufficient"


class ResourceQuota(Plugin[NoArgs], JobEnqueueable, JobEnqueued):
    """Holds namespaces to their quotas before pods are made."""

    name = "resourcequota"

    def open(self, context: SessionContext) -> None:
        """Keep the quotas; nothing was admitted in this cycle yet."""
        self._quotas = context.snapshot.quotas
        self._names = context.snapshot.axis.names
        self._admitted: dict[str, dict[str, int]] = {}

    def job_enqueueable(self, job: JobView) -> Vote | Refusal:
        """What is used, was admitted in this cycle, and the job's minimum stay within every quota."""
        quotas = self._quotas.get(job.namespace)
        if job.spec.min_resources is None or quotas is None:
            return Vote.PERMIT
        asked, admitted = self._asked(job), self._admitted.get(job.namespace, {})
        for quota in quotas:
            over = [line for line in quota.lines if _passes(line, asked, admitted)]
            if over:
                told, short = _told(quota, over, asked, admitted), _shortages(over, asked, admitted)
                return Refusal(QUOTA_FULL, told, code=Code.QUOTA, subject=quota.name, shortages=short)
        return Vote.PERMIT

    def job_enqueued(self, job: JobView) -> None:
        """Count the admitted job's minimum."""
        if job.spec.min_resources is None or job.namespace not in self._quotas:
            return
        admitted = self._admitted.setdefault(job.namespace, {})
        for resource, amount in self._asked(job).items():
            admitted[resource] = admitted.get(resource, 0) + amount

    def _asked(self, job: JobView) -> dict[str, int]:
        """The job's minimum by what quotas count; where it names a resource twice, the larger amount."""
        asked = {self._names[column]: amount for column, amount in job.spec.min_resources or ()}
        for resource, amount in job.spec.quota_request:
            asked[resource] = max(amount, asked.get(resource, 0))
        return asked


def _passes(line: QuotaLine, asked: dict[str, int], admitted: dict[str, int]) -> bool:
    """Whether a job that asks for the resource would lead past the line."""
    amount = asked.get(line.resource, 0)
    return bool(amount) and line.used + admitted.get(line.resource, 0) + amount > line.hard


def _told(quota: Quota, over: list[QuotaLine], asked: dict[str, int], admitted: dict[str, int]) -> str:
    lines = ", ".join(
        f"{line.name} ({_written(line, asked[line.resource])} asked, "
        f"{_written(line, line.used + admitted.get(line.resource, 0))} used, {_written(line, line.hard)} allowed)"
        for line in over
    )
    return f"resource quota {quota.name} insufficient: {lines}"


def _shortages(over: list[QuotaLine], asked: dict[str, int], admitted: dict[str, int]) -> tuple[Shortage, ...]:
    before = {line.name: admitted.get(line.resource, 0) for line in over}
    return tuple(
        Shortage(line.name, line.used + before[line.name], asked[line.resource], line.hard, before[line.name])
        for line in over
    )


def _written(line: QuotaLine, amount: int) -> str:
    return format_amount(line.resource.removeprefix("limits."), amount)
