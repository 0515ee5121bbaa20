"""The records of a restored mirror that an edit can change, each with what makes it as it was again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from vsched.mirror.ingest.nodes import NodeFacts
from vsched.mirror.ingest.queues import QueueFacts
from vsched.mirror.whatif.restoring import RestoredMirror
from vsched.model.arbitration.records import Arbitration, Ceiling
from vsched.model.jobs.budget import DisruptionBudget
from vsched.model.jobs.job import Job, JobSpec
from vsched.model.pods.task import Task
from vsched.model.queues.queue import PriorityClass, Queue
from vsched.model.queues.quota import Quota
from vsched.model.snapshot import Snapshot


class EditableMirror(RestoredMirror):
    """A mirror made from a snapshot that takes changed records, and remembers what they were."""

    def __init__(self, snapshot: Snapshot, scheduler_names: Iterable[str] = (), default_queue: str = "default") -> None:
        super().__init__(snapshot, scheduler_names, default_queue)
        self.arbitrated: Arbitration | None = snapshot.arbitration
        """What is divided among namespaces."""
        self._undo: list[Callable[[], object]] = []
        """What takes each change back, in the order in which they were made."""

    def mark(self) -> int:
        """A point to go back to."""
        return len(self._undo)

    def take_back(self, mark: int) -> None:
        """Every record is again as it was at this mark."""
        while len(self._undo) > mark:
            self._undo.pop()()

    # What there is

    def job(self, key: str) -> Job | None:
        """A job as it is now, None where there is none of this key; not to be changed."""
        return self._jobs.job(key) if self._jobs.spec(key) is not None else None

    def stray(self, key: str) -> Job | None:
        """The job of pods that name a PodGroup which does not exist, None where there is none of this key."""
        return self._jobs.job(key) if self._jobs.spec(key) is None else None

    def node_facts(self, name: str) -> NodeFacts | None:
        """A node as it is now, None where there is none of this name."""
        return self._nodes.facts(name)

    def queues(self) -> dict[str, Queue]:
        """Every queue that has an object."""
        names = self._defaults.queue_names()
        return {name: facts.queue for name in names if (facts := self._defaults.queue_facts(name)) is not None}

    def quotas(self, namespace: str) -> list[Quota]:
        """The quotas of a namespace."""
        return list(self._quotas.items(namespace).values())

    def budgets(self, namespace: str) -> list[DisruptionBudget]:
        """The disruption budgets of a namespace."""
        return list(self._budgets.items(namespace).values())

    def ceiling(self, namespace: str) -> Ceiling | None:
        """How much a namespace may hold, None where nobody says."""
        return self._ceilings.get(namespace)

    # Changes

    def put_tasks(self, tasks: Iterable[Task]) -> None:
        """Pods are now these; those that are not there yet come."""
        changed = [(task, self.task(task.uid)) for task in tasks]
        for task, before in changed:
            self._restore(task, task if before is None else before)

        def undo() -> None:
            # In the order in which they were changed: their order in their job is as it was.
            for task, before in changed:
                if before is None:
                    self._pods.drop(task.uid)
                else:
                    self._restore(before, before)

        self._undo.append(undo)

    def restate(self, key: str, spec: JobSpec, priority: int | None = None) -> None:
        """A job says this from now on; its priority is that of its class unless another one is given."""
        job = self._jobs.job(key)
        assert job is not None, key
        before = None if self._jobs.spec(key) is None else job.spec
        self._undo.append(partial(self._jobs.restate, key, before, self._jobs.given.get(key)))
        self._jobs.restate(key, spec, priority)

    def enter(self, key: str, phase: str) -> None:
        """A PodGroup has this phase from now on."""
        self._groups.enter(key, phase)

    def put_class(self, found: PriorityClass) -> None:
        """A priority class is there; one of this name that was there before stays as it is."""
        if found.name not in self._defaults.classes():
            self._defaults.put_class(found)
            self._undo.append(partial(self._defaults.drop, "PriorityClass", found.name))

    def put_node(self, facts: NodeFacts) -> None:
        """A node is now this; one that is not there yet comes, empty."""
        name = facts.attributes.name
        before = self._nodes.facts(name)
        self._nodes.see(facts)
        self._undo.append(partial(self._nodes.lose, name) if before is None else partial(self._nodes.see, before))

    def put_queue(self, queue: Queue) -> None:
        """A queue is now this; where its priority comes from stays."""
        before = self._defaults.queue_facts(queue.name)
        self._defaults.put_queue(QueueFacts(queue, None, "") if before is None else before._replace(queue=queue))
        undo = partial(self._defaults.drop, "Queue", queue.name)
        self._undo.append(undo if before is None else partial(self._defaults.put_queue, before))

    def put_quota(self, namespace: str, quota: Quota) -> None:
        """A quota that is there is now this."""
        key = f"{namespace}/{quota.name}"
        self._undo.append(partial(self._quotas.put, namespace, key, self._quotas.items(namespace)[key]))
        self._quotas.put(namespace, key, quota)

    def put_budget(self, namespace: str, budget: DisruptionBudget) -> None:
        """A disruption budget that is there is now this."""
        key = f"{namespace}/{budget.name}"
        self._undo.append(partial(self._budgets.put, namespace, key, self._budgets.items(namespace)[key]))
        self._budgets.put(namespace, key, budget)

    def put_arbitration(self, arbitrated: Arbitration) -> None:
        """This is divided among namespaces from now on."""
        self._undo.append(partial(setattr, self, "arbitrated", self.arbitrated))
        self.arbitrated = arbitrated

    def put_ceiling(self, namespace: str, ceiling: Ceiling) -> None:
        """A namespace may hold this from now on."""
        self._undo.append(partial(self.set_ceilings, self._ceilings, self._pools))
        self.set_ceilings({**self._ceilings, namespace: ceiling}, self._pools)

    def _restore(self, task: Task, like: Task) -> None:
        """Store a pod; what it says of the job that it stands for is what another one says."""
        self._pods.restore(task, self._jobs.implicit_of(like))
