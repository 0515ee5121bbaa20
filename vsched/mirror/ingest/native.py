"""Kubernetes' own PodGroups and CompositePodGroups to the model, in all versions of their API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from vsched import api
from vsched.api.base import NO_BYTES, ObjectCondition, Raw, moment_of
from vsched.api.native import NativeSpec, SchedulingGroup, workload_of
from vsched.errors import BadObject
from vsched.mirror.ingest.annotations import (
    Remarks,
    expected_seconds_of,
    job_budget_of,
    waiting_seconds_of,
    wall_seconds_of,
)
from vsched.mirror.ingest.bounds import CLAIMS_MAX, CONDITIONS_MAX, read, short
from vsched.mirror.ingest.evictions import checkpoint_of, eviction_terms_of, preemptibility_of
from vsched.mirror.ingest.implicit import controller_of
from vsched.mirror.ingest.metadata import (
    INT32,
    PREEMPTABLE,
    QUEUE_NAME,
    choice_of,
    count_of,
    created_of,
    flag_of,
    naming,
    scheduling_annotations,
)
from vsched.mirror.ingest.rules import decoded
from vsched.mirror.ingest.words import groups as words
from vsched.model.jobs.native import NativeGroup
from vsched.model.jobs.runs import WALL_TIME_OVER
from vsched.model.jobs.spec import Condition, JobSpec
from vsched.model.names import shared
from vsched.model.pods.claims import PodClaims, PodDevices
from vsched.model.pods.status import Phase
from vsched.model.topology.constraints import NetworkTopology

KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
"""The label by which workloads name a queue of Kueue."""
STARTED = frozenset({"PodGroupScheduled", "PodGroupInitiallyScheduled", "CompositePodGroupInitiallyScheduled"})
"""The conditions that say whether a group was scheduled, in all versions."""
WHOLE_MODES = {"Pod": False, "PodGroup": True, "single": False, "all": True}
"""Values of ``disruptionMode``: whether the pods of a group leave together."""
PREEMPTION_POLICIES = {"": True, "PreemptLowerPriority": True, "Never": False}

_NONE: Mapping[str, str] = {}


class QueueNames(NamedTuple):
    """The queue that an object names."""

    annotation: str = ""
    label: str = ""
    """By the label of Kueue, which counts only where no object has the annotation."""


class ClaimEntry(NamedTuple):
    """An entry of ``spec.resourceClaims``, of a PodGroup or of a pod: the pod's is the group's if they are equal."""

    name: str
    claim: str = ""
    """The name of the ResourceClaim; empty where it is made from a template."""
    template: str = ""


class NativeRecord(msgspec.Struct, frozen=True):
    """A PodGroup or a CompositePodGroup by its own fields."""

    spec: JobSpec
    """Its queue is empty: it depends on other objects, too."""
    native: NativeGroup
    queue: QueueNames = QueueNames()
    parent: str = ""
    """The CompositePodGroup that it belongs to."""
    workload: str = ""
    owner: str = ""
    """The uid of its controller."""
    deleting: bool = False
    claims: frozenset[ClaimEntry] = frozenset()
    """The claims that its pods share."""


def queue_names_of(metadata: api.Metadata) -> QueueNames:
    """The queue that an object names by its annotation, and by the label of Kueue; raises BadObject."""
    annotation = (metadata.annotations or _NONE).get(QUEUE_NAME, "")
    label = (metadata.labels or _NONE).get(KUEUE_QUEUE, "")
    if not annotation and not label:
        return NO_QUEUE
    return QueueNames(
        shared(short(annotation, f"metadata.annotations[{QUEUE_NAME}]")),
        shared(short(label, f"metadata.labels[{KUEUE_QUEUE}]")),
    )


NO_QUEUE = QueueNames()


def group_of_pod(raw: Raw) -> str:
    """The native PodGroup that a pod names, empty where it names none; raises BadObject."""
    if raw is NO_BYTES:
        return ""
    found = decoded(raw, SchedulingGroup, "spec.schedulingGroup")
    return "" if found is None else short(found.pod_group_name or "", "spec.schedulingGroup.podGroupName")


def native_record_of(found: api.NativePodGroup | api.CompositePodGroup, remarks: Remarks) -> NativeRecord:
    """What a PodGroup or a CompositePodGroup says; raises BadObject."""
    composite = isinstance(found, api.CompositePodGroup)
    metadata, spec = found.metadata, found.spec
    annotations = metadata.annotations or _NONE
    with naming("CompositePodGroup" if composite else api.NATIVE_POD_GROUP, metadata):
        read(found.status.conditions, CONDITIONS_MAX, "status.conditions")
        gang, minimum = _policy_of(spec, composite)
        said = found.status.conditions or ()
        condition = next((one for one in said if one.type in STARTED), None)
        started = condition is not None and condition.status == "True"
        owner = controller_of(metadata)
        return NativeRecord(
            spec=JobSpec(
                namespace=shared(metadata.namespace or "default"),
                name=metadata.name,
                uid=metadata.uid,
                created=created_of(metadata),
                queue="",
                min_member=minimum,
                priority_class=short(spec.priority_class_name or "", "spec.priorityClassName"),
                phase=Phase.INQUEUE,  # its pods exist when it becomes a job: nothing has to be admitted before
                conditions=(*_conditions_of(condition), *(_as_is(one) for one in said if one.type == WALL_TIME_OVER)),
                preemptable=flag_of(metadata, PREEMPTABLE),
                annotations=scheduling_annotations(metadata),
                waiting_seconds=waiting_seconds_of(annotations, remarks),
                budget=job_budget_of(annotations, remarks),
                expected=expected_seconds_of(annotations, remarks),
                wall_time=wall_seconds_of(annotations, remarks),
                terms=eviction_terms_of(annotations, remarks),
                preemptibility=preemptibility_of(annotations, remarks),
                checkpoint=checkpoint_of(annotations, remarks),
                topology=_topology_of(spec),
            ),
            native=NativeGroup(
                version=found.api_version.rpartition("/")[2],
                generation=metadata.generation,
                started=started,
                composite=composite,
                gang=gang,
                minimum=minimum,
                whole=_is_whole(spec.disruption_mode),
                priority=_priority_of(spec),
                preempts=choice_of(spec.preemption_policy or "", PREEMPTION_POLICIES, "spec.preemptionPolicy"),
            ),
            queue=queue_names_of(metadata),
            parent=short(spec.parent_composite_pod_group_name or "", "spec.parentCompositePodGroupName"),
            workload=short(workload_of(spec), "spec.workloadRef.workloadName"),
            owner="" if owner is None else owner.uid,
            deleting=metadata.deletion_timestamp is not None,
            claims=_claims_of(spec),
        )


def in_group(claims: PodClaims | None, group: NativeRecord | None) -> PodClaims | None:
    """The claims of a pod that is in this group, None for no group: those that it shares say so."""
    if claims is None or not claims.devices:
        return claims
    shares = frozenset[ClaimEntry]() if group is None else group.claims
    uid = "" if group is None else group.spec.uid
    devices = tuple(_in_group(one, uid if _entry_of(one) in shares else "") for one in claims.devices)
    same = all(new is old for new, old in zip(devices, claims.devices, strict=True))
    return claims if same else msgspec.structs.replace(claims, devices=devices)


def _in_group(one: PodDevices, uid: str) -> PodDevices:
    return one if one.group == uid else msgspec.structs.replace(one, group=uid)


def _entry_of(one: PodDevices) -> ClaimEntry:
    return ClaimEntry(one.name, "" if one.template else one.claim_name, one.template)


def _claims_of(spec: NativeSpec) -> frozenset[ClaimEntry]:
    read(spec.resource_claims, CLAIMS_MAX, "spec.resourceClaims")
    return frozenset(
        ClaimEntry(each.name, each.resource_claim_name or "", each.resource_claim_template_name or "")
        for each in spec.resource_claims or ()
    )


def _policy_of(spec: NativeSpec, composite: bool) -> tuple[bool, int]:
    """Whether a group is a gang, and its minimum; raises BadObject."""
    policy, at = spec.scheduling_policy, "spec.schedulingPolicy"
    if policy is None or (policy.basic is None) == (policy.gang is None):
        raise BadObject(words.basic_or_gang(at, "neither" if policy is None or policy.gang is None else "both"))
    if policy.gang is None:
        return False, 1
    field = "minGroupCount" if composite else "minCount"
    minimum = count_of(policy.gang.min_group_count if composite else policy.gang.min_count, f"{at}.gang.{field}")
    if not minimum:
        raise BadObject(words.zero_of_gang(at, field))
    return True, minimum


def _topology_of(spec: NativeSpec) -> NetworkTopology | None:
    constraints = spec.scheduling_constraints
    keys = constraints.topology if constraints is not None else None
    if not keys:
        return None
    if len(keys) > 1:
        raise BadObject(words.not_one_topology_key(len(keys)))
    at = "spec.schedulingConstraints.topology[0].key"
    if not keys[0].key:
        raise BadObject(words.no_topology_key(at))
    return NetworkTopology(hard=True, key=shared(short(keys[0].key, at)))


def _is_whole(raw: Raw) -> bool:
    """Whether the pods of a group leave together: text in v1alpha2, later an object with one field."""
    at = "spec.disruptionMode"
    found = decoded(raw, object, at)
    word = next(iter(found), None) if isinstance(found, dict) else found
    if word is None:
        return False
    if not isinstance(word, str):
        raise BadObject(words.single_or_all(at, word))
    return choice_of(word, WHOLE_MODES, at)


def _priority_of(spec: NativeSpec) -> int | None:
    if spec.priority is not None and not -INT32 <= spec.priority < INT32:
        raise BadObject(words.bad_priority(spec.priority))
    return spec.priority


def _conditions_of(found: ObjectCondition | None) -> tuple[Condition, ...]:
    """The condition of the object as those of Volcano say it."""
    if found is None:
        return ()
    kind = "Scheduled" if found.status == "True" else "Unschedulable"
    return (msgspec.structs.replace(_as_is(found), kind=kind, status="True"),)


def _as_is(found: ObjectCondition) -> Condition:
    since = moment_of(found.last_transition_time)
    return Condition(found.type, found.status, found.reason or "", found.message or "", since)
