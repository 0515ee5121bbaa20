"""A cycle as the checker reads it: the cluster before, what was decided, and the cluster after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from vsched.model.amounts.resources import PODS, Amounts, Vector, add, subtract
from vsched.model.jobs.job import Job
from vsched.model.nodes.table import NodeAttributes
from vsched.model.plan import CycleReport, Evict
from vsched.model.pods.status import HOLDS, Status
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot
from vsched.proof.facts import Facts

TAKING = frozenset({"preempt", "reclaim", "gangpreempt", "gangreclaim"})
"""Actions that evict pods for others."""


class Cycle:
    """A snapshot, the facts of a policy, and the report of what was decided."""

    def __init__(self, snapshot: Snapshot, facts: Facts, report: CycleReport) -> None:
        self.snapshot, self.facts, self.report = snapshot, facts, report
        self.names = snapshot.axis.names
        self.jobs = snapshot.jobs
        self.nodes: dict[str, NodeAttributes] = {node.name: node for node in snapshot.nodes.statics.attributes}
        self.idle: dict[str, Vector] = {}
        """By node: what no pod held when the cycle began."""
        self.leaving: dict[str, Vector] = {}
        """By node: what pods held that were leaving; a slot of theirs is free only once they are gone."""
        for row, name in enumerate(snapshot.nodes.statics.names):
            columns = range(snapshot.nodes.width)
            self.idle[name] = {column: int(snapshot.nodes.idle[column, row]) for column in columns}
            self.leaving[name] = {column: int(snapshot.nodes.releasing[column, row]) for column in columns}
            self.leaving[name][PODS] = 0
        self.tasks: dict[str, Task] = {
            task.uid: task
            for jobs in (self.jobs, snapshot.strays)
            for job in jobs.values()
            for task in job.tasks.values()
        }
        self.bound: dict[str, str] = {bind.uid: bind.node for bind in report.binds}
        """By uid: the node that a pod was bound to."""
        self.evicted: dict[str, Evict] = {eviction.uid: eviction for eviction in report.evictions}
        self.kept: dict[str, str] = {}
        """By uid: the node on which room is kept for a waiting pod when the cycle ends."""
        told = {nomination.uid: nomination.node for nomination in report.nominations}
        for key in self.jobs:
            for uid, task in self.jobs[key].pending.items():
                node = told.get(uid, task.nominated)
                if node and uid not in self.bound:
                    self.kept[uid] = node

    @property
    def has_more_on_paper(self) -> bool:
        """Whether gangs may hold idle room, on paper, besides what reports tell of: some wait for what is leaving."""
        actions = self.facts.actions
        late = (
            any(one.action in actions[: actions.index("allocate")] for one in self.evicted.values())
            if ("allocate" in actions)
            else False
        )
        return late or any(any(amounts.values()) for amounts in self.leaving.values())

    def placed(self, job: str) -> dict[str, str]:
        """The pods of a job that were bound, or for which room is kept, with their nodes."""
        found = self.bound | self.kept
        return {uid: found[uid] for uid in self.jobs[job].pending if uid in found} if job in self.jobs else {}

    def ready(self, job: Job, *, kept: bool = False, evicted: bool = False) -> list[Task]:
        """The pods that count for a job's minima after the cycle.

        With ``kept``, also those that room is kept for; with ``evicted``, also those that were evicted.
        """
        return [
            task
            for task in job.tasks.values()
            if (HOLDS[task.status].ready and (evicted or task.uid not in self.evicted))
            or task.uid in self.bound
            or (kept and task.uid in self.kept)
        ]

    def request(self, uid: str) -> Amounts:
        """What a pod asks for."""
        return self.tasks[uid].shape.request

    def sum_of(self, uids: Iterable[str]) -> Vector:
        """What these pods ask for together."""
        total: Vector = {}
        for uid in uids:
            add(total, self.request(uid))
        return total

    def victims(self, beneficiary: str) -> list[Task]:
        """The pods that were evicted for a job, in the order decided."""
        return [
            self.tasks[one.uid]
            for one in self.report.evictions
            if one.beneficiary == beneficiary and one.action in TAKING and one.uid in self.tasks
        ]

    def takers_before(self, key: str) -> set[str]:
        """The jobs that pods were evicted for before they were for this one."""
        takers = list(dict.fromkeys(eviction.beneficiary for eviction, _ in self.takings()))
        return set(takers[: takers.index(key)]) if key in takers else set()

    def takings(self) -> Iterator[tuple[Evict, Task]]:
        """The evictions for others, in the order decided."""
        return ((one, self.tasks[one.uid]) for one in self.report.evictions if one.action in TAKING)

    def idle_after(self, node: str) -> Vector:
        """What no pod holds on a node once what was bound is there; what is leaving still holds it."""
        left = dict(self.idle[node])
        for uid, at in self.bound.items():
            if at == node:
                subtract(left, self.request(uid))
        return left

    def room_after(self, node: str) -> Vector:
        """The same once what is leaving is gone."""
        left = self.idle_after(node)
        add(left, self.leaving[node].items())
        for uid, eviction in self.evicted.items():
            if eviction.node == node and uid in self.tasks:
                add(left, self.request(uid))
        return left

    def words(self, amounts: Mapping[int, int]) -> str:
        """Amounts for people: ``cpu 2, memory 1Gi``."""
        found = self.snapshot.axis.render(sorted(amounts.items()))
        return ", ".join(f"{name} {value}" for name, value in found.items()) or "nothing"


def waits(task: Task) -> bool:
    """Whether a pod could be placed now, as far as it says itself."""
    return task.status is Status.PENDING and not task.gated and not task.unsupported
