"""Every kind but the pod to the model: pure functions of one object each, and the metadata rules all kinds share.

What one object means for another (priority classes, default queues, weights) is the mirror's business.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from vsched.errors import BadInput, BadObject, Beyond, NoColumn
from vsched.mirror import wire
from vsched.mirror.ingest.annotations import (
    EXPECTED_DURATION,
    Remarks,
    expected_seconds_of,
    group_limits_of,
    job_budget_of,
    waiting_seconds_of,
)
from vsched.mirror.ingest.bounds import (
    CONDITIONS_MAX,
    IMAGES_MAX,
    LABELS_MAX,
    NAMES_MAX,
    OFFERED_MAX,
    RESOURCES_MAX,
    ROLES_MAX,
    TAINTS_MAX,
    bounded,
    read,
    short,
)
from vsched.mirror.ingest.budgets import quota_request_of
from vsched.mirror.ingest.requests import quantities
from vsched.mirror.ingest.rules import LabelSelector, decoded, selector_of
from vsched.mirror.ingest.unsupported import GROUP_WISHES, QUEUE_WISHES, asked_by_group, remark_wishes
from vsched.mirror.ingest.weights import HIERARCHY_WEIGHTS, queue_weight_of, remark_hierarchy_weights
from vsched.mirror.wire.base import ResourceList, moment_of, seconds_of
from vsched.mirror.wire.objects import NodeGroupTerms, QueueAffinity
from vsched.model.job import USER, Condition, JobSpec
from vsched.model.nodes import NodeAttributes, Taint
from vsched.model.quantity import MOST
from vsched.model.queue import CLOSED, CLOSING, OPEN, UNKNOWN, Namespace, NodeGroups, PriorityClass, Queue
from vsched.model.resources import NOTHING, Amounts, AskedColumns, Columns, ResourceAxis, plus
from vsched.model.shape import Selector
from vsched.model.shared import shared
from vsched.model.status import Phase

VOLCANO_JOBS = "batch.volcano.sh/"
"""How the version of objects begins that Volcano makes PodGroups for."""
QUEUE_NAME = "scheduling.volcano.sh/queue-name"
PREEMPTABLE = "volcano.sh/preemptable"
REVOCABLE_ZONE = "volcano.sh/revocable-zone"
ANY_ZONE = "*"
OVERSUBSCRIPTION = "volcano.sh/oversubscription"
OVERSUBSCRIBED = {
    "volcano.sh/oversubscription-cpu": ("cpu", "m"),
    "volcano.sh/oversubscription-memory": ("memory", ""),
}
"""Annotations with lent amounts, milli-cores and bytes: the resource, and the suffix that makes the number one."""
NAMESPACE_NAME = "kubernetes.io/metadata.name"
IMPLIED = "podgroup-"
"""How names of PodGroups begin that stand for pods which name none; a uid follows (reference 5.2)."""
MADE_BY, OURS = "app.kubernetes.io/managed-by", "vsched"
"""Label of the PodGroups among them that we made, and its value."""

BOOLEANS = dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True) | dict.fromkeys(
    ("0", "f", "F", "false", "FALSE", "False"), False
)
QUEUE_STATES = (OPEN, CLOSED, CLOSING, UNKNOWN)
JOB_PHASES = (Phase.PENDING, Phase.INQUEUE, Phase.RUNNING, Phase.UNKNOWN, Phase.COMPLETED)

_NONE: Mapping[str, str] = {}
_INT32 = 1 << 31
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")


class NodeFacts(NamedTuple):
    """A node's attributes and what it has to give."""

    attributes: NodeAttributes
    allocatable: Amounts


class QueueFacts(NamedTuple):
    """A queue, its priority as far as the object itself says it."""

    queue: Queue
    priority: int | None
    priority_class: str


def _volcano_job_of(metadata: wire.Metadata) -> str:
    """The Volcano Job that owns a PodGroup: its controller sets what the PodGroup says back to what the Job says."""
    owner = next((one for one in metadata.owner_references or () if one.controller), None)
    return owner.name if owner is not None and owner.api_version.startswith(VOLCANO_JOBS) else ""


