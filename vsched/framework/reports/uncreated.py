"""Pods that a gang lacks and that the API server would refuse to create: ResourceQuotas leave too little for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.refusal import Refusal, Shortage
from vsched.framework.words import limits as words
from vsched.model.amounts.counted import format_counted
from vsched.model.queues.quota import asked_by, exceeded
from vsched.model.snapshot import Snapshot

REFUSES_CREATION = "ResourceQuotaRefusesPods"


def quotas_refusing(snapshot: Snapshot, view: JobView) -> Iterator[Refusal]:
    """The quotas that the pods a job lacks would exceed. These are taken to be like the pods that it has."""
    quotas = snapshot.quotas.get(view.namespace, ())
    like = next(iter(view.job.tasks.values()), None)
    if not quotas or like is None:
        return
    lacks = view.roles_missing(waiting=True, pending=True) or {"": view.min_member - view.valid_count}
    missing = sum(lacks.values())
    if missing <= 0:
        return
    of_role = {task.role: task for task in view.job.tasks.values()}
    asked = Counter[str]()
    for role, count in lacks.items():
        asked.update(asked_by(of_role.get(role, like).shape, snapshot.axis.names, count))
    for quota, line in exceeded(quotas, asked):
        short = Shortage(line.resource, line.used, asked[line.resource], line.hard)
        hard, used, more = (format_counted(line.resource, one) for one in (short.limit, short.held, short.asked))
        message = words.quota_refuses(quota.name, hard, line.name, used, missing, more)
        yield Refusal(REFUSES_CREATION, message, code=Code.QUOTA, subject=quota.name, shortages=(short,))
