"""What the status of a pod says; raises BadObject naming the field."""

from __future__ import annotations

from vsched import api
from vsched.api.base import ObjectCondition, Timestamp, seconds_of
from vsched.api.pods import ContainerState
from vsched.errors import BadObject
from vsched.mirror.ingest.annotations import Remarks, cooldown_seconds_of
from vsched.mirror.ingest.rules import decoded
from vsched.mirror.ingest.words import fields as words
from vsched.model.pods.status import Status

LET_IN = "vsched.io/QueueAdmitted"
"""The condition of a pod whose gate of its queue vsched has opened."""


def status_of(pod: api.Pod) -> Status:
    """The status of a pod by its phase, its node, and whether it is being deleted."""
    match pod.status.phase or "Pending":
        case "Running":
            return Status.RUNNING if pod.metadata.deletion_timestamp is None else Status.RELEASING
        case "Pending":
            if pod.metadata.deletion_timestamp is not None:
                return Status.RELEASING
            if not pod.spec.node_name:
                return Status.PENDING
            return Status.BOUND if _is_taken(pod) else Status.UNTAKEN
        case "Succeeded":
            return Status.SUCCEEDED
        case "Failed":
            return Status.FAILED
        case "Unknown":
            return Status.UNKNOWN
        case phase:
            raise BadObject(words.unknown_phase(phase))


def _is_taken(pod: api.Pod) -> bool:
    """Whether a scheduler has bound the pod, or its node has taken it.

    The API server says so with each binding, and nodes with their first word. Whoever makes a pod can name any node in
    it, one that does not exist or is too small, but cannot write its status.
    """
    return pod.status.start_time is not None or true_condition(pod, "PodScheduled") is not None


def is_let_in(pod: api.Pod) -> bool:
    """Whether vsched has opened the gate of the pod's queue: whoever makes a pod cannot write its conditions."""
    return true_condition(pod, LET_IN) is not None


def true_condition(pod: api.Pod, name: str) -> ObjectCondition | None:
    """The condition of a pod, where it is true."""
    for condition in pod.status.conditions or ():
        if condition.type == name and condition.status == "True":
            return condition
    return None


def scheduled_condition(pod: api.Pod) -> str:
    """Reason and message of the condition that says that the pod is not scheduled; empty without it."""
    for condition in pod.status.conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False":
            return f"{condition.reason or ''}: {condition.message or ''}"
    return ""


def is_unready(pod: api.Pod) -> bool:
    """Whether its condition says that it is not ready; a pod without the condition counts as ready."""
    return any(found.type == "Ready" and found.status != "True" for found in pod.status.conditions or ())


def protected_until(pod: api.Pod, remarks: Remarks) -> float:
    """When the cool-down of a scheduled pod ends, seconds since the epoch; 0 without one."""
    seconds = cooldown_seconds_of(pod.metadata, remarks)
    if not seconds:
        return 0.0
    condition = true_condition(pod, "PodScheduled")
    if condition is None:
        return 0.0
    at = "status.conditions[PodScheduled].lastTransitionTime"
    since = seconds_of(decoded(condition.last_transition_time, Timestamp, at))
    return since + seconds if since else 0.0


def finished_at(pod: api.Pod) -> float:
    """When the last container ended, 0 if that is unknown."""
    ends = (
        decoded(found.state, ContainerState, f"status.containerStatuses[{found.name}].state")
        for found in pod.status.container_statuses or ()
    )
    times = (end.terminated.finished_at for end in ends if end is not None and end.terminated is not None)
    return max(map(seconds_of, times), default=0.0)
