"""Edits of the PodGroup of a job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from msgspec.structs import replace

from vsched.errors import BadInput
from vsched.explain.edits.base import Before, JobEdit, without
from vsched.explain.words import edits as words
from vsched.explain.words.lines import PODS_MAX, is_plain, line, patch, quantities
from vsched.explain.words.owners import annotation_of, told_of
from vsched.explain.words.phrases import amounts_text, jobs_text, limit_of, minimum_of, with_less
from vsched.mirror.ingest.closeness import TOPOLOGY_TIER
from vsched.mirror.ingest.implicit import GROUP_MIN_MEMBER
from vsched.mirror.ingest.metadata import QUEUE_NAME
from vsched.mirror.whatif import words as refusals
from vsched.mirror.whatif.records import EditableMirror
from vsched.model.amounts.resources import Amounts, ResourceAxis
from vsched.model.jobs.job import Job
from vsched.model.jobs.native import API_GROUP, NativeGroup, NativeName, native_name, with_minimum
from vsched.model.jobs.spec import JobSpec
from vsched.model.snapshot import Snapshot
from vsched.model.topology.constraints import NetworkTopology

PODGROUPS = "podgroups.scheduling.volcano.sh"
NATIVE_PODGROUPS, COMPOSITES = f"podgroups.{API_GROUP}", f"compositepodgroups.{API_GROUP}"
VOLCANO_JOBS = "jobs.batch.volcano.sh"
Fields = dict[str, Any]


def known_job(cluster: EditableMirror, key: str) -> Job:
    """The job; raises BadInput if there is none."""
    job = cluster.job(key)
    if job is None:
        raise BadInput(refusals.no_job(key))
    return job


def restate(cluster: EditableMirror, job: Job, **fields: object) -> None:
    """Change fields of what a job states."""
    cluster.restate(job.key, replace(job.spec, **fields))


def lowered(spec: JobSpec, less: Mapping[str, int], axis: ResourceAxis) -> Amounts | None:
    """The ``minResources`` of a job with these amounts; as they are where the job states none."""
    if spec.min_resources is None or not less:
        return spec.min_resources
    found = {axis.find(name): amount for name, amount in less.items()}
    return tuple((column, found.get(column, amount)) for column, amount in spec.min_resources)


class GroupEdit(JobEdit, frozen=True):
    """An edit of a PodGroup, in the object that states it: its own, a vcjob, or the owner of its pods."""

    def phrase(self, before: Before, spec: JobSpec) -> str:
        """The sentence, unless an annotation of the owner or the pods makes the edit."""
        raise NotImplementedError

    def annotation(self) -> tuple[str, str]:
        """The annotation of the owner, or of the pods, that makes the edit, and its value; empty for none."""
        return "", ""

    def fewer(self, spec: JobSpec) -> str:
        """What is said after the annotation."""
        return ""

    def fields(self, spec: JobSpec) -> Fields:
        """The fields of the PodGroup's spec; empty if a patch cannot make the edit."""
        return {}

    def group_lines(self, spec: JobSpec) -> list[str]:
        """The commands for a PodGroup of Volcano."""
        fields = self.fields(spec)
        return [patch(PODGROUPS, self.job, {"spec": fields})] if fields else []

    def native_lines(self, name: NativeName, native: NativeGroup) -> list[str]:
        """The commands for a native PodGroup, of which little can change."""
        return []

    def vcjob_fields(self, spec: JobSpec) -> Fields:
        """The fields of the spec of the Volcano Job that writes the PodGroup, with ``minResources`` from its tasks."""
        return {}

    def vcjob_lines(self, spec: JobSpec) -> list[str]:
        """The commands for the Volcano Job whose controller writes the PodGroup."""
        key, fields = f"{spec.namespace}/{spec.written_for}", self.vcjob_fields(spec)
        return [patch(VOLCANO_JOBS, key, {"spec": fields})] if fields and is_plain(key) else []

    def sentence(self, before: Before) -> str:
        spec = before.snapshot.jobs[self.job].spec
        noted = annotation_of(spec, *self.annotation())
        return self.phrase(before, spec) if noted is None else f"{told_of(noted, spec.namespace)}{self.fewer(spec)}"

    def lines(self, snapshot: Snapshot) -> list[str]:
        job = snapshot.jobs[self.job]
        if job.spec.follows:
            return self._annotated(job)
        if job.spec.native is not None:
            name = native_name(self.job)
            return [] if name is None else self.native_lines(name, job.spec.native)
        return self.vcjob_lines(job.spec) if job.spec.written_for else self.group_lines(job.spec)

    def _annotated(self, job: Job) -> list[str]:
        noted = annotation_of(job.spec, *self.annotation())
        if noted is None:
            return []
        kind, _, name = noted.owner.partition(" ")
        names = [name] if name else sorted(task.name for task in job.tasks.values())
        if len(names) > PODS_MAX or not is_plain((kind, *names)):
            return []
        wanted = f"{noted.annotation}={noted.value}"
        where = "-n", job.spec.namespace
        return [line("kubectl", "annotate", kind.lower() or "pod", *names, *where, wanted, "--overwrite")]


