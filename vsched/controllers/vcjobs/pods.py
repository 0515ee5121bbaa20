"""The pods of a vcjob: the template of their task, with what tells the scheduler and others whose they are."""

from __future__ import annotations

import copy

from vsched.controllers.vcjobs.naming import (
    JOB_NAME,
    JOB_NAMESPACE,
    JOB_RETRY_COUNT,
    JOB_VERSION,
    PARTITION_ID,
    QUEUE_NAME,
    TASK_INDEX,
    TASK_SPEC,
    TEMPLATE_UID,
    Body,
    owned,
    partition_of,
    pod_name,
    spec_of,
)
from vsched.controllers.vcjobs.plugins import plugins_of
from vsched.controllers.vcjobs.spec import TaskSpec, VcJob
from vsched.controllers.vcjobs.volumes import mount_volumes
from vsched.mirror.ingest.annotations import COOLDOWN_TIME, JOB_BUDGET
from vsched.mirror.ingest.implicit import GROUP_NAME
from vsched.mirror.ingest.metadata import NUMA_POLICY, PREEMPTABLE, REVOCABLE_ZONE


def pod_of(job: VcJob, task: TaskSpec, index: int) -> Body:
    """The pod of a task with this index, as it is to be created. Changes nothing of the job."""
    template = task.template.get("metadata") or {}
    body = owned("v1", "Pod", job, pod_name(job, task.name, index), spec=_spec(job, task))
    body["metadata"]["labels"] = {**(template.get("labels") or {}), **_labels(job, task, index)}
    body["metadata"]["annotations"] = {**(template.get("annotations") or {}), **_annotations(job, task, index)}
    for plugin in plugins_of(job):
        plugin.change_pod(body, job, task, index)
    return body


def _spec(job: VcJob, task: TaskSpec) -> Body:
    spec: Body = copy.deepcopy(spec_of(task))
    if not spec.get("schedulerName") and job.scheduler_name:
        spec["schedulerName"] = job.scheduler_name
    if not spec.get("priorityClassName") and job.priority_class:
        spec["priorityClassName"] = job.priority_class
    mount_volumes(job, spec)
    return spec


def _labels(job: VcJob, task: TaskSpec, index: int) -> dict[str, str]:
    labels = {
        TASK_INDEX: str(index),
        JOB_NAME: job.name,
        TASK_SPEC: task.name,
        JOB_NAMESPACE: job.namespace,
        QUEUE_NAME: job.queue,
    }
    labels |= {key: job.labels[key] for key in (PREEMPTABLE, COOLDOWN_TIME) if key in job.labels}
    if task.partitions is not None:
        labels[PARTITION_ID] = partition_of(task, index)
    return labels


def _annotations(job: VcJob, task: TaskSpec, index: int) -> dict[str, str]:
    annotations = {
        TASK_INDEX: str(index),
        TASK_SPEC: task.name,
        GROUP_NAME: job.podgroup,
        JOB_NAME: job.name,
        QUEUE_NAME: job.queue,
        JOB_VERSION: str(job.status.version),
        TEMPLATE_UID: f"{job.name}-{task.name}",
        JOB_RETRY_COUNT: str(job.status.retries),
    }
    if task.topology_policy:
        annotations[NUMA_POLICY] = task.topology_policy
    passed_on = (PREEMPTABLE, COOLDOWN_TIME, REVOCABLE_ZONE)
    annotations |= {key: job.annotations[key] for key in passed_on if key in job.annotations}
    budget = next((key for key in JOB_BUDGET if key in job.annotations), None)
    if budget is not None:
        annotations[budget] = job.annotations[budget]
    return annotations
