"""Implicit PodGroups: jobs of pods that name no PodGroup, from annotations of the pods and of their workload.

A PodGroup object that is made for such pods only records the implicit one, so it may be late or lost. Annotations of
pods take precedence over those of their workload.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from vsched import api
from vsched.errors import BadObject
from vsched.mirror.ingest.annotations import (
    Remarks,
    expected_seconds_of,
    job_budget_of,
    waiting_seconds_of,
    wall_seconds_of,
)
from vsched.mirror.ingest.bounds import NAME_LENGTH_MAX, short
from vsched.mirror.ingest.closeness import TOPOLOGY_TIER, annotated_topology
from vsched.mirror.ingest.evictions import eviction_terms_of, preemptibility_of
from vsched.mirror.ingest.metadata import (
    BOOLEANS,
    IMPLIED,
    PREEMPTABLE,
    QUEUE_NAME,
    flag_of,
    integer_of,
    maker_of,
    scheduling_annotations,
)
from vsched.mirror.ingest.task_topology import task_topology_of
from vsched.mirror.ingest.words import groups as words
from vsched.model.jobs.spec import JobSpec
from vsched.model.names import shared
from vsched.model.pods.status import Phase
from vsched.model.pods.task import Task

GROUP_NAME = "scheduling.k8s.io/group-name"
GROUP_NAME_ALIAS = "scheduling.volcano.sh/group-name"
GROUP_MIN_MEMBER = "scheduling.volcano.sh/group-min-member"

SAID = (GROUP_MIN_MEMBER, QUEUE_NAME, TOPOLOGY_TIER)
"""Annotations whose place matters to whoever is to change them."""

_NONE: Mapping[str, str] = {}


class ImplicitPodGroup(NamedTuple):
    """A job of pods that name no PodGroup."""

    spec: JobSpec
    speaker: Task
    """The oldest of its pods, whose annotations count for all."""
    remarks: list[str]
    """Which of the workload's annotations cannot be used, and why."""
    roles: Mapping[str, Task] = {}
    """A pod of each role, where the job has minima by role."""


def group_named(metadata: api.Metadata) -> str:
    """The PodGroup that a pod names, empty where it names none."""
    annotations = metadata.annotations or _NONE
    return annotations.get(GROUP_NAME) or annotations.get(GROUP_NAME_ALIAS, "")


def controller_of(metadata: api.Metadata) -> api.OwnerReference | None:
    """The owner reference of the controller, None without one."""
    for owner in metadata.owner_references or ():
        if owner.controller and owner.uid:
            return owner
    return None


def implied_name(metadata: api.Metadata) -> str:
    """The name of a pod's implicit PodGroup, empty where the pod names another one."""
    return own_name(metadata, group_named(metadata))


def own_name(metadata: api.Metadata, group: str) -> str:
    """The same, given the PodGroup that the pod names."""
    if group and not group.startswith(IMPLIED):
        return ""
    own = plain_name(metadata)
    return own if group in ("", own) else ""


def plain_name(metadata: api.Metadata) -> str:
    """The name of the implicit PodGroup by a pod's controller alone, or by the pod where it has none."""
    owner = controller_of(metadata)
    return IMPLIED + (owner.uid if owner is not None else api.uid_of(metadata))


def implied_job(pod: api.Pod, name: str, namespace: str, created: float, remarks: Remarks) -> JobSpec:
    """The implicit PodGroup by a pod's own fields; its queue is empty where the pod names none. Raises BadObject."""
    metadata = pod.metadata
    annotations = metadata.annotations or _NONE
    return JobSpec(
        namespace=namespace,
        name=name,
        created=created,
        queue=shared(short(annotations.get(QUEUE_NAME, ""), f"metadata.annotations[{QUEUE_NAME}]")),
        min_member=_minimum(annotations) or 1,
        priority_class=pod.spec.priority_class_name or "",
        phase=Phase.INQUEUE,
        preemptable=flag_of(metadata, PREEMPTABLE),
        annotations=scheduling_annotations(metadata),
        waiting_seconds=waiting_seconds_of(annotations, remarks),
        budget=job_budget_of(annotations, remarks),
        task_topology=task_topology_of(annotations, remarks),
        wall_time=wall_seconds_of(annotations, remarks),
        terms=eviction_terms_of(annotations, remarks),
        preemptibility=preemptibility_of(annotations, remarks),
        topology=annotated_topology(annotations, []),
        implicit=True,
        made_for=maker_of(name, metadata),
        said_by_pods=tuple([one for one in SAID if one in annotations]),
        class_only_named=pod.spec.priority is not None,
    )