def native_kind(name: NativeName) -> str:
    """The resource of a native PodGroup."""
    return COMPOSITES if name.composite else NATIVE_PODGROUPS


class MinimumEdit(GroupEdit, frozen=True):
    """Lower the ``minMember`` of a gang."""

    minimum: int
    min_resources: dict[str, int] = {}
    """The new ``minResources`` by resource; empty if the job states none."""

    def apply(self, cluster: EditableMirror) -> None:
        job = known_job(cluster, self.job)
        stated = lowered(job.spec, self.min_resources, cluster.axis)
        # The annotation with the minimum of a job that follows from its pods takes the place of minima of roles.
        roles = () if job.spec.follows else job.spec.min_task_member
        restate(cluster, job, min_member=self.minimum, min_task_member=roles, min_resources=stated)

    def fields(self, spec: JobSpec) -> Fields:
        amounts = quantities(self.min_resources)
        return {"minMember": self.minimum} | ({"minResources": amounts} if amounts else {})

    def native_lines(self, name: NativeName, native: NativeGroup) -> list[str]:
        if not native.has_mutable_minimum:
            return []
        return [patch(native_kind(name), f"{name.namespace}/{name.name}", with_minimum(self.minimum))]

    def vcjob_fields(self, spec: JobSpec) -> Fields:
        return {"minAvailable": self.minimum}

    def smaller(self) -> Iterator[MinimumEdit]:
        for name in self.min_resources:
            yield replace(self, min_resources=without(self.min_resources, name))


class SetMinMember(MinimumEdit, frozen=True, tag="minMember"):
    """Lower the ``minMember`` of a gang."""

    def phrase(self, before: Before, spec: JobSpec) -> str:
        phrase = words.minimum(minimum_of(spec), self.minimum, spec.min_member - self.minimum)
        return phrase + with_less(spec, self.min_resources)

    def annotation(self) -> tuple[str, str]:
        return GROUP_MIN_MEMBER, str(self.minimum)

    def fewer(self, spec: JobSpec) -> str:
        return words.fewer(spec.min_member - self.minimum)


class SetVictimMinimum(MinimumEdit, frozen=True, tag="victimMinimum"):
    """Lower the ``minMember`` of a running job, so that other jobs can preempt or reclaim more of its pods."""

    own: ClassVar[bool] = False

    def phrase(self, before: Before, spec: JobSpec) -> str:
        named = jobs_text(before.snapshot, (self.job,))
        phrase = words.minimum_of_job(minimum_of(spec), self.minimum, named, spec.min_member)
        return phrase + with_less(spec, self.min_resources)


class SetMinResources(GroupEdit, frozen=True, tag="minResources"):
    """Lower the ``minResources`` of a job, by resource; resources that are not named stay."""

    amounts: dict[str, int]

    def apply(self, cluster: EditableMirror) -> None:
        job = known_job(cluster, self.job)
        restate(cluster, job, min_resources=lowered(job.spec, self.amounts, cluster.axis))

    def phrase(self, before: Before, spec: JobSpec) -> str:
        return words.min_resources(amounts_text(self.amounts))

    def fields(self, spec: JobSpec) -> Fields:
        return {"minResources": quantities(self.amounts)}

    def smaller(self) -> Iterator[SetMinResources]:
        for name in self.amounts if len(self.amounts) > 1 else ():
            yield replace(self, amounts=without(self.amounts, name))


