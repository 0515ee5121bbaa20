"""Every pod as snapshots show it: each change goes to the stores of jobs, and of what pods use, as well."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from cachetools import LRUCache

from vsched.mirror.ingest.shape import Shaper
from vsched.mirror.state.assumed import AssumedTasks
from vsched.mirror.state.jobs import JobStore
from vsched.mirror.state.pod_uses import PodUses
from vsched.mirror.state.refused_bindings import RefusedBindings
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

TRIED_MAX = 10_000
"""How many pods with failed bindings are remembered."""


class PodRecords:
    """Every pod that uses a node or waits for one, by uid."""

    def __init__(self, tasks: dict[str, Task], uses: PodUses, jobs: JobStore, shaper: Shaper) -> None:
        self.tasks = tasks
        self.uses = uses
        self.jobs = jobs
        self._shaper = shaper
        self.refused = RefusedBindings()
        self.assumed = AssumedTasks()
        self.classless: dict[str, tuple[bool, str]] = {}
        """Pods with the priority of their class: whether each is gated, and its unsupported features."""
        self.tried: LRUCache[tuple[str, str], None] = LRUCache(TRIED_MAX)
        """Pods (by uid) and nodes that they were to be bound to where that failed, or seemed to: an answer that was
        lost may have been a yes."""

    def adopt(self, tasks: dict[str, Task]) -> None:
        """Take over the pods that another mirror knows; the stores of jobs and nodes have them already."""
        self.tasks.update(tasks)
        self._shaper.table.adopt(dict.fromkeys(task.shape for task in tasks.values()))

    def restore(self, task: Task, implicit: JobSpec | None) -> None:
        """A pod as it is on paper, and the job it stands for where it names none."""
        self.store(task)
        self.jobs.imply(task, implicit)

    def drop(self, uid: str) -> bool:
        """A pod is gone, with all assumptions about it; True where it was known."""
        task = self.tasks.pop(uid, None)
        self.assumed.drop(uid)
        self.classless.pop(uid, None)
        if task is None:
            return False
        self.uses.drop(task)
        self.jobs.drop(task)
        return True

    def show(self, task: Task | None) -> bool:
        """Store the pod as it is to be seen, if there is anything new to see."""
        if task is None:
            return False
        self.store(task)
        return True

    def store(self, task: Task) -> None:
        """Show a pod as it is now."""
        before = self.tasks.get(task.uid)
        if before is not None and before.job != task.job:
            self.jobs.drop(before)
        self.tasks[task.uid] = task
        self.uses.move(before, task)
        self.jobs.put(task)

    def exclude_nodes(self, uids: Iterable[str]) -> None:
        """Keep these pods from the nodes that are known to refuse them, and from no others."""
        for uid in uids:
            self.assumed.reprice((uid,), self.with_exclusions)
            task = self.tasks.get(uid)
            if task is not None:
                excluding = self.with_exclusions(task)
                if excluding is not task:
                    self.store(excluding)

    def with_exclusions(self, task: Task) -> Task:
        """The pod with the nodes that it is excluded from, while it has none."""
        nodes = self.refused.nodes(task.uid) if task.status in (Status.PENDING, Status.BINDING) else ()
        rules = task.shape.rules
        if rules.refused == nodes:
            return task
        shape = self._shaper.table.with_rules(task.shape, msgspec.structs.replace(rules, refused=nodes))
        return msgspec.structs.replace(task, shape=shape)
