"""A small cluster straight in the model, for tests of the engine that need no API objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from vsched.framework.jobs import JobView
from vsched.framework.ledger.usage import SessionUsage
from vsched.framework.points.extension import Plugin, SessionContext
from vsched.framework.policy import Switches
from vsched.model.amounts.resources import ResourceAxis, Vector, add
from vsched.model.claims.catalogue import NO_CLAIMS
from vsched.model.jobs.job import Job, claim_of, pledge_of
from vsched.model.jobs.spec import JobSpec
from vsched.model.nodes.table import NodeAttributes, NodeStatics, NodeTable
from vsched.model.pods.placed import PlacedPods
from vsched.model.pods.shape import Shape, ShapeTable
from vsched.model.pods.status import HOLDS, Phase, Status
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Namespace, Queue
from vsched.model.snapshot import QueueUsage, Snapshot

GIB = 1 << 30
PluginT = TypeVar("PluginT", bound=Plugin[Any])


class SmallCluster:
    """Collects nodes, queues and jobs; ``snapshot`` is what a cycle sees of them."""

    def __init__(self) -> None:
        self.axis = ResourceAxis()
        self.shapes = ShapeTable()
        self.nodes: dict[str, dict[str, int]] = {}
        self.labels: dict[str, dict[str, str]] = {}
        self.queues: dict[str, Queue] = {"default": Queue("default")}
        self.namespaces: dict[str, Namespace] = {}
        self.jobs: dict[str, Job] = {}
        self.priority_range = (0, 0)
        self.claims = NO_CLAIMS

    def node(self, name: str, cpu: int = 4000, memory: int = 16 * GIB, pods: int = 110, **labels: str) -> SmallCluster:
        self.nodes[name] = {"cpu": cpu, "memory": memory, "pods": pods}
        self.labels[name] = labels
        return self

    def queue(self, name: str, **fields: Any) -> SmallCluster:
        self.queues[name] = Queue(name, **fields)
        return self

    def shape(self, cpu: int = 1000, memory: int = GIB, **others: int) -> Shape:
        amounts = {"cpu": cpu, "memory": memory, "pods": 1, **others}
        request = tuple(sorted((self.axis.column(name), value) for name, value in amounts.items() if value))
        return self.shapes.shape(request, scoring_cpu=cpu, scoring_memory=memory)

    def job(self, name: str, tasks: int, *, shape: Shape | None = None, created: float = 0.0, **spec: Any) -> Job:
        """A job of ``tasks`` pending tasks in namespace ``ns`` unless the spec says otherwise."""
        namespace = str(spec.pop("namespace", "ns"))
        spec.setdefault("phase", Phase.INQUEUE)
        key = f"{namespace}/{name}"
        job = Job(key, JobSpec(namespace, name, created=created, **spec))
        for number in range(tasks):
            self.task(job, f"{name}-{number}", shape or self.shape())
        self.jobs[key] = job
        return job

    def task(
        self,
        job: Job,
        name: str,
        shape: Shape,
        status: Status = Status.PENDING,
        node: str = "",
        *,
        labelled: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> Task:
        namespace = job.spec.namespace
        labels = self.shapes.labels(namespace, {"job": job.spec.name, **(labelled or {})})
        task = Task(f"{namespace}-{name}", namespace, name, job.key, shape, labels, status, node, **fields)
        job.put(task)
        return task

    def running(self, name: str, tasks: int, *, node: str = "n1", shape: Shape | None = None, **spec: Any) -> Job:
        """A job whose tasks all run on one node."""
        spec.setdefault("phase", Phase.RUNNING)
        job = self.job(name, 0, **spec)
        for number in range(tasks):
            self.task(job, f"{name}-{number}", shape or self.shape(), Status.RUNNING, node)
        return job

    def opened(self, plugin: PluginT, *, hierarchy: bool = False, **switches: bool) -> PluginT:
        """The plugin, with the cluster as a cycle shows it."""
        plugin.open(self.opening(hierarchy=hierarchy, **switches))
        return plugin

    def opening(self, *, hierarchy: bool = False, **switches: bool) -> SessionContext:
        """The cluster as a cycle shows it, with a view of every job."""
        snapshot = self.snapshot()
        jobs = {key: JobView(job) for key, job in self.jobs.items()}
        switched = Switches(hierarchy=hierarchy, **switches)
        return SessionContext(snapshot, snapshot.nodes.copy(), jobs, SessionUsage(snapshot), jobs.get, switched)

    def snapshot(self) -> Snapshot:
        names = sorted(self.nodes)
        statics = NodeStatics([NodeAttributes(name, self.labels[name]) for name in names])
        size = (len(self.axis), len(names))
        allocatable = np.zeros(size, dtype=np.int64)
        for row, name in enumerate(names):
            for resource, amount in self.nodes[name].items():
                allocatable[self.axis.column(resource), row] = amount
        table = NodeTable(
            self.axis,
            statics,
            allocatable,
            allocatable.copy(),
            releasing=np.zeros(size, dtype=np.int64),
            pipelined=np.zeros(size, dtype=np.int64),
            requested=np.zeros(size, dtype=np.int64),
            scoring=np.zeros((2, len(names)), dtype=np.int64),
        )
        placed = PlacedPods()
        books: dict[str, QueueUsage] = {}
        shares: dict[tuple[str, str], Vector] = {}
        for job in self.jobs.values():
            for task in job.tasks.values():
                if task.node:
                    self._occupy(table, placed, task)
            claim = claim_of(job)
            sums = books.setdefault(claim.queue, QueueUsage())
            sums.jobs += 1
            for kept, amounts in (
                (sums.allocated, claim.allocated),
                (sums.pending, claim.pending),
                (sums.elastic, claim.elastic),
                (sums.inqueue, claim.inqueue),
                (sums.promised, claim.promised),
            ):
                add(kept, amounts)
            add(shares.setdefault((claim.queue, claim.namespace), {}), claim.allocated)
        return Snapshot(
            now=0.0,
            axis=self.axis,
            nodes=table,
            jobs=self.jobs,
            active=sorted(key for key, job in self.jobs.items() if job.pending or job.spec.phase == Phase.PENDING),
            changed=sorted(self.jobs),
            nominated=sorted(key for key, job in self.jobs.items() if job.nominated),
            admitted=sorted(key for key, job in self.jobs.items() if pledge_of(job)),
            holders={
                queue: {key: job for key, job in self.jobs.items() if job.holding and job.spec.queue == queue}
                for queue in {job.spec.queue for job in self.jobs.values()}
            },
            queues=self.queues,
            books=books,
            shares=shares,
            namespaces=self.namespaces,
            selections={},
            placed=placed,
            total=[int(value) for value in table.allocatable.sum(axis=1)],
            used=[int(value) for value in (table.allocatable - table.idle).sum(axis=1)],
            priority_range=self.priority_range,
            claims=self.claims,
        )

    @staticmethod
    def _occupy(table: NodeTable, placed: PlacedPods, task: Task) -> None:
        row, holds, shape = table.statics.row[task.node], HOLDS[task.status], task.shape
        for column, amount in shape.request:
            if holds.uses:
                table.idle[column, row] -= amount
                table.requested[column, row] += amount
            if holds.releasing:
                table.releasing[column, row] += amount
                table.in_motion = True
        table.scoring[0, row] += shape.scoring_cpu
        table.scoring[1, row] += shape.scoring_memory
        placed.shift(task.labels, shape, task.node, 1)
