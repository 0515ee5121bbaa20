"""Paths and bodies of writes about jobs, queues and pods. Pure.

Patches carry no resourceVersion: each sets only fields that belong to the scheduler, so it cannot overwrite another
writer's work, and a repeat is harmless.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec
import orjson

from vsched.api.resources import (
    COMPOSITE_POD_GROUPS,
    EVENTS,
    HYPERNODES,
    NATIVE_POD_GROUPS,
    PODGROUPS,
    PODS,
    QUEUES,
)
from vsched.kube.client import MERGE_PATCH, STRATEGIC_PATCH
from vsched.kube.times import time_stamp
from vsched.model.amounts.resources import format_amount
from vsched.model.jobs.native import native_name
from vsched.model.jobs.spec import Condition
from vsched.model.plan import Evict, JobOutcome
from vsched.writes import words
from vsched.writes.writer import Write


class ObjectReference(NamedTuple):
    """What identifies an object in an Event."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""
    resource_version: str = ""

    def as_object(self) -> dict[str, str]:
        """The reference as an Event's ``involvedObject``."""
        fields = {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "resourceVersion": self.resource_version,
        }
        return {key: value for key, value in fields.items() if value}


def deletion_options(uid: str, version: str = "", *, background: bool = False) -> bytes:
    """The body of a deletion of this object and no other of its name; ``background``: what it owns is deleted later."""
    conditions = {"uid": uid, "resourceVersion": version} if version else {"uid": uid}
    policy = {"propagationPolicy": "Background"} if background else {}
    return orjson.dumps({**policy, "preconditions": conditions})


def status_replacement(about: ObjectReference, status: Mapping[str, Any]) -> bytes:
    """The body that replaces a whole status, over the version in the reference and no other."""
    metadata = {
        "namespace": about.namespace,
        "name": about.name,
        "uid": about.uid,
        "resourceVersion": about.resource_version,
    }
    return orjson.dumps({"apiVersion": about.api_version, "kind": about.kind, "metadata": metadata, "status": status})


def pod_reference(namespace: str, name: str, uid: str) -> ObjectReference:
    return ObjectReference("v1", "Pod", namespace, name, uid)


def queue_reference(name: str, uid: str) -> ObjectReference:
    return ObjectReference(PODGROUPS.api_version, "Queue", "", name, uid)


def podgroup_reference(key: str, uid: str) -> ObjectReference:
    native = native_name(key)
    if native is not None:
        resource = COMPOSITE_POD_GROUPS if native.composite else NATIVE_POD_GROUPS
        kind = "CompositePodGroup" if native.composite else "PodGroup"
        return ObjectReference(resource.api_version, kind, native.namespace, native.name, uid)
    namespace, _, name = key.partition("/")
    return ObjectReference(PODGROUPS.api_version, "PodGroup", namespace, name, uid)


def podgroup_write(outcome: JobOutcome, uid: str, conditions: Iterable[Mapping[str, str]], subresource: bool) -> Write:
    """Set a PodGroup's status; with or without a status subresource, as its definition has it.

    The uid makes it this group or none: another one of the same name may be there by now.
    """
    status: dict[str, Any] = {
        "phase": outcome.phase,
        "running": outcome.running,
        "succeeded": outcome.succeeded,
        "failed": outcome.failed,
    }
    listed = list(conditions)
    if listed:
        status["conditions"] = listed
    return _podgroup_patch(outcome.key, status, subresource, uid)


def podgroup_unusable(key: str, uid: str, reason: str, message: str, now: float, subresource: bool) -> Write:
    """Set the only condition of a PodGroup that cannot be used; its other conditions no longer apply."""
    condition = {
        "type": "Unschedulable",
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": time_stamp(now),
    }
    return _podgroup_patch(key, {"conditions": [condition]}, subresource, uid)


def _podgroup_patch(key: str, status: Mapping[str, Any], subresource: bool, uid: str) -> Write:
    body: dict[str, Any] = {"status": status}
    if uid:
        body["metadata"] = {"uid": uid}
    namespace, _, name = key.partition("/")
    path = PODGROUPS.path(namespace, name, "status" if subresource else "")
    return Write("podgroup", "PATCH", path, orjson.dumps(body), MERGE_PATCH)


def domain_write(key: str, uid: str, annotation: str, domain: str) -> Write:
    """Set the annotation of a PodGroup that names the domain of its job; the uid makes it this group or none."""
    namespace, _, name = key.partition("/")
    body = orjson.dumps({"metadata": {"uid": uid, "annotations": {annotation: domain}}})
    return Write("podgroup", "PATCH", PODGROUPS.path(namespace, name), body, MERGE_PATCH)


def native_condition_write(key: str, uid: str, version: str, condition: Mapping[str, object]) -> Write:
    """Set one condition of a native PodGroup; conditions merge by type, the uid makes it this group or none."""
    name = native_name(key)
    assert name is not None, key
    served = COMPOSITE_POD_GROUPS if name.composite else NATIVE_POD_GROUPS
    resource = msgspec.structs.replace(served, version=version or served.version)
    body = orjson.dumps({"metadata": {"uid": uid}, "status": {"conditions": [condition]}})
    path = resource.path(name.namespace, name.name, "status")
    return Write("podgroup", "PATCH", path, body, STRATEGIC_PATCH)


