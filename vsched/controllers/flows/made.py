"""What CronJobs, JobFlows and JobTemplates know of the vcjobs that were made. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from vsched import api
from vsched.api.base import seconds_of
from vsched.api.resources import JOB_FLOWS, VOLCANO_CRON_JOB, VOLCANO_CRON_JOBS
from vsched.controllers.vcjobs.read import task_minimum, task_name
from vsched.controllers.vcjobs.spec import JobPhase

Body = dict[str, Any]
"""An API object as JSON data."""
FAILED = frozenset((JobPhase.FAILED, JobPhase.TERMINATED))
MAKERS = {
    (VOLCANO_CRON_JOBS.api_version, "CronJob"): VOLCANO_CRON_JOB,
    (JOB_FLOWS.api_version, "JobFlow"): "JobFlow",
}
"""The kinds that make vcjobs, as owner references name them, and as tables do."""
BY_TEMPLATE, BY_FLOW = "volcano.sh/createdByJobTemplate", "volcano.sh/createdByJobFlow"
"""Labels and annotations of the vcjobs of JobFlows: what they were made of, as ``namespace.name``."""


class MadeJob(msgspec.Struct, frozen=True):
    """A vcjob that a CronJob or a JobFlow controls."""

    namespace: str
    name: str
    uid: str
    maker: str
    """The key of its maker: ``Kind namespace/name``."""
    owner: str
    """The uid of its maker."""
    phase: str = ""
    created: float = 0.0
    since: float = 0.0
    """When its phase began, in seconds since the epoch."""
    retries: int = 0
    running_duration: str = ""
    tasks: Mapping[str, Any] = {}
    """``status.taskStatusCount``."""
    minima: Mapping[str, int] = {}
    """By task: how many of its pods have to be up."""
    template: str = ""
    """The key of the JobTemplate of which a JobFlow has made it: ``namespace/name``."""
    deleting: bool = False

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


def maker_key(kind: str, namespace: str, name: str) -> str:
    """The key of a CronJob, a JobFlow or a JobTemplate among all of them."""
    return f"{kind} {namespace}/{name}"


def namespace_of(key: str) -> str:
    """The namespace in such a key."""
    return key.partition(" ")[2].partition("/")[0]


def made_job_of(item: api.Object) -> MadeJob | None:
    """A vcjob as its maker sees it; None for one that nobody here has made."""
    if not isinstance(item, api.VolcanoJob):
        return None
    metadata, status = item.metadata, item.status
    owner = next((one for one in metadata.owner_references or () if one.controller), None)
    kind = MAKERS.get((owner.api_version, owner.kind)) if owner is not None else None
    if owner is None or kind is None:
        return None
    return MadeJob(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        maker=maker_key(kind, metadata.namespace, owner.name),
        owner=owner.uid,
        phase=status.state.phase,
        created=seconds_of(metadata.creation_timestamp),
        since=seconds_of(status.state.last_transition_time),
        retries=status.retry_count,
        running_duration=status.running_duration or "",
        tasks=status.task_status_count or {},
        minima={task_name(index, task): task_minimum(task) for index, task in enumerate(item.spec.tasks or ())},
        template=_template_of(metadata) if kind == "JobFlow" else "",
        deleting=metadata.deletion_timestamp is not None,
    )


def _template_of(metadata: api.Metadata) -> str:
    namespace, _, name = (metadata.labels or {}).get(BY_TEMPLATE, "").partition(".")
    return f"{namespace}/{name}" if name and namespace == metadata.namespace else ""