def job_spec_of(
    group: wire.PodGroup,
    axis: ResourceAxis,
    default_queue: str,
    remarks: Remarks,
    ignored: frozenset[str] = frozenset(),
) -> JobSpec:
    """What a PodGroup says; raises BadObject. ``ignored`` is what it may ask for in vain."""
    metadata, spec, status = group.metadata, group.spec, group.status
    annotations = metadata.annotations or _NONE
    made = is_made(metadata)
    wishes = remark_wishes(GROUP_WISHES, group, remarks)
    # Its pods exist and were admitted as they are: nobody asks again, and what they will take is not counted twice.
    born, min_resources = (Phase.INQUEUE, None) if made else (Phase.PENDING, spec.min_resources)
    try:
        beyond = _beyond(group)
        roles, min_resources = ({}, None) if beyond else (spec.min_task_member or {}, min_resources)
        return JobSpec(
            namespace=shared(metadata.namespace or "default"),
            name=metadata.name,
            uid=metadata.uid,
            created=created_of(metadata),
            queue=shared(spec.queue or default_queue),
            min_member=_count(spec.min_member, "spec.minMember"),
            min_task_member=tuple(
                (shared(role), _count(count, f"spec.minTaskMember.{role}")) for role, count in sorted(roles.items())
            ),
            min_resources=None
            if min_resources is None
            else _amounts(AskedColumns(axis), min_resources, "spec.minResources"),
            priority_class=spec.priority_class_name or "",
            phase=_member(status.phase or born, JOB_PHASES, "status.phase"),
            written_phase="" if status.phase or not made else Phase.PENDING,
            conditions=tuple(
                Condition(
                    found.type,
                    found.status,
                    found.reason or "",
                    found.message or "",
                    moment_of(found.last_transition_time),
                )
                for found in status.conditions or ()
            ),
            running=status.running or 0,
            succeeded=status.succeeded or 0,
            failed=status.failed or 0,
            preemptable=flag_of(metadata, PREEMPTABLE),
            annotations=scheduling_annotations(metadata),
            waiting_seconds=waiting_seconds_of(annotations, remarks),
            budget=job_budget_of(annotations, remarks),
            quota_request=quota_request_of(min_resources, "spec.minResources"),
            made=made,
            written_for=_volcano_job_of(metadata),
            expected=expected_seconds_of(annotations, remarks),
            unsupported=beyond or asked_by_group(group, ignored),
            wishes=wishes,
        )
    except BadInput as error:
        problem = NoColumn if isinstance(error, NoColumn) else BadObject
        raise problem(f"{wire.named('PodGroup', metadata)}: {error}") from None


def _beyond(group: wire.PodGroup) -> str:
    """What a PodGroup says beyond what is read, for which its job waits; raises BadObject where it cannot be used."""
    spec = group.spec
    short(spec.queue or "", "spec.queue")
    short(spec.priority_class_name or "", "spec.priorityClassName")
    read(group.status.conditions, CONDITIONS_MAX, "status.conditions")
    try:
        read(spec.min_task_member, ROLES_MAX, "spec.minTaskMember")
        read(spec.min_resources, RESOURCES_MAX, "spec.minResources")
    except Beyond as error:
        return str(error)
    for role in spec.min_task_member or ():
        short(role, "spec.minTaskMember")
    return ""


def is_made(metadata: wire.Metadata) -> bool:
    """Whether we made a PodGroup, for pods that name none."""
    return metadata.name.startswith(IMPLIED) and (metadata.labels or _NONE).get(MADE_BY) == OURS


