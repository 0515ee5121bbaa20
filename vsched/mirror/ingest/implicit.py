"""Jobs that pods of ours stand for which name no PodGroup: what the pods say of one, and what their workload does.

A PodGroup that was made for such pods only records this, so nothing changes for a pod when it appears, is late or is
lost. What pods say goes before what their workload says (reference 5.2, 5.5).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from vsched.errors import BadObject
from vsched.mirror import wire
from vsched.mirror.ingest.annotations import Remarks, expected_seconds_of, job_budget_of, waiting_seconds_of
from vsched.mirror.ingest.bounds import NAME_LENGTH_MAX, short
from vsched.mirror.ingest.metadata import (
    BOOLEANS,
    IMPLIED,
    PREEMPTABLE,
    QUEUE_NAME,
    flag_of,
    integer_of,
    scheduling_annotations,
)
from vsched.model.job import JobSpec
from vsched.model.shared import shared
from vsched.model.status import Phase
from vsched.model.task import Task

GROUP_NAME = "scheduling.k8s.io/group-name"
GROUP_NAME_ALIAS = "scheduling.volcano.sh/group-name"
GROUP_MIN_MEMBER = "scheduling.volcano.sh/group-min-member"

_NONE: Mapping[str, str] = {}


class ImplicitPodGroup(NamedTuple):
    """A job that pods stand for."""

    spec: JobSpec
    speaker: Task
    """The oldest of its pods, which speaks for all."""
    remarks: list[str]
    """What of the workload's annotations cannot be used, and why."""


def group_named(metadata: wire.Metadata) -> str:
    """The PodGroup that a pod names, empty where it names none."""
    annotations = metadata.annotations or _NONE
    return annotations.get(GROUP_NAME) or annotations.get(GROUP_NAME_ALIAS, "")


def controller_of(metadata: wire.Metadata) -> wire.OwnerReference | None:
    """The reference to the object that controls this one, None where nothing does."""
    return next((owner for owner in metadata.owner_references or () if owner.controller and owner.uid), None)


def implied_name(metadata: wire.Metadata) -> str:
    """The name of the PodGroup that a pod stands for, empty where it names another one (reference 5.2)."""
    group = group_named(metadata)
    if group and not group.startswith(IMPLIED):
        return ""
    owner = controller_of(metadata)
    own = IMPLIED + (owner.uid if owner is not None else wire.uid_of(metadata))
    return own if group in ("", own) else ""


def implied_job(pod: wire.Pod, name: str, namespace: str, created: float, remarks: Remarks) -> JobSpec:
    """The job that a pod stands for, as far as the pod says, its queue empty where it names none; raises BadObject."""
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
        implicit=True,
        class_only_named=pod.spec.priority is not None,
    )


def joined(spec: JobSpec, workload: Mapping[str, str], remarks: Remarks) -> JobSpec:
    """The same with what the workload's annotations say where the pod's say nothing; what is wrong is remarked."""
    own = dict(spec.annotations)
    minimum: int | None = spec.min_member
    if GROUP_MIN_MEMBER not in own:
        try:
            minimum = _minimum(workload)
        except BadObject as error:
            remarks.append(f"{error}: passed over")
            minimum = None
    queue = workload.get(QUEUE_NAME, "")
    if len(queue) > NAME_LENGTH_MAX:
        remarks.append(f"metadata.annotations[{QUEUE_NAME}]: {len(queue):,} letters are no name: passed over")
        queue = ""
    return msgspec.structs.replace(
        spec,
        queue=spec.queue or shared(queue),
        min_member=minimum or 1,
        preemptable=BOOLEANS.get(workload.get(PREEMPTABLE, "")) if spec.preemptable is None else spec.preemptable,
        annotations=tuple(sorted((dict(workload) | own).items())),
        waiting_seconds=waiting_seconds_of(workload, remarks) if spec.waiting_seconds is None else spec.waiting_seconds,
        budget=job_budget_of(workload, remarks) if spec.budget is None else spec.budget,
        expected=expected_seconds_of(workload, remarks),
    )


def recorded(group: JobSpec, implied: JobSpec) -> JobSpec:
    """A job that pods stand for, once there is a PodGroup that was made for them: its object, with what they say."""
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
        raise BadObject(f"metadata.annotations[{GROUP_MIN_MEMBER}]: {minimum} (expected 1 or more)")
    return minimum


class PodSpecs:
    """What the pods of one implicit job say of it. They may disagree: the oldest speaks for all, whoever came first."""

    __slots__ = ("speaker", "specs")

    def __init__(self) -> None:
        self.specs: dict[str, JobSpec] = {}
        self.speaker = ""

    def put(self, uid: str, spec: JobSpec) -> bool:
        """Take note of what a pod says; True where that may change what is said for all."""
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
        """A pod is gone; True where that may change what is said for all."""
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
