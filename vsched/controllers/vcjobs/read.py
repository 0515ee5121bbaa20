"""Reads a vcjob: the object as it is written becomes a ``VcJob`` with every default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from vsched.api import batch
from vsched.api.base import Raw, json_object, seconds_of
from vsched.controllers.vcjobs.admission import refusals
from vsched.controllers.vcjobs.plugins import with_pulled_in
from vsched.controllers.vcjobs.spec import (
    Dependency,
    JobAction,
    JobEvent,
    JobPhase,
    JobStatus,
    Partitions,
    TaskSpec,
    VcJob,
    VcjobPolicy,
    VcjobTopology,
    VcjobVolume,
)
from vsched.controllers.vcjobs.status import compact
from vsched.kube.times import time_stamp
from vsched.mirror.ingest.annotations import EXPECTED_DURATION
from vsched.model.amounts.durations import parse_duration

DEFAULT_QUEUE = "default"
DEFAULT_MAX_RETRY = 3
ACTIONS, EVENTS, PHASES = frozenset(JobAction), frozenset(JobEvent), frozenset(JobPhase)


def job_of(job: batch.VolcanoJob, scheduler_name: str = "") -> VcJob:
    """The job with all defaults, and with what is wrong with it. What cannot be read has its default, too.

    ``scheduler_name`` is for jobs that name no scheduler. Every default is filled in here and nowhere else: the
    webhook writes into new jobs (``defaults``) what is found here.
    """
    read = _job_of(job, scheduler_name)
    return replace(read, refusals=tuple(refusals(job, read)))


def _annotations(job: batch.VolcanoJob) -> dict[str, str]:
    """The annotations of a job, and of its PodGroup; its estimate of how long it runs is one of them."""
    written, estimate = job.metadata.annotations or {}, job.spec.running_estimate
    return {EXPECTED_DURATION: estimate, **written} if estimate else written


def _job_of(job: batch.VolcanoJob, scheduler_name: str) -> VcJob:
    metadata, spec = job.metadata, job.spec
    tasks = tuple(_task(index, task) for index, task in enumerate(spec.tasks or ()))
    return VcJob(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        created=seconds_of(metadata.creation_timestamp),
        tasks=tasks,
        min_available=spec.min_available or sum(task.min_available for task in tasks),
        queue=spec.queue or DEFAULT_QUEUE,
        scheduler_name=spec.scheduler_name or scheduler_name,
        max_retry=spec.max_retry or DEFAULT_MAX_RETRY,
        min_success=spec.min_success,
        ttl_seconds=spec.ttl_seconds_after_finished,
        priority_class=spec.priority_class_name,
        volumes=tuple(
            VcjobVolume(volume.mount_path, volume.volume_claim_name, json_object(volume.volume_claim) or None)
            for volume in spec.volumes or ()
        ),
        plugins=_plugins(spec.plugins),
        policies=_policies(spec.policies),
        topology=_topology(spec.network_topology),
        labels=metadata.labels or {},
        annotations=_annotations(job),
        deleting=metadata.deletion_timestamp is not None,
        generation=metadata.generation,
        status=status_of(job.status),
    )


def _task(index: int, task: batch.VolcanoTask) -> TaskSpec:
    return TaskSpec(
        name=task_name(index, task),
        replicas=task.replicas,
        min_available=task_minimum(task),
        template=_template(task.template),
        policies=_policies(task.policies),
        topology_policy=task.topology_policy,
        max_retry=task.max_retry or DEFAULT_MAX_RETRY,
        dependency=_dependency(task.depends_on),
        partitions=_partitions(task.partition_policy),
    )


def task_name(index: int, task: batch.VolcanoTask) -> str:
    """The name of a task."""
    return task.name or f"default{index}"


def task_minimum(task: batch.VolcanoTask) -> int:
    """``minAvailable`` of a task: by default the pods of ``minPartitions``, else all."""
    if task.min_available is not None:
        return task.min_available
    policy = task.partition_policy
    least = policy.min_partitions * policy.partition_size if policy is not None else 0
    return least if least > 0 else task.replicas


def _template(raw: Raw) -> dict[str, Any]:
    template = json_object(raw)
    spec = template.get("spec")
    if isinstance(spec, dict) and spec.get("hostNetwork") and not spec.get("dnsPolicy"):
        spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    return template


def _policies(policies: Sequence[batch.LifecyclePolicy] | None) -> tuple[VcjobPolicy, ...]:
    read = map(_policy, policies or ())
    return tuple(policy for policy in read if policy is not None)


def _policy(policy: batch.LifecyclePolicy) -> VcjobPolicy | None:
    if policy.action not in ACTIONS:
        return None
    named = (*(policy.events or ()), policy.event)
    events = frozenset(JobEvent(name) for name in named if name in EVENTS)
    seconds = parse_duration(policy.timeout or "") or 0.0
    return VcjobPolicy(JobAction(policy.action), events, policy.exit_code, seconds)


def _dependency(depends: batch.DependsOn | None) -> Dependency | None:
    if depends is None or not depends.name:
        return None
    return Dependency(tuple(depends.name), every=depends.iteration != "any")


def _partitions(policy: batch.PartitionPolicy | None) -> Partitions | None:
    if policy is None:
        return None
    topology = _topology(policy.network_topology)
    return Partitions(policy.total_partitions, policy.partition_size, policy.min_partitions, topology)


def _topology(topology: batch.JobTopology | None) -> VcjobTopology | None:
    if topology is None:
        return None
    return VcjobTopology(topology.mode or "hard", topology.highest_tier_allowed, topology.highest_tier_name or "")


def _plugins(plugins: Mapping[str, list[str] | None] | None) -> tuple[tuple[str, tuple[str, ...]], ...]:
    named = {name: arguments or () for name, arguments in (plugins or {}).items()}
    return tuple(sorted(with_pulled_in(named).items()))


def status_of(status: batch.VolcanoJobStatus) -> JobStatus:
    """What the status says that decisions need."""
    state = status.state
    return JobStatus(
        phase=JobPhase(state.phase) if state.phase in PHASES else JobPhase.NEW,
        reason=state.reason,
        message=state.message,
        since=seconds_of(state.last_transition_time),
        version=status.version,
        retries=status.retry_count,
        controlled=tuple(sorted((status.controlled_resources or {}).items())),
        body=_body(status),
    )


def _body(status: batch.VolcanoJobStatus) -> dict[str, Any]:
    """The status as JSON data, in the form in which it is written."""
    state = status.state
    body = msgspec.to_builtins(status)
    since = seconds_of(state.last_transition_time)
    body["state"] = compact(
        {
            "phase": state.phase,
            "reason": state.reason,
            "message": state.message,
            "lastTransitionTime": time_stamp(since) if since else "",
        }
    )
    return compact(body)