def queue_of(queue: wire.Queue, axis: ResourceAxis, open_without_state: bool, remarks: Remarks) -> QueueFacts:
    """What a Queue says; raises BadObject."""
    metadata, spec = queue.metadata, queue.spec
    remark_wishes(QUEUE_WISHES, queue, remarks)
    try:
        weight = queue_weight_of(spec.weight, remarks)
        remark_hierarchy_weights((metadata.annotations or _NONE).get(HIERARCHY_WEIGHTS, ""), remarks)
        if spec.priority is not None:
            _count(spec.priority, "spec.priority")
        state = queue.status.state or (OPEN if open_without_state else UNKNOWN)
        if state not in QUEUE_STATES:
            state = UNKNOWN  # takes in nothing new; who looks after the states of queues says so on the object
        guarantee = spec.guarantee.resource if spec.guarantee is not None else None
        found = Queue(
            name=shared(metadata.name),
            uid=metadata.uid,
            created=created_of(metadata),
            weight=weight,
            capability=_stated(axis, spec.capability, "spec.capability"),
            deserved=_stated(axis, spec.deserved, "spec.deserved"),
            guarantee=_stated(axis, guarantee, "spec.guarantee.resource"),
            reclaimable=spec.reclaimable is not False,
            priority=spec.priority or 0,
            parent=spec.parent or "",
            state=state,
            annotations=scheduling_annotations(metadata),
            affinity=None if spec.affinity is None else _node_groups(spec.affinity),
            group_limits=group_limits_of(metadata.annotations or _NONE, axis, remarks),
        )
    except BadInput as error:
        raise BadObject(f"{wire.named('Queue', metadata)}: {error}") from None
    return QueueFacts(found, spec.priority, spec.priority_class_name or "")


def _node_groups(affinity: QueueAffinity) -> NodeGroups:
    near = affinity.node_group_affinity or NodeGroupTerms()
    far = affinity.node_group_anti_affinity or NodeGroupTerms()
    groups = (near.required, near.preferred, far.required, far.preferred)
    for names in groups:
        read(names, NAMES_MAX, "spec.affinity")
    return NodeGroups(*(tuple(dict.fromkeys(names or ())) for names in groups))


def node_of(node: wire.Node, axis: ResourceAxis) -> NodeFacts:
    """What a Node says; raises BadObject."""
    metadata, spec = node.metadata, node.spec
    try:
        read(metadata.labels, LABELS_MAX, "metadata.labels")
        read(spec.taints, TAINTS_MAX, "spec.taints")
        bounded(sum(len(image.names or ()) for image in node.status.images or ()), IMAGES_MAX, "status.images")
        allocatable = _amounts(axis, node.status.allocatable, "status.allocatable")
        lent = _oversubscribed(metadata, axis)
    except BadInput as error:
        raise BadObject(f"{wire.named('Node', metadata)}: {error}") from None
    attributes = NodeAttributes(
        name=shared(metadata.name),
        labels={shared(key): shared(value) for key, value in (metadata.labels or _NONE).items()},
        taints=tuple(Taint(taint.key, taint.value or "", taint.effect) for taint in spec.taints or ()),
        unschedulable=bool(spec.unschedulable),
        images={
            shared(name): image.size_bytes or 0 for image in node.status.images or () for name in image.names or ()
        },
        annotations={
            key: value for key, value in scheduling_annotations(metadata) if not key.startswith(OVERSUBSCRIPTION)
        },
    )
    amounts = plus(allocatable, lent) if lent else allocatable
    return NodeFacts(attributes, tuple((column, min(value, MOST)) for column, value in amounts))


def class_of(found: wire.PriorityClass) -> PriorityClass:
    """What a PriorityClass says; raises BadObject."""
    if not -_INT32 <= found.value < _INT32:
        name = wire.named("PriorityClass", found.metadata)
        raise BadObject(f"{name}: value: {found.value} (expected a 32-bit integer)")
    preempts = found.preemption_policy != "Never"
    return PriorityClass(found.metadata.name, found.value, bool(found.global_default), preempts)


def namespace_of(found: wire.Namespace) -> Namespace:
    """What a Namespace says; its weight comes from its quotas. Raises BadObject."""
    metadata = found.metadata
    try:
        read(metadata.labels, LABELS_MAX, "metadata.labels")
    except BadObject as error:
        raise BadObject(f"{wire.named('Namespace', metadata)}: {error}") from None
    labels = {NAMESPACE_NAME: metadata.name} | (metadata.labels or {})
    queue = (metadata.annotations or _NONE).get(QUEUE_NAME, "")
    return Namespace(shared(metadata.name), labels=tuple(sorted(labels.items())), queue=queue)


def selected_by(found: wire.Selecting) -> Selector | None:
    """Which pods an object selects, None where it names no label; raises BadObject."""
    at, raw = "spec.selector", found.spec.selector
    try:
        if isinstance(found, wire.Service | wire.ReplicationController):
            fields = LabelSelector(decoded(raw, dict[str, str], at))
        else:
            fields = decoded(raw, LabelSelector, at) or LabelSelector()
        selector = selector_of(fields, at, {})
    except BadObject as error:
        raise BadObject(f"{wire.named(type(found).__name__, found.metadata)}: {error}") from None
    return selector if selector is not None and selector.requirements else None


