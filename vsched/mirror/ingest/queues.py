"""Queues to the model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from vsched import api
from vsched.api.base import ResourceList
from vsched.api.objects import NodeGroupTerms, QueueAffinity
from vsched.mirror.ingest.amounts import stated_amounts
from vsched.mirror.ingest.annotations import Annotations, Remarks, duration_of, group_limits_of, remark
from vsched.mirror.ingest.bounds import NAMES_MAX, read
from vsched.mirror.ingest.evictions import eviction_terms_of_queue
from vsched.mirror.ingest.metadata import count_of, created_of, naming, scheduling_annotations
from vsched.mirror.ingest.unsupported import QUEUE_WISHES, remark_wishes
from vsched.mirror.ingest.weights import HIERARCHY_WEIGHTS, queue_weight_of, remark_hierarchy_weights
from vsched.mirror.ingest.words import groups as words
from vsched.model.amounts.resources import ResourceAxis
from vsched.model.claims.quota import device_amount
from vsched.model.names import shared
from vsched.model.queues.queue import (
    CLOSED,
    CLOSING,
    MAX_RUNNING_JOBS,
    MAX_RUNNING_JOBS_PER_USER,
    MAX_WALL_TIME,
    NO_JOB_LIMITS,
    OPEN,
    UNKNOWN,
    NodeGroups,
    Queue,
    QueueJobLimits,
)

STATES = (OPEN, CLOSED, CLOSING, UNKNOWN)

_NONE: Mapping[str, str] = {}


class ParsedQueue(NamedTuple):
    """A queue, its priority as far as the object itself says it."""

    queue: Queue
    priority: int | None
    priority_class: str


def queue_of(queue: api.Queue, axis: ResourceAxis, open_without_state: bool, remarks: Remarks) -> ParsedQueue:
    """What a Queue says; raises BadObject."""
    metadata, spec = queue.metadata, queue.spec
    remark_wishes(QUEUE_WISHES, queue, remarks)
    with naming("Queue", metadata):
        weight = queue_weight_of(spec.weight, remarks)
        remark_hierarchy_weights((metadata.annotations or _NONE).get(HIERARCHY_WEIGHTS, ""), remarks)
        if spec.priority is not None:
            count_of(spec.priority, "spec.priority")
        state = queue.status.state or (OPEN if open_without_state else UNKNOWN)
        if state not in STATES:
            state = UNKNOWN  # admits nothing new; the queue controller reports it on the object
        guarantee = spec.guarantee.resource if spec.guarantee is not None else None
        found = Queue(
            name=shared(metadata.name),
            uid=metadata.uid,
            created=created_of(metadata),
            weight=weight,
            capability=stated_amounts(axis, spec.capability, "spec.capability"),
            deserved=stated_amounts(axis, _without_devices(spec.deserved), "spec.deserved"),
            guarantee=stated_amounts(axis, _without_devices(guarantee), "spec.guarantee.resource"),
            reclaimable=spec.reclaimable is not False,
            priority=spec.priority or 0,
            parent=spec.parent or "",
            state=state,
            annotations=scheduling_annotations(metadata),
            affinity=None if spec.affinity is None else _node_groups(spec.affinity),
            group_limits=group_limits_of(metadata.annotations or _NONE, axis, remarks),
            terms=eviction_terms_of_queue(metadata.annotations or _NONE, remarks),
            limits=job_limits_of(metadata.annotations or _NONE, remarks),
        )
        _remark_guarantee(found, axis, spec.capability or {}, guarantee or {}, remarks)
    return ParsedQueue(found, spec.priority, spec.priority_class_name or "")


def _remark_guarantee(
    queue: Queue, axis: ResourceAxis, capability: ResourceList, guarantee: ResourceList, remarks: Remarks
) -> None:
    """Remark on a guarantee that the queue may not use up; Volcano's webhook refuses it."""
    most = dict(queue.capability)
    for column, amount in queue.guarantee:
        if amount > most.get(column, amount):
            name = axis.names[column]
            has, may_use = f"{guarantee.get(name)}"[:40], f"{capability.get(name)}"[:40]
            remarks.append(words.guarantee_above_capability(name[:80], has, may_use))


def _without_devices(amounts: ResourceList | None) -> ResourceList | None:
    """The amounts without those of devices, which have no effect here."""
    return amounts and {name: value for name, value in amounts.items() if device_amount(name) is None}


def _node_groups(affinity: QueueAffinity) -> NodeGroups:
    near = affinity.node_group_affinity or NodeGroupTerms()
    far = affinity.node_group_anti_affinity or NodeGroupTerms()
    groups = (near.required, near.preferred, far.required, far.preferred)
    for names in groups:
        read(names, NAMES_MAX, "spec.affinity")
    return NodeGroups(*(tuple(dict.fromkeys(names or ())) for names in groups))


COUNTS = {
    MAX_RUNNING_JOBS: "running_jobs",
    MAX_RUNNING_JOBS_PER_USER: "running_jobs_per_user",
}
"""The field of ``QueueJobLimits`` for each annotation with a number of jobs."""
_COUNT = re.compile(r"[0-9]{1,9}")


def job_limits_of(annotations: Annotations, remarks: Remarks) -> QueueJobLimits:
    """The limits that a queue states; zero counts, because then no job starts."""
    stated: dict[str, Any] = {}
    for name, field in COUNTS.items():
        text = annotations.get(name)
        if text is None:
            continue
        if _COUNT.fullmatch(text):
            stated[field] = int(text)
        else:
            remark(remarks, name, text, words.NUMBER_OF_JOBS)
    if (seconds := duration_of(annotations, MAX_WALL_TIME, remarks)) is not None:
        stated["wall_time"] = seconds
    return QueueJobLimits(**stated) if stated else NO_JOB_LIMITS
