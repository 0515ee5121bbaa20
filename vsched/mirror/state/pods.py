"""All pods: as last watched, and over that what is assumed. Changes are passed to the stores of nodes and jobs.

Methods that take in objects return whether that can matter to scheduling.
"""

from __future__ import annotations

from collections.abc import Mapping

from vsched.errors import UNUSABLE, NoColumn
from vsched.mirror import wire
from vsched.mirror.state.decided_pods import DecidedPods
from vsched.mirror.state.pod_changes import matters, says_the_same
from vsched.model.jobs.durations import Learnt
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

ENDED = (Status.SUCCEEDED, Status.FAILED)


class PodStore(DecidedPods):
    """Every pod, as the watch says, and as it is decided."""

    def put(self, uid: str, pod: wire.Pod, remarks: list[str]) -> bool:
        """Take in a pod. Raises BadObject; then only its usage of its node counts.

        Raises NoColumn where it is to be read again once there is a column for each resource that it requests.
        """
        try:
            facts = self._reader.read(pod)
        except UNUSABLE as error:
            self.drop(uid)
            occupant = self._reader.occupant(pod)
            if occupant is not None:
                self._store(occupant.task)
                if occupant.lacks_column:
                    raise NoColumn(wire.complaint("Pod", pod.metadata, error)) from error
            raise
        if facts is None:
            return self.drop(uid)
        remarks.extend(facts.remarks)
        task, implicit = facts.task, facts.implicit
        if self._gangs.has(uid):
            task, implicit = self._gangs.placed(task, implicit)
        task = self._joined(task) if task.group else task
        task = self._answered(task) if task.asked is not None else task
        task = self._with_exclusions(task)
        if facts.needs_class:
            self._classless[uid] = task.gated, task.unsupported
            task = self._with_class(task)
        else:
            self._classless.pop(uid, None)
        before = self._tasks.get(uid)
        if before is not None and before.shape.rules.refused and _has_changed(before, task):
            self.refused.drop(uid)
            task = self._with_exclusions(task)
        task = self._assumed.overlay(task, self._seen.version(uid))
        if before is not None and says_the_same(before, task) and self._jobs.implicit_of(before) == implicit:
            return False
        if before is not None and before.status is Status.BINDING and task.status is not Status.BINDING:
            self.on_arrival(uid)
        if task.status in ENDED:
            self.claims.forget(uid)
        if before is not None and self._reader.is_ours(pod) and self._is_foreign(before, task):
            self.on_foreign(task)
        self._store(task)
        self._jobs.imply(task, implicit)
        if task.finished and task.job and (before is None or not before.finished):
            self._unlearnt.append(task)
        if before is None or matters(before, task):
            return True
        if before.status is not task.status and task.status is Status.RUNNING:
            self.on_start()
        return False

    def found_bound(self, uid: str, node: str) -> bool:
        """The API server says that the pod is on this node already. Unless we tried before, it is foreign.

        Until the watch shows it, it is assumed there; True where it was assumed on another node.
        """
        task = self._tasks.get(uid)
        if task is None:
            return False
        moves = task.status is Status.BINDING and task.node != node
        if moves:
            task = self._assumed.begin(task, Status.BINDING, node)
            self._store(task)
            self.claims.forget(uid)
        if self._tried.get(uid) != node:
            self.on_foreign(task)
        return moves

    def _is_foreign(self, before: Task, after: Task) -> bool:
        """Whether a pod that waited has a node which we did not choose."""
        waited = before.status in (Status.PENDING, Status.BINDING) and bool(after.node)
        return waited and after.node not in (before.node, self._tried.get(after.uid))

    def learn(self) -> Mapping[str, Learnt]:
        """Learnt durations, with pods that finished since the last call; valid until the next call."""
        for task in self._unlearnt:
            spec = self._jobs.spec(task.job)
            if spec is not None:
                self._durations.learn(spec, task)
        self._unlearnt.clear()
        return self._durations.publish()

    def adopt(self, tasks: dict[str, Task]) -> None:
        """Take over the pods that another mirror knows; the stores of jobs and nodes have them already."""
        self._tasks = tasks
        self._reader.shaper.table.adopt(dict.fromkeys(task.shape for task in tasks.values()))

    def restore(self, task: Task, implicit: JobSpec | None) -> None:
        """A pod as it is on paper, and the job it stands for where it names none."""
        self._store(task)
        self._jobs.imply(task, implicit)


def _has_changed(before: Task, after: Task) -> bool:
    """Whether a pod that waits asks for something else than before, or has other labels."""
    return after.status is Status.PENDING and (before.shape is not after.shape or before.labels is not after.labels)