def joined(spec: JobSpec, workload: Mapping[str, str], remarks: Remarks) -> JobSpec:
    """The spec completed by the workload's annotations where the pod has none; invalid ones get a remark."""
    own = dict(spec.annotations)
    annotations = dict(workload) | own
    minimum: int | None = spec.min_member
    if GROUP_MIN_MEMBER not in own:
        try:
            minimum = _minimum(workload)
        except BadObject as error:
            remarks.append(f"{error}: ignored")
            minimum = None
    queue = workload.get(QUEUE_NAME, "")
    if len(queue) > NAME_LENGTH_MAX:
        remarks.append(words.no_queue_name(QUEUE_NAME, len(queue)))
        queue = ""
    return msgspec.structs.replace(
        spec,
        queue=spec.queue or shared(queue),
        min_member=minimum or 1,
        preemptable=BOOLEANS.get(workload.get(PREEMPTABLE, "")) if spec.preemptable is None else spec.preemptable,
        annotations=tuple(sorted(annotations.items())),
        waiting_seconds=waiting_seconds_of(workload, remarks) if spec.waiting_seconds is None else spec.waiting_seconds,
        budget=job_budget_of(workload, remarks) if spec.budget is None else spec.budget,
        expected=expected_seconds_of(workload, remarks),
        wall_time=spec.wall_time or wall_seconds_of(workload, remarks),
        topology=annotated_topology(annotations, remarks),
        terms=spec.terms.or_else(eviction_terms_of(workload, remarks)),
        preemptibility=spec.preemptibility or preemptibility_of(workload, remarks),
        task_topology=task_topology_of(workload, remarks) if spec.task_topology is None else spec.task_topology,
    )


def recorded(group: JobSpec, implied: JobSpec) -> JobSpec:
    """The implicit PodGroup with the status of the PodGroup object that was made for it."""
    return msgspec.structs.replace(
        implied,
        uid=group.uid,
        created=min(group.created, implied.created),
        phase=group.phase,
        written_phase=group.written_phase,
        conditions=group.conditions,
        running=group.running,
        succeeded=group.succeeded,
        failed=group.failed,
        implicit=False,
        made=True,
    )


def _minimum(annotations: Mapping[str, str]) -> int | None:
    minimum = integer_of(annotations, GROUP_MIN_MEMBER)
    if minimum is not None and minimum < 1:
        raise BadObject(words.minimum_below_one(GROUP_MIN_MEMBER, minimum))
    return minimum


class PodSpecs:
    """The specs by the pods of one implicit PodGroup. If they differ, the oldest pod's counts."""

    __slots__ = ("speaker", "specs")

    def __init__(self) -> None:
        self.specs: dict[str, JobSpec] = {}
        self.speaker = ""

    def put(self, uid: str, spec: JobSpec) -> bool:
        """Set a pod's spec; True where that may change the spec that counts."""
        if self.specs.get(uid) == spec:
            return False
        self.specs[uid] = spec
        if self.speaker == uid:
            self._choose()
            return True
        if not self.speaker or self._age(uid) < self._age(self.speaker):
            self.speaker = uid
            return True
        return False

    def drop(self, uid: str) -> bool:
        """A pod is gone; True where that may change the spec that counts."""
        if self.specs.pop(uid, None) is None or self.speaker != uid:
            return False
        self._choose()
        return True

    def _choose(self) -> None:
        self.speaker = min(self.specs, key=self._age, default="")

    def _age(self, uid: str) -> tuple[float, str]:
        return self.specs[uid].created, uid


def said_by_pods(spec: JobSpec, tasks: Mapping[str, Task]) -> PodSpecs:
    """What each pod says of the job that they stand for, given what all of them say together."""
    alone = msgspec.structs.replace(
        spec,
        uid="",
        phase=Phase.INQUEUE,
        written_phase="",
        conditions=(),
        running=0,
        succeeded=0,
        failed=0,
        min_resources=None,
        implicit=True,
        made=False,
    )
    said = PodSpecs()
    for uid, task in tasks.items():
        said.put(uid, msgspec.structs.replace(alone, created=task.created))
    return said