def created_of(metadata: wire.Metadata) -> float:
    """Seconds since the epoch, 0 where the object does not say."""
    return seconds_of(metadata.creation_timestamp)


def scheduling_annotations(metadata: wire.Metadata) -> tuple[tuple[str, str], ...]:
    """The annotations that schedulers read, sorted; tools' own annotations are left out."""
    return tuple(
        sorted(
            (key, value)
            for key, value in (metadata.annotations or _NONE).items()
            if "volcano.sh/" in key or key in (EXPECTED_DURATION, USER, "sla-waiting-time")
        )
    )


def flag_of(metadata: wire.Metadata, name: str) -> bool | None:
    """A boolean annotation, else label of that name; raises BadObject where it is not a boolean."""
    for field, values in (("annotations", metadata.annotations), ("labels", metadata.labels)):
        if values is not None and name in values:
            return choice_of(values[name], BOOLEANS, f"metadata.{field}[{name}]", "true or false")
    return None


def is_revocable(metadata: wire.Metadata) -> bool:
    """Whether a pod may use nodes of revocable zones: all of them or none; preemptable by annotation means all."""
    annotations = metadata.annotations
    if annotations is None:
        return False
    zone = annotations.get(REVOCABLE_ZONE)
    return BOOLEANS.get(annotations.get(PREEMPTABLE, ""), False) if zone is None else zone == ANY_ZONE


def integer_of(annotations: Mapping[str, str], name: str) -> int | None:
    """An annotation that holds a 32-bit integer, None where it is absent; raises BadObject."""
    text = annotations.get(name)
    if text is None:
        return None
    value = int(text) if _INTEGER.fullmatch(text) else _INT32
    if not -_INT32 <= value < _INT32:
        raise BadObject(f"metadata.annotations[{name}]: {text[:40]!r} (expected a 32-bit integer)")
    return value


def choice_of(word: str, choices: Mapping[str, bool], at: str, expected: str = "") -> bool:
    """What a word stands for; raises BadObject naming the field and the words that were expected."""
    if word not in choices:
        raise BadObject(f"{at}: {word!r} is unknown (expected {expected or ' or '.join(filter(None, choices))})")
    return choices[word]


def _oversubscribed(metadata: wire.Metadata, axis: ResourceAxis) -> Amounts:
    if BOOLEANS.get((metadata.labels or _NONE).get(OVERSUBSCRIPTION, "")) is not True:
        return NOTHING
    annotations = metadata.annotations or _NONE
    lent: ResourceList = {}
    for key, (resource, suffix) in OVERSUBSCRIBED.items():
        text = annotations.get(key)
        if text is not None:
            if not text.isdecimal():
                raise BadObject(f"metadata.annotations[{key}]: {text!r} (expected a whole number)")
            lent[resource] = text + suffix
    return _amounts(axis, lent, "metadata.annotations")


def _stated(axis: Columns, resources: ResourceList | None, at: str) -> Amounts:
    """Amounts with zeros kept: a limit of none is not the absence of a limit."""
    _bound_amounts(resources, at)
    return tuple(sorted(quantities(axis, resources, at).items()))


def _amounts(axis: Columns, resources: ResourceList | None, at: str) -> Amounts:
    _bound_amounts(resources, at)
    found = quantities(axis, resources, at)
    return tuple(sorted((column, value) for column, value in found.items() if value))


def _bound_amounts(resources: ResourceList | None, at: str) -> None:
    """Raise BadObject where a list names more resources than are read, or one that is no name."""
    read(resources, OFFERED_MAX, at)
    for name in resources or ():
        short(name, at)


def _count(value: int | None, at: str) -> int:
    if value is None:
        return 0
    if not 0 <= value < _INT32:
        raise BadObject(f"{at}: {value} (expected zero or more)")
    return value


def _member(word: str, words: tuple[str, ...], at: str) -> str:
    if word not in words:
        raise BadObject(f"{at}: {word!r} is unknown (expected {', '.join(words)})")
    return word
