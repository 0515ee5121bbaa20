"""Renders records of the model as Kubernetes manifests, so that a caller can change one and apply it again.

A manifest lacks what the model does not keep: labels of queues, annotations that no scheduler reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec

from vsched.mirror.ingest.budgets import LIMITS, REQUESTS
from vsched.mirror.ingest.metadata import MADE_BY, OURS, PREEMPTABLE
from vsched.mirror.ingest.queues import ParsedQueue
from vsched.model.amounts.resources import Amounts, ResourceAxis, format_amount
from vsched.model.jobs.spec import JobSpec
from vsched.model.nodes.table import NodeAttributes
from vsched.model.queues.evictions import LAST_CHECKPOINT
from vsched.model.queues.queue import NodeGroups
from vsched.model.topology.constraints import NetworkTopology, SubGroupPolicy

Manifest = dict[str, Any]
VERSION = "scheduling.volcano.sh/v1beta1"
_STRENGTHS = ("requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution")


def node_manifest(attributes: NodeAttributes, allocatable: Amounts, axis: ResourceAxis) -> Manifest:
    """A node with its allocatable amounts, including oversubscribed resources, but without its shared devices."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": attributes.name,
            "labels": dict(attributes.labels),
            "annotations": dict(attributes.annotations),
        },
        "spec": {
            "unschedulable": attributes.unschedulable,
            "taints": [{"key": each.key, "value": each.value, "effect": each.effect} for each in attributes.taints],
        },
        "status": {
            "allocatable": _listed(allocatable, axis),
            "images": [{"names": [name], "sizeBytes": size} for name, size in attributes.images.items()],
        },
    }


def queue_manifest(facts: ParsedQueue, axis: ResourceAxis) -> Manifest:
    """A queue; ``priority`` is the queue's own field, not the value of its priority class."""
    queue = facts.queue
    spec: Manifest = {
        "weight": queue.weight,
        "capability": _listed(queue.capability, axis),
        "deserved": _listed(queue.deserved, axis),
        "guarantee": {"resource": _listed(queue.guarantee, axis)},
        "reclaimable": queue.reclaimable,
        "priority": facts.priority,
        "priorityClassName": facts.priority_class,
        "parent": queue.parent,
        "affinity": None if queue.affinity is None else _affinity(queue.affinity),
    }
    return {
        "apiVersion": VERSION,
        "kind": "Queue",
        "metadata": _metadata("", queue.name, queue.uid, queue.created, queue.annotations),
        "spec": _said(spec),
        "status": {"state": queue.state},
    }


def group_manifest(group: JobSpec, axis: ResourceAxis) -> Manifest:
    """A PodGroup as its object states it, including its status."""
    metadata = _metadata(group.namespace, group.name, group.uid, group.created, group.annotations)
    if group.preemptable is not None:
        metadata["annotations"][PREEMPTABLE] = "true" if group.preemptable else "false"
    if group.checkpoint:
        metadata["annotations"][LAST_CHECKPOINT] = stamp(group.checkpoint)
    if group.made:
        metadata["labels"] = {MADE_BY: OURS}
    spec: Manifest = {
        "minMember": group.min_member,
        "minTaskMember": dict(group.min_task_member) or None,
        "queue": group.queue,
        "priorityClassName": group.priority_class,
        "minResources": None if group.min_resources is None else _minimum(group, axis),
        "networkTopology": None if group.topology is None else _topology(group.topology),
        "subGroupPolicy": [_policy(policy) for policy in group.sub_groups] or None,
    }
    return {
        "apiVersion": VERSION,
        "kind": "PodGroup",
        "metadata": metadata,
        "spec": _said(spec),
        "status": {
            "phase": group.phase,
            "conditions": [
                {"type": each.kind, "status": each.status, "reason": each.reason, "message": each.message}
                for each in group.conditions
            ],
            "running": group.running,
            "succeeded": group.succeeded,
            "failed": group.failed,
        },
    }


def stamp(moment: float) -> str:
    """Seconds since the epoch as a time stamp of the API, with decimals if there are any."""
    return datetime.fromtimestamp(moment, UTC).isoformat()


def encoded(manifest: Manifest) -> bytes:
    """The manifest as JSON, as the API server would send it."""
    return msgspec.json.encode(manifest)


def _minimum(group: JobSpec, axis: ResourceAxis) -> dict[str, str]:
    asked = _listed(group.min_resources or (), axis)
    for name, value in group.quota_request:
        written = name if name.startswith(LIMITS) else REQUESTS + name
        asked[written] = format_amount(name.removeprefix(LIMITS), value)
    return asked


def _metadata(namespace: str, name: str, uid: str, created: float, annotations: Iterable[tuple[str, str]]) -> Manifest:
    metadata: Manifest = {"name": name, "uid": uid, "annotations": dict(annotations)}
    if namespace:
        metadata["namespace"] = namespace
    if created:
        metadata["creationTimestamp"] = stamp(created)
    return metadata


def _listed(amounts: Amounts, axis: ResourceAxis) -> dict[str, str]:
    """Every amount by resource, including zeros and implausible ones."""
    return {axis.names[column]: format_amount(axis.names[column], value) for column, value in amounts}


def _affinity(groups: NodeGroups) -> Manifest:
    near, far = (groups.required, groups.preferred), (groups.anti_required, groups.anti_preferred)
    return {
        part: {strength: list(names) for strength, names in zip(_STRENGTHS, terms, strict=True) if names}
        for part, terms in (("nodeGroupAffinity", near), ("nodeGroupAntiAffinity", far))
    }


def _policy(policy: SubGroupPolicy) -> Manifest:
    expressions = [
        {"key": one.key, "operator": one.operator, "values": list(one.values)} for one in policy.selector.requirements
    ]
    return _said(
        {
            "name": policy.name,
            "networkTopology": None if policy.topology is None else _topology(policy.topology),
            "subGroupSize": policy.size,
            "minSubGroups": policy.minimum,
            "labelSelector": {"matchExpressions": expressions},
            "matchLabelKeys": list(policy.match_keys),
        }
    )


def _topology(topology: NetworkTopology) -> Manifest:
    return _said(
        {
            "mode": "hard" if topology.hard else "soft",
            "highestTierAllowed": topology.highest_tier,
            "highestTierName": topology.tier_name,
        }
    )


def _said(spec: Manifest) -> Manifest:
    """The fields that are set."""
    return {key: value for key, value in spec.items() if value is not None and value != ""}