class SetRoleMinimum(GroupEdit, frozen=True, tag="roleMinimum"):
    """Lower the minimum of one role of a gang (``minTaskMember``)."""

    role: str
    minimum: int
    members: int
    """The new ``minMember`` of the whole gang."""

    def apply(self, cluster: EditableMirror) -> None:
        job = known_job(cluster, self.job)
        minima = {**dict(job.spec.min_task_member), self.role: self.minimum}
        restate(cluster, job, min_task_member=tuple(sorted(minima.items())), min_member=self.members)

    def phrase(self, before: Before, spec: JobSpec) -> str:
        fewer = dict(spec.min_task_member).get(self.role, 0) - self.minimum
        if spec.written_for:
            return words.minimum_of_task(self.minimum, self.role, fewer)
        return words.minimum_of_role(self.minimum, self.role, fewer, self.members)

    def fields(self, spec: JobSpec) -> Fields:
        return {"minMember": self.members, "minTaskMember": {self.role: self.minimum}}


class SetJobQueue(GroupEdit, frozen=True, tag="jobQueue"):
    """Move a job to another queue."""

    queue: str
    once: ClassVar[bool] = True

    def apply(self, cluster: EditableMirror) -> None:
        restate(cluster, known_job(cluster, self.job), queue=self.queue)

    def phrase(self, before: Before, spec: JobSpec) -> str:
        return words.as_its_queue(self.queue)

    def annotation(self) -> tuple[str, str]:
        return QUEUE_NAME, self.queue

    def fields(self, spec: JobSpec) -> Fields:
        return {"queue": self.queue}

    def native_lines(self, name: NativeName, native: NativeGroup) -> list[str]:
        wanted = f"{QUEUE_NAME}={self.queue}"
        where = "-n", name.namespace
        return [line("kubectl", "annotate", native_kind(name), name.name, *where, wanted, "--overwrite")]

    def vcjob_lines(self, spec: JobSpec) -> list[str]:
        """The PodGroup of a vcjob may have another queue."""
        return self.group_lines(spec)


class SetPriority(GroupEdit, frozen=True, tag="priority"):
    """Give a job another priority."""

    priority: int
    priority_class: str = ""
    """The priority class of that value; empty to set the priority alone."""
    once: ClassVar[bool] = True

    def apply(self, cluster: EditableMirror) -> None:
        spec = known_job(cluster, self.job).spec
        other = replace(spec, priority_class=self.priority_class or spec.priority_class)
        cluster.restate(self.job, other, self.priority)

    def phrase(self, before: Before, spec: JobSpec) -> str:
        if self.priority_class:
            return words.priority_class(self.priority_class)
        return words.priority(self.priority, before.snapshot.jobs[self.job].priority)

    def fields(self, spec: JobSpec) -> Fields:
        return {"priorityClassName": self.priority_class} if self.priority_class else {}

    vcjob_fields = fields


class SetHighestTier(GroupEdit, frozen=True, tag="highestTier"):
    """Let the pods of a job be in one domain of a higher tier (``networkTopology.highestTierAllowed``)."""

    tier: int

    def apply(self, cluster: EditableMirror) -> None:
        job = known_job(cluster, self.job)
        if job.spec.topology is None:
            raise BadInput(refusals.no_network_topology(self.job))
        restate(cluster, job, topology=wider(job.spec.topology, self.tier))

    def phrase(self, before: Before, spec: JobSpec) -> str:
        return words.highest_tier(self.tier, limit_of(spec.topology))

    def annotation(self) -> tuple[str, str]:
        return TOPOLOGY_TIER, str(self.tier)

    def fields(self, spec: JobSpec) -> Fields:
        """The tier by its number; a tier that was given by name goes, because both together are refused."""
        named = spec.topology is not None and bool(spec.topology.tier_name)
        limit: Fields = {"highestTierAllowed": self.tier} | ({"highestTierName": None} if named else {})
        return {"networkTopology": limit}

    vcjob_fields = fields


def wider(topology: NetworkTopology, tier: int) -> NetworkTopology:
    """The topology with a higher tier allowed."""
    return replace(topology, highest_tier=tier, tier_name="")
