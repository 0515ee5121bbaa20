"""Pods and PodGroups of vcjobs, cut down to what decisions about their jobs need. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from vsched import api
from vsched.api.base import moment_of, part_of, seconds_of
from vsched.api.manifests import without_nulls
from vsched.api.pods import ContainerState, ContainerStatus, Terminated
from vsched.api.resources import VCJOBS
from vsched.controllers.vcjobs.counts import ENDED
from vsched.controllers.vcjobs.naming import (
    JOB_NAME,
    JOB_RETRY_COUNT,
    JOB_VERSION,
    PARTITION_ID,
    TASK_INDEX,
    TASK_SPEC,
)
from vsched.controllers.vcjobs.view import GroupState, VcjobPod
from vsched.mirror.ingest.implicit import controller_of
from vsched.model.plan import UNSCHEDULABLE

DISRUPTION_TARGET = "DisruptionTarget"


class JobPod(NamedTuple):
    """A pod that a vcjob owns."""

    owner: str
    """The uid of the job."""
    job: str
    """Its key, ``namespace/name``."""
    state: VcjobPod


class JobGroup(NamedTuple):
    """A PodGroup that a vcjob owns."""

    owner: str
    job: str
    state: GroupState


def job_pod_of(item: api.Object) -> JobPod | None:
    """The pod if a vcjob owns it."""
    labels = item.metadata.labels
    if not labels or JOB_NAME not in labels or not isinstance(item, api.Pod):
        return None  # asked of every pod of the cluster: the label comes first because it is cheap
    metadata, owner = item.metadata, owning_job(item.metadata)
    return None if owner is None else JobPod(owner.uid, f"{metadata.namespace}/{owner.name}", pod_state(item))


def pod_state(pod: api.Pod) -> VcjobPod:
    """What decisions need of a pod; what it does not say is zero or empty."""
    metadata, status = pod.metadata, pod.status
    labels, annotations = metadata.labels or {}, metadata.annotations or {}
    said = labels | annotations
    phase = status.phase or "Pending"
    containers = status.container_statuses or []
    first = next(_ends(containers[:1]), None)
    true = {each.type for each in status.conditions or () if each.status == "True"}
    return VcjobPod(
        name=metadata.name,
        uid=metadata.uid,
        task=said.get(TASK_SPEC, ""),
        index=_whole(said.get(TASK_INDEX, "")),
        phase=phase,
        version=_whole(said.get(JOB_VERSION, "")),
        retries=_whole(said.get(JOB_RETRY_COUNT, "")),
        partition=said.get(PARTITION_ID, ""),
        deleting=metadata.deletion_timestamp is not None,
        disrupted=DISRUPTION_TARGET in true,
        bound=bool(pod.spec.node_name),
        ready="ContainersReady" in true,
        exit_code=None if first is None else first.exit_code,
        restarts=sum(each.restart_count or 0 for each in (*containers, *(status.init_container_statuses or ()))),
        since=_since(pod, phase),
        address=status.pod_ip or "",
    )


def job_group_of(item: api.Object) -> JobGroup | None:
    """The PodGroup if a vcjob owns it."""
    if not isinstance(item, api.PodGroup):
        return None
    metadata, owner = item.metadata, owning_job(item.metadata)
    if owner is None:
        return None
    spec = without_nulls(msgspec.to_builtins(item.spec))
    phase, deleting = item.status.phase or "", metadata.deletion_timestamp is not None
    waits, waits_since = _waits(item)
    state = GroupState(
        metadata.uid,
        metadata.resource_version,
        phase,
        spec,
        deleting,
        waits=waits,
        waits_since=waits_since,
    )
    return JobGroup(owner.uid, f"{metadata.namespace}/{owner.name}", state)


def _waits(group: api.PodGroup) -> tuple[str, float]:
    """Why a PodGroup waits, and since when; empty where its newest condition says something else."""
    newest = next(iter((group.status.conditions or ())[-1:]), None)
    if newest is None or newest.type != UNSCHEDULABLE or newest.status != "True":
        return "", 0.0
    return newest.message or newest.reason or "", moment_of(newest.last_transition_time)


def owning_job(metadata: api.Metadata) -> api.OwnerReference | None:
    """The reference to the vcjob that controls an object."""
    owner = controller_of(metadata)
    is_job = owner is not None and owner.kind == "Job" and owner.api_version.partition("/")[0] == VCJOBS.group
    return owner if is_job else None


def _since(pod: api.Pod, phase: str) -> float:
    created = seconds_of(pod.metadata.creation_timestamp)
    if phase == "Pending":
        return created
    if phase not in ENDED:
        return seconds_of(pod.status.start_time) or created
    ends = (seconds_of(end.finished_at) for end in _ends(pod.status.container_statuses or ()))
    return max(ends, default=0.0) or seconds_of(pod.status.start_time) or created


def _ends(containers: list[ContainerStatus] | tuple[()]) -> Iterator[Terminated]:
    """How containers ended, of those that have and whose state can be read."""
    for container in containers:
        state = part_of(container.state, ContainerState)
        if state is not None and state.terminated is not None:
            yield state.terminated


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else 0