def podgroup_conditions(conditions: Iterable[Condition], now: float, transition: str) -> list[dict[str, str]]:
    """Conditions with their transition times; a condition without one begins now."""
    return [
        {
            "type": condition.kind,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
            "lastTransitionTime": time_stamp(condition.since or now),
            "transitionID": transition,
        }
        for condition in conditions
    ]


def queue_write(
    name: str,
    allocated: Mapping[str, int],
    before: Iterable[str],
    counts: Mapping[str, int],
    conditions: Iterable[Mapping[str, str]],
    subresource: bool,
) -> Write:
    """Set a queue's status; resources of ``before`` that are no longer allocated are removed from the object's map."""
    amounts: dict[str, str | None] = {resource: None for resource in before if resource not in allocated}
    amounts |= {resource: format_amount(resource, value) for resource, value in allocated.items()}
    status = {"allocated": amounts, **counts, "conditions": list(conditions) or None}
    return Write("queue", "PATCH", queue_path(name, subresource), orjson.dumps({"status": status}), MERGE_PATCH)


def queue_path(name: str, subresource: bool) -> str:
    """The path of a queue, or of its status where that is a subresource."""
    return QUEUES.path(name=name, subresource="status" if subresource else "")


def hypernode_write(name: str, uid: str, nodes: int | None, conditions: Iterable[Mapping[str, Any]]) -> Write:
    """Set a HyperNode's number of nodes (None for no number) and its conditions, those of others included.

    The uid makes it this HyperNode or none.
    """
    path = HYPERNODES.path(name=name, subresource="status")
    status = {"nodeCount": nodes, "conditions": list(conditions)}
    body = orjson.dumps({"metadata": {"uid": uid}, "status": status})
    return Write("hypernode", "PATCH", path, body, MERGE_PATCH)


def pod_condition_write(namespace: str, name: str, uid: str, reason: str, message: str, now: float) -> Write:
    """Set a pod's ``PodScheduled=False``; conditions merge by type, the uid makes it this pod or none."""
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": reason,
        "message": message,
        "lastTransitionTime": time_stamp(now),
    }
    return pod_status_write(namespace, name, uid, {"conditions": [condition]})


def eviction_write(eviction: Evict) -> Write:
    """Evict a pod with its own grace period, if its disruption budget allows."""
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": eviction.name, "namespace": eviction.namespace},
        "deleteOptions": {"preconditions": {"uid": eviction.uid}},
    }
    return Write("eviction", "POST", _pod_path(eviction, "eviction"), orjson.dumps(body))


def deletion_write(eviction: Evict) -> Write:
    """Delete a pod with its own grace period, whatever its disruption budget says."""
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": eviction.uid}}
    return Write("eviction", "DELETE", _pod_path(eviction), orjson.dumps(body))


def _pod_path(eviction: Evict, subresource: str = "") -> str:
    return PODS.path(eviction.namespace, eviction.name, subresource)


def cause_of_eviction(eviction: Evict) -> str:
    """Why a pod is evicted: the action and the beneficiary where there is one, or that the wall time is over."""
    if not eviction.asks_budgets:
        return words.WALL_TIME_IS_OVER
    whom = eviction.whom or eviction.beneficiary
    if eviction.to:
        return words.makes_room_for(whom) if whom else words.DEFRAGMENTS
    return f"{eviction.action} for {whom}" if whom else eviction.action


def pod_cause_of_eviction(eviction: Evict) -> str:
    """The same, and where there is room for the pod's successor if it is moved."""
    cause = cause_of_eviction(eviction)
    return words.has_room_on(cause, eviction.to) if eviction.to else cause


def disruption_write(eviction: Evict, now: float) -> Write:
    """Set the condition ``DisruptionTarget`` of an evicted pod, by which controllers see why the pod ended."""
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": pod_cause_of_eviction(eviction),
        "lastTransitionTime": time_stamp(now),
    }
    return pod_status_write(eviction.namespace, eviction.name, eviction.uid, {"conditions": [condition]})


def pod_status_write(namespace: str, name: str, uid: str, status: Mapping[str, Any]) -> Write:
    """A strategic merge patch of a pod's status."""
    body = orjson.dumps({"metadata": {"uid": uid}, "status": status})
    return Write("pod", "PATCH", PODS.path(namespace, name, "status"), body, STRATEGIC_PATCH)


def event_create(
    about: ObjectReference, name: str, severity: str, reason: str, message: str, component: str, count: int, now: float
) -> Write:
    """Create an Event about an object; cluster objects' Events live in ``default``."""
    namespace = about.namespace or "default"
    stamp = time_stamp(now)
    body = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": about.as_object(),
        "type": severity,
        "reason": reason,
        "message": message[:1024],
        "count": count,
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": "",
    }
    return Write("event", "POST", EVENTS.path(namespace), orjson.dumps(body))


def event_count(namespace: str, name: str, count: int, now: float, message: str | None) -> Write:
    """Raise the count of an Event, and change its message where ``message`` is given."""
    new_message = {} if message is None else {"message": message[:1024]}
    body = orjson.dumps({"count": count, "lastTimestamp": time_stamp(now), **new_message})
    return Write("event", "PATCH", EVENTS.path(namespace or "default", name), body, STRATEGIC_PATCH)
