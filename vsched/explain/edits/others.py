"""Edits of other jobs, and of missing objects that the waiting job names."""

from __future__ import annotations

from vsched.errors import BadInput
from vsched.explain.edits.base import Before, ClusterEdit, Edit, JobEdit
from vsched.explain.edits.jobs import SetPriority, known_job
from vsched.explain.words import edits as words
from vsched.explain.words.lines import created, line
from vsched.explain.words.phrases import jobs_text
from vsched.mirror.whatif import words as refusals
from vsched.mirror.whatif.records import EditableMirror
from vsched.model.jobs.native import native_name
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.status import Status
from vsched.model.queues.queue import PriorityClass
from vsched.model.snapshot import Snapshot


class EndJobs(ClusterEdit, frozen=True, tag="endJobs"):
    """End other jobs: all their pods leave."""

    jobs: tuple[str, ...]

    def apply(self, cluster: EditableMirror) -> None:
        for key in self.jobs:
            tasks = known_job(cluster, key).tasks.values()
            cluster.put_tasks([task.moved(Status.SUCCEEDED, task.node) for task in tasks])

    def sentence(self, before: Before) -> str:
        return words.end_of(jobs_text(before.snapshot, self.jobs))


class CreatePriorityClass(ClusterEdit, frozen=True, tag="createPriorityClass"):
    """Create a priority class."""

    name: str
    value: int

    def apply(self, cluster: EditableMirror) -> None:
        cluster.put_class(PriorityClass(self.name, self.value))

    def sentence(self, before: Before) -> str:
        return words.priority_class_created(self.name, self.value)

    def lines(self, snapshot: Snapshot) -> list[str]:
        return [line("kubectl", "create", "priorityclass", self.name, f"--value={self.value}")]

    def is_named_by(self, other: Edit) -> bool:
        return isinstance(other, SetPriority) and other.priority_class == self.name


class CreatePodGroup(ClusterEdit, frozen=True, tag="createPodGroup"):
    """Create a PodGroup that pods name and that does not exist."""

    job: str
    queue: str
    minimum: int = 1

    def apply(self, cluster: EditableMirror) -> None:
        if cluster.stray(self.job) is None:
            raise BadInput(refusals.no_pods_without_podgroup(self.job))
        namespace, _, name = self.job.partition("/")
        now = cluster.origin.now
        cluster.restate(self.job, JobSpec(namespace, name, created=now, queue=self.queue, min_member=self.minimum))

    def sentence(self, before: Before) -> str:
        return words.podgroup_created(self.job, self.queue)

    def lines(self, snapshot: Snapshot) -> list[str]:
        if native_name(self.job) is not None:
            return []  # whoever makes the pods makes it
        namespace, _, name = self.job.partition("/")
        spec = {"queue": self.queue, "minMember": self.minimum}
        return [created("PodGroup", {"namespace": namespace, "name": name}, spec)]

    def is_named_by(self, other: Edit) -> bool:
        return isinstance(other, JobEdit) and other.job == self.job
