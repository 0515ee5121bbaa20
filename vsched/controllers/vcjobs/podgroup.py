"""The PodGroup of a vcjob: the gang that its pods are scheduled as."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from vsched.api.pods import Pod
from vsched.api.resources import PODGROUPS
from vsched.controllers.podgroups import amounts_of
from vsched.controllers.vcjobs.naming import PARTITION_ID, TASK_SPEC, Body, owned, spec_of
from vsched.controllers.vcjobs.spec import Partitions, TaskSpec, VcJob, VcjobTopology
from vsched.errors import BadInput, BadObject, why_unreadable
from vsched.mirror.ingest.budgets import LIMITS, REQUESTS
from vsched.mirror.ingest.requests import bound_resources, limits_of, request_of
from vsched.model.amounts.resources import ResourceAxis, format_amount

Amounts = dict[str, int]
"""Base units by resource."""

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_FOLLOWS = ("minMember", "minTaskMember", "minResources", "priorityClassName", "subGroupPolicy")
"""The fields that follow the job for as long as the PodGroup is there; the others are written once."""
_NO_VALUE: Mapping[str, Any] = {"priorityClassName": "", "subGroupPolicy": [], "minTaskMember": {}}
"""What a missing field means."""


def podgroup_of(job: VcJob, priorities: Mapping[str, int]) -> Body:
    """The PodGroup as it is to be created; ``priorities`` are the values of PriorityClasses. Raises BadObject."""
    body = owned(PODGROUPS.api_version, "PodGroup", job, job.podgroup, spec=podgroup_spec(job, priorities))
    body["metadata"]["labels"] = dict(job.labels)
    body["metadata"]["annotations"] = {key: text for key, text in job.annotations.items() if key != _LAST_APPLIED}
    return body


def podgroup_spec(job: VcJob, priorities: Mapping[str, int]) -> Body:
    """The spec of the PodGroup; raises BadObject where the requests of a template cannot be read."""
    spec: Body = {
        "minMember": job.min_available,
        "minTaskMember": {task.name: task.min_available for task in job.tasks},
        "queue": job.queue,
        "minResources": _rendered(minimum(job, priorities)),
    }
    if job.priority_class:
        spec["priorityClassName"] = job.priority_class
    if job.topology is not None:
        spec["networkTopology"] = _topology(job.topology)
    sub_groups = [_sub_groups(task.name, task.partitions) for task in job.tasks if task.partitions is not None]
    if sub_groups:
        spec["subGroupPolicy"] = sub_groups
    return spec


def correction(standing: Mapping[str, Any], job: VcJob, priorities: Mapping[str, int]) -> Body | None:
    """A merge patch that brings the spec of the PodGroup up to date; None if it is. Raises BadObject."""
    wanted = podgroup_spec(job, priorities)
    changed: Body = {}
    for field in _FOLLOWS:
        before, after = standing.get(field, _NO_VALUE.get(field)), wanted.get(field, _NO_VALUE.get(field))
        same = _same_amounts(before, after) if field == "minResources" else before == after
        if not same:
            changed[field] = _replaced(before, after)
    return {"spec": changed} if changed else None


def minimum(job: VcJob, priorities: Mapping[str, int]) -> Amounts:
    """What the first ``minAvailable`` pods ask for, tasks of higher priority first.

    The minima of tasks come first, if the job wants as many pods as these or more. Otherwise each task comes whole.
    """
    tasks = sorted(job.tasks, key=lambda task: -priorities.get(_priority_class(task), 0))
    total: Amounts = {}
    left = job.min_available
    for task, count in _in_order(job, tasks):
        taken = min(count, left)
        for name, value in _request(task).items() if taken > 0 else ():
            total[name] = total.get(name, 0) + value * taken
        left -= max(taken, 0)
    return total


def _in_order(job: VcJob, tasks: list[TaskSpec]) -> Iterator[tuple[TaskSpec, int]]:
    if job.min_available < sum(task.min_available for task in tasks):
        yield from ((task, task.replicas) for task in tasks)
        return
    yield from ((task, task.min_available) for task in tasks)
    yield from ((task, task.replicas - task.min_available) for task in tasks)


def _priority_class(task: TaskSpec) -> str:
    return str(spec_of(task).get("priorityClassName") or "")


def _request(task: TaskSpec) -> Amounts:
    """What a pod of the task counts for, under the names that quotas know, too."""
    axis = ResourceAxis()
    manifest = {"metadata": {}, "spec": spec_of(task)}
    try:
        pod = msgspec.json.decode(msgspec.json.encode(manifest), type=Pod)
        bound_resources(pod)
        asked = [(axis.names[column], value) for column, value in request_of(pod, axis).amounts]
        limits = limits_of(pod, axis)
    except (BadInput, msgspec.MsgspecError) as error:
        raise BadObject(f"task {task.name}: template: {why_unreadable(error)}") from None
    counted: Amounts = {"count/pods": 1}
    for name, value in asked:
        counted[name] = value
        if name != "pods":
            counted[f"{REQUESTS}{name}"] = value
    return counted | dict(limits)


def _rendered(amounts: Amounts) -> dict[str, str]:
    return {name: format_amount(_resource(name), value) for name, value in sorted(amounts.items())}


def _resource(name: str) -> str:
    return "pods" if name == "count/pods" else name.removeprefix(REQUESTS).removeprefix(LIMITS)


def _same_amounts(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> bool:
    try:
        return amounts_of(before) == amounts_of(after)
    except BadInput:
        return False


def _replaced(before: Any, after: Any) -> Any:
    """The value of a field in a merge patch: an object loses what it no longer has, and an empty field goes."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return {key: None for key in before if key not in after} | dict(after)
    return None if after in ("", []) else after


def _sub_groups(task: str, partitions: Partitions) -> Body:
    policy: Body = {
        "name": task,
        "subGroupSize": partitions.size,
        "minSubGroups": partitions.minimum,
        "labelSelector": {"matchLabels": {TASK_SPEC: task}},
        "matchLabelKeys": [PARTITION_ID],
    }
    if partitions.topology is not None:
        policy["networkTopology"] = _topology(partitions.topology)
    return policy


def _topology(topology: VcjobTopology) -> Body:
    fields: Body = {"mode": topology.mode}
    if topology.highest_tier is not None:
        fields["highestTierAllowed"] = topology.highest_tier
    elif topology.highest_tier_name:
        fields["highestTierName"] = topology.highest_tier_name
    return fields
